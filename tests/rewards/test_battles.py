"""Ratings and figures of models: a worked example, an independent optimiser, simulated battles with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation.battles import Battles, bradley_terry, compare_models

WINS = np.array([[0, 3, 2], [1, 0, 2], [1, 1, 0]], dtype=float)


def by_optimiser(wins: np.ndarray, prior: float) -> np.ndarray:
    """The same likelihood, handed to a general minimiser; the virtual player has rating 0."""

    def loss(rating: np.ndarray) -> float:
        difference = rating[:, None] - rating[None, :]
        real = (wins * np.logaddexp(0, -difference)).sum()
        return float(real + prior * (np.logaddexp(0, -rating) + np.logaddexp(0, rating)).sum())

    found = optimize.minimize(loss, np.zeros(len(wins)), tol=1e-12).x
    return np.asarray(found - found.mean())


def test_ratings_agree_with_the_worked_example() -> None:
    assert bradley_terry(WINS) == pytest.approx([0.6302847, -0.1510853, -0.4791994], abs=1e-6)


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_ratings_agree_with_an_independent_optimiser(prior: float) -> None:
    assert bradley_terry(WINS, prior=prior) == pytest.approx(by_optimiser(WINS, prior), abs=1e-5)


def test_a_stack_of_win_matrices_is_rated_one_by_one() -> None:
    stack = np.stack([WINS, WINS.T, 2 * WINS])
    expected = [bradley_terry(wins, prior=0.5) for wins in stack]
    assert bradley_terry(stack, prior=0.5) == pytest.approx(np.stack(expected), abs=1e-8)


def test_ratings_follow_a_permutation_of_the_models() -> None:
    order = [2, 0, 1]
    assert bradley_terry(WINS[np.ix_(order, order)]) == pytest.approx(bradley_terry(WINS)[order])


def test_a_model_that_never_lost_has_no_finite_rating_without_a_prior() -> None:
    unbeaten = np.array([[0, 2, 1], [0, 0, 1], [0, 1, 0]], dtype=float)
    with pytest.raises(UsageError, match=r"prior=0\.5"):
        bradley_terry(unbeaten)
    assert np.isfinite(bradley_terry(unbeaten, prior=0.5)).all()


STRENGTH = {"a": 1.5, "b": 0.7, "c": 0.0, "d": -0.7, "e": -1.5}


def battles(scorer: dict[str, float], n: int = 1500, seed: int = 0) -> Battles | str:
    """n battles with labels by STRENGTH and a scorer that judges by its own strengths."""
    generator = np.random.default_rng(seed)
    names = list(STRENGTH)
    first, second = (generator.integers(0, 5, n) for _ in range(2))
    second = np.where(first == second, (second + 1) % 5, second)
    label, ours = (
        (generator.random(n) < expit([s[names[i]] - s[names[j]] for i, j in zip(first, second, strict=True)])).astype(
            float
        )
        for s in (STRENGTH, scorer)
    )
    chosen, rejected = ([names[i] for i in side] for side in (first, second))
    return compare_models(chosen, rejected, label, ours, np.arange(n) // 2, seed=0)


def test_a_scorer_that_judges_as_the_labels_do_agrees_in_every_figure() -> None:
    found = battles(STRENGTH)
    assert isinstance(found, Battles)
    assert (found.kendall, found.spearman) == pytest.approx((1.0, 1.0))
    assert found.row_pearson is not None
    assert found.row_pearson > 0.95
    assert found.separability == 1.0
    assert found.confidence_agreement == 1.0
    assert found.brier < 0.01
    assert [rating.model for rating in found.ratings] == list("abcde")
    for rating in found.ratings:
        assert rating.labels_low < rating.labels < rating.labels_high
        assert rating.labels == pytest.approx(STRENGTH[rating.model], abs=0.25)


def test_a_scorer_that_judges_the_other_way_round_disagrees_in_every_figure() -> None:
    found = battles({model: -strength for model, strength in STRENGTH.items()})
    assert isinstance(found, Battles)
    assert (found.kendall, found.confidence_agreement) == pytest.approx((-1.0, -1.0))
    assert found.brier > 0.99
    assert found.separability == 1.0


def test_a_scorer_that_tosses_coins_separates_few_models() -> None:
    found = battles(dict.fromkeys(STRENGTH, 0.0))
    assert isinstance(found, Battles)
    assert found.separability <= 0.3
    assert abs(found.confidence_agreement) <= 0.3


def test_a_scorer_that_always_ties_has_no_ranking() -> None:
    chosen, rejected = ["a", "b", "c", "a"] * 15, ["b", "c", "d", "d"] * 15
    found = compare_models(chosen, rejected, np.ones(60), np.full(60, 0.5), np.arange(60), seed=0)
    assert isinstance(found, Battles)
    assert found.kendall is None
    assert found.separability == 0.0
    assert found.brier == pytest.approx(0.25)


def test_models_with_few_battles_are_left_out_and_too_few_models_are_a_reason() -> None:
    chosen, rejected = ["a", "b", "c", "d"] * 15 + ["rare"], ["b", "c", "d", "a"] * 15 + ["a"]
    found = compare_models(chosen, rejected, np.ones(61), np.ones(61), np.arange(61), seed=0)
    assert isinstance(found, Battles)
    assert {rating.model for rating in found.ratings} == set("abcd")
    assert found.battles == 60
    reason = compare_models(["a", "b"] * 20, ["b", "a"] * 20, np.ones(40), np.ones(40), np.arange(40), seed=0)
    assert reason == "needs 4 models with 10 battles each, found 2"


def test_leaving_a_model_out_may_leave_another_with_too_few() -> None:
    chain = [("a", "b")] * 9 + [("b", "c")] * 9 + [("c", "d")] * 9
    ring = [("p", "q"), ("q", "r"), ("r", "s"), ("s", "p")] * 6
    pairs = chain + ring
    chosen, rejected = [a for a, _ in pairs], [b for _, b in pairs]
    found = compare_models(chosen, rejected, np.ones(len(pairs)), np.ones(len(pairs)), np.arange(len(pairs)), seed=0)
    assert isinstance(found, Battles)
    assert {rating.model for rating in found.ratings} == set("pqrs"), "b and c fall below ten once a and d are gone"
