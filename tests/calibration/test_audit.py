"""Audits: what to label next, and rates that are right however unequally the cells were drawn."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.calibration.audit import choose, estimate
from guerdon.calibration.intervals import Counts
from guerdon.calibration.rates import NoiseRates
from guerdon.calibration.sampling import allocate, labels_needed, neyman
from guerdon.rewards.errors import UsageError

NAN = math.nan


def batch(n: int, seed: int = 0, *, fp: float = 0.1, fn: float = 0.3) -> tuple[Any, Any, list[str]]:
    """(verdicts, truths, strata) of n samples; stratum "b" errs as told, "a" four times less, 6 % are unscored."""
    rng = np.random.default_rng(seed)
    strata = rng.choice(["a", "b"], n, p=[0.7, 0.3])
    scale = np.where(strata == "a", 0.25, 1.0)
    truths = (rng.random(n) < 0.5).astype(float)
    verdicts = np.where(truths == 1, rng.random(n) >= fn * scale, rng.random(n) < fp * scale).astype(float)
    verdicts[rng.random(n) < 0.06] = NAN
    return verdicts, truths, strata.tolist()


def labelled(truths: Any, indices: Any) -> Any:
    labels = np.full(len(truths), NAN)
    labels[indices] = np.asarray(truths)[indices]
    return labels


# --- estimate -------------------------------------------------------------------------------------------------------


def test_the_worked_example_of_methods_c21() -> None:
    """600 accepted with 12 of 200 audited wrong, 400 rejected with 15 of 100 audited right."""
    verdicts = [1] * 600 + [0] * 400
    truths = [0] * 12 + [1] * 188 + [NAN] * 400 + [1] * 15 + [0] * 85 + [NAN] * 300
    audit = estimate(verdicts, truths)
    channel = audit.rates.channel("")
    assert channel.false_positive == pytest.approx(0.0957447, abs=1e-6)
    assert channel.false_negative == pytest.approx(0.0961538, abs=1e-6)
    assert channel.n_audited == 300
    assert audit.found[""].prevalence == pytest.approx((600 * 0.94 + 400 * 0.15) / 1000)


def test_fully_labelled_the_rates_are_plain_counting() -> None:
    verdicts, truths, strata = batch(2000)
    audit = estimate(verdicts, truths, strata)
    scored = ~np.isnan(verdicts)
    for key in ("", "a", "b"):
        mask = scored & ([key in ("", s) for s in strata])
        channel = audit.rates.channel(key)
        assert channel.false_positive == pytest.approx(verdicts[mask & (truths == 0)].mean())
        assert channel.false_negative == pytest.approx(1 - verdicts[mask & (truths == 1)].mean())
        assert audit.found[key].n == mask.sum()
    assert audit.found[""].unscored == (~scored).sum()


def test_cells_drawn_at_different_rates_are_weighted_by_their_sizes() -> None:
    """Every rejected sample of "b" has a label and one in ten of "a": unweighted, the rate would be far off."""
    verdicts, truths, strata = batch(20_000)
    b = np.array(strata) == "b"
    labels = labelled(truths, np.flatnonzero(b & (verdicts == 0)))
    rng = np.random.default_rng(1)
    rest = np.flatnonzero(~(b & (verdicts == 0)))
    drawn = rng.choice(rest, len(rest) // 10, replace=False)
    labels[drawn] = truths[drawn]
    expected = 1 - np.nanmean(verdicts[truths == 1])
    assert estimate(verdicts, labels, strata).rates.channel("").false_negative == pytest.approx(expected, abs=0.02)
    seen = ~np.isnan(labels) & ~np.isnan(verdicts) & (labels == 1)
    assert 1 - verdicts[seen].mean() > expected + 0.1


def test_labels_drawn_by_other_cells_need_to_be_told_so() -> None:
    """Drawn by "hard", where errors are, estimated for all: right if the cells are named, else not."""
    rng = np.random.default_rng(0)
    n = 20_000
    hard = rng.random(n) < 0.2
    truths = (rng.random(n) < 0.5).astype(float)
    verdicts = np.where((truths == 1) & (rng.random(n) < np.where(hard, 0.6, 0.05)), 0.0, truths)
    labels = labelled(truths, np.flatnonzero(hard | (rng.random(n) < 0.05)))
    expected = 1 - verdicts[truths == 1].mean()
    keys = np.where(hard, "hard", "easy").tolist()
    told = estimate(verdicts, labels, drawn_by=keys).rates.channel("").false_negative
    untold = estimate(verdicts, labels, drawn_by="verdict").rates.channel("").false_negative
    assert told == pytest.approx(expected, abs=0.01)
    assert untold > expected + 0.05


def test_a_random_sample_needs_no_label_in_every_stratum() -> None:
    verdicts, truths, _ = batch(3000)
    strata = [f"s{i % 100}" for i in range(3000)]
    labels = labelled(truths, np.random.default_rng(0).choice(3000, 100, replace=False))
    by_verdict, by_stratum = (estimate(verdicts, labels, strata, drawn_by=by) for by in ("verdict", "stratum"))
    assert by_verdict.found[""].unlabelled == 0
    assert by_stratum.found[""].unlabelled > 500
    width = [a.rates.channel("").false_negative_interval.width for a in (by_verdict, by_stratum)]  # type: ignore[union-attr]
    assert width[0] < width[1] / 2


def test_a_side_without_labels_gets_no_channel_but_a_reason() -> None:
    audit = estimate([1, 1, 1, 0, 0], [1, 0, 1, NAN, NAN], ["a", "a", "b", "b", "b"])
    assert audit.found["b"].channel is None
    assert audit.found["b"].reason == "none of 2 rejected samples has a label"
    assert "none of 2 rejected" in audit.found[""].reason
    a = audit.rates.channel("a")  # rejected nothing, and so no right sample
    assert (a.false_positive, a.false_negative) == (1.0, 0.0)


def test_a_stratum_without_a_right_sample_borrows_that_rate_alone() -> None:
    """An exploit: the verifier passes 36 of 60 answers, all wrong. Its false positives must not be those of all."""
    honest = ([1] * 45 + [0] * 55, [1] * 44 + [0] * 1 + [1] * 5 + [0] * 50)
    trick = ([1] * 36 + [0] * 24, [0] * 60)
    strata = ["honest"] * 100 + ["trick"] * 60
    audit = estimate(honest[0] + trick[0], honest[1] + trick[1], strata)
    channel, of_all = audit.rates.channels["trick"], audit.rates.channel("")
    assert (channel.false_positive, channel.false_negative) == (0.6, of_all.false_negative)
    assert channel.borrowed == ("false_negative",)
    assert channel.false_negative_interval == of_all.false_negative_interval
    assert audit.found["trick"].reason == "no labelled sample is right"
    assert channel.strength_interval is not None
    assert channel.strength_interval.low > 0, "so its verdicts are corrected"
    assert NoiseRates.from_json(audit.rates.to_json()) == audit.rates
    assert "(0.1" in str(audit.rates)


def test_a_rate_that_nobody_saw_is_told_and_not_zero() -> None:
    audit = estimate([1, 1, 1, 0], [1, 1, 1, 1])
    assert audit.found[""].channel is None
    assert audit.found[""].reason == "no labelled sample is wrong"
    with pytest.raises(UsageError, match="no labelled sample is wrong"):
        _ = audit.rates


def test_rates_of_strata_fall_back_to_what_was_audited() -> None:
    verdicts, truths, strata = batch(500)
    paths = [f"{s}/{'x' if i % 2 else 'y'}" for i, s in enumerate(strata)]
    rates = estimate(verdicts, truths, paths, scorer="exact", version="1", stratum="meta:source+kind").rates
    assert set(rates.channels) == {"", "a", "b", "a/x", "a/y", "b/x", "b/y"}
    assert rates.channel("b/z") == rates.channel("b")
    assert NoiseRates.from_json(rates.to_json()) == rates


def test_labels_of_unscored_samples_change_nothing() -> None:
    verdicts, truths = [1, 1, 0, 0, NAN, NAN], [1, 0, 1, 0, 1, 0]
    audit, other = estimate(verdicts, truths), estimate(verdicts, [1, 0, 1, 0, NAN, NAN])
    assert audit.rates == other.rates
    assert audit.found[""].unscored == 2


@pytest.mark.parametrize(
    ("verdicts", "truths", "options", "message"),
    [
        ([1, 0.5], [1, 0], {}, "verdicts must be 0, 1 or NaN.*0.5"),
        ([1, 0], [1, 2], {}, "truths must be 0, 1 or NaN.*2"),
        ([1, 0], [1], {}, r"shape \(2,\), got \(1,\)"),
        ([1, 0], [NAN, NAN], {}, "no scored sample has a label"),
        ([1, 0], [1, 0], {"strata": ["a"]}, "2 verdicts but 1 strata"),
        ([1, 0], [1, 0], {"strata": ["a", 3]}, "must be strings"),
        ([1, 0], [1, 0], {"drawn_by": "strata"}, "drawn_by must be"),
        ([1, 0], [1, 0], {"method": "exat"}, "Did you mean 'exact'"),
        ([1, 0], [1, 0], {"confidence": 1.0}, "confidence"),
        ([], [], {}, "no scored sample"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(verdicts: Any, truths: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        estimate(verdicts, truths, **options)


# --- choose ---------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.tuples(st.floats(0, 5), st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=8),
    st.integers(0, 300),
)
def test_an_allocation_keeps_its_limits_and_its_sum(cells: Any, budget: int) -> None:
    weights, one, other = (np.array(column, dtype=float) for column in zip(*cells, strict=True))
    least, most = np.minimum(one, other), np.maximum(one, other)
    found = allocate(weights, budget, least=least, most=most)
    assert (found >= least).all()
    assert (found <= most).all()
    assert found.sum() == min(max(budget, least.sum()), most.sum())


def test_an_allocation_without_limits_is_proportional_by_largest_remainder() -> None:
    free = {"least": np.zeros(3), "most": np.full(3, 1000.0)}
    assert allocate(np.array([5.0, 3.0, 1.0]), 10, **free).tolist() == [6, 3, 1]  # 5.56, 3.33, 1.11
    assert allocate(np.array([1.0, 1.0, 1.0]), 11, **free).tolist() == [4, 4, 3]


def test_neyman_allocates_by_size_times_standard_deviation() -> None:
    """W = (.7, .3), p = (.02, .3): weights 0.098 and 0.1375."""
    assert neyman(np.array([700.0, 300.0]), np.array([0.02, 0.3]), 100).tolist() == [42, 58]
    assert neyman(np.array([700.0, 300.0]), np.array([0.0, 0.3]), 100).tolist() == [10, 90]


def test_neyman_is_never_worse_than_proportional_sampling() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        sizes, shares = rng.integers(50, 1000, 4).astype(float), rng.random(4)
        weights = (sizes / sizes.sum()) ** 2 * shares * (1 - shares)
        best, plain = (
            float((weights / m).sum())
            for m in (neyman(sizes, shares, 200, least=1), allocate(sizes, 200, least=np.ones(4), most=sizes))
        )
        assert best <= plain * 1.02  # rounding


def test_every_cell_gets_ten_or_all_it_has() -> None:
    verdicts = [1] * 500 + [0] * 300 + [1] * 4 + [0] * 60 + [NAN] * 20
    strata = ["a"] * 800 + ["b"] * 84
    plan = choose(verdicts, strata, budget=150)
    wanted = {(p.cell.stratum, p.cell.accepted): p.wanted for p in plan.cells}
    assert sum(wanted.values()) == len(plan.indices) == len(set(plan.indices.tolist())) == 150
    assert wanted["b", True] == 4
    assert min(wanted["b", False], wanted["a", True], wanted["a", False]) >= 10
    assert plan.notes == ()
    assert not np.isnan(np.array(verdicts)[plan.indices]).any()


def test_what_is_labelled_is_not_asked_again_and_guides_the_rest() -> None:
    """The pilot finds errors among the rejected of "b" alone, and they get most of the second round."""
    verdicts = np.array(([1] * 500 + [0] * 500) * 2, dtype=float)
    strata = ["a"] * 1000 + ["b"] * 1000
    truths = verdicts.copy()
    truths[1500:1750] = 1.0
    first = choose(verdicts, strata, budget=80).indices
    plan = choose(verdicts, strata, budget=120, truths=labelled(truths, first))
    assert not set(first.tolist()) & set(plan.indices.tolist())
    wanted = [p.wanted for p in plan.cells]
    assert max(wanted) == next(p.wanted for p in plan.cells if p.cell.stratum == "b" and not p.cell.accepted)


def test_the_same_arguments_give_the_same_plan_and_another_seed_another() -> None:
    verdicts, _, strata = batch(1000)
    one, again, other = (choose(verdicts, strata, budget=60, seed=seed).indices.tolist() for seed in (1, 1, 2))
    assert one == again != other


@settings(max_examples=30)
@given(st.integers(8, 200), st.integers(0, 1000))
def test_a_person_may_stop_at_any_time(budget: int, seed: int) -> None:
    """The beginning of the queue has one sample of every cell, and later ones keep its proportions."""
    verdicts, _, strata = batch(1000, seed % 5)
    plan = choose(verdicts, strata, budget=budget, seed=seed)
    cells = [(strata[i], verdicts[i]) for i in plan.indices]
    assert len(set(cells[: len(plan.cells)])) == len(plan.cells)
    half = len(cells) // 2
    for planned in plan.cells:
        before = sum(cell == (planned.cell.stratum, float(planned.cell.accepted)) for cell in cells[:half])
        assert abs(before - planned.wanted / 2) <= 4


def test_a_budget_too_small_is_spread_evenly_and_says_so() -> None:
    verdicts, _, strata = batch(1000)
    plan = choose(verdicts, strata, budget=10)
    assert sorted(p.wanted for p in plan.cells) == [2, 2, 3, 3]
    assert "30 more labels are needed" in plan.notes[0]
    plan = choose(verdicts, strata, budget=3)
    assert "1 cells get no label" in plan.notes[1]


def test_a_budget_too_large_takes_all_and_says_so() -> None:
    plan = choose([1, 0, NAN], budget=10)
    assert sorted(plan.indices.tolist()) == [0, 1]
    assert "only 2 scored samples" in plan.notes[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": True}, "budget"),
        ({"budget": 5, "prior": 0.0}, "prior"),
        ({"budget": 5, "truths": [1, 0]}, "nothing left"),
    ],
)
def test_a_plan_that_cannot_be_is_refused(options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        choose([1, 0], **options)


def test_a_million_samples_are_planned_and_audited_at_once() -> None:
    rng = np.random.default_rng(0)
    n = 1_000_000
    verdicts, truths = rng.integers(0, 2, (2, n)).astype(float)
    strata = [str(i % 30) for i in range(n)]
    plan = choose(verdicts, strata, budget=1000)
    assert len(plan.indices) == 1000
    assert estimate(verdicts, labelled(truths, plan.indices), strata).rates.channel("").n_audited == 1000


# --- how many labels ------------------------------------------------------------------------------------------------


def _sides(truth_known: int = 40) -> tuple[Counts, Counts]:
    return Counts.of(truth_known // 20, truth_known, 1500), Counts.of(truth_known // 10, truth_known, 1500)


@pytest.mark.parametrize("method", ["exact", "bootstrap", "wilson"])
def test_the_labels_needed_are_enough_and_one_fewer_is_not(method: str) -> None:
    """Searched over the interval itself: checked by walking down from what it found."""
    accepted, rejected = _sides()
    need = labels_needed(accepted, rejected, 0.05, rate="false_negative", method=method)
    assert need.labels is not None
    assert need.half_width <= 0.05
    # a plain second version: the same labels, spread by hand at the shares expected
    less = labels_needed(accepted, rejected, need.half_width + 1e-9, rate="false_negative", method=method)
    assert less.labels is not None
    assert less.labels <= need.labels
    assert labels_needed(accepted, rejected, 0.025, rate="false_negative", method=method).labels > 2.5 * need.labels  # type: ignore[operator]


def test_an_interval_narrow_enough_needs_nothing_and_an_impossible_one_more_samples() -> None:
    accepted, rejected = _sides()
    assert labels_needed(accepted, rejected, 0.4, rate="false_positive").labels == 0
    need = labels_needed(accepted, rejected, 0.002, rate="false_positive")
    assert need.labels is None
    assert need.half_width > 0.002


@pytest.mark.slow
def test_audits_of_the_size_said_reach_the_width_said() -> None:
    """Labels are drawn as planned and the interval is as wide as was asked for, on average over what they say."""
    verdicts, truths, _ = batch(6000, fp=0.3, fn=0.3)
    pilot = labelled(truths, choose(verdicts, budget=100, seed=9).indices)
    need = estimate(verdicts, pilot).needed(0.04)[""]["false_negative"].labels
    assert need is not None
    widths = []
    for seed in range(20):
        labels = pilot.copy()
        more = choose(verdicts, budget=need, truths=pilot, seed=seed).indices
        labels[more] = truths[more]
        widths.append(estimate(verdicts, labels).rates.channel("").false_negative_interval.width / 2)  # type: ignore[union-attr]
    assert np.mean(widths) == pytest.approx(0.04, rel=0.15)


# --- coverage -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("budget", [50, 200])
def test_audits_in_two_rounds_hold_the_true_rates(budget: int) -> None:
    """New batches from one source, a pilot that guides the rest, strata that err differently: 95 % says at least 93."""
    everything = batch(200_000, 99)
    truth = estimate(*everything[:2], everything[2]).rates.channel("")
    hits = np.zeros(2)
    runs = 250
    for seed in range(runs):
        verdicts, truths, strata = batch(1500, seed)
        labels = labelled(truths, choose(verdicts, strata, budget=budget // 2, seed=seed).indices)
        more = choose(verdicts, strata, budget=budget - budget // 2, truths=labels, seed=seed).indices
        labels[more] = truths[more]
        found = estimate(verdicts, labels, strata).rates.channel("")
        hits += (
            truth.false_positive in found.false_positive_interval,
            truth.false_negative in found.false_negative_interval,
        )  # type: ignore[operator]
    assert (hits / runs).min() >= 0.93


@pytest.mark.slow
def test_audits_of_a_real_verifier_hold_its_rates(shared_data: Path) -> None:
    """``contains`` (the reference anywhere in the response) on real answers: both rates are far from 0."""
    from guerdon.rewards.preferences import read_samples

    file = shared_data / "math_labelled_dev.jsonl"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    samples = read_samples(str(file), columns={"prompt": "question", "reference": "gold"})
    truths = np.array([float(s.meta["label"]) for s in samples])
    verdicts = np.array([float(str(s.reference).strip("$") in s.response_text) for s in samples])
    truth = estimate(verdicts, truths).rates.channel("")
    rng = np.random.default_rng(0)
    hits, runs = np.zeros(2), 300
    for seed in range(runs):
        drawn = rng.integers(len(samples), size=2000)
        v, t = verdicts[drawn], truths[drawn]
        labels = labelled(t, choose(v, budget=(50, 100, 200, 400)[seed % 4], seed=seed).indices)
        found = estimate(v, labels).rates.channel("")
        hits += (
            truth.false_positive in found.false_positive_interval,
            truth.false_negative in found.false_negative_interval,
        )  # type: ignore[operator]
    assert ((hits / runs >= 0.93) & (hits / runs <= 0.995)).all()
