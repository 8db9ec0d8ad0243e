"""The one interface: a scorer takes samples and gives as many scores, in order.

It is synchronous and takes a batch: a function of a batch hides its own concurrency, and an async caller uses
``asyncio.to_thread``. A scorer is thread-safe, picklable and lawful; ``check_scorer`` (contract.py) proves that it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import SCALES, Sample, Scale, Score


@runtime_checkable
class Scorer(Protocol):
    """Anything that gives a reward: a rule, a reward model, a judge, a server, or a wrapper around any of them."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """Changes whenever the same sample may get another score."""
        ...

    @property
    def scale(self) -> Scale: ...

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """One score a sample, in the samples' order. An outage raises; a sample that cannot be judged is unscored."""
        ...


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sample made ready for a model: its token ids, whose count is what it costs in a batch."""

    sample: Sample
    ids: tuple[int, ...]
    details: tuple[tuple[str, Any], ...] = ()

    @property
    def cost(self) -> int:
        return len(self.ids)


@runtime_checkable
class BatchScorer(Scorer, Protocol):
    """A scorer that splits its work, so that an engine can merge many callers' samples into one forward.

    ``score`` is ``prepare`` each, then ``run`` batches. ``prepare`` may be called from several threads; ``run`` is
    called by one thread at a time.
    """

    def prepare(self, sample: Sample) -> Prepared | Score:
        """Token ids, or an unscored Score when the sample cannot be scored (too long, say)."""
        ...

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        """One forward over the batch, one score each, in order."""
        ...


class _Pointwise:
    """A scorer made of a function of one sample. A class rather than a closure, so that it pickles."""

    def __init__(
        self, function: Callable[[Sample], Score | float | None], name: str, version: str, scale: Scale
    ) -> None:
        self._function = function
        self.name, self.version, self.scale = name, version, scale

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [self._one(sample) for sample in samples]

    def _one(self, sample: Sample) -> Score:
        result = self._function(sample)
        if isinstance(result, Score):
            return result
        if result is None:
            return Score.unscored(f"{self.name} returned None")
        return Score(float(result), f"{self.name} returned {result!r:.40}")

    def __repr__(self) -> str:
        return f"pointwise({self.name!r}, scale={self.scale!r})"


def pointwise(
    function: Callable[[Sample], Score | float | None],
    *,
    scale: Scale,
    name: str | None = None,
    version: str = "1",
) -> Scorer:
    """A scorer from a function of one sample that returns a Score, a number, or None (unscored).

    The function should be importable (not a lambda) if the scorer is to pickle. Its exceptions are not caught: an
    outage must not look like a low reward.

    >>> short = pointwise(lambda s: 1.0 if len(s.response_text) < 10 else 0.0, scale="verdict", name="short")
    >>> short.score([Sample("hi", "hello")])[0].value
    1.0
    """
    if scale not in SCALES:
        raise UsageError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}")
    default = str(getattr(function, "__name__", type(function).__name__))
    return _Pointwise(function, name or default, version, scale)
