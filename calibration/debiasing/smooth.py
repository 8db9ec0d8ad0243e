"""Smoothers of a score over a feature: LOWESS and the mean inside a window, fast enough for a million scores.

Both work on the distinct values of the feature with sums of the scores at each, which loses nothing (lengths repeat
much), and evaluate the curve at no more than ``MOST_POINTS`` of them, between which it is drawn straight.
"""

from __future__ import annotations

from dataclasses import dataclass

from guerdon.calibration._arrays import Floats, np, npt

MOST_POINTS = 400
"""Points of a curve. Below that many distinct values the fit is exact; half are spread over the rows, half over the
range, so that neither the crowd nor a long tail is drawn too coarsely."""

MOST_CELLS = 8_192
"""Distinct values beyond which neighbours are merged (a feature that is a real number): at 8,192 cells the merged fit
differs from the exact one by less than 1e-4 standard deviations in the tests."""

BLOCK = 64
"""Points fitted at a time: bounds the memory at BLOCK × MOST_CELLS numbers."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The distinct values x (m,), rising, how many rows have each, and each row's cell (n,)."""

    x: Floats
    count: Floats
    of_row: npt.NDArray[np.intp]

    @classmethod
    def of(cls, features: Floats) -> Cells:
        x, index, count = np.unique(features, return_inverse=True, return_counts=True)
        index = index.reshape(-1)
        if len(x) > MOST_CELLS:
            # cells of few rows and of little range (both steps rise with x, so their sum tells every change of either)
            half = MOST_CELLS // 2
            by_rows = (np.cumsum(count) - 1) * half // len(features)
            by_range = ((x - x[0]) / (x[-1] - x[0]) * (half - 1)).astype(np.intp)
            cell = np.unique(by_rows + by_range, return_inverse=True)[1].reshape(-1)
            total = np.asarray(np.bincount(cell, weights=count), dtype=np.float64)
            return cls(np.bincount(cell, weights=count * x) / total, total, cell[index])
        return cls(x, np.asarray(count, dtype=np.float64), index)

    def sums(self, values: Floats) -> Floats:
        """The sum of the rows' values in each cell."""
        return np.asarray(np.bincount(self.of_row, weights=values, minlength=len(self.x)))

    def points(self) -> Floats:
        """Where a curve is evaluated: distinct values, rising, the first and the last among them."""
        if len(self.x) <= MOST_POINTS:
            return self.x
        half = MOST_POINTS // 2
        rows = np.searchsorted(np.cumsum(self.count), np.linspace(0, self.count.sum(), half), side="left")
        spread = np.searchsorted(self.x, np.linspace(self.x[0], self.x[-1], half), side="left")
        places = np.unique(np.concatenate([rows, spread]).clip(0, len(self.x) - 1))
        return np.asarray(self.x[places])


def lowess(features: Floats, values: Floats, *, fraction: float, iterations: int) -> tuple[Floats, Floats]:
    """The points (p,) of a locally linear robust fit and its values there.

    At each point a line is fitted to the ``fraction`` of the rows that are nearest, with tricube weights that fall to 0
    at the furthest of them; then, ``iterations`` times, rows are weighed down by the bisquare of their residual over
    six times the median residual, and all is fitted again. Where all neighbours share one value of the feature the fit
    is their mean. Cleveland 1979.
    """
    cells = Cells.of(features)
    points = cells.points()
    reach = _reach(cells, points, max(1, int(fraction * len(features) + 1e-10)))
    weights = np.ones(len(values))
    fitted = _local_lines(cells, points, reach, cells.count, cells.sums(values))
    spread = float(np.abs(values - values.mean()).mean())
    for _ in range(iterations):
        residuals = np.abs(values - np.interp(features, points, fitted))
        middle = float(np.median(residuals))
        if middle <= 1e-12 * spread:  # half the rows lie on the curve: weights would only drop the other half
            break
        weights = np.square(1 - np.square(np.minimum(residuals / (6 * middle), 1.0)))
        fitted = _local_lines(cells, points, reach, cells.sums(weights), cells.sums(weights * values))
    return points, fitted


def _reach(cells: Cells, points: Floats, k: int) -> Floats:
    """The distance from each point to the k-th nearest row."""
    x = np.repeat(cells.x, cells.count.astype(np.intp))
    if k >= len(x):
        return np.asarray(np.maximum(points - x[0], x[-1] - points))
    # rows l … l + k - 1 are the nearest once moving on by one would leave a nearer row than it takes in
    left = np.searchsorted(x[:-k] + x[k:], 2 * points, side="left")
    return np.asarray(np.maximum(points - x[left], x[left + k - 1] - points))


def _local_lines(cells: Cells, points: Floats, reach: Floats, weight: Floats, total: Floats) -> Floats:
    """At each point the line through its neighbours. weight, total: sums of weights and of weighted scores a cell."""
    fitted = np.empty(len(points))
    for start in range(0, len(points), BLOCK):
        block = slice(start, start + BLOCK)
        # only cells that some point of the block reaches
        first = np.searchsorted(cells.x, (points[block] - reach[block]).min(), side="left")
        last = np.searchsorted(cells.x, (points[block] + reach[block]).max(), side="right")
        near = slice(first, last)
        away = cells.x[None, near] - points[block, None]  # (points, cells)
        share = np.abs(away) / np.maximum(reach[block, None], 1e-300)
        tricube = np.where(share < 1, (1 - np.minimum(share, 1) ** 3) ** 3, 0.0)
        tricube[away == 0] = 1.0
        w, y = tricube * weight[near], tricube @ total[near]
        w0, w1, w2 = w.sum(axis=1), (w * away).sum(axis=1), (w * away * away).sum(axis=1)
        y1 = (tricube * away) @ total[near]
        # robust weights may have emptied a neighbourhood: its line is then that of all its rows
        empty = w0 <= 0
        safe = np.where(empty, 1.0, w0)
        centre, level = w1 / safe, y / safe
        variance = w2 / safe - centre**2
        line = variance > 1e-12 * np.square(np.maximum(reach[block], 1e-300))
        slope = np.where(line, (y1 / safe - centre * level) / np.where(line, variance, 1.0), 0.0)
        fitted[block] = np.where(empty, np.nan, level - slope * centre)
    known = np.isfinite(fitted)
    return fitted if known.all() else np.interp(points, points[known], fitted[known])


def window_mean(features: Floats, values: Floats, *, half_width: float, fewest: int) -> tuple[Floats, Floats]:
    """The points (p,) and the mean score of the rows within ``half_width`` of each, ends included.

    With fewer than ``fewest`` rows inside, the mean of all scores takes its place: nothing is said there.
    """
    cells = Cells.of(features)
    points = cells.points()
    low = np.searchsorted(cells.x, points - half_width, side="left")
    high = np.searchsorted(cells.x, points + half_width, side="right")
    counts = np.concatenate([[0.0], np.cumsum(cells.count)])
    middle = float(values.mean())
    sums = np.concatenate([[0.0], np.cumsum(cells.sums(values - middle))])
    inside = counts[high] - counts[low]
    enough = inside >= max(fewest, 1)
    return points, middle + np.where(enough, (sums[high] - sums[low]) / np.maximum(inside, 1), 0.0)


def straight(features: Floats, values: Floats) -> tuple[Floats, Floats]:
    """The two ends of the least-squares line, or one level where the feature is constant."""
    x, y = features - features.mean(), values - values.mean()
    size = float(x @ x)
    slope = float(x @ y) / size if size > 0 else 0.0
    ends = np.unique([features.min(), features.max()])
    return ends, values.mean() + slope * (ends - features.mean())


def mean_difference(features: Floats) -> float:
    """The mean of |x_i - x_j| over all pairs of rows (Gini's mean difference)."""
    n = len(features)
    if n < 2:
        return 0.0
    ranks = 2 * np.arange(1, n + 1) - n - 1
    return float(2 * (ranks @ np.sort(features)) / (n * (n - 1)))
