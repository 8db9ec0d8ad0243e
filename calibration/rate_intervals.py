"""From the wrong verdicts among the accepted and among the rejected to a verifier's rates, with their intervals.

An audit sees two shares: of the accepted, which are wrong; of the rejected, which are right. Both rates grow with both
shares (methods C2.1), so a rate is bounded by carrying what bounds the shares through its formula: draws of two Beta
distributions for ``exact`` ("melded" intervals, Fay, Proschan & Brittain 2015) and of one for ``bootstrap``; the
shares' own limits, all at once, for ``corners`` and ``wilson``. An error among few labelled rejections can thus not
hide behind many accepted samples: none among five leaves a wide interval whatever else was labelled.

Rates are meant for samples to come, so the share of accepted samples is uncertain as well, and a cell whose samples
are all labelled still has an interval.
"""

from __future__ import annotations

from dataclasses import dataclass

from guerdon.calibration.intervals import Counts, check_confidence, share_interval
from guerdon.calibration.rates import Channel, Interval
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Floats, np

DRAWS = 2000
"""Draws of each share: the 2.5 % quantile then stands at 2.5 % with a standard error of 0.35 %."""


@dataclass(frozen=True, slots=True)
class RateIntervals:
    """prevalence: of right samples. strength: of 1 - false_positive - false_negative."""

    false_positive: Interval
    false_negative: Interval
    strength: Interval
    prevalence: Interval


def rates_of(n_accepted: Floats, n_rejected: Floats, accepted: Floats, rejected: Floats) -> tuple[Floats, Floats]:
    """(false_positive, false_negative) from the counts (or shares) of the verdicts and each side's wrong share.

    All arrays of one shape. NaN where a rate does not exist: no wrong sample, or no right one. Methods C2.1.

    >>> fp, fn = rates_of(np.array(600.0), np.array(400.0), np.array(12 / 200), np.array(15 / 100))
    >>> round(float(fp), 7), round(float(fn), 7)
    (0.0957447, 0.0961538)
    """
    false_accepts, true_rejects = n_accepted * accepted, n_rejected * (1 - rejected)
    false_rejects, true_accepts = n_rejected * rejected, n_accepted * (1 - accepted)
    with np.errstate(invalid="ignore", divide="ignore"):
        return false_accepts / (false_accepts + true_rejects), false_rejects / (false_rejects + true_accepts)


def rate_intervals(
    accepted: Counts, rejected: Counts, *, method: str = "exact", confidence: float = 0.95, seed: int = 0
) -> RateIntervals:
    """The intervals of the rates, the strength and the prevalence. events of both sides: verdicts that are wrong.

    seed: of the draws; the same counts always give the same intervals. Raises UnknownNameError for an unknown method.
    """
    check_confidence(confidence)
    sides = _limits if method in ("corners", "wilson") else _draws
    (w_low, w_high), (a_low, a_high), (r_low, r_high) = sides(accepted, rejected, method, confidence, seed)
    # the false positives grow with the share accepted, the false negatives fall
    fp_low, fp_high = rates_of(w_low, 1 - w_low, a_low, r_low)[0], rates_of(w_high, 1 - w_high, a_high, r_high)[0]
    fn_low, fn_high = rates_of(w_high, 1 - w_high, a_low, r_low)[1], rates_of(w_low, 1 - w_low, a_high, r_high)[1]
    # a rate that does not exist could be anything
    fp_low, fn_low = np.nan_to_num(fp_low, nan=0.0), np.nan_to_num(fn_low, nan=0.0)
    fp_high, fn_high = np.nan_to_num(fp_high, nan=1.0), np.nan_to_num(fn_high, nan=1.0)
    # how the prevalence moves with the share accepted depends on the errors: both ends of it are tried
    right_low = np.minimum(*(w * (1 - a_high) + (1 - w) * r_low for w in (w_low, w_high)))
    right_high = np.maximum(*(w * (1 - a_low) + (1 - w) * r_high for w in (w_low, w_high)))
    tail = (1 - confidence) / 2

    def between(low: Floats, high: Floats) -> Interval:
        bottom, top = float(np.quantile(low, tail)), float(np.quantile(high, 1 - tail))
        return Interval(max(-1.0, bottom), min(1.0, max(bottom, top)))

    return RateIntervals(
        between(fp_low, fp_high),
        between(fn_low, fn_high),
        between(1 - fp_high - fn_high, 1 - fp_low - fn_low),
        between(right_low, right_high),
    )


_Bounds = tuple[Floats, Floats]


def _limits(
    accepted: Counts, rejected: Counts, method: str, confidence: float, seed: int
) -> tuple[_Bounds, _Bounds, _Bounds]:
    """The limits of the share accepted and of the wrong share of each side, as arrays of one."""
    n = accepted.size + rejected.size
    shares = (Counts.of(accepted.size, n, n), accepted, rejected)
    found = [share_interval(counts, method=method, confidence=confidence) for counts in shares]
    w, a, r = ((np.array([i.low]), np.array([i.high])) for i in found)
    return w, a, r


def _draws(
    accepted: Counts, rejected: Counts, method: str, confidence: float, seed: int
) -> tuple[_Bounds, _Bounds, _Bounds]:
    """Draws of the share accepted (no label informs it, so one distribution) and of each side's bounds."""
    rng = np.random.default_rng(seed)
    share = rng.beta(accepted.size + 0.5, rejected.size + 0.5, DRAWS)
    return (share, share), _side_draws(accepted, method, rng), _side_draws(rejected, method, rng)


def _side_draws(counts: Counts, method: str, rng: np.random.Generator) -> _Bounds:
    low, high = counts.bounding(method)
    may_be_0, may_be_1 = counts.ends
    below = np.zeros(DRAWS) if may_be_0 else rng.beta(*low, DRAWS)
    above = np.ones(DRAWS) if may_be_1 else below if low == high and not may_be_0 else rng.beta(*high, DRAWS)
    known = counts.known
    return known * below, known * above + (1 - known)


def rogan_gladen(observed: Floats, false_positive: Floats, false_negative: Floats) -> Floats:
    """The share of right samples behind the share that a verifier accepted; arrays that broadcast.

    clip((observed - false_positive) / (1 - false_positive - false_negative), 0, 1): Rogan & Gladen 1978, methods C1.1.
    NaN where the strength is not positive: such a verdict says nothing.
    """
    strength = 1.0 - np.asarray(false_positive, dtype=np.float64) - false_negative
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.clip((np.asarray(observed, dtype=np.float64) - false_positive) / strength, 0.0, 1.0)
    return np.where(strength > 0, found, np.nan)


def prevalence(n_accepted: int, n: int, channel: Channel, *, confidence: float = 0.95) -> tuple[float, Interval | None]:
    """The share of right samples in a new batch, from its verdicts alone, with a careful interval.

    n_accepted of n samples were accepted by the audited verifier. The interval takes the worst of the channel's
    intervals and of the accepted share's own (Clopper-Pearson), all at once; None if the channel has none, or if its
    strength may be 0. Raises UsageError for a channel whose strength is not positive, and for an empty batch.
    """
    if channel.strength <= 0:
        raise UsageError(
            f"a verdict of strength {channel.strength:.3f} does not tell how many are right; use another verifier"
        )
    if not 0 <= n_accepted <= n or n == 0:
        raise UsageError(f"n_accepted must be between 0 and n, and n at least 1; got {n_accepted!r} of {n!r}")
    value = float(
        rogan_gladen(np.array(n_accepted / n), np.array(channel.false_positive), np.array(channel.false_negative))
    )
    fp, fn = channel.false_positive_interval, channel.false_negative_interval
    if fp is None or fn is None or 1 - fp.high - fn.high <= 0:
        return value, None
    share = share_interval(Counts.of(n_accepted, n, n), confidence=confidence)
    # it falls with the false positives and grows with the false negatives wherever fp <= accepted <= 1 - fn
    corners = rogan_gladen(
        np.array([share.low, share.low, share.high, share.high]),
        np.array([fp.high, fp.high, fp.low, fp.low]),
        np.array([fn.low, fn.high, fn.low, fn.high]),
    )
    return value, Interval(float(corners.min()), float(corners.max()))
