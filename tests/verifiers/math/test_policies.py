"""Every option of the math verifier, with a pair that it decides: equal under one setting and unequal under another."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from guerdon import verifiers
from guerdon.rewards import Sample
from guerdon.rewards.errors import UsageError
from guerdon.verifiers.math import verify

# option, answer, reference, settings that accept, settings that reject
DECIDES = [
    ("percent", "25", r"25\%", ["either", "ignore"], ["value"]),
    ("percent", "0.25", r"25\%", ["either", "value"], ["ignore"]),
    ("percent", r"25\%", "25", ["either", "ignore"], ["value"]),
    ("units", r"5\text{ cm}", r"50\text{ mm}", ["convert"], ["match", "ignore"]),
    ("units", r"5\text{ cm}", r"5\text{ m}", ["ignore"], ["convert", "match"]),
    ("rounding", r"\frac{20}{3}", "6.67", ["reference"], ["exact"]),
    ("tolerance", "3.14", r"\pi", [0.01, "0.002"], [0, "1e-3"]),
    ("order", "2, 1", "1, 2", ["free"], ["kept"]),
    ("several", "2", "2, 3", ["any"], ["all"]),
    ("brackets", "1, 2", "(1, 2)", ["ignore"], ["match"]),
    ("pairs", "1 < x < 2", "(1, 2)", ["either"], ["point"]),
    ("ends", r"x \le 3", r"(-\infty, 3)", ["ignore"], ["match"]),
    ("ends", "[1, 2)", "(1, 2]", ["ignore"], ["match"]),
    ("vectors", r"\langle 1, 2 \rangle", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", ["any"], ["match"]),
    ("ratios", "3", "3:1", ["value"], ["match"]),
    ("bases", "204", "204_5", ["digits"], ["match", "value"]),
    ("bases", "54", "204_5", ["value"], ["digits", "match"]),
    ("log", "2", r"\log 100", ["either", "10"], ["e"]),
    ("log", r"\ln 7", r"\log 7", ["either", "e"], ["10"]),
    ("parameters", r"n\pi", r"k\pi", ["rename"], ["match"]),
    ("letters", "(B) 24", "B", ["text", "only"], ["off"]),
    ("styles", "7", "7", [["boxed"]], [["tag"]]),
]


@pytest.mark.parametrize(("option", "answer", "reference", "accept", "reject"), DECIDES)
def test_an_option_decides(option: str, answer: str, reference: str, accept: list[Any], reject: list[Any]) -> None:
    for setting in accept:
        assert verify(rf"\boxed{{{answer}}}", reference, **{option: setting}).value == 1, setting
    for setting in reject:
        assert verify(rf"\boxed{{{answer}}}", reference, **{option: setting}).value == 0, setting


def test_every_option_is_shown_to_decide() -> None:
    parameters = inspect.signature(verify).parameters.values()
    options = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - {"prompt", "meta", "time_limit"}
    assert {option for option, *_ in DECIDES} == options


@pytest.mark.parametrize(
    ("answer", "reference"),
    [("0.46", "0.5"), (r"\frac{1}{3}", "0.3"), ("6.674", "6.67"), ("6.7", "6.67"), (r"\frac{6}{13}", "0.5")],
)
def test_only_a_reference_that_looks_rounded_is_taken_for_rounded(answer: str, reference: str) -> None:
    assert verify(rf"\boxed{{{answer}}}", reference).value == 0


def test_a_rounded_answer_never_equals_an_exact_reference() -> None:
    assert verify(r"\boxed{6.67}", r"\frac{20}{3}").value == 0
    assert verify(r"\boxed{6.66666666666667}", r"\frac{20}{3}").value == 1


def test_options_are_checked_when_the_verifier_is_loaded() -> None:
    for option, wrong in (
        ("percent", "maybe"),
        ("tolerance", "a little"),
        ("tolerance", -1),
        ("time_limit", 0),
        ("time_limit", float("inf")),
        ("order", True),
    ):
        with pytest.raises(UsageError, match=option):
            verifiers.load("math", **{option: wrong})


def test_an_option_may_be_given_by_its_text_where_the_options_are_known() -> None:
    prompt = "What is 6 times 4? (A) 18 (B) 24 (C) 30"
    sample = Sample(prompt, "So the answer is 24.", "B")
    assert verifiers.load("math").score([sample])[0].value == 1
    assert verifiers.load("math", letters="only").score([sample])[0].value == 0
    listed = Sample("6 times 4?", "Answer: B", "24", meta={"choices": ["18", "24", "30"]})
    assert verifiers.load("math").score([listed])[0].value == 1
    assert verify(r"\boxed{(B) 18}", "B", prompt=prompt).value == 0, "the letter of one option with another's text"
