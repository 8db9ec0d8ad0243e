"""Corrections undo a channel in expectation. Expected numbers are those of methods C1.5, or from exact enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from guerdon.calibration.correct import backward, correct, forward, prevalence, why_uninformative
from guerdon.calibration.normalisations import normalise, subtract
from guerdon.calibration.rates import Channel, Interval, NoiseRates
from guerdon.rewards.errors import UsageError

VERDICTS = [1.0, 1.0, 0.0, 1.0]
rate = st.floats(0.0, 1.0)


def rates(**channels: Channel) -> NoiseRates:
    return NoiseRates("math", "1", "kind", channels)


# --- the worked examples ---


def test_backward_of_the_worked_example() -> None:
    expected = [1.2857143, 1.2857143, -0.1428571, 1.2857143]
    assert backward(VERDICTS, 0.1, 0.2) == pytest.approx(expected, abs=1e-7)


def test_leave_one_out_coefficients_of_the_worked_example() -> None:
    coefficients = subtract(backward(VERDICTS, 0.1, 0.2), [0] * 4, "leave_one_out")
    assert coefficients == pytest.approx([0.4761905, 0.4761905, -1.4285714, 0.4761905], abs=1e-7)


@pytest.mark.parametrize(("scale", "divisor"), [("one", 1.0), ("recall", 0.8), ("strength", 0.7)])
def test_forward_of_the_worked_example_at_its_three_scales(scale, divisor) -> None:
    expected = np.array([0.2, 0.2, -0.8, 0.2]) / divisor
    assert forward(VERDICTS, 0.1, 0.2, scale=scale) == pytest.approx(expected, abs=1e-12)


def test_variance_grows_by_one_over_the_squared_strength() -> None:
    both = np.array([0.0, 1.0])
    assert backward(both, 0.1, 0.2).var() / both.var() == pytest.approx(2.0408163, abs=1e-7)


def test_wrong_rates_leave_the_line_that_methods_names() -> None:
    low, high = backward([0, 1], 0.15, 0.10)  # the truth: 0.1 and 0.2
    of_right, of_wrong = 0.8 * high + 0.2 * low, 0.1 * high + 0.9 * low
    assert of_wrong == pytest.approx(-0.0666667, abs=1e-7)
    assert of_right - of_wrong == pytest.approx(0.9333333, abs=1e-7)


def test_prevalence_is_rogan_and_gladens() -> None:
    verdicts = [1] * 24 + [0] * 76  # (0.24 - 0.1) / 0.7
    assert prevalence(verdicts, 0.1, 0.2) == pytest.approx(0.2)
    assert prevalence([0, 0, 1] + [0] * 97, 0.1, 0.2) == 0.0  # less than the false positives alone
    assert prevalence([1, 1, np.nan], 0.1, 0.2) == 1.0


# --- properties ---


@given(p0=rate, p1=rate)
def test_backward_is_unbiased_and_forward_is_it_less_one(p0, p1) -> None:
    assume(1 - p0 - p1 > 0.01)
    low, high = backward([0, 1], p0, p1, floor=0.0)
    assert (1 - p1) * high + p1 * low == pytest.approx(1.0, abs=1e-9)
    assert p0 * high + (1 - p0) * low == pytest.approx(0.0, abs=1e-9)
    assert high > low
    weights = forward([0, 1], p0, p1, floor=0.0)
    assert weights == pytest.approx([low - 1, high - 1], abs=1e-9)
    plain = forward([0, 1], p0, p1, scale="one")
    assert (1 - p1) * plain[1] + p1 * plain[0] == pytest.approx(0.0, abs=1e-12)
    assert p0 * plain[1] + (1 - p0) * plain[0] == pytest.approx(-(1 - p0 - p1), abs=1e-12)


@given(verdicts=st.lists(st.sampled_from([0.0, 1.0, np.nan]), max_size=8), p0=rate, p1=rate)
def test_missing_verdicts_stay_missing_and_the_input_stays_as_it_was(verdicts, p0, p1) -> None:
    assume(1 - p0 - p1 > 0)
    given_array = np.array(verdicts)
    before = given_array.copy()
    for values in (backward(given_array, p0, p1), forward(given_array, p0, p1)):
        assert np.isnan(values).tolist() == np.isnan(before).tolist()
        assert np.isfinite(values[~np.isnan(before)]).all()
    assert np.array_equal(given_array, before, equal_nan=True)


@given(verdicts=st.lists(st.sampled_from([0.0, 1.0]), min_size=2, max_size=8), p0=rate, p1=rate)
def test_group_z_score_of_raw_backward_and_forward_is_the_same(verdicts, p0, p1) -> None:
    assume(1 - p0 - p1 > 0.05)
    raw = normalise([verdicts], trainer="grpo", eps=0.0)
    for corrected in (backward(verdicts, p0, p1), forward(verdicts, p0, p1, scale="one")):
        assert normalise([corrected], trainer="grpo", eps=0.0) == pytest.approx(raw, abs=1e-12)


def test_perfect_verifier_is_left_as_it_is() -> None:
    assert backward(VERDICTS, 0.0, 0.0).tolist() == VERDICTS


def bandit() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A softmax policy over five arms, which of them are right, and d log pi(arm) / d logits."""
    logits = np.array([0.3, -1.0, 0.8, 0.0, 0.5])
    policy = np.exp(logits) / np.exp(logits).sum()
    return policy, np.array([1.0, 0.0, 0.0, 1.0, 0.0]), np.eye(5) - policy


def test_expected_gradients_of_a_softmax_bandit_are_the_clean_one() -> None:
    policy, right, score = bandit()
    p0, p1 = 0.1, 0.2
    pass_rate = right * (1 - p1) + (1 - right) * p0
    clean = (policy * right) @ score

    def expected(low: float, high: float) -> np.ndarray:
        return (policy * (pass_rate * high + (1 - pass_rate) * low)) @ score

    assert expected(*backward([0, 1], p0, p1)) == pytest.approx(clean, abs=1e-12)
    gradient = expected(*forward([0, 1], p0, p1, scale="one"))
    assert gradient == pytest.approx(0.7 * clean, abs=1e-12)


@pytest.mark.parametrize(("baseline", "share"), [("leave_one_out", 1.0), ("group_mean", 1 - 1 / 3)])
def test_baseline_bias_by_enumerating_every_group_of_three(baseline, share) -> None:
    policy, right, score = bandit()
    clean = (policy * right) @ score
    pass_rate = right * 0.8 + (1 - right) * 0.1
    total = np.zeros(5)
    for arms in itertools.product(range(5), repeat=3):
        for verdicts in itertools.product((0.0, 1.0), repeat=3):
            passed = pass_rate[list(arms)]
            chance = np.prod(policy[list(arms)] * np.where(np.array(verdicts) == 1.0, passed, 1 - passed))
            coefficients = subtract(backward(verdicts, 0.1, 0.2), [0, 0, 0], baseline)
            total += chance * coefficients @ score[list(arms)] / 3
    assert total == pytest.approx(share * clean, abs=1e-12)


# --- strata ---


def test_each_verdict_takes_the_rates_of_its_stratum_or_of_the_longest_prefix() -> None:
    found = rates(**{"": Channel(0.0, 0.5), "a": Channel(0.1, 0.2)})
    values = correct([1.0, 1.0, 0.0, np.nan], found, ["a/b", "z", "a", "a"])
    assert values == pytest.approx([0.9 / 0.7, 2.0, -0.1 / 0.7, np.nan], nan_ok=True)


def test_without_strata_all_are_of_the_root() -> None:
    assert correct([1.0], rates(**{"": Channel(0.0, 0.5)})).tolist() == [2.0]


def test_strata_of_one_group_survive_its_z_score_and_forward_keeps_its_identity() -> None:
    found = rates(a=Channel(0.02, 0.45), b=Channel(0.60, 0.05))
    verdicts, keys = np.array([1.0, 1.0, 0.0, 0.0]), ["a", "b", "a", "b"]
    back, weights = correct(verdicts, found, keys), correct(verdicts, found, keys, mode="forward")
    assert weights == pytest.approx(back - 1.0, abs=1e-12)
    moved = normalise([back], trainer="grpo") - normalise([verdicts], trainer="grpo")
    assert np.abs(moved).max() > 0.1


def test_channel_no_better_than_chance_is_refused_by_name_with_strength_and_interval() -> None:
    found = rates(good=Channel(0.1, 0.2), bad=Channel(0.5, 0.4, None, None, Interval(-0.1, 0.3), 20))
    finding = r"'bad': .*strength 0\.100, 95 % interval \[-0\.100, 0\.300\], from 20 labels"
    with pytest.raises(UsageError, match=finding):
        correct([1.0, 0.0], found, ["good", "bad"])
    masked = correct([1.0, 0.0], found, ["good", "bad"], uninformative="mask")
    assert masked == pytest.approx([0.9 / 0.7, np.nan], nan_ok=True)
    assert correct([1.0], found, ["good"]) == pytest.approx([0.9 / 0.7])  # only strata in use count
    assert why_uninformative("good", found) == ""


def test_floor_bounds_what_is_divided_by() -> None:
    assert backward([1, 0], 0.5, 0.45) == pytest.approx([2.5, -2.5])
    assert backward([1, 0], 0.5, 0.45, floor=0.0) == pytest.approx([10.0, -10.0])


# --- what cannot be right ---


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: backward([0.5], 0.1, 0.2), r"verdicts must be 0, 1 or NaN \(unscored\), got 0.5"),
        (lambda: backward([np.inf], 0.1, 0.2), "verdicts must be finite"),
        (lambda: backward(["yes"], 0.1, 0.2), "verdicts must be numbers"),
        (lambda: backward([1], 1.2, 0.2), r"false_positive must lie in \[0, 1\], got 1.2"),
        (lambda: backward([1], 0.1, np.nan), r"false_negative must lie in \[0, 1\], got nan"),
        (lambda: backward([1, 0], [0.1, 0.6], [0.2, 0.4]), r"false_positive 0.6 and false_negative 0.4"),
        (lambda: backward([1, 0], [0.1, 0.1, 0.1], 0.2), r"rates of shape \(3,\) do not fit verdicts of shape \(2,\)"),
        (lambda: backward([1], 0.1, 0.2, floor=2), r"floor must be a number in \[0, 1\], got 2"),
        (lambda: backward([1], 0.1, 0.2, uninformative="drop"), "uninformative must be one of raise, mask; got 'drop'"),
        (lambda: forward([1], 0.1, 0.2, scale="c"), "scale must be one of strength, recall, one; got 'c'"),
        (lambda: prevalence([np.nan], 0.1, 0.2), "no verdict is scored"),
        (lambda: correct([1.0], rates(a=Channel(0, 0)), ["b"]), "no rates for the stratum 'b'"),
        (lambda: correct([1.0, 0.0], rates(a=Channel(0, 0)), ["a"]), "2 verdicts but 1 strata"),
        (lambda: correct([[1.0]], rates(a=Channel(0, 0)), ["a"]), "one-dimensional"),
        (lambda: correct([1.0], rates(a=Channel(0, 0)), ["a"], mode="back"), "mode must be one of backward, forward"),
    ],
)
def test_mistakes_name_the_value_and_what_would_be_right(call, message) -> None:
    with pytest.raises(UsageError, match=message):
        call()


@pytest.mark.parametrize("scale", ["strength", "recall", "one"])
def test_masked_rates_give_nan_at_every_scale(scale) -> None:
    values = forward([1, 1], [0.1, 0.7], [0.2, 0.3], scale=scale, uninformative="mask")
    assert np.isnan(values).tolist() == [False, True]


# --- the rescue by strata ---


def final_accuracy(pass_rate: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Expected policy gradient (step 0.5) of a softmax over arms whose first is the right one."""
    mean = pass_rate * high + (1 - pass_rate) * low
    logits = np.zeros(len(mean))
    for _ in range(3000):
        policy = np.exp(logits - logits.max())
        policy /= policy.sum()
        logits += 0.5 * policy * (mean - policy @ mean)
    return float(policy[0])


@pytest.mark.slow
def test_strata_rescue_a_policy_that_the_observed_reward_leads_to_an_exploit() -> None:
    """Methods C1.6.6: (right, odd format), (wrong), (wrong with an exploit); strata by the exploit."""
    pass_rate, stratum = np.array([0.55, 0.02, 0.60]), np.array([0, 0, 1])

    def with_rates(p0: np.ndarray, p1: np.ndarray) -> float:
        low, high = (backward(np.full(3, v), p0[stratum], p1[stratum], uninformative="mask") for v in (0.0, 1.0))
        return final_accuracy(pass_rate, np.nan_to_num(low), np.nan_to_num(high))

    true_p0, true_p1 = np.array([0.02, 0.60]), np.array([0.45, 0.05])
    assert final_accuracy(pass_rate, np.zeros(3), np.ones(3)) < 0.05
    same = backward([0.0, 1.0], 0.3, 0.3)  # one pair of rates for both strata
    assert final_accuracy(pass_rate, np.full(3, same[0]), np.full(3, same[1])) < 0.05
    assert with_rates(true_p0, true_p1) > 0.99
    rng = np.random.default_rng(0)
    audited = [with_rates(rng.binomial(20, true_p0) / 20, rng.binomial(20, true_p1) / 20) for _ in range(40)]
    assert min(audited) > 0.99
