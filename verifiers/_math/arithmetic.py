"""The values of numbers, sums, products and powers.

0^0 has no value. Neither have 1/0, infinity minus infinity and 0 times infinity. A power with a rational exponent of
odd denominator has the real root of a negative base; see ``Scope`` for what else notation leaves open.
"""

from __future__ import annotations

import math
from fractions import Fraction

from guerdon.verifiers._limits import AGREEING_DIGITS
from guerdon.verifiers._math import exact
from guerdon.verifiers._math.decision import InexactError, OversizeError, UnboundError, UndefinedError, VagueError
from guerdon.verifiers._math.exact import Gaussian
from guerdon.verifiers._math.scope import (
    EXACT,
    INFINITY,
    MET_DIGITS,
    MET_IMAGINARY,
    MET_REAL_ROOT,
    Scope,
    Value,
    rule,
)
from guerdon.verifiers._math.size import MAX_BITS, check_bits
from guerdon.verifiers._math.tree import Based, Constant, Node, Number, Power, Product, Sum, Symbol

MAX_BASED_DIGITS = 1_000
"""Python turns text into an integer in quadratic time."""

_SLOW_BITS = 2_048  # of a denominator, from which on a sum of fractions takes long enough to look at the clock


@rule(Number)
def _number(node: Number, scope: Scope) -> Value:
    value = node.value
    if value.denominator == 1:
        return value.numerator
    if node.digits >= AGREEING_DIGITS:
        scope.met |= MET_DIGITS
    return value


@rule(Based)
def _based(node: Based, scope: Scope) -> Value:
    if len(node.digits) > MAX_BASED_DIGITS:
        raise OversizeError(f"more than {MAX_BASED_DIGITS:,} digits in base {node.base}")
    whole, _, part = node.digits.partition(".")
    return exact.tidy(int(whole or "0", node.base) + Fraction(int(part or "0", node.base), node.base ** len(part)))


@rule(Constant)
def _constant(node: Constant, scope: Scope) -> Value:
    name = node.name
    if name == "pi":
        return scope.balls().pi()
    if name == "e":
        return scope.balls().unary("exp", scope.ball(1), real=True)
    if name == "i":
        if scope.real:
            raise UndefinedError("no real number")
        scope.met |= MET_IMAGINARY
        return Gaussian(0, 1)
    if name == "infinity":
        return INFINITY
    raise UndefinedError("undefined")


@rule(Symbol)
def _symbol(node: Symbol, scope: Scope) -> Value:
    try:
        return scope.symbols[node.name]
    except KeyError:
        raise UnboundError(f"{node.name} has no value") from None


@rule(Sum)
def _sum(node: Sum, scope: Scope) -> Value:
    exactly: Value = 0
    ball: Value = None
    infinite = 0.0
    tracks = scope.tracks
    for term in node.terms:
        value = scope.value(term)
        kind = type(value)
        if kind is int:
            exactly += value
        elif kind in EXACT:
            exactly = exact.check(exactly + value)
            if kind is Fraction and value.denominator.bit_length() > _SLOW_BITS:
                scope.check()
        elif kind is float:
            if infinite == -value:
                raise UndefinedError("infinity minus infinity")
            infinite = value
        else:
            if tracks:
                scope.note(value)
            ball = value if ball is None else ball + value
    if infinite:
        return infinite
    if type(exactly) is not int or exactly.bit_length() > MAX_BITS:
        exactly = exact.check(exactly)
    if ball is None:
        return exactly
    return ball if exactly == 0 else ball + scope.ball(exactly)


@rule(Product)
def _product(node: Product, scope: Scope) -> Value:
    exactly: Value = 1
    below = 1  # whole divisors, so that a/b costs one reduction
    ball: Value = None
    infinite = 0.0
    for factor in node.factors:
        if type(factor) is Power and _is_minus_one(factor.exponent):
            value = scope.value(factor.base)
            if type(value) is int and value:
                below *= value
                if below.bit_length() > MAX_BITS:
                    check_bits(below)
                continue
            value = inverse(value, scope)
        else:
            value = scope.value(factor)
        kind = type(value)
        if kind in EXACT:
            exactly = exactly * value
            if type(exactly) is not int or exactly.bit_length() > MAX_BITS:
                exactly = exact.check(exactly)
        elif kind is float:
            infinite = infinite * value if infinite else value
        else:
            ball = value if ball is None else ball * value
    if below != 1:
        exactly = Fraction(exactly, below) if type(exactly) is int else exactly * Fraction(1, below)
    if type(exactly) is not int or exactly.bit_length() > MAX_BITS:
        exactly = exact.check(exactly)
    if infinite:
        return _times_infinity(infinite, exactly, ball, scope)
    if ball is None or exactly == 0:
        return exactly
    return ball if exactly == 1 else ball * scope.ball(exactly)


def _is_minus_one(node: Node) -> bool:
    return type(node) is Number and node.value.numerator == -1 and node.value.denominator == 1


def _times_infinity(infinite: float, exactly: Value, ball: Value, scope: Scope) -> Value:
    sign = scope.sign(exactly)
    if sign == 0:
        raise UndefinedError("zero times infinity")
    other = 1 if ball is None else scope.sign(ball)
    if not sign or not other:
        raise VagueError("infinity times what may be zero or is not real")
    return infinite * sign * other


def inverse(value: Value, scope: Scope) -> Value:
    """1 / value."""
    if type(value) in EXACT:
        return exact.inverse(value)
    return 0 if type(value) is float else scope.balls().inverse(value)


def plus(a: Value, b: Value, scope: Scope) -> Value:
    """a + b of two finite values."""
    if type(a) in EXACT and type(b) in EXACT:
        return exact.check(a + b)
    x, y = scope.ball(a), scope.ball(b)
    if scope.tracks:
        scope.note(x)
        scope.note(y)
    return x + y


def times(a: Value, b: Value, scope: Scope) -> Value:
    """a * b of two finite values."""
    return exact.check(a * b) if type(a) in EXACT and type(b) in EXACT else scope.ball(a) * scope.ball(b)


@rule(Power)
def _power(node: Power, scope: Scope) -> Value:
    if type(node.base) is Constant and node.base.name == "e":
        exponent = scope.value(node.exponent)
        if type(exponent) is float:
            return INFINITY if exponent > 0 else 0
        if type(exponent) in EXACT and exponent == 0:
            return 1
        ball = scope.ball(exponent)
        if scope.tracks:
            scope.note(ball)
        return scope.balls().unary("exp", ball, real=scope.real)
    return power(scope.value(node.base), scope.value(node.exponent), scope)


def power(base: Value, exponent: Value, scope: Scope) -> Value:
    """base ** exponent: exact where it is, the principal or the real power otherwise (see ``Scope``)."""
    kind = type(exponent)
    if kind is Fraction and exponent.denominator == 2 and type(base) is int and base > 0 and exponent.numerator == 1:
        root = math.isqrt(base)  # by far the most frequent power that is no integer's
        return root if root * root == base else scope.balls().unary("sqrt", scope.ball(base), real=True)
    if type(base) is float or kind is float:
        return _power_with_infinity(base, exponent, scope)
    if kind is int or kind is Fraction:
        if type(base) in EXACT:
            if kind is Fraction and type(base) is not Gaussian and base < 0 and exponent.denominator & 1:
                scope.met |= MET_REAL_ROOT
            try:
                result = exact.power(base, exponent, principal=scope.principal)
            except (InexactError, OversizeError):
                if scope.field is None:
                    raise
            else:
                if scope.real and type(result) is Gaussian:
                    raise UndefinedError("no real number")
                return result
        return _rational_power(base, exponent, scope)
    if type(base) in EXACT and base in (0, 1):
        if base == 1:
            return 1
        if scope.sign(exponent) == 1:
            return 0
        raise UndefinedError("zero to a power that is not positive")
    sign = scope.sign(base)
    if scope.real and sign != 1:
        raise UndefinedError("no real number")
    need_analytic(base, sign, scope)
    base, exponent = scope.ball(base), scope.ball(exponent)
    if scope.tracks:
        scope.note(exponent)
    return scope.balls().power(base, exponent)


def _rational_power(base: Value, exponent: int | Fraction, scope: Scope) -> Value:
    field = scope.balls()
    ball = scope.ball(base)
    if exponent.denominator == 1:
        return field.integer_power(ball, int(exponent))
    if exponent.denominator == 2:
        if scope.analytic:
            need_analytic(base, None, scope)
        root = field.unary("sqrt", ball, real=scope.real)
        return root if exponent.numerator == 1 else field.integer_power(root, exponent.numerator)
    sign = scope.sign(base)
    if sign == -1 and exponent.denominator % 2 and not scope.principal:
        scope.met |= MET_REAL_ROOT
        size = _rational_power(-ball, exponent, scope)
        return -size if exponent.numerator % 2 else size
    if scope.real and sign != 1:
        raise UndefinedError("no real number")
    need_analytic(base, sign, scope)
    return field.power(ball, scope.ball(exponent))


def need_analytic(value: Value, sign: int | None, scope: Scope) -> None:
    """Inside an integral, roots and logarithms are one analytic function only off the negative half of the line."""
    if scope.analytic and sign != 1 and type(value) not in EXACT:
        field = scope.balls()
        right = field.sign(field.unary("re", value, real=False))
        beside = field.sign(field.unary("im", value, real=False))
        if right != 1 and not beside:
            raise VagueError("a branch cut")


def _power_with_infinity(base: Value, exponent: Value, scope: Scope) -> Value:
    if type(exponent) is not float:
        return _power_of_infinity(base, exponent, scope)
    grows = scope.sign(_size_less_one(base, scope))
    if not grows:
        raise UndefinedError("one to the power of infinity")
    if (grows > 0) != (exponent > 0):
        return 0
    if scope.sign(base) == 1:
        return INFINITY
    raise UndefinedError("a negative number to the power of infinity")


def _power_of_infinity(base: float, exponent: Value, scope: Scope) -> Value:
    sign = scope.sign(exponent)
    if not sign:
        raise UndefinedError("infinity to the power of zero")
    if sign < 0:
        return 0
    if base > 0:
        return INFINITY
    if type(exponent) is int:
        return -INFINITY if exponent % 2 else INFINITY
    raise UndefinedError("a root of minus infinity")


def _size_less_one(base: Value, scope: Scope) -> Value:
    if type(base) in (int, Fraction, float):
        return abs(base) - 1
    field = scope.balls()
    return field.unary("abs", scope.ball(base), real=False) + field.ball(-1)
