"""Independent verifiers as one: the worked example, exact enumeration, verifiers that never err."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.calibration.independent import all_of, any_of, log_odds
from guerdon.calibration.rates import Channel
from guerdon.rewards.errors import UsageError

A, B = Channel(0.1, 0.2), Channel(0.2, 0.1)
channels = st.lists(st.builds(Channel, st.floats(0.01, 0.99), st.floats(0.01, 0.99)), min_size=1, max_size=5)


def probability(votes: tuple[int, ...], given: list[Channel], right: bool) -> float:
    yes = [1 - c.false_negative if right else c.false_positive for c in given]
    return float(np.prod([p if vote else 1 - p for p, vote in zip(yes, votes, strict=True)]))


def test_the_worked_example() -> None:
    both, either = all_of([A, B]), any_of([A, B])
    assert (both.false_positive, both.false_negative) == pytest.approx((0.02, 0.28))
    assert (either.false_positive, either.false_negative) == pytest.approx((0.28, 0.02))
    found = log_odds(np.array([[1, 0]]), [A, B], prevalence=0.5)
    assert found[0] == pytest.approx(np.log(0.8 / 0.1) + np.log(0.1 / 0.8))


@given(channels, st.floats(0.05, 0.95))
@settings(max_examples=200)
def test_all_three_are_what_every_outcome_adds_up_to(given_: list[Channel], prevalence: float) -> None:
    outcomes = list(product((0, 1), repeat=len(given_)))
    accepted = {"all": [all(o) for o in outcomes], "any": [any(o) for o in outcomes]}
    for found, mask in ((all_of(given_), accepted["all"]), (any_of(given_), accepted["any"])):
        if_wrong = sum(probability(o, given_, False) for o, yes in zip(outcomes, mask, strict=True) if yes)
        if_right = sum(probability(o, given_, True) for o, yes in zip(outcomes, mask, strict=True) if not yes)
        assert (found.false_positive, found.false_negative) == pytest.approx((if_wrong, if_right), abs=1e-9)
    odds = np.exp(log_odds(np.array(outcomes, dtype=float), given_, prevalence=prevalence))
    for value, outcome in zip(odds, outcomes, strict=True):
        right = prevalence * probability(outcome, given_, True)
        wrong = (1 - prevalence) * probability(outcome, given_, False)
        assert value == pytest.approx(right / wrong, rel=1e-6)


def test_a_verifier_that_never_errs_decides() -> None:
    never_accepts_wrong = Channel(0.0, 0.3)
    votes = np.array([[1, 0, 0], [0, 1, 1], [np.nan, 1, 1]])
    found = log_odds(votes, [never_accepts_wrong, A, B])
    assert found[0] == np.inf
    assert np.isfinite(found[1:]).all()
    assert found[2] == pytest.approx(np.log(8) + np.log(0.9 / 0.2))
    with pytest.raises(UsageError, match=r"1 row\(s\) hold verdicts that these rates call impossible"):
        log_odds(np.array([[1, 0.0]]), [Channel(0.0, 0.3), Channel(0.3, 0.0)])


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: all_of([]), "at least one verifier"),
        (lambda: log_odds(np.ones((2, 1)), [A, B]), r"shape \(n, 2\)"),
        (lambda: log_odds(np.full((2, 2), 0.5), [A, B]), "votes must be 0, 1, or NaN"),
        (lambda: log_odds(np.ones((2, 2)), [A, B], prevalence=1.0), "prevalence must lie between"),
    ],
)
def test_what_cannot_be_combined_is_refused(call: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        call()
