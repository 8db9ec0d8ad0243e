"""TRL's ``accuracy_reward`` and ``reasoning_accuracy_reward``, without math-verify and without signals.

    from guerdon.verifiers.drop_ins.trl import accuracy_reward
    GRPOTrainer(..., reward_funcs=accuracy_reward)

The data set's column ``solution`` holds the references. A sample without a verdict is None, which TRL leaves out of its
sums. The answer need not be in a box: see docs/verifiers for what counts. Module-level functions, so they pickle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from guerdon.rewards.types import Score
from guerdon.verifiers.drop_ins._judge import judged

LogExtra = Callable[[str, list[Any]], None]


def accuracy_reward(
    completions: Sequence[Any], solution: Sequence[Any], log_extra: LogExtra | None = None, **columns: Any
) -> list[float | None]:
    r"""1.0 where the completion's final answer is the solution, 0.0 where it is not, None where nobody can tell.

    completions: texts, or lists of messages of which the last one by the assistant counts.

    >>> accuracy_reward([[{"role": "assistant", "content": r"So \boxed{0.5}."}], "It is 3."], ["1/2", r"\frac{1}{"])
    [1.0, None]
    """
    return _reported(judged([said or "" for said in completions], solution, {}), solution, log_extra)


def reasoning_accuracy_reward(
    completions: Sequence[Any],
    solution: Sequence[Any],
    reasoning_delimiters: Sequence[str] | None = None,
    log_extra: LogExtra | None = None,
    **columns: Any,
) -> list[float | None]:
    """The same, with 0.0 for a completion that never ends its reasoning.

    reasoning_delimiters: what ends it; the answer stands after the last of the first one that occurs.
    """
    delimiters = ["</think>"] if reasoning_delimiters is None else reasoning_delimiters
    answers = [_after_reasoning(_text(said), delimiters) for said in completions]
    scores = judged([answer or "" for answer in answers], solution, {})
    return _reported(scores, solution, log_extra)


def _text(completion: Any) -> str:
    if isinstance(completion, str):
        return completion
    return str(completion[-1].get("content") or "") if completion else ""


def _after_reasoning(text: str, delimiters: Sequence[str]) -> str | None:
    """What follows the reasoning; None if it has not ended."""
    return next((text.rpartition(delimiter)[2] for delimiter in delimiters if delimiter in text), None)


def _reported(scores: list[Score], solution: Sequence[Any], log_extra: LogExtra | None) -> list[float | None]:
    if log_extra is not None:
        log_extra("solution", list(solution))
        log_extra("answer", [str(score.details.get("answer") or "") for score in scores])
        log_extra("reason", [score.reason for score in scores])
    return [score.value for score in scores]
