"""An ``AbstentionRule``: which values of a scorer may be trusted, stratum by stratum, as a record with a promise.

``abstain.py`` fits one and makes a scorer follow it. A rule is of one scorer, one version and the strata it was fitted
on: it refuses another version, and objects to a value of a stratum it has not seen or had too few samples of.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from guerdon.calibration import _records as records
from guerdon.calibration import conformal
from guerdon.calibration._records import ANY_SCORER, FittedOn
from guerdon.calibration.probabilities import checked_values
from guerdon.calibration.strata import stratum as stratum_of
from guerdon.rewards.errors import ScaleError, UnknownNameError, UsageError
from guerdon.rewards.evaluation._numeric import Floats, np
from guerdon.rewards.types import SCALES, FrozenDict, Scale

KIND, FORMAT = "abstention_rule", 1

Method: TypeAlias = Literal["conformal", "risk_control", "learn_then_test"]
Side: TypeAlias = Literal["accept", "both"]
METHODS: tuple[Method, ...] = get_args(Method)
SIDES: tuple[Side, ...] = get_args(Side)

EXCHANGEABILITY = (
    "The promise holds for samples exchangeable with the calibration sample: same prompts, same policy, same scorer "
    "version. A policy that is being trained moves away from it; label a fresh sample and fit again as it does."
)


@dataclass(frozen=True, slots=True)
class AbstentionRule:
    """Which values may be trusted, stratum by stratum.

    method: "conformal": the value is kept if exactly one of right and wrong fits it, each excluded at level alpha.
    "risk_control": at most alpha of all samples are accepted and wrong, on average. "learn_then_test": at most alpha
    of the accepted are wrong, with probability 1 - delta.
    side: what the two last accept: "accept" the value as a claim to be right (confidence = value); "both" the claim of
    a probability either way (confidence = max(p, 1 - p)). alpha: (wrong, right) for conformal, else one number.
    stratum: the spec of ``strata.stratum``. strata: by key, the sorted calibration values {"wrong": …, "right": …}, or
    {"threshold": …}. refused: by key, why a stratum of the calibration sample has no rule.
    """

    method: Method
    input_scale: Scale
    alpha: tuple[float, ...]
    strata: Mapping[str, Mapping[str, Any]]
    delta: float = 0.1
    side: Side = "accept"
    stratum: str = ""
    refused: Mapping[str, str] = field(default_factory=FrozenDict)
    scorer: FittedOn = ANY_SCORER

    def __post_init__(self) -> None:
        check_form(self.method, self.side, self.input_scale)
        alpha = records.numbers(self.alpha, "alpha", 0.0, 1.0)
        if len(alpha) != (2 if self.method == "conformal" else 1):
            raise UsageError(f"alpha holds one level, for conformal two (wrong, right); got {list(alpha)!r:.80}")
        for value in (*alpha, records.number(self.delta, "delta")):
            conformal.check_level("alpha and delta", value)
        stratum_of(self.stratum)
        if not isinstance(self.strata, Mapping) or not self.strata:
            raise UsageError("a rule needs at least one stratum")
        strata = {key: _checked_stratum(self.method, key, value) for key, value in self.strata.items()}
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "strata", FrozenDict(strata))
        object.__setattr__(self, "refused", FrozenDict(self.refused))

    def refuses(self, name: str, version: str) -> str:
        """Why the rule may not be applied to this scorer, or "" if it may."""
        return self.scorer.refuses(name, version)

    def objections(self, values: Floats, keys: Sequence[str] | None = None) -> list[str]:
        """Why each value is not to be trusted, or "" where it is. keys: the values' strata; None is one stratum, "".

        Raises UsageError or ScaleError for values that are not finite or not on the scale.
        """
        given = checked_values(values, self.input_scale, pairs=False)
        named = np.array([""] * len(given) if keys is None else list(keys), dtype=object)
        if len(named) != len(given):
            raise UsageError(f"{len(given)} values but {len(named)} strata; give each value its stratum")
        found = [""] * len(given)
        for key in dict.fromkeys(named.tolist()):
            rows = np.flatnonzero(named == key)
            for row, why in zip(rows.tolist(), self._objections_in(key, given[rows]), strict=True):
                found[row] = why
        return found

    def _objections_in(self, key: str, values: Floats) -> list[str]:
        if key not in self.strata:
            why = self.refused.get(key, "it was not in the calibration sample")
            return [f"no rule for the stratum {key!r:.120}: {why}"] * len(values)
        if self.method == "conformal":
            own = self.strata[key]
            scores = np.array([*own["wrong"], *own["right"]])
            labels = np.repeat([False, True], [len(own["wrong"]), len(own["right"])])
            p = conformal.class_p_values(scores, labels, values)
            wrong, right = conformal.prediction_sets(p, (self.alpha[0], self.alpha[1])).T
            both = "right and wrong both fit the score"
            neither = "neither right nor wrong fits the score"
            return [
                "" if w != r else both if w else neither for w, r in zip(wrong.tolist(), right.tolist(), strict=True)
            ]
        threshold = self.strata[key]["threshold"]
        sure = confidence(values, self.side)
        return ["" if c > threshold else f"confidence {c:.4g} is not above {threshold:.4g}" for c in sure.tolist()]

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "version": FORMAT,
            "note": EXCHANGEABILITY,
            "scorer": {"name": self.scorer.name, "version": self.scorer.version},
            "method": self.method,
            "input_scale": self.input_scale,
            "side": self.side,
            "alpha": list(self.alpha),
            "delta": self.delta,
            "stratum": self.stratum,
            "strata": {
                key: {name: list(item) if isinstance(item, tuple) else item for name, item in own.items()}
                for key, own in self.strata.items()
            },
            "refused": dict(self.refused),
        }

    @classmethod
    def from_json(cls, data: Any) -> AbstentionRule:
        """Raises UsageError for another kind or version, unknown or lacking keys, values that make no rule."""
        names = ("note", "scorer", "method", "input_scale", "side", "alpha", "delta", "stratum", "strata", "refused")
        own = records.opened(data, KIND, FORMAT, names)
        for name in ("strata", "refused"):
            if not isinstance(own[name], Mapping):
                raise UsageError(f"{name} must be an object by stratum, got {own[name]!r:.80}")
        return cls(
            own["method"],
            own["input_scale"],
            tuple(records.numbers(own["alpha"], "alpha")),
            own["strata"],
            records.number(own["delta"], "delta"),
            own["side"],
            own["stratum"],
            {str(key): str(why) for key, why in own["refused"].items()},
            records.fitted_on(own["scorer"]),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rule as JSON."""
        records.write(path, self.to_json())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> AbstentionRule:
        """Read what ``save`` wrote. Raises UsageError naming the file and what is wrong with it."""
        return records.load(path, cls.from_json)

    def __str__(self) -> str:
        levels = ", ".join(f"{level:g}" for level in self.alpha)
        return f"{self.method} at {levels} in {len(self.strata)} strata. {EXCHANGEABILITY}"


def confidence(values: Floats, side: Side) -> Floats:
    """The value itself, or of a probability max(p, 1 - p)."""
    return values if side == "accept" else np.asarray(np.maximum(values, 1 - values))


def check_form(method: str, side: str, scale: str) -> None:
    if method not in METHODS:
        raise UnknownNameError("abstention method", str(method), METHODS)
    if side not in SIDES:
        raise UnknownNameError("side", str(side), SIDES)
    if scale not in SCALES:
        raise ScaleError(f"a scale is one of {', '.join(SCALES)}; got {scale!r:.80}")
    if side == "both" and scale != "probability":
        raise ScaleError(f"side='both' reads a probability either way, got the scale {scale!r}; calibrate it first")


def _checked_stratum(method: Method, key: Any, given: Any) -> dict[str, Any]:
    if not isinstance(key, str):
        raise UsageError(f"a stratum's key is a string, got {key!r:.80}")
    if method != "conformal":
        own = records.exactly(given, f"stratum {key!r:.80}", ("threshold",))
        return {"threshold": records.number(own["threshold"], "threshold")}
    own = records.exactly(given, f"stratum {key!r:.80}", ("wrong", "right"))
    sides = {name: tuple(sorted(records.numbers(own[name], name))) for name in ("wrong", "right")}
    if not all(sides.values()):
        raise UsageError(f"stratum {key!r:.80} needs calibration values of right and of wrong samples")
    return sides
