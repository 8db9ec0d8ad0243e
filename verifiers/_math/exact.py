"""Arithmetic of exact values: integers, fractions and Gaussian rationals, with every size known before the work.

An exact value is an ``int``, a ``Fraction`` or a ``Gaussian``; ``tidy`` turns a fraction that is whole, or a Gaussian
without an imaginary part, into the simpler kind, so that equal values are of one kind.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from guerdon.verifiers._math.decision import InexactError, OversizeError, UndefinedError
from guerdon.verifiers._math.size import MAX_BITS, MAX_FACTORIAL, bits, check_binomial, check_bits, check_power

Rational: TypeAlias = "int | Fraction"
Exact: TypeAlias = "int | Fraction | Gaussian"


@dataclass(frozen=True, slots=True)
class Gaussian:
    """A complex number with rational parts. Mixes with int and Fraction on both sides of + - * /."""

    real: Rational
    imag: Rational

    def __add__(self, other: Exact) -> Exact:
        x, y = parts(other)
        return tidy(Gaussian(self.real + x, self.imag + y))

    __radd__ = __add__

    def __neg__(self) -> Gaussian:
        return Gaussian(-self.real, -self.imag)

    def __sub__(self, other: Exact) -> Exact:
        return self + -other

    def __rsub__(self, other: Exact) -> Exact:
        return -self + other

    def __mul__(self, other: Exact) -> Exact:
        x, y = parts(other)
        return tidy(Gaussian(self.real * x - self.imag * y, self.real * y + self.imag * x))

    __rmul__ = __mul__


def parts(value: Exact) -> tuple[Rational, Rational]:
    """Real and imaginary part."""
    return (value.real, value.imag) if isinstance(value, Gaussian) else (value, 0)


def tidy(value: Exact) -> Exact:
    """The same value in its simplest kind."""
    if type(value) is int:
        return value
    if isinstance(value, Gaussian):
        real, imag = _whole(value.real), _whole(value.imag)
        return real if imag == 0 else Gaussian(real, imag)
    return _whole(value)


def _whole(value: Rational) -> Rational:
    return value.numerator if value.denominator == 1 else value


def check(value: Exact) -> Exact:
    """The value, tidied; raises OversizeError if it has become too large."""
    value = tidy(value)
    for part in parts(value):
        check_bits(part)
    return value


def inverse(value: Exact) -> Exact:
    """1 / value. Raises UndefinedError for 0."""
    if value == 0:
        raise UndefinedError("division by zero")
    if isinstance(value, Gaussian):
        size = value.real**2 + value.imag**2
        return tidy(Gaussian(Fraction(value.real) / size, Fraction(-value.imag) / size))
    return _whole(1 / Fraction(value))


def power(base: Exact, exponent: Rational, *, principal: bool = False) -> Exact:
    """base ** exponent if that is exact; raises InexactError if not, UndefinedError for 0 to the 0 or below.

    A negative base has the real root where the exponent's denominator is odd, as at school: (-8)^(1/3) is -2. With
    ``principal`` (numbers of the complex plane are about) it is left to balls, which take the principal one.
    """
    if type(exponent) is not int:
        exponent = _whole(exponent)
    if base == 0:
        if exponent > 0:
            return 0
        raise UndefinedError("zero to the power of zero or of a negative number")
    if type(exponent) is int:
        return _integer_power(base, exponent)
    if base == 1:
        return 1
    if isinstance(base, Gaussian) or abs(exponent.numerator) > MAX_BITS or exponent.denominator > MAX_BITS:
        raise InexactError
    if base > 0:
        return _integer_power(exact_root(base, exponent.denominator), exponent.numerator)
    if exponent.denominator % 2 and not principal:
        return _integer_power(-exact_root(-base, exponent.denominator), exponent.numerator)
    if exponent.denominator == 2:
        return _integer_power(Gaussian(0, exact_root(-base, 2)), exponent.numerator)
    raise InexactError


def _integer_power(base: Exact, exponent: int) -> Exact:
    if exponent < 0:
        return inverse(_integer_power(base, -exponent))
    if isinstance(base, Gaussian):
        if exponent * max(bits(base.real), bits(base.imag)) > MAX_BITS and not _is_unit(base):
            raise OversizeError(f"a power of more than {MAX_BITS:,} bits")
        if _is_unit(base):
            exponent %= 4
        result: Exact = 1
        square: Exact = base
        while exponent:
            if exponent & 1:
                result = square * result
            exponent >>= 1
            if exponent:
                square = square * square
        return result
    if base == -1:
        return -1 if exponent & 1 else 1
    if base in (0, 1):
        return base if exponent else 1
    check_power(base, exponent)
    return base**exponent


def _is_unit(value: Gaussian) -> bool:
    return value.real == 0 and value.imag in (1, -1)


def exact_root(value: Rational, degree: int) -> Rational:
    """The positive root of a positive number, if it is rational; raises InexactError if not."""
    if type(value) is int:
        return _integer_root(value, degree)
    return Fraction(_integer_root(value.numerator, degree), _integer_root(value.denominator, degree))


def _integer_root(n: int, degree: int) -> int:
    if degree == 2:
        root = math.isqrt(n)
    elif n == 1:
        return 1
    elif degree >= n.bit_length():
        raise InexactError
    else:
        root = 1 << -(-n.bit_length() // degree)  # Newton from above
        while True:
            lower = ((degree - 1) * root + n // root ** (degree - 1)) // degree
            if lower >= root:
                break
            root = lower
    if root**degree != n:
        raise InexactError
    return root


def factorial(n: Rational) -> int:
    """n! Raises UndefinedError below 0, InexactError between integers, OversizeError for a large n."""
    n = _natural(n)
    if n > MAX_FACTORIAL:
        raise OversizeError(f"the factorial of a number over {MAX_FACTORIAL:,}")
    return math.factorial(n)


def double_factorial(n: Rational) -> int:
    """n!! = n (n-2) (n-4) …"""
    if n == -1:
        return 1
    n = _natural(n)
    if n > MAX_FACTORIAL:
        raise OversizeError(f"the double factorial of a number over {MAX_FACTORIAL:,}")
    return math.prod(range(n, 0, -2))


def _natural(n: Rational) -> int:
    if n.denominator != 1:
        raise InexactError
    if n < 0:
        raise UndefinedError("the factorial of a negative integer")
    return int(n)


def binomial(n: Rational, k: Rational) -> Rational:
    """n choose k for an integer k: n (n-1) … (n-k+1) / k!, and 0 for a negative k."""
    if k.denominator != 1:
        raise InexactError
    k = int(k)
    if k < 0:
        return 0
    if n.denominator == 1 and n >= 0:
        if k > n:
            return 0
        check_binomial(int(n), k)
        return math.comb(int(n), k)
    if k * (bits(n) + k.bit_length()) > MAX_BITS:
        raise OversizeError(f"a binomial coefficient of more than {MAX_BITS:,} bits")
    product: Rational = 1
    for step in range(k):
        product *= n - step
    return _whole(Fraction(product) / math.factorial(k))


def totient(n: int) -> int:
    """How many of 1 … n have no common divisor with n. Raises OversizeError over 10^10: it takes trial division."""
    if n < 1:
        raise UndefinedError("the totient of a number below 1")
    if n > 10**10:
        raise OversizeError("the totient of a number over 10,000,000,000")
    result, rest, prime = n, n, 2
    while prime * prime <= rest:
        if rest % prime == 0:
            result -= result // prime
            while rest % prime == 0:
                rest //= prime
        prime += 1 if prime == 2 else 2
    return result - result // rest if rest > 1 else result
