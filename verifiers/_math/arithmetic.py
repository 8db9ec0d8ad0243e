"""The values of numbers, sums and products. 1/0, infinity minus infinity and 0 times infinity have none."""

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._limits import AGREEING_DIGITS
from guerdon.verifiers._math import exact
from guerdon.verifiers._math.decision import OversizeError, UnboundError, UndefinedError, VagueError
from guerdon.verifiers._math.exact import Gaussian
from guerdon.verifiers._math.scope import (
    EXACT,
    INFINITY,
    MET_DIGITS,
    MET_IMAGINARY,
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
    if node.digits >= AGREEING_DIGITS:
        scope.met |= MET_DIGITS
    value = node.value
    return value.numerator if value.denominator == 1 else value


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
