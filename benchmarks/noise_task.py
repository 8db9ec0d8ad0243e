"""The task of the noise study: short answers under a rule verifier that errs by format and has an exploit.

A prompt is a point near one of twelve topics; each topic has a right answer among four, and an answer kind. A response
is an answer in one of two formats, or one of two tricks that answer nothing. The verifier misses about half of the
right answers (which, depends on kind and format) and lets the first trick pass more often than a right answer.
The policy is a softmax over the ten responses, linear in the prompt. Everything is an array over independent runs, so
that all seeds of an arm train at once; nothing here knows how rewards are corrected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from guerdon.calibration.normalisations import Trainer, normalise

TOPICS, DIMENSIONS, ANSWERS, FORMATS, TRICKS = 12, 16, 4, 2, 2
RESPONSES = ANSWERS * FORMATS + TRICKS
PROMPTS, GROUP = 32, 8
"""Prompts a step, and responses a prompt."""
RATE = 1.0
"""The step size of plain gradient ascent."""

PASS_RIGHT = np.array([[0.58, 0.48], [0.55, 0.42], [0.52, 0.50]])
"""P(accepted) of a right answer, by the topic's answer kind and the format."""
PASS_WRONG = np.array([0.02, 0.03])
"""The same of a wrong answer, by format."""
PASS_TRICK = np.array([0.60, 0.30])


@dataclass(frozen=True)
class Batch:
    """Responses of a batch, each array of shape (runs, prompts, group). verdicts and truths are 0 or 1."""

    responses: np.ndarray
    verdicts: np.ndarray
    truths: np.ndarray


Reward = Callable[[Batch], np.ndarray]
"""Rewards of a batch, NaN where there is none."""


class Task:
    """The world: fixed topics and answers, and the chance that each response to each topic passes."""

    def __init__(self, pass_trick: np.ndarray = PASS_TRICK) -> None:
        rng = np.random.default_rng(7)
        places = rng.normal(size=(TOPICS, DIMENSIONS))
        self._places = 2 * places / np.linalg.norm(places, axis=1, keepdims=True)
        answers, kinds = rng.integers(0, ANSWERS, TOPICS), np.arange(TOPICS) % len(PASS_RIGHT)
        answer_of, self.format_of = np.divmod(np.arange(RESPONSES), FORMATS)
        self.is_trick = np.arange(RESPONSES) >= ANSWERS * FORMATS
        self.right = (answer_of == answers[:, None]) & ~self.is_trick  # (topics, responses)
        self.passes = np.where(self.right, PASS_RIGHT[kinds][:, self.format_of], PASS_WRONG[self.format_of])
        self.passes[:, self.is_trick] = pass_trick
        self.held_out = self.prompts(np.random.default_rng(99), (512,))

    def prompts(self, rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Topics, and what the policy sees of each prompt (its place with noise, and a 1)."""
        topics = rng.integers(0, TOPICS, shape)
        seen = self._places[topics] + 0.1 * rng.normal(size=(*shape, DIMENSIONS))
        return topics, np.concatenate([seen, np.ones((*shape, 1))], axis=-1)

    def start(self, runs: int) -> np.ndarray:
        """Weights (runs, dimensions + 1, responses) of a policy that knows nothing and seldom tries a trick."""
        weights = np.zeros((runs, DIMENSIONS + 1, RESPONSES))
        weights[:, -1, self.is_trick] = -1.0
        return weights

    def respond(self, rng: np.random.Generator, topics: np.ndarray, policy: np.ndarray, group: int) -> Batch:
        """group responses to each prompt. topics (runs, prompts); policy (runs, prompts, responses)."""
        steps = rng.random((*topics.shape, group, 1)) > policy.cumsum(-1)[..., None, :]
        responses = steps.sum(-1).clip(0, RESPONSES - 1)
        passed = rng.random(responses.shape) < np.take_along_axis(self.passes[topics], responses, -1)
        truths = np.take_along_axis(self.right[topics], responses, -1)
        return Batch(responses, passed.astype(float), truths.astype(float))

    def accuracy(self, weights: np.ndarray) -> np.ndarray:
        """P(a response is right) on held-out prompts, exactly, of each run."""
        topics, seen = self.held_out
        return (softmax(seen @ weights) * self.right[topics]).sum(-1).mean(-1)


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def train(task: Task, reward: Reward, trainer: Trainer, *, runs: int, marks: list[int], seed: int = 0) -> np.ndarray:
    """True accuracy at the steps in ``marks``, shape (marks, runs). One gradient step a batch, no clipping, no KL term.

    Responses without a reward get the advantage 0, as in TRL.
    """
    rng = np.random.default_rng(seed)
    weights, found = task.start(runs), []
    for step in range(marks[-1] + 1):
        if step in marks:
            found.append(task.accuracy(weights))
        topics, seen = task.prompts(rng, (runs, PROMPTS))
        policy = softmax(seen @ weights)
        batch = task.respond(rng, topics, policy, GROUP)
        rewards = reward(batch).reshape(-1, GROUP)
        advantages = np.nan_to_num(normalise(rewards, trainer=trainer)).reshape(batch.responses.shape)
        chosen = np.zeros_like(policy)
        runs_, prompts_, _ = np.indices(batch.responses.shape)
        np.add.at(chosen, (runs_, prompts_, batch.responses), advantages)
        score = chosen - policy * advantages.sum(-1, keepdims=True)
        weights = weights + RATE * seen.swapaxes(-1, -2) @ score / (PROMPTS * GROUP)
    return np.array(found)
