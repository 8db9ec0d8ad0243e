"""The audit tells a correction that the trainer undoes from one that rescales, shifts, or changes the update."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from guerdon.calibration.correct import backward, correct, forward
from guerdon.calibration.effect import Effect, NoEffectWarning, effect
from guerdon.calibration.rates import Channel, NoiseRates
from guerdon.rewards.errors import UsageError

RNG = np.random.default_rng(0)
GROUPS = np.repeat(np.arange(40), 8)
RAW = (RNG.random(320) < 0.4).astype(float)
GLOBAL = backward(RAW, 0.1, 0.2)
RATES = NoiseRates("v", "1", "kind", {"plain": Channel(0.02, 0.45), "exploit": Channel(0.60, 0.05)})
MIXED = np.where(RNG.random(320) < 0.3, "exploit", "plain").tolist()
BY_GROUP = [("exploit", "plain")[group % 2] for group in GROUPS]


def audit(corrected: np.ndarray, trainer: str, **more: object) -> Effect:
    return effect(RAW, corrected, GROUPS, trainer, warn=False, **more)


@pytest.mark.parametrize("trainer", ["grpo", "grpo_batch", "reinforce++", "reinforce++_baseline"])
@pytest.mark.parametrize("corrected", [GLOBAL, forward(RAW, 0.1, 0.2)], ids=["backward", "forward"])
def test_one_pair_of_rates_has_no_effect_where_a_trainer_standardises(trainer, corrected) -> None:
    with pytest.warns(NoEffectWarning, match="The correction has no effect here"):
        found = effect(RAW, corrected, GROUPS, trainer)
    assert found.change == "none"
    assert found.max_change_exact < 1e-12
    assert (found.flipped, found.cosine) == (0.0, pytest.approx(1.0))
    assert "rates by stratum" in found.sentence()
    assert "baseline='leave_one_out', scale=1.0" in found.sentence()


def test_what_is_left_by_the_eps_of_the_trainer_is_named_as_such() -> None:
    found = audit(GLOBAL, "grpo")
    assert found.max_change > 1e-6
    assert "all of it from the eps beside the spread" in found.sentence()
    assert audit(GLOBAL, "grpo", eps=0.0).max_change < 1e-12


@pytest.mark.parametrize("trainer", ["dr_grpo", "rloo"])
def test_one_pair_of_rates_is_a_factor_where_a_trainer_only_centres(trainer) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = effect(RAW, GLOBAL, GROUPS, trainer)
    assert found.change == "rescaled"
    assert found.factor == pytest.approx(1 / 0.7)
    assert "multiplies every advantage by 1.429 and changes nothing else" in found.sentence()


def test_one_pair_of_rates_is_a_factor_and_a_baseline_where_nothing_is_centred() -> None:
    found = audit(GLOBAL, "none")
    assert (found.change, found.factor, found.constant) == ("shifted", pytest.approx(1 / 0.7), pytest.approx(-1 / 7))
    assert audit(forward(RAW, 0.1, 0.2), "none").constant == pytest.approx(-1 / 7 - 1)


@pytest.mark.parametrize("trainer", ["none", "dr_grpo", "grpo", "grpo_batch", "rloo", "reinforce++"])
def test_strata_inside_groups_change_the_update_of_every_trainer(trainer) -> None:
    found = audit(correct(RAW, RATES, MIXED), trainer, strata=MIXED)
    assert found.change == "changed"
    assert found.max_change > 0.1
    assert found.mixed_groups > 30
    assert found.cosine < 0.999
    assert [part.stratum for part in found.strata] == ["exploit", "plain"]
    assert sum(part.n for part in found.strata) == found.n == 320


def test_strata_that_differ_only_between_groups_do_not_survive_a_group_z_score() -> None:
    corrected = correct(RAW, RATES, BY_GROUP)
    found = audit(corrected, "grpo", strata=BY_GROUP)
    assert (found.change, found.mixed_groups) == ("none", 0)
    assert "Strata differ between groups but never inside one" in found.sentence()
    assert audit(corrected, "dr_grpo", strata=BY_GROUP).change == "changed"  # prompts weigh differently


def test_figures_by_hand() -> None:
    raw, corrected = [1.0, 0.0, 1.0, np.nan, 1.0], [0.0, 1.0, 4.0, 2.0, np.nan]
    found = effect(raw, corrected, ["a"] * 5, "none", strata=["s", "s", "t", "t", "t"])
    assert (found.n, found.lost, found.unscored, found.groups) == (3, 1, 1, 1)
    assert found.max_change == 3.0
    assert found.flipped == pytest.approx(2 / 3)  # 1 -> 0 and 0 -> 1
    assert found.cosine == pytest.approx(4 / np.sqrt(2 * 17))
    s, t = found.strata
    assert (s.n, s.max_change, s.mean_change, s.flipped) == (2, 1.0, 0.0, 1.0)
    assert (t.n, t.max_change, t.mean_change, t.flipped) == (1, 3.0, 3.0, 0.0)
    assert "1 responses lose their reward" in found.sentence()


def test_losing_rewards_is_a_change_even_if_the_others_stay() -> None:
    raw = np.array([1.0, 0.0, 1.0, 0.0])
    assert effect(raw, [1.0, 0.0, np.nan, np.nan], [0, 0, 1, 1], "grpo").change == "changed"


def test_batch_without_any_advantage_has_no_effect_and_no_line() -> None:
    found = effect([1.0, 1.0], [3.0, 3.0], [0, 0], "grpo", warn=False)
    assert (found.change, found.factor, found.cosine) == ("none", None, None)


def test_correction_that_wakes_a_constant_group_is_a_change() -> None:
    corrected = correct([1.0, 1.0], RATES, ["plain", "exploit"])
    found = effect([1.0, 1.0], corrected, [0, 0], "grpo")
    assert (found.change, found.flipped) == ("changed", 1.0)


@given(
    raw=st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=8, max_size=32),
    p0=st.floats(0, 0.4),
    p1=st.floats(0, 0.4),
    size=st.integers(1, 8),
)
def test_no_pair_of_rates_ever_survives_the_group_z_score(raw, p0, p1, size) -> None:
    assume(not np.isnan(raw).all())
    groups = np.arange(len(raw)) // size
    assert effect(raw, backward(raw, p0, p1), groups, "grpo", warn=False).change == "none"


def test_record_is_json_and_reads_well() -> None:
    found = audit(correct(RAW, RATES, MIXED), "grpo", strata=MIXED)
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["kind"] == "correction_effect"
    assert data["strata"][0]["stratum"] == "exploit"
    text = str(found)
    assert text.startswith("The correction changes the update (320 responses in 40 groups, trainer 'grpo')")
    assert text.count("\n") == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: effect([1.0], [1.0, 2.0], [0], "grpo"), "2 values but 1 group ids"),
        (lambda: effect([np.nan], [1.0], [0], "grpo"), "none of 1 responses is scored both before and after"),
        (lambda: effect([1.0], [1.0], [0], "ppo"), "no trainer's normalisation named 'ppo'"),
        (lambda: effect([1.0], [1.0], [0], "grpo", strata=[]), "1 responses but 0 strata"),
    ],
)
def test_mistakes_name_the_value(call, message) -> None:
    with pytest.raises(UsageError, match=message):
        call()
