"""Exact arithmetic: expected values by hand, or from Python's own integers."""

from __future__ import annotations

import math
from fractions import Fraction as Q

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.verifiers._math import exact
from guerdon.verifiers._math.decision import InexactError, OversizeError, UndefinedError
from guerdon.verifiers._math.exact import Gaussian
from guerdon.verifiers._math.identity import exact as value_of
from guerdon.verifiers._math.parser import parse

small = st.fractions(min_value=-9, max_value=9, max_denominator=9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\frac{6}{8}", Q(3, 4)),
        (r"2^{10}", 1024),
        (r"2^{-3}", Q(1, 8)),
        (r"4^{1/2}", 2),
        (r"8^{2/3}", 4),
        (r"(4/9)^{-3/2}", Q(27, 8)),
        (r"(-8)^{1/3}", -2),
        (r"(-8)^{2/3}", 4),
        (r"\sqrt[3]{-27}", -3),
        (r"\sqrt{2}", None),
        (r"5!", 120),
        (r"\binom{6}{2}", 15),
        (r"\binom{5}{7}", 0),
        (r"\lfloor -7/2 \rfloor", -4),
        (r"\lceil 7/2 \rceil", 4),
        (r"|-3/4|", Q(3, 4)),
        (r"\gcd(12, 18)", 6),
        (r"\max(3, 7/2)", Q(7, 2)),
        (r"17 \bmod 5", 2),
        (r"(-1) \bmod 5", 4),
        (r"1 \bmod 0", None),
        (r"\log_2 8", 3),
        (r"\log_{10} 1000", 3),
        (r"\log_8 2", None),
        (r"1/0", None),
        (r"0^0", None),
        (r"\sum_{k=1}^{10} k^2", 385),
        (r"\prod_{k=1}^{5} k", 120),
        (r"\sum_{k=1}^{1000000000000} k", 10**12 * (10**12 + 1) // 2),
        (r"2^{100000}", None),
        (r"10^{10^{10}}", None),
        (r"x", None),
    ],
)
def test_a_tree_is_worked_out_exactly_or_not_at_all(text, value):
    assert value_of(parse(text)) == value


@given(small, st.integers(-5, 5))
def test_integer_powers_are_those_of_fractions(base, exponent):
    if base == 0 and exponent <= 0:
        with pytest.raises(UndefinedError):
            exact.power(base, exponent)
    else:
        assert exact.power(base, exponent) == base**exponent


@given(st.integers(0, 10**40), st.integers(2, 9))
def test_roots_of_perfect_powers_are_found_and_others_are_not(root, degree):
    assert exact.exact_root(root**degree, degree) == root if root else True
    if root > 1:
        with pytest.raises(InexactError):
            exact.exact_root(root**degree + 1, degree)


def test_roots_of_huge_degree_do_not_run():
    with pytest.raises(InexactError):
        exact.exact_root(3, 10**6)
    assert exact.exact_root(1, 10**6) == 1


@given(small, small, small, small)
def test_gaussian_arithmetic_is_that_of_complex_numbers(a, b, c, d):
    x, y = exact.tidy(Gaussian(a, b)), exact.tidy(Gaussian(c, d))
    for ours, theirs in (
        (x + y, complex(a + c, b + d)),
        (x * y, complex(a, b) * complex(c, d)),
        (x - y, complex(a - c, b - d)),
    ):
        real, imag = exact.parts(exact.tidy(ours))
        assert complex(real, imag) == pytest.approx(theirs, abs=1e-9)
    if y != 0:
        assert exact.tidy(exact.inverse(y) * y) == 1


def test_gaussian_powers_and_roots():
    assert exact.power(Gaussian(1, 1), 4) == -4
    assert exact.power(Gaussian(0, 1), 10**30 + 1) == Gaussian(0, 1)
    assert exact.power(Gaussian(1, 1), -2) == Gaussian(0, Q(-1, 2))
    assert exact.power(-4, Q(1, 2)) == Gaussian(0, 2)
    assert exact.power(-4, Q(3, 2)) == Gaussian(0, -8)
    with pytest.raises(InexactError):  # the principal root is no Gaussian rational
        exact.power(-8, Q(1, 3), principal=True)


@given(st.integers(-20, 20), st.integers(-3, 12))
def test_binomials_continue_pascals_rule_to_negative_numbers(n, k):
    assert exact.binomial(n + 1, k + 1) == exact.binomial(n, k) + exact.binomial(n, k + 1)


def test_factorials_end_where_numbers_do():
    assert exact.double_factorial(7) == 105
    assert exact.double_factorial(8) == 384
    assert exact.factorial(5_900) == math.factorial(5_900)
    with pytest.raises(OversizeError):
        exact.factorial(10**9)
    with pytest.raises(UndefinedError):
        exact.factorial(-1)
    with pytest.raises(InexactError):
        exact.factorial(Q(1, 2))


def test_totients_by_counting():
    for n in range(1, 200):
        assert exact.totient(n) == sum(math.gcd(n, k) == 1 for k in range(1, n + 1))
    with pytest.raises(OversizeError):
        exact.totient(10**12)
