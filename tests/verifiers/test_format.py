"""Tags exactly once, in order, with nothing where nothing may stand; a prefilled tag is seen or said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon import verifiers
from guerdon.rewards import Sample, Score
from guerdon.rewards.errors import UsageError

GOOD = "<think>6 times 7</think><answer>42</answer>"


def judge(response: str, prompt: Any = "", **options: Any) -> Score:
    return verifiers.load("format", **options).score([Sample(prompt, response)])[0]


@pytest.mark.parametrize(
    "response",
    [
        GOOD,
        f"\n {GOOD} \n",
        "<think>a\nb</think>\n\n<answer>\n42\n</answer>\n",
        "<think>a < b</think><answer>5</answer>",
    ],
)
def test_a_response_that_keeps_the_format_is_right(response: str) -> None:
    assert judge(response).value == 1.0


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "<think> occurs 0 times, not once"),
        ("42", "<think> occurs 0 times"),
        (GOOD + GOOD, "<think> occurs 2 times"),
        ("<think>a</think><answer>42", "</answer> occurs 0 times"),
        ("<answer>42</answer><think>a</think>", "<answer> stands too early"),
        ("<think>a<answer>42</answer></think>", "<answer> stands too early"),
        ("</think><think><answer>42</answer>", "</think> stands too early"),
        ("Well. " + GOOD, "text stands before <think>"),
        ("<think>a</think> so <answer>42</answer>", "text stands before <answer>"),
        (GOOD + " Bye.", "text stands after the last tag"),
        ("<think> </think><answer>42</answer>", "nothing stands before </think>"),
        ("<think>a</think><answer>\n</answer>", "nothing stands before </answer>"),
        ("<THINK>a</THINK><answer>42</answer>", "<think> occurs 0 times"),
    ],
)
def test_a_broken_format_is_wrong_with_its_first_fault(response: str, reason: str) -> None:
    score = judge(response)
    assert score.value == 0.0
    assert reason in score.reason


@pytest.mark.parametrize(
    "prompt",
    [
        "What is 6 times 7?<think>",
        "…<|assistant|>\n<think>\n",
        [{"role": "user", "content": "6 times 7?"}, {"role": "assistant", "content": "<think>"}],
    ],
)
def test_a_tag_that_the_prompt_prefills_is_not_asked_for_again(prompt: Any) -> None:
    """huggingface/trl#6966: every completion got 0 because the template had written <think> itself."""
    rest = GOOD.removeprefix("<think>")
    assert judge(rest, prompt).value == 1.0
    assert judge(rest).value == 0.0
    assert judge(rest, prefilled=True).value == 1.0
    assert judge(rest, prompt, prefilled=False).value == 0.0
    assert "occurs 2 times" in judge(GOOD, prompt).reason


def test_a_prompt_that_only_speaks_of_tags_prefills_none() -> None:
    assert judge(GOOD, "Begin with <think> and end with </answer>.").value == 1.0


@pytest.mark.parametrize(
    ("response", "options", "value"),
    [
        ("<think>a</think>42", {"tags": ["think"], "outside": "after"}, 1.0),
        ("Hm <think>a</think>42", {"tags": ["think"], "outside": "after"}, 0.0),
        ("Hm <think>a</think>42", {"tags": ["think"], "outside": "allowed"}, 1.0),
        ("<think></think><answer>1</answer>", {"empty": True}, 1.0),
        ("<plan>a</plan><code>b</code><test>c</test>", {"tags": ["plan", "code", "test"]}, 1.0),
        (GOOD, {"forbidden": ["<tool_call>"]}, 1.0),
        (GOOD.replace("6", "<tool_call>"), {"forbidden": ["<tool_call>"]}, 0.0),
        (GOOD, {"max_characters": len(GOOD)}, 1.0),
        (GOOD, {"max_characters": len(GOOD) - 1}, 0.0),
    ],
)
def test_policies_are_options(response: str, options: dict[str, Any], value: float) -> None:
    assert judge(response, **options).value == value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tags": []}, "tags must be different names"),
        ({"tags": ["a", "a"]}, "tags must be different names"),
        ({"tags": ["<think>"]}, "without brackets"),
        ({"forbidden": [""]}, "occurs in every response"),
        ({"max_characters": 0}, "at least 1"),
    ],
)
def test_options_that_cannot_be_right_are_refused_at_load(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        verifiers.load("format", **options)


inside = st.text(alphabet="ab <>/\n", min_size=1).filter(lambda text: text.strip())


@given(inside, inside)
def test_what_stands_inside_the_tags_does_not_matter(thought: str, answer: str) -> None:
    assert judge(f"<think>{thought}</think><answer>{answer}</answer>").value == 1.0


@given(st.lists(st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", "a", " "]), max_size=8).map("".join))
def test_the_format_is_the_regular_language_it_says(response: str) -> None:
    """Against a plain pattern, on texts short enough for a backtracking engine."""
    import re

    pattern = r"\s*<think>\s*(?:(?!</?think>|</?answer>)[^\s])(?:(?!</?think>|</?answer>).)*</think>\s*"
    pattern += pattern.replace("think>\\s*", "answer>\\s*", 1).replace("</think>\\s*", "</answer>\\s*")
    assert judge(response).value == float(re.fullmatch(pattern, response, re.DOTALL) is not None)
