"""The words cannot be changed behind anyone's back, refuse what cannot be right, and travel between processes."""

import math
import pickle
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards import Preference, Ranking, Sample, Score, text_of
from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import FrozenDict, freeze, in_scale, thaw

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(json_like)
def test_freezing_and_thawing_give_back_the_value(value):
    assert thaw(freeze(value)) == value
    hash(freeze(value))


@given(st.dictionaries(st.text(max_size=4), json_like, max_size=4))
def test_a_frozen_dict_equals_its_items_and_pickles(items):
    frozen = FrozenDict(items)
    assert thaw(frozen) == items
    assert pickle.loads(pickle.dumps(frozen)) == frozen
    assert hash(pickle.loads(pickle.dumps(frozen))) == hash(frozen)


def test_a_sample_does_not_follow_later_changes_of_what_it_was_made_of():
    messages = [{"role": "user", "content": "hi"}]
    meta = {"tags": ["a"]}
    sample = Sample(messages, "hello", meta=meta)
    messages[0]["content"] = "changed"
    meta["tags"].append("b")
    assert sample.prompt[0]["content"] == "hi"
    assert sample.meta["tags"] == ("a",)
    with pytest.raises(FrozenInstanceError):
        sample.prompt = "x"
    with pytest.raises(AttributeError):
        sample.meta.extra = 1
    with pytest.raises(TypeError):
        sample.meta["extra"] = 1


@pytest.mark.parametrize(
    "record",
    [
        Sample([{"role": "user", "content": "hi"}], "a", reference={"x": [1]}, group="g", meta={"k": 1}),
        Score(0.5, "half", {"parts": [1, 2]}),
        Score.unscored("no idea", status="timeout"),
        Preference("p", "a", "b", margin=1.0, probability=0.9, weight=2.0),
        Ranking("p", ["a", "b", "c"], [0, 1, 1]),
    ],
)
def test_records_pickle_compare_and_hash(record):
    twin = pickle.loads(pickle.dumps(record))
    assert twin == record
    assert hash(twin) == hash(record)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sample(7, "a"), "prompt must be a string or a list of messages, got int: 7"),
        (lambda: Sample([], "a"), "prompt is an empty list"),
        (lambda: Sample([{"content": "x"}], "a"), r"prompt\[0\] must be a mapping with 'role'"),
        (lambda: Sample([{"role": "user"}], "a"), r"prompt\[0\] has no 'content'"),
        (lambda: Sample([{"role": "user", "content": 7}], "a"), r"prompt\[0\]\['content'\] must be text, got int"),
        (lambda: Sample("p", "a", group=3), "group must be a string or None, got int: 3"),
        (lambda: Sample("p", "a", meta=[1]), "meta must be a mapping, got list"),
        (lambda: Score(math.nan), "a score must be finite, got nan"),
        (lambda: Score(math.inf), "a score must be finite, got inf"),
        (lambda: Score(None, "why"), "does not fit value"),
        (lambda: Score(1.0, status="timeout"), "does not fit value"),
        (lambda: Score.unscored(""), "an unscored sample needs a reason"),
        (lambda: Score.unscored("x", status="lost"), "status must be one of ok, abstained, .*; got 'lost'"),
        (
            lambda: Preference("p", "a", "b", margin=-1.0),
            "margin must be .* >= 0, got -1.0; swap the pair",
        ),
        (lambda: Preference("p", "a", "b", probability=1.1), r"probability must be in \[0, 1\], got 1.1"),
        (lambda: Preference("p", "a", "b", weight=0.0), "weight must be a finite number > 0, got 0.0"),
        (lambda: Ranking("p", ["a"], [0]), "a ranking needs at least two responses"),
        (lambda: Ranking("p", ["a", "b"], [0]), "2 responses but 1 ranks"),
        (lambda: Ranking("p", ["a", "b"], [0, -1]), "ranks start at 0"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_value(make, message):
    with pytest.raises(UsageError, match=message):
        make()


def test_integers_and_booleans_become_floats():
    assert [Score(value).value for value in (1, True, 0)] == [1.0, 1.0, 0.0]
    assert all(isinstance(Score(value).value, float) for value in (1, True, 0))


def test_the_words_of_messages_are_joined_and_images_left_out():
    parts = [{"type": "text", "text": "look: "}, {"type": "image", "url": "x"}, {"type": "text", "text": "a cat"}]
    assert text_of([{"role": "user", "content": parts}, {"role": "assistant", "content": None}]) == "look: a cat\n"


@pytest.mark.parametrize(
    ("value", "scales"),
    [
        (0.0, {"verdict", "probability", "logit", "real"}),
        (0.5, {"probability", "logit", "real"}),
        (-7.0, {"logit", "real"}),
        (math.inf, set()),
    ],
)
def test_a_value_is_in_the_scales_that_hold_it(value, scales):
    assert {scale for scale in ("verdict", "probability", "logit", "real") if in_scale(value, scale)} == scales
