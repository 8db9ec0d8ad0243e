"""Capture and recapture: the worked example, limits, a lower bound under dependence, three lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.calibration.recapture import PATTERNS, chapman, three_lists
from guerdon.rewards.errors import UsageError


def test_the_worked_example() -> None:
    found = chapman(70, 80, 60)
    assert found.total == pytest.approx(93.2786885, abs=1e-7)
    assert found.variance == pytest.approx(4.9856525, abs=1e-7)
    assert found.recalls == (0.75, 60 / 70)


@given(st.integers(0, 10**6))
@settings(max_examples=200)
def test_two_that_found_the_same_found_all(n: int) -> None:
    found = chapman(n, n, n)
    assert found.total == pytest.approx(n)
    assert found.variance == 0


def test_large_counts_give_the_plain_ratio() -> None:
    assert chapman(70_000, 80_000, 60_000).total == pytest.approx(70_000 * 80_000 / 60_000, rel=1e-5)


def test_it_is_unbiased_when_misses_are_independent_and_a_lower_bound_when_they_are_not() -> None:
    rng = np.random.default_rng(0)
    independent, dependent = [], []
    for _ in range(500):
        a, b = rng.random((2, 400)) < 0.7
        independent.append(chapman(int(a.sum()), int(b.sum()), int((a & b).sum())).total)
        hard = rng.random(400) < 0.3
        a, b = rng.random((2, 400)) < np.where(hard, 0.3, 0.87)
        dependent.append(chapman(int(a.sum()), int(b.sum()), int((a & b).sum())).total)
    assert np.mean(independent) == pytest.approx(400, rel=0.01)
    assert np.mean(dependent) < 380


def test_three_lists_allow_for_pairs_that_depend() -> None:
    rng = np.random.default_rng(1)
    n, totals, naive = 20_000, [], []
    for _ in range(20):
        a, c = rng.random((2, n)) < 0.6
        b = np.where(rng.random(n) < 0.5, a, rng.random(n) < 0.6)  # the second leans on the first
        patterns = [f"{int(x)}{int(y)}{int(z)}" for x, y, z in zip(a, b, c, strict=True)]
        totals.append(three_lists({p: patterns.count(p) for p in PATTERNS}).total)
        naive.append(chapman(int(a.sum()), int(b.sum()), int((a & b).sum())).total)
    assert np.mean(totals) == pytest.approx(n, rel=0.01)
    assert np.mean(naive) < 0.85 * n


def test_three_lists_by_hand() -> None:
    counts = dict(zip(PATTERNS, (40, 20, 10, 8, 6, 4, 2), strict=True))
    found = three_lists(counts)
    assert found.total == pytest.approx(90 + 40 * 6 * 4 * 2 / (20 * 10 * 8))
    assert found.recalls[0] == pytest.approx((40 + 20 + 10 + 6) / found.total)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: chapman(5, 3, 4), "check the counts"),
        (lambda: chapman(-1, 3, 0), "first must be a whole number >= 0"),
        (lambda: chapman(1, 2.5, 0), "second must be a whole number"),  # type: ignore[arg-type]
        (lambda: three_lists({"111": 1}), "counts must have the patterns"),
        (lambda: three_lists({p: int(p != "110") for p in PATTERNS}), "no bound can be told"),
    ],
)
def test_counts_that_cannot_be_are_refused(call: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        call()


def test_nothing_found_is_nothing() -> None:
    assert chapman(0, 0, 0).total == 0
    assert three_lists(dict.fromkeys(PATTERNS, 0)).recalls == (0, 0, 0)
