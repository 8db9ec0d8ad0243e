"""Numbers that are made of a matrix or a vector: determinant, trace and norm."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from guerdon.verifiers._math.arithmetic import plus, times
from guerdon.verifiers._math.decision import CannotTellError, UndefinedError
from guerdon.verifiers._math.exponents import power
from guerdon.verifiers._math.scope import Scope, Value
from guerdon.verifiers._math.tree import Brackets, Call, Matrix, Node

MAX_SIDE = 8
"""Of a determinant: it is expanded by minors, each worked out once, 2^n of them."""


def _entries(node: Node, scope: Scope) -> list[list[Value]]:
    if type(node) is Call and node.name == "transpose":
        return [list(column) for column in zip(*_entries(node.arguments[0], scope), strict=True)]
    if type(node) is not Matrix:
        raise CannotTellError(f"a {type(node).__name__} where a matrix is needed")
    return [[scope.value(entry) for entry in row] for row in node.rows]


def _square(node: Call, scope: Scope) -> list[list[Value]]:
    rows = _entries(node.arguments[0], scope)
    if any(len(row) != len(rows) for row in rows):
        raise UndefinedError(f"the {node.name} of a matrix that is not square")
    return rows


def _determinant(node: Call, scope: Scope) -> Value:
    rows = _square(node, scope)
    if len(rows) > MAX_SIDE:
        raise CannotTellError(f"a determinant of more than {MAX_SIDE} rows", "refused")
    minors: dict[frozenset[int], Value] = {frozenset(): 1}  # columns taken by the rows so far
    for row in rows:
        scope.check()
        wider: dict[frozenset[int], Value] = {}
        for taken, minor in minors.items():
            for column in set(range(len(rows))) - taken:
                odd = sum(other > column for other in taken) % 2
                term = times(minor, -row[column] if odd else row[column], scope)
                columns = taken | {column}
                wider[columns] = plus(wider[columns], term, scope) if columns in wider else term
        minors = wider
    return minors[frozenset(range(len(rows)))]


def _trace(node: Call, scope: Scope) -> Value:
    total: Value = 0
    for index, row in enumerate(_square(node, scope)):
        total = plus(total, row[index], scope)
    return total


def _norm(node: Call, scope: Scope) -> Value:
    """The length of a vector, or the absolute value of a number."""
    (inside,) = node.arguments
    if isinstance(inside, Matrix) or (isinstance(inside, Call) and inside.name == "transpose"):
        entries = [entry for row in _entries(inside, scope) for entry in row]
    elif isinstance(inside, Brackets):
        entries = [scope.value(item) for item in inside.items]
    else:
        return scope.value(Call("abs", (inside,)))
    total: Value = 0
    for entry in entries:
        size = _size(entry, scope)
        total = plus(total, times(size, size, scope), scope)
    return power(total, Fraction(1, 2), scope)


def _size(value: Value, scope: Scope) -> Value:
    return abs(value) if type(value) in (int, Fraction) else scope.balls().unary("abs", scope.ball(value), real=False)


MATRIX_FUNCTIONS: dict[str, Callable[[Call, Scope], Value]] = {"det": _determinant, "trace": _trace, "norm": _norm}
