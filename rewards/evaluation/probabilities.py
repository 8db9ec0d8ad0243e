"""How good probabilities are: log-loss, Brier and its parts, calibration error, reliability tables, one temperature.

Two forms of the same question. For responses labelled right or wrong, p is P(right) and y is 0 or 1. For pairs, the
margin m is a log-odds and P(chosen wins) = sigma(m / T); which response is called chosen carries the label, so pairs
are folded: the confidence max(p, 1 - p) in [0.5, 1] is compared with how often the preferred side was right. Folded
figures are those of the data with every pair seen in both orders, for which a coin has log-loss log 2 and Brier 0.25.
"""

from __future__ import annotations

from dataclasses import dataclass

from guerdon.rewards.evaluation._numeric import Codes, Floats, np, optimize, special
from guerdon.rewards.evaluation.intervals import folds_of, wilson

CLIP = 1e-12  # probabilities are kept this far from 0 and 1 inside a logarithm only


@dataclass(frozen=True, slots=True)
class Bin:
    """One row of a reliability table: what was claimed and what happened, with Wilson's interval of the latter."""

    low: float
    high: float
    n: int
    claimed: float
    observed: float
    observed_low: float
    observed_high: float


@dataclass(frozen=True, slots=True)
class BrierParts:
    """Brier score = reliability - resolution + uncertainty + within_bins (Murphy 1973).

    reliability: how far claims are from what happened (0 is best). resolution: how far the bins are from the base
    rate (more is better). uncertainty: that of the base rate. within_bins: what binning leaves over, 0 when the
    predictions are constant inside every bin.
    """

    reliability: float
    resolution: float
    uncertainty: float
    within_bins: float


def log_loss(p: Floats, y: Floats) -> Floats:
    """-log of the probability given to what happened, a row, in nats. y may be fractional (an expected label)."""
    p = np.clip(p, CLIP, 1 - CLIP)
    return np.asarray(-(y * np.log(p) + (1 - y) * np.log1p(-p)))


def pair_log_loss(margins: Floats, chosen: Floats | float = 1.0) -> Floats:
    """Bradley–Terry log-loss a pair, in nats. chosen: P(chosen is better) according to the label; exact for any margin.

    >>> pair_log_loss(np.array([1.0])).round(10).tolist()
    [0.3132616875]
    """
    return np.asarray(chosen * np.logaddexp(0, -margins) + (1 - chosen) * np.logaddexp(0, margins))


def brier(p: Floats, y: Floats) -> Floats:
    """Expected squared error a row; y may be fractional: the outcome is then 1 with probability y."""
    return np.asarray(y * (1 - p) ** 2 + (1 - y) * p**2)


def fold(margins: Floats, chosen: Floats | float = 1.0) -> tuple[Floats, Floats]:
    """Confidence in the preferred side, and whether it was right (0.5 where neither is preferred)."""
    confidence = special.expit(np.abs(margins))
    right = np.where(margins > 0, chosen, np.where(margins < 0, 1 - np.asarray(chosen), 0.5))
    return np.asarray(confidence), np.asarray(right, dtype=float)


def equal_width(n_bins: int, low: float = 0.0, high: float = 1.0) -> Floats:
    """Edges of bins of one width."""
    return np.linspace(low, high, n_bins + 1)


def equal_mass(p: Floats, n_bins: int) -> Floats:
    """Edges of bins that hold about as many rows each; equal predictions stay together, so there may be fewer bins."""
    edges = np.unique(np.quantile(p, np.linspace(0, 1, n_bins + 1)))
    return edges if len(edges) > 1 else np.repeat(edges, 2)


def reliability_table(p: Floats, y: Floats, edges: Floats) -> tuple[Bin, ...]:
    """What was claimed against what happened, a bin; bins are closed on the right, empty ones are left out."""
    where = np.searchsorted(edges[1:-1], p, side="left")
    n_bins = len(edges) - 1
    counts = np.bincount(where, minlength=n_bins)
    claimed, observed = (np.bincount(where, weights=v, minlength=n_bins) for v in (p, y))
    bins = []
    for i in np.flatnonzero(counts):
        n, hits = int(counts[i]), float(np.clip(observed[i], 0, counts[i]))
        low, high = wilson(hits, n)
        bins.append(Bin(float(edges[i]), float(edges[i + 1]), n, float(claimed[i]) / n, hits / n, low, high))
    return tuple(bins)


def calibration_error(table: tuple[Bin, ...]) -> float:
    """Expected calibration error: |claimed - observed| averaged over rows (Naeini et al. 2015)."""
    n = sum(b.n for b in table)
    return sum(b.n * abs(b.claimed - b.observed) for b in table) / n


def worst_calibration_error(table: tuple[Bin, ...]) -> float:
    """Maximum calibration error: the largest |claimed - observed| of a bin that is not empty."""
    return max(abs(b.claimed - b.observed) for b in table)


def debiased_squared_error(table: tuple[Bin, ...]) -> float:
    """Squared calibration error without the part that chance alone adds; about 0 when calibrated, may be negative.

    Kumar, Liang & Ma 2019; bins with one row are left out, since they say nothing of their own noise.
    """
    bins = [b for b in table if b.n > 1]
    n = sum(b.n for b in bins)
    total = sum(b.n * ((b.claimed - b.observed) ** 2 - b.observed * (1 - b.observed) / (b.n - 1)) for b in bins)
    return total / n if n else 0.0


def brier_parts(score: float, table: tuple[Bin, ...], base_rate: float | None = None) -> BrierParts:
    """The Brier score in parts. base_rate: of the outcome; None takes the table's; 0.5 for folded pairs."""
    n = sum(b.n for b in table)
    rate = sum(b.n * b.observed for b in table) / n if base_rate is None else base_rate
    reliability = sum(b.n * (b.claimed - b.observed) ** 2 for b in table) / n
    resolution = sum(b.n * (b.observed - rate) ** 2 for b in table) / n
    uncertainty = rate * (1 - rate)
    return BrierParts(reliability, resolution, uncertainty, float(score) - (reliability - resolution + uncertainty))


def fit_inverse_temperature(margins: Floats, chosen: Floats | float = 1.0) -> float | None:
    """The b >= 0 that minimises the log-loss of P(chosen wins) = sigma(b m): 1 / T. Convex; one root of its derivative.

    chosen: P(chosen is better) according to the label. 0 means that no positive slope beats a coin (T infinite).
    Where every margin agrees with its label the plain fit has no end, and labels (n + 1) / (n + 2) take the place of
    1 (Platt 1999). None when every margin is 0.
    """
    scale = float(np.abs(margins).max(initial=0.0))
    if scale == 0:
        return None
    m = margins / scale
    q = np.broadcast_to(np.asarray(chosen, dtype=float), m.shape)
    if float(np.where(m > 0, 1 - q, q) @ np.abs(m)) == 0:
        smoothed = (len(m) + 1) / (len(m) + 2)
        q = np.clip(q, 1 - smoothed, smoothed)

    def slope(b: float) -> float:
        return float((special.expit(b * m) - q) @ m)

    if slope(0.0) >= 0:
        return 0.0
    high = 1.0
    while slope(high) < 0:
        high *= 2
    return float(optimize.brentq(slope, 0.0, high, xtol=1e-14, rtol=1e-13)) / scale


def cross_fit(margins: Floats, clusters: Codes, chosen: Floats, *, folds: int, seed: int) -> Floats | None:
    """Each row's margin divided by a temperature that was fitted on other clusters; None with fewer than two clusters.

    No row helps to fit its own temperature.
    """
    fold_of = folds_of(clusters, folds, seed)
    if fold_of is None:
        return None
    scaled = np.empty(len(margins))
    for k in np.unique(fold_of):
        held_out = fold_of == k
        # a fold whose other rows are all ties says nothing: a coin
        slope = fit_inverse_temperature(margins[~held_out], chosen[~held_out]) or 0.0
        scaled[held_out] = slope * margins[held_out]
    return scaled
