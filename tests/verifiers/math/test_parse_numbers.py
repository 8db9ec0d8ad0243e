"""Numbers as they are written, from digits to words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from guerdon.verifiers._math.errors import TooLargeError, UnreadError
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import Based, Number, Power, Product

VALUES = [
    ("42", "42"), ("-42", "-42"), ("+8", "8"), ("--5", "5"), ("-0", "0"), ("016", "16"), ("5.", "5"), ("−4", "-4"),
    ("1,234", "1234"), ("1,234,567", "1234567"), (r"10\,000", "10000"), (r"9{,}500", "9500"), (r"52,\!000", "52000"),
    ("1 234 567", "1234567"), (r"90{,}900{,}909", "90900909"), ("0.75", "3/4"), (".75", "3/4"), ("2.50", "5/2"),
    ("3/4", "3/4"), (r"\frac{3}{4}", "3/4"), (r"\frac34", "3/4"), (r"\frac3{4}", "3/4"), (r"\frac{3}4", "3/4"),
    (r"\frac 34", "3/4"), (r"\dfrac{3}{4}", "3/4"), (r"\tfrac{3}{4}", "3/4"), (r"\cfrac{3}{4}", "3/4"), ("½", "1/2"),
    (r"{3 \over 4}", "3/4"), (r"3 \over 4", "3/4"), (r"\frac{-3}{4}", "-3/4"), (r"-\frac{3}{4}", "-3/4"),
    (r"\frac{3}{-4}", "-3/4"), (r"\frac{6}{8}", "3/4"), (r"\frac{625}4", "625/4"), (r"\frac{1,000}{3}", "1000/3"),
    (r"3\frac{1}{2}", "7/2"), (r"3\frac12", "7/2"), ("3 1/2", "7/2"), ("3½", "7/2"), (r"-2\frac14", "-9/4"),
    ("-3 1/2", "-7/2"), (r"12 \frac{3}{5}", "63/5"), ("2 3/5", "13/5"),
    (r"0.\overline{3}", "1/3"), (r"0.\bar{3}", "1/3"), (r"0.\dot{3}", "1/3"), ("0.(3)", "1/3"), ("0.333…", "1/3"),
    (r"0.\overline{142857}", "1/7"), (r"0.\dot{1}4285\dot{7}", "1/7"), (r"0.1\overline{6}", "1/6"), ("0.1(6)", "1/6"),
    ("0.1666...", "1/6"), (r"0.\overline{9}", "1"), (r"1.\overline 3", "4/3"),
    (r"1.5 \times 10^3", "1500"), (r"3.2 \cdot 10^{-4}", "0.00032"), ("3.2e-4", "0.00032"), ("3.2*10^-4", "0.00032"),
    ("2.5E6", "2500000"), ("1e-9", "1/1000000000"), ("6.02 × 10²³", "602" + "0" * 21), ("3 x 10^4", "30000"),
    ("seven", "7"), ("twenty-one", "21"), ("one hundred and five", "105"), ("two thousand", "2000"), ("zero", "0"),
    ("one half", "1/2"), ("two thirds", "2/3"), ("three and a half", "7/2"), ("half", "1/2"), ("three-quarters", "3/4"),
    ("3 million", "3000000"), ("2 dozen", "24"), ("5 hundred", "500"),
    ("12th", "12"), (r"12^{\text{th}}", "12"), ("3rd", "3"), (r"11^{\mathrm{th}}", "11"), ("21^{st}", "21"),
    ("$5$", "5"), (r"\(5\)", "5"), (r"\[5\]", "5"), ("**73**", "73"), (r"\boxed{7}", "7"), (r"\text{13}", "13"),
    ("{{{5}}}", "5"), ("(-6)", "-6"), (r"\phantom{0}5", "5"), (r"\,5\,", "5"), (r"\textcolor{red}{5}", "5"),
    ("minus five", "-5"), ("negative 5", "-5"), ("negative one half", "-1/2"), ("the answer is 5", "5"),
    ("Answer: 5", "5"), ("１２", "12"),
]  # fmt: skip
DIGITS = [("0.5", 1), ("0.50", 2), ("12.50", 4), ("3", 0), ("3.2e-4", 2), (r"3.20 \times 10^5", 3), ("3.14159…", 6)]
BASED = [
    ("101_2", "101", 2), (r"1011_{2}", "1011", 2), (r"2E_{16}", "2E", 16), (r"\text{2E}_{16}", "2E", 16),
    ("FF_{16}", "FF", 16), ("A3F_{16}", "A3F", 16), (r"1101_{\text{two}}", "1101", 2), ("(101)_2", "101", 2),
    ("1011_{(2)}", "1011", 2),
    ("101 base 2", "101", 2),
    (r"101\text{ (base 2)}", "101", 2), ("101 (base 2)", "101", 2),
    ("101 in base two", "101", 2), ("0.0011_{2}", "0.0011", 2), ("101₂", "101", 2),
    (r"204_{\text{five}}", "204", 5), (r"12_{10}", "12", 10),
]  # fmt: skip
UNREAD = [
    "", "-", "2 3", "x2", "1 3/2", "(D) 24", "1.2.3", "5 )", "(5", "5}", "{5", r"\frac{1}", r"\frac", r"\sqrt", "5 +",
    "5 = ", "12_1", "3_{99}", "9_8", r"\boxed{5", r"\text{5", "5,,6x(", "--- 5", "5 ++ ++ 6",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_every_notation_of_a_number_is_its_value(text: str, value: str) -> None:
    assert parse(text) == Number(Fraction(value))


@pytest.mark.parametrize(("text", "digits"), DIGITS)
def test_a_decimal_knows_its_significant_digits(text: str, digits: int) -> None:
    number = parse(text)
    assert isinstance(number, Number)
    assert number.digits == digits


@pytest.mark.parametrize(("text", "digits", "base"), BASED)
def test_digits_in_a_base_stay_digits(text: str, digits: str, base: int) -> None:
    assert parse(text) == Based(digits, base)


@pytest.mark.parametrize("text", UNREAD)
def test_what_is_no_number_is_unread_and_never_a_shorter_one(text: str) -> None:
    with pytest.raises(UnreadError):
        parse(text)


def test_a_power_of_ten_over_the_limit_stays_a_power() -> None:
    ten = Power(Number(Fraction(10)), Number(Fraction(999999999)))
    assert parse("1e999999999") == Product((Number(Fraction(1)), ten))
    assert parse(r"1 \times 10^{999999999}") in (
        Product((Number(Fraction(1)), ten)),
        parse("1e999999999"),
    )


@pytest.mark.parametrize("text", ["7" * 1_001, "0." + "3" * 1_001, "1e" + "9" * 100])
def test_a_number_with_too_many_digits_is_over_a_limit(text: str) -> None:
    with pytest.raises(TooLargeError, match="digits"):
        parse(text)
