"""A tree in plain words and signs, for a person who asks how an answer was read. Nothing reads it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from guerdon.verifiers._math.tree import (
    Apply,
    Based,
    Binder,
    Braces,
    Brackets,
    Call,
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
    Power,
    Product,
    Quantity,
    Ratio,
    Relation,
    SetBuilder,
    SetOperation,
    Sum,
    Symbol,
    Text,
)

_LONGEST = 400
_SIGNS = {"union": " ∪ ", "intersection": " ∩ ", "difference": " \\ ", "product": " × "}
_RELATIONS = {"<=": "≤", ">=": "≥", "!=": "≠", "in": "∈", "notin": "∉", "subset": "⊂", "approx": "≈", "maps": "→"}


def write(node: Node) -> str:
    """The tree with every grouping shown, cut off after 400 characters.

    >>> from fractions import Fraction
    >>> write(Relation((Symbol("x"), Product((Number(Fraction(2)), Symbol("y")))), ("<=",)))
    'x ≤ (2·y)'
    """
    text = _written(node)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def _written(node: Node) -> str:
    return _FORMS[type(node)](node)


def _joined(nodes: tuple[Node, ...], between: str = ", ") -> str:
    return between.join(map(_written, nodes))


def _number(node: Number) -> str:
    value = node.value
    if value.denominator > 1 and node.digits and value.denominator < 10**15:
        return f"{float(value):.{node.digits}g}"
    if max(abs(value.numerator), value.denominator) >= 10**30:
        return "a number of many digits"
    return str(value)


def _binder(node: Binder) -> str:
    ends = " to ".join(_written(end) for end in (node.low, node.high) if end is not None)
    return f"{node.kind}({_written(node.body)} for {node.variable}{f' from {ends}' if ends else ''})"


def _relation(node: Relation) -> str:
    text = _written(node.sides[0])
    for sign, side in zip(node.signs, node.sides[1:], strict=True):
        text += f" {_RELATIONS.get(sign, sign)} {_written(side)}"
    return text


def _listing(node: Listing) -> str:
    *first, last = map(_written, node.items)
    return ", ".join(first) + (", " if node.joint == "," else f" {node.joint} ") + last


def _quantity(node: Quantity) -> str:
    units = "·".join(name if power == 1 else f"{name}^{power}" for name, power in node.unit.factors)
    return f"{_written(node.value)} {units}"


def _cases(node: Cases) -> str:
    branches = (f"{_written(value)} if {_written(when) if when else 'otherwise'}" for value, when in node.branches)
    return f"cases({'; '.join(branches)})"


def _clock(node: Clock) -> str:
    return f"{node.hour}:{node.minute:02}:{node.second:02}{f' {node.half}' if node.half else ' (unmarked)'}"


def _date(node: Date) -> str:
    parts = {"year": node.year, "month": node.month, "day": node.day, "weekday": node.weekday}
    return "date(" + ", ".join(f"{name} {value}" for name, value in parts.items() if value is not None) + ")"


_FORMS: dict[type[Node], Callable[[Any], str]] = {
    Number: _number,
    Based: lambda node: f"{node.digits}_{node.base}",
    Constant: lambda node: node.name,
    Symbol: lambda node: node.name,
    Sum: lambda node: f"({_joined(node.terms, ' + ')})",
    Product: lambda node: f"({_joined(node.factors, '·')})",
    Power: lambda node: f"{_written(node.base)}^{_written(node.exponent)}",
    Call: lambda node: f"{node.name}({_joined(node.arguments)})",
    Apply: lambda node: f"{node.name}({_joined(node.arguments)})",
    Binder: _binder,
    PlusMinus: lambda node: f"{'∓' if node.opposite else '±'}{_written(node.value)}",
    Cases: _cases,
    Quantity: _quantity,
    Ratio: lambda node: _joined(node.parts, ":"),
    Clock: _clock,
    Date: _date,
    Brackets: lambda node: f"{node.opens}{_joined(node.items)}{node.closes}",
    Braces: lambda node: f"{{{_joined(node.items)}}}",
    Listing: _listing,
    Matrix: lambda node: f"matrix({'; '.join(_joined(row) for row in node.rows)})",
    NamedSet: lambda node: node.name,
    SetBuilder: lambda node: f"{{{_written(node.element)} | {_joined(node.conditions)}}}",
    SetOperation: lambda node: _joined(node.parts, _SIGNS[node.kind]),
    Relation: _relation,
    Congruence: lambda node: f"{_written(node.left)} ≡ {_written(node.right)} (mod {_written(node.modulus)})",
    Text: lambda node: repr(node.text),
}
