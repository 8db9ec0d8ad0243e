"""The picked option is found by letter or text; two options are a hedge."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon import verifiers
from guerdon.rewards import Sample, Score
from guerdon.rewards.errors import UsageError

CITIES = "Which is the capital of France?\n(A) Lyon\n(B) Paris\n(C) a port\n(D) None of these"


def judge(response: str, reference: Any, prompt: Any = "", meta: Any = None, **options: Any) -> Score:
    return verifiers.load("choice", **options).score([Sample(prompt, response, reference, meta=meta or {})])[0]


@pytest.mark.parametrize(
    "response",
    [
        "B", "b", "(B)", "B.", "B)", "[B]", "**B**", "$B$", r"\boxed{B}", r"\boxed{\text{(B)}}", r"\mathbf{B}",
        r"\boxed{B: the rate doubles}", r"\boxed{(B) 24}", "Answer: B", "Answer: (b) dog", "Answer: B. dog",
        "Answer: B - dog", "<answer>B</answer>", "The answer is B. Note that A is a distractor.",
        "The correct option is B", "The answer is therefore (B).", "The correct answer is option B.", "option B",
        "(A) is wrong, hence (B).", "Clearly (B), since (A) is not possible.", "Let me see.\n\nB",
        "B is correct because A fails.", "I choose **B**.", "<think>A? No.</think>B",
        r"\boxed{A}. No, that's wrong. It is \boxed{B}", "答案：B", "B. The rate doubles since it is heavier.",
        "**Final Answer**\n\n(B) Paris",
    ],
)  # fmt: skip
def test_a_letter_in_any_dress_is_that_letter(response: str) -> None:
    score = judge(response, "B")
    assert score.value == 1.0, score.reason
    assert judge(response, "A").value == 0.0


@pytest.mark.parametrize(
    "response",
    [
        "A or B", r"\boxed{A, B}", "The answer is A or B.", "Answer: A and B", r"\boxed{A}, \boxed{B}", "Answer: A/B",
        "", "I do not know.", "A bat and a ball", "BA", r"\boxed{}", "<answer></answer> B", r"\boxed{maybe}\n\nB",
        "Bananas are best.", "<think>B",
    ],
)  # fmt: skip
def test_two_options_or_none_are_wrong(response: str) -> None:
    for reference in ("A", "B"):
        assert judge(response, reference).value == 0.0


@pytest.mark.parametrize(
    ("response", "reference", "value"),
    [
        ("Paris", "B", 1.0),
        ("The answer is **Paris**.", "B", 1.0),
        (r"\boxed{\text{Paris}}", "(B)", 1.0),
        ("B", "Paris", 1.0),
        ("B) paris", "B", 1.0),
        ("B Paris", "B", 1.0),
        ("B) Lyon", "B", 0.0),
        ("Answer: a port", "C", 1.0),
        ("Lyon", "B", 0.0),
        ("None of these", 3, 1.0),
        ("Berlin", "B", 0.0),
    ],
)
def test_the_text_of_an_option_stands_for_its_letter(response: str, reference: Any, value: float) -> None:
    texts = ["Lyon", "Paris", "a port", "None of these"]
    assert judge(response, reference, CITIES).value == value
    assert judge(response, reference, [{"role": "user", "content": CITIES}]).value == value
    assert judge(response, reference, meta={"choices": texts}).value == value
    assert judge(response, reference, choices=texts).value == value


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        ("(A) one (B) two", 2),
        ("A. one\nB. two\nC. three\n\nAnswer with a letter.", 3),
        ("A) one\nB) two", 2),
        ("Vitamin C. It is good. A. D. Hope wrote it.", 0),
        ("Q: (A) x (B) y\nQ: (A) one (B) two (C) three", 3),
        ("no options", 0),
        (" ".join(f"({letter}) x" for letter in "ABCDEFGHIJJKL"), 10),
        ("A. one\nC. three", 0),
    ],
)
def test_options_are_read_from_the_prompt(prompt: str, options: int) -> None:
    assert judge("A", "A", prompt).details["options"] == options


def test_the_last_list_in_a_prompt_is_the_question() -> None:
    prompt = "Example: (A) cat (B) dog\nAnswer: A\n\nNow: (A) dog (B) cat"
    assert judge("cat", "B", prompt).value == 1.0


@pytest.mark.parametrize("reference", ["Paris", "K", "", 10, -1, True, 1.0, ["B", "Paris"], [], {"a": 1}])
def test_a_reference_that_names_no_option_leaves_the_sample_unscored(reference: Any) -> None:
    score = judge("B", reference)
    assert (score.value, score.status) == (None, "not_applicable")


def test_a_reference_of_several_letters_needs_exactly_these() -> None:
    assert judge("Answer: C, A", ["A", "C"]).value == 1.0
    assert judge("Answer: A and C", "A, C").value == 1.0
    assert judge("Answer: A", ["A", "C"]).value == 0.0
    assert judge("Answer: A, B, C", ["A", "C"]).value == 0.0
    assert judge("Answer: A or C", ["A", "C"]).value == 0.0


def test_two_options_with_one_text_cannot_be_told_apart_by_it() -> None:
    assert judge("Answer: same", "A", choices=["same", "same"]).value == 0.0


@pytest.mark.parametrize("choices", [[], ["yes"], ["x"] * 11])
def test_choices_are_two_to_ten(choices: list[str]) -> None:
    with pytest.raises(UsageError, match="choices must hold 2 to 10 texts"):
        verifiers.load("choice", choices=choices)


@given(
    st.sampled_from("ABCDEFGHIJ"),
    st.sampled_from("ABCDEFGHIJ"),
    st.sampled_from(["\\boxed{%s}", "(%s)", "The answer is %s.", " **%s**\n", "Answer: \\text{%s}", "%s) because"]),
)
def test_a_wrapped_letter_is_right_exactly_when_it_is_the_reference(a: str, b: str, wrapper: str) -> None:
    assert judge(wrapper % a, b).value == float(a == b)
