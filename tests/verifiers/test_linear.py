"""Hostile text costs linear time: a flood of any mark is judged within seconds of CPU, not hours.

The bound is far above what a linear scan takes (0.7 µs a character at the worst) and far below what a quadratic one
would: 100,000 characters squared are minutes. It is CPU time of the thread, so a busy machine does not matter.
"""

from __future__ import annotations

import time

import pytest

from guerdon.verifiers import choice, exact, format, numeric
from guerdon.verifiers._answer import find_answer
from guerdon.verifiers._numbers import numbers_in, read_number
from guerdon.verifiers._text import normal, trim

SIZE = 100_000
SECONDS = 4

FLOODS = [
    r"\boxed{", r"\boxed{1}", r"\boxed{1}, ", r"\boxed{1} or ", r"\boxed ", r"\boxed{\boxed{1}}", "<answer>",
    "</answer>", "<answer>1</answer>", "<think>", "</think>", "answer: ", "Answer:\n", "the answer is not ",
    "answer is . ", "#### ", "#### 2. x\n", "####1\n", "$", "$$", "$x$ ", r"\(", r"\[", r"\(x\)", r"\)", r"\)\]",
    "9", "9,", "1,234 ", "1/", "1 1/1 ", "-", ". ", "*", "_", "`", "\"'", "(", "{", "}", "{}", "\\", r"\text{",
    r"\frac{", r"\frac12", "e9", "(A) ", "A. ", "B or ", "that is wrong ", "I cannot determine ", "5!", "...", "½", "²",
    "１", "\u200b", "答案", "\n", " ", "^", "10^", "x=", "%5", "a ", "~", "3 and ", "5 million ", "5 cm ",
    "million ", "%",
]  # fmt: skip


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_of_any_mark_is_read_in_linear_time(flood: str) -> None:
    text = flood * (SIZE // len(flood))
    for judge in (find_answer, normal, trim, read_number, numbers_in):
        start = time.thread_time()
        judge(text)
        assert time.thread_time() - start < SECONDS, judge.__name__


@pytest.mark.parametrize("flood", FLOODS[::3])
def test_a_flood_as_the_answer_is_judged_in_linear_time(flood: str) -> None:
    text = flood * (SIZE // 2 // len(flood))
    start = time.thread_time()
    for response in (f"<answer>{text}</answer>", f"The answer is {text}", f"\\boxed{{5 {text}}}"):
        assert numeric.verify(response, "43").value == 0.0
        assert exact.verify(response, "Paris", ignore_punctuation=True).value == 0.0
        assert choice.verify(response, "J", prompt=text).value == 0.0
        assert format.verify(response, prompt=text).value == 0.0
    assert time.thread_time() - start < SECONDS


def test_a_megabyte_of_reasoning_is_no_obstacle() -> None:
    steps = "\n".join(f"Step {n}: we add {n} and {n + 1}, so the answer is not {n} but more." for n in range(20_000))
    assert len(steps) > 1_000_000
    assert numeric.verify(f"<think>{steps}</think>\n\nThe answer is 7.", "7").value == 1.0
    assert numeric.verify(f"{steps}\nThe answer is \\boxed{{7}}.", "7").value == 1.0
    assert numeric.verify(f"{steps}\nSo 7 are left.", "7").value == 1.0
