"""Numbers whose exponents no ball can hold, known by their logarithms: towers of powers and factorials of giants.

A giant is ±exp(l), where l is a ball or again a giant. Two of them can be proved unequal; they are never found equal.
A sum of giants is the largest one, if the others are small beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from guerdon.verifiers._math.balls import Ball, Field
from guerdon.verifiers._math.decision import OversizeError, VagueError, ValueFailureError
from guerdon.verifiers._math.scope import Scope
from guerdon.verifiers._math.tree import Call, Node, Power, Product, Sum


@dataclass(frozen=True, slots=True)
class Giant:
    """sign * exp(log)."""

    sign: int
    log: Large


Large: TypeAlias = "Ball | Giant"


def differ(a: Node, b: Node, scope: Scope) -> bool:
    """Whether two closed real values are proved unequal by their sizes. False proves nothing."""
    field = scope.balls()
    with field:
        sizes = _Sizes(scope, field)
        try:
            return bool(sizes.order(sizes.of(a), sizes.of(b)))
        except ValueFailureError:
            return False


class _Sizes:
    """The arithmetic of giants. Each method raises VagueError where a sign or an order is not certain."""

    def __init__(self, scope: Scope, field: Field) -> None:
        self.scope, self.field = scope, field

    def of(self, node: Node) -> Large:
        try:
            value = self.scope.ball(self.scope.value(node))
            # a ball around zero may stand for what is too small for one
            if self.scope.sign(value) is not None or not isinstance(node, Product | Power):
                return value
        except OversizeError:
            pass
        if isinstance(node, Product):
            product = self.of(node.factors[0])
            for factor in node.factors[1:]:
                product = self.times(product, self.of(factor))
            return product
        if isinstance(node, Power):
            base, exponent = self.of(node.base), self.of(node.exponent)
            if self.sign(base) < 0:
                raise VagueError("a giant power of a negative number")
            return self.exp(self.times(exponent, self.log(base)))
        if isinstance(node, Sum):
            return self._sum([self.of(term) for term in node.terms])
        if isinstance(node, Call) and node.name == "factorial":
            return self._factorial(self.of(node.arguments[0]))
        raise OversizeError("a giant inside a function")

    def sign(self, x: Large) -> int:
        sign = x.sign if isinstance(x, Giant) else self.scope.sign(x)
        if not sign:
            raise VagueError("a factor that may be zero")
        return sign

    def log(self, x: Large) -> Large:
        """ln |x|."""
        if isinstance(x, Giant):
            return x.log
        return self.field.unary("log", x if self.sign(x) > 0 else -x, real=True)

    def exp(self, x: Large) -> Large:
        if not isinstance(x, Giant):
            try:
                value = self.field.unary("exp", x, real=True)
            except OversizeError:
                return Giant(1, x)
            if self.scope.sign(value) == 1:  # one that is too small for a ball may be zero there
                return value
        return Giant(1, x)

    def negative(self, x: Large) -> Large:
        return Giant(-x.sign, x.log) if isinstance(x, Giant) else -x

    def times(self, x: Large, y: Large) -> Large:
        if not isinstance(x, Giant) and not isinstance(y, Giant):
            return x * y
        sign = self.sign(x) * self.sign(y)
        return Giant(sign, self._sum([self.log(x), self.log(y)]))

    def _sum(self, terms: list[Large]) -> Large:
        balls: list[Ball] = [term for term in terms if not isinstance(term, Giant)]
        if len(balls) == len(terms):
            total = balls[0]
            for ball in balls[1:]:
                total = total + ball
            return total
        terms = [term for term in terms if isinstance(term, Giant) or self.scope.sign(term) != 0]
        largest = terms[0]
        for term in terms[1:]:
            if self.order(self.log(largest), self.log(term)) < 0:
                largest = term
        others = [term for term in terms if term is not largest]
        for other in others:
            # |other| <= |largest| / e^5, so each moves the logarithm by no more than 1/50 (of a few terms)
            gap = self._sum([self.log(largest), self.negative(self.log(other))])
            if self.order(gap, self.field.ball(5)) <= 0 or len(others) > 25:
                raise VagueError("giants that may cancel")
        return self._moved(largest, others)

    def _moved(self, largest: Large, others: list[Large]) -> Large:
        if not others:
            return largest
        if not isinstance(largest, Giant):
            raise VagueError("a sum whose largest term is no giant")
        return Giant(largest.sign, self._widened(largest.log))

    def _widened(self, x: Large) -> Large:
        """x give or take 1. Where x is a giant over e^2 its logarithm moves by less than 1."""
        if isinstance(x, Giant):
            if self.order(x.log, self.field.ball(2)) <= 0:
                raise VagueError("a giant that is close to zero")
            return Giant(x.sign, self._widened(x.log))
        return self.field.widened(x, 1)

    def _factorial(self, n: Large) -> Large:
        """(n/e)^n <= n! <= n^n for n >= 1."""
        if self.order(n, self.field.ball(1)) <= 0:
            raise VagueError("the factorial of no large number")
        return self.exp(self.times(n, self._widened(self.log(n))))

    def order(self, x: Large, y: Large) -> int:
        """-1, 0 or 1; 0 only for two exact balls. Raises VagueError if it is not certain."""
        if not isinstance(x, Giant) and not isinstance(y, Giant):
            order = self.scope.sign(x + -y)
            if order is None:
                raise VagueError("sizes that overlap")
            return order
        for giant, other, turn in ((x, y, 1), (y, x, -1)):
            if isinstance(giant, Giant) and not isinstance(other, Giant) and self.scope.sign(other) == 0:
                return giant.sign * turn
        sign, other_sign = self.sign(x), self.sign(y)
        if sign != other_sign:
            return sign
        return sign * self.order(self.log(x), self.log(y))
