"""The shim of math-verify: its call forms work, and what it cannot tell is never False."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from guerdon.rewards.errors import UnscoredError, UsageError
from guerdon.verifiers.drop_ins import math_verify as ours
from guerdon.verifiers.drop_ins.math_verify import (
    ExprExtractionConfig,
    LatexExtractionConfig,
    LatexNormalizationConfig,
    StringExtractionConfig,
    math_metric,
    parse,
    verify,
)


@pytest.mark.parametrize(
    ("gold", "target"),
    [
        (r"$\frac{1}{2}$", "The answer is 0.5"),
        (r"\boxed{\frac{1}{2}}", r"Thus $\boxed{1/2}$."),
        ("${1,3} \\cup {2,4}$", "${1,2,3,4}$"),
        ("7425000", "7,425,000"),
        ("$(1, 2)$", "$1 < x < 2$"),
        ("$1 < x < 2$", "$(1, 2)$"),
        (r"$\text{Evelyn}$", r"so $\boxed{\text{Evelyn}}$ is our answer"),
        ("x^2 + 1", r"We get $1 + x^2$."),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"$\begin{bmatrix}1&2\\3&4\end{bmatrix}$"),
        ("34", "Final answer is $34$. I hope it is correct."),
        ("$9$", "Answer $ \n 9 \n $"),
    ],
)
def test_equal_answers_verify(gold: str, target: str) -> None:
    assert verify(parse(gold), parse(target)) is True


@pytest.mark.parametrize(
    ("gold", "target"),
    [
        ("1/3", "0.333333"),
        ("$(0,9)$", "$[0,9)$"),
        (r"$\frac{1}{2004!}$", r"$\frac{1}{2006!}$"),
        ("$[1, 2]$", "$(1, 2)$"),
        ("4", "I do not know."),
        ("4", ""),
        ("2", "AZYUK2A"),
    ],
)
def test_different_answers_do_not(gold: str, target: str) -> None:
    assert verify(parse(gold), parse(target)) is False


def test_an_answer_comes_with_its_text_and_none_is_an_empty_list() -> None:
    found = parse(r"Thus \boxed{\frac{1}{2}}.")
    assert [str(item) for item in found] == [r"\frac{1}{2}"] * 2
    assert not isinstance(found[0], str)
    assert parse("I was not able to finish.") == []
    assert parse("") == []
    assert parse(r"so \boxed{") == []


def test_what_cannot_be_read_is_its_text_unless_that_is_not_wanted() -> None:
    broken = r"\boxed{x [ x + 1}"
    assert parse(broken) == ["x [ x + 1"]
    assert parse(broken, fallback_mode="no_fallback") == []
    with pytest.raises(UsageError, match="cannot read the answer"):
        parse(broken, raise_on_error=True)
    with pytest.raises(UsageError, match="no answer found"):
        parse(None, raise_on_error=True)  # type: ignore[arg-type]


def test_extraction_configs_choose_what_may_be_an_answer() -> None:
    anchored = [LatexExtractionConfig(try_extract_without_anchor=False, boxed_match_priority=0)]
    assert parse(r"so $x=3$ and then some", anchored) == []
    assert [str(item) for item in parse(r"so \boxed{3}", anchored)] == ["3", "3"]
    assert str(parse(r"The answer is $9$, not \boxed{5}", [LatexExtractionConfig(boxed_match_priority=-1)])[0]) == "9"
    both = [
        LatexExtractionConfig(normalization_config=LatexNormalizationConfig(units=True)),
        ExprExtractionConfig(try_extract_without_anchor=True),
    ]
    assert verify(parse("1/2", both), parse("it is 0.5", both)) is True


@pytest.mark.parametrize(
    ("text", "expected", "config"),
    [
        ("The answer is A.", ["A", "A"], StringExtractionConfig(lowercase=False)),
        ("The answer is A.", ["a", "A"], StringExtractionConfig()),
        (r"\boxed{\text{(B)}}", ["b", "B"], StringExtractionConfig()),
        ("The answer is U.", ["u", "U"], StringExtractionConfig(strings=("U",))),
        ("The answer is B: the rate doubles", ["b", "B"], StringExtractionConfig()),
        ("No valid answer here", [], StringExtractionConfig()),
    ],
)
def test_strings_are_taken_from_a_closed_list(text: str, expected: list[str], config: StringExtractionConfig) -> None:
    assert parse(text, [config]) == expected


def test_what_nobody_can_tell_is_none_or_raises() -> None:
    unread = r"$\frac{1}{$"
    for gold in ([], parse(unread), unread):
        assert verify(gold, parse("1")) is None
        with pytest.raises(UnscoredError):
            verify(gold, parse("1"), raise_on_error=True)
    assert verify(parse("1"), []) is False


def test_texts_numbers_and_lists_of_them_are_taken_as_they_are() -> None:
    assert verify("1/2", 0.5) is True
    assert verify(["3", "4"], "4") is True
    assert verify(7, "7") is True


def test_strictness_and_rounding_are_the_policies_they_name() -> None:
    assert verify("(1, 2)", r"\{1, 2\}") is False
    assert verify("(1, 2)", r"\{1, 2\}", strict=False) is True
    assert verify("2x + 1", "2y + 1") is False
    assert verify("2x + 1", "2y + 1", strict=False) is True
    assert verify("1/3", "0.33") is False
    assert verify("1/3", "0.33", float_rounding=2) is True


def test_it_works_in_a_thread_with_the_timeouts_on() -> None:
    found: list[Any] = []

    def run() -> None:
        found.append(verify(parse("1/2", parsing_timeout=5), parse("0.5", parsing_timeout=5), timeout_seconds=5))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found == [True]


def test_the_metric_gives_the_aggregate_and_what_was_extracted() -> None:
    metric = math_metric(aggregation_function=max)
    assert metric(["1/2"], ["it is 0.5", "it is 3"]) == (1.0, (["1/2"], ["0.5", "3"]))
    with pytest.raises(UnscoredError):
        metric([""], ["3"])


def test_every_public_name_of_math_verify_is_here() -> None:
    names = "parse verify math_metric ExprExtractionConfig LatexExtractionConfig StringExtractionConfig"
    assert all(hasattr(ours, name) for name in (*names.split(), "LatexNormalizationConfig"))
