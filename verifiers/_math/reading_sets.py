"""From a tree to a set of real numbers, where it is one."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import TypeAlias, TypeGuard

from guerdon.verifiers._math.identity import order
from guerdon.verifiers._math.labels import is_name
from guerdon.verifiers._math.linear import solved
from guerdon.verifiers._math.realsets import ALL, EMPTY, Line, RealSet, UnorderedError, ray
from guerdon.verifiers._math.rewriting import MINUS_ONE
from guerdon.verifiers._math.scalars import is_scalar
from guerdon.verifiers._math.tree import (
    Braces,
    Brackets,
    Call,
    Constant,
    Listing,
    NamedSet,
    Node,
    Number,
    Product,
    Relation,
    SetBuilder,
    SetOperation,
    Sign,
    Symbol,
)

Read: TypeAlias = "tuple[Node | None, RealSet]"
"""What it is a set of, if it says so (the x of x < 3), and the set."""

_INFINITY = Constant("infinity")
_BELOW = Product((MINUS_ONE, _INFINITY))
_ZERO = Number(Fraction(0))
_NAMED = {
    "R": ALL,
    "empty": EMPTY,
    "R+": ray(_ZERO, above=True, closed=False),
    "R-": ray(_ZERO, above=False, closed=False),
    "R*": RealSet((_ZERO,), (True, False, True)),
}
_MIRRORED: dict[Sign, Sign] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!=", "=": "="}
_VARIABLES = {"x", "y", "z", "t"}


class _NoSetError(Exception):
    """Never leaves this module."""


def read_set(node: Node, *, solve: bool, pairs: bool, deadline: float | None) -> Read | None:
    """The set of reals that a node is, or None.

    solve: whether linear inequalities are solved first. pairs: whether ``(1, 2)`` alone may be an interval.
    """
    try:
        return _Reader(solve, pairs, deadline).read(node)
    except (_NoSetError, UnorderedError):
        return None


class _Reader:
    def __init__(self, solve: bool, pairs: bool, deadline: float | None) -> None:
        self.solve, self.pairs, self.deadline = solve, pairs, deadline
        self.line = Line(deadline)

    def read(self, node: Node) -> Read:
        if isinstance(node, Relation):
            return self._relation(node)
        if isinstance(node, Listing):
            return self._listing(node)
        if isinstance(node, SetOperation):
            return None, self._operation(node)
        if isinstance(node, SetBuilder):
            return None, self._builder(node)
        if isinstance(node, NamedSet) and node.name in _NAMED:
            return None, _NAMED[node.name]
        if isinstance(node, Braces) and all(map(is_scalar, node.items)):
            return None, self.line.finite(node.items)
        if isinstance(node, Brackets):
            return None, self._interval(node)
        if is_scalar(node):
            return None, self.line.finite((node,))
        raise _NoSetError

    def _interval(self, node: Brackets) -> RealSet:
        if len(node.items) != 2 or node.opens not in "([" or not all(map(is_scalar, node.items)):
            raise _NoSetError
        if (node.opens, node.closes) == ("(", ")") and not self.pairs:
            raise _NoSetError
        low, high = node.items
        low_closed, high_closed = node.opens == "[", node.closes == "]"
        if (low == _BELOW and low_closed) or (high == _INFINITY and high_closed):
            raise _NoSetError  # infinity is no number
        if low == _BELOW:
            return ALL if high == _INFINITY else ray(high, above=False, closed=high_closed)
        if high == _INFINITY:
            return ray(low, above=True, closed=low_closed)
        return _known(self.line.interval(low, high, low_closed=low_closed, high_closed=high_closed))

    def _operation(self, node: SetOperation) -> RealSet:
        if node.kind == "product":
            raise _NoSetError
        inner = _Reader(self.solve, True, self.deadline)  # in a union, (1, 2) is an interval
        parts = [inner.read(part)[1] for part in node.parts]
        if node.kind == "union":
            return self.line.union(*parts)
        return reduce(self.line.intersection if node.kind == "intersection" else self.line.difference, parts)

    def _builder(self, node: SetBuilder) -> RealSet:
        conditions = list(node.conditions)
        variable = node.element
        if isinstance(variable, Relation):
            conditions.append(variable)
            variable = variable.sides[0]
        found = ALL
        for condition in conditions:
            named, inside = self.read(condition)
            if named != variable:
                raise _NoSetError
            found = self.line.intersection(found, inside)
        return found

    def _listing(self, node: Listing) -> Read:
        """ "x < 1 or x > 3" is a union and "x > 1, x < 3" an intersection, but "x < 1, x > 3" and "(-\\infty, 1) and
        (3, \\infty)" can only mean a union. "x < 1 and x > 3" says that there is no x."""
        parts = [self.read(item) for item in _spelled_out(node.items)]
        names = {name for name, _ in parts if name is not None}
        if len(names) > 1:
            raise _NoSetError
        sets = [part for _, part in parts]
        found = reduce(self.line.intersection, sets)
        contradicts = node.joint == "and" and all(
            isinstance(item, Relation) and "in" not in item.signs for item in node.items
        )
        if node.joint != "or" and not found.is_empty and any(map(is_scalar, node.items)):
            raise _NoSetError  # "3, x > 0" says two things
        if node.joint == "or" or (found.is_empty and not contradicts):
            found = self.line.union(*sets)
        return next(iter(names), None), found

    def _relation(self, node: Relation) -> Read:
        if node.signs in (("in",), ("notin",)):
            if not is_name(node.sides[0], node.sides[1]):
                raise _NoSetError
            inside = self.read(node.sides[1])[1]
            return node.sides[0], inside if node.signs == ("in",) else self.line.difference(ALL, inside)
        if between := self._between(node):
            return between
        names: set[Node] = set()
        found = ALL
        for (left, right), sign in zip(pairwise(node.sides), node.signs, strict=True):
            name, inside = self._comparison(left, sign, right)
            names.add(name)
            found = self.line.intersection(found, inside)
        if len(names) > 1:
            raise _NoSetError
        return names.pop(), found

    def _between(self, node: Relation) -> Read | None:
        """a < x < b, where the order of a and b need not be known."""
        rising = set(node.signs) <= {"<", "<="}
        if len(node.signs) != 2 or not (rising or set(node.signs) <= {">", ">="}):
            return None
        low, name, high = node.sides if rising else node.sides[::-1]
        if not (is_scalar(low) and is_scalar(high) and is_name(name, Listing((low, high)))) or _is_distance(name):
            return None
        if low == _BELOW or high == _INFINITY:
            return None
        first, second = node.signs if rising else node.signs[::-1]
        found = self.line.interval(low, high, low_closed="=" in first, high_closed="=" in second)
        return None if found is None else (name, found)

    def _distance(self, sign: Sign, most: Node) -> RealSet:
        """|x| against a number, as a set of x."""
        if sign == "=" or not _positive(most, self.deadline):
            raise _NoSetError
        low = Number(-most.value) if isinstance(most, Number) else Product((MINUS_ONE, most))
        if sign == "!=":
            return self.line.difference(ALL, self.line.finite((low, most)))
        closed = sign in ("<=", ">=")
        if sign in ("<", "<="):
            return _known(self.line.interval(low, most, low_closed=closed, high_closed=closed))
        return self.line.union(ray(low, above=False, closed=closed), ray(most, above=True, closed=closed))

    def _comparison(self, left: Node, sign: Sign, right: Node) -> tuple[Node, RealSet]:
        if sign not in _MIRRORED or not (is_scalar(left) and is_scalar(right)):
            raise _NoSetError
        if self.solve and (linear := solved(left, right, self.deadline)):
            left, right, rises = linear
            sign = sign if rises else _MIRRORED[sign]
        if not is_name(left, right) or _bounds(left, right):
            left, sign, right = right, _MIRRORED[sign], left
        if not is_name(left, right) or right in (_INFINITY, _BELOW):
            raise _NoSetError
        if _is_distance(left):
            return left.arguments[0], self._distance(sign, right)
        if sign in ("=", "!="):
            point = self.line.finite((right,))
            return left, point if sign == "=" else self.line.difference(ALL, point)
        return left, ray(right, above=sign in (">", ">="), closed=sign in ("<=", ">="))


def _spelled_out(items: tuple[Node, ...]) -> list[Node]:
    """x != 1, 2 as x != 1 and x != 2."""
    found: list[Node] = []
    for item in items:
        before = found[-1] if found else None
        if isinstance(before, Relation) and before.signs == ("!=",) and is_scalar(item):
            item = Relation((before.sides[0], item), before.signs)
        found.append(item)
    return found


def _bounds(left: Node, right: Node) -> bool:
    """In a < x, x is what is bounded."""
    usual = [isinstance(side, Symbol) and side.name in _VARIABLES for side in (left, right)]
    return usual == [False, True]


def _is_distance(node: Node) -> TypeGuard[Call]:
    """|x|, but not the length |AB|."""
    return isinstance(node, Call) and node.name == "abs" and isinstance(node.arguments[0], Symbol)


def _positive(node: Node, deadline: float | None) -> bool:
    return order(node, _ZERO, deadline=deadline) == 1


def _known(found: RealSet | None) -> RealSet:
    if found is None:
        raise _NoSetError
    return found
