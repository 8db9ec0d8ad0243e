"""Dawid and Skene: the worked example, a slow plain version, recovery, and the refusal of voters that copy."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.calibration.annotators import dawid_skene
from guerdon.rewards.errors import UsageError

ROWS = np.array(
    [[int(v) for v in row] for row in ["111", "110", "101", "000", "001", "000", "111", "010"]], dtype=float
)


def draw(
    rng: np.random.Generator,
    n: int,
    hit: list[float],
    false: list[float],
    *,
    prevalence: float = 0.5,
    copied: float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Votes of independent voters; the second copies the first on a share of the rows. And the truth."""
    truth = rng.random(n) < prevalence
    votes = np.where(truth[:, None], rng.random((n, len(hit))) < hit, rng.random((n, len(hit))) < false).astype(float)
    copies = rng.random(n) < copied
    votes[copies, 1] = votes[copies, 0]
    return votes, truth


@st.composite
def small_votes(draw_: st.DrawFn) -> np.ndarray:
    n, m, seed = draw_(st.integers(3, 50)), draw_(st.integers(3, 8)), draw_(st.integers(0, 2**32))
    rng = np.random.default_rng(seed)
    votes, _ = draw(rng, n, rng.uniform(0.5, 0.95, m).tolist(), rng.uniform(0.05, 0.5, m).tolist())
    votes[rng.random((n, m)) < 0.2] = np.nan
    votes[np.isnan(votes).all(axis=1), 0] = 1.0
    votes[0, np.isnan(votes).all(axis=0)] = 0.0
    return votes


def test_the_worked_example() -> None:
    found = dawid_skene(ROWS)
    assert found.prevalence == pytest.approx(0.5, abs=1e-6)
    assert 1 - found.false_negative == pytest.approx([0.994423, 0.748441, 0.748441], abs=1e-6)
    assert found.false_positive == pytest.approx([0.005577, 0.251559, 0.251559], abs=1e-6)
    assert not found.swapped
    assert found.largest_excess is None  # three voters explain anything


@given(small_votes())
@settings(max_examples=50)
def test_a_step_is_that_of_a_slow_plain_version(votes: np.ndarray) -> None:
    found = dawid_skene(votes, most_steps=1, smoothing=0.01)
    n, m = votes.shape
    g = [np.nanmean(row) for row in votes]
    pi = (sum(g) + 0.01) / (n + 0.02)
    hit, false = [], []
    for j in range(m):
        rows = [i for i in range(n) if not math.isnan(votes[i, j])]
        hit.append((sum(g[i] * votes[i, j] for i in rows) + 0.01) / (sum(g[i] for i in rows) + 0.02))
        false.append((sum((1 - g[i]) * votes[i, j] for i in rows) + 0.01) / (sum(1 - g[i] for i in rows) + 0.02))
    for i in range(n):
        right, wrong = pi, 1 - pi
        for j in range(m):
            if not math.isnan(votes[i, j]):
                right *= hit[j] if votes[i, j] else 1 - hit[j]
                wrong *= false[j] if votes[i, j] else 1 - false[j]
        assert found.posterior[i] == pytest.approx(right / (right + wrong), abs=1e-9)
    assert found.false_positive == pytest.approx(false)


@given(small_votes())
@settings(max_examples=200)
def test_the_likelihood_never_falls_without_smoothing(votes: np.ndarray) -> None:
    history = dawid_skene(votes, smoothing=0.0, most_steps=40).log_likelihood
    assert all(b >= a - 1e-9 for a, b in pairwise(history))


@given(small_votes(), st.integers(0, 2**32))
@settings(max_examples=100)
def test_permuted_voters_have_permuted_rates(votes: np.ndarray, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(votes.shape[1])
    plain, moved = (dawid_skene(v, most_steps=30) for v in (votes, votes[:, order]))
    assert moved.false_positive == pytest.approx(plain.false_positive[order], abs=1e-6)
    assert moved.posterior == pytest.approx(plain.posterior, abs=1e-6)


@pytest.mark.slow
def test_rates_are_recovered_and_the_posterior_beats_the_majority() -> None:
    rng = np.random.default_rng(0)
    hit, false = [0.95, 0.85, 0.75, 0.7], [0.05, 0.1, 0.25, 0.35]
    errors, ours, majority = [], [], []
    for _ in range(10):
        votes, truth = draw(rng, 4000, hit, false)
        votes[rng.random(votes.shape) < 0.2] = np.nan
        keep = ~np.isnan(votes).all(axis=1)
        votes, truth = votes[keep], truth[keep]
        found = dawid_skene(votes)
        errors += [*(found.false_positive - false), *(1 - found.false_negative - hit)]
        ours.append(((found.posterior > 0.5) == truth).mean())
        majority.append(((np.nanmean(votes, axis=1) > 0.5) == truth).mean())
        assert found.largest_excess < 0.1
        assert len(found.channels()) == 4
    assert np.sqrt(np.mean(np.square(errors))) <= 0.015
    assert np.mean(ours) > np.mean(majority) + 0.02


@pytest.mark.slow
def test_voters_that_copy_are_refused_and_pooled_they_are_mended() -> None:
    rng = np.random.default_rng(1)
    hit = [0.7, 0.7, 0.9, 0.8, 0.75]
    votes, _ = draw(rng, 4000, hit, [1 - h for h in hit], copied=0.7)
    found = dawid_skene(votes)
    # the fit believes the copies: sensitivities of the first three, true (0.7, 0.7, 0.9)
    assert (1 - found.false_negative[:2] > 0.88).all()
    assert 1 - found.false_negative[2] < 0.8
    assert found.largest_excess > 0.2
    with pytest.raises(UsageError, match="pool dependent voters"):
        found.channels()
    pooled = dawid_skene(votes, clusters=[[0, 1]])
    assert 1 - pooled.false_negative[1:] == pytest.approx(hit[2:], abs=0.03)
    assert len(pooled.channels()) == 4


def test_three_voters_that_copy_cannot_be_found_out() -> None:
    """The page says so: with three voters the model explains any agreement, and the rates are wrong all the same."""
    votes, _ = draw(np.random.default_rng(2), 4000, [0.7, 0.7, 0.9], [0.3, 0.3, 0.1], copied=0.7)
    found = dawid_skene(votes)
    assert 1 - found.false_negative == pytest.approx([0.95, 0.94, 0.70], abs=0.03)
    assert found.largest_excess is None
    assert np.nanmax(np.abs(found.excess - np.eye(3))) < 0.02


def test_voters_that_are_all_mostly_wrong_look_right_and_a_swapped_solution_is_refused() -> None:
    assert not dawid_skene(1 - ROWS).swapped  # from votes alone nobody can tell
    with pytest.raises(UsageError, match="may be swapped"):
        replace(dawid_skene(ROWS), swapped=True).channels()


@pytest.mark.parametrize(
    ("votes", "clusters", "told"),
    [
        (ROWS[:, :2], (), "2 independent voters cannot be told apart"),
        (ROWS, ([0, 1],), "2 independent voters"),
        (ROWS, ([0, 3],), "voters 0 to 2"),
        (ROWS, ([0], [0]), "each at most once"),
        (ROWS / 2, (), "votes must be 0, 1, or NaN"),
        (ROWS[0], (), "rows by voters"),
        (np.where(np.arange(3) == 1, np.nan, ROWS), (), "at least one vote"),
    ],
)
def test_what_are_no_votes_is_refused(votes: np.ndarray, clusters: tuple[list[int], ...], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        dawid_skene(votes, clusters=clusters)


def test_a_million_votes_take_no_loop_over_rows() -> None:
    votes, truth = draw(np.random.default_rng(3), 250_000, [0.9, 0.8, 0.85, 0.7], [0.1, 0.2, 0.1, 0.3])
    found = dawid_skene(votes, most_steps=5)
    assert ((found.posterior > 0.5) == truth).mean() > 0.93
