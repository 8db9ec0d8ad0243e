"""Probability figures: the worked example, scikit-learn, loops; the one temperature against its own definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from scipy.special import expit
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from guerdon.rewards.evaluation.probabilities import (
    brier,
    brier_parts,
    calibration_error,
    cross_fit,
    debiased_squared_error,
    equal_mass,
    equal_width,
    fit_inverse_temperature,
    fold,
    log_loss,
    pair_log_loss,
    reliability_table,
    worst_calibration_error,
)

P = np.array([0.95, 0.9, 0.85, 0.7, 0.65, 0.4, 0.3, 0.2, 0.1, 0.05])
Y = np.array([1, 1, 0, 1, 0, 1, 0, 0, 0, 0], dtype=float)
LOGITS = np.log(P / (1 - P))

claims = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)
margins = st.lists(st.floats(-50, 50).map(lambda x: round(x, 3)), min_size=1, max_size=30).map(np.array)


def test_the_worked_example() -> None:
    table = reliability_table(P, Y, equal_width(5))
    assert calibration_error(table) == pytest.approx(0.17)
    assert worst_calibration_error(table) == pytest.approx(0.2333333)
    score = brier(P, Y).mean()
    assert score == pytest.approx(0.175)
    assert log_loss(P, Y).mean() == pytest.approx(0.5113033, abs=1e-6)
    parts = brier_parts(score, table)
    found = (parts.reliability, parts.resolution, parts.uncertainty)
    assert found == pytest.approx((0.0310417, 0.0733333, 0.24), abs=1e-7)


@given(claims)
def test_losses_agree_with_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    p, y = np.array([p for p, _ in rows]), np.array([float(y) for _, y in rows])
    assert brier(p, y).mean() == pytest.approx(
        brier_score_loss(y, p, labels=[0, 1]) if len(set(y)) > 1 else np.mean((p - y) ** 2)
    )
    inside = np.clip(p, 1e-9, 1 - 1e-9)
    assert log_loss(inside, y).mean() == pytest.approx(sklearn_log_loss(y, inside, labels=[0, 1]))


def test_certainty_that_is_wrong_costs_much_but_not_infinity() -> None:
    assert 25 < log_loss(np.array([1.0]), np.array([0.0]))[0] < 30


def test_the_loss_of_a_margin_is_exact_where_its_probability_has_rounded_to_zero() -> None:
    assert pair_log_loss(np.array([1.0]))[0] == pytest.approx(0.3132616875)
    assert pair_log_loss(np.array([-2000.0, 2000.0])).tolist() == [2000.0, 0.0]


@given(margins, st.floats(0, 1))
def test_a_fractional_label_gives_the_expected_loss(m: np.ndarray, q: float) -> None:
    expected = q * pair_log_loss(m, 1.0) + (1 - q) * pair_log_loss(m, 0.0)
    assert pair_log_loss(m, q) == pytest.approx(expected)
    p = expit(m)
    assert brier(p, np.full(len(m), q)) == pytest.approx(q * (1 - p) ** 2 + (1 - q) * p**2)


@given(claims, st.integers(1, 12))
def test_calibration_error_agrees_with_a_loop_over_right_closed_bins(
    rows: list[tuple[float, bool]], n_bins: int
) -> None:
    p, y = np.array([p for p, _ in rows]), np.array([float(y) for _, y in rows])
    edges = equal_width(n_bins)
    gaps, total = [], 0.0
    for i in range(n_bins):
        inside = [
            j for j, value in enumerate(p) if (edges[i] < value <= edges[i + 1]) or (i == 0 and value == edges[0])
        ]
        if inside:
            gap = abs(np.mean(p[inside]) - np.mean(y[inside]))
            gaps.append(gap)
            total += len(inside) / len(p) * gap
    table = reliability_table(p, y, edges)
    assert calibration_error(table) == pytest.approx(total, abs=1e-12)
    assert worst_calibration_error(table) == pytest.approx(max(gaps), abs=1e-12)
    assert sum(b.n for b in table) == len(rows)


@given(claims, st.integers(1, 12))
def test_parts_of_the_brier_score_sum_to_it(rows: list[tuple[float, bool]], n_bins: int) -> None:
    p, y = np.array([p for p, _ in rows]), np.array([float(y) for _, y in rows])
    parts = brier_parts(brier(p, y).mean(), reliability_table(p, y, equal_width(n_bins)))
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within_bins
    assert total == pytest.approx(brier(p, y).mean())
    constant = (np.minimum(np.floor(p * n_bins), n_bins - 1) + 0.5) / n_bins  # one value a bin
    exact = brier_parts(brier(constant, y).mean(), reliability_table(constant, y, equal_width(n_bins)))
    assert exact.within_bins == pytest.approx(0, abs=1e-12)


@given(claims, st.integers(1, 8))
def test_bins_of_equal_mass_hold_every_row_and_never_part_equal_claims(rows: list[tuple[float, bool]], n: int) -> None:
    p, y = np.array([round(p, 1) for p, _ in rows]), np.array([float(y) for _, y in rows])
    table = reliability_table(p, y, equal_mass(p, n))
    assert sum(b.n for b in table) == len(rows)
    assert len(table) <= n
    assert len({b.claimed for b in table}) == len(table)


def test_bins_of_equal_mass_are_equal_where_claims_differ() -> None:
    p = np.random.default_rng(0).random(1000)
    assert {b.n for b in reliability_table(p, p, equal_mass(p, 10))} == {100}


def test_the_debiased_error_is_zero_on_average_for_honest_claims_and_the_plain_one_is_not() -> None:
    generator = np.random.default_rng(0)
    plain, debiased = [], []
    for _ in range(300):
        p = generator.random(200)
        table = reliability_table(p, (generator.random(200) < p).astype(float), equal_width(10))
        plain.append(sum(b.n * (b.claimed - b.observed) ** 2 for b in table) / 200)
        debiased.append(debiased_squared_error(table))
    assert np.mean(plain) > 0.006
    assert abs(np.mean(debiased)) < 0.001


def test_folding_equals_seeing_every_pair_in_both_orders() -> None:
    m = np.array([3.0, -1.0, 0.4, -0.2, 2.2, -2.5])
    confidence, right = fold(m)
    both_p, both_y = expit(np.concatenate([m, -m])), np.repeat([1.0, 0.0], len(m))
    folded = reliability_table(confidence, right, equal_width(10, 0.5))
    both = reliability_table(both_p, both_y, equal_width(20))
    assert calibration_error(folded) == pytest.approx(calibration_error(both))
    assert brier(confidence, right).mean() == pytest.approx(brier(both_p, both_y).mean())
    a = brier_parts(0.0, folded, base_rate=0.5)
    b = brier_parts(0.0, both)
    assert (a.reliability, a.resolution, a.uncertainty) == pytest.approx((b.reliability, b.resolution, b.uncertainty))


def test_folding_a_tie_says_half() -> None:
    confidence, right = fold(np.array([0.0, 1.0, -1.0]), np.array([0.9, 0.9, 0.9]))
    assert confidence[0] == 0.5
    assert right == pytest.approx([0.5, 0.9, 0.1])


# ---------------------------------------------------------------------------------------------------- temperature


def test_temperatures_of_the_worked_examples() -> None:
    """The published T are the optimum to about 4e-5, as far as a minimiser of a flat loss gets; the root is exact."""
    slope = fit_inverse_temperature(LOGITS, Y)
    assert slope is not None
    assert 1 / slope == pytest.approx(1.2247713, abs=5e-5)
    assert pair_log_loss(slope * LOGITS, Y).mean() == pytest.approx(0.5055217, abs=1e-7)
    assert fit_inverse_temperature(LOGITS * (2 * Y - 1)) == pytest.approx(slope)
    slope = fit_inverse_temperature(np.array([3, 2, 1, 0.5, -0.5, 2.5, -1, 0.2]))
    assert slope is not None
    assert 1 / slope == pytest.approx(0.9578891, abs=5e-6)


@given(margins)
def test_the_temperature_is_where_the_loss_is_least(m: np.ndarray) -> None:
    slope = fit_inverse_temperature(m)
    if slope is None:
        assert not m.any()
        return
    assert slope >= 0
    if (m >= 0).all():
        return  # smoothed: see below
    least = pair_log_loss(slope * m).sum()
    found = optimize.minimize_scalar(lambda b: pair_log_loss(abs(b) * m).sum(), bracket=(0, slope or 1.0))
    assert least <= found.fun + 1e-9
    assert least <= pair_log_loss(m).sum() + 1e-9
    assert least <= len(m) * math.log(2) + 1e-9


def test_a_scorer_against_the_labels_has_no_temperature_better_than_a_coin() -> None:
    assert fit_inverse_temperature(np.array([-3.0, 1.0, -0.5])) == 0.0


def test_a_scorer_that_is_never_wrong_keeps_a_finite_temperature_by_smoothing() -> None:
    slope = fit_inverse_temperature(np.array([1.0, 1.0, 1.0]))
    assert slope == pytest.approx(math.log(4))  # sigma(slope) = (3 + 1) / (3 + 2)


def test_a_constant_scorer_has_no_temperature() -> None:
    assert fit_inverse_temperature(np.zeros(5)) is None


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1.0, 1e9, 1e150])
def test_the_temperature_follows_the_unit_of_the_scores(scale: float) -> None:
    m = np.array([3, 2, 1, 0.5, -0.5, 2.5, -1, 0.2])
    slope = fit_inverse_temperature(m)
    scaled = fit_inverse_temperature(m * scale)
    assert slope is not None
    assert scaled == pytest.approx(slope / scale)


def test_cross_fitting_divides_by_a_temperature_from_other_prompts() -> None:
    generator = np.random.default_rng(0)
    truth = generator.normal(size=3000)
    m = 5 * np.where(generator.random(3000) < expit(truth), truth, -truth)  # five times too sure
    clusters = np.arange(3000) // 3
    scaled = cross_fit(m, clusters, np.ones(3000), folds=5, seed=0)
    assert scaled is not None
    slopes = np.unique((scaled / m).round(9))
    assert len(slopes) == 5
    assert slopes == pytest.approx(0.2, rel=0.15)
    own = {c: set((scaled / m)[clusters == c].round(9)) for c in range(1000)}
    assert all(len(found) == 1 for found in own.values())
    changed = m.copy()
    changed[clusters == 0] *= 100
    again = cross_fit(changed, clusters, np.ones(3000), folds=5, seed=0)
    assert again is not None
    assert (again / changed)[0] == pytest.approx((scaled / m)[0]), "a prompt helped to fit its own temperature"
    assert cross_fit(m[:3], clusters[:3], np.ones(3), folds=5, seed=0) is None
