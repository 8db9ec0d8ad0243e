"""Intervals: known values, and coverage over simulated sets whose rows share prompts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from guerdon.rewards.evaluation.intervals import Estimate, codes_of, folds_of, linearised, mean, share, wilson


def test_wilson_agrees_with_the_worked_example_and_with_scipy() -> None:
    assert wilson(3, 50) == pytest.approx((0.0206150, 0.1621709), abs=1e-6)
    for k, n in ((0, 5), (5, 5), (17, 40)):
        expected = stats.binomtest(k, n).proportion_ci(method="wilson")
        assert wilson(k, n) == pytest.approx((expected.low, expected.high))


def test_independent_rows_give_students_interval() -> None:
    values = np.random.default_rng(0).normal(size=40)
    found = mean(values, np.arange(40))
    expected = stats.t.interval(0.95, 39, loc=values.mean(), scale=stats.sem(values))
    assert (found.low, found.high) == pytest.approx(expected)


def test_doubling_every_row_of_a_prompt_leaves_the_interval_as_it_is() -> None:
    generator = np.random.default_rng(0)
    values, clusters = (generator.random(60) < 0.7).astype(float), np.arange(60)
    for figure in (mean, share):
        once, twice = figure(values, clusters), figure(np.tile(values, 2), np.tile(clusters, 2))
        assert (twice.low, twice.high) == pytest.approx((once.low, once.high))
        assert (twice.n, twice.clusters) == (120, 60)


def test_order_of_rows_and_names_of_clusters_do_not_matter() -> None:
    generator = np.random.default_rng(3)
    values, clusters = generator.random(50), generator.integers(0, 12, 50)
    order = generator.permutation(50)
    renamed = 40 - 3 * clusters
    assert str(share(values[order], renamed[order])) == str(share(values, clusters))


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_an_interval_is_not_empty_where_all_rows_are_alike(value: float) -> None:
    found = share(np.full(30, value), np.arange(30) // 3)
    assert found.low is not None
    assert found.high is not None
    assert 0.1 < found.high - found.low < 0.5, "ten prompts all right prove little"


def test_one_prompt_has_a_figure_but_no_interval_and_no_rows_have_neither() -> None:
    one = share(np.array([1.0, 0.0]), np.array([0, 0]))
    assert (one.value, one.low, one.high, one.clusters) == (0.5, None, None, 1)
    none = mean(np.zeros(0), np.zeros(0, dtype=int))
    assert none.value is None
    assert none.reason


def clustered(generator: np.random.Generator, rate: float, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Prompts of one to nine rows whose own rates are beta distributed: the correlation inside a prompt is 1/3."""
    sizes = generator.integers(1, 10, n_clusters)
    rates = generator.beta(2 * rate, 2 * (1 - rate), n_clusters)
    clusters = np.repeat(np.arange(n_clusters), sizes)
    return (generator.random(len(clusters)) < rates[clusters]).astype(float), clusters


def covers(found: Estimate, truth: float) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low <= truth <= found.high


@pytest.mark.parametrize(
    ("rate", "n_clusters", "at_least"),
    # over 2,000 sets they cover 0.950, 0.954, 0.923 (shares near 1 are hard) and 0.945
    [(0.65, 40, 0.93), (0.65, 250, 0.93), (0.95, 60, 0.90), (0.5, 12, 0.93)],
)
def test_95_percent_intervals_cover_the_truth_95_times_in_100_where_rows_share_prompts(
    rate: float, n_clusters: int, at_least: float
) -> None:
    generator = np.random.default_rng(1)
    sets = [clustered(generator, rate, n_clusters) for _ in range(600)]
    coverage = np.mean([covers(share(x, c), rate) for x, c in sets])
    assert at_least <= coverage <= 0.98, coverage
    naive = np.mean([covers(share(x, np.arange(len(x))), rate) for x, c in sets])
    assert naive < 0.85, "taking rows as independent claims too much here, or the simulation tests nothing"


def test_the_interval_of_a_mean_covers_too() -> None:
    generator = np.random.default_rng(2)
    hits = 0
    for _ in range(600):
        clusters = np.repeat(np.arange(50), generator.integers(1, 10, 50))
        values = 3 + generator.normal(size=50)[clusters] + generator.normal(size=len(clusters))
        hits += covers(mean(values, clusters), 3.0)
    assert 0.93 <= hits / 600 <= 0.975


def test_linearised_of_a_mean_is_the_mean() -> None:
    x, clusters = np.array([1.0, 4.0, 2.0, 2.0]), np.array([0, 1, 1, 2])
    assert linearised(x.mean(), (x - x.mean()) / 4, clusters) == mean(x, clusters)


def test_folds_keep_prompts_whole_and_follow_the_seed() -> None:
    clusters = codes_of("aabbbccdee")
    folds = folds_of(clusters, 3, seed=0)
    assert folds is not None
    assert set(folds) == {0, 1, 2}
    assert all(len(set(folds[clusters == code])) == 1 for code in set(clusters))
    assert (folds_of(clusters, 3, seed=0) == folds).all()
    assert folds_of(np.zeros(4, dtype=int), 3, seed=0) is None
    few = folds_of(np.array([0, 1]), 5, seed=0)
    assert few is not None
    assert set(few) == {0, 1}
