"""Nodes as the parser makes them: minus a value, a quotient, a set without another. No text is looked at here."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from guerdon.verifiers._math.tree import (
    Apply,
    Binder,
    Braces,
    Brackets,
    Constant,
    NamedSet,
    Node,
    Number,
    PlusMinus,
    Power,
    Product,
    Quantity,
    SetBuilder,
    SetOperation,
    Sum,
    Symbol,
    walk,
)

ONE, MINUS_ONE, ZERO = Number(Fraction(1)), Number(Fraction(-1)), Number(Fraction(0))
TWO, TEN, HALF = Number(Fraction(2)), Number(Fraction(10)), Number(Fraction(1, 2))
E, PI, INFINITY = Constant("e"), Constant("pi"), Constant("infinity")

_UNIT_VECTOR = "unit vector "
_SETS = (Braces, Brackets, NamedSet, SetOperation, SetBuilder, Symbol)
_UNKNOWN = (Symbol, Apply, Binder, Brackets)


def product(factors: list[Node]) -> Node:
    """The factors multiplied; one factor is itself."""
    return factors[0] if len(factors) == 1 else Product(tuple(factors))


def negated(node: Node) -> Node:
    """Minus the node: a literal takes the sign into itself, a quantity into its value."""
    if type(node) is Number:
        return Number(-node.value, node.digits)
    if type(node) is Quantity:
        return Quantity(negated(node.value), node.unit)
    if type(node) is Product:
        first = node.factors[0]
        if type(first) is Number and first.value != -1:
            return Product((Number(-first.value, first.digits), *node.factors[1:]))
        return Product((MINUS_ONE, *node.factors))
    return Product((MINUS_ONE, node))


def signed(sign: str, node: Node) -> Node:
    r"""The node behind +, -, ``\pm`` or ``\mp``."""
    return node if sign == "+" else negated(node) if sign == "-" else PlusMinus(node, sign == "\\mp")


def inverse(node: Node) -> Node:
    """One over the node."""
    return Power(node, MINUS_ONE)


def quotient(top: Node, bottom: Node) -> Node:
    """A fraction: of two whole literals the rational number itself."""
    if type(top) is Number and type(bottom) is Number and bottom.value and not (top.digits or bottom.digits):
        return Number(top.value / bottom.value)
    return Product((top, inverse(bottom)))


def is_numeric(nodes: Iterable[Node]) -> bool:
    """Whether nothing inside stands for an unknown."""
    return not any(isinstance(part, _UNKNOWN) for node in nodes for part in walk(node))


def as_vector(node: Node) -> Node:
    """3i - 4j with unit vectors as the vector (3, -4); anything else as it is."""
    parts: dict[str, Node] = {}
    for term in node.terms if type(node) is Sum else (node,):
        factors = term.factors if type(term) is Product else (term,)
        names = [factor.name for factor in factors if type(factor) is Symbol and factor.name.startswith(_UNIT_VECTOR)]
        if len(names) != 1 or names[0] in parts:
            return node
        others = [factor for factor in factors if not (type(factor) is Symbol and factor.name == names[0])]
        parts[names[0]] = product(others) if others else ONE
    size = 3 if f"{_UNIT_VECTOR}k" in parts else 2
    return Brackets("<", tuple(parts.get(_UNIT_VECTOR + letter, ZERO) for letter in "ijk"[:size]), ">")


def as_set(node: Node) -> Node:
    """The letter R where a set must stand is the set of the reals; so are Q, Z, N and C."""
    if type(node) is Symbol and node.name in ("R", "Q", "Z", "N", "C"):
        return NamedSet(node.name)
    return node


def difference(left: Node, right: Node) -> Node:
    """left without right, which may be one element; A - B - C is one operation of three parts."""
    right = as_set(right) if isinstance(right, _SETS) else Braces((right,))
    if type(left) is SetOperation and left.kind == "difference":
        return SetOperation("difference", (*left.parts, right))
    return SetOperation("difference", (as_set(left), right))
