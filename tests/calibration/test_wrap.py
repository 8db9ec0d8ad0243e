"""Scorers that hold a scorer are lawful scorers, change what they should, and refuse what was not measured on it."""

from __future__ import annotations

import json
import logging
import math
from pathlib import Path

import pytest

from guerdon.calibration._records import FittedOn
from guerdon.calibration.advantages import records
from guerdon.calibration.debias import DebiasCurve
from guerdon.calibration.probabilities import ProbabilityMap
from guerdon.calibration.rates import Channel, Interval, NoiseRates
from guerdon.calibration.wrap import Calibrated, Corrected, Debiased, wrapped
from guerdon.rewards import BatchScorer, Prepared, Sample, Score, check_scorer, pointwise
from guerdon.rewards.errors import ScaleError, UsageError


def verdict(sample: Sample) -> Score:
    """Right if the response says 42; no verdict on what is empty. The kind tells digits from words."""
    text = sample.response_text
    if not text.strip():
        return Score.unscored("nothing there", status="not_applicable")
    kind = "digits" if any(c.isdigit() for c in text[:100]) else "words"
    return Score(float("42" in text), "looked", {"kind": kind, "answer": text[:5]})


def length(sample: Sample) -> float:
    return len(sample.response_text) / 10 - 1.0


class Model:
    """A BatchScorer of logits: it prepares lengths."""

    name, version, scale, max_batch_tokens = "model", "7", "logit", 512

    def score(self, samples):
        return [x if isinstance(x, Score) else self.run([x])[0] for x in map(self.prepare, samples)]

    def prepare(self, sample):
        if len(sample.response_text) > 1000:
            return Score.unscored("too long", status="refused")
        return Prepared(sample, tuple(range(len(sample.response_text) + 1)))

    def run(self, batch):
        return [Score(prepared.cost / 10 - 1.0, details={"tokens": prepared.cost}) for prepared in batch]


MATH = pointwise(verdict, scale="verdict", name="math", version="1")
RATES = NoiseRates("math", "1", "kind", {"digits": Channel(0.1, 0.2), "words": Channel(0.02, 0.45)})
CURVE = DebiasCurve("length", "linear", x=(0.0, 100.0), y=(0.0, 10.0), centre=3.0)
MAP = ProbabilityMap("temperature", "logit", {"slope": 2.0})


def values(scorer, *responses: str) -> list[float | None]:
    return [score.value for score in scorer.score([Sample("p", response) for response in responses])]


# --- Corrected ---


def test_verdicts_are_corrected_by_the_rates_of_their_stratum() -> None:
    found = values(Corrected(MATH, RATES), "42", "41", "none", "")
    assert found == pytest.approx([0.9 / 0.7, -0.1 / 0.7, -0.02 / 0.53, None])


def test_forward_gives_the_weights_and_is_a_coefficient() -> None:
    scorer = Corrected(MATH, RATES, mode="forward")
    assert values(scorer, "42", "41") == pytest.approx([0.9 / 0.7 - 1, -0.1 / 0.7 - 1])
    assert scorer.level == "coefficient"


def test_details_keep_the_verdict_the_stratum_and_the_rates() -> None:
    score = Corrected(MATH, RATES, level="coefficient").score([Sample("p", "42")])[0]
    assert score.details["answer"] == "42"
    assert dict(score.details["corrected"]) == {
        "raw": 1.0,
        "stratum": "digits",
        "audited": "digits",
        "false_positive": 0.1,
        "false_negative": 0.2,
        "mode": "backward",
        "level": "coefficient",
    }
    assert score.reason == "looked"


def test_unscored_stays_as_it_was() -> None:
    sample = Sample("p", " ")
    assert Corrected(MATH, RATES).score([sample]) == MATH.score([sample])


def test_records_of_a_corrected_scorer_know_level_raw_and_stratum() -> None:
    samples = [Sample("p", "42", group="g"), Sample("p", "", group="g")]
    first, second = records(samples, Corrected(MATH, RATES, mode="forward").score(samples))
    assert (first.level, first.do_not_standardise, first.do_not_centre) == ("coefficient", True, True)
    assert (first.raw, first.stratum, second.value) == (1.0, "digits", None)


def test_stratum_no_better_than_chance_is_abstained_and_named() -> None:
    bad = Channel(0.5, 0.4, None, None, Interval(-0.2, 0.4), 12)
    scorer = Corrected(MATH, NoiseRates("math", "1", "kind", {"digits": Channel(0.1, 0.2), "words": bad}))
    right, score = scorer.score([Sample("p", "42"), Sample("p", "none")])
    assert right.value is not None
    assert (score.value, score.status) == (None, "abstained")
    assert "stratum 'words': its verdicts are not known to be better than chance" in score.reason
    assert dict(score.details["corrected"]) == {"raw": 0.0, "stratum": "words"}
    assert score.details["answer"] == "none"


def test_verifier_that_is_no_better_than_chance_anywhere_is_refused() -> None:
    with pytest.raises(UsageError, match=r"no verdict could be corrected:\nstratum '\(all\)'"):
        Corrected(MATH, NoiseRates("math", "1", "", {"": Channel(0.5, 0.5)}))


def test_stratum_that_nobody_audited_is_abstained_unless_a_prefix_was() -> None:
    only_words = {"words": Channel(0.02, 0.45)}
    score = Corrected(MATH, NoiseRates("math", "1", "kind", only_words)).score([Sample("p", "42")])[0]
    assert (score.value, score.status) == (None, "abstained")
    assert "stratum 'digits': nobody audited it" in score.reason
    with_root = NoiseRates("math", "1", "kind", {**only_words, "": Channel(0.0, 0.5)})
    assert values(Corrected(MATH, with_root), "42") == [2.0]


def test_rates_of_another_scorer_or_for_another_scale_are_refused() -> None:
    with pytest.raises(UsageError, match="these rates are of the scorer 'math', not of 'maths'"):
        Corrected(pointwise(verdict, scale="verdict", name="maths"), RATES)
    with pytest.raises(ScaleError, match="the scale of 'length' is 'real'"):
        Corrected(pointwise(length, scale="real"), RATES)
    with pytest.raises(ScaleError, match="before anything else is done to its scores"):
        Corrected(Corrected(MATH, RATES), RATES)
    unknown = NoiseRates("", "", "", {"": Channel(0.1, 0.2)})
    assert values(Corrected(pointwise(verdict, scale="verdict", name="maths"), unknown), "42") == [
        pytest.approx(0.9 / 0.7)
    ]


def test_another_version_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    newer = pointwise(verdict, scale="verdict", name="math", version="2")
    with caplog.at_level(logging.WARNING):
        scorer = Corrected(newer, RATES)
        values(scorer, "42")
        values(scorer, "42")
    assert [record.getMessage() for record in caplog.records] == [
        "math is version 2, its error rates are of version 1; audit it again if its verdicts have changed"
    ]
    caplog.clear()
    newer.version = "3"
    with caplog.at_level(logging.WARNING):
        values(scorer, "42")
        values(scorer, "42")
        Corrected(MATH, RATES)
    assert len(caplog.records) == 1
    assert "version 3" in caplog.text


def test_version_changes_with_the_scorer_the_rates_and_the_settings() -> None:
    others = NoiseRates("math", "1", "kind", {"digits": Channel(0.1, 0.3), "words": Channel(0.02, 0.45)})
    newer = pointwise(verdict, scale="verdict", name="math", version="2")
    made = [
        Corrected(MATH, RATES),
        Corrected(MATH, others),
        Corrected(newer, RATES),
        Corrected(MATH, RATES, floor=0.6),
        Corrected(MATH, RATES, mode="forward"),
        Corrected(MATH, RATES, level="coefficient"),
    ]
    assert len({scorer.version for scorer in made}) == len(made)
    assert Corrected(MATH, RATES).version == made[0].version
    assert {scorer.name for scorer in made} == {"math-corrected"}


def test_words_that_cannot_be_right_are_refused() -> None:
    with pytest.raises(UsageError, match="mode must be one of backward, forward; got 'back'"):
        Corrected(MATH, RATES, mode="back")
    with pytest.raises(UsageError, match="level must be one of reward, coefficient; got 'stratum'"):
        Corrected(MATH, RATES, level="stratum")
    with pytest.raises(UsageError, match="the forward correction is a coefficient"):
        Corrected(MATH, RATES, mode="forward", level="reward")


# --- Calibrated ---


def test_scores_become_the_probabilities_of_the_map() -> None:
    found = Calibrated(Model(), MAP).score([Sample("p", "x" * 14), Sample("p", "x" * 2000)])
    assert found[0].value == pytest.approx(1 / (1 + math.exp(-1.0)))
    assert (found[0].details["tokens"], dict(found[0].details["calibrated"])) == (15, {"raw": 0.5})
    assert (found[1].value, found[1].status) == (None, "refused")


def test_map_for_something_else_is_refused() -> None:
    with pytest.raises(ScaleError, match="takes scores of scale 'logit', but 'length' gives 'real'"):
        Calibrated(pointwise(length, scale="real"), MAP)
    with pytest.raises(UsageError, match="margins between two responses"):
        Calibrated(Model(), ProbabilityMap("temperature", "logit", {"slope": 2.0}, pairs=True))
    elsewhere = ProbabilityMap("temperature", "logit", {"slope": 2.0}, scorer=FittedOn("other", "1"))
    with pytest.raises(UsageError, match="the probability map cannot be used: fitted on the scores of 'other'"):
        Calibrated(Model(), elsewhere)


# --- Debiased ---


def test_what_the_curve_says_of_the_feature_is_subtracted() -> None:
    scorer = Debiased(Model(), CURVE)
    found = scorer.score([Sample("p", "x" * 20), Sample("p", "x" * 2000)])
    assert scorer.scale == "logit"
    assert found[0].value == pytest.approx(1.1 - (2.0 - 3.0))
    assert dict(found[0].details["debiased"]) == {"raw": pytest.approx(1.1), "feature": "length", "amount": 20.0}
    assert (found[1].value, found[1].status) == (None, "refused")


def test_two_curves_one_after_the_other_keep_both_values() -> None:
    lines = DebiasCurve("lines", "linear", x=(0.0, 1.0), y=(0.0, 1.0), centre=0.0, scorer=FittedOn("model-debiased"))
    score = Debiased(Debiased(Model(), CURVE), lines).score([Sample("p", "x" * 20)])[0]
    assert score.value == pytest.approx(1.1 + 1.0 - 1.0)
    assert score.details["debiased"]["raw"] == pytest.approx(2.1)
    assert score.details["debiased"]["before"]["raw"] == pytest.approx(1.1)


def test_curve_for_something_else_is_refused() -> None:
    with pytest.raises(ScaleError, match="but 'math' gives 'verdict'"):
        Debiased(MATH, CURVE)
    elsewhere = DebiasCurve("length", "linear", (0.0,), (0.0,), 0.0, scorer=FittedOn("other", "1"))
    with pytest.raises(UsageError, match="the curve cannot be used: fitted on the scores of 'other'"):
        Debiased(Model(), elsewhere)
    with pytest.raises(UsageError, match="Did you mean 'length'"):
        Debiased(Model(), DebiasCurve("lenght", "linear", (0.0,), (0.0,), 0.0))


# --- all of them ---


def test_every_wrapper_keeps_the_laws_of_scorers() -> None:
    check_scorer(Corrected(MATH, RATES), tolerance=0.0)
    check_scorer(Corrected(MATH, RATES, mode="forward"), tolerance=0.0)
    check_scorer(Calibrated(Model(), MAP))
    check_scorer(Debiased(Model(), CURVE))
    check_scorer(Calibrated(Debiased(Model(), CURVE), MAP))


def test_wrapper_is_a_batch_scorer_just_where_the_held_scorer_is() -> None:
    scorer = Calibrated(Model(), MAP)
    assert isinstance(scorer, BatchScorer)
    assert not isinstance(Corrected(MATH, RATES), BatchScorer)
    assert scorer.max_batch_tokens == 512
    samples = [Sample("p", "x" * n) for n in (3, 30, 7)]
    assert scorer.run([scorer.prepare(sample) for sample in samples]) == scorer.score(samples)
    assert scorer.prepare(Sample("p", "x" * 2000)).status == "refused"


def test_file_says_itself_which_wrapper_it_calls_for(tmp_path: Path) -> None:
    RATES.save(tmp_path / "rates.json")
    MAP.save(tmp_path / "map.json")
    CURVE.save(tmp_path / "curve.json")
    corrected, calibrated = wrapped(MATH, tmp_path / "rates.json"), wrapped(Model(), tmp_path / "map.json")
    assert isinstance(wrapped(Model(), tmp_path / "curve.json"), Debiased)
    assert isinstance(corrected, Corrected)
    assert isinstance(calibrated, Calibrated)
    assert corrected.version == Corrected(MATH, str(tmp_path / "rates.json")).version == Corrected(MATH, RATES).version


def test_file_that_is_none_of_these_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read '.*none.json': No such file"):
        wrapped(MATH, tmp_path / "none.json")
    file = tmp_path / "file.json"
    for text, message in (("{", "is not valid JSON"), ("[1]", "no kind of calibration named 'list'")):
        file.write_text(text)
        with pytest.raises(UsageError, match=message):
            wrapped(MATH, file)
    file.write_text(json.dumps({"kind": "noise_rate"}))
    with pytest.raises(UsageError, match="Did you mean 'noise_rates'"):
        wrapped(MATH, file)
    with pytest.raises(UsageError, match=r"file.json: no kind of calibration"):
        wrapped(MATH, file)


class ReadyMade:
    """A reward model as an engine sees it: it also takes texts and ids that somebody has templated."""

    name, version, scale = "model", "1", "logit"
    share_prompts, max_batch_tokens = True, 7

    def prepare(self, sample):
        return Prepared(sample, (1, 2))

    def prepare_many(self, samples):
        return [self.prepare(sample) for sample in samples]

    def prepare_text(self, sample, text, **_):
        return Prepared(sample, tuple(map(ord, text)))

    prepare_ids = prepare_text

    def run(self, batch):
        return [Score(float(len(each.ids)), "length") for each in batch]

    def score(self, samples):
        return self.run([Prepared(sample, (1, 2)) for sample in samples])


def test_what_an_engine_asks_of_a_model_reaches_it_through_a_map() -> None:
    calibrated = Calibrated(ReadyMade(), MAP)
    assert (calibrated.share_prompts, calibrated.max_batch_tokens) == (True, 7)
    prepared = calibrated.prepare_text(Sample("", "abcd"), "abcd", special_tokens=False)
    assert calibrated.run([prepared])[0].value == pytest.approx(1 / (1 + math.exp(-8)))


def test_what_reads_the_response_takes_no_text_that_does_not_name_it() -> None:
    """A ready-made conversation does not say where its response begins, so its length is not known."""
    debiased = Debiased(ReadyMade(), CURVE)
    assert debiased.share_prompts is True
    assert not hasattr(debiased, "prepare_text")
    assert not hasattr(debiased, "prepare_ids")
