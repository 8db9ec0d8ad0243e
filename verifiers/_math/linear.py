"""Linear inequalities in one variable, solved: 2x + 3 against 7 is x against 2."""

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math.identity import same_value, sign
from guerdon.verifiers._math.rewriting import MINUS_ONE, free_names, minus, over
from guerdon.verifiers._math.structure import substitute
from guerdon.verifiers._math.tree import Node, Number, Product, Sum, Symbol

_ZERO, _ONE = Number(Fraction(0)), Number(Fraction(1))


def solved(left: Node, right: Node, deadline: float | None) -> tuple[Node, Node, bool] | None:
    """The variable, what it is compared with, and whether the sign of the relation stays; None if it is not linear.

    left - right is a + b x with closed a and b, so x is compared with -a/b, the other way round where b < 0.
    """
    difference = minus(left, right)
    names = free_names(difference)
    if len(names) != 1 or isinstance(left, Symbol) or isinstance(right, Symbol):
        return None  # nothing to solve, or solved already
    name = names.pop()
    at_zero, at_one = substitute(difference, {name: _ZERO}), substitute(difference, {name: _ONE})
    slope = minus(at_one, at_zero)
    rises = sign(slope, deadline=deadline)
    line = Sum((at_zero, Product((slope, Symbol(name)))))
    if not rises or not same_value(difference, line, deadline=deadline).equal:
        return None
    return Symbol(name), Product((MINUS_ONE, over(at_zero, slope))), rises > 0
