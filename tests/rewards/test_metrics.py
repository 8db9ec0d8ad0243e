"""Figures of pairs, rankings and labelled responses: worked numbers, scipy, scikit-learn, slow plain versions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import ndcg_score, roc_auc_score

from guerdon.rewards.evaluation.intervals import codes_of
from guerdon.rewards.evaluation.metrics import (
    above_all_others,
    best_of_first,
    best_of_n,
    best_of_n_kl,
    chosen_quality,
    correctness,
    kendall,
    length_balanced,
    ndcg,
    overoptimisation,
    partial_spearman,
    pearson,
    reciprocal_rank,
    recovery,
    roc_auc,
    roc_auc_difference,
    spearman,
    within_correlation,
)

# whole numbers, so that ties are frequent
few = st.integers(-3, 3).map(float)


def rows_of(k: int) -> st.SearchStrategy[np.ndarray]:
    return st.lists(st.lists(few, min_size=k, max_size=k), min_size=1, max_size=4).map(np.array)


def array(*values: float) -> np.ndarray:
    return np.array(values, dtype=float)


# ---------------------------------------------------------------------------------------------------- pairs


def test_a_tie_is_half_right() -> None:
    assert correctness(array(2, 0, -1)).tolist() == [1.0, 0.5, 0.0]


def test_length_balanced_is_the_mean_of_both_sides_whatever_their_sizes() -> None:
    correct, longer = array(1, 1, 0, 1, 0.5, 1), array(5, 2, 9, 1, -4, 0)
    found = length_balanced(correct, longer, np.arange(6))
    assert found.value == pytest.approx((3 / 4 + 0.5) / 2)
    assert found.n == 5, "equal lengths take no part"


@given(st.lists(st.tuples(few, few), min_size=2, max_size=30))
def test_a_scorer_that_is_length_gets_one_half_when_balanced(pairs: list[tuple[float, float]]) -> None:
    longer = array(*(a - b for a, b in pairs))
    found = length_balanced(correctness(longer), longer, np.arange(len(longer)))
    assert found.value == 0.5 if (longer > 0).any() and (longer < 0).any() else found.reason


def test_the_interval_of_the_balanced_accuracy_covers_it() -> None:
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(400):
        clusters = np.repeat(np.arange(60), generator.integers(1, 6, 60))
        longer = np.where(generator.random(len(clusters)) < 0.7, 1.0, -1.0)
        shift = generator.uniform(-0.2, 0.2, 60)[clusters]
        correct = (generator.random(len(clusters)) < np.where(longer > 0, 0.75, 0.45) + shift).astype(float)
        found = length_balanced(correct, longer, clusters)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= 0.6 <= found.high
    assert 0.92 <= hits / 400 <= 0.98


# ---------------------------------------------------------------------------------------------------- correlation


def test_correlations_agree_with_the_worked_example() -> None:
    model, human = array(1, 0.2, 0.6, 0.1), array(0.9, 0.4, 0.3, 0.2)
    assert spearman(model, human) == pytest.approx(0.8)
    assert kendall(model, human) == pytest.approx(0.6666667)
    assert pearson(model, human) == pytest.approx(0.8471617)


@given(st.lists(st.tuples(few, few, few), min_size=3, max_size=25))
def test_correlations_agree_with_scipy_and_are_none_where_scipy_has_nan(rows: list[tuple[float, float, float]]) -> None:
    x, y, z = np.array(rows).T
    with np.errstate(all="ignore"):
        pairs = [(pearson, stats.pearsonr), (spearman, stats.spearmanr), (kendall, stats.kendalltau)]
        for ours, theirs in pairs:
            constant = np.ptp(x) == 0 or np.ptp(y) == 0
            assert ours(x, y) is None if constant else ours(x, y) == pytest.approx(theirs(x, y).statistic, abs=1e-12)
    ranks = [stats.rankdata(v) for v in (x, y, z)]
    left = [r - np.polynomial.Polynomial.fit(ranks[2], r, 1)(ranks[2]) for r in ranks[:2]] if np.ptp(z) else None
    if left is None or min(np.ptp(r) for r in left) < 1e-6:
        return
    assert partial_spearman(x, y, z) == pytest.approx(stats.pearsonr(*left).statistic, abs=1e-6)


def test_no_partial_correlation_where_the_given_fixes_a_side() -> None:
    x = array(1, 2, 3)
    assert partial_spearman(x, array(1, 3, 2), x) is None


# ---------------------------------------------------------------------------------------------------- right and wrong


@given(st.lists(st.tuples(few, st.booleans()), min_size=2, max_size=40))
def test_auc_agrees_with_scikit_learn(rows: list[tuple[float, bool]]) -> None:
    scores, right = array(*(s for s, _ in rows)), array(*(r for _, r in rows))
    found = roc_auc(scores, right, np.arange(len(rows)))
    if 0 < right.sum() < len(right):
        assert found.value == pytest.approx(roc_auc_score(right, scores))
        assert roc_auc_difference(scores, -scores, right, np.arange(len(rows))).value == pytest.approx(
            2 * roc_auc_score(right, scores) - 1
        )
    else:
        assert found.value is None
        assert "both right and wrong" in found.reason


def test_auc_of_the_worked_example_is_zero() -> None:
    assert roc_auc(array(0.2, 0.9, 0.5, 0.7), array(1, 0, 1, 1), np.arange(4)).value == 0.0


def test_the_clustered_interval_of_the_auc_covers_it() -> None:
    generator = np.random.default_rng(5)
    truth = float(stats.norm.cdf(1 / math.sqrt(2 * 2)))  # scores of a class: N(mean, 1 + 1), means 1 apart
    hits = 0
    for _ in range(300):
        clusters = np.repeat(np.arange(60), 5)
        right = (generator.random(300) < 0.5).astype(float)
        scores = right + generator.normal(size=60)[clusters] + generator.normal(size=300)
        found = roc_auc(scores, right, clusters)
        assert found.low is not None
        assert found.high is not None
        hits += found.low <= truth <= found.high
    assert 0.92 <= hits / 300 <= 0.985


# ---------------------------------------------------------------------------------------------------- rankings


def over_tie_orders(scores: np.ndarray, figure: Callable[[list[int]], float]) -> float:
    """The mean of a figure over every order that sorting by score allows: the slow plain version of averaging ties."""
    orders = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    return float(np.mean([figure(list(order)) for order in orders]))


@settings(deadline=None, max_examples=60)
@given(rows_of(4), rows_of(4))
def test_ranking_figures_are_the_mean_over_all_orders_of_ties(scores: np.ndarray, ranks: np.ndarray) -> None:
    n = min(len(scores), len(ranks))
    scores, quality = scores[:n], ranks[:n] - ranks[:n].min(axis=1, keepdims=True)
    best = (quality == quality.max(axis=1, keepdims=True)).astype(float)

    def first_best(i: int) -> Callable[[list[int]], float]:
        return lambda order: 1 / (1 + next(place for place, item in enumerate(order) if best[i, item]))

    for i in range(n):
        chosen = over_tie_orders(scores[i], lambda order, i=i: quality[i, order[0]])  # type: ignore[misc]
        assert chosen_quality(scores, quality)[i] == pytest.approx(chosen)
        assert reciprocal_rank(scores, best)[i] == pytest.approx(over_tie_orders(scores[i], first_best(i)))
        if quality[i].max() > 0:
            assert ndcg(scores, quality)[i] == pytest.approx(ndcg_score(quality[i][None], scores[i][None]))
        lost = [s for s, b in zip(scores[i], best[i], strict=True) if not b]
        won = max(s for s, b in zip(scores[i], best[i], strict=True) if b)
        assert above_all_others(scores, best)[i] == float(not lost or won > max(lost))


@settings(deadline=None)
@given(rows_of(5), rows_of(5))
def test_correlation_inside_a_prompt_agrees_with_scipy(scores: np.ndarray, quality: np.ndarray) -> None:
    n = min(len(scores), len(quality))
    found, exists = within_correlation(scores[:n], quality[:n])
    expected = [
        stats.spearmanr(x, y).statistic
        for x, y in zip(scores[:n], quality[:n], strict=True)
        if np.ptp(x) > 0 and np.ptp(y) > 0
    ]
    assert exists.sum() == len(expected)
    assert found == pytest.approx(expected)


def test_recovery_is_one_for_a_perfect_choice_and_zero_for_a_random_one() -> None:
    quality = np.array([[0.0, 1.0, 2.0], [5.0, 1.0, 0.0]])
    average, possible = quality.mean(axis=1), quality.max(axis=1) - quality.mean(axis=1)

    def of(scores: np.ndarray) -> float | None:
        return recovery(chosen_quality(scores, quality) - average, possible, np.arange(2)).value

    assert of(quality) == 1.0
    assert of(np.zeros((2, 3))) == pytest.approx(0.0)
    # by hand: choosing 2 and 1 gains 1 and -1 of the 1 and 3 that could be gained
    assert of(np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])) == pytest.approx((1 - 1) / (1 + 3))
    assert recovery(np.zeros(2), np.zeros(2), np.arange(2)).value is None


# ---------------------------------------------------------------------------------------------------- best of n


def test_best_of_n_agrees_with_the_worked_examples() -> None:
    assert best_of_n(array(0.1, 0.4, 0.3, 0.9), array(0, 1, 0, 1))[1] == pytest.approx(0.8333333)
    assert best_of_first(array(0.2, 0.9, 0.5, 0.7), array(1, 0, 1, 1)).tolist() == [1, 0, 0, 0]
    assert best_of_n_kl(array(4, 16)) == pytest.approx([0.6362944, 1.8350887], abs=1e-7)


def test_best_of_n_by_the_truth_itself_is_pass_at_n() -> None:
    right = array(*[1] * 3, *[0] * 7)
    assert best_of_n(right, right)[3] == pytest.approx(0.8333333)  # pass@4 with 3 right of 10
    for n in range(1, 11):
        assert best_of_n(right, right)[n - 1] == pytest.approx(1 - math.comb(7, n) / math.comb(10, n))


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(few, few), min_size=1, max_size=6))
def test_best_of_n_equals_brute_force_over_all_subsets(rows: list[tuple[float, float]]) -> None:
    scores, truth = np.array(rows).T
    curve = best_of_n(scores, truth)
    for n in range(1, len(rows) + 1):
        chosen = [
            chosen_quality(scores[None, list(subset)], truth[None, list(subset)])[0]
            for subset in itertools.combinations(range(len(rows)), n)
        ]
        assert curve[n - 1] == pytest.approx(np.mean(chosen), abs=1e-9)
    assert curve[0] == pytest.approx(truth.mean())


@given(st.lists(st.tuples(few, few), min_size=1, max_size=9))
def test_best_of_the_first_k_chooses_among_the_first_k(rows: list[tuple[float, float]]) -> None:
    scores, truth = np.array(rows).T
    expected = [chosen_quality(scores[None, :k], truth[None, :k])[0] for k in range(1, len(rows) + 1)]
    assert best_of_first(scores, truth) == pytest.approx(expected)


def test_best_of_n_stays_exact_for_a_thousand_responses() -> None:
    scores, truth = np.arange(1000.0), np.arange(1000.0)
    expected = [n * 1001 / (n + 1) - 1 for n in (1, 10, 500, 1000)]  # mean of the largest of n of 0 … 999
    assert best_of_n(scores, truth)[[0, 9, 499, 999]] == pytest.approx(expected, rel=1e-9)


def test_the_overoptimisation_fit_finds_its_own_curve() -> None:
    kl = best_of_n_kl(np.arange(1.0, 33.0))
    d = np.sqrt(kl)
    assert overoptimisation(kl, d * (0.4 - 0.15 * d)) == pytest.approx((0.4, 0.15))
    assert overoptimisation(kl[:3], d[:3]) is None


# ---------------------------------------------------------------------------------------------------- scale

monotone = st.sampled_from([np.exp, lambda x: 3 * x + 1, np.arctan, lambda x: x**3 + x])


@settings(deadline=None)
@given(rows_of(4), rows_of(4), monotone)
def test_figures_of_order_do_not_change_under_an_increasing_map(
    scores: np.ndarray, quality: np.ndarray, f: Callable[[np.ndarray], np.ndarray]
) -> None:
    n = min(len(scores), len(quality))
    scores, quality = scores[:n], quality[:n] - quality[:n].min()
    right = (quality.ravel() > 2).astype(float)
    for figure in (chosen_quality, ndcg):
        assert figure(f(scores), quality) == pytest.approx(figure(scores, quality))
    for curve in (best_of_n, best_of_first):
        assert curve(f(scores[0]), quality[0]) == pytest.approx(curve(scores[0], quality[0]))
    flat = scores.ravel()
    assert roc_auc(f(flat), right, np.arange(len(flat))) == roc_auc(flat, right, np.arange(len(flat)))
    assert spearman(f(flat), quality.ravel()) == spearman(flat, quality.ravel())


def test_codes_follow_first_appearance() -> None:
    assert codes_of(["x", ("a", 1), "x", None]).tolist() == [0, 1, 0, 2]
