"""Conformal sets and thresholds: worked by hand, against slow plain versions, and their promises by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from guerdon.calibration.conformal import (
    ACCEPT_ALL,
    class_p_values,
    prediction_sets,
    risk_threshold,
    selective_threshold,
)
from guerdon.rewards.errors import UsageError

GRID = np.round(np.arange(0, 1, 0.01), 2)
rows = st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=50)


def test_the_worked_p_value() -> None:
    scores = np.array([0.2, 0.5, 0.6, 0.8, 0.9, 0.3])
    right = np.array([1, 1, 1, 1, 1, 0], dtype=bool)
    p = class_p_values(scores, right, np.array([0.55, 0.1, 0.95]))
    assert p[:, 1].tolist() == pytest.approx([0.5, 1 / 6, 1])
    assert p[:, 0].tolist() == [0.5, 1, 0.5]


@given(rows, st.lists(st.integers(-1, 21), min_size=1, max_size=10))
@settings(max_examples=200)
def test_p_values_are_those_of_a_count_by_hand(found: list[tuple[int, bool]], new: list[int]) -> None:
    scores, right = np.array([s for s, _ in found], dtype=float), np.array([r for _, r in found])
    if right.all() or not right.any():
        with pytest.raises(UsageError, match="need some of both"):
            class_p_values(scores, right, np.array(new, dtype=float))
        return
    p = class_p_values(scores, right, np.array(new, dtype=float))
    for i, x in enumerate(new):
        good = [s for s, r in found if r]
        bad = [s for s, r in found if not r]
        assert p[i, 1] == (1 + sum(s <= x for s in good)) / (len(good) + 1)
        assert p[i, 0] == (1 + sum(s >= x for s in bad)) / (len(bad) + 1)


def test_sets_hold_the_labels_that_are_not_excluded() -> None:
    p = np.array([[0.01, 0.5], [0.5, 0.5], [0.05, 0.02], [0.5, 0.04]])
    assert prediction_sets(p, 0.05).tolist() == [[False, True], [True, True], [False, False], [True, False]]
    assert prediction_sets(p, (0.05, 0.01))[2].tolist() == [False, True]
    with pytest.raises(UsageError, match="between 0 and 1"):
        prediction_sets(p, 1.0)


@given(rows, st.sampled_from([0.02, 0.05, 0.1, 0.25, 0.5]))
@settings(max_examples=200)
def test_the_risk_threshold_is_the_smallest_that_satisfies_the_inequality(
    found: list[tuple[int, bool]], alpha: float
) -> None:
    scores, wrong = np.array([s for s, _ in found], dtype=float), np.array([w for _, w in found])
    n = len(scores)

    def satisfied(threshold: float) -> bool:
        return ((scores > threshold) & wrong).sum() + 1 <= alpha * (n + 1) + 1e-12

    if not satisfied(np.inf):
        with pytest.raises(UsageError, match="are the least"):
            risk_threshold(scores, wrong, alpha=alpha)
        return
    found_threshold = risk_threshold(scores, wrong, alpha=alpha)
    assert satisfied(found_threshold)
    lower = [t for t in [ACCEPT_ALL, *scores.tolist()] if t < found_threshold]
    assert not any(satisfied(t) for t in lower)


@given(rows)
@settings(max_examples=200)
def test_abstaining_never_raises_the_risk(found: list[tuple[int, bool]]) -> None:
    scores, wrong = np.array([s for s, _ in found], dtype=float), np.array([w for _, w in found])
    threshold = risk_threshold(scores, wrong, alpha=0.5)
    assert (wrong & (scores > threshold)).mean() <= wrong.mean()


def test_the_walk_stops_at_the_first_failure_and_skips_what_accepts_too_few() -> None:
    confidence = np.concatenate([np.full(100, 0.95), np.full(60, 0.75), np.full(500, 0.45)])
    wrong = np.concatenate([np.zeros(100), np.ones(60), np.zeros(500)]).astype(bool)
    # 0.9: 0 of 100 wrong. 0.7: 60 of 160. 0.4: 60 of 660, below the level, but behind a failure
    assert selective_threshold(confidence, wrong, np.array([0.9, 0.7, 0.4]), alpha=0.15) == 0.9
    assert selective_threshold(confidence, wrong, np.array([0.4]), alpha=0.15) == 0.4
    assert selective_threshold(confidence, wrong, np.array([0.9]), alpha=0.15, fewest=101) is None
    assert selective_threshold(confidence, ~wrong, np.array([0.9]), alpha=0.15) is None


def test_the_bound_of_the_walk_is_clopper_pearsons() -> None:
    n, k = 200, 3
    bound = float(stats.binomtest(k, n, alternative="less").proportion_ci(0.9, method="exact").high)
    confidence, wrong = np.ones(n), np.arange(n) < k
    assert selective_threshold(confidence, wrong, np.array([0.5]), alpha=bound + 1e-6) == 0.5
    assert selective_threshold(confidence, wrong, np.array([0.5]), alpha=bound - 1e-6) is None


@pytest.mark.parametrize(
    ("confidence", "wrong", "told"),
    [
        (np.array([0.1, np.nan]), np.array([0, 1]), "1 of 2 scores are not finite"),
        (np.array([0.1, 0.2]), np.array([0, 0.5]), "true or false"),
        (np.array([0.1, 0.2]), np.array([0]), r"shape \(n,\)"),
        (np.array([]), np.array([], dtype=bool), "19 are the least"),
    ],
)
def test_what_is_no_sample_is_refused(confidence: np.ndarray, wrong: np.ndarray, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        risk_threshold(confidence, wrong, alpha=0.05)
    for alpha, delta in ((0.0, 0.1), (0.05, 0.5)):
        with pytest.raises(UsageError, match="must lie between"):
            selective_threshold(np.ones(3), np.zeros(3, bool), GRID, alpha=alpha, delta=delta)


# --- promises (methods C5's simulation; its population is not stated, ours is: p uniform, right with probability p) ---


def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    p = rng.uniform(size=n)
    return p, rng.random(n) >= p  # P(wrong | p) = 1 - p


@pytest.mark.slow
def test_sets_hold_the_truth_class_by_class() -> None:
    rng = np.random.default_rng(0)
    missed = np.zeros(2)
    trials = 2000
    for _ in range(trials):
        p, wrong = draw(rng, 101)
        sets = prediction_sets(class_p_values(p[:-1], ~wrong[:-1], p[-1:]), 0.1)[0]
        # each class in its own share of the draws
        missed[int(~wrong[-1])] += not sets[int(~wrong[-1])]
    assert missed.sum() / trials <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / trials)


@pytest.mark.slow
def test_the_controlled_risk_is_at_its_level_on_average() -> None:
    """Exact by exchangeability: (k + 1) / (n + 1) with k = floor(alpha (n + 1) - 1), here 25 / 501 = 0.0499."""
    rng = np.random.default_rng(1)
    risks = []
    for _ in range(2000):
        p, wrong = draw(rng, 500)
        t = max(risk_threshold(p, wrong, alpha=0.05), 0.0)
        risks.append((1 - t) ** 2 / 2)  # P(p > t and wrong), p uniform
    assert np.mean(risks) == pytest.approx(0.0499, abs=0.0006)
    assert np.mean(risks) == pytest.approx(0.0495, abs=0.001)


@pytest.mark.slow
def test_the_selective_error_is_violated_less_often_than_delta() -> None:
    """Score u uniform, wrong with probability (1 - u)^2: the error above t is (1 - t)^2 / 3, at the level for 0.387."""
    rng = np.random.default_rng(2)
    violated, accepted = 0, []
    runs = 2000
    for _ in range(runs):
        u = rng.uniform(size=500)
        t = selective_threshold(u, rng.random(500) < (1 - u) ** 2, GRID, alpha=0.05, delta=0.1)
        share = 0.0 if t is None else 1 - t
        violated += share**2 / 3 > 0.05
        accepted.append(share)
    assert violated / runs <= 0.1
    assert 0.15 < np.mean(accepted) < 0.387
