"""Texts are equal when they say the same, and 3.5 is never 35."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon import verifiers
from guerdon.rewards import Sample, Score
from guerdon.verifiers._text import normal


def judge(response: str, reference: Any, **options: Any) -> Score:
    return verifiers.load("exact", **options).score([Sample("", response, reference)])[0]


@pytest.mark.parametrize(
    ("response", "reference", "value"),
    [
        ("Evelyn", r"\text{Evelyn}", 1.0),
        (r"\boxed{\textbf{monday}}", "Monday", 1.0),
        ("<think>Lyon</think>\n\nParis\n", "Paris", 1.0),
        ("The answer is New  York.", "New York", 1.0),
        ("The answer is New York.", "NewYork", 0.0),
        ("hello", ["hi", "hello"], 1.0),
        ("hey", ["hi", "hello"], 0.0),
        ("42", 42, 1.0),
        ("0.5", 0.5, 1.0),
        (r"\boxed{odd}", "even", 0.0),
        (r"\boxed{yes \text{ or } no}", "yes", 0.0),
        (r"\boxed{x=3}", "x=3", 1.0),
        (r"\boxed{}", "anything", 0.0),
        ("Paris is the capital", "Paris", 0.0),
        ("<think>Paris", "Paris", 0.0),
        ("２", "2", 1.0),
        ("x²", "x2", 0.0),
        ("-5", "5", 0.0),
    ],
)
def test_the_same_text_is_right(response: str, reference: Any, value: float) -> None:
    assert judge(response, reference).value == value


@pytest.mark.parametrize(
    ("response", "reference", "options", "value"),
    [
        ("paris", "Paris", {"ignore_case": False}, 0.0),
        ("New York", "NewYork", {"ignore_spaces": True}, 1.0),
        ("“Well-known!”", "well known", {"ignore_punctuation": True}, 1.0),
        ("it's", "its", {"ignore_punctuation": True}, 1.0),
        ("(a), (b)", "a b", {"ignore_punctuation": True}, 1.0),
        ("3.5", "35", {"ignore_punctuation": True}, 0.0),
        ("-5", "5", {"ignore_punctuation": True}, 0.0),
        ("1,000", "1000", {"ignore_punctuation": True}, 0.0),
        ("10:30", "1030", {"ignore_punctuation": True}, 0.0),
        ("5 - 3", "5 3", {"ignore_punctuation": True}, 1.0),
        ("The answer is Paris", "Paris", {"extract": "whole"}, 0.0),
        ("<think>a</think>Paris", "Paris", {"extract": "whole"}, 1.0),
        ("The answer is Paris", "Paris", {"styles": ["boxed"]}, 0.0),
    ],
)
def test_policies_are_options(response: str, reference: str, options: dict[str, Any], value: float) -> None:
    assert judge(response, reference, **options).value == value


@pytest.mark.parametrize("reference", ["", " ", "\\text{}", [], [""], {"a": 1}, [["a"]]])
def test_a_reference_without_text_leaves_the_sample_unscored(reference: Any) -> None:
    score = judge("Paris", reference)
    assert (score.value, score.status) == (None, "not_applicable")


def test_the_span_is_the_text_that_was_compared() -> None:
    response = "<think>hm</think> **Paris**. "
    start, end = judge(response, "Paris").details["span"]
    assert response[start:end] == "Paris"


words = st.text(alphabet="abcXYZ éß12", min_size=1, max_size=12).filter(lambda text: normal(text) != "")


@given(words, st.sampled_from(["\\boxed{%s}", "<answer>\n%s</answer>", "Answer: %s", "%s.", "$\\text{%s}$"]))
def test_every_reference_accepts_itself_in_any_wrapper(text: str, wrapper: str) -> None:
    assert judge(wrapper % text, text).value == 1.0


@given(words, words)
def test_swapping_answer_and_reference_changes_no_verdict(a: str, b: str) -> None:
    assert judge(f"\\boxed{{{a}}}", b).value == judge(f"\\boxed{{{b}}}", a).value
