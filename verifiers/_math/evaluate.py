"""The value of a tree: exact as far as it goes, balls from there on. One walk for both, so there is one meaning.

This module joins the rules (``arithmetic``, ``functions``, ``binders``) and holds those for unknown functions, cases
and quantities; ``Scope.value`` is the walk.
"""

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math import arithmetic, binders, exact, exponents, functions
from guerdon.verifiers._math.decision import CannotTellError, UnboundError, UndefinedError
from guerdon.verifiers._math.jumps import sign
from guerdon.verifiers._math.scope import EXACT, Scope, Value, rule
from guerdon.verifiers._math.tree import Apply, Brackets, Cases, Node, Quantity, Relation

__all__ = ["arithmetic", "binders", "difference", "evaluate", "exponents", "functions", "holds", "same"]

_MAX_APPLIED = 64
_TRUE_FOR: dict[str, tuple[int, ...]] = {"<": (-1,), "<=": (-1, 0), "=": (0,), ">=": (0, 1), ">": (1,), "!=": (-1, 1)}


def evaluate(node: Node, scope: Scope) -> Value:
    """The value of a tree. Raises one of the failures of ``decision`` if it has none that can be told."""
    return scope.value(node)


def same(a: Value, b: Value, scope: Scope) -> bool:
    """Whether nothing proves two values unequal."""
    if float in (type(a), type(b)) or (type(a) in EXACT and type(b) in EXACT):
        return bool(a == b)
    return scope.balls().closeness(scope.ball(a), scope.ball(b)) != "apart"


def difference(a: Value, b: Value, scope: Scope) -> Value:
    """a - b, exact if both are; an infinite value only where one of them is infinite."""
    if float in (type(a), type(b)):
        if type(a) is type(b):
            return 0 if a == b else a
        return a if type(a) is float else -b
    if type(a) in EXACT and type(b) in EXACT:
        return exact.tidy(a - b)
    return scope.ball(a) - scope.ball(b)


@rule(Apply)
def _apply(node: Apply, scope: Scope) -> Value:
    """An unknown function is a number drawn for each argument it meets, the same for equal arguments."""
    if scope.draw is None:
        raise UnboundError(f"{node.name} is unknown")
    arguments = tuple(scope.value(argument) for argument in node.arguments)
    if node.name[-1:] == "_" and (known := scope.symbols.get(f"{node.name}{arguments[0]}")) is not None:
        return known  # a_k at k = 3 is a_3
    for name, known, value in scope.applied:
        if (
            name == node.name
            and len(known) == len(arguments)
            and all(same(x, y, scope) for x, y in zip(known, arguments, strict=True))
        ):
            return value
    if len(scope.applied) >= _MAX_APPLIED:
        raise CannotTellError(f"more than {_MAX_APPLIED} values of unknown functions", "refused")
    value = scope.draw()
    scope.applied.append((node.name, arguments, value))
    return value


@rule(Brackets)
def _brackets(node: Brackets, scope: Scope) -> Value:
    """Square brackets around one value inside of a larger one only group it."""
    if len(node.items) != 1:
        raise CannotTellError("a list where a number is needed")
    return scope.value(node.items[0])


@rule(Cases)
def _cases(node: Cases, scope: Scope) -> Value:
    for value, condition in node.branches:
        if condition is None or holds(condition, scope):
            return scope.value(value)
    raise UndefinedError("no case holds")


def holds(condition: Node, scope: Scope) -> bool:
    """Whether a chain of comparisons is true. Raises InexactError where that is not certain."""
    if type(condition) is not Relation or not all(relation in _TRUE_FOR for relation in condition.signs):
        raise CannotTellError("a case whose condition is no comparison")
    sides = [scope.value(side) for side in condition.sides]
    for left, relation, right in zip(sides, condition.signs, sides[1:], strict=False):
        order = sign(scope, difference(left, right, scope))
        if order not in _TRUE_FOR[relation]:
            return False
    return True


@rule(Quantity)
def _quantity(node: Quantity, scope: Scope) -> Value:
    """An angle in degrees, or a percentage, where a plain number is needed."""
    value = scope.value(node.value)
    factors = node.unit.factors
    if factors == (("%", 1),):
        share = Fraction(1, 100)
        return exact.tidy(value * share) if type(value) in EXACT else scope.ball(value) * scope.ball(share)
    if factors == (("°", 1),):
        return scope.ball(value) * scope.balls().pi() * scope.ball(Fraction(1, 180))
    raise CannotTellError("a quantity with a unit inside a value")
