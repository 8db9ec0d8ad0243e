"""verl's call forms: keywords, all keys in every answer, and no number that nobody chose."""

from __future__ import annotations

import inspect

import pytest

from guerdon.rewards.errors import UnknownNameError, UnscoredError, UsageError
from guerdon.verifiers.drop_ins.verl import compute_score, compute_scores


def test_a_sample_is_scored_as_the_naive_manager_asks_for_it() -> None:
    given = {"data_source": "math", "solution_str": r"So \boxed{0.5}.", "ground_truth": "1/2", "extra_info": {"i": 1}}
    assert compute_score(**given) == {"score": 1.0, "acc": 1.0, "unscored": 0.0}
    routed = compute_score(**given, reward_router_address=None, reward_model_tokenizer=None)
    assert routed["score"] == 1.0
    assert compute_score("math", "So 7.", "8")["score"] == 0.0
    assert not inspect.iscoroutinefunction(compute_score)


def test_without_a_verdict_it_raises_unless_a_number_was_chosen() -> None:
    with pytest.raises(UnscoredError, match=r"cannot be read.*unscored: 0\.0"):
        compute_score("math", "So 7.", r"\frac{1}{")
    assert compute_score("math", "So 7.", r"\frac{1}{", unscored=0.25) == {"score": 0.25, "acc": 0.0, "unscored": 1.0}


def test_options_of_the_verifier_are_reward_kwargs() -> None:
    assert compute_score("math", "so 0.33", "1/3", tolerance="0.01", styles=["number"])["score"] == 1.0
    with pytest.raises(UnknownNameError, match="tolerance"):
        compute_score("math", "so 0.33", "1/3", tolerence="0.01")


def test_a_batch_has_the_same_answers_in_order() -> None:
    answers = compute_scores(["m"] * 3, ["so 7", r"\boxed{7.0}", "so 8"], ["7"] * 3, [None] * 3)
    assert [answer["score"] for answer in answers] == [1.0, 1.0, 0.0]
    assert len({tuple(answer) for answer in answers}) == 1
    with pytest.raises(UsageError, match="2 responses, 1 data sources"):
        compute_scores(["m"], ["7", "8"], ["7", "8"])
