"""Functions with jumps or corners: absolute value, sign, floor and its kin, remainders, the larger and the smaller one.

A remainder has the sign of its modulus. Where a ball agrees with an integer to half of the precision, the function is
taken at that integer, and the scope keeps that this was done.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from guerdon.verifiers._math import exact
from guerdon.verifiers._math.decision import CannotTellError, InexactError, UndefinedError, VagueError
from guerdon.verifiers._math.exact import Gaussian
from guerdon.verifiers._math.exponents import power
from guerdon.verifiers._math.scope import EXACT, Scope, Value


def magnitude(scope: Scope, x: Value) -> Value:
    """|x|."""
    kind = type(x)
    if kind is int or kind is Fraction or kind is float:
        return abs(x)
    if kind is Gaussian:
        return power(x.real**2 + x.imag**2, Fraction(1, 2), scope)
    if scope.analytic:
        field = scope.balls()
        side = field.sign(field.unary("re", x, real=False))
        if not side:
            raise VagueError("the absolute value is not analytic around 0")
        return x if side > 0 else -x
    return scope.balls().unary("abs", x, real=False)


def sign(scope: Scope, x: Value) -> Value:
    """-1, 0 or 1 of a real value, z / |z| of a complex one."""
    certain = scope.sign(x)
    if certain is not None:
        return certain
    if type(x) not in EXACT and scope.balls().is_real(x) and scope.rounded(x) == 0:
        return 0
    if type(x) in EXACT or not scope.balls().is_real(x):
        return scope.ball(x) * scope.balls().inverse(scope.ball(magnitude(scope, x)))
    raise InexactError("the sign of what may be zero")


def _floor(scope: Scope, x: Value) -> Value:
    kind = type(x)
    if kind is int:
        return x
    if kind is Fraction:
        return math.floor(x)
    if kind is float or kind is Gaussian or scope.analytic or not scope.balls().is_real(x):
        raise UndefinedError("the floor of no finite real number")
    whole = scope.balls().floor(x)
    if whole is None:
        whole = scope.rounded(x)
    if whole is None:
        raise InexactError("the floor of what may be an integer")
    return whole


def _ceil(scope: Scope, x: Value) -> Value:
    return -_floor(scope, -x)


def _frac(scope: Scope, x: Value) -> Value:
    whole = _floor(scope, x)
    return exact.tidy(x - whole) if type(x) in EXACT else x + scope.ball(-whole)


def _mod(scope: Scope, x: Value, modulus: Value) -> Value:
    if type(modulus) in EXACT and modulus == 0:
        raise UndefinedError("a remainder modulo 0")
    if type(x) in (int, Fraction) and type(modulus) in (int, Fraction):
        return exact.tidy(x % modulus)
    x, modulus = scope.ball(x), scope.ball(modulus)
    return x + -modulus * scope.ball(_floor(scope, x * scope.balls().inverse(modulus)))


def _largest(scope: Scope, *arguments: Value) -> Value:
    result = arguments[0]
    for argument in arguments[1:]:
        if all(type(value) in (int, Fraction, float) for value in (result, argument)):
            result = max(result, argument)
        elif float in (type(result), type(argument)):
            raise CannotTellError("the larger one of infinity and a number")
        else:
            a, b = scope.ball(result), scope.ball(argument)
            if scope.analytic or not (scope.balls().is_real(a) and scope.balls().is_real(b)):
                raise VagueError("the larger one of numbers that are not real")
            result = scope.balls().larger(a, b)
    return result


def _smallest(scope: Scope, *arguments: Value) -> Value:
    return -_largest(scope, *(-argument for argument in arguments))


JUMPS: dict[str, Callable[..., Value]] = {
    "abs": magnitude,
    "sign": sign,
    "floor": _floor,
    "ceil": _ceil,
    "frac": _frac,
    "mod": _mod,
    "max": _largest,
    "min": _smallest,
}
