r"""Points, vectors, matrices and intervals as written: item by item, in order, under the same brackets.

``(1, 2)``, ``[1, 2]`` and ``{1, 2}`` all differ. A column vector, ``\langle 1, 2 \rangle``, ``(1, 2)`` and ``i + 2j``
are one vector unless the policy says otherwise, and ``[[1, 2], [3, 4]]`` is a matrix.
"""

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.identity import same_value
from guerdon.verifiers._math.judging import Ask, in_order, unequal
from guerdon.verifiers._math.rewriting import free_names, minus, names_in, rewritten
from guerdon.verifiers._math.scalars import is_scalar
from guerdon.verifiers._math.structure import substitute
from guerdon.verifiers._math.tree import Brackets, Call, Constant, Matrix, Node, Number, Product, Sum, Symbol

_UNIT_VECTORS = ("i", "j", "k")


def ordered_rule(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    """At least one side is in brackets, or a matrix."""
    answer, reference = _multiplied(_transposed(answer)), _multiplied(_transposed(reference))
    if isinstance(answer, Matrix) and isinstance(reference, Matrix):
        return _same_rows(answer.rows, reference.rows, ask)
    if not isinstance(answer, Brackets | Matrix) and not isinstance(reference, Brackets | Matrix):
        return None
    a, b = _alone(answer), _alone(reference)
    if a is not answer or b is not reference:
        return ask.same(a, b)
    if isinstance(a, Brackets) and isinstance(b, Brackets):
        return _same_brackets(a, b, ask)
    if (rows := _rows(a)) and (others := _rows(b)):
        return _same_rows(rows, others, ask)
    x, y = _vector(a, b), _vector(b, a)
    if x is None or y is None:
        return unequal("kinds", "brackets against something else")
    if ask.policy.vectors == "match":
        return unequal("brackets", "another notation of a vector")
    return in_order(x, y, ask, "vector")


def _same_brackets(a: Brackets, b: Brackets, ask: Ask) -> Decision:
    if _shape(a, ask) != _shape(b, ask):
        return unequal("brackets", "other brackets")
    return in_order(a.items, b.items, ask, "tuple")


def _shape(node: Brackets, ask: Ask) -> str:
    brackets = node.opens + node.closes
    if ask.policy.ends == "ignore" and len(node.items) == 2 and "<" not in brackets:
        return "()"
    return "()" if brackets == "<>" and ask.policy.vectors == "any" else brackets


def _same_rows(a: tuple[tuple[Node, ...], ...], b: tuple[tuple[Node, ...], ...], ask: Ask) -> Decision:
    if [len(row) for row in a] != [len(row) for row in b]:
        return unequal("matrix", "another size")
    return in_order([item for row in a for item in row], [item for row in b for item in row], ask, "matrix")


def _alone(node: Node) -> Node:
    """[5] only groups, and so does an array of one."""
    if isinstance(node, Matrix) and len(node.rows) == len(node.rows[0]) == 1:
        return node.rows[0][0]
    return node.items[0] if isinstance(node, Brackets) and len(node.items) == 1 and node.opens != "<" else node


def _transposed(node: Node) -> Node:
    """A transpose that is only written down."""
    if not (isinstance(node, Call) and node.name == "transpose"):
        return node
    (inside,) = node.arguments
    if isinstance(inside, Matrix):
        return Matrix(tuple(zip(*inside.rows, strict=True)))
    return Matrix(tuple((item,) for item in inside.items)) if isinstance(inside, Brackets) else node


def _multiplied(node: Node) -> Node:
    """A number times a matrix or a vector, worked out."""
    if not isinstance(node, Product):
        return node
    places = [index for index, factor in enumerate(node.factors) if isinstance(_transposed(factor), Matrix | Brackets)]
    if len(places) != 1:
        return node
    (place,) = places
    inside, others = _transposed(node.factors[place]), node.factors[:place] + node.factors[place + 1 :]
    if not all(map(is_scalar, others)):
        return node
    if isinstance(inside, Matrix):
        return Matrix(tuple(tuple(Product((*others, entry)) for entry in row) for row in inside.rows))
    if (
        isinstance(inside, Brackets)
        and len(inside.items) > 1
        and (inside.opens == "<" or not free_names(Product(others)))
    ):
        return Brackets(inside.opens, tuple(Product((*others, item)) for item in inside.items), inside.closes)
    return node


def _rows(node: Node) -> tuple[tuple[Node, ...], ...] | None:
    """The rows of a matrix, or of [[1, 2], [3, 4]]."""
    if isinstance(node, Matrix):
        return node.rows
    if isinstance(node, Brackets) and all(isinstance(row, Brackets) for row in node.items):
        rows = tuple(row.items for row in node.items if isinstance(row, Brackets))
        return rows if len({len(row) for row in rows}) == 1 else None
    return None


def _vector(node: Node, other: Node) -> tuple[Node, ...] | None:
    """The components of a vector that is written like one, or like i + 2j where the other side is a vector."""
    if isinstance(node, Matrix):
        if len(node.rows) == 1:
            return node.rows[0]
        return tuple(row[0] for row in node.rows) if len(node.rows[0]) == 1 else None
    if isinstance(node, Brackets):
        return node.items if node.opens + node.closes in ("()", "<>", "[]") else None
    if isinstance(node, Call) and node.name == "binomial":
        return node.arguments  # a column, as some write it
    size = len(_vector(other, node) or ()) if isinstance(other, Brackets | Matrix) else 0
    return _in_unit_vectors(node, size) if size in (2, 3) and is_scalar(node) else None


def _in_unit_vectors(node: Node, size: int) -> tuple[Node, ...] | None:
    """The coefficients of i, j, k in a sum that is linear in them; an i alone is the imaginary unit."""
    marked = any(name.startswith("unit vector ") for name in names_in(node))
    node = rewritten(node, _unit_vector)
    units = _UNIT_VECTORS[:size]
    if not names_in(node) & set(units if marked else units[1:]):
        return None
    zero, one = Number(Fraction(0)), Number(Fraction(1))
    parts = tuple(substitute(node, {other: one if other == unit else zero for other in units}) for unit in units)
    again = Sum(tuple(Product((part, Symbol(unit))) for part, unit in zip(parts, units, strict=True)))
    return parts if same_value(minus(node, again), zero).equal else None


def _unit_vector(part: Node) -> Node:
    r"""``\mathbf{i}`` and a plain i as the same unit vector."""
    if part == Constant("i"):
        return Symbol("i")
    if isinstance(part, Symbol) and part.name.startswith("unit vector "):
        return Symbol(part.name.removeprefix("unit vector "))
    return part
