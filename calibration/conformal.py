"""When to say "cannot tell": conformal sets, conformal risk control and learn-then-test, as functions of arrays.

Three promises, each for new samples that are *exchangeable* with the calibration sample, and each kept on average over
both: sets that hold the truth (``class_p_values``), a bounded share of all samples that are accepted and wrong
(``risk_threshold``), a bounded share of wrong ones among the accepted (``selective_threshold``, with high probability).
``abstain.py`` keeps what was found as a rule, by stratum, and applies it to a scorer.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from guerdon.calibration.intervals import clopper_pearson
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Floats, np, npt

Flags: TypeAlias = npt.NDArray[np.bool_]

ACCEPT_ALL = -float(np.finfo(float).max)
"""The threshold below every score; a finite number, so that JSON can hold it."""

FEWEST_ACCEPTED = 60
"""Learn-then-test does not look at a threshold before so many are accepted: with fewer, luck alone ends the walk."""


def class_p_values(calibration: Floats, right: Flags, values: Floats) -> Floats:
    """How well "wrong" and "right" fit each value, from the calibration sample of that class alone; shape (n, 2).

    Column y is (1 + #{i of class y that fit no better}) / (n_y + 1); a high value fits "right", a low one "wrong"
    (class-conditional, or Mondrian, split conformal; Vovk 2012). P(p_y <= a | class y) <= a for every a.
    calibration: (m,) scores. right: (m,) bool. values: (n,). Raises UsageError if a class is empty.

    >>> scores, right = np.array([0.2, 0.5, 0.6, 0.8, 0.9, 0.1]), np.array([1, 1, 1, 1, 1, 0], bool)
    >>> class_p_values(scores, right, np.array([0.55])).tolist()
    [[0.5, 0.5]]
    """
    scores, labels = checked(calibration, right)
    given = np.asarray(values, dtype=float)
    wrong, good = np.sort(scores[~labels]), np.sort(scores[labels])
    if not len(wrong) or not len(good):
        raise UsageError(f"{len(good)} right and {len(wrong)} wrong samples; conformal sets need some of both")
    not_lower = len(wrong) - np.searchsorted(wrong, given, side="left")
    not_higher = np.searchsorted(good, given, side="right")
    return np.stack([(1 + not_lower) / (len(wrong) + 1), (1 + not_higher) / (len(good) + 1)], axis=-1)


def prediction_sets(p_values: Floats, alpha: float | tuple[float, float]) -> Flags:
    """Which labels each set holds, {y: p_y > alpha_y}; shape of ``p_values`` (n, 2): wrong, right.

    A set of one label is a decision; of both, or none, it is a reason to abstain. alpha: in (0, 1), for each class.
    """
    levels = np.broadcast_to(np.asarray(alpha, dtype=float), (2,))
    if not ((levels > 0) & (levels < 1)).all():
        raise UsageError(f"alpha must lie between 0 and 1, got {alpha!r}")
    return np.asarray(p_values > levels)


def risk_threshold(confidence: Floats, wrong: Flags, *, alpha: float) -> float:
    """The lowest threshold with P(accepted and wrong) <= alpha, where accepted means confidence > threshold.

    The smallest t with (n R(t) + 1) / (n + 1) <= alpha, R(t) the share of the calibration sample that is accepted and
    wrong (conformal risk control, Angelopoulos et al. 2024, of a loss that is 0 or 1). ACCEPT_ALL if all may pass.
    Raises UsageError for fewer than 1 / alpha - 1 samples: then not even accepting nothing has that risk.

    >>> risk_threshold(np.array([0.1, 0.4, 0.6, 0.9]), np.array([1, 1, 0, 0], bool), alpha=0.2)
    0.4
    """
    scores, errors = checked(confidence, wrong)
    check_level("alpha", alpha)
    # 1e-9: alpha (n + 1) that is whole in decimals must not fall short of it in binary
    allowed = int(np.floor(alpha * (len(scores) + 1) - 1 + 1e-9))
    if allowed < 0:
        raise UsageError(
            f"{len(scores)} samples cannot control a risk of {alpha:g}; {int(np.ceil(1 / alpha - 1))} are the least"
        )
    mistakes = np.sort(scores[errors])[::-1]
    return float(mistakes[allowed]) if len(mistakes) > allowed else ACCEPT_ALL


def selective_threshold(
    confidence: Floats,
    wrong: Flags,
    grid: Floats,
    *,
    alpha: float,
    delta: float = 0.1,
    fewest: int = FEWEST_ACCEPTED,
) -> float | None:
    """The most lenient threshold with P(wrong | accepted) <= alpha, right with probability 1 - delta; None if none is.

    Walks the grid from strict to lenient and goes on while the Clopper–Pearson upper bound (level delta) of the errors
    among the accepted is at most alpha (fixed-sequence learn-then-test, Angelopoulos et al. 2021). Accepted means
    confidence > threshold. grid: thresholds fixed before the data were seen; their quantiles would break the promise.
    fewest: thresholds that accept fewer are passed over, which looks at no label.
    """
    scores, errors = checked(confidence, wrong)
    check_level("alpha", alpha)
    if not 0 < delta < 0.5:
        raise UsageError(f"delta must lie between 0 and 0.5, got {delta!r}; 0.1 is usual")
    thresholds = np.unique(np.asarray(grid, dtype=float))[::-1]
    if not len(thresholds) or not np.isfinite(thresholds).all():
        raise UsageError("grid must hold at least one threshold, all finite")
    best: float | None = None
    for threshold in thresholds.tolist():
        accepted = scores > threshold
        n, k = int(accepted.sum()), int((accepted & errors).sum())
        if n < max(fewest, 1):
            continue
        # the one-sided bound at level delta is the upper end of the two-sided interval at 1 - 2 delta
        if clopper_pearson(k, n, confidence=1 - 2 * delta).high > alpha:
            break
        best = threshold
    return best


def checked(values: Any, labels: Any) -> tuple[Floats, Flags]:
    """Scores and bool labels of one shape (n,). Labels may be 0 and 1; anything between is refused."""
    scores, flags = np.asarray(values, dtype=float), np.asarray(labels)
    if scores.ndim != 1 or flags.shape != scores.shape:
        raise UsageError(f"scores and labels must both have shape (n,), got {scores.shape} and {flags.shape}")
    if n_bad := int((~np.isfinite(scores)).sum()):
        raise UsageError(f"{n_bad} of {len(scores)} scores are not finite; leave out what is unscored")
    if not np.isin(flags, (0, 1)).all():
        raise UsageError("labels must be true or false (1 or 0): a promise about errors needs to know them")
    return scores, flags.astype(bool)


def check_level(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise UsageError(f"{name} must lie between 0 and 1, got {value!r}")
