"""How sure a figure is: 95 % intervals that know that rows of one prompt are not independent.

Rows of a preference set share prompts (RM-Bench has nine a prompt), so a row-wise standard error claims too much.
Every interval here is analytic and cluster-robust: the variance of the sum over clusters (linearisation with the
factor G / (G - 1), as in survey statistics and "clustered standard errors") and Student's t with G - 1 degrees of
freedom. Shares use Wilson's form on the effective number of rows, because the plain form is empty at 0 and 1 and
leaves [0, 1]. The tests check the coverage by simulation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from guerdon.rewards.evaluation._numeric import Codes, Floats, np, stats

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval. value None: it does not exist, and ``reason`` says why.

    low, high: the 95 % interval, None where there is none (one prompt, or a figure without an interval).
    n: rows behind the figure; clusters: prompts behind it.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    clusters: int = 0
    reason: str = ""

    @classmethod
    def missing(cls, reason: str, n: int = 0) -> Estimate:
        """No figure, with the reason why."""
        return cls(None, n=n, reason=reason)

    def __str__(self) -> str:
        if self.value is None:
            return "–"
        interval = "" if self.low is None or self.high is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.value:.3f}{interval}"


def codes_of(keys: Iterable[Hashable]) -> Codes:
    """The number of each row's key, in order of first appearance.

    >>> codes_of(["b", "a", "b"]).tolist()
    [0, 1, 0]
    """
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.intp)


def folds_of(clusters: Codes, folds: int, seed: int) -> Codes | None:
    """The fold of each row for fitting on some prompts and trying on others: whole clusters, drawn with the seed.

    None with fewer than two clusters; with fewer clusters than folds, a fold a cluster.
    """
    names, index = np.unique(clusters, return_inverse=True)
    if len(names) < 2:
        return None
    fold_of_cluster = np.arange(len(names)) % min(folds, len(names))
    return np.asarray(np.random.default_rng(seed).permutation(fold_of_cluster)[index.reshape(-1)])


def wilson(successes: float, n: float, *, level: float = LEVEL, df: float | None = None) -> tuple[float, float]:
    """Wilson's score interval of a share. n: trials, need not be whole; df: Student's t in place of the normal.

    Wilson 1927.

    >>> low, high = wilson(3, 50)
    >>> round(low, 7), round(high, 7)
    (0.020615, 0.1621709)
    """
    z = float(stats.norm.ppf(0.5 + level / 2) if df is None else stats.t.ppf(0.5 + level / 2, df))
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)))
    return max(0.0, centre - half), min(1.0, centre + half)


def linearised(value: float, influence: Floats, clusters: Codes, *, level: float = LEVEL) -> Estimate:
    """A figure with the cluster-robust interval of its influence values.

    influence: shape (n,): how far each row moves the figure, summing to about 0 (for a mean: (x - mean) / n).
    The interval is None with fewer than two clusters.
    """
    n, n_clusters = len(influence), _count(clusters)
    if n_clusters < 2:
        return Estimate(value, n=n, clusters=n_clusters)
    error = float(np.sqrt(_cluster_variance(influence, clusters)))
    half = float(stats.t.ppf(0.5 + level / 2, n_clusters - 1)) * error
    return Estimate(value, value - half, value + half, n, n_clusters)


def mean(values: Floats, clusters: Codes, *, level: float = LEVEL) -> Estimate:
    """The mean of any figure over rows (a loss, a difference), with its cluster-robust interval."""
    if not len(values):
        return Estimate.missing("no rows")
    value = float(values.mean())
    return linearised(value, (values - value) / len(values), clusters, level=level)


def share(values: Floats, clusters: Codes, *, level: float = LEVEL) -> Estimate:
    """The mean of values in [0, 1] (right, half, wrong), with a clustered Wilson interval.

    The effective number of rows is p (1 - p) / V, V being the larger of the clustered variance of the mean and the
    row-wise one: a design effect below 1 is taken for luck. Where all values are alike, V is 0 and each cluster
    counts as one row. Student's t with G - 1 degrees of freedom takes the place of the normal quantile, as in
    Korn & Graubard 1998 (their interval for shares from clustered surveys), with Wilson's form.
    """
    n, n_clusters = len(values), _count(clusters)
    if not n:
        return Estimate.missing("no rows")
    p = float(values.mean())
    if n_clusters < 2:
        return Estimate(p, n=n, clusters=n_clusters)
    residuals = values - p
    variance = max(_cluster_variance(residuals / n, clusters), float(residuals @ residuals) / (n - 1) / n)
    effective = p * (1 - p) / variance if variance > 0 and 0 < p < 1 else float(n_clusters)
    low, high = wilson(p * effective, effective, level=level, df=n_clusters - 1)
    return Estimate(p, low, high, n, n_clusters)


def _count(clusters: Codes) -> int:
    return int(np.count_nonzero(np.bincount(clusters))) if len(clusters) else 0


def _cluster_variance(influence: Floats, clusters: Codes) -> float:
    """Variance of the sum of the influence values when only whole clusters are independent."""
    sums = np.bincount(clusters, weights=influence)
    n_clusters = _count(clusters)
    return float(sums @ sums) * n_clusters / (n_clusters - 1)
