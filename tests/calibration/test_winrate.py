"""The length-controlled win rate: its example, its laws, a judge that loves length, a model told to be brief."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from guerdon.calibration.winrate import _fit, instruction_difficulty, judged, length_controlled
from guerdon.rewards.errors import UsageError


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def test_the_modelled_preference_is_the_published_example():
    """methods.md C3.4: theta 0.4, phi 0.8."""
    assert judged(0.4, 0.8, np.array([0.0, 1.0])) == pytest.approx([0.5986877, 0.7328783], abs=1e-6)


def test_a_model_against_itself_wins_half():
    found = length_controlled(np.full(50, 0.5), np.zeros(50))
    assert found.win_rate.value == pytest.approx(0.5, abs=1e-9)
    assert found.raw.value == 0.5
    assert (found.phi, found.spread, found.warning) == (0.0, 0.0, "")


@settings(max_examples=15)
@given(st.integers(0, 1_000), st.booleans())
def test_swapping_the_models_turns_the_rate_round(seed, with_difficulty):
    r = np.random.default_rng(seed)
    y, d = r.beta(0.5, 0.5, 60), r.normal(scale=300, size=60)
    gamma = r.normal(size=60) if with_difficulty else None
    one = length_controlled(y, d, difficulty=gamma)
    other = length_controlled(1 - y, -d, difficulty=gamma)
    assert one.win_rate.value + other.win_rate.value == pytest.approx(1, abs=1e-6)
    assert one.phi == pytest.approx(other.phi, abs=1e-5)
    assert one.theta == pytest.approx(-other.theta, abs=1e-5)


@settings(max_examples=15)
@given(st.integers(0, 1_000))
def test_without_differences_of_length_the_rate_is_the_raw_one(seed):
    y = np.random.default_rng(seed).beta(0.5, 0.5, 40)
    found = length_controlled(y, np.zeros(40))
    assert found.win_rate.value == pytest.approx(y.mean(), abs=1e-5)
    assert found.phi == 0.0


@settings(max_examples=15)
@given(st.integers(0, 1_000), st.floats(0, 0.05))
def test_the_fit_is_the_minimum_that_scipy_finds(seed, penalty):
    r = np.random.default_rng(seed)
    rows = np.column_stack([np.ones(80), np.tanh(r.normal(size=80)), r.normal(size=80)])
    y, share = r.beta(0.4, 0.6, 80), np.full(80, 1 / 80)

    def objective(split):  # phi = up - down with both >= 0, so that the L1 term is smooth
        beta = np.array([split[0], split[1] - split[2], split[3] - split[4]])
        z = rows @ beta
        return share @ (np.logaddexp(0, z) - y * z) + penalty * split[1:].sum() + 5e-7 * beta @ beta

    bounds = [(None, None), *[(0, None)] * 4]
    found = minimize(objective, np.zeros(5), bounds=bounds, options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5_000})
    ours = _fit(rows, y, np.ones(80), penalty)
    split = np.array([ours[0], max(ours[1], 0), max(-ours[1], 0), max(ours[2], 0), max(-ours[2], 0)])
    assert objective(split) <= found.fun + 1e-9


@pytest.mark.slow
def test_a_judge_that_loves_length_is_seen_through():
    """theta 0.3 means a win rate of 0.574; answers are longer by one deviation on average, and the judge pays 1.5."""
    rates, covered = [], 0
    for seed in range(20):
        r = np.random.default_rng(seed)
        d = r.normal(300, 300, 400)
        y = (r.random(400) < sigmoid(0.3 + 1.5 * np.tanh(d / 300))).astype(float)
        found = length_controlled(y, d, seed=seed)
        rates.append(found.win_rate.value)
        covered += found.win_rate.low <= sigmoid(0.3) <= found.win_rate.high
        assert found.raw.value > found.win_rate.value + 0.05
        assert found.phi > 0.5
    assert np.mean(rates) == pytest.approx(sigmoid(0.3), abs=0.03)
    assert covered >= 17


def test_a_rate_that_length_made_gets_a_warning():
    r = np.random.default_rng(0)
    d = r.normal(300, 300, 400)
    liked = length_controlled((r.random(400) < sigmoid(-0.5 + 2.5 * np.tanh(d / 300))).astype(float), d)
    assert "length control moves the win rate" in liked.warning
    assert length_controlled((r.random(400) < 0.6).astype(float), d).warning == ""


def test_copies_of_the_baseline_tell_length_from_quality():
    """All answers are longer by about the same: only copies of the baseline tell theta and phi apart."""
    r = np.random.default_rng(1)
    d = r.normal(400, 20, 300)
    y = sigmoid(0.0 + 1.2 * np.tanh(d / d.std()))
    copies = np.concatenate([np.full(200, 400.0), np.full(200, -400.0)])
    gamed = sigmoid(1.2 * np.tanh(copies / d.std()))
    alone = length_controlled(y, d)
    helped = length_controlled(y, d, gamed=(gamed, copies))
    assert alone.win_rate.value > 0.7
    assert helped.win_rate.value == pytest.approx(0.5, abs=0.05)


def test_the_difficulty_of_instructions_is_found_and_used():
    r = np.random.default_rng(2)
    gamma, theta = r.normal(size=300), np.array([-1.0, -0.3, 0.2, 0.8])
    y = (r.random((4, 300)) < sigmoid(theta[:, None] + gamma)).astype(float)
    y[0, :50] = np.nan
    found = instruction_difficulty(y)
    assert found.mean() == pytest.approx(0, abs=1e-9)
    assert np.corrcoef(found, gamma)[0, 1] > 0.6
    assert length_controlled(y[3], np.zeros(300), difficulty=found).psi > 0.5


def test_equal_instructions_are_equally_hard():
    y = np.tile([[0.2], [0.7]], (1, 5))
    assert instruction_difficulty(y) == pytest.approx(np.zeros(5), abs=1e-6)


def test_what_a_model_is_told_of_length_moves_its_raw_rate_more_than_its_controlled_one(shared_data):
    """gpt-3.5-turbo-1106 as it is, told to be brief, told to be wordy: of one quality, as far as we know.

    Not so for alpaca-7b, which wins too rarely for a fit (docs/calibration/debiasing.md has all three models).
    """
    rates = {"raw": [], "controlled": []}
    with gzip.open(shared_data / "length_variants.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [row for row in map(json.loads, stream) if row["model"] == "gpt-3.5-turbo-1106"]
    for style in ("concise", "default", "verbose"):
        variants = [next(v for v in row["variants"] if v["style"] == style) for row in rows]
        reference = [len(row["reference"][0]["content"]) for row in rows]
        own = [len(v["completion"][0]["content"]) for v in variants]
        found = length_controlled(
            np.array([v["p_beats_reference"] for v in variants]), np.array(own, float) - np.array(reference, float)
        )
        rates["raw"].append(found.raw.value)
        rates["controlled"].append(found.win_rate.value)
    assert rates["raw"] == sorted(rates["raw"])
    relative = {name: (max(values) - min(values)) / np.mean(values) for name, values in rates.items()}
    assert relative["raw"] > 0.3
    assert relative["controlled"] < 0.15


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"preference": np.full(19, 0.5), "difference": np.zeros(19)}, "19 preferences"),
        ({"preference": np.full(30, 1.5)}, r"preference must lie in \[0, 1\], got 1.5"),
        ({"preference": np.full(30, np.nan)}, "no missing values"),
        ({"difference": np.zeros(29)}, r"must both have shape \(n,\)"),
        ({"difficulty": np.zeros(3)}, "a number for each of the 30 preferences"),
        ({"clusters": ["a"]}, "30 values but 1 group ids"),
    ],
)
def test_arguments_that_cannot_be_right_are_named(arguments, message):
    given = {"preference": np.full(30, 0.5), "difference": np.zeros(30), **arguments}
    with pytest.raises(UsageError, match=message):
        length_controlled(**given)


def test_one_model_says_nothing_of_difficulty():
    with pytest.raises(UsageError, match="two models or more"):
        instruction_difficulty(np.full((1, 5), 0.5))
