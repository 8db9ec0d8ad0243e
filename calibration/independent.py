"""Verifiers whose errors are independent, as one: both must accept, one must, or each counts by what it is worth.

Rates multiply only if the errors are independent given the truth (methods B1.3). Two verifiers that share their answer
finder are not: measure the rates of the combination itself then, or check with ``annotators.VoteModel.excess``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from guerdon.calibration.rates import Channel
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Floats, np


def all_of(channels: Sequence[Channel]) -> Channel:
    """The rates of "every verifier accepts": fewer false positives, more false negatives.

    >>> both = all_of([Channel(0.1, 0.2), Channel(0.2, 0.1)])
    >>> round(both.false_positive, 6), round(both.false_negative, 6)
    (0.02, 0.28)
    """
    _some(channels)
    false_positive = math.prod(c.false_positive for c in channels)
    return Channel(false_positive, 1 - math.prod(1 - c.false_negative for c in channels))


def any_of(channels: Sequence[Channel]) -> Channel:
    """The rates of "some verifier accepts": more false positives, fewer false negatives."""
    _some(channels)
    false_negative = math.prod(c.false_negative for c in channels)
    return Channel(1 - math.prod(1 - c.false_positive for c in channels), false_negative)


def log_odds(votes: Floats, channels: Sequence[Channel], *, prevalence: float = 0.5) -> Floats:
    """The log-odds that each response is right, given all verdicts; shape (n,).

    logit(prevalence) + sum_i log(P(R_i | right) / P(R_i | wrong)). votes: (n, m) of 0, 1, and NaN for no verdict, which
    says nothing. A verifier that never errs one way decides, with an infinite log-odds.
    Raises UsageError if two verifiers that never err contradict each other: one of these rates is wrong.
    """
    _some(channels)
    given = np.asarray(votes, dtype=float)
    if given.ndim != 2 or given.shape[1] != len(channels):
        raise UsageError(f"votes must have shape (n, {len(channels)}), one column a verifier, got {given.shape}")
    if not (np.isnan(given) | (given == 0) | (given == 1)).all():
        raise UsageError("votes must be 0, 1, or NaN where there is none")
    if not 0 < prevalence < 1:
        raise UsageError(f"prevalence must lie between 0 and 1, got {prevalence!r}")
    fp = np.array([c.false_positive for c in channels])
    fn = np.array([c.false_negative for c in channels])
    with np.errstate(divide="ignore"):
        right_if_yes, wrong_if_yes = np.log(1 - fn), np.log(fp)
        right_if_no, wrong_if_no = np.log(fn), np.log1p(-fp)
    right, wrong = (
        np.where(np.isnan(given), 0.0, np.where(given == 1, if_yes, if_no)).sum(axis=1)
        for if_yes, if_no in ((right_if_yes, right_if_no), (wrong_if_yes, wrong_if_no))
    )
    if impossible := int(((right == -np.inf) & (wrong == -np.inf)).sum()):
        raise UsageError(f"{impossible} row(s) hold verdicts that these rates call impossible, right or wrong")
    return np.asarray(math.log(prevalence) - math.log1p(-prevalence) + right - wrong)


def _some(channels: Sequence[Channel]) -> None:
    if not channels:
        raise UsageError("at least one verifier's channel is needed")
