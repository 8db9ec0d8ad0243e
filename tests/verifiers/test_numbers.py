"""Numbers: read exactly or not at all."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.verifiers._numbers import numbers_in, read_number

VALUES = [
    ("42", "42"), ("-42", "-42"), ("+8", "8"), ("−4", "-4"), ("016", "16"), (".75", "0.75"), ("5.", "5"),
    ("1,234", "1234"), ("1,234,567", "1234567"), ("12,34,567", "1234567"), ("1 234 567", "1234567"),
    (r"10\,000", "10000"), (r"9{,}500", "9500"), (r"52,\!000", "52000"),
    ("3/4", "3/4"), (r"\frac{3}{4}", "3/4"), (r"\frac34", "3/4"), (r"\dfrac{-3}{4}", "-3/4"), (r"-\frac{3}{4}", "-3/4"),
    ("1.5/2", "3/4"), (r"\frac{1,000}{3}", "1000/3"), ("½", "1/2"), ("3½", "7/2"),
    ("2 3/5", "13/5"), (r"3\frac{1}{2}", "7/2"), (r"-2\frac14", "-9/4"),
    (r"0.\overline{3}", "1/3"), (r"0.1\overline{6}", "1/6"), (r"0.\overline{142857}", "1/7"), (r"0.\overline{9}", "1"),
    ("2.5e6", "2500000"), ("1E-3", "1/1000"), (r"1.5 \times 10^3", "1500"), ("6.02 × 10²³", "602" + "0" * 21),
    (r"3.2 \cdot 10^{-4}", "0.00032"), ("10^{5}", "100000"), ("10²", "100"),
    ("12%", "12"), (r"12.5\%", "12.5"), ("40 percent", "40"),
    ("$18.90", "18.9"), (r"\$1{,}250", "1250"), ("-$5", "-5"), ("$-5", "-5"), ("5 dollars", "5"), ("€7", "7"),
    (r"15\text{ cm}^2", "15"), ("60°", "60"), (r"60^\circ", "60"), ("72 clips", "72"), ("5 miles per hour", "5"),
    ("12th", "12"), (r"12^{\text{th}}", "12"), ("3 million", "3000000"), ("$2.5 billion", "2500000000"), ("5k", "5000"),
    ("2 dozen eggs", "24"), ("x = 5", "5"), ("m+n = 256+37 = 293", "293"), ("f(1, 2) = 5", "5"), (r"a_{37}=19", "19"),
    ("3 boxes * 4 = 12 apples", "12"), ("200 thousand", "200000"), ("5 hundred thousand", "500000"),
    ("about 5", "5"), ("≈ 3.14", "3.14"), (r"\frac{\sqrt{3}}{3} \approx 0.577", "0.577"),
    ("(-6)", "-6"), ("{{{5}}}", "5"), (r"\text{13}", "13"), ("**73**", "73"), (r"\boxed{7}", "7"),
    ("１２", "12"), ("٣", "3"), ("1" + "0" * 400, "1" + "0" * 400),
]  # fmt: skip

NONE = [
    "", "-", "+", "$", "%", "a", "inf", "nan", "0x1F", "1_000", "1,23", "0,123", "1.2.3", "1/0", "1/2/3", "3:30", "1/x",
    "3 or 4", "9 and 10", "1, 2", "(1,234)", "x=3, y=4", "x > 3", r"x \ge 3", "3x-y+13=0", r"\frac{x^2}{4}=1",
    "2x", "2 x", "5m", "3ab", r"2\pi", "2π", "2 pi", "5!", "12^2", "60*60", r"60 \times 60", "5 - 3", "2-3 days",
    r"\sqrt{4}", r"\pm 3", "2E_{16}", "3 and a half", "5 more than x", "(3-9)(5-15)", r"x [ 3", "(5", "5}", "1 3/2",
    "5 million million million", "2^{30^{5}}", r"\frac{1}{\frac{1}{2}}",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_notations_of_a_number_have_its_value(text: str, value: str) -> None:
    number = read_number(text)
    assert number is not None
    assert number.value == Fraction(value)


@pytest.mark.parametrize("text", NONE)
def test_what_is_not_one_number_is_none(text: str) -> None:
    assert read_number(text) is None


@pytest.mark.parametrize(
    "text", ["9" * 20_000, "0." + "3" * 20_000, "1e999999999", "1e-99999", "10^{99999}", "1e" + "9" * 9_000]
)
def test_a_number_over_the_limits_is_read_at_once_and_has_no_value(text: str) -> None:
    number = read_number(text)
    assert number is not None
    assert number.value is None


@pytest.mark.parametrize(("text", "value"), [("0" * 20_000 + "7", 7), ("7." + "0" * 20_000, 7), ("0e999999999", 0)])
def test_zeros_that_say_nothing_are_no_digits(text: str, value: int) -> None:
    number = read_number(text)
    assert number is not None
    assert number.value == value


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 cm", "cm"), ("5 centimeters", "cm"), ("5cm", "cm"), ("5 square meters", "m^2"), ("5 m²", "m^2"),
        ("5 sq. ft", "ft^2"), ("$5", "$"), ("5 dollars", "$"), ("60 degrees", "°"), ("5 apples", ""), ("5", ""),
        ("5 hours", "h"), ("5 Hours", "h"), ("5 L", "L"), ("5 liters", "L"),
    ],
)  # fmt: skip
def test_measures_have_one_name(text: str, unit: str) -> None:
    number = read_number(text)
    assert number is not None
    assert number.unit == unit


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        *[(text, True) for text in ("-5", "5%", "x = 5", "5th")],
        *[(text, False) for text in ("5 cm", "$5", "about 5", "5k", "5 apples")],
    ],
)
def test_only_a_number_alone_is_bare(text: str, bare: bool) -> None:
    number = read_number(text)
    assert number is not None
    assert number.bare is bare


def test_significant_digits_are_counted_from_the_first_that_is_not_zero() -> None:
    assert [number.decimals for text in ("5", "0.0833", "1,234.50") if (number := read_number(text))] == [0, 3, 6]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("pay $29.00, not -$5.", ["$29.00", "-$5"]),
        ("3-4 of 1,234.", ["3", "4", "1,234"]),
        ("x2 and H2O and a_3 and x^2", []),
        ("1/2 or 2 3/5 or 1.5e-3 or 5%", ["1/2", "2 3/5", "1.5e-3", "5%"]),
        ("<<5*10=50>>50", ["5", "10", "50", "50"]),
        ("(-6) [.5] 3.5.", ["-6", ".5", "3.5"]),
        ("2^{2^{2}}", ["2^{2"]),
        (r"\$5 and \frac{1}{2}", [r"\$5", "1", "2"]),
    ],
)
def test_numbers_are_found_in_prose(text: str, numbers: list[str]) -> None:
    assert [text[start:end] for start, end in numbers_in(text)] == numbers


whole = st.integers(-(10**30), 10**30)


@given(whole)
def test_any_integer_in_any_notation(n: int) -> None:
    for text in (
        f"{n}",
        f"{n:,}",
        f"{n:,}".replace(",", r"\,"),
        f"${n}$",
        f"{n}.00",
        f"n = {n}",
        f"{n} apples",
        f"{n:+}",
    ):
        number = read_number(text)
        assert number is not None, text
        assert number.value == n


@given(whole, st.integers(1, 10**15))
def test_any_fraction_in_any_notation(top: int, bottom: int) -> None:
    sign = "-" if top < 0 else ""
    whole_part, rest = divmod(abs(top), bottom)
    texts = [f"{top}/{bottom}", f"{sign}\\frac{{{abs(top)}}}{{{bottom}}}", f"\\dfrac{{{top}}}{{{bottom}}}"]
    texts += [f"{sign}{whole_part} {rest}/{bottom}", f"{sign}{whole_part}\\frac{{{rest}}}{{{bottom}}}"] if rest else []
    for text in texts:
        number = read_number(text)
        assert number is not None, text
        assert number.value == Fraction(top, bottom)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=8, min_value=-(10**12), max_value=10**12))
def test_any_decimal_is_exact(value: Decimal) -> None:
    for text in (str(value), f"{value:f}", f"{value:e}", f"{value:,f}"):
        number = read_number(text)
        assert number is not None, text
        assert number.value == Fraction(value)


@given(st.text(alphabet="0123456789.,/-+eE%$ \\frac{}()=x^:") | st.text())
def test_any_text_is_a_number_or_none_and_nothing_else(text: str) -> None:
    number = read_number(text)
    assert number is None or number.value is None or isinstance(number.value, Fraction)
    for start, end in numbers_in(text):
        assert any(sign.isdigit() for sign in text[start:end])
