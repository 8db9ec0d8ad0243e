"""The values of sums, products, integrals and limits that can be told without a symbolic system.

Finite sums and products are added up term by term, or in closed form where the body is a polynomial in the index
(Newton's forward differences) or the factors are successive numbers. Integrals between finite ends are enclosed by
ball integration. A limit is the value at the point where the body has one there. Everything else raises InexactError.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from guerdon.verifiers._math import exact
from guerdon.verifiers._math.arithmetic import inverse, plus, times
from guerdon.verifiers._math.decision import (
    CannotTellError,
    InexactError,
    OversizeError,
    UndefinedError,
    VagueError,
    ValueFailureError,
)
from guerdon.verifiers._math.exponents import power
from guerdon.verifiers._math.growth import degree_in, geometric_in
from guerdon.verifiers._math.jumps import magnitude
from guerdon.verifiers._math.scope import EXACT, INFINITY, Scope, Value, rule
from guerdon.verifiers._math.tree import Apply, Binder, Call, Cases, Node

MAX_TERMS = 2_000
"""Of a sum that is added up term by term; a longer one needs a closed form."""

MAX_DEGREE = 24
"""Of a body that is tried as a polynomial in its index."""


@rule(Binder)
def _binder(node: Binder, scope: Scope) -> Value:
    if node.kind in ("sum", "product"):
        return _series(node, scope)
    if node.kind == "integral":
        return _integral(node, scope)
    return _limit(node, scope)


def _at(node: Binder, value: Value, scope: Scope) -> Value:
    """The body where the bound variable has a value."""
    before = scope.symbols
    scope.symbols = {**before, node.variable: value}
    try:
        return scope.value(node.body)
    finally:
        scope.symbols = before


def _series(node: Binder, scope: Scope) -> Value:
    if node.low is None or node.high is None:
        raise InexactError("a series without ends")
    low, high = scope.value(node.low), scope.value(node.high)
    if type(low) is int and high == INFINITY and node.kind == "sum" and geometric_in(node.body, node.variable):
        return _geometric_sum(node, low, None, scope)
    if float in (type(low), type(high)):
        raise InexactError("an infinite series")
    if type(low) is not int or type(high) is not int:
        raise UndefinedError("a series whose ends are no integers")
    if high < low - 1:
        raise UndefinedError("a series that ends before it begins")
    if high - low < MAX_TERMS:
        return _term_by_term(node, low, high, scope)
    if node.kind == "sum":
        if geometric_in(node.body, node.variable):
            return _geometric_sum(node, low, high, scope)
        return _polynomial_sum(node, low, high, scope)
    return _successive_product(node, low, high, scope)


def _term_by_term(node: Binder, low: int, high: int, scope: Scope) -> Value:
    adds = node.kind == "sum"
    exactly: Value = 0 if adds else 1
    ball: Value = None
    for index in range(low, high + 1):
        value = _at(node, index, scope)
        if type(value) is float:
            raise UndefinedError("an infinite term")
        if type(value) in EXACT:
            exactly = exact.check(exactly + value if adds else exactly * value)
        else:
            ball = value if ball is None else ball + value if adds else ball * value
    if ball is None:
        return exactly
    return ball + scope.ball(exactly) if adds else ball * scope.ball(exactly)


def _polynomial_sum(node: Binder, low: int, high: int, scope: Scope) -> Value:
    r"""\sum_{j < n} p(low + j) = \sum_i C(n, i + 1) Δ^i p(low), for a polynomial p of degree at most MAX_DEGREE.

    That the body is such a polynomial is told from its form; the degree is bounded there, not guessed from values.
    """
    degree = degree_in(node.body, node.variable)
    if degree is None or degree > MAX_DEGREE:
        raise CannotTellError(f"a sum of {high - low + 1:,} terms", "refused")
    row = [_at(node, low + step, scope) for step in range(degree + 1)]
    if any(type(value) not in EXACT for value in row):
        raise CannotTellError(f"a sum of {high - low + 1:,} terms", "refused")
    total: Value = 0
    for order in range(degree + 1):
        total = exact.check(total + exact.binomial(high - low + 1, order + 1) * row[0])
        row = [after - before for before, after in pairwise(row)]
    return total


def _geometric_sum(node: Binder, low: int, high: int | None, scope: Scope) -> Value:
    r"""\sum_{low <= k <= high} c r^k = c r^low (1 - r^n) / (1 - r), with r^n = 0 for an infinite one with |r| < 1."""
    first, second = _at(node, low, scope), _at(node, low + 1, scope)
    if type(first) in EXACT and first == 0:
        return 0
    ratio = times(second, inverse(first, scope), scope)
    one_less = plus(1, times(-1, ratio, scope), scope)
    if high is None:
        if scope.sign(plus(1, times(-1, magnitude(scope, ratio), scope), scope)) != 1:
            raise InexactError("a geometric series that does not converge")
        return times(first, inverse(one_less, scope), scope)
    if type(one_less) in EXACT and one_less == 0:
        return times(first, high - low + 1, scope)
    left = plus(1, times(-1, power(ratio, high - low + 1, scope), scope), scope)
    return times(times(first, left, scope), inverse(one_less, scope), scope)


def _successive_product(node: Binder, low: int, high: int, scope: Scope) -> Value:
    """The product of a + b k, which is b^n Γ(high + 1 + a/b) / Γ(low + a/b), for rational a and b."""
    if degree_in(node.body, node.variable) != 1:
        raise CannotTellError(f"a product of {high - low + 1:,} factors", "refused")
    start, then = _at(node, 0, scope), _at(node, 1, scope)
    if not all(type(value) in (int, Fraction) for value in (start, then)) or start == then:
        raise CannotTellError(f"a product of {high - low + 1:,} factors", "refused")
    step = then - start
    shift = Fraction(start) / step
    if low + shift <= 0:
        raise CannotTellError(f"a product of {high - low + 1:,} factors", "refused")
    field = scope.balls()
    above = field.unary("gamma", field.ball(high + 1 + shift), real=True)
    below = field.unary("rgamma", field.ball(low + shift), real=True)
    return field.integer_power(field.ball(step), high - low + 1) * above * below


_JUMPS = frozenset({"floor", "ceil", "frac", "sign", "mod", "gcd", "lcm", "phi", "min", "max"})


def _is_smooth(node: Node) -> bool:
    from guerdon.verifiers._math.tree import walk

    return not any(isinstance(part, Cases) or (isinstance(part, Call) and part.name in _JUMPS) for part in walk(node))


def _integral(node: Binder, scope: Scope) -> Value:
    if node.low is None or node.high is None:
        raise InexactError("an integral without ends")
    field = scope.balls()
    low, high = scope.value(node.low), scope.value(node.high)
    if float in (type(low), type(high)):
        raise InexactError("an improper integral")
    stopped: list[CannotTellError] = []
    outer = (scope.real, scope.principal, scope.analytic, scope.tracks)

    def integrand(at: Value, analytic: bool) -> Value:
        if stopped:
            raise VagueError("stopped")
        scope.analytic = analytic
        try:
            return scope.ball(_at(node, at, scope))
        except CannotTellError as reason:
            stopped.append(reason)
            raise VagueError("stopped") from reason

    # Between the real ends the integrand is followed into the complex plane, where its real powers are principal.
    scope.real, scope.principal, scope.tracks = False, True, False
    try:
        result = field.integral(integrand, scope.ball(low), scope.ball(high))
    except (UndefinedError, VagueError, OversizeError) as reason:
        if stopped:
            raise stopped[0] from None
        raise InexactError("an integral that is not settled by balls") from reason
    finally:
        scope.real, scope.principal, scope.analytic, scope.tracks = outer
    if stopped:
        raise stopped[0]
    return result


def _limit(node: Binder, scope: Scope) -> Value:
    """The value of the body at the point, where the body is continuous: a finite ball of elementary functions."""
    if node.low is None or isinstance(node.low, Apply):
        raise InexactError("a limit from one side")
    point = scope.value(node.low)
    if type(point) is float or not _is_smooth(node.body):
        raise InexactError("a limit")
    try:
        value = _at(node, point, scope)
    except ValueFailureError as reason:
        raise InexactError("a limit that is no value") from reason
    if type(value) is float:
        raise InexactError("a limit that is no value")
    return value
