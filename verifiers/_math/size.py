"""How large a number would be, told before it is worked out.

Every exact operation whose result can be much larger than its arguments asks here first. All estimates are upper
bounds in bits, cheap to take, and never wrong on the low side by more than one bit.
"""

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math.decision import OversizeError

MAX_BITS = 65_536
"""Of a numerator or denominator: 20,000 digits. Python multiplies two of that size in about a millisecond."""

MAX_FACTORIAL = 5_900
"""n! has under ``MAX_BITS`` bits up to 5,908."""


def bits(value: int | Fraction) -> int:
    """Bits of the larger one of numerator and denominator."""
    if type(value) is int:
        return value.bit_length()
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def check_bits(value: int | Fraction) -> None:
    """Raise OversizeError if a number has more than ``MAX_BITS``."""
    if bits(value) > MAX_BITS:
        raise OversizeError(f"a number of more than {MAX_BITS:,} bits")


def check_power(base: int | Fraction, exponent: int) -> None:
    """Raise OversizeError if base ** exponent would be too large. A base of 0, 1 or -1 never is."""
    if base not in (0, 1, -1) and bits(base) * abs(exponent) > MAX_BITS:
        raise OversizeError(f"a power of more than {MAX_BITS:,} bits")


def check_binomial(n: int, k: int) -> None:
    """Raise OversizeError if n choose k (0 <= k <= n) would be too large."""
    k = min(k, n - k)
    # C(n, k) <= (e n / k)^k
    if k and (k > MAX_BITS or k * (n.bit_length() - k.bit_length() + 2.5) > MAX_BITS):
        raise OversizeError(f"a binomial coefficient of more than {MAX_BITS:,} bits")
