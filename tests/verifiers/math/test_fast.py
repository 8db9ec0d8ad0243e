"""The fast path is a shorter way to the same verdict: where it decides, the trees decide alike."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from guerdon.verifiers._math.compare import compare
from guerdon.verifiers._math.errors import UnreadError
from guerdon.verifiers._math.fast import decide
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.policies import Policy

DECIDED = [
    ("72", "72", True),
    ("016", "16", True),
    ("1,234", "1234", True),
    ("1,234.50", "1234.5", True),
    ("+5", "5", True),
    ("−5", "-5", True),
    ("-0", "0", True),
    ("0.5", "1/2", True),
    (r"\frac{2}{4}", "0.50", True),
    (r"-\dfrac{3}{4}", "-3/4", True),
    ("x + 1", "x + 1", True),
    ("72", "73", False),
    ("99999999999", "100000000000", False),
    ("5", "-5", False),
    ("0.33", "1/3", False),
    ("6.68", "6.67", False),
]
LEFT_TO_THE_TREES = [
    ("20/3", "6.67"),  # the reference may be rounded
    ("6.6667", "6.67"),
    ("0.0833333333333333", "1/12"),  # what a program prints
    ("x + 1", "1 + x"),
    ("1/0", "0"),
    ("50%", "0.5"),
    ("1,23", "123"),
    ("1e3", "1000"),
    ("7" * 41, "7" * 40 + "8"),
    ("٣", "3"),
]


@pytest.mark.parametrize(("answer", "reference", "equal"), DECIDED)
def test_plain_numbers_and_equal_texts_are_decided(answer: str, reference: str, equal: bool) -> None:
    decision = decide(answer, reference)
    assert decision is not None
    assert decision.equal is equal


@pytest.mark.parametrize(("answer", "reference"), LEFT_TO_THE_TREES)
def test_what_depends_on_more_than_a_value_is_left_to_the_trees(answer: str, reference: str) -> None:
    assert decide(answer, reference) is None


def test_where_a_distance_is_allowed_no_number_is_another() -> None:
    assert decide("72", "73", exact=False) is None
    assert decide("72.0", "72", exact=False) is not None


digits = st.text("0123456789", min_size=1, max_size=6)
signs = st.sampled_from(["", "", "-", "+", "−"])
whole = digits | st.integers(1_000, 10**9).map(lambda n: f"{n:,}") | st.integers(0, 30).map(str)
decimals = st.builds(lambda a, b: f"{a}.{b}", whole, digits | st.text("0123456789", min_size=11, max_size=15))
fractions = st.builds(lambda a, b, form: form % (a, b), digits, digits, st.sampled_from(["%s/%s", r"\frac{%s}{%s}"]))
numbers = st.builds(lambda sign, number: sign + number, signs, whole | decimals | fractions)


@st.composite
def near_pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two numbers that are equal, or almost: the same value written twice, or with one digit changed."""
    value = Fraction(draw(st.integers(-3_000, 3_000)), draw(st.sampled_from([1, 1, 2, 3, 4, 5, 8, 10, 100, 1000])))
    places = draw(st.integers(0, 14))
    written = [
        f"{value.numerator}/{value.denominator}",
        f"{float(value):.{places}f}",
        str(value),
        f"{round(value):,}",
        str(round(value) + draw(st.sampled_from([0, 1]))),
    ]
    return draw(st.sampled_from(written)), draw(st.sampled_from(written))


@given(st.tuples(numbers, numbers) | near_pairs())
@example(("6.67", "20/3"))
@example(("0", "-0"))
@example(("00.50", "1/2"))
def test_it_never_differs_from_the_trees(pair: tuple[str, str]) -> None:
    answer, reference = pair
    decision = decide(answer, reference)
    if decision is None or answer == reference:
        return
    try:
        a, b = parse(answer), parse(reference)
    except UnreadError as error:
        raise AssertionError(f"{pair} was decided, but cannot be read: {error}") from error
    assert compare(a, b, Policy()).equal is decision.equal
