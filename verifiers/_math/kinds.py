"""What kind of answer a tree is, in one word: the stratum in which a verdict is counted."""

from __future__ import annotations

from guerdon.verifiers._math.labels import named
from guerdon.verifiers._math.rewriting import free_names, has, kinds_in
from guerdon.verifiers._math.tree import (
    Apply,
    Based,
    Braces,
    Brackets,
    Cases,
    Clock,
    Congruence,
    Constant,
    Date,
    Listing,
    Matrix,
    NamedSet,
    Node,
    Number,
    PlusMinus,
    Quantity,
    Ratio,
    Relation,
    SetBuilder,
    SetOperation,
    Symbol,
    Text,
)

_PLAIN: dict[type[Node], str] = {
    Based: "base",
    Ratio: "ratio",
    Clock: "time",
    Date: "date",
    Cases: "piecewise",
    Braces: "set",
    Listing: "list",
    NamedSet: "set",
    SetBuilder: "set",
    SetOperation: "set",
    Congruence: "congruence",
    Text: "text",
}


def kind_of(node: Node) -> str:
    """``integer``, ``fraction``, ``decimal``, ``percent``, ``quantity``, ``angle``, ``money``, ``constant``,
    ``complex``, ``expression``, ``plus-minus``, ``equation``, ``inequality``, ``function``, ``interval``, ``tuple``,
    ``vector``, ``matrix`` and those of ``_PLAIN``. A named value (``x = 5``) is of its value's kind.
    """
    if (plain := _PLAIN.get(type(node))) is not None:
        return plain
    if isinstance(node, Number):
        return "decimal" if node.digits else ("integer" if node.value.denominator == 1 else "fraction")
    if isinstance(node, Relation):
        return _kind_of_relation(node)
    if isinstance(node, Brackets):
        is_interval = len(node.items) == 2 and (node.opens + node.closes) in ("[)", "(]", "[]")
        return "interval" if is_interval else ("vector" if node.opens == "<" else "tuple")
    if isinstance(node, Matrix):
        return "vector" if len(node.rows) == 1 or len(node.rows[0]) == 1 else "matrix"
    if isinstance(node, Quantity):
        return (
            {"%": "percent", "°": "angle", "$": "money"}.get(node.unit.factors[0][0], "quantity")
            if node.unit.factors
            else "quantity"
        )
    return _kind_of_value(node)


def _kind_of_relation(node: Relation) -> str:
    entry = named(node)
    if entry.names and isinstance(entry.names[0], Apply) and free_names(entry.names[0]):
        return "function"
    if entry.names and entry.values[-1] is not node:
        return kind_of(entry.values[-1])
    return "equation" if set(node.signs) <= {"=", "approx"} else "inequality"


def _kind_of_value(node: Node) -> str:
    kinds = kinds_in(node)  # one walk tells most trees
    if PlusMinus in kinds:
        return "plus-minus"
    if Symbol in kinds and free_names(node):
        return "expression"
    return "complex" if Constant in kinds and has(node, lambda part: part == Constant("i")) else "constant"
