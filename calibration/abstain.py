"""Saying "cannot tell" by a rule with a promise: fitting an ``AbstentionRule``, and the scorer that follows it.

    rule = fit_abstention(values, right, method="learn_then_test", alpha=0.05, input_scale="probability", scorer=...)
    scorer = Abstaining(scorer, rule)       # what the rule objects to is unscored, status "abstained"

Every promise needs exchangeable samples: ``abstention.EXCHANGEABILITY`` says what that means, and is in every record.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from guerdon.calibration import conformal
from guerdon.calibration._records import ANY_SCORER, FittedOn
from guerdon.calibration._wrapper import Wrapper
from guerdon.calibration.abstention import AbstentionRule, Method, Side, check_form, confidence
from guerdon.calibration.probabilities import checked_values
from guerdon.calibration.strata import stratum as stratum_of
from guerdon.rewards.errors import ScaleError, UsageError
from guerdon.rewards.evaluation._numeric import Floats, np
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import Sample, Scale, Score

GRID = tuple(round(0.01 * i, 2) for i in range(99, -1, -1))
"""Thresholds of learn-then-test on the scale probability, fixed before any data."""


def fit_abstention(
    values: Floats,
    right: Any,
    *,
    method: Method = "learn_then_test",
    alpha: float | tuple[float, float] = 0.05,
    delta: float = 0.1,
    side: Side = "accept",
    input_scale: Scale = "probability",
    keys: Sequence[str] | None = None,
    stratum: str = "",
    grid: Floats | None = None,
    scorer: FittedOn = ANY_SCORER,
) -> AbstentionRule:
    """A rule from scored and labelled samples that helped to fit nothing else (no map, no model).

    values: (n,). right: (n,) bool. keys: each sample's stratum by ``strata.stratum(stratum)``; None is one stratum.
    grid: learn-then-test's thresholds of the confidence, fixed before the data were seen; only the scale probability
    has a default. Other arguments as in ``AbstentionRule``.
    A stratum that cannot have the promise (too few samples) is refused, with the reason; UsageError if all are.
    """
    check_form(method, side, input_scale)
    scores, labels = conformal.checked(checked_values(values, input_scale, pairs=False), right)
    if keys is None and stratum:
        raise UsageError(f"the stratum {stratum!r} needs keys=, each sample's stratum")
    named = np.array([""] * len(scores) if keys is None else list(keys), dtype=object)
    if len(named) != len(scores):
        raise UsageError(f"{len(scores)} values but {len(named)} strata; give each value its stratum")
    if method == "learn_then_test" and grid is None and input_scale != "probability":
        raise UsageError(f"learn_then_test on the scale {input_scale!r} needs grid=, thresholds fixed before the data")
    levels = _levels(method, alpha)
    thresholds = np.array(GRID) if grid is None else np.asarray(grid, dtype=float)
    strata: dict[str, dict[str, Any]] = {}
    refused: dict[str, str] = {}
    for key in dict.fromkeys(named.tolist()):
        rows = named == key
        try:
            strata[key] = _fit_one(method, scores[rows], labels[rows], levels, delta, side, thresholds)
        except UsageError as error:
            refused[key] = str(error)
    if not strata:
        reasons = "\n".join(f"  stratum {key!r:.80}: {why}" for key, why in refused.items())
        raise UsageError(f"no stratum can have a rule:\n{reasons}")
    return AbstentionRule(method, input_scale, levels, strata, delta, side, stratum, refused, scorer)


class Abstaining(Wrapper):
    """A scorer that keeps silent where its rule does: unscored, status "abstained", with the reason. Scale unchanged.

    rule: an ``AbstentionRule``, or its file. Raises UsageError for a rule of another scorer or version (its promise is
    void), ScaleError for another scale.
    """

    word = "abstaining"

    def __init__(self, scorer: Scorer, rule: AbstentionRule | str | os.PathLike[str]) -> None:
        rule = rule if isinstance(rule, AbstentionRule) else AbstentionRule.load(rule)
        if why := rule.refuses(scorer.name, scorer.version):
            raise UsageError(f"the abstention rule cannot be used: {why}")
        if rule.input_scale != scorer.scale:
            raise ScaleError(
                f"the rule takes the scale {rule.input_scale!r}, but {scorer.name!r} gives {scorer.scale!r}"
            )
        super().__init__(scorer, rule)
        self.scale, self.rule = scorer.scale, rule
        self._stratum = stratum_of(rule.stratum)

    def _values(self, samples: Sequence[Sample], scores: Sequence[Score]) -> list[Score]:
        keys = [self._stratum(sample, score) for sample, score in zip(samples, scores, strict=True)]
        values = np.array([score.value for score in scores], dtype=float)
        return [
            self._new(score, value, stratum=key)
            if not why
            else Score.unscored(f"abstained: {why}", {**score.details, self.word: {"raw": value, "stratum": key}})
            for score, value, key, why in zip(
                scores, values.tolist(), keys, self.rule.objections(values, keys), strict=True
            )
        ]


def _levels(method: Method, alpha: float | tuple[float, float]) -> tuple[float, ...]:
    levels = alpha if isinstance(alpha, tuple) else (alpha,)
    return levels * 2 if method == "conformal" and len(levels) == 1 else levels


def _fit_one(
    method: Method, scores: Floats, right: Any, levels: tuple[float, ...], delta: float, side: Side, grid: Floats
) -> dict[str, Any]:
    if method == "conformal":
        for name, n, level in (("wrong", int((~right).sum()), levels[0]), ("right", int(right.sum()), levels[1])):
            least = int(np.ceil(1 / level - 1e-9)) - 1
            if n < max(least, 1):
                raise UsageError(f"{n} {name} samples cannot be excluded at level {level:g}; {least} are the least")
        return {"wrong": np.sort(scores[~right]).tolist(), "right": np.sort(scores[right]).tolist()}
    wrong = ~right if side == "accept" else (scores > 0.5) != right
    sure = confidence(scores, side)
    if method == "risk_control":
        return {"threshold": conformal.risk_threshold(sure, wrong, alpha=levels[0])}
    threshold = conformal.selective_threshold(sure, wrong, grid, alpha=levels[0], delta=delta)
    if threshold is None:
        raise UsageError(
            f"no threshold of the grid shows an error of at most {levels[0]:g} among the accepted "
            f"(confidence {1 - delta:g}, {len(scores)} samples)"
        )
    return {"threshold": threshold}
