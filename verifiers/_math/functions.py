"""The values of the functions that ``tree.FUNCTIONS`` names.

This module holds those that balls know and what is made of them; ``factorials``, ``jumps`` and ``matrices`` hold the
others. arccot runs from 0 to pi; root(x, n) is the real root where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from guerdon.verifiers._math import exact
from guerdon.verifiers._math.arithmetic import inverse
from guerdon.verifiers._math.balls import UNARY
from guerdon.verifiers._math.decision import (
    CannotTellError,
    OversizeError,
    UndefinedError,
    VagueError,
)
from guerdon.verifiers._math.exact import Gaussian
from guerdon.verifiers._math.exponents import need_analytic, power
from guerdon.verifiers._math.factorials import FACTORIALS
from guerdon.verifiers._math.jumps import JUMPS
from guerdon.verifiers._math.matrices import MATRIX_FUNCTIONS
from guerdon.verifiers._math.scope import EXACT, INFINITY, MET_OPEN_LOG, Scope, Value, rule
from guerdon.verifiers._math.size import check_bits
from guerdon.verifiers._math.tree import Call

_ENTIRE = frozenset(
    {"exp", "sin", "cos", "sinh", "cosh", "tan", "cot", "sec", "csc", "tanh", "coth", "sech", "csch", "gamma", "rgamma"}
)
_FLAT = frozenset({"tanh", "coth"})  # within 2^(-2.9 |x|) of 1, so that 1000 bits tell tanh(400) from it
_AT_ZERO = {
    **dict.fromkeys(("sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh"), 0),
    **dict.fromkeys(("cos", "sec", "cosh", "sech"), 1),
}
_POLES_AT_ZERO = frozenset({"cot", "csc", "coth", "csch", "ln", "arg"})
_AT_ONE = {"ln": 0, "arccos": 0, "arccosh": 0, "gamma": 1}


@rule(Call)
def _call(node: Call, scope: Scope) -> Value:
    name = node.name
    if name in MATRIX_FUNCTIONS:
        return MATRIX_FUNCTIONS[name](node, scope)
    if name == "log" and len(node.arguments) == 2:
        name = "log_base"
    arguments = [scope.value(argument) for argument in node.arguments]
    if name in _RULES:
        return _RULES[name](scope, *arguments)
    if name not in _NAMES:
        raise CannotTellError(f"the function {name} has no value here")
    return _elementary(name, arguments[0], scope)


def _elementary(name: str, x: Value, scope: Scope) -> Value:
    """A function of one number that balls know."""
    if type(x) in EXACT:
        if x == 0 and name in _AT_ZERO:
            return _AT_ZERO[name]
        if x == 0 and name in _POLES_AT_ZERO:
            raise UndefinedError(f"{name} of 0")
        if x == 1 and name in _AT_ONE:
            return _AT_ONE[name]
    elif type(x) is float:
        return _at_infinity(name, x, scope)
    name = _NAMES[name]
    ball = scope.ball(x)
    if scope.tracks:
        scope.note(ball)
        if name in _FLAT:
            size = scope.balls().floor(scope.balls().unary("abs", ball, real=False))
            scope.spread = max(scope.spread, 3 * (size or 0))
    if scope.analytic and name not in _ENTIRE:
        _need_analytic_function(name, ball, scope)
    return scope.balls().unary(name, ball, real=scope.real)


_NAMES = {name: name for name in UNARY} | {"ln": "log"}


def _at_infinity(name: str, x: float, scope: Scope) -> Value:
    if name == "ln" and x > 0:
        return INFINITY
    if name == "arctan":
        half = scope.balls().pi() * scope.ball(Fraction(1, 2))
        return half if x > 0 else -half
    if name == "tanh":
        return 1 if x > 0 else -1
    raise UndefinedError(f"{name} at infinity")


def _need_analytic_function(name: str, ball: Any, scope: Scope) -> None:
    """The functions with cuts are analytic on the right half plane (log, roots) or within the unit disk (arcs)."""
    if name in ("log", "sqrt"):
        need_analytic(ball, None, scope)
    elif name in ("arctan", "arcsin", "arccos", "arctanh", "arcsinh"):
        field = scope.balls()
        if field.sign(field.ball(1) + -field.unary("abs", ball, real=False)) != 1:
            raise VagueError("a branch cut")
    else:
        raise VagueError(f"{name} is not analytic")


def _log(scope: Scope, x: Value) -> Value:
    scope.met |= MET_OPEN_LOG
    return _elementary("ln", x, scope) if scope.log_base is None else _log_base(scope, x, scope.log_base)


def _log_base(scope: Scope, x: Value, base: Value) -> Value:
    if type(base) in EXACT and base in (0, 1):
        raise UndefinedError(f"a logarithm to base {base}")
    if type(x) in EXACT and type(base) in EXACT and not isinstance(x, Gaussian) and not isinstance(base, Gaussian):
        whole = _exact_log(x, base)
        if whole is not None:
            return whole
    above, below = _elementary("ln", x, scope), _elementary("ln", base, scope)
    if float in (type(above), type(below)):
        raise UndefinedError("a logarithm of infinity to a base")
    return scope.ball(above) * scope.balls().inverse(scope.ball(below))


def _exact_log(x: int | Fraction, base: int | Fraction) -> int | None:
    """The integer n with base^n = x, if there is one."""
    if x <= 0 or base <= 0:
        return None
    check_bits(x)
    log_x = math.log2(x.numerator) - math.log2(x.denominator)
    log_base = math.log2(base.numerator) - math.log2(base.denominator)
    guess = round(log_x / log_base) if log_base else 0
    try:
        return guess if exact.power(base, guess) == x else None
    except OversizeError:
        return None


def _root(scope: Scope, x: Value, n: Value) -> Value:
    if type(n) is not int or n == 0:
        return power(x, inverse(n, scope), scope)
    principal, scope.principal = scope.principal, False
    try:
        return power(x, Fraction(1, n), scope)
    finally:
        scope.principal = principal


def _arccot(scope: Scope, x: Value) -> Value:
    quarter = scope.balls().pi() * scope.ball(Fraction(1, 2))
    return quarter + -scope.ball(_elementary("arctan", x, scope))


def _part(name: str) -> Callable[[Scope, Value], Value]:
    def part(scope: Scope, x: Value) -> Value:
        if type(x) is Gaussian:
            return {"re": x.real, "im": x.imag, "conj": Gaussian(x.real, -x.imag)}[name]
        if type(x) in (int, Fraction, float):
            return 0 if name == "im" else x
        if scope.analytic:
            raise VagueError(f"{name} is not analytic")
        return scope.balls().unary(name, x, real=False)

    return part


_RULES: dict[str, Callable[..., Value]] = {
    **FACTORIALS,
    **JUMPS,
    "log": _log,
    "log_base": _log_base,
    "root": _root,
    "arccot": _arccot,
    "arcsec": lambda scope, x: _elementary("arccos", inverse(x, scope), scope),
    "arccsc": lambda scope, x: _elementary("arcsin", inverse(x, scope), scope),
    "re": _part("re"),
    "im": _part("im"),
    "conj": _part("conj"),
}
