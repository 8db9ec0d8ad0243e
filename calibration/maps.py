"""Fitting probability maps: temperature, Platt, beta, histogram, isotonic (methods C4).

Labels may be fractional: y in [0, 1] is the probability that the response is right (or that the first of a pair wins).
Pairs are fitted with every pair seen in both orders, so the map cannot learn which response was called the first.
Then Platt's offset is 0 and beta's a equals b: both are one slope, a temperature with smoothed labels.

``smooth`` (the default) keeps certainty out: no finite sample shows a probability of 0 or 1. With ``smooth=False`` a
map is the textbook's maximum of the likelihood. scikit-learn fits the logistic and the isotonic maps; the worked
numbers of the tests are those of both.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guerdon.calibration._records import ANY_SCORER, FittedOn
from guerdon.calibration.probabilities import ProbabilityMap, check_input, checked_values, log_odds
from guerdon.rewards.errors import MissingExtraError, UsageError
from guerdon.rewards.evaluation._numeric import Floats, np, special
from guerdon.rewards.evaluation.probabilities import equal_mass, fit_inverse_temperature
from guerdon.rewards.types import Scale

try:
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression
except ImportError as error:
    raise MissingExtraError("fitting probability maps", "calibration") from error

FEWEST = 8
"""Rows below which no map is fitted. It refuses nonsense only; a map to rely on wants some hundred (``choice.py``)."""

TOLERANCE = 1e-8
"""Of the mean log-loss's gradient. Newton's last step overshoots it; below it there is only rounding."""

MOST_BINS, FEWEST_A_BIN = 10, 10


@dataclass(frozen=True, slots=True)
class _Rows:
    """What is fitted: values as ``apply`` takes them, their log-odds, and labels; pairs stand in both orders."""

    values: Floats
    z: Floats
    right: Floats


def fit_map(
    method: str,
    values: Floats,
    right: Floats | float,
    *,
    input_scale: Scale = "logit",
    pairs: bool = False,
    smooth: bool = True,
    scorer: FittedOn = ANY_SCORER,
) -> ProbabilityMap:
    """A map from values to probabilities, fitted by maximum likelihood (isotonic: least squares, which is the same).

    values: (n,), scores on ``input_scale``, or with ``pairs`` the margins of pairs. right: (n,) or a number, 1 where
    the response is right (the first of the pair wins), 0 where not, fractions in between. method: one of METHODS.
    smooth: see the module. scorer: whose values these are; the map then refuses any other.
    Raises UsageError for fewer than 8 rows, values or labels that are no numbers, one class only, values that are all
    equal, and with ``smooth=False`` for classes that a threshold separates (a logistic map then has no end).

    >>> fit_map("temperature", np.array([3, 2, 1, 0.5, -0.5, 2.5, -1, 0.2]), 1.0, pairs=True).temperature.__round__(6)
    0.957887
    """
    check_input(method, input_scale, pairs=pairs)
    rows = _checked_rows(values, right, input_scale, pairs)
    parameters = _FITS[method](rows, smooth)
    return ProbabilityMap(method, input_scale, parameters, pairs, scorer, len(np.asarray(values)))


fit_temperature: Callable[..., ProbabilityMap] = functools.partial(fit_map, "temperature")
"""One slope on the log-odds; keeps the ranking. Labels are smoothed only where a threshold separates the classes."""
fit_platt: Callable[..., ProbabilityMap] = functools.partial(fit_map, "platt")
"""A slope and an offset; smooth: targets (n1 + 1) / (n1 + 2) and 1 / (n0 + 2). Platt 1999."""
fit_histogram: Callable[..., ProbabilityMap] = functools.partial(fit_map, "histogram")
"""The share right in each of two to ten bins of equal mass; smooth: (k + 1) / (n + 2). Zadrozny & Elkan 2001."""
fit_beta: Callable[..., ProbabilityMap] = functools.partial(fit_map, "beta")
"""Slopes on log p and log(1 - p), both >= 0, and an offset; smooth: Platt's targets. Kull, Silva Filho & Flach 2017."""
fit_isotonic: Callable[..., ProbabilityMap] = functools.partial(fit_map, "isotonic")
"""The best monotone map (pool adjacent violators); smooth: kept 1 / (n + 2) from 0 and 1. Zadrozny & Elkan 2002."""


def _checked_rows(values: Any, right: Any, scale: Scale, pairs: bool) -> _Rows:
    given = checked_values(values, scale, pairs=pairs)
    if given.ndim != 1:
        raise UsageError(f"values must be one row of numbers, got shape {given.shape}")
    y = np.asarray(right, dtype=float)
    if y.shape not in ((), given.shape):
        raise UsageError(f"right has shape {y.shape}, values {given.shape}; give one label a value")
    if not ((y >= 0) & (y <= 1)).all():
        raise UsageError(f"labels must lie in [0, 1], got {y.flat[int(np.argmin((y >= 0) & (y <= 1)))]!r}")
    y = np.broadcast_to(y, given.shape)
    if len(given) < FEWEST:
        raise UsageError(
            f"{len(given)} rows are too few to fit a probability map; {FEWEST} are the least, 200 are good"
        )
    if pairs:
        given, y = np.concatenate([given, -given]), np.concatenate([y, 1 - y])
    elif y.min() == y.max():
        raise UsageError(f"every label is {float(y[0]):g}: with one class only there is nothing to calibrate")
    if given.min() == given.max():
        raise UsageError(
            f"every value is {float(given[0]):g}: they tell nothing apart, so there is nothing to calibrate"
        )
    return _Rows(given, log_odds(given, scale, pairs=pairs), y)


def _temperature(rows: _Rows, smooth: bool) -> dict[str, Any]:
    return {"slope": fit_inverse_temperature(rows.z, rows.right) or 0.0}


def _platt(rows: _Rows, smooth: bool) -> dict[str, Any]:
    (slope,), offset = _logistic(rows.z[:, None], _targets(rows, smooth))
    return {"slope": slope, "offset": offset}


def _beta(rows: _Rows, smooth: bool) -> dict[str, Any]:
    """A negative slope is set to 0 and the rest fitted again, so that the map never falls (their section 4)."""
    y = _targets(rows, smooth)
    columns = np.stack([-np.logaddexp(0, -rows.z), np.logaddexp(0, rows.z)], axis=1)
    (a, b), c = _logistic(columns, y)
    if a < 0 or b < 0:
        kept = 1 if a < 0 else 0
        (slope,), c = _logistic(columns[:, [kept]], y)
        if slope < 0:
            slope, c = 0.0, float(special.logit(y.mean()))
        a, b = (0.0, slope) if kept else (slope, 0.0)
    return {"a": a, "b": b, "c": c}


def _targets(rows: _Rows, smooth: bool) -> Floats:
    """Platt's targets; unsmoothed labels only if no threshold separates the classes, for then no slope is the best."""
    n1 = float(rows.right.sum())
    n0 = len(rows.right) - n1
    if smooth:
        low, high = 1 / (n0 + 2), (n1 + 1) / (n1 + 2)
        return low + (high - low) * rows.right
    ones, zeros = rows.values[rows.right > 0], rows.values[rows.right < 1]
    if ones.min() >= zeros.max() or ones.max() <= zeros.min():
        raise UsageError(
            "a threshold separates the labels, so the likelihood has no maximum; use smooth=True or more rows"
        )
    return rows.right


def _logistic(columns: Floats, y: Floats) -> tuple[list[float], float]:
    """Slopes and offset of the logistic regression of fractional labels: each row as a part right and a part wrong."""
    centre, size = columns.mean(axis=0), columns.std(axis=0)
    scaled = (columns - centre) / size  # scores may be in the thousands
    if max(abs(float((y - 0.5).mean())), float(np.abs((y - 0.5) @ scaled).max()) / len(y)) < TOLERANCE:
        return [0.0] * columns.shape[1], 0.0  # the coin is the best; scikit-learn's line search warns of no way up
    weights = np.concatenate([y, 1 - y])
    used = weights > 0
    twice, label = np.concatenate([scaled, scaled]), np.repeat([1.0, 0.0], len(y))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=TOLERANCE, max_iter=1_000)
    model.fit(twice[used], label[used], sample_weight=weights[used])
    slopes = model.coef_[0] / size
    return slopes.tolist(), float(model.intercept_[0] - slopes @ centre)


def _histogram(rows: _Rows, smooth: bool) -> dict[str, Any]:
    n_bins = max(2, min(MOST_BINS, len(rows.values) // FEWEST_A_BIN))
    edges = equal_mass(rows.values, n_bins)[1:-1]
    where = np.searchsorted(edges, rows.values, side="left")
    n, k = (np.bincount(where, weights=w, minlength=len(edges) + 1) for w in (np.ones(len(where)), rows.right))
    kept = n > 0
    # an empty bin goes to the bin before it
    edges = edges[kept[1:]]
    n, k = n[kept], k[kept]
    return {"edges": edges.tolist(), "probabilities": ((k + 1) / (n + 2) if smooth else k / n).tolist()}


def _isotonic(rows: _Rows, smooth: bool) -> dict[str, Any]:
    edge = 1 / (len(rows.values) + 2) if smooth else 0.0
    model = IsotonicRegression(y_min=edge, y_max=1 - edge).fit(rows.values, rows.right)
    levels = np.clip(model.y_thresholds_, 0.0, 1.0)
    return {"values": model.X_thresholds_.tolist(), "probabilities": np.maximum.accumulate(levels).tolist()}


_FITS: dict[str, Callable[[_Rows, bool], dict[str, Any]]] = {
    "temperature": _temperature,
    "platt": _platt,
    "beta": _beta,
    "histogram": _histogram,
    "isotonic": _isotonic,
}
