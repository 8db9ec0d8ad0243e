"""Take out of a scorer's scores what they owe to the length of a response, or to any other feature of its text.

    curve = fit_curve(values, lengths, scorer=FittedOn("helpful", model.version))
    curve.save("length.json")
    debiased = curve.apply(values, lengths)             # or Debiased(scorer, "length.json"), a scorer (wrap.py)

Only scores and features are used, never a label: the curve says how the scores run with the feature over a pool of
responses, and that run, about its mean, is subtracted. What is lost with it is whatever quality really runs with the
feature; ``report`` shows both sides on labelled pairs of other prompts.

Post-hoc reward calibration: Huang et al. 2024, arXiv 2409.17407 (LOWESS with fraction 0.5, window means). Additive
models and the record are ours. The straight line is the baseline to beat: it fails on a curve that bends.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from guerdon.calibration import _records as records
from guerdon.calibration._arrays import Floats, floats, np
from guerdon.calibration._records import ANY_SCORER, FittedOn
from guerdon.calibration.debiasing.smooth import lowess, mean_difference, straight, window_mean
from guerdon.rewards.errors import UnknownNameError, UsageError

Method: TypeAlias = Literal["lowess", "window", "linear"]
METHODS: tuple[str, ...] = get_args(Method)

KIND, VERSION = "debias_curve", 1
FEWEST = 20
"""Rows below which no curve is fitted: any run of so few scores is mostly noise."""
FEWEST_IN_WINDOW = 20
CYCLES, STILL = 20, 1e-4
"""An additive fit ends after so many rounds, or when no curve moves by more than this share of the scores' spread."""


@dataclass(frozen=True, slots=True)
class DebiasCurve:
    """How scores run with a feature: straight between ``x`` and constant beyond.

    feature: a name of features.py. method: how it was fitted. x: (p,), rising; y: (p,), the fitted score there, in the
    scores' unit. centre: the mean of the curve over the pool, so that the pool keeps its mean. strength: the share that
    is taken out, 1 is all. n: scores in the pool. scorer: whose scores; "" fits any.
    """

    feature: str
    method: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    centre: float
    strength: float = 1.0
    n: int = 0
    scorer: FittedOn = field(default=ANY_SCORER)

    def __post_init__(self) -> None:
        if not isinstance(self.feature, str) or not self.feature:
            raise UsageError(f"feature must be a name, got {self.feature!r:.80}")
        if self.method not in METHODS:
            raise UnknownNameError("method", str(self.method), METHODS)
        x, y = (records.numbers(getattr(self, name), name) for name in ("x", "y"))
        if not x or len(x) != len(y) or any(b <= a for a, b in itertools.pairwise(x)):
            raise UsageError(f"x must rise and have a y each; got {len(x)} x and {len(y)} y")
        for name, value in (
            ("x", x),
            ("y", y),
            ("centre", records.number(self.centre, "centre")),
            ("strength", records.number(self.strength, "strength", 0.0)),
            ("n", records.count(self.n, "n")),
        ):
            object.__setattr__(self, name, value)

    def at(self, features: Floats) -> Floats:
        """The fitted score at each value of the feature."""
        return np.interp(floats(features, "features"), self.x, self.y)

    def apply(self, values: Floats, features: Floats) -> Floats:
        """values - strength * (curve(features) - centre); both (n,), a new array. NaN stays NaN."""
        values, features = floats(values, "values"), floats(features, "features")
        if values.shape != features.shape:
            raise UsageError(f"each score needs its feature; got {values.shape} scores and {features.shape} features")
        return np.asarray(values - self.strength * (self.at(features) - self.centre))

    def refuses(self, name: str, version: str) -> str:
        """Why this curve may not be applied to that scorer, or "" if it may."""
        return self.scorer.refuses(name, version)

    def to_json(self) -> dict[str, Any]:
        scorer = {"name": self.scorer.name, "version": self.scorer.version}
        own = {name: getattr(self, name) for name in _FIELDS if name != "scorer"}
        return {"kind": KIND, "version": VERSION, **own, "x": list(self.x), "y": list(self.y), "scorer": scorer}

    @classmethod
    def from_json(cls, data: Any) -> DebiasCurve:
        fields = dict(records.opened(data, KIND, VERSION, _FIELDS))
        fields["scorer"] = records.fitted_on(fields["scorer"])
        return cls(**{name: fields[name] for name in _FIELDS})

    def save(self, path: str | os.PathLike[str]) -> None:
        records.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DebiasCurve:
        """Raises UsageError naming the file if it cannot be read or holds no curve."""
        return records.load(path, cls.from_json)


_FIELDS = ("feature", "method", "x", "y", "centre", "strength", "n", "scorer")


def fit_curve(
    values: Floats,
    features: Floats,
    *,
    feature: str = "length",
    method: Method = "lowess",
    fraction: float = 0.5,
    iterations: int = 3,
    half_width: float | None = None,
    strength: float = 1.0,
    scorer: FittedOn = ANY_SCORER,
) -> DebiasCurve:
    """The curve of scores over one feature of a pool of responses. values, features: (n,); a row with NaN is left out.

    method: "lowess", locally linear with tricube weights over the nearest ``fraction`` of the rows, ``iterations``
    times reweighted against outliers; "window", the mean of the rows within ``half_width`` (None: a quarter of the mean
    difference of two rows' features), where at least 20 are inside; "linear", least squares.
    Raises UsageError for fewer than 20 rows and for arguments that cannot be right.
    """
    _check(method, fraction, iterations, half_width)
    x, y = _rows(values, features)
    points, fitted = _smooth(x, y, method, fraction, iterations, half_width)
    centre = float(np.interp(x, points, fitted).mean())
    return DebiasCurve(
        feature, method, tuple(points.tolist()), tuple(fitted.tolist()), centre, strength, len(y), scorer
    )


def fit_curves(
    values: Floats,
    features: Mapping[str, Floats],
    *,
    joint: bool = False,
    strength: float = 1.0,
    scorer: FittedOn = ANY_SCORER,
    **how: Any,
) -> tuple[DebiasCurve, ...]:
    """A curve a feature, to be applied one after the other (their order then changes nothing).

    features: (n,) by name. joint: False fits each on what those before it leave; True all at once, as an additive model
    (backfitting, Hastie & Tibshirani 1986), so that features which go together share what both explain and no order is
    preferred. how: as for ``fit_curve``. The second curve and those after it name the scorer that holds the ones
    before (``Debiased`` adds "-debiased" to a name).
    """
    if not features:
        raise UsageError("features is empty; name at least one")
    columns = {name: floats(column, name) for name, column in features.items()}
    rest = floats(values, "values").copy()
    for column in columns.values():
        if column.shape != rest.shape:
            raise UsageError(f"each score needs its feature; got {rest.shape} scores and {column.shape} features")
        rest[~np.isfinite(column)] = np.nan  # the same rows for every curve
    fitted: dict[str, DebiasCurve] = {}
    if joint and len(columns) > 1:
        fitted = _additive(rest, columns, how)
    else:
        for name, column in columns.items():
            fitted[name] = fit_curve(rest, column, feature=name, **how)
            rest = fitted[name].apply(rest, column)
    found = []
    for number, curve in enumerate(fitted.values()):
        name = f"{scorer.name}{'-debiased' * number}" if scorer.name else ""
        on = FittedOn(name, scorer.version if number == 0 else "")
        found.append(DebiasCurve(curve.feature, curve.method, curve.x, curve.y, curve.centre, strength, curve.n, on))
    return tuple(found)


def _additive(values: Floats, columns: Mapping[str, Floats], how: Mapping[str, Any]) -> dict[str, DebiasCurve]:
    fitted: dict[str, DebiasCurve] = {}
    parts = {name: np.zeros(len(values)) for name in columns}
    spread = float(np.nanstd(values))
    for _ in range(CYCLES):
        moved = 0.0
        for name, column in columns.items():
            others = sum((part for other, part in parts.items() if other != name), np.zeros(len(values)))
            fitted[name] = fit_curve(values - others, column, feature=name, **how)
            part = fitted[name].at(column) - fitted[name].centre
            moved = max(moved, float(np.nanmax(np.abs(part - parts[name]))))
            parts[name] = part
        if moved <= STILL * spread:
            break
    return fitted


def penalty(values: Floats, features: Floats, price: float) -> Floats:
    """values - price * features: what many training scripts do for length. Kept to be compared with."""
    values, features = floats(values, "values"), floats(features, "features")
    return np.asarray(values - records.number(price, "price") * features)


def _check(method: str, fraction: float, iterations: int, half_width: float | None) -> None:
    if method not in METHODS:
        raise UnknownNameError("method", str(method), METHODS)
    if not 0.0 < fraction <= 1.0:
        raise UsageError(f"fraction must be in (0, 1], got {fraction!r}; 0.5 looks at the nearest half of the rows")
    if isinstance(iterations, bool) or not isinstance(iterations, int) or not 0 <= iterations <= 100:
        raise UsageError(f"iterations must be a whole number from 0 to 100, got {iterations!r}")
    if half_width is not None:
        records.number(half_width, "half_width", 0.0)


def _rows(values: Floats, features: Floats) -> tuple[Floats, Floats]:
    """The features and scores of the rows that have both."""
    values, features = floats(values, "values"), floats(features, "features")
    if values.ndim != 1 or values.shape != features.shape:
        raise UsageError(
            f"values and features must both have shape (n,), got {values.shape} and {features.shape}; "
            "for several features see fit_curves"
        )
    known = np.isfinite(values) & np.isfinite(features)
    if known.sum() < FEWEST:
        raise UsageError(
            f"{int(known.sum())} rows with a score and a feature; a curve needs {FEWEST}, and some hundred to mean much"
        )
    return features[known], values[known]


def _smooth(
    x: Floats, y: Floats, method: str, fraction: float, iterations: int, half_width: float | None
) -> tuple[Floats, Floats]:
    if method == "linear":
        return straight(x, y)
    if method == "window":
        width = mean_difference(x) / 4 if half_width is None else half_width
        return window_mean(x, y, half_width=width, fewest=FEWEST_IN_WINDOW)
    level = float(y.mean())  # about their mean, so that large scores keep their small differences
    points, fitted = lowess(x, y - level, fraction=fraction, iterations=iterations)
    return points, fitted + level
