"""Sizes are bounds: never below the true one, and what is refused would really be large."""

from __future__ import annotations

import math
from fractions import Fraction as Q

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.verifiers._math.decision import OversizeError
from guerdon.verifiers._math.size import MAX_BITS, bits, check_binomial, check_bits, check_power


@given(st.fractions(max_denominator=10**6), st.integers(-2000, 2000))
def test_an_allowed_power_is_within_the_limit(base, exponent):
    try:
        check_power(base, exponent)
    except OversizeError:
        assert bits(base) * abs(exponent) > MAX_BITS
    else:
        if base or exponent > 0:
            assert bits(Q(base) ** exponent) <= MAX_BITS


@given(st.integers(0, 10**5), st.integers(0, 10**5))
def test_an_allowed_binomial_is_within_the_limit(n, k):
    if k > n:
        return
    try:
        check_binomial(n, k)
    except OversizeError:
        assert min(k, n - k) * 18 > MAX_BITS  # log2 of C(n, k) is at most k log2(e n / k)
    else:
        assert math.comb(n, k).bit_length() <= MAX_BITS


def test_units_may_have_any_exponent():
    for base in (0, 1, -1):
        check_power(base, 10**100)
    with pytest.raises(OversizeError, match="65,536 bits"):
        check_power(2, 10**100)


def test_the_limit_is_inclusive():
    check_bits(2**MAX_BITS - 1)
    with pytest.raises(OversizeError):
        check_bits(2**MAX_BITS)
    with pytest.raises(OversizeError):
        check_bits(Q(1, 2**MAX_BITS + 1))
