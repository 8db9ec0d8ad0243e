"""Functions of integers: factorials and binomial coefficients, common divisors and multiples, the totient.

The former are continued by the gamma function; a binomial coefficient is 0 outside of its triangle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from guerdon.verifiers._math import exact
from guerdon.verifiers._math.decision import InexactError, OversizeError, UndefinedError
from guerdon.verifiers._math.scope import EXACT, Scope, Value
from guerdon.verifiers._math.size import check_bits


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
            balls = [scope.ball(argument) for argument in arguments]
            if scope.tracks:
                for ball in balls:
                    scope.note(ball)
            return rule(scope, *balls)

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


FACTORIALS: dict[str, Callable[..., Value]] = {
    "factorial": _FACTORIAL,
    "factorial2": _by_gamma(_double_factorial_by_gamma)(exact.double_factorial),
    "gamma": _gamma_of,
    "binomial": _by_gamma(_binomial_by_gamma)(exact.binomial),
    "permutations": _by_gamma(_permutations_by_gamma)(_permutations),
    "gcd": _gcd,
    "lcm": _lcm,
    "phi": _phi,
}
