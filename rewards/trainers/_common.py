"""What the adapters share: scoring with an outage rule, and the number for a sample without a score."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

from guerdon.rewards.errors import ContractError, OutageError, UsageError
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import Sample, Scale, Score

OnOutage: TypeAlias = Literal["raise", "unscored"]
"""What an outage does: end the run, or leave the samples of that call unscored."""

STREAK = 100
"""Unscored samples in a row after which a trainer that hands over one sample a time is warned."""


def checked_on_outage(on_outage: OnOutage) -> OnOutage:
    if on_outage not in ("raise", "unscored"):
        raise UsageError(f"on_outage must be 'raise' or 'unscored', got {on_outage!r}")
    return on_outage


def score_all(scorer: Scorer, samples: Sequence[Sample], on_outage: OnOutage, logger: logging.Logger) -> list[Score]:
    """One score a sample. An outage raises, or leaves all of them unscored with status ``error`` and a warning."""
    try:
        scores = scorer.score(samples)
    except OutageError as error:
        if on_outage == "raise":
            raise
        # not its name: a remote scorer would have to ask for that
        logger.warning("%r: outage, so %d sample(s) stay unscored: %s", scorer, len(samples), error)
        return [Score.unscored(f"outage: {error}", status="error") for _ in samples]
    if len(scores) != len(samples):
        raise ContractError(f"scorer {scorer.name!r} gave {len(scores)} scores for {len(samples)} samples")
    return scores


def fallback_of(scale: Scale, unscored: float | None, trainer: str) -> float:
    """The number a trainer gets that must have one. None stands for 0.0 on the scales whose lowest value that is."""
    if unscored is None:
        if scale not in ("verdict", "probability"):
            raise UsageError(
                f"{trainer} needs a number for every sample, and no number is neutral on the scale {scale!r}; pass "
                "unscored=..., for example a low quantile of the scores you expect"
            )
        return 0.0
    if isinstance(unscored, bool) or not isinstance(unscored, (int, float)) or not math.isfinite(unscored):
        raise UsageError(f"unscored must be a finite number, got {unscored!r}")
    return float(unscored)


class UnscoredStreak:
    """Warns when nothing could be scored for a while, where a trainer hands over one sample a time.

    Not locked: threads may lose a count, and the warning then comes a sample later.
    """

    def __init__(self, name: str, logger: logging.Logger) -> None:
        self._name, self._logger, self._length = name, logger, 0

    def see(self, scores: Sequence[Score]) -> None:
        for score in scores:
            self._length = self._length + 1 if score.value is None else 0
            if self._length == STREAK:
                self._logger.warning(
                    "%s: the last %d samples are all unscored; the latest because: %s", self._name, STREAK, score.reason
                )
