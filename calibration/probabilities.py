"""What a score is worth as a probability: a fitted map from scores to P(right), or from margins of pairs to P(wins).

A ``ProbabilityMap`` is what is kept and served; ``maps.py`` fits one and ``choice.py`` finds the best. How good
probabilities are is measured by ``guerdon.rewards.evaluation.probabilities``.

A map of pairs is antisymmetric, P(a beats b) + P(b beats a) = 1: which of two responses is called the first must not
matter. It takes the margin r_a - r_b, so it cannot be applied to the score of a single response.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from guerdon.calibration import _records as records
from guerdon.calibration._records import ANY_SCORER, FittedOn
from guerdon.rewards.errors import ScaleError, UnknownNameError, UsageError
from guerdon.rewards.evaluation._numeric import Floats, np, special
from guerdon.rewards.evaluation.probabilities import CLIP
from guerdon.rewards.types import SCALES, FrozenDict, Scale

KIND, FORMAT = "probability_map", 1

PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "temperature": ("slope",),
    "platt": ("slope", "offset"),
    "beta": ("a", "b", "c"),
    "histogram": ("edges", "probabilities"),
    "isotonic": ("values", "probabilities"),
}
"""The methods, the simplest first, and the parameters of each."""

METHODS: tuple[str, ...] = tuple(PARAMETERS)
"""Names of the methods, the simplest first."""

TAKES: Mapping[str, tuple[Scale, ...]] = {
    "temperature": ("probability", "logit"),
    "platt": ("verdict", "probability", "logit", "real"),
    "beta": ("probability", "logit"),
    "histogram": ("verdict", "probability", "logit", "real"),
    "isotonic": ("verdict", "probability", "logit", "real"),
}
"""Scales of single scores that a method takes. A margin of pairs is a log-odds whatever the scale of the scores."""


@dataclass(frozen=True, slots=True)
class ProbabilityMap:
    """A fitted map from values to probabilities.

    method: one of METHODS. input_scale: of the values that ``apply`` takes. pairs: True, values are margins
    (``margins_of`` two scores on that scale) and the probability is P(a beats b); False, scores and P(right).
    parameters: by name, see PARAMETERS. With z the log-odds of the value (logit(p) for a probability, else the value):

        temperature   sigma(slope z), slope = 1 / T >= 0; 0 says that the values are no better than a coin
        platt         sigma(slope z + offset)
        histogram     the probability of the bin (closed on the right) that the value lies in
        beta          sigma(a log p - b log(1 - p) + c), p the value as a probability; Kull et al. 2017
        isotonic      linear between the points (values, probabilities), constant outside

    scorer: whose values it was fitted on. n: rows it was fitted on.
    Raises UnknownNameError, UsageError or ScaleError for what cannot be such a map.

    >>> ProbabilityMap("temperature", "logit", {"slope": 0.5}).apply(np.array([0.0, 2.0])).round(4).tolist()
    [0.5, 0.7311]
    """

    method: str
    input_scale: Scale
    parameters: Mapping[str, Any]
    pairs: bool = False
    scorer: FittedOn = ANY_SCORER
    n: int = 0

    def __post_init__(self) -> None:
        check_input(self.method, self.input_scale, pairs=self.pairs)
        records.count(self.n, "n")
        given = records.exactly(self.parameters, f"parameters of {self.method}", PARAMETERS[self.method])
        object.__setattr__(self, "parameters", FrozenDict(_checked(self.method, given)))

    @property
    def temperature(self) -> float | None:
        """T of a temperature map; None for the other methods and where the slope is 0 (T is infinite)."""
        slope = self.parameters["slope"] if self.method == "temperature" else 0.0
        return 1.0 / slope if slope else None

    def apply(self, values: Floats) -> Floats:
        """Probabilities of values of any shape. Raises UsageError for values not finite, ScaleError off the scale."""
        given = checked_values(values, self.input_scale, pairs=self.pairs)
        if not self.pairs:
            return self._raw(given)
        return np.asarray(0.5 * (self._raw(given) + (1.0 - self._raw(-given))))

    def refuses(self, name: str, version: str) -> str:
        """Why the map may not be applied to this scorer, or "" if it may: probabilities are those of one version."""
        return self.scorer.refuses(name, version)

    def _raw(self, values: Floats) -> Floats:
        own = self.parameters
        if self.method == "temperature":
            return np.asarray(special.expit(own["slope"] * self._log_odds(values)))
        if self.method == "platt":
            return np.asarray(special.expit(own["slope"] * self._log_odds(values) + own["offset"]))
        if self.method == "beta":
            z = self._log_odds(values)
            return np.asarray(special.expit(-own["a"] * np.logaddexp(0, -z) + own["b"] * np.logaddexp(0, z) + own["c"]))
        if self.method == "isotonic":
            return np.asarray(np.interp(values, own["values"], own["probabilities"]))
        return np.asarray(np.array(own["probabilities"])[np.searchsorted(own["edges"], values, side="left")])

    def _log_odds(self, values: Floats) -> Floats:
        return log_odds(values, self.input_scale, pairs=self.pairs)

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "version": FORMAT,
            "scorer": {"name": self.scorer.name, "version": self.scorer.version},
            "method": self.method,
            "input_scale": self.input_scale,
            "pairs": self.pairs,
            "n": self.n,
            "parameters": {
                name: list(value) if isinstance(value, tuple) else value for name, value in self.parameters.items()
            },
        }

    @classmethod
    def from_json(cls, data: Any) -> ProbabilityMap:
        """Raises UsageError for another kind or version, unknown or lacking keys, parameters that make no map."""
        own = records.opened(data, KIND, FORMAT, ("scorer", "method", "input_scale", "pairs", "n", "parameters"))
        if not isinstance(own["pairs"], bool):
            raise UsageError(f"pairs must be true or false, got {own['pairs']!r:.80}")
        scorer = records.fitted_on(own["scorer"])
        return cls(own["method"], own["input_scale"], own["parameters"], own["pairs"], scorer, own["n"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the map as JSON."""
        records.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ProbabilityMap:
        """Read what ``save`` wrote. Raises UsageError naming the file and what is wrong with it."""
        return records.load(path, cls.from_json)

    def __str__(self) -> str:
        return (
            f"{self.method} map of {'margins' if self.pairs else 'scores'} ({self.input_scale}), from {self.n:,} rows"
        )


def check_input(method: str, scale: str, *, pairs: bool) -> None:
    """Raises UnknownNameError for a method there is none of, ScaleError for a scale that the method does not take."""
    if method not in METHODS:
        raise UnknownNameError("probability map", str(method), METHODS)
    if scale not in SCALES:
        raise ScaleError(f"a scale is one of {', '.join(SCALES)}; got {scale!r:.80}")
    if pairs and scale == "verdict":
        raise ScaleError("a margin of two verdicts is -1, 0 or 1 and no log-odds; calibrate the verdicts themselves")
    if not pairs and scale not in TAKES[method]:
        able = [name for name in METHODS if scale in TAKES[name]]
        raise ScaleError(f"a {method} map takes {' or '.join(TAKES[method])}, not {scale!r}; use {' or '.join(able)}")


def checked_values(values: Any, scale: Scale, *, pairs: bool) -> Floats:
    """The values as finite floats that lie on their scale. Raises UsageError with how many do not."""
    try:
        given = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise UsageError(f"values must be numbers of one shape, got {values!r:.80}") from error
    if n_bad := int((~np.isfinite(given)).sum()):
        raise UsageError(f"{n_bad} of {given.size} values are not finite; leave out what is unscored")
    if pairs or scale in ("logit", "real"):
        return given
    outside = (given < 0) | (given > 1) if scale == "probability" else (given != 0) & (given != 1)
    if outside.any():
        first = float(given[outside].flat[0])
        raise ScaleError(f"{int(outside.sum())} of {given.size} values are not on the scale {scale!r}, e.g. {first!r}")
    return given


def log_odds(values: Floats, scale: Scale, *, pairs: bool) -> Floats:
    """The values as log-odds: a probability's logit (clipped to 1e-12 from 0 and 1), everything else as it is."""
    if scale != "probability" or pairs:
        return values
    return np.asarray(special.logit(np.clip(values, CLIP, 1 - CLIP)))


def margins_of(first: Floats, second: Floats, scale: Scale) -> Floats:
    """The margins of pairs that a map takes: r_first - r_second, of probabilities the difference of their log-odds.

    >>> margins_of(np.array([0.9]), np.array([0.5]), "probability").round(4).tolist()
    [2.1972]
    """
    a, b = (log_odds(checked_values(side, scale, pairs=False), scale, pairs=False) for side in (first, second))
    return np.asarray(a - b)


def _checked(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as floats and tuples of floats, if they make a map."""
    if method in ("temperature", "platt", "beta"):
        floor = {"temperature": ("slope",), "beta": ("a", "b")}.get(method, ())
        return {name: records.number(value, name, 0.0 if name in floor else -np.inf) for name, value in given.items()}
    places, name = PARAMETERS[method]
    at, levels = records.numbers(given[places], places), records.numbers(given[name], name, 0.0, 1.0)
    expected = len(at) + (method == "histogram")
    if not levels or len(levels) != expected:
        raise UsageError(f"a {method} map of {len(at)} {places} has {expected} {name}, got {len(levels)}")
    if any(a >= b for a, b in pairwise(at)):
        raise UsageError(f"{places} of a {method} map must rise, got {list(at)!r:.120}")
    if method == "isotonic" and any(a > b for a, b in pairwise(levels)):
        raise UsageError(f"{name} of an isotonic map must not fall, got {list(levels)!r:.120}")
    return {places: at, name: levels}
