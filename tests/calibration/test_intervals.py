"""Intervals of shares and rates: the numbers of textbooks, the edges, and coverage by simulation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from guerdon.calibration.intervals import METHODS, Counts, clopper_pearson, jeffreys, share_interval, wilson
from guerdon.calibration.rate_intervals import prevalence, rate_intervals, rates_of, rogan_gladen
from guerdon.calibration.rates import Channel, Interval
from guerdon.rewards.errors import UsageError


def counts(*cells: tuple[float, float, float]) -> Counts:
    """Cells of (size, labelled, events)."""
    return Counts(*(np.array(column, dtype=float) for column in zip(*cells, strict=True)))


def test_the_worked_examples_of_methods_c21() -> None:
    found = clopper_pearson(3, 50)
    assert (found.low, found.high) == pytest.approx((0.0125486, 0.1654820), abs=1e-6)
    assert clopper_pearson(0, 30).high == pytest.approx(0.1157033, abs=1e-6)
    found = wilson(3, 50)
    assert (found.low, found.high) == pytest.approx((0.0206150, 0.1621709), abs=1e-6)
    fp, fn = rates_of(*(np.array(x) for x in (600.0, 400.0, 12 / 200, 15 / 100)))
    assert (float(fp), float(fn)) == pytest.approx((0.0957447, 0.0961538), abs=1e-6)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_clopper_pearson_is_scipys(case: tuple[int, int]) -> None:
    k, n = case
    expected = stats.binomtest(k, n).proportion_ci(method="exact")
    found = clopper_pearson(k, n)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_every_interval_holds_its_share_and_mirrors(case: tuple[int, int]) -> None:
    k, n = case
    for method in (clopper_pearson, jeffreys, wilson):
        found, mirrored = method(k, n), method(n - k, n)
        assert found.low - 1e-9 <= k / n <= found.high + 1e-9
        assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-9)
        assert method(k, n, confidence=0.8).width <= found.width


@pytest.mark.parametrize("method", [clopper_pearson, jeffreys, wilson])
@pytest.mark.parametrize("n", [1, 5, 1000])
def test_no_event_gives_an_interval_from_zero_with_a_width(method, n) -> None:  # type: ignore[no-untyped-def]
    assert method(0, n).low == 0.0
    assert method(0, n).high > 0.5 / n


def test_the_rule_of_three() -> None:
    assert clopper_pearson(0, 300, confidence=0.9).high == pytest.approx(3 / 300, rel=0.01)


@pytest.mark.parametrize(("k", "n"), [(3, 2), (-1, 5), (float("nan"), 5), (1, float("inf"))])
def test_counts_that_cannot_be_are_refused(k: float, n: float) -> None:
    with pytest.raises(UsageError, match="between 0 and the number of trials"):
        clopper_pearson(k, n)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 50), (50, 50)])
def test_one_cell_is_the_plain_interval(method: str, k: int, n: int) -> None:
    plain = {"exact": clopper_pearson, "corners": clopper_pearson, "bootstrap": jeffreys, "wilson": wilson}[method]
    found, expected = share_interval(Counts.of(k, n, 1000), method=method), plain(k, n)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_the_stratified_share_of_methods_c22() -> None:
    sides = counts((700, 100, 2), (300, 30, 9))
    assert sides.share == pytest.approx(0.104)
    # the normal interval there is (0.0503695, 0.1576305); an exact one is a little wider and not symmetric
    found = share_interval(sides)
    assert 0.045 < found.low < 0.06
    assert 0.157 < found.high < 0.19


def test_cells_alike_are_as_one() -> None:
    """Five equal cells with equal counts tell about as much as their sum."""
    five, one = share_interval(counts(*[(200, 20, 2)] * 5)), share_interval(Counts.of(10, 100, 1000))
    assert five.low == pytest.approx(one.low, abs=0.006)
    assert five.high == pytest.approx(one.high, abs=0.012)


def test_a_heavy_cell_without_events_may_hide_some() -> None:
    """All the errors seen are in a cell of 2 %; forty labels without one leave the other cell up to 9 %."""
    found = share_interval(counts((1000, 40, 0), (20, 10, 9)))
    assert found.low < 20 * 0.9 / 1020 < 0.08 < found.high


def test_cells_without_labels_may_hold_anything() -> None:
    found = share_interval(counts((600, 50, 0), (400, 0, 0)))
    assert found.low == 0.0
    assert found.high == pytest.approx(0.6 * clopper_pearson(0, 50).high + 0.4)
    assert share_interval(counts((400, 0, 0))) == Interval(0.0, 1.0)


@pytest.mark.parametrize("method", METHODS)
def test_a_rare_error_among_few_labelled_rejections_cannot_hide_behind_many_accepted(method: str) -> None:
    """Five rejected labels without an error leave e_R up to a third or more: of 500 rejected that is much, whatever
    the 400 accepted labels say.
    """
    found = rate_intervals(Counts.of(0, 400, 500), Counts.of(0, 5, 500), method=method)
    assert found.false_negative.low == 0.0
    assert found.false_negative.high > 0.25
    assert found.strength.low < 0.75


@pytest.mark.parametrize("method", METHODS)
def test_a_fully_labelled_batch_is_still_a_sample(method: str) -> None:
    found = rate_intervals(Counts.of(0, 30, 30), Counts.of(3, 20, 20), method=method)
    assert 0.01 < found.false_negative.low < 3 / 33 < found.false_negative.high
    assert found.false_positive.low == 0.0
    assert found.false_positive.high > 0.05


@pytest.mark.parametrize("method", METHODS)
def test_the_points_are_inside_and_the_same_counts_give_the_same_intervals(method: str) -> None:
    accepted, rejected = Counts.of(12, 200, 600), Counts.of(15, 100, 400)
    found = rate_intervals(accepted, rejected, method=method)
    assert 0.0957447 in found.false_positive
    assert 0.0961538 in found.false_negative
    assert 1 - 0.0957447 - 0.0961538 in found.strength
    assert 0.4 * 0.15 + 0.6 * 0.94 in found.prevalence
    assert rate_intervals(accepted, rejected, method=method) == found


def test_corners_are_the_widest_and_bootstrap_the_shortest() -> None:
    accepted, rejected = Counts.of(12, 200, 600), Counts.of(15, 100, 400)
    width = {m: rate_intervals(accepted, rejected, method=m).false_negative.width for m in METHODS}
    assert width["bootstrap"] < width["exact"] < width["corners"]


def test_a_side_without_samples_leaves_what_it_must() -> None:
    """Nothing was rejected: the false-negative rate is near 0, the more surely the more samples there are."""
    found = rate_intervals(Counts.of(3, 50, 1000), Counts(np.zeros(0), np.zeros(0), np.zeros(0)))
    assert found.false_negative.low == 0.0
    assert 0.0 < found.false_negative.high < 0.01


def test_an_unknown_method_is_told_the_nearest() -> None:
    with pytest.raises(UsageError, match="Did you mean 'exact'"):
        rate_intervals(Counts.of(0, 1, 1), Counts.of(0, 1, 1), method="exat")


def test_rogan_gladen_undoes_the_channel() -> None:
    fp, fn = np.array([0.1, 0.0, 0.02]), np.array([0.2, 0.0, 0.45])
    for right in (0.0, 0.3, 1.0):
        assert rogan_gladen(right * (1 - fn) + (1 - right) * fp, fp, fn) == pytest.approx([right] * 3)
    assert np.isnan(rogan_gladen(np.array(0.5), np.array(0.5), np.array(0.5)))
    assert rogan_gladen(np.array(0.05), np.array(0.1), np.array(0.2)) == 0.0


def test_prevalence_of_a_new_batch_takes_both_uncertainties() -> None:
    channel = Channel(0.1, 0.2, Interval(0.05, 0.15), Interval(0.15, 0.25), None, 100)
    value, interval = prevalence(450, 1000, channel)
    assert value == pytest.approx(0.5)
    assert interval is not None
    assert interval.low < (0.45 - 0.15) / (1 - 0.15 - 0.15) < 0.5 < (0.45 - 0.05) / (1 - 0.05 - 0.25) < interval.high
    assert prevalence(450, 1000, Channel(0.1, 0.2))[1] is None
    with pytest.raises(UsageError, match="strength"):
        prevalence(450, 1000, Channel(0.5, 0.6))


def _covered(
    right: float, fp: float, fn: float, labels: tuple[int, int], method: str, runs: int
) -> tuple[float, float]:
    """How often the intervals hold the rates, with so many labels of the accepted and of the rejected."""
    rng = np.random.default_rng(7)
    hits = np.zeros(2)
    for _ in range(runs):
        tp, fn_n, fp_n, tn = rng.multinomial(
            2000, [right * (1 - fn), right * fn, (1 - right) * fp, (1 - right) * (1 - fp)]
        )
        sides = []
        for wrong, fine, m in ((fp_n, tp, labels[0]), (fn_n, tn, labels[1])):
            m = min(m, wrong + fine)
            sides.append(Counts.of(rng.hypergeometric(wrong, fine, m) if m else 0, m, wrong + fine))
        found = rate_intervals(*sides, method=method)
        hits += fp in found.false_positive, fn in found.false_negative
    return tuple(hits / runs)  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "rates"), list(product((0.4, 0.8), ((0.1, 0.2), (0.01, 0.02), (0.0, 0.775), (0.0, 0.0))))
)
def test_exact_intervals_hold_the_rates_at_least_as_often_as_they_say(right: float, rates: tuple[float, float]) -> None:
    """Small audits and rates at 0 as well. 300 runs: 95 % has a standard error of 1.3 %."""
    for labels in ((25, 25), (100, 100)):
        assert min(_covered(right, *rates, labels, "exact", 300)) >= 0.93


@pytest.mark.slow
def test_bootstrap_intervals_are_shorter_and_hold_about_as_often_as_they_say() -> None:
    assert min(_covered(0.4, 0.1, 0.2, (100, 100), "bootstrap", 600)) >= 0.91


@pytest.mark.slow
def test_a_share_over_very_unequal_cells_is_covered() -> None:
    """Cells as audits have them: a heavy one with few errors, light ones with many, drawn at different rates."""
    rng = np.random.default_rng(3)
    for sizes, shares, labelled in (
        ([1000, 20], [0.02, 0.9], [40, 10]),
        ([1000, 200, 200, 50, 50], [0.01, 0.3, 0.0, 0.5, 0.0], [20, 20, 10, 10, 10]),
        ([20] * 50, [0.0] * 45 + [0.4] * 5, [4] * 50),
        ([500, 300, 100], [0.95, 0.99, 0.5], [30, 10, 10]),
    ):
        n, part, e = sum(sizes), np.array(sizes) / sum(sizes), np.array(shares)
        truth, hits = float(part @ e), 0
        for _ in range(500):
            size = rng.multinomial(n, part)
            m = np.minimum(labelled, size)
            wrong = rng.binomial(size, e)
            found = share_interval(
                Counts(size.astype(float), m.astype(float), rng.hypergeometric(wrong, size - wrong, m).astype(float))
            )
            hits += truth in found
        assert hits / 500 >= 0.93
