"""The values of powers: exact where they are, real or principal elsewhere.

0^0 has no value. A power with a rational exponent of odd denominator has the real root of a negative base, unless the
scope asks for principal ones.
"""

from __future__ import annotations

import math
from fractions import Fraction

from guerdon.verifiers._math import exact
from guerdon.verifiers._math.decision import InexactError, OversizeError, UndefinedError, VagueError
from guerdon.verifiers._math.exact import Gaussian
from guerdon.verifiers._math.scope import EXACT, INFINITY, MET_REAL_ROOT, Scope, Value, rule
from guerdon.verifiers._math.tree import Constant, Power


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
