"""Advantages as trainers compute them: checked against TRL's and verl's own arithmetic in torch, and by hand."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from guerdon.calibration.advantages import MovingScale, RewardRecord, records, to_advantages
from guerdon.calibration.correct import backward, forward
from guerdon.calibration.effect import NoEffectWarning
from guerdon.calibration.normalisations import TRAINERS, normalise, subtract
from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.types import Sample, Score

REWARDS = [1.0, 2.0, 3.0, 6.0]
batches = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=st.sampled_from([0.0, 0.1, 1.0, -3.5, np.nan])
)
trainers = st.sampled_from(sorted(TRAINERS))


# --- formulas ---


def test_z_score_of_the_worked_example() -> None:
    assert normalise([REWARDS], trainer="grpo", eps=0.0)[0] == pytest.approx(
        [-0.92582, -0.46291, 0.0, 1.38873], abs=1e-5
    )


def test_ranks_of_a_tournament_give_the_advantages_of_methods() -> None:
    found = normalise([[1.0, 0.6667, 0.3333, 0.0]], trainer="grpo", eps=1e-6)[0]
    assert found == pytest.approx([1.1618923, 0.3872974, -0.3872974, -1.1618923], abs=1e-4)


@pytest.mark.parametrize(
    ("trainer", "expected"),
    [
        ("none", [1, 2, 3, 6]),
        ("dr_grpo", [-2, -1, 0, 3]),
        ("rloo", [1 - 11 / 3, 2 - 10 / 3, 0, 4]),
    ],
)
def test_formulas_by_hand(trainer, expected) -> None:
    assert normalise([REWARDS], trainer=trainer)[0] == pytest.approx(expected)


@pytest.mark.parametrize("trainer", ["grpo", "grpo_batch", "reinforce++", "reinforce++_baseline", "rloo", "dr_grpo"])
def test_two_groups_agree_with_the_trainers_own_arithmetic(trainer) -> None:
    torch = pytest.importorskip("torch")
    r = torch.tensor([[1.0, 0.0, 0.0, 1.0], [0.3, 0.9, 0.1, 0.2]], dtype=torch.float64)
    mean, std = r.mean(1, keepdim=True), r.std(1, keepdim=True)

    def whiten(x):  # verl's masked_whiten with a full mask
        return (x - x.mean()) * torch.rsqrt(x.var() + 1e-8)

    expected = {
        "grpo": (r - mean) / (std + 1e-4),
        "grpo_batch": (r - mean) / (r.std() + 1e-4),
        "reinforce++": whiten(r),
        "reinforce++_baseline": whiten(r - mean),
        "rloo": r - (r.sum(1, keepdim=True) - r) / 3,
        "dr_grpo": r - mean,
    }[trainer]
    assert normalise(r.numpy(), trainer=trainer) == pytest.approx(expected.numpy(), abs=1e-12)


@pytest.mark.parametrize("trainer", sorted(TRAINERS))
def test_missing_rewards_count_in_no_statistic(trainer) -> None:
    groups = ["a", "a", "b", "a", "b", "b", "a"]
    rewards = np.array([1.0, np.nan, 2.0, 3.0, 5.0, 2.5, 4.0])
    scored = ~np.isnan(rewards)
    found = normalise(rewards, groups, trainer)
    alone = normalise(rewards[scored], [g for g, s in zip(groups, scored, strict=True) if s], trainer)
    assert np.isnan(found[1])
    assert found[scored] == pytest.approx(alone, abs=1e-12)


# --- properties ---


@given(batch=batches, trainer=trainers, data=st.data())
def test_permuting_responses_permutes_advantages(batch, trainer, data) -> None:
    order = data.draw(st.permutations(range(batch.size)))
    groups = np.repeat(np.arange(len(batch)), batch.shape[1])
    flat = batch.reshape(-1)
    straight = normalise(flat, groups, trainer)
    assert normalise(flat[order], groups[order], trainer) == pytest.approx(straight[order], abs=1e-9, nan_ok=True)
    assert normalise(batch, trainer=trainer).reshape(-1) == pytest.approx(straight, abs=1e-9, nan_ok=True)


@given(batch=batches, trainer=trainers, eps=st.sampled_from([None, 0.0]))
def test_finite_where_scored_missing_where_not_and_the_input_stays(batch, trainer, eps) -> None:
    before = batch.copy()
    found = normalise(batch, trainer=trainer, eps=eps)
    assert np.array_equal(np.isfinite(found), ~np.isnan(before))
    assert np.abs(np.nan_to_num(found)).max() < 1e6
    assert np.array_equal(batch, before, equal_nan=True)
    assert not np.shares_memory(found, batch)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e9])
@pytest.mark.parametrize("size", [1, 3, 7])
@pytest.mark.parametrize("trainer", ["grpo", "grpo_batch", "reinforce++_baseline", "dr_grpo"])
def test_constant_groups_say_nothing(value, size, trainer) -> None:
    for eps in (None, 0.0):
        found = normalise([[value] * size, [3 * value] * size], trainer=trainer, eps=eps)
        assert np.abs(found).max() <= 1e-15 * max(1.0, value)  # rounding of the mean


@given(batch=hnp.arrays(np.float64, (3, 5), elements=st.floats(-9, 9)))
def test_leave_one_out_is_group_mean_times_k_over_k_less_one(batch) -> None:
    groups = np.repeat(np.arange(3), 5)
    flat = batch.reshape(-1)
    assert subtract(flat, groups, "leave_one_out") == pytest.approx(
        subtract(flat, groups, "group_mean") * 5 / 4, abs=1e-12
    )


def test_response_without_siblings_keeps_its_reward_under_leave_one_out() -> None:
    assert normalise([1.5, 2.0, np.nan], ["a", "b", "b"], "rloo")[:2].tolist() == [1.5, 2.0]


def test_empty_batch_is_empty() -> None:
    for trainer in TRAINERS:
        assert normalise(np.zeros(0), [], trainer).shape == (0,)
    assert to_advantages([], baseline="group_mean", scale="group_std").shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: normalise([1.0], trainer="gropo", groups=[0]), "Did you mean 'grpo'"),
        (lambda: normalise([1.0, 2.0], [0]), "2 values but 1 group ids"),
        (lambda: normalise([1.0, 2.0]), r"rewards of shape \(2,\) need groups"),
        (lambda: normalise([[1.0]], [0]), "with groups, rewards must be one-dimensional"),
        (lambda: normalise([np.inf], [0]), "rewards must be finite"),
        (lambda: normalise([1.0], [0], eps=-1), "eps must be a finite number >= 0, got -1"),
        (lambda: subtract([1.0], [0], "mean"), "no baseline named 'mean'"),
    ],
)
def test_mistakes_name_the_value_and_what_would_be_right(call, message) -> None:
    with pytest.raises(UsageError, match=message):
        call()


# --- records ---


def coefficient(verdicts: list[float], mode: str = "backward") -> list[RewardRecord]:
    values = (backward if mode == "backward" else forward)(verdicts, 0.1, 0.2)
    return [
        RewardRecord(v, "g", level="coefficient", do_not_standardise=True, do_not_centre=mode == "forward", raw=raw)
        for v, raw in zip(values.tolist(), verdicts, strict=True)
    ]


def test_coefficients_of_the_worked_example() -> None:
    found = to_advantages(coefficient([1, 1, 0, 1]), baseline="leave_one_out", scale=1.0)
    assert found == pytest.approx([0.4761905, 0.4761905, -1.4285714, 0.4761905], abs=1e-7)
    assert to_advantages(coefficient([1, 1, 0, 1]), baseline="leave_one_out", scale=2.0) == pytest.approx(found / 2)


def test_forward_coefficients_are_taken_as_they_are() -> None:
    found = to_advantages(coefficient([1, 0], "forward"), baseline="none", scale=0.5)
    assert found == pytest.approx([0.2 / 0.7 / 0.5, -0.8 / 0.7 / 0.5])


@pytest.mark.parametrize("scale", ["group_std", "batch_std", "whiten"])
def test_standardising_coefficients_is_an_error_that_explains_why(scale) -> None:
    with pytest.raises(UsageError, match="would give back the update of the uncorrected reward"):
        to_advantages(coefficient([1, 0]), baseline="none", scale=scale)
    flagged = [RewardRecord(1.0, "a", do_not_standardise=True), RewardRecord(0.0, "a")]
    with pytest.raises(UsageError, match="do_not_standardise"):
        to_advantages(flagged, baseline="group_mean", scale=scale)


@pytest.mark.parametrize("baseline", ["group_mean", "leave_one_out"])
def test_baseline_on_the_forward_correction_is_an_error(baseline) -> None:
    with pytest.raises(UsageError, match="takes away the constant that makes the forward correction"):
        to_advantages(coefficient([1, 0], "forward"), baseline=baseline, scale=1.0)


def test_levels_are_not_mixed() -> None:
    with pytest.raises(UsageError, match="mix levels"):
        to_advantages([*coefficient([1, 0]), RewardRecord(1.0)], baseline="none", scale=1.0)


def test_unscored_stays_nan_until_the_caller_says_what_it_gets() -> None:
    batch = [RewardRecord(1.0, "a"), RewardRecord(None, "a"), RewardRecord(0.0, "a")]
    found = to_advantages(batch, baseline="group_mean", scale="none")
    assert found == pytest.approx([0.5, math.nan, -0.5], nan_ok=True)
    assert to_advantages(batch, baseline="group_mean", scale="none", missing=0.0).tolist() == [0.5, 0.0, -0.5]


def test_weight_multiplies_and_zero_masks_what_still_counts_in_its_group() -> None:
    batch = [RewardRecord(1.0, "a", weight=3.0), RewardRecord(0.0, "a", weight=0.0)]
    assert to_advantages(batch, baseline="group_mean", scale="none").tolist() == [1.5, 0.0]


def test_records_without_a_group_stand_alone() -> None:
    found = to_advantages([RewardRecord(2.0), RewardRecord(5.0)], baseline="group_mean", scale="none")
    assert found.tolist() == [0.0, 0.0]


def test_correction_that_the_scale_undoes_warns_and_one_that_survives_does_not() -> None:
    values = backward([1, 1, 0, 1], 0.1, 0.2).tolist()
    batch = [RewardRecord(v, "g", raw=raw) for v, raw in zip(values, [1, 1, 0, 1], strict=True)]
    with pytest.warns(NoEffectWarning, match="has no effect here"):
        to_advantages(batch, baseline="group_mean", scale="group_std")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        to_advantages(batch, baseline="group_mean", scale="none")
        to_advantages(batch, baseline="group_mean", scale="group_std", audit=False)


def test_records_read_what_the_wrapper_wrote() -> None:
    said = {"raw": 1.0, "stratum": "a/b", "level": "coefficient", "mode": "forward"}
    samples = [Sample("p", "r", group="g")] * 3
    scores = [Score(1.4, details={"corrected": said}), Score.unscored("no"), Score(0.5)]
    first, second, third = records(samples, scores)
    assert first == RewardRecord(1.4, "g", "coefficient", True, True, 1.0, 1.0, "a/b")
    assert (second.value, second.level) == (None, "reward")
    assert third == RewardRecord(0.5, "g", raw=0.5)
    with pytest.raises(UsageError, match="3 samples but 1 scores"):
        records(samples, scores[:1])


@pytest.mark.parametrize("scale", [0.0, -1.0, math.inf, math.nan, True, None])
def test_scale_that_divides_by_nothing_is_refused(scale) -> None:
    with pytest.raises(UsageError, match=r"scale must be one of none, group_std, .* finite number > 0"):
        to_advantages([RewardRecord(1.0)], baseline="none", scale=scale)


def test_typo_in_a_word_says_what_was_meant() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'group_std'"):
        to_advantages([RewardRecord(1.0)], baseline="none", scale="group_sd")
    with pytest.raises(UsageError, match="level must be one of reward, coefficient; got 'stratum'"):
        RewardRecord(1.0, level="stratum")
    with pytest.raises(UsageError, match="weight must be a finite number >= 0, got -1"):
        RewardRecord(1.0, weight=-1)


def test_moving_scale_follows_the_spread_slowly() -> None:
    scale = MovingScale(decay=0.9)
    assert scale.update([0.0, 2.0, np.nan]) == pytest.approx(0.9 + 0.1 * math.sqrt(2))
    before = scale.value
    assert scale.update([3.0, 3.0]) == scale.update([]) == scale.update([1.0]) == before
    for _ in range(200):
        scale.update([0.0, 2.0])
    assert scale.value == pytest.approx(math.sqrt(2))
    for wrong in ({"start": 0.0}, {"decay": 1.0}):
        with pytest.raises(UsageError):
            MovingScale(**wrong)
