"""Combinations: the worked example, bounds and limits; and the scorer made of scorers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.calibration.ensemble import Ensemble, SharedOriginWarning
from guerdon.calibration.ensembles import (
    COMBINATIONS,
    Whitening,
    combine,
    double_soft_min,
    entropic,
    entropic_weights,
    lcb,
    mean,
    median,
    minimum,
    trimmed,
    uwo,
    whitening,
)
from guerdon.rewards import Sample, Score, check_scorer, pointwise
from guerdon.rewards.errors import ContractError, ScaleError, UnknownNameError, UsageError

R = np.array([(1, 2, 0), (0.8, 2.5, 0), (1.2, -0.5, 0)])

scores = st.builds(
    lambda m, n, seed: np.random.default_rng(seed).normal(0, 3, size=(m, n)),
    st.integers(1, 8),
    st.integers(1, 6),
    st.integers(0, 2**32),
)


def test_the_worked_example() -> None:
    assert mean(R) == pytest.approx([1, 4 / 3, 0])
    assert minimum(R).tolist() == [0.8, -0.5, 0]
    assert uwo(R) == pytest.approx([0.9866667, 0.4722222, 0], abs=1e-7)
    assert lcb(R) == pytest.approx([0.8, -0.2739418, 0], abs=1e-7)
    assert median(R).tolist() == [1, 2, 0]
    assert trimmed(R, share=0.34) == pytest.approx([1, 2, 0])
    assert entropic(np.array([1, 1, 0, 0.0]), tau=0.5) == pytest.approx(0.2831096, abs=1e-7)


@given(scores, st.sampled_from(sorted(COMBINATIONS)))
@settings(max_examples=200)
def test_identical_members_give_the_member_and_order_does_not_matter(r: np.ndarray, how: str) -> None:
    same = np.repeat(r[:1], 4, axis=0)
    assert combine(same, how) == pytest.approx(r[0], abs=1e-9)
    assert combine(r[::-1], how) == pytest.approx(combine(r, how), abs=1e-9)


@given(scores, st.floats(0, 5), st.floats(0.01, 50))
@settings(max_examples=200)
def test_what_lies_below_what(r: np.ndarray, penalty: float, tau: float) -> None:
    low, middle = minimum(r), mean(r)
    assert (low <= middle + 1e-12).all()
    assert uwo(r, penalty=0) == pytest.approx(middle)
    assert lcb(r, k=0) == pytest.approx(middle)
    assert (uwo(r, penalty=penalty) <= middle + 1e-12).all()
    assert (lcb(r, k=penalty) <= middle + 1e-12).all()
    risk_averse = entropic(r, tau=tau)
    assert (low - 1e-9 <= risk_averse).all()
    assert (risk_averse <= middle + 1e-9).all()
    for combination in (median(r), trimmed(r)):
        assert (low <= combination + 1e-12).all()
        assert (combination <= r.max(axis=0) + 1e-12).all()


@given(scores)
@settings(max_examples=200)
def test_the_entropic_value_runs_from_the_minimum_to_the_mean(r: np.ndarray) -> None:
    assert entropic(r, tau=1e-4) == pytest.approx(minimum(r), abs=1e-3)
    assert entropic(r, tau=1e6) == pytest.approx(mean(r), abs=1e-3)
    weights = entropic_weights(r, tau=0.7)
    assert weights.sum(axis=0) == pytest.approx(np.ones(r.shape[1]))
    step = 1e-6
    for k in range(len(r)):  # the weights are the gradient of the value
        up, down = r.copy(), r.copy()
        up[k] += step
        down[k] -= step
        slope = (entropic(up, tau=0.7) - entropic(down, tau=0.7)) / (2 * step)
        assert slope == pytest.approx(weights[k], abs=1e-6)


@given(st.floats(-50, 50), st.floats(-50, 50), st.floats(0.01, 100))
@settings(max_examples=200)
def test_a_double_soft_minimum_lies_between_the_smaller_and_the_mean(a: float, b: float, tau: float) -> None:
    value = float(double_soft_min(np.array([a]), np.array([b]), tau=tau)[0])
    assert min(a, b) - 1e-9 <= value <= (a + b) / 2 + 1e-9
    by_hand = -tau * np.log((np.exp(-(a - b) / tau) + 1) / 2) + b if abs(a - b) / tau < 500 else value
    assert value == pytest.approx(by_hand, abs=1e-8)


def test_one_mad_member_moves_median_and_trimmed_mean_little() -> None:
    mad = np.vstack([R, R, np.full((1, 3), 1e6)])
    assert (median(mad) < 3).all()
    assert (trimmed(mad) < 3).all()
    assert (mean(mad) > 1e5).all()


def test_whitening_makes_members_comparable() -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=500)
    reference = np.stack([truth * 100 + 50, truth * 0.01 - 3])
    found = whitening(reference)
    assert found.apply(reference).mean(axis=1) == pytest.approx([0, 0], abs=1e-9)
    assert found.apply(reference).std(axis=1) == pytest.approx([1, 1])
    assert found.apply(reference)[0] == pytest.approx(found.apply(reference)[1], abs=1e-8)
    with pytest.raises(UsageError, match=r"member\(s\) \[1\] score every reference sample the same"):
        whitening(np.array([[1.0, 2], [3, 3]]))
    with pytest.raises(UsageError, match="3 members, but whitening was learnt for 2"):
        found.apply(R)


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: combine(R, "avg"), UnknownNameError, "no combination named 'avg'"),
        (lambda: combine(R, "uwo", lam=1), UnknownNameError, "There are: penalty"),
        (lambda: combine(R, "uwo", penalty=-1), UsageError, "penalty must be finite and >= 0"),
        (lambda: combine(R, "entropic", tau=0), UsageError, "tau must be finite and > 0"),
        (lambda: combine(R, "trimmed", share=0.5), UsageError, r"share must lie in \[0, 0.5\)"),
        (lambda: mean(np.zeros((0, 3))), UsageError, "at least one member"),
        (lambda: mean(np.array([[1, np.nan]])), UsageError, "1 of 2 scores are not finite"),
        (lambda: double_soft_min(np.ones(2), np.ones(3)), UsageError, "must have one shape"),
    ],
)
def test_what_cannot_be_combined_is_refused(call: Any, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        call()


# --- the scorer ---------------------------------------------------------------------------------------------------


def length(sample: Sample) -> float:
    return min(len(sample.response_text) / 100, 1.0)


def digits(sample: Sample) -> float:
    text = sample.response_text
    return sum(c in "0123456789" for c in text) / max(len(text), 1)


def nonempty(sample: Sample) -> Score:
    return Score(1.0, "text") if sample.response_text else Score.unscored("no text", status="not_applicable")


MEMBERS = [pointwise(f, scale="probability") for f in (length, digits, nonempty)]


@pytest.mark.parametrize("how", sorted(COMBINATIONS))
def test_an_ensemble_keeps_the_laws(how: str) -> None:
    check_scorer(Ensemble(MEMBERS, how))


def test_a_sample_that_one_member_leaves_is_left_and_says_by_whom() -> None:
    full, empty = Ensemble(MEMBERS).score([Sample("?", "12345678x "), Sample("?", "")])
    assert full.value == pytest.approx((0.1 + 0.8 + 1) / 3)
    assert full.details["values"] == (0.1, 0.8, 1.0)
    assert empty.value is None
    assert (empty.status, empty.reason) == ("not_applicable", "unscored by nonempty: no text")
    some = Ensemble(MEMBERS, "min", at_least=2).score([Sample("?", "")])[0]
    assert some.value == 0
    assert some.details["members"] == 2


def test_members_of_different_scales_are_refused_by_name() -> None:
    other = pointwise(length, scale="logit", name="other")
    with pytest.raises(ScaleError, match=r"'other': 'logit'.*calibrate them to 'probability' first"):
        Ensemble([*MEMBERS, other])
    with pytest.raises(UsageError, match="at least two members"):
        Ensemble(MEMBERS[:1])
    with pytest.raises(UsageError, match=r"at_least must lie in \[1, 3\]"):
        Ensemble(MEMBERS, at_least=4)
    with pytest.raises(UnknownNameError, match="Did you mean 'median'"):
        Ensemble(MEMBERS, "medain")
    with pytest.raises(UsageError, match="whitening was learnt for 1"):
        Ensemble(MEMBERS, whitening=Whitening((0.0,), (1.0,)))


def test_the_scale_follows_from_the_combination() -> None:
    verdicts = [pointwise(nonempty, scale="verdict", name=str(i)) for i in range(2)]
    assert Ensemble(verdicts, "min").scale == "verdict"
    assert Ensemble(verdicts, "mean").scale == "probability"
    assert Ensemble(MEMBERS, "lcb").scale == "real"
    assert Ensemble(MEMBERS, whitening=Whitening((0, 0, 0), (1, 1, 1))).scale == "real"


def test_the_version_follows_members_and_settings() -> None:
    newer = pointwise(length, scale="probability", version="2")
    versions = {
        Ensemble(MEMBERS).version,
        Ensemble(MEMBERS, "lcb").version,
        Ensemble(MEMBERS, "lcb", k=2).version,
        Ensemble([newer, *MEMBERS[1:]]).version,
        Ensemble(MEMBERS, at_least=1).version,
    }
    assert len(versions) == 5
    assert Ensemble(MEMBERS).version == Ensemble(MEMBERS).version


def test_members_of_one_origin_are_warned_of_once() -> None:
    same = {"backbone": "llama", "data": ["a.jsonl"]}
    with pytest.warns(SharedOriginWarning, match="all 3 members come from the backbone 'llama'"):
        Ensemble(MEMBERS, origins=[same] * 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Ensemble(MEMBERS)
        Ensemble(MEMBERS, origins=[same, same, None])
        Ensemble(MEMBERS, origins=[same, same, {"backbone": "qwen", "data": ["a.jsonl"]}])
    with pytest.raises(UsageError, match="3 members, but 1 origins"):
        Ensemble(MEMBERS, origins=[same])


def test_a_member_that_loses_scores_breaks_its_word() -> None:
    class Short:
        name, version, scale = "short", "1", "probability"

        def score(self, samples: Any) -> list[Score]:
            return []

    with pytest.raises(ContractError, match="member 'short' gave 0 scores for 1 samples"):
        Ensemble([Short(), MEMBERS[0]]).score([Sample("?", "x")])  # type: ignore[list-item]
