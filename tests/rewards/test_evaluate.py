"""The evaluation of any scorer on any labelled records: every figure against a hand count or a slow plain version."""

from __future__ import annotations

import gzip
import json
import math
import random
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from guerdon.rewards import Preference, Ranking, Sample, Scale, Score, Scorer, pointwise
from guerdon.rewards.errors import ContractError, DataError, OutageError, UnknownNameError, UsageError
from guerdon.rewards.evaluate import evaluate, read_records
from guerdon.rewards.report import Section
from guerdon.rewards.rulers import rulers
from guerdon.rewards.types import text_of


def by_text(values: Mapping[str, float | None], scale: Scale = "logit", name: str = "table") -> Scorer:
    """A scorer that looks its score up by the response's text."""
    return pointwise(lambda sample: values[sample.response_text], scale=scale, name=name)


def number_in_text(sample: Sample) -> float:
    """A scorer's function for responses like "2.5 and more": the number they begin with."""
    return float(sample.response_text.split()[0])


NUMBER = pointwise(number_in_text, scale="logit", name="number")


def pair(chosen: str, rejected: str, prompt: str = "p", **fields: Any) -> Preference:
    return Preference(prompt, chosen, rejected, **fields)


def only(report_of: Any) -> Section:
    (section,) = report_of.sections
    return section


def quick(scorer: Scorer, records: Any, **options: Any) -> Section:
    """Evaluate without rulers and repeats, for tests of other things."""
    return only(evaluate(scorer, records, **{"rulers": False, "repeat": 0, **options}))


def random_pairs(n: int, seed: int = 0, n_prompts: int | None = None) -> list[Preference]:
    """Pairs whose responses are a score (often tied, often wrong) and padding of random length."""
    generator = random.Random(seed)
    return [
        pair(
            f"{generator.choice((-1, 0, 1, 2)) + 0.5} {'x' * generator.randint(0, 9)}",
            f"{generator.choice((-1, 0, 1, 2))} {'x' * generator.randint(0, 9)}".replace("0 ", "0.5 ", 1),
            f"prompt {i if n_prompts is None else generator.randrange(n_prompts)}",
            meta={"source": f"s{i % 3}", "category": f"c{i % 7}"},
        )
        for i in range(n)
    ]


def margin(record: Preference) -> float:
    return float(text_of(record.chosen).split()[0]) - float(text_of(record.rejected).split()[0])


# ---------------------------------------------------------------------------------------------------- scoring


class Recorder:
    """A scorer that remembers what it was asked."""

    name, version, scale = "recorder", "1", "logit"

    def __init__(self) -> None:
        self.calls: list[list[Sample]] = []

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        self.calls.append(list(samples))
        return [Score(float(len(sample.response_text))) for sample in samples]

    @property
    def asked(self) -> list[Sample]:
        return [sample for call in self.calls for sample in call]


def test_each_distinct_sample_is_scored_once_over_all_sections() -> None:
    records = [pair("a", "bb"), pair("a", "ccc"), pair("bb", "ccc"), pair("a", "bb", prompt="q")]
    ranking = Ranking("p", ["a", "bb", "dddd"], [0, 1, 2])
    scorer = Recorder()
    report = evaluate(scorer, {"pairs": records, "rankings": [ranking]}, rulers=False, repeat=0)
    assert sorted((s.prompt, s.response) for s in scorer.asked) == [
        ("p", "a"),
        ("p", "bb"),
        ("p", "ccc"),
        ("p", "dddd"),
        ("q", "a"),
        ("q", "bb"),
    ]
    assert report.samples == 6


def test_text_and_messages_are_distinct_and_messages_with_other_keys_are_kept_apart() -> None:
    said = [{"role": "assistant", "content": "a"}]
    named = [{"role": "assistant", "content": "a", "name": "x"}]
    parts = [{"role": "assistant", "content": [{"type": "text", "text": "a"}]}]
    scorer = Recorder()
    evaluate(scorer, [pair("a", said), pair(named, parts), pair("a", said)], rulers=False, repeat=0)  # type: ignore[arg-type]
    assert len(scorer.asked) == 4


def test_the_scorer_sees_no_column_of_the_row_but_the_reference() -> None:
    scorer = Recorder()
    evaluate(scorer, [pair("a", "bb", meta={"label": "a", "reference": "42"})], rulers=False, repeat=0)
    assert [dict(sample.meta) for sample in scorer.asked] == [{}, {}]
    assert {sample.reference for sample in scorer.asked} == {"42"}


def test_a_prompts_responses_share_a_group_and_stay_in_one_call() -> None:
    records = [pair(f"{i}", f"{i}{i}", prompt=f"prompt {i % 7}") for i in range(60)]
    scorer = Recorder()
    evaluate(scorer, records, rulers=False, repeat=0, chunk_size=10)
    assert len(scorer.calls) > 3
    prompts = [{sample.prompt for sample in call} for call in scorer.calls]
    assert sum(map(len, prompts)) == 7, "a prompt was split over calls"
    assert len({(sample.prompt, sample.group) for sample in scorer.asked}) == 7


def test_progress_counts_up_to_all_samples() -> None:
    seen: list[tuple[int, int]] = []
    evaluate(NUMBER, random_pairs(50), chunk_size=16, progress=lambda done, total: seen.append((done, total)))
    assert [total for _, total in seen] == [seen[-1][0]] * len(seen)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert len(seen) > 3


def test_an_outage_passes_through() -> None:
    def fails(sample: Sample) -> float:
        raise OutageError("no answer after 5 tries")

    with pytest.raises(OutageError, match="no answer"):
        evaluate(pointwise(fails, scale="logit"), [pair("a", "b")])


@pytest.mark.parametrize(
    ("score", "scale", "message"),
    [
        (lambda samples: [Score(1.0)], "logit", "gave 1 instead of a list of 2 scores"),
        (lambda samples: None, "logit", "gave NoneType instead of a list of 2"),
        (lambda samples: [0.5, 0.5], "logit", "gave 0.5 where a Score was due"),
        (lambda samples: [Score(0.5), Score(0.5)], "verdict", "gave 0.5, outside its scale 'verdict'"),
        (lambda samples: [Score(0.5), Score(1.5)], "probability", "gave 1.5, outside its scale"),
    ],
)
def test_a_scorer_that_breaks_its_word_is_refused(score: Callable[..., Any], scale: str, message: str) -> None:
    class Liar:
        name, version = "liar", "1"

    liar: Any = Liar()
    liar.scale, liar.score = scale, score
    with pytest.raises(ContractError, match=message):
        evaluate(liar, [pair("a", "b")])


# ---------------------------------------------------------------------------------------------------- pairs


def test_accuracy_counts_a_tie_half_and_says_how_many_there_are() -> None:
    records = [pair("1", "0", "a"), pair("0", "1", "b"), pair("2", "2 ", "c"), pair("3", "1", "d")]
    section = quick(NUMBER, records)
    assert section.headline.value == pytest.approx(2.5 / 4)
    assert section.pairs is not None
    assert (section.pairs.tie_rate, section.pairs.strict) == (0.25, 0.5)
    assert (section.headline.n, section.headline.clusters) == (4, 4)


def test_a_pair_with_an_unscored_side_is_left_out_counted_and_shown_as_half() -> None:
    scores = {"good": 1.0, "bad": 0.0, "odd": None}
    records = [pair("good", "bad", "a"), pair("good", "bad", "b"), pair("good", "odd", "c"), pair("odd", "bad", "d")]
    section = quick(by_text(scores), records)
    assert section.headline.value == 1.0
    assert section.headline.n == 2
    assert section.unscored_half.value == pytest.approx((2 + 0.5 + 0.5) / 4)
    assert (section.counts.rows, section.counts.used, section.counts.unscored) == (4, 2, 2)
    (reason,) = section.counts.reasons
    assert (reason.samples, reason.status, reason.reason) == (2, "abstained", "table returned None")


def test_over_long_and_truncated_rows_are_counted_from_what_the_scorer_says() -> None:
    def score(sample: Sample) -> Score:
        n = len(sample.response_text)
        if n > 6:
            return Score.unscored(f"{n} tokens, more than 6", {"over_long": True}, status="refused")
        return Score(float(n), details={"cut": 3 if n == 5 else 0})

    records = [pair("a" * n, "b", f"{n}") for n in (2, 5, 7, 8, 9)] + [pair("a", "b" * 5, "x")]
    counts = quick(pointwise(score, scale="logit"), records).counts
    assert (counts.over_long, counts.unscored, counts.truncated, counts.used) == (3, 3, 2, 3)
    assert [(r.status, r.reason, r.samples) for r in counts.reasons] == [("refused", "# tokens, more than #", 3)]


def test_a_label_below_one_half_swaps_the_sides() -> None:
    records = [pair("1", "0", "a", probability=0.2), pair("0", "3", "b", probability=0.4), pair("5", "1", "c")]
    section = quick(NUMBER, records)
    assert section.headline.value == pytest.approx(2 / 3)
    assert section.counts.flipped == 2
    assert section.ceiling.value == pytest.approx((0.8 + 0.6) / 2)
    assert section.ceiling.n == 2


def test_the_ceiling_is_read_from_a_column_of_label_strength() -> None:
    section = quick(NUMBER, [pair("1", "0", meta={"strength": 0.9}), pair("1", "0 ", meta={"strength": None})])
    assert (section.ceiling.value, section.ceiling.n) == (0.9, 1)
    assert quick(NUMBER, [pair("1", "0")]).ceiling.value is None


def test_weights_have_an_accuracy_of_their_own() -> None:
    records = [pair("1", "0", weight=3.0), pair("0 ", "1 ", weight=1.0)]
    pairs = quick(NUMBER, records).pairs
    assert pairs is not None
    assert (pairs.accuracy.value, pairs.weighted) == (0.5, 0.75)
    equal = quick(NUMBER, [pair("1", "0")]).pairs
    assert equal is not None
    assert equal.weighted is None


def test_identical_responses_are_counted_and_tie() -> None:
    section = quick(NUMBER, [pair("1", "1"), pair("1", "0")])
    assert section.counts.identical == 1
    assert section.headline.value == 0.75


def test_length_figures_agree_with_slow_plain_versions() -> None:
    records = random_pairs(300)
    pairs = quick(NUMBER, records).pairs
    assert pairs is not None
    length = pairs.length
    margins = [margin(r) for r in records]
    longer = [len(text_of(r.chosen)) - len(text_of(r.rejected)) for r in records]
    right = [1.0 if m > 0 else 0.5 if m == 0 else 0.0 for m in margins]
    longer_right = np.mean([x for x, d in zip(right, longer, strict=True) if d > 0])
    shorter_right = np.mean([x for x, d in zip(right, longer, strict=True) if d < 0])
    assert length.longer_right.value == pytest.approx(longer_right)
    assert length.shorter_right.value == pytest.approx(shorter_right)
    assert length.balanced.value == pytest.approx((longer_right + shorter_right) / 2)
    assert length.equal_length == longer.count(0)
    assert length.spearman.value == pytest.approx(stats.spearmanr(margins, longer).statistic)
    both_m, both_l = margins + [-m for m in margins], longer + [-d for d in longer]
    assert length.spearman_both_orders.value == pytest.approx(stats.spearmanr(both_m, both_l).statistic)
    ranks = [stats.rankdata(v) for v in (both_m, both_l)]
    label = np.repeat([1.0, -1.0], len(records))
    left = [r - np.polynomial.Polynomial.fit(label, r, 1)(label) for r in ranks]
    assert length.partial_spearman.value == pytest.approx(stats.pearsonr(*left).statistic)
    assert sum(b.accuracy.n for b in length.bins) == sum(d != 0 for d in longer)
    middle = next(b for b in length.bins if (b.low, b.high) == (1.0, 1.25))
    inside = [
        x for x, r in zip(right, records, strict=True) if 1 < len(text_of(r.chosen)) / len(text_of(r.rejected)) <= 1.25
    ]
    assert middle.accuracy.value == pytest.approx(np.mean(inside))


def test_a_prompts_rows_are_one_cluster_and_clusters_can_be_chosen() -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}, {"role": "user", "content": "b"}]
    records = [
        pair("1", "0", [{"role": "user", "content": "hi"}]),  # type: ignore[arg-type]
        pair("1", "0", turns),  # type: ignore[arg-type]
        pair("1", "0 ", turns),  # type: ignore[arg-type]
        pair("1", "0", "other", meta={"team": 1}),
    ]

    def clusters(how: Any) -> int:
        return quick(NUMBER, records, clusters=how).headline.clusters

    assert clusters("prompt") == 3
    assert clusters("conversation") == 2
    assert clusters("row") == 4
    assert clusters(lambda record: record.meta.get("team")) == 2


def test_groups_hold_every_row_once_and_the_worst_has_enough_rows() -> None:
    records = random_pairs(140, n_prompts=60)
    section = quick(NUMBER, records, minimum_rows=20)
    for column, n_values in (("source", 3), ("category", 7)):
        mine = [group for group in section.groups if group.column == column]
        assert len(mine) == n_values
        assert sum(group.headline.n for group in mine) == 140
    by_hand = {
        c: np.mean(
            [1.0 if margin(r) > 0 else 0.5 if margin(r) == 0 else 0.0 for r in records if r.meta["category"] == c]
        )
        for c in {r.meta["category"] for r in records}
    }
    worst = {group.column: group for group in section.worst}
    assert worst["category"].headline.value == pytest.approx(min(by_hand.values()))
    assert section.low_quantile.value == pytest.approx(np.quantile(list(by_hand.values()), 0.1))
    none = quick(NUMBER, records, minimum_rows=21)
    assert {group.column for group in none.worst} == {"source"}, "categories have 20 rows each"
    assert not [group for group in none.groups if group.column == "category" and group.counted]


def test_columns_to_break_down_by_can_be_named_and_an_identifier_is_no_category() -> None:
    records = [pair("1", "0", f"{i}", meta={"id": f"{i}", "lang": ["en", "de", None][i % 3]}) for i in range(300)]
    section = quick(NUMBER, records, by=["id", "lang"])
    assert {(g.column, g.value, g.headline.n) for g in section.groups} == {("lang", "en", 100), ("lang", "de", 100)}
    assert any("'id' has 300 values" in note for note in section.notes)


def test_rulers_are_measured_on_the_rows_the_scorer_is_judged_on() -> None:
    scores = {"long good": 1.0, "bad": 0.0, "x": 2.0, "a longer one": 1.0, "odd": None}
    records = [pair("long good", "bad", "a"), pair("x", "a longer one", "b"), pair("odd", "a longer one", "c")]
    section = only(evaluate(by_text(scores), records, repeat=0))
    length = next(ruler for ruler in section.rulers if ruler.name == "length")
    assert [ruler.name for ruler in section.rulers] == ["length", "markdown", "random"]
    assert length.headline.value == 0.5
    assert length.headline.n == 2
    assert length.difference.value == 0.5
    assert length.balanced.value == 0.5


def test_the_difference_from_a_ruler_is_paired() -> None:
    records = random_pairs(200, n_prompts=80)
    section = only(evaluate(NUMBER, records, repeat=0, rulers=[rulers()[0], by_text({}, name="unused")][:1]))
    (length,) = section.rulers
    own, other = section.headline, length.headline
    assert own.value is not None
    assert other.value is not None
    assert length.difference.value == pytest.approx(own.value - other.value)
    itself = only(evaluate(NUMBER, records, repeat=0, rulers=[NUMBER])).rulers[0].difference
    assert (itself.low, itself.high) == (0.0, 0.0), "against itself there is nothing to be unsure of"


def test_a_ruler_of_ones_own_may_leave_rows_unscored() -> None:
    records = [pair("1", "0", "a"), pair("2", "odd", "b")]
    scorer = by_text({"1": 1.0, "0": 0.0, "2": 0.0, "odd": 1.0})
    old = by_text({"1": 0.0, "0": 1.0, "2": 1.0, "odd": None}, name="old model")
    (ruler,) = only(evaluate(scorer, records, rulers=[old], repeat=0)).rulers
    assert (ruler.headline.value, ruler.headline.n) == (0.0, 1)
    assert ruler.difference.value == 1.0


# ---------------------------------------------------------------------------------------------------- probabilities


def test_a_logit_is_judged_as_given_with_its_own_temperature_and_with_a_fitted_one() -> None:
    records = random_pairs(400, n_prompts=120)
    scorer: Any = pointwise(lambda s: 6 * number_in_text(s), scale="logit")
    scorer.temperature = 4.0
    pairs = quick(scorer, records).pairs
    assert pairs is not None
    margins = np.array([6 * margin(r) for r in records])
    calibration = pairs.calibration
    for form, divisor in ((calibration.as_given, 1.0), (calibration.declared, 4.0)):
        assert form is not None
        p = expit(margins / divisor)
        assert form.log_loss.value == pytest.approx(np.mean(-np.log(p)))
        assert form.brier.value == pytest.approx(np.mean((1 - p) ** 2))
        parts = form.parts
        whole = parts.reliability - parts.resolution + parts.uncertainty + parts.within_bins
        assert whole == pytest.approx(form.brier.value)
        assert parts.uncertainty == 0.25
    assert calibration.declared is not None
    assert calibration.declared.temperature == 4.0
    fitted = calibration.fitted
    assert fitted is not None
    assert calibration.temperature.value is not None
    best = expit(margins / calibration.temperature.value)
    assert fitted.log_loss.value == pytest.approx(np.mean(-np.log(best)), abs=0.01)
    assert calibration.as_given is not None
    assert calibration.as_given.log_loss.value is not None
    assert fitted.log_loss.value < calibration.as_given.log_loss.value
    assert fitted.ece_width < calibration.as_given.ece_width


@pytest.mark.parametrize("scale", ["real", "probability", "verdict"])
def test_scores_that_are_no_log_odds_get_a_temperature_first_and_the_report_says_so(scale: Scale) -> None:
    generator = random.Random(0)
    scores = {f"{side} {i}": float(generator.random() < p) for side, p in (("a", 0.8), ("b", 0.3)) for i in range(200)}
    records = [pair(f"a {i}", f"b {i}", f"p{i}") for i in range(200)]
    pairs = quick(by_text(scores, scale), records).pairs
    assert pairs is not None
    assert pairs.calibration.as_given is None
    assert any(repr(scale) in reason and "fitted first" in reason for reason in pairs.calibration.reasons)
    assert pairs.tie_rate is not None
    assert pairs.tie_rate > 0.2
    assert pairs.calibration.fitted is not None
    assert pairs.calibration.fitted.log_loss.value is not None
    assert pairs.calibration.fitted.log_loss.value < math.log(2)


def test_a_soft_label_is_judged_by_its_expected_loss() -> None:
    pairs = quick(NUMBER, [pair("2", "0", f"{i}", probability=0.75) for i in range(20)]).pairs
    assert pairs is not None
    as_given = pairs.calibration.as_given
    assert as_given is not None
    p = expit(2.0)
    assert as_given.log_loss.value == pytest.approx(-0.75 * np.log(p) - 0.25 * np.log(1 - p))
    assert pairs.calibration.temperature.value == pytest.approx(2 / np.log(3))  # sigma(2 / T) = 0.75


def test_a_scorer_against_its_labels_has_no_temperature_but_a_reason() -> None:
    calibration = quick(NUMBER, [pair("0", "1", f"{i}") for i in range(10)]).pairs
    assert calibration is not None
    assert calibration.calibration.temperature.value is None
    assert "against the labels" in calibration.calibration.temperature.reason


def test_a_temperature_that_cannot_be_one_is_refused() -> None:
    scorer: Any = pointwise(number_in_text, scale="logit")
    for wrong in (0.0, -1.0, math.nan, "hot"):
        scorer.temperature = wrong
        with pytest.raises(UsageError, match="temperature must be a finite number > 0"):
            evaluate(scorer, [pair("1", "0")])


# ---------------------------------------------------------------------------------------------------- ties


def test_tied_rows_leave_accuracy_and_are_judged_by_the_size_of_their_margin() -> None:
    decided = [pair(f"{i % 5 + 1}", "0", f"d{i}") for i in range(50)] + [pair("0", "2", f"w{i}") for i in range(10)]
    tied = [pair("0.5", "0", f"t{i}", probability=0.5) for i in range(30)]
    section = quick(NUMBER, decided + tied)
    assert section.headline.value == pytest.approx(50 / 60)
    assert section.counts.tied == 30
    ties = section.ties
    assert ties is not None
    sizes = [i % 5 + 1 for i in range(50)] + [2] * 10 + [0.5] * 30
    assert ties.auc.value == pytest.approx(roc_auc_score([1] * 60 + [0] * 30, sizes))
    assert ties.mean_margin_tied == 0.5
    # with |margin| up to 0.5 called a tie, all is right but the ten wrong ones
    assert ties.three_way.value == pytest.approx(80 / 90)
    assert ties.chance == pytest.approx(30 / 90)


def test_a_scorer_that_cannot_tell_ties_apart_gains_nothing_by_calling_them() -> None:
    generator = random.Random(0)
    records = [
        pair(f"{generator.gauss(0, 1)}", "0", f"{i}", probability=0.5 if i % 3 == 0 else None) for i in range(600)
    ]
    ties = quick(NUMBER, records).ties
    assert ties is not None
    assert ties.auc.low is not None
    assert ties.auc.high is not None
    assert ties.auc.low < 0.5 < ties.auc.high
    assert ties.three_way.value is not None
    assert ties.chance is not None
    assert ties.three_way.value < ties.chance + 0.06


# ---------------------------------------------------------------------------------------------------- RM-Bench

STYLES = ("concise", "detailed_plain", "detailed_markdown")


def style_rows(prompt: str, category: str, chosen: Sequence[float], rejected: Sequence[float]) -> list[Preference]:
    """The nine pairs of one RM-Bench prompt."""
    return [
        pair(
            f"{chosen[i]} c {prompt} {i}",
            f"{rejected[j]} r {prompt} {j}",
            prompt,
            meta={
                "category": category,
                "chosen_style": STYLES[i],
                "rejected_style": STYLES[j],
                "difficulty": "hard" if i < j else "easy" if i > j else "normal",
            },
        )
        for i in range(3)
        for j in range(3)
    ]


def test_the_style_matrix_and_the_mean_over_domains_by_hand() -> None:
    # one prompt that follows style alone, one that is always right, one always wrong
    rows = (
        style_rows("a", "chat", (0.5, 1.5, 2.5), (0, 1, 2))
        + style_rows("b", "safety-refuse", (9, 9, 9), (0, 1, 2))
        + style_rows("c", "safety-response", (-1, -1, -1), (0, 1, 2))
    )
    section = quick(NUMBER, rows)
    styles = section.styles
    assert styles is not None
    assert styles.styles == STYLES
    # prompt a: right where the chosen style is at least as rich; b adds 1 everywhere, c adds 0
    assert styles.matrix == (
        pytest.approx((2 / 3, 1 / 3, 1 / 3)),
        pytest.approx((2 / 3, 2 / 3, 1 / 3)),
        pytest.approx((2 / 3, 2 / 3, 2 / 3)),
    )
    assert (styles.easy.value, styles.normal.value, styles.hard.value) == pytest.approx((2 / 3, 2 / 3, 1 / 3))
    assert {name: tuple(cells) for name, *cells in styles.by_domain} == {"chat": (1, 1, 0), "safety": (0.5, 0.5, 0.5)}
    assert styles.domain_mean == pytest.approx((0.75, 0.75, 0.25))
    assert styles.overall == pytest.approx((2 / 3 + 0.5) / 2)
    assert styles.strict_mean == styles.overall, "there are no ties"


def test_ties_are_half_in_the_matrix_and_wrong_in_the_strict_mean() -> None:
    styles = quick(NUMBER, style_rows("a", "chat", (1, 1, 1), (1, 1, 1))).styles
    assert styles is not None
    assert (styles.overall, styles.strict_mean) == (0.5, 0.0)


# ---------------------------------------------------------------------------------------------------- battles


def test_pairs_between_named_models_have_the_figures_of_models() -> None:
    generator = random.Random(0)
    names = ["a", "b", "c", "d"]
    records = []
    for i in range(200):
        better, worse = sorted(generator.sample(names, 2))
        records.append(pair("1", "0", f"p{i}", meta={"chosen_model": better, "rejected_model": worse}))
    section = quick(NUMBER, records)
    assert section.battles is not None
    assert section.battles.kendall == pytest.approx(1.0)
    assert section.battles.ratings[0].model == "a"
    flipped = [
        Preference(
            r.prompt,
            r.rejected,
            r.chosen,
            probability=0.1,
            meta={"chosen_model": r.meta["rejected_model"], "rejected_model": r.meta["chosen_model"]},
        )
        for r in records
    ]
    again = quick(NUMBER, flipped).battles
    assert again is not None
    assert [r.model for r in again.ratings] == [r.model for r in section.battles.ratings]
    assert quick(NUMBER, [pair("1", "0")]).battles is None


def test_models_of_tied_rows_are_found_under_their_own_names() -> None:
    names = ["a", "b", "c", "d"]
    records = [
        pair(
            "1",
            "0",
            f"p{i}",
            meta={"model_a": names[i % 4], "model_b": names[(i + 1) % 4], "label": "b" if i % 2 else "a"},
        )
        for i in range(80)
    ]
    battles = quick(NUMBER, records).battles
    assert battles is not None
    # a beats b; label "b" means that c, as model_b, beat b; and so on round: a and c win twice, b and d never
    assert {r.model for r in battles.ratings[:2]} == {"a", "c"}


# ---------------------------------------------------------------------------------------------------- rankings


def test_rankings_of_several_sizes_agree_with_a_hand_count() -> None:
    records = [
        Ranking("p", ["3 best", "1", "2"], [0, 1, 1], {"category": "x"}),
        Ranking("q", ["1 best", "1 other"], [0, 1], {"category": "x"}),
        Ranking("r", ["0 best", "5", "1", "2"], [0, 3, 2, 1], {"category": "y"}),
    ]
    section = quick(NUMBER, records)
    ranked = section.ranked
    assert ranked is not None
    assert ranked.top_1.value == pytest.approx((1 + 0.5 + 0) / 3)
    assert ranked.above_all.value == pytest.approx(1 / 3), "a tie is not above all others"
    assert ranked.mrr.value == pytest.approx((1 + (1 + 1 / 2) / 2 + 1 / 4) / 3)
    assert ranked.chance == pytest.approx((1 / 3 + 1 / 2 + 1 / 4) / 3)
    # chosen minus mean: 1 - 1/3, then 0, then 0 - 1.5; best minus mean: 2/3, 1/2, 1.5
    assert ranked.recovery.value == pytest.approx((2 / 3 + 0 - 1.5) / (2 / 3 + 0.5 + 1.5))
    assert ranked.sizes == ((2, 1), (3, 1), (4, 1))
    assert section.headline == ranked.top_1
    assert section.pairs is not None
    assert section.pairs.pairs == 2 + 1 + 6
    assert section.pairs.accuracy.value == pytest.approx((2 + 0.5 + (0 + 0 + 0 + 1 + 0 + 0)) / 9)


def test_a_ranking_with_an_unscored_response_is_left_out_and_counts_as_chance_would() -> None:
    records = [Ranking("p", ["1", "0"], [0, 1]), Ranking("q", ["1", "0", "odd"], [0, 1, 2])]
    section = quick(by_text({"1": 1.0, "0": 0.0, "odd": None}), records)
    assert (section.headline.value, section.headline.n) == (1.0, 1)
    assert section.counts.unscored == 1
    assert section.unscored_half.value == pytest.approx((1 + 1 / 3) / 2)


def test_the_order_of_responses_and_of_rankings_does_not_matter() -> None:
    generator = random.Random(1)
    records = []
    for i in range(60):
        k = generator.randint(2, 5)
        texts = [f"{generator.choice((0, 1, 2))} {j}" for j in range(k)]
        records.append(Ranking(f"p{i}", texts, [generator.randint(0, 2) for _ in texts]))
    shuffled = []
    for record in generator.sample(records, len(records)):
        order = generator.sample(range(len(record.responses)), len(record.responses))
        shuffled.append(Ranking(record.prompt, [record.responses[i] for i in order], [record.ranks[i] for i in order]))
    a, b = quick(NUMBER, records).ranked, quick(NUMBER, shuffled).ranked
    assert a is not None
    assert b is not None
    for name in ("top_1", "above_all", "mrr", "ndcg", "recovery", "within", "overall"):
        one, other = getattr(a, name), getattr(b, name)
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high)), name


# ---------------------------------------------------------------------------------------------------- correctness


def labelled(n_prompts: int = 30, k: int = 8, seed: int = 0, scale: float = 1.0) -> list[Sample]:
    generator = random.Random(seed)
    return [
        Sample(
            f"p{i}",
            f"{(right + generator.gauss(0, 1)) * scale} {j}",
            group=f"g{i}",
            meta={"label": right, "source": f"s{i % 2}"},
        )
        for i in range(n_prompts)
        for j in range(k)
        for right in [generator.random() < 0.4]
    ]


def test_conflict_accuracy_is_the_mean_of_the_aucs_of_prompts_that_have_one() -> None:
    records = labelled()
    section = quick(NUMBER, records)
    aucs = []
    for group in dict.fromkeys(r.group for r in records):
        mine = [r for r in records if r.group == group]
        truth = [r.meta["label"] for r in mine]
        if 0 < sum(truth) < len(truth):
            aucs.append(roc_auc_score(truth, [number_in_text(r) for r in mine]))
    assert section.measure == "conflict accuracy"
    assert section.headline.value == pytest.approx(np.mean(aucs))
    assert (section.headline.n, section.unit) == (len(aucs), "prompt")
    right = section.correctness
    assert right is not None
    pooled = roc_auc_score([r.meta["label"] for r in records], [number_in_text(r) for r in records])
    assert right.auc.value == pytest.approx(pooled)
    assert right.share_right == pytest.approx(np.mean([r.meta["label"] for r in records]))
    assert right.best_of is not None
    assert right.best_of.curve[0] == pytest.approx(right.share_right)
    assert right.best_of.regret >= 0
    assert right.best_of.end == right.best_of.curve[-1]
    assert right.best_of.maximum == max(right.best_of.curve)


def test_one_response_a_prompt_leaves_the_auc_as_headline() -> None:
    records = [Sample(f"p{i}", f"{i % 7}", meta={"correct": i % 7 > 2}) for i in range(40)]
    section = only(evaluate(NUMBER, records, repeat=0))
    assert (section.measure, section.headline.value, section.unit) == ("AUC", 1.0, "response")
    assert section.rulers[0].headline.value == 0.5, "all responses are one character long"
    assert section.rulers[0].difference.value == 0.5
    assert section.correctness is not None
    assert section.correctness.best_of is None


def test_the_label_is_hidden_from_the_scorer_and_the_rest_of_the_row_is_not() -> None:
    scorer = Recorder()
    records = [
        Sample("p", "a", reference="7", meta={"label": 1, "correct": 1, "tests": "x"}),
        Sample("p", "bb", meta={"label": 0}),
    ]
    evaluate(scorer, records, rulers=False, repeat=0)
    assert [dict(sample.meta) for sample in scorer.asked] == [{"tests": "x"}, {}]
    assert scorer.asked[0].reference == "7"
    named = Recorder()
    evaluate(named, [Sample("p", "a", meta={"gold": 1}), Sample("p", "bb", meta={"gold": 0})], truth="gold", repeat=0)
    assert all("gold" not in sample.meta for sample in named.asked)


def test_the_truth_can_be_a_column_a_function_or_a_grade() -> None:
    records = [Sample("p", f"{i}", meta={"stars": i}) for i in range(4)]
    section = quick(NUMBER, records, truth="stars")
    assert section.headline.value == 1.0, "pairs of different grade are compared"
    assert section.correctness is not None
    assert section.correctness.auc.value is None
    assert "graded" in section.correctness.auc.reason
    assert section.correctness.recovery.value == pytest.approx(1.0)
    assert section.correctness.within.value == pytest.approx(1.0)
    by_function = quick(NUMBER, records, truth=lambda sample: sample.meta["stars"] > 1)
    assert by_function.correctness is not None
    assert by_function.correctness.auc.value == 1.0


def test_rows_without_a_truth_are_all_listed_with_what_would_be_right() -> None:
    records = [Sample("p", "1", meta={"label": 1}), Sample("p", "2", meta={"where": "x.jsonl:2"}), Sample("p", "3")]
    with pytest.raises(DataError) as caught:
        evaluate(NUMBER, records, name="mine")
    assert len(caught.value.problems) == 2
    assert "x.jsonl:2" in str(caught.value)
    assert "truth, label, correct, is_correct" in str(caught.value)
    with pytest.raises(DataError, match="'stars'"):
        evaluate(NUMBER, records, truth="stars")


def test_a_verdict_has_false_positive_and_false_negative_rates() -> None:
    records = [Sample(f"p{i}", f"{float(i % 3 == 0)} {i}", meta={"label": i % 2}) for i in range(60)]
    section = quick(pointwise(number_in_text, scale="verdict"), records)
    right = section.correctness
    assert right is not None
    # of the 30 even (wrong) ones 10 are divisible by 3 and accepted; of the 30 odd ones 20 are not and rejected
    assert right.false_positive.value == pytest.approx(10 / 30)
    assert right.false_negative.value == pytest.approx(20 / 30)
    logit = quick(NUMBER, records).correctness
    assert logit is not None
    assert logit.false_positive.value is None
    assert "no verdicts" in logit.false_positive.reason


def test_a_probability_of_being_right_is_judged_as_it_stands() -> None:
    generator = random.Random(0)
    records = []
    for i in range(400):
        p = round(generator.random(), 3)
        records.append(Sample(f"p{i}", f"{p} {i}", meta={"label": generator.random() < p}))
    section = quick(pointwise(number_in_text, scale="probability"), records)
    assert section.correctness is not None
    form = section.correctness.probabilities
    assert form is not None
    p, y = np.array([number_in_text(r) for r in records]), np.array([float(r.meta["label"]) for r in records])
    assert form.brier.value == pytest.approx(np.mean((p - y) ** 2))
    assert form.ece_width < 0.09
    assert form.parts.uncertainty == pytest.approx(y.mean() * (1 - y.mean()))


def test_an_unscored_response_leaves_its_pairs_and_counts_half_beside() -> None:
    records = [Sample("p", text, meta={"label": right}) for text, right in (("1", 1), ("odd", 1), ("0", 0))]
    section = quick(by_text({"1": 1.0, "odd": None, "0": 0.0}), records)
    assert section.headline.value == 1.0
    assert section.unscored_half.value == pytest.approx((1 + 0.5) / 2)
    assert (section.counts.unscored, section.counts.used) == (1, 2)


def test_best_of_k_ends_where_half_the_prompts_still_reach_and_counts_those_left_out() -> None:
    records = [
        Sample(f"p{i}", f"{j} {i}", meta={"label": j % 2}) for i, k in enumerate((2, 6, 6, 6, 9)) for j in range(k)
    ]
    section = quick(NUMBER, records)
    assert section.correctness is not None
    best = section.correctness.best_of
    assert best is not None
    assert (len(best.curve), best.prompts, best.left_out) == (6, 4, 1)


def test_groups_of_two_files_with_one_name_are_kept_apart() -> None:
    scorer = Recorder()
    samples = [Sample("p", f"{i}", group="g0", meta={"label": i}) for i in (0, 1)]
    evaluate(scorer, {"a": samples, "b": samples, "pairs": [pair("1", "0")]}, rulers=False, repeat=0)
    groups = [sample.group for sample in scorer.asked]
    assert len(set(groups)) == 3
    assert sorted(map(groups.count, set(groups))) == [2, 2, 2]


def test_one_prompt_with_thousands_of_responses_stays_bounded() -> None:
    generator = random.Random(0)
    records = [Sample("p", f"{generator.gauss(i % 2, 1)} {i}", meta={"label": i % 2}) for i in range(2500)]
    section = quick(NUMBER, records)
    scores, truth = [number_in_text(r) for r in records], [r.meta["label"] for r in records]
    assert section.headline.value == pytest.approx(roc_auc_score(truth, scores))
    assert section.pairs is not None
    assert section.pairs.pairs == 1000
    assert section.correctness is not None
    assert section.correctness.best_of is not None
    assert len(section.correctness.best_of.curve) == 1024


# ---------------------------------------------------------------------------------------------------- repeatability


class BatchDependent:
    """A scorer with the fault of wrong padding: the score leaks the longest text of the batch."""

    name, version, scale = "leaky", "1", "logit"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        widest = max((len(s.response_text) for s in samples), default=0)
        return [Score(len(s.response_text) - 0.01 * widest * len(s.response_text)) for s in samples]


def test_a_score_that_depends_on_its_batch_is_found() -> None:
    records = [pair("x" * i, "y" * (i + 1), f"{i}") for i in range(1, 40)]
    repeats = {repeat.way.split(",")[0]: repeat for repeat in evaluate(BatchDependent(), records).repeats}
    alone = repeats["one at a time"]
    assert alone.max_change is not None
    assert alone.max_change > 1
    assert alone.pairs == 32
    assert repeats["in reversed order"].max_change == 0.0
    steady = evaluate(NUMBER, random_pairs(50)).repeats
    assert [(r.max_change, r.flipped, r.unscored) for r in steady] == [(0.0, 0, 0)] * 3


def test_flipped_pairs_are_counted_and_variants_of_the_scorer_are_tried() -> None:
    class WithVariants:
        name, version, scale = "model", "1", "logit"

        def score(self, samples: Sequence[Sample]) -> list[Score]:
            return NUMBER.score(samples)

        def variants(self) -> dict[str, Scorer]:
            return {
                "negated": pointwise(lambda s: -number_in_text(s), scale="logit"),
                "mute": pointwise(lambda s: None, scale="logit"),
            }

    records = [pair(f"{i + 1}", "0", f"{i}") for i in range(10)]
    repeats = {repeat.way: repeat for repeat in evaluate(WithVariants(), records).repeats}
    assert repeats["negated"].flipped == 10
    assert repeats["negated"].max_change == 20.0
    assert repeats["mute"].unscored == repeats["negated"].samples
    assert repeats["mute"].max_change is None


def test_variants_that_are_no_mapping_are_refused_before_anything_is_scored() -> None:
    scorer: Any = Recorder()
    scorer.variants = lambda: [NUMBER]
    with pytest.raises(UsageError, match="mapping of names to scorers"):
        evaluate(scorer, random_pairs(3))
    assert scorer.calls == []


def test_repeats_spread_over_lengths_and_can_be_left_out() -> None:
    scorer = Recorder()
    evaluate(scorer, [pair("x" * (i + 1), "y" * (i + 1), f"{i}") for i in range(200)], rulers=False, repeat=4)
    together = scorer.calls[1]
    assert sorted(len(s.response_text) for s in together) == [1, 1, 67, 67, 133, 133, 200, 200]
    assert evaluate(NUMBER, random_pairs(5), repeat=0).repeats == ()


# ---------------------------------------------------------------------------------------------------- odd inputs

MUTE = pointwise(lambda sample: None, scale="logit", name="mute")
CONSTANT = pointwise(lambda sample: 1.0, scale="logit", name="constant")

ODD: dict[str, Sequence[Preference] | Sequence[Ranking] | Sequence[Sample]] = {
    "one pair": [pair("1", "0")],
    "only ties": [pair("1", "0", f"{i}", probability=0.5) for i in range(5)],
    "one prompt": [pair(f"{i}", f"{i + 1}") for i in range(5)],
    "same text": [pair("1", "1", f"{i}", probability=0.5 if i else None) for i in range(5)],
    "empty responses": [pair("1", ""), pair("", "1")],
    "one ranking": [Ranking("p", ["1", "0"], [0, 1])],
    "all ranks equal": [Ranking("p", ["1", "0"], [0, 0]), Ranking("q", ["1", "0", "2"], [1, 1, 1])],
    "one sample": [Sample("p", "1", meta={"label": True})],
    "all right": [Sample("p", f"{i}", meta={"label": True}) for i in range(4)],
    "one of each": [Sample("p", "1", meta={"label": 1}), Sample("p", "0", meta={"label": 0})],
}


def empty_is_zero(sample: Sample) -> float:
    return float(sample.response_text or 0)


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("kind", ["number", "constant", "mute", "verdict", "probability"])
def test_odd_sets_and_odd_scorers_give_a_sane_report_in_every_form(name: str, kind: str, tmp_path: Path) -> None:
    scorers = {
        "number": pointwise(empty_is_zero, scale="logit"),
        "constant": CONSTANT,
        "mute": MUTE,
        "verdict": pointwise(lambda s: float(empty_is_zero(s) > 0), scale="verdict", name="verdict"),
        "probability": pointwise(lambda s: float(expit(empty_is_zero(s))), scale="probability", name="p"),
    }
    report = evaluate(scorers[kind], ODD[name])
    section = only(report)
    if section.headline.value is None:
        assert section.headline.reason
    else:
        assert 0 <= section.headline.value <= 1
    if kind == "mute":
        assert section.headline.value is None
    if kind == "constant" and section.headline.value is not None and section.kind == "preferences":
        assert section.headline.value == 0.5
    paths = report.save(tmp_path)
    json.loads(paths["json"].read_text(), parse_constant=lambda text: pytest.fail(f"{text} in the JSON"))
    assert "nan" not in paths["md"].read_text().lower()
    assert ">nan<" not in paths["html"].read_text().lower()
    assert report.summary_table()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"records": []}, "no records to evaluate in 'records'"),
        ({"records": {}}, "mapping is empty"),
        ({"records": {"a": [], "b": [pair("1", "0")]}}, "no records to evaluate in 'a'"),
        (
            {"records": [pair("1", "0"), Sample("p", "1")]},
            "holds Preference, Sample; one set holds records of one kind",
        ),
        ({"records": [{"prompt": "p"}]}, "read_preferences"),
        ({"records": 7}, "got int"),
        ({"records": {"a": 7}}, "a set of records is a list or a file, got int"),
        ({"records": {"a": [pair("1", "0")]}, "name": "b"}, "names already"),
        ({"by": "source"}, r"write \['source'\]"),
        ({"chunk_size": 0}, "at least 1"),
        ({"repeat": -1}, "at least"),
        ({"scorer": "path/to/model"}, "a scorer has name, version, scale and score"),
        ({"rulers": [NUMBER, NUMBER]}, "different names"),
        ({"rulers": ["length"]}, "a scorer has name, version, scale and score"),
    ],
)
def test_mistakes_of_the_caller_say_what_would_be_right(options: dict[str, Any], message: str) -> None:
    given = {"scorer": NUMBER, "records": [pair("1", "0")], **options}
    with pytest.raises(UsageError, match=message):
        evaluate(given.pop("scorer"), given.pop("records"), **given)


def test_a_mistyped_kind_of_cluster_offers_the_right_one() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'prompt'"):
        evaluate(NUMBER, [pair("1", "0")], clusters="promt")


def test_hostile_text_is_evaluated_like_any_other() -> None:
    hostile = ["\x00\x01", "\ud800", "</script><script>alert(1)</script>", "🏴‍☠️" * 500, "{{ x }}", "|a|b|\n---"]
    records = [
        pair(text, f"{text} rejected", f"{text} prompt", meta={"source": text, "category": text}) for text in hostile
    ]
    report = evaluate(rulers()[0], records)
    assert report.sections[0].headline.value == 0.0
    assert "<script" not in report.to_html()


def test_the_order_of_rows_does_not_matter() -> None:
    records = random_pairs(150, n_prompts=40)
    shuffled = random.Random(3).sample(records, len(records))
    a, b = (only(evaluate(NUMBER, rows, repeat=0)) for rows in (records, shuffled))
    for name in ("headline", "unscored_half"):
        one, other = getattr(a, name), getattr(b, name)
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
    for mine, theirs in zip(a.rulers, b.rulers, strict=True):
        assert mine.difference.value == pytest.approx(theirs.difference.value)
    assert {(g.value, round(g.headline.value or 0, 12)) for g in a.groups} == {
        (g.value, round(g.headline.value or 0, 12)) for g in b.groups
    }


# ---------------------------------------------------------------------------------------------------- files


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def test_files_of_every_kind_become_sections_of_one_report(tmp_path: Path) -> None:
    files = [
        write(tmp_path / "pairs.jsonl.gz", [{"prompt": "p", "chosen": "1", "rejected": "0", "source": "x"}] * 2),
        write(
            tmp_path / "rankings.jsonl.gz",
            [{"prompt": "p", "completions": [{"rank": 0, "completion": "1"}, {"rank": 1, "completion": "0"}]}],
        ),
        write(
            tmp_path / "ties.jsonl.gz",
            [{"prompt": "p", "response_a": "1", "response_b": "0", "label": label} for label in ("a", "b", "tie")],
        ),
        write(
            tmp_path / "samples.jsonl.gz",
            [{"prompt": "p", "response": "1", "label": True}, {"prompt": "p", "response": "0", "label": False}],
        ),
    ]
    report = evaluate(NUMBER, files)
    assert [(section.name, section.kind) for section in report.sections] == [
        ("pairs", "preferences"),
        ("rankings", "rankings"),
        ("ties", "preferences"),
        ("samples", "samples"),
    ]
    assert [section.headline.value for section in report.sections] == [1.0, 1.0, 0.5, 1.0]
    assert report.samples == 2 + 2, "pairs, rankings and ties share their two samples; labelled ones are their own"
    assert len(read_records(files[0], limit=1)) == 1


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    row = {"prompt": "p", "chosen": "1", "rejected": "0"}
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
    files = [write(tmp_path / folder / "test.jsonl.gz", [row]) for folder in ("a", "b")]
    names = [section.name for section in evaluate(NUMBER, files).sections]
    assert names == ["test", str(files[1])]
    assert only(evaluate(NUMBER, files[0], name="mine")).name == "mine"
    assert only(evaluate(NUMBER, str(files[0]))).name == "test"
    with pytest.raises(UsageError, match="2 files"):
        evaluate(NUMBER, files, name="mine")


def test_without_numpy_the_error_names_the_extra_and_the_words_still_import() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import guerdon.rewards\n"
        "try:\n    import guerdon.rewards.evaluate\n"
        "except guerdon.rewards.errors.MissingExtraError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'guerdon[calibration]'" in done.stdout


# ---------------------------------------------------------------------------------------------------- real data


def value_of(section: Section) -> float:
    assert section.headline.value is not None
    return section.headline.value


def test_the_length_ruler_gets_the_published_figures_on_real_pairs(shared_data: Path) -> None:
    names = ("preferences_test", "eval_llmbar", "eval_judgebench", "eval_hhh", "eval_rmb_bon", "kwise_test")
    report = evaluate(rulers()[0], [shared_data / f"{name}.jsonl.gz" for name in names], rulers=False, repeat=0)
    found = {section.name: section for section in report.sections}
    assert value_of(found["preferences_test"]) == pytest.approx(0.683, abs=5e-4)
    assert found["preferences_test"].pairs is not None
    assert found["preferences_test"].pairs.length.balanced.value == 0.5
    assert found["preferences_test"].counts.rows == 1039
    by_source = {
        g.value.split(":")[0]: g.headline.value for g in found["preferences_test"].groups if g.column == "source"
    }
    assert by_source["Zhou-Zoey/RMB-Reward-Model-Benchmark"] == pytest.approx(0.639, abs=5e-4)
    assert by_source["tatsu-lab/alpaca_eval"] == pytest.approx(0.902, abs=5e-4)
    assert value_of(found["eval_judgebench"]) == pytest.approx(0.477, abs=5e-4)
    assert value_of(found["eval_hhh"]) == pytest.approx(0.655, abs=5e-4)
    adversarial = [g for g in found["eval_llmbar"].groups if g.value.startswith("Adversarial")]
    right = sum((g.headline.value or 0) * g.headline.n for g in adversarial)
    assert right / sum(g.headline.n for g in adversarial) == pytest.approx(0.160, abs=5e-4)
    assert value_of(found["eval_rmb_bon"]) == pytest.approx(0.482, abs=3e-3), "published with ties by file order"
    assert found["eval_rmb_bon"].chance == pytest.approx(0.314, abs=5e-4)
    assert value_of(found["kwise_test"]) == pytest.approx(0.730, abs=5e-4)


def test_the_length_ruler_gets_the_published_figures_on_rm_bench(shared_data: Path) -> None:
    section = only(evaluate(rulers()[0], shared_data / "eval_rmbench.jsonl.gz", repeat=0))
    styles = section.styles
    assert styles is not None
    assert (styles.easy.value, styles.normal.value, styles.hard.value) == pytest.approx((0.860, 0.434, 0.151), abs=5e-4)
    assert value_of(section) == pytest.approx(0.482, abs=5e-4)
    assert [name for name, *_ in styles.by_domain] == ["chat", "code", "safety"]


def test_ties_of_real_data_are_read_and_left_out_of_accuracy(shared_data: Path) -> None:
    section = only(evaluate(rulers()[0], shared_data / "eval_autoj_ties.jsonl.gz", rulers=False, repeat=0))
    assert value_of(section) == pytest.approx(0.700, abs=5e-4)
    assert section.counts.tied / section.counts.rows == pytest.approx(0.28, abs=0.01)


def test_published_reward_models_are_over_confident_and_one_temperature_mends_it(shared_data: Path) -> None:
    """Real scores of Skywork-Reward-8B on JudgeBench: 192 pairs, surer than right (rm_training.md, section 4)."""
    with gzip.open(shared_data / "scores_judgebench.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    model = "Skywork/Skywork-Reward-Llama-3.1-8B"
    scores = {f"{row['id']} {side}": row["scores"][model][side] for row in rows for side in ("chosen", "rejected")}
    records = [pair(f"{row['id']} chosen", f"{row['id']} rejected", row["id"]) for row in rows]
    pairs = quick(by_text(scores), records).pairs
    assert pairs is not None
    margins = np.array([row["scores"][model]["chosen"] - row["scores"][model]["rejected"] for row in rows])
    raw, fitted = pairs.calibration.as_given, pairs.calibration.fitted
    assert raw is not None
    assert fitted is not None
    assert raw.log_loss.value == pytest.approx(np.logaddexp(0, -margins).mean())
    assert raw.log_loss.value is not None
    assert raw.log_loss.value > 1.5
    assert raw.ece_width > 0.25
    assert fitted.log_loss.value is not None
    assert fitted.log_loss.value < 0.70
    assert fitted.ece_width < 0.12
    assert pairs.calibration.temperature.value is not None
    assert pairs.calibration.temperature.value > 8


# ---------------------------------------------------------------------------------------------------- reward model


def test_a_reward_model_repeats_its_scores_in_every_variant(tiny_llama_dir: Path) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from guerdon.rewards.model import RewardModel
    from guerdon.rewards.network import RewardNet
    from guerdon.rewards.render import Renderer

    renderer = Renderer.for_training(AutoTokenizer.from_pretrained(tiny_llama_dir), max_length=128)
    torch.manual_seed(0)
    head = AutoModelForSequenceClassification.from_pretrained(tiny_llama_dir, num_labels=1)
    head.resize_token_embeddings(renderer.vocab_size)
    model = RewardModel(RewardNet(head), renderer, name="tiny", version="1")
    records = [pair("yes " * (i + 1), "no " * (12 - i), f"say {i}") for i in range(12)] + [pair("x" * 900, "y", "long")]
    report = evaluate(model, records)
    section = only(report)
    assert (section.counts.used, section.counts.unscored) == (12, 1)
    assert section.counts.reasons[0].status == "refused"
    ways = {repeat.way for repeat in report.repeats}
    assert {"batch of one", "left padding", "in reversed order"} <= ways
    for repeat in report.repeats:
        assert repeat.max_change is not None
        assert repeat.max_change < 1e-5
        assert (repeat.flipped, repeat.unscored) == (0, 0)
