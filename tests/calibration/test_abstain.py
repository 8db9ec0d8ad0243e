"""The rule as a record, and the scorer that follows it: a law-abiding scorer that keeps silent where it should."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from guerdon.calibration._records import FittedOn
from guerdon.calibration.abstain import Abstaining, fit_abstention
from guerdon.calibration.abstention import EXCHANGEABILITY, AbstentionRule
from guerdon.calibration.conformal import ACCEPT_ALL
from guerdon.calibration.wrap import wrapped
from guerdon.rewards import Sample, Score, check_scorer, pointwise
from guerdon.rewards.errors import ScaleError, UnknownNameError, UsageError

RNG = np.random.default_rng(0)
VALUES = RNG.uniform(size=600)
RIGHT = RNG.random(600) < VALUES**0.3
KEYS = np.where(np.arange(600) < 580, "math", "poems").tolist()


def share_of_digits(sample: Sample) -> Score:
    text = sample.response_text
    if not text:
        return Score.unscored("no text")
    return Score(sum(c in "0123456789" for c in text) / len(text), "share of digits", {"kind": "text"})


SCORER = pointwise(share_of_digits, scale="probability", name="digits", version="3")


def rule(**changes: Any) -> AbstentionRule:
    options: dict[str, Any] = {"method": "risk_control", "alpha": 0.1, "scorer": FittedOn("digits", "3"), **changes}
    return fit_abstention(VALUES, RIGHT, **options)


@pytest.mark.parametrize("method", ["risk_control", "learn_then_test", "conformal"])
def test_an_abstaining_scorer_keeps_the_laws(method: str) -> None:
    check_scorer(Abstaining(SCORER, rule(method=method, alpha=0.3)))


def test_it_keeps_what_the_rule_accepts_and_is_silent_about_the_rest() -> None:
    scorer = Abstaining(SCORER, rule())
    threshold = scorer.rule.strata[""]["threshold"]
    assert 0 < threshold < 1
    above, below, empty = scorer.score([Sample("?", "123456"), Sample("?", "words"), Sample("?", "")])
    assert above.value == 1.0
    assert (below.value, below.status) == (None, "abstained")
    assert "confidence 0 is not above" in below.reason
    assert below.details["abstaining"]["raw"] == 0.0
    assert empty.reason == "no text"
    assert scorer.scale == "probability"
    assert scorer.name == "digits-abstaining"
    assert scorer.version.startswith("3+")


def test_a_conformal_rule_keeps_either_claim_and_abstains_between() -> None:
    values = np.concatenate([np.linspace(0, 0.6, 50), np.linspace(0.4, 1, 50)])
    fitted = fit_abstention(values, np.repeat([0, 1], 50), method="conformal", alpha=0.1)
    reasons = fitted.objections(np.array([0.0, 0.5, 1.0]))
    assert [bool(why) for why in reasons] == [False, True, False]
    assert reasons[1] == "right and wrong both fit the score"
    apart = fit_abstention(
        np.concatenate([values[:50] / 3, values[50:]]), np.repeat([0, 1], 50), method="conformal", alpha=0.1
    )
    assert apart.objections(np.array([0.3]))[0] == "neither right nor wrong fits the score"


def test_both_sides_of_a_probability_may_be_accepted() -> None:
    p = np.repeat([0.02, 0.5, 0.98], 200)
    right = np.concatenate([np.zeros(200), np.arange(200) % 2, np.ones(200)])
    fitted = fit_abstention(p, right, method="learn_then_test", alpha=0.05, side="both")
    assert [bool(why) for why in fitted.objections(np.array([0.01, 0.5, 0.99]))] == [False, True, False]
    accept = fit_abstention(p, right, method="learn_then_test", alpha=0.05)
    assert [bool(why) for why in accept.objections(np.array([0.01, 0.5, 0.99]))] == [True, True, False]


def test_a_stratum_with_too_few_samples_abstains_and_says_so() -> None:
    fitted = rule(keys=KEYS, stratum="meta:topic", alpha=0.04)
    assert set(fitted.strata) == {"math"}
    assert "20 samples cannot control a risk of 0.04; 24 are the least" in fitted.refused["poems"]
    scorer = Abstaining(SCORER, fitted)
    samples = [Sample("?", "123", meta={"topic": topic}) for topic in ("math", "poems", "law")]
    math, poems, law = scorer.score(samples)
    assert math.value == 1.0
    assert "no rule for the stratum 'poems': 20 samples" in poems.reason
    assert "no rule for the stratum 'law': it was not in the calibration sample" in law.reason


def test_another_version_or_scale_is_refused() -> None:
    newer = pointwise(share_of_digits, scale="probability", name="digits", version="4")
    with pytest.raises(UsageError, match="not on version '4'; fit it again"):
        Abstaining(newer, rule())
    other = pointwise(share_of_digits, scale="probability", name="letters", version="3")
    with pytest.raises(UsageError, match="not of 'letters'"):
        Abstaining(other, rule())
    logits = pointwise(share_of_digits, scale="logit", name="digits", version="3")
    with pytest.raises(ScaleError, match="takes the scale 'probability', but 'digits' gives 'logit'"):
        Abstaining(logits, rule())


@pytest.mark.parametrize("method", ["risk_control", "learn_then_test", "conformal"])
def test_a_rule_survives_its_file_and_carries_the_warning(tmp_path: Path, method: str) -> None:
    fitted = rule(method=method, alpha=0.3, keys=KEYS, stratum="meta:topic")
    fitted.save(tmp_path / "rule.json")
    again = AbstentionRule.load(tmp_path / "rule.json")
    assert again == fitted
    assert json.loads((tmp_path / "rule.json").read_text())["note"] == EXCHANGEABILITY
    assert "exchangeable" in str(fitted)
    assert Abstaining(SCORER, tmp_path / "rule.json").version == Abstaining(SCORER, fitted).version


def test_a_rule_is_one_of_the_files_that_a_spec_may_end_in(tmp_path: Path) -> None:
    rule().save(tmp_path / "rule.json")
    assert isinstance(wrapped(SCORER, tmp_path / "rule.json"), Abstaining)


def test_accepting_everything_is_a_finite_threshold() -> None:
    fitted = fit_abstention(VALUES, np.ones(600), method="risk_control", alpha=0.1)
    assert fitted.strata[""]["threshold"] == ACCEPT_ALL
    assert fitted.objections(np.array([0.0, 1.0])) == ["", ""]
    assert AbstentionRule.from_json(json.loads(json.dumps(fitted.to_json()))) == fitted


@pytest.mark.parametrize(
    ("changes", "error", "told"),
    [
        ({"method": "conform"}, UnknownNameError, "Did you mean 'conformal'"),
        ({"side": "reject"}, UnknownNameError, "There are: accept, both"),
        ({"alpha": 0.0}, UsageError, "must lie between 0 and 1"),
        ({"alpha": (0.1, 0.1)}, UsageError, "alpha holds one level"),
        ({"stratum": "meta:topic"}, UsageError, "needs keys="),
        ({"keys": KEYS[:5]}, UsageError, "600 values but 5 strata"),
        ({"input_scale": "real", "method": "learn_then_test"}, UsageError, "needs grid="),
        ({"input_scale": "real", "side": "both"}, ScaleError, "calibrate it first"),
        ({"alpha": 0.001}, UsageError, "no stratum can have a rule"),
        ({"method": "learn_then_test", "alpha": 1e-4}, UsageError, "no threshold of the grid"),
        ({"method": "conformal", "alpha": 1e-3}, UsageError, "cannot be excluded at level"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(changes: dict[str, Any], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        rule(**changes)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"strata": {}}, "at least one stratum"),
        ({"strata": {"": {"threshold": "low"}}}, "must be a finite number"),
        ({"strata": {"": {"thresh": 1}}}, "unknown: 'thresh'"),
        ({"method": "conformal"}, "alpha holds one level, for conformal two"),
        ({"stratum": "mood"}, "nothing that is known"),
        ({"strata": [1]}, "must be an object by stratum"),
    ],
)
def test_a_damaged_rule_is_refused(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    (tmp_path / "rule.json").write_text(json.dumps({**rule().to_json(), **change}))
    with pytest.raises(UsageError, match=told):
        AbstentionRule.load(tmp_path / "rule.json")
