"""Appeals: the published estimator and its bias, the corrected one, and what relabelling does to the channel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.calibration.appeals import Appeals, Judge, MovingRate, corrected, draw, published, relabelled
from guerdon.rewards.errors import UsageError

RHO0, RHO1, T, F, Q, N = 0.02, 0.20, 0.95, 0.05, 0.1, 20_000


def step(rng: np.random.Generator, right: float, rho0: float, t: float, f: float, q: float = Q) -> tuple[Appeals, int]:
    """One batch of N samples through rule and judge, and how many right samples the rule rejected."""
    truth = rng.random(N) < right
    verdicts = np.where(truth, rng.random(N) >= RHO1, rng.random(N) < rho0).astype(float)
    appealed = draw(verdicts, q, rng)
    flipped = appealed & (rng.random(N) < np.where(truth, t, f))
    counts = (verdicts == 1).sum(), (verdicts == 0).sum(), appealed.sum(), flipped.sum()
    return Appeals(*map(int, counts)), int((truth & (verdicts == 0)).sum())


def test_the_worked_example_of_methods_c23() -> None:
    assert published(152, 12, 0.25) == pytest.approx(0.24, abs=1e-6)


@pytest.mark.slow
def test_the_published_estimate_is_biased_by_the_judge_and_the_corrected_one_is_not() -> None:
    """Methods C2.3, whose prevalence must have been 0.4: paper 0.2409 +- 0.0132, corrected 0.1998 +- 0.0161.

    Ours varies less (0.0140), because it divides by how many appealed, not by the share that was to appeal.
    """
    rng = np.random.default_rng(0)
    paper, ours, covered, covered_estimated = [], [], 0, 0
    for _ in range(400):
        seen, _ = step(rng, 0.4, RHO0, T, F)
        paper.append(published(seen.accepted, seen.flipped, Q))
        found = corrected(seen, Judge(T, F), false_positive=RHO0)
        assert found is not None
        ours.append(found.false_negative)
        covered += RHO1 in found.interval
        judge = Judge.estimated(
            flipped_right=int(rng.binomial(80, T)), n_right=80, flipped_wrong=int(rng.binomial(80, F)), n_wrong=80
        )
        guessed = corrected(seen, judge, false_positive=RHO0)
        assert guessed is not None
        covered_estimated += RHO1 in guessed.interval
    assert np.mean(paper) == pytest.approx(0.2409, abs=0.003)
    assert np.std(paper) == pytest.approx(0.0132, abs=0.002)
    assert np.mean(ours) == pytest.approx(0.1998, abs=0.003)
    assert 0.012 < np.std(ours) < 0.0161
    assert covered / 400 >= 0.93
    assert covered_estimated / 400 >= 0.93


@pytest.mark.slow
def test_with_an_ideal_judge_and_no_false_positives_both_are_right() -> None:
    rng = np.random.default_rng(1)
    seen = [step(rng, 0.4, 0.0, 1.0, 0.0)[0] for _ in range(200)]
    assert np.mean([published(s.accepted, s.flipped, Q) for s in seen]) == pytest.approx(RHO1, abs=0.003)
    found = [corrected(s) for s in seen]
    assert np.mean([f.false_negative for f in found if f]) == pytest.approx(RHO1, abs=0.003)


@given(st.integers(1, 500), st.integers(1, 500), st.data())
def test_if_all_appeal_to_an_ideal_judge_the_rate_is_the_one_counted(
    accepted: int, rejected: int, data: st.DataObject
) -> None:
    wrongly = data.draw(st.integers(0, rejected))
    found = corrected(Appeals(accepted, rejected, rejected, wrongly))
    assert found is not None
    assert found.false_negative == pytest.approx(wrongly / (wrongly + accepted))
    assert found.prevalence == pytest.approx((wrongly + accepted) / (accepted + rejected))
    assert found.interval.low <= found.false_negative <= found.interval.high


@given(
    st.integers(0, 300), st.integers(0, 300), st.data(), st.floats(0.5, 1.0), st.floats(0.0, 0.4), st.floats(0.0, 0.9)
)
def test_the_estimate_is_always_a_rate_inside_its_interval(
    accepted: int, rejected: int, data: st.DataObject, t: float, f: float, rho0: float
) -> None:
    appealed = data.draw(st.integers(0, rejected))
    flipped = data.draw(st.integers(0, appealed))
    found = corrected(Appeals(accepted, rejected, appealed, flipped), Judge(t, f, 20, 20), false_positive=rho0)
    assert found is None or (0 <= found.false_negative <= 1 and 0 <= found.prevalence <= 1)
    assert found is None or found.interval.low - 1e-9 <= found.false_negative <= found.interval.high + 1e-9


def test_nothing_rejected_or_nothing_appealed_gives_no_estimate() -> None:
    assert corrected(Appeals(10, 0, 0, 0)) is None
    assert corrected(Appeals(10, 5, 0, 0)) is None
    assert corrected(Appeals(0, 5, 5, 0)) is None  # no right sample in sight


def test_no_flip_among_few_leaves_a_wide_interval() -> None:
    found = corrected(Appeals(500, 500, 5, 0))
    assert found is not None
    assert found.false_negative == 0.0
    assert found.interval.high > 0.25


def test_an_estimated_judge_widens_the_interval() -> None:
    seen = Appeals(3000, 3000, 600, 200)
    known, guessed = corrected(seen, Judge(0.9, 0.1)), corrected(seen, Judge(0.9, 0.1, 20, 20))
    assert known is not None
    assert guessed is not None
    assert guessed.false_negative == known.false_negative
    assert guessed.interval.width > 1.5 * known.interval.width


def test_relabelling_changes_the_channel_as_it_should() -> None:
    """rho1' = rho1 (1 - q t): checked by relabelling a million samples."""
    rng = np.random.default_rng(0)
    n = 1_000_000
    truth = rng.random(n) < 0.5
    verdicts = np.where(truth, rng.random(n) >= RHO1, rng.random(n) < RHO0).astype(float)
    flipped = draw(verdicts, 0.5, rng) & (rng.random(n) < np.where(truth, T, F))
    rewarded = np.where(flipped, 1.0, verdicts)
    fp, fn = relabelled(RHO0, RHO1, 0.5, Judge(T, F))
    assert fn == pytest.approx(RHO1 * (1 - 0.5 * T))
    assert rewarded[~truth].mean() == pytest.approx(fp, abs=1e-3)
    assert 1 - rewarded[truth].mean() == pytest.approx(fn, abs=2e-3)
    assert relabelled(RHO0, RHO1, 0.0) == (RHO0, RHO1)


def test_only_rejected_samples_appeal() -> None:
    verdicts = np.array([1.0, 0.0, math.nan, 0.0])
    assert draw(verdicts, 1.0, np.random.default_rng(0)).tolist() == [False, True, False, True]
    many = draw(np.zeros(100_000), 0.1, np.random.default_rng(0))
    assert many.mean() == pytest.approx(0.1, abs=0.005)


def test_the_moving_rate_starts_at_the_first_estimate_and_skips_steps_without_one() -> None:
    rate = MovingRate(0.9)
    assert rate.update(None) is None
    assert rate.update(0.5) == 0.5
    assert rate.update(None) == 0.5
    assert rate.update(0.3) == pytest.approx(0.48)
    restored = MovingRate.restore(rate.state())
    assert restored.update(0.1) == rate.update(0.1)
    assert restored.steps == rate.steps == 3


def test_steps_add_up() -> None:
    assert Appeals(1, 4, 3, 2) + Appeals(10, 40, 30, 20) == Appeals(11, 44, 33, 22)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Judge(0.4, 0.6), "more often than wrong ones"),
        (lambda: Judge(0.9, 0.1, n_right=0), "n_right"),
        (lambda: Judge.estimated(flipped_right=3, n_right=2, flipped_wrong=0, n_wrong=5), "flips among right"),
        (lambda: Appeals(1, 2, 3, 1), "flipped <= appealed <= rejected"),
        (lambda: Appeals(1, 2, 2, -1), "whole numbers"),
        (lambda: published(1, 1, 0.0), r"\(0, 1\]"),
        (lambda: draw([0.0], 1.5, np.random.default_rng(0)), r"\(0, 1\]"),
        (lambda: corrected(Appeals(1, 1, 1, 1), false_positive=1.0), "false_positive"),
        (lambda: relabelled(0.1, 0.1, -0.1), r"\[0, 1\]"),
        (lambda: MovingRate(1.0), "decay"),
        (lambda: MovingRate().update(1.5), "rate lies in"),
        (lambda: MovingRate.restore({"value": 1}), "decay, value and steps"),
    ],
)
def test_what_cannot_be_is_refused(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()
