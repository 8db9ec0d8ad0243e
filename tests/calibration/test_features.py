"""Features of a response, by hand; every one finite, pickled and linear on any text."""

from __future__ import annotations

import pickle
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.calibration.features import feature, meaning, measure, names
from guerdon.rewards.errors import UnknownNameError

ANSWER = """# Title

Great question! I think it's **fine**, perhaps:

1. one
2. two
- three

| a | b |
|---|---|

```python
x = 1
```
> quoted
Done. 🎉
"""

EXPECTED = {
    "length": len(ANSWER),
    "words": 30,
    "lines": 16,
    "sentences": 2,
    "headings": 1,
    "lists": 3,
    "bold": 1,
    "tables": 2,
    "code": 1,
    "markdown": 9,
    "exclamations": 1,
    "questions": 0,
    "emoji": 1,
    "flattery": 1,
    "hedging": 2,
    "refusal": 0,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_an_answer_is_counted_by_hand(name):
    assert feature(name)(ANSWER) == EXPECTED[name]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("length", "", 0),
        ("length", "naïve 🎉", 7),
        ("words", " a  b\nc ", 3),
        ("tokens", "abcdefgh", 2),
        ("tokens", "机器学习", 4),
        ("sentences", "One. Two! Three?? v1.5 is out…", 3),
        ("sentences", "一。二！三", 2),
        ("headings", "#no\n##  yes\n    # code", 1),
        ("lists", "-no\n- yes\n  12) yes\n* yes\n1.5 no", 3),
        ("bold", "**a** and __b__ and **\n**", 2),
        ("code", "```\na\n```\n```", 1),
        ("flattery", "You’re absolutely right! What a great idea. great question", 3),
        ("flattery", "a greater question, not yours", 0),
        ("hedging", "MAYBE. It might, it seems, depend.", 3),
        ("hedging", "almighty", 0),
        ("refusal", "I'm sorry, but I can’t. As an AI I cannot.", 4),
        ("repetition", "a b c a b c", 0.25),
        ("repetition", "one two", 0),
        ("exclamations", "hi! ！", 2),
    ],
)
def test_small_texts_are_counted_by_hand(name, text, value):
    assert feature(name)(text) == value


def test_a_flattered_question_counts_where_it_stands():
    """'What a great idea' and 'great idea' are one place: counted once."""
    assert feature("flattery")("What a great idea") == 1


@pytest.mark.parametrize("name", names())
@given(text=st.text(alphabet="ab *_#-|`>!?.\n\t1🎉機", max_size=60))
def test_every_feature_of_any_text_is_a_number_of_0_or_more(name, text):
    value = feature(name)(text)
    assert isinstance(value, float)
    assert 0 <= value <= 2 * len(text) + 1
    assert feature(name)(text) == value


@pytest.mark.parametrize("name", names())
def test_hostile_texts_take_linear_time(name):
    """0.3 MB each in milliseconds when linear; seconds by the hundred if a pattern backtracks."""
    start = time.process_time()
    for part in ("a", "*", "**a", " ", "\n", "- ", "i am ", "great good ", "```", "_", ".!?", "| ", "# ", "'", "😀"):
        text = part * (300_000 // len(part)) + "x"
        assert feature(name)(text) >= 0
    assert time.process_time() - start < 20


@pytest.mark.parametrize("name", names())
def test_features_pickle_and_say_what_they_count(name):
    copy = pickle.loads(pickle.dumps(feature(name)))
    assert copy(ANSWER) == feature(name)(ANSWER)
    assert meaning(name)


def test_a_lone_surrogate_is_a_character():
    assert feature("length")("\ud800") == 1
    assert measure(["length", "words"], ["a b", "\ud800"])["words"].tolist() == [2.0, 1.0]


def test_a_wrong_name_offers_the_nearest():
    with pytest.raises(UnknownNameError, match=r"no feature named 'lenght'\. Did you mean 'length'"):
        feature("lenght")
