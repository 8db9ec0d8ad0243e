"""A scorer as OpenRLHF's ``reward_func``, for ``--reward.remote_url FILE.py``.

OpenRLHF hands over the whole text of a rollout, prompt and response decoded with special tokens, and must have a number
for every sample. It also swallows whatever a reward function raises (an info line, and the sample goes on without a
reward until the trainer stumbles over it), so everything that can be checked is checked when the file is loaded, and
errors are logged as errors before they are raised.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from typing import Any

from guerdon.rewards.errors import MissingExtraError, UsageError
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.trainers._common import (
    OnOutage,
    UnscoredStreak,
    checked_on_outage,
    fallback_of,
    score_all,
)
from guerdon.rewards.types import Sample, Scale, Score, Text

_logger = logging.getLogger(__name__)


class OpenRLHFReward:
    """Made by ``for_openrlhf``. Calling it is ``reward_func``."""

    def __init__(
        self,
        scorer: Scorer,
        *,
        unscored: float | None,
        end_tokens: Sequence[str],
        read_prompt: Callable[[str], Text] | None,
        on_outage: OnOutage,
    ) -> None:
        if isinstance(end_tokens, str):
            raise UsageError(f"end_tokens is a list of tokens, got the string {end_tokens!r}; write [{end_tokens!r}]")
        self.scorer = scorer
        self._scale: Scale = scorer.scale
        self._fallback = fallback_of(self._scale, unscored, "OpenRLHF")
        self._end_tokens = tuple(token for token in end_tokens if token)
        self._read_prompt = read_prompt
        self._on_outage = checked_on_outage(on_outage)
        self._streak = UnscoredStreak("for_openrlhf", _logger)

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **ignored: Any
    ) -> dict[str, Any]:
        try:
            return self._tensors(self._judge(queries, prompts, labels))
        except Exception:
            _logger.exception("reward_func failed, and OpenRLHF will only note it; the samples have no reward")
            raise

    def __repr__(self) -> str:
        return f"for_openrlhf({self.scorer!r}, unscored={self._fallback!r})"

    def _judge(self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]) -> list[Score]:
        if not len(queries) == len(prompts) == len(labels):
            raise UsageError(f"{len(queries)} queries, {len(prompts)} prompts and {len(labels)} labels")
        scores: dict[int, Score] = {}
        samples: dict[int, Sample] = {}
        for index, (query, prompt, label) in enumerate(zip(queries, prompts, labels, strict=True)):
            if not query.startswith(prompt):
                # where the response begins would be a guess
                scores[index] = Score.unscored(
                    "the query does not begin with the prompt: OpenRLHF cut a long prompt, or the tokenizer decodes it "
                    f"differently (query {query[:60]!r}, prompt {prompt[:60]!r})",
                    status="error",
                )
                continue
            response = _without_end(query[len(prompt) :], self._end_tokens)
            read = prompt if self._read_prompt is None else self._read_prompt(prompt)
            # without a label key OpenRLHF hands over ""
            samples[index] = Sample(read, response, None if label == "" else label)
        scored = score_all(self.scorer, list(samples.values()), self._on_outage, _logger) if samples else []
        scores.update(zip(samples, scored, strict=True))
        ordered = [scores[index] for index in range(len(queries))]
        self._streak.see(ordered)
        return ordered

    def _tensors(self, scores: list[Score]) -> dict[str, Any]:
        torch = _torch()
        rewards = [self._fallback if score.value is None else score.value for score in scores]
        return {
            "rewards": torch.tensor(rewards, dtype=torch.float32),
            "scores": torch.tensor([_unit(self._scale, reward) for reward in rewards], dtype=torch.float32),
            "extra_logs": {
                "unscored": torch.tensor([float(score.value is None) for score in scores], dtype=torch.float32)
            },
        }


def _without_end(response: str, end_tokens: tuple[str, ...]) -> str:
    """The response without the end tokens, however many stand at its end, one after the other."""
    end = len(response)
    while token := next((token for token in end_tokens if response.endswith(token, 0, end)), None):
        end -= len(token)
    return response[:end]


def _unit(scale: Scale, reward: float) -> float:
    """The reward in [0, 1]: itself on the scales verdict and probability, its logistic on logit and real."""
    if scale in ("verdict", "probability"):
        return min(1.0, max(0.0, reward))  # a fallback may lie outside
    # the form whose exponential cannot overflow
    return 1.0 / (1.0 + math.exp(-reward)) if reward >= 0 else math.exp(reward) / (1.0 + math.exp(reward))


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtraError("for_openrlhf, which returns tensors,", "rm") from error
    return torch


def for_openrlhf(
    scorer: Scorer,
    *,
    unscored: float | None = None,
    end_tokens: Sequence[str] = (),
    read_prompt: Callable[[str], Text] | None = None,
    on_outage: OnOutage = "raise",
) -> OpenRLHFReward:
    """The scorer as OpenRLHF's ``reward_func``. In the file that ``--reward.remote_url`` names:

        reward_func = for_openrlhf(verifiers.load("numeric"), end_tokens=["<|im_end|>"])

    unscored: the reward of a sample that has none. Default: 0.0 on the scales verdict and probability; on logit and
    real it must be given (for_verl says why the bottom of the scale is the least harmful).
    end_tokens: the policy's end and padding tokens as text; those at the end of a response are removed, since the
    query is decoded with special tokens. A query that does not begin with its prompt leaves the sample unscored.
    read_prompt: turns OpenRLHF's prompt, which has the policy's chat template in it, back into plain text or messages;
    needed for a reward model, which puts its own template around the prompt. None passes the prompt on as it is.
    on_outage: ``raise`` (logged as an error, as OpenRLHF hides it), or ``unscored`` to go on with fallbacks.

    Returns ``rewards`` (float32, shape (n,), the scorer's scale), ``scores`` (the same in [0, 1] for dynamic filtering:
    the logistic of a logit or real) and ``extra_logs`` with ``unscored`` (1.0 where a reward is a fallback). Labels
    are the references; an empty one is none. Needs torch.
    """
    return OpenRLHFReward(
        scorer, unscored=unscored, end_tokens=end_tokens, read_prompt=read_prompt, on_outage=on_outage
    )
