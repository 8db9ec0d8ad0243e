"""What all forms share: one verifier with default options, and the exception for forms that cannot say "no verdict"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from guerdon.rewards.errors import UnscoredError
from guerdon.rewards.types import Sample, Score
from guerdon.verifiers import Verifier, load


@lru_cache(maxsize=64)
def math_verifier(options: tuple[tuple[str, Any], ...] = ()) -> Verifier:
    """The math verifier with its options fixed, made once."""
    return load("math", **dict(options))


def judged(responses: Sequence[Any], references: Sequence[Any], options: Mapping[str, Any]) -> list[Score]:
    """One score for each response, by the math verifier with these options."""
    fixed = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    verifier = math_verifier(tuple(sorted(fixed.items())))
    rows = zip(responses, references, strict=True)
    return verifier.score([Sample("", response, reference) for response, reference in rows])


def value_of(score: Score, remedy: str) -> float:
    """The verdict; raises UnscoredError if there is none. remedy: what the caller can do about it."""
    if score.value is None:
        raise UnscoredError(f"no verdict ({score.status}): {score.reason}; {remedy}")
    return score.value
