"""The values of the functions that ``tree.FUNCTIONS`` names.

Choices where usage differs: arccot runs from 0 to pi; mod has the sign of its modulus and none for modulus 0; a
binomial coefficient is 0 outside its triangle and otherwise continued by the gamma function; root(x, n) is the real
root where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from guerdon.verifiers._math import exact
from guerdon.verifiers._math.arithmetic import inverse, need_analytic, power
from guerdon.verifiers._math.balls import UNARY
from guerdon.verifiers._math.decision import (
    CannotTellError,
    InexactError,
    OversizeError,
    UndefinedError,
    VagueError,
)
from guerdon.verifiers._math.exact import Gaussian
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


def _by_gamma(rule: Callable[..., Value]) -> Callable[[Callable[..., Value]], Callable[..., Value]]:
    """Take the exact rule where it gives a value, and the one by gamma functions where it does not."""

    def with_exact(exactly: Callable[..., Value]) -> Callable[..., Value]:
        def either(scope: Scope, *arguments: Value) -> Value:
            if all(type(argument) in (int, Fraction) for argument in arguments):
                try:
                    return exactly(*arguments)
                except (InexactError, OversizeError):
                    if scope.field is None:
                        raise
            return rule(scope, *(scope.ball(argument) for argument in arguments))

        return either

    return with_exact


def _gamma(scope: Scope, x: Any, name: str = "gamma") -> Value:
    return scope.balls().unary(name, x, real=scope.real)


def _factorial_by_gamma(scope: Scope, n: Any) -> Value:
    return _gamma(scope, n + scope.ball(1))


def _binomial_by_gamma(scope: Scope, n: Any, k: Any) -> Value:
    one = scope.ball(1)
    return _gamma(scope, n + one) * _gamma(scope, k + one, "rgamma") * _gamma(scope, n + -k + one, "rgamma")


def _permutations_by_gamma(scope: Scope, n: Any, k: Any) -> Value:
    one = scope.ball(1)
    return _gamma(scope, n + one) * _gamma(scope, n + -k + one, "rgamma")


def _permutations(n: int | Fraction, k: int | Fraction) -> Value:
    if k < 0:
        return 0
    return exact.tidy(exact.binomial(n, k) * exact.factorial(k))


def _double_factorial_by_gamma(scope: Scope, n: Any) -> Value:
    raise InexactError("a double factorial that large, or of no integer")


def _gamma_of(scope: Scope, x: Value) -> Value:
    if type(x) is int:
        if x <= 0:
            raise UndefinedError("gamma at a pole")
        return _FACTORIAL(scope, x - 1)
    return _gamma(scope, scope.ball(x))


_FACTORIAL = _by_gamma(_factorial_by_gamma)(exact.factorial)


def _whole_numbers(name: str, arguments: tuple[Value, ...]) -> None:
    if any(type(argument) is not int for argument in arguments):
        if all(type(argument) in EXACT for argument in arguments):
            raise UndefinedError(f"the {name} of what is no integer")
        raise InexactError(f"the {name} of what may be no integer")


def _gcd(scope: Scope, *arguments: Value) -> Value:
    _whole_numbers("gcd", arguments)
    return math.gcd(*arguments)


def _lcm(scope: Scope, *arguments: Value) -> Value:
    _whole_numbers("lcm", arguments)
    result = 1
    for argument in arguments:
        result = math.lcm(result, argument)
        check_bits(result)
    return result


def _phi(scope: Scope, n: Value) -> Value:
    _whole_numbers("totient", (n,))
    return exact.totient(n)


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
    "log": _log,
    "log_base": _log_base,
    "root": _root,
    "arccot": _arccot,
    "arcsec": lambda scope, x: _elementary("arccos", inverse(x, scope), scope),
    "arccsc": lambda scope, x: _elementary("arcsin", inverse(x, scope), scope),
    "abs": magnitude,
    "sign": sign,
    "floor": _floor,
    "ceil": _ceil,
    "frac": _frac,
    "mod": _mod,
    "factorial": _FACTORIAL,
    "factorial2": _by_gamma(_double_factorial_by_gamma)(exact.double_factorial),
    "gamma": _gamma_of,
    "binomial": _by_gamma(_binomial_by_gamma)(exact.binomial),
    "permutations": _by_gamma(_permutations_by_gamma)(_permutations),
    "gcd": _gcd,
    "lcm": _lcm,
    "phi": _phi,
    "max": _largest,
    "min": _smallest,
    "re": _part("re"),
    "im": _part("im"),
    "conj": _part("conj"),
}
