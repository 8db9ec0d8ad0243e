"""Drift: an alarm that may be watched for ever, and a glance that may not."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats

from guerdon.calibration.drift import DiscountedRate, DriftTest
from guerdon.calibration.rates import Interval
from guerdon.rewards.errors import UsageError


def run(test: DriftTest, outcomes: Any, trials: int = 1) -> None:
    for errors in outcomes:
        if test.update(int(errors), trials):
            return


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5])
def test_the_evidence_is_a_martingale_while_nothing_changes(rate: float) -> None:
    """All 2^8 streams, weighted by their probability: the mean of the e-value is 1, which is why watching is safe."""
    mean = 0.0
    for stream in product((0, 1), repeat=8):
        test = DriftTest(rate)
        for error in stream:
            test.update(error, 1)
        mean += math.prod(rate if error else 1 - rate for error in stream) * test.evidence
    assert mean == pytest.approx(1.0, abs=1e-9)


def test_the_evidence_is_what_a_plain_version_says() -> None:
    """Stakes 1/log2(s + 2) - 1/log2(s + 3) on a bet from each step on, the mixture integrated numerically."""
    stream, rate = [(1, 3), (0, 2), (3, 3)], 0.2

    def stake(s: int) -> float:
        return 1 / math.log2(s + 2)

    expected = stake(3)
    for start in range(3):
        k, n = (sum(column) for column in zip(*stream[start:], strict=True))
        against = integrate.quad(lambda p, k=k, n=n: stats.beta.pdf(p, 0.5, 0.5) * p**k * (1 - p) ** (n - k), 0, 1)[0]
        expected += (stake(start) - stake(start + 1)) * against / (rate**k * (1 - rate) ** (n - k))
    test = DriftTest(rate)
    for errors, outcomes in stream:
        test.update(errors, outcomes)
    assert test.evidence == pytest.approx(expected, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_ten_thousand_stationary_steps_alarm_at_most_in_five_percent_of_runs(rate: float) -> None:
    """The martingale above is the proof; 200 such runs alarmed twice (docs/calibration/noise.md), and here none may."""
    alarms = 0
    for seed in range(3):
        test = DriftTest(rate)
        run(test, np.random.default_rng(seed).binomial(3, rate, 10_000), 3)
        alarms += test.alarm is not None
    assert alarms == 0


@pytest.mark.parametrize(("after", "within"), [(0.3, 120), (0.0, 200)])
def test_a_change_is_seen_soon_and_dated(after: float, within: int) -> None:
    for seed in range(5):
        rng = np.random.default_rng(seed)
        test = DriftTest(0.1)
        run(test, np.concatenate([rng.binomial(4, 0.1, 500), rng.binomial(4, after, 400)]), 4)
        alarm = test.alarm
        assert alarm is not None
        assert 500 < alarm.step <= 500 + within
        assert abs(alarm.since - 500) <= 60
        assert alarm.evidence >= 20
        assert abs(alarm.rate - after) < 0.12
        assert alarm.outcomes == 4 * (alarm.step - alarm.since + 1)


def test_any_rate_in_the_audits_interval_is_no_change() -> None:
    outcomes = np.random.default_rng(0).binomial(10, 0.14, 600)
    point, interval = DriftTest(0.1), DriftTest(Interval(0.05, 0.15))
    run(point, outcomes, 10)
    run(interval, outcomes, 10)
    assert point.alarm is not None
    assert interval.alarm is None
    assert "is no longer 0.100" in str(point.alarm)


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_rate_at_the_end_is_refuted_by_one_outcome_beyond_it(rate: float) -> None:
    test = DriftTest(rate)
    assert test.update(int(rate) * 5, 5) is None
    assert test.update(1, 2) is not None
    assert "audit again" in str(test.alarm)


def test_the_alarm_stays_and_empty_steps_count_for_nothing() -> None:
    test = DriftTest(0.0)
    assert test.update(0, 0) is None
    assert test.step == 0
    alarm = test.update(1, 1)
    assert alarm is not None
    assert test.update(0, 100) is alarm
    assert test.update(0, 0) is alarm


def test_the_number_of_bets_is_bounded() -> None:
    test = DriftTest(0.5)
    run(test, np.random.default_rng(0).integers(0, 2, 500))
    assert test._bets.shape[1] <= 64


def test_the_discounted_rate_forgets_and_follows() -> None:
    rate = DiscountedRate(discount=0.9)
    for _ in range(200):
        rate.update(1, 10)
    assert rate.outcomes == pytest.approx(100, rel=1e-6)  # 10 / (1 - 0.9)
    assert not rate.excludes(0.1)
    for _ in range(30):
        rate.update(5, 10)
    assert rate.mean == pytest.approx(0.5, abs=0.03)
    assert rate.excludes(0.1)
    assert DiscountedRate().interval == Interval(0.0, 1.0)


def test_the_interval_without_forgetting_is_the_beta_posteriors() -> None:
    rate = DiscountedRate(discount=1.0)
    rate.update(2, 30)
    rate.update(1, 20)
    expected = stats.beta.ppf([0.025, 0.975], 3.5, 47.5)
    assert (rate.interval.low, rate.interval.high) == pytest.approx(tuple(expected))


@pytest.mark.slow
def test_looking_at_the_discounted_interval_every_step_alarms_falsely() -> None:
    """Why there is an e-process: about half of the stationary streams of 2,000 steps are excluded once."""
    alarms = 0
    for seed in range(10):
        rate = DiscountedRate()
        for step, errors in enumerate(np.random.default_rng(seed).binomial(4, 0.1, 2000)):
            rate.update(int(errors), 4)
            if step > 50 and rate.excludes(0.1):
                alarms += 1
                break
    assert alarms >= 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DriftTest(1.2), r"\[-1, 1\]"),
        (lambda: DriftTest(-0.2), "rate in"),
        (lambda: DriftTest(0.1, alpha=0), "alpha"),
        (lambda: DriftTest(0.1).update(3, 2), "between 0 and outcomes"),
        (lambda: DriftTest(0.1).update(-1, 2), "between 0 and outcomes"),
        (lambda: DriftTest(0.1).update(0.5, 2), "whole number"),
        (lambda: DiscountedRate(discount=0.0), "discount"),
        (lambda: DiscountedRate(confidence=1.0), "confidence"),
        (lambda: DiscountedRate().update(2, 1), "between 0 and outcomes"),
    ],
)
def test_what_cannot_be_is_refused(call: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        call()
