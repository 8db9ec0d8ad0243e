"""Error rates of noisy labels from a classifier of those labels: anchor points and confident learning.

Both read p = P(label 1 | response), of a *calibrated* classifier, out of fold: a classifier that has seen the labels of
these rows reproduces their errors. Both are estimates without an interval; an audit (``audit.py``) has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from guerdon.calibration.rates import Channel
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Floats, np, npt

PERCENTILE = 97.0
"""Of p, taken for that of a certainly right response, and 100 minus it for a certainly wrong one: the extremes
themselves are the classifier's luckiest errors."""


def anchor_rates(p: Floats, *, percentile: float = PERCENTILE) -> Channel:
    """Rates from the surest responses: a right one is labelled 1 with probability 1 - false_negative, a wrong one with
    false_positive (Liu & Tao 2016).

    p: (n,). Valid only if some responses are certainly right and some certainly wrong; otherwise both rates come out
    too large. Raises UsageError if the anchors are no better than chance.
    """
    given = _probabilities(p)
    if not 50 < percentile <= 100:
        raise UsageError(f"percentile must lie in (50, 100], got {percentile!r}; 97 is usual")
    low, high = np.percentile(given, [100 - percentile, percentile]).tolist()
    if low >= high:
        raise UsageError(f"the classifier gives every response about {low:.3f}: it has no anchors")
    return Channel(low, 1 - high)


@dataclass(frozen=True, slots=True)
class ConfidentCounts:
    """Which labels the classifier is sure are wrong (Northcutt et al. 2021).

    thresholds: mean p(k) over rows labelled k. counts: (2, 2), by label and by the class the classifier is sure of.
    joint: (2, 2), P(label, class), rows scaled to how often each label is. suspects: (n,), rows sure to be of the other
    class than their label.
    """

    thresholds: tuple[float, float]
    counts: npt.NDArray[np.intp]
    joint: Floats
    suspects: npt.NDArray[np.bool_]

    def channel(self) -> Channel:
        """The label's rates. Raises UsageError if no row was sure to be right, or none to be wrong."""
        classes = self.joint.sum(axis=0)
        if (classes == 0).any():
            raise UsageError(f"no row is surely {'wrong' if classes[0] == 0 else 'right'}, so a rate cannot be told")
        return Channel(float(self.joint[1, 0] / classes[0]), float(self.joint[0, 1] / classes[1]))


def confident_counts(p: Floats, labels: Any) -> ConfidentCounts:
    """Count rows by label and by the class whose threshold their probability reaches, the more probable if both.

    p: (n,), out-of-fold P(label 1). labels: (n,) of 0 and 1, both present.

    >>> confident_counts(np.array([0.1, 0.2, 0.7, 0.6, 0.8, 0.3]), np.array([0, 0, 0, 1, 1, 1])).counts.tolist()
    [[2, 1], [1, 2]]
    """
    given, y = _probabilities(p), np.asarray(labels)
    if y.shape != given.shape or not np.isin(y, (0, 1)).all():
        raise UsageError(f"labels must be 0 or 1, one a probability; got shape {y.shape} for {given.shape}")
    label = y.astype(np.intp)
    n_label = np.bincount(label, minlength=2)
    if (n_label == 0).any():
        raise UsageError(f"every label is {int(label[0])}; confident learning needs both")
    both = np.stack([1 - given, given], axis=1)
    thresholds = np.array([both[label == k, k].mean() for k in (0, 1)])
    # the mean of equal numbers may round above them
    reached = both >= thresholds - 1e-12
    sure = reached.any(axis=1)
    best = np.where(reached, both, -1.0).argmax(axis=1)
    counts = np.zeros((2, 2), dtype=np.intp)
    np.add.at(counts, (label[sure], best[sure]), 1)
    rows = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, rows, out=np.eye(2), where=rows > 0)
    joint = shares * n_label[:, None] / len(label)
    return ConfidentCounts((float(thresholds[0]), float(thresholds[1])), counts, joint, sure & (best != label))


def _probabilities(p: Any) -> Floats:
    given = np.asarray(p, dtype=float)
    if given.ndim != 1 or not len(given) or not ((given >= 0) & (given <= 1)).all():
        raise UsageError(f"p must be probabilities of shape (n,), got shape {given.shape} or values outside [0, 1]")
    return given
