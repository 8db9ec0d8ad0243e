"""Anchors and confident learning: the worked example, the rates of simulated noise, the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.calibration.anchors import anchor_rates, confident_counts
from guerdon.rewards.errors import UsageError


def test_the_worked_example() -> None:
    found = confident_counts(np.array([0.1, 0.2, 0.7, 0.6, 0.8, 0.3]), np.array([0, 0, 0, 1, 1, 1]))
    assert found.thresholds == pytest.approx((0.6666667, 0.5666667), abs=1e-7)
    assert found.counts.tolist() == [[2, 1], [1, 2]]
    assert found.suspects.tolist() == [False, False, True, False, False, True]
    assert found.joint == pytest.approx(np.array([[1 / 3, 1 / 6], [1 / 6, 1 / 3]]))
    assert found.channel().false_positive == pytest.approx(1 / 3)


@given(st.integers(1, 25), st.integers(1, 25), st.floats(0, 0.4), st.floats(0.6, 1))
@settings(max_examples=200)
def test_separable_labels_without_noise_give_a_diagonal(n0: int, n1: int, low: float, high: float) -> None:
    labels = np.repeat([0, 1], [n0, n1])
    found = confident_counts(np.where(labels == 1, high, low), labels)
    assert found.counts.tolist() == [[n0, 0], [0, n1]]
    assert not found.suspects.any()
    assert (found.channel().false_positive, found.channel().false_negative) == (0, 0)


def test_both_find_the_rates_of_noise_that_a_good_classifier_can_see() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(20_000) < 0.6
    labels = np.where(truth, rng.random(20_000) >= 0.2, rng.random(20_000) < 0.1)
    p = np.where(truth, 0.8, 0.1)  # the calibrated probability of the noisy label
    anchors, confident = anchor_rates(p), confident_counts(p, labels).channel()
    for channel in (anchors, confident):
        assert channel.false_positive == pytest.approx(0.1, abs=0.01)
        assert channel.false_negative == pytest.approx(0.2, abs=0.01)
    assert confident_counts(p, labels).suspects.sum() == (labels != truth).sum()


def test_the_percentile_keeps_out_the_luckiest_errors() -> None:
    p = np.concatenate([[0.0, 1.0], np.full(99, 0.1), np.full(99, 0.8)])
    assert anchor_rates(p).false_negative == pytest.approx(0.2)
    assert anchor_rates(p, percentile=100).false_negative == 0


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: anchor_rates(np.full(9, 0.4)), "it has no anchors"),
        (lambda: anchor_rates(np.array([0.1, np.nan])), "outside"),
        (lambda: anchor_rates(np.array([0.1, 0.9]), percentile=3), r"must lie in \(50, 100\]"),
        (lambda: confident_counts(np.array([0.1, 0.9]), np.array([1, 1])), "every label is 1"),
        (lambda: confident_counts(np.array([0.1, 0.9]), np.array([1])), "one a probability"),
        (lambda: confident_counts(np.array([0.1, 0.9]), np.array([1, 0.5])), "labels must be 0 or 1"),
        (lambda: confident_counts(np.array([]), np.array([])), "shape"),
    ],
)
def test_what_cannot_be_read_is_refused(call: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        call()
