"""Numbers are compared exactly, and what is allowed beyond that has a name."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from guerdon import verifiers
from guerdon.rewards import Sample, Score
from guerdon.rewards.errors import UsageError
from guerdon.verifiers import numeric
from guerdon.verifiers.numeric import verify


def judge(response: str, reference: Any, **options: Any) -> Score:
    return verifiers.load("numeric", **options).score([Sample("", response, reference)])[0]


RIGHT = [
    (r"\boxed{\frac{6}{8}}", "3/4"), (r"\boxed{½}", "1/2"), (r"\boxed{.75}", 0.75), ("7 apples", 7),
    (r"\boxed{52,\!000}", "52000"), (r"\boxed{\$18.90}", r"\$18.9"), (r"\boxed{-2\frac14}", "-2.25"),
    (r"\boxed{50\%}", "0.5"), (r"\boxed{\frac18}", r"12.5\%"), ("12.5%", 12.5), (r"\boxed{7}", 7.0),
    (r"\boxed{0.\overline{3}}", Fraction(1, 3)), (r"\boxed{1.5}", Decimal("1.50")), (r"\boxed{x = 7}", "7"),
    (r"\boxed{3 \text{ or } 3.0}", "3"), ("The answer is 72 clips in 2 days.", "72"), (r"\boxed{\text{it is } 5}", "5"),
    ("#### 8,000", "8000"), ("16", "So 4 * 4 = 16.\n#### 16"), ("16", r"So it is \boxed{16}."),
    ("The answer is 5!", "5"), (r"\boxed{60 \text{ degrees}}", r"60^\circ"), (r"\boxed{15\text{ cm}^2}", "15"),
    ("12 hours", "12 h"), ("It has 3 million people.", "3000000"), ("The answer is 2 dozen in 3 boxes.", "24"),
    ("In 2020, 45 were left.", "45"), ("He has 5 more apples than Bob.", "5"),
]  # fmt: skip

WRONG = [
    (r"\boxed{0.33}", "1/3"), (r"\boxed{99999999999}", "100000000000"), (r"\boxed{0.0000002}", "0.0000001"),
    (r"\boxed{3.14}", "3.14159"), (r"\boxed{12 minutes}", "12 hours"), (r"\boxed{5\text{ cm}}", "5 m"),
    (r"\boxed{1.234}", "1,234"), (r"\boxed{(1,234)}", "1234"), (r"\boxed{21}", "1"), (r"\boxed{1000}", "100"),
    (r"\boxed{3 \text{ or } 4}", "3"), (r"\boxed{3 \text{ or } 4}", "4"), (r"\boxed{3}. Or possibly \boxed{4}.", "3"),
    (r"\boxed{1,2,3,4}", "4"), (r"\boxed{3}, \boxed{4}", "3"), ("The roots are 3 and 4.", "4"),
    (r"\boxed{x=3, y=4}", "4"), (r"\boxed{5!}", "5"), (r"\boxed{2\pi}", "2"), (r"\boxed{12 - 5}", "12"),
    ("Answer: 12 - 5", "12"), ("x is 3 or 4.", "4"), ("It has 3 million people.", "3"), ("So 12 minutes.", "12 hours"),
    (r"\boxed{3x+4y=5}", "5"), (r"\boxed{0.5}", r"5\%"), (r"\boxed{3 million}", "3"), (r"\boxed{x > 3}", "3"),
    (r"\boxed{}", "0"), ("", "0"),
    (r"\boxed{3 and a half}", "3"), ("The answer is 5 over 7.", "5"), ("no idea", "0"),
    (r"\boxed{__import__('os')}", "0"), (r"\boxed{same as the reference}", "42"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "reference"), RIGHT)
def test_the_same_number_is_right(response: str, reference: Any) -> None:
    assert judge(response, reference).value == 1.0


@pytest.mark.parametrize(("response", "reference"), WRONG)
def test_another_number_or_none_is_wrong(response: str, reference: Any) -> None:
    assert judge(response, reference).value == 0.0


@pytest.mark.parametrize(
    "reference", ["blue", "x+1", "1, 2", "", "(1,2)", True, float("nan"), float("inf"), [1], {"a": 1}, 1j]
)
def test_a_reference_that_is_no_number_leaves_the_sample_unscored(reference: Any) -> None:
    score = judge("7", reference)
    assert (score.value, score.status) == (None, "not_applicable")
    assert repr(reference)[:20] in score.reason or isinstance(reference, (list, dict))


@pytest.mark.parametrize(
    "reference", ["9" * 20_000, "1e999999999", 10**1_200, 10**5_000, Fraction(1, 10**5_000)], ids="abcde"
)
def test_a_reference_over_the_limit_is_refused(reference: Any) -> None:
    score = judge("7", reference)
    assert (score.value, score.status) == (None, "refused")


@pytest.mark.parametrize("answer", ["9" * 20_000, "1e999999999", "-1e-999999999", "0." + "7" * 20_000, "10^{10^{10}}"])
def test_an_answer_over_the_limit_is_wrong_at_once(answer: str) -> None:
    score = judge(f"\\boxed{{{answer}}}", "7")
    assert (score.value, score.status) == (0.0, "ok")


def test_a_printed_decimal_stands_for_the_number_it_agrees_with_to_twelve_digits() -> None:
    assert judge("0.0833333333333333", "1/12").value == 1.0
    assert judge(str(1 / 3), "1/3").value == 1.0
    assert judge("1/3", 1 / 3).value == 1.0
    assert judge("0.08333333333", "1/12").value == 0.0  # ten digits
    assert judge("999999999999", "1000000000000").value == 0.0  # no decimal point: exact
    assert judge("3.14159265358979", "22/7").value == 0.0


@pytest.mark.parametrize(
    ("response", "reference", "options", "value"),
    [
        ("3.15", "3.14", {"tolerance": 0.01}, 1.0),
        ("3.1501", "3.14", {"tolerance": 0.01}, 0.0),
        ("0.3", "0.2", {"tolerance": 0.1}, 1.0),  # exactly on the edge, where floats fall off
        ("101", "100", {"relative_tolerance": "0.01"}, 1.0),
        ("102", "100", {"relative_tolerance": "1/100"}, 0.0),
        ("0", "0.0000001", {"relative_tolerance": 0.5}, 0.0),
        ("25%", "25", {}, 1.0),
        ("25%", "0.25", {}, 1.0),
        ("25%", "2500", {}, 0.0),
        ("25", "25%", {"percent": "value"}, 0.0),
        ("0.25", "25%", {"percent": "value"}, 1.0),
        ("25", "25%", {"percent": "ignore"}, 1.0),
        ("0.25", "25%", {"percent": "ignore"}, 0.0),
        ("12 minutes", "12 hours", {"units": "ignore"}, 1.0),
        ("12 minutes", "12", {"units": "refuse"}, 0.0),
        ("$12", "12", {"units": "refuse"}, 0.0),
        ("12", "12", {"units": "refuse"}, 1.0),
        ("12 minutes", "12 hours", {"units": "refuse"}, 0.0),
        ("The answer is 12.", "12", {"styles": ["boxed", "tag"]}, 0.0),
        ("<answer>12</answer>", "12", {"styles": ["boxed", "tag"]}, 1.0),
    ],
)
def test_policies_are_options(response: str, reference: str, options: dict[str, Any], value: float) -> None:
    assert judge(response, reference, **options).value == value


@pytest.mark.parametrize("bad", [-1, "x", "", "1e-400000000", float("nan"), float("inf"), "5%", "1 cm"])
@pytest.mark.parametrize("option", ["tolerance", "relative_tolerance"])
def test_a_tolerance_that_is_no_number_is_refused_at_load(option: str, bad: Any) -> None:
    with pytest.raises(UsageError, match=f"{option} must be a finite number >= 0"):
        verifiers.load("numeric", **{option: bad})


def test_details_say_what_was_read_and_which_stage_decided() -> None:
    score = judge(r"So \boxed{50\%}.", "0.5")
    assert score.details == {"answer": r"50\%", "span": (10, 14), "style": "boxed", "flags": (), "stage": "percent"}


notations = st.one_of(
    st.integers(-(10**9), 10**9).map(str),
    st.integers(-(10**9), 10**9).map(lambda n: f"{n:,}"),
    st.fractions(-1000, 1000, max_denominator=50).map(str),
    st.decimals(-1000, 1000, places=3).map(str),
    st.sampled_from(["50%", "0.5", "1/2", "2 1/2", "2.5", "5 cm", "5 m", "$5", "5", "500%", "0.333333333333", "1/3"]),
)
wrappers = st.sampled_from(
    [
        "\\boxed{%s}",
        "The answer is %s.",
        "<answer> %s </answer>",
        "#### %s",
        "Answer: **%s**",
        "  $%s$\n",
        "\\boxed{\\text{%s}}",
    ]
)


@given(notations, wrappers)
def test_every_reference_accepts_itself_in_any_wrapper(text: str, wrapper: str) -> None:
    assert judge(wrapper % text, text).value == 1.0


@given(
    notations,
    notations,
    st.sampled_from([{}, {"percent": "value"}, {"tolerance": "0.5"}, {"relative_tolerance": "0.1"}]),
)
def test_swapping_answer_and_reference_changes_no_verdict(a: str, b: str, options: dict[str, Any]) -> None:
    assert judge(f"\\boxed{{{a}}}", b, **options).value == judge(f"\\boxed{{{b}}}", a, **options).value


@given(notations, notations, wrappers, wrappers)
def test_the_wrapper_changes_no_verdict(a: str, b: str, one: str, other: str) -> None:
    assert judge(one % a, b).value == judge(other % a, b).value


@given(st.fractions(), st.fractions())
def test_verdicts_are_equality_of_fractions(a: Fraction, b: Fraction) -> None:
    assume(max(len(str(a)), len(str(b))) < 900)
    assert judge(f"\\boxed{{{a}}}", b).value == float(a == b)


@given(st.text(), st.text())
def test_any_text_against_any_text_is_judged_or_unscored(response: str, reference: str) -> None:
    assert verify(response, reference).value in (0.0, 1.0, None)


@pytest.mark.parametrize(
    ("decimal", "exact", "same"),
    [
        ("1.33333333333", "4/3", True),  # twelve digits, rounded
        ("1.66666666666", "5/3", True),  # cut
        ("1.66666666667", "5/3", True),  # rounded
        ("1.66666666668", "5/3", False),
        ("9.99000999001", "10000/1001", True),
        ("9.99000999003", "10000/1001", False),
        ("0.0833333333333", "1/12", True),
        ("1.6666666667", "5/3", False),  # eleven digits are a rounding that the reference did not ask for
    ],
)
def test_a_decimal_of_twelve_digits_is_the_number_with_those_digits(decimal: str, exact: str, same: bool) -> None:
    assert numeric.verify(rf"\boxed{{{decimal}}}", exact).value == float(same)
    assert numeric.verify(rf"\boxed{{{exact}}}", decimal).value == float(same)
