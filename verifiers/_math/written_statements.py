"""Measured values, collections, sets and statements as plain text; ``writer`` says what for."""

from __future__ import annotations

from guerdon.verifiers._math.tree import (
    Braces,
    Brackets,
    Cases,
    Clock,
    Congruence,
    Date,
    Listing,
    Matrix,
    NamedSet,
    Node,
    Number,
    Product,
    Quantity,
    Ratio,
    Relation,
    SetBuilder,
    SetOperation,
    Text,
    Unit,
)
from guerdon.verifiers._math.units import SIGNS
from guerdon.verifiers._math.written import LIST, OPERAND, POWER, PRODUCT, SET, STATEMENT, SUM, inside, plain, writes

_SIGNS = {
    "=": "=", "!=": "\\ne", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "in": "\\in", "notin": "\\notin",
    "subset": "\\subset", "approx": "\\approx", "maps": "\\mapsto",
}  # fmt: skip
_OPERATIONS = {"union": "\\cup", "intersection": "\\cap", "difference": "\\setminus", "product": "\\times"}
_MONTHS = "January February March April May June July August September October November December"
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"


_CURRENCIES = {name: sign for sign, name in SIGNS.items()}


def _unit(node: Unit) -> str:
    return " ".join(
        (_CURRENCIES.get(name) or f"\\text{{{name}}}") + (f"^{{{power}}}" if power != 1 else "")
        for name, power in node.factors
    )


@writes(Quantity)
def _quantity(node: Quantity) -> tuple[str, int]:
    value = inside(node.value, PRODUCT)
    minus = value.startswith("(-") and isinstance(node.value, Number | Product)
    value = value[1:-1] if minus else value
    holds = SUM if minus else PRODUCT
    match node.unit.factors:
        case (("%", 1),):
            return f"{value}\\%", holds
        case (("°", 1),):
            return f"{value}^\\circ", holds
        case ((("°C" | "°F") as scale, 1),):
            return f"{value}^\\circ \\text{{{scale[1]}}}", holds
        case _:
            return f"{value} {_unit(node.unit)}", holds


@writes(Clock)
def _clock(node: Clock) -> tuple[str, int]:
    seconds = f":{node.second:02d}" if node.second else ""
    if node.half is None:
        return f"{node.hour}:{node.minute:02d}{seconds} o'clock", OPERAND
    return f"{(node.hour + 11) % 12 + 1}:{node.minute:02d}{seconds} {node.half}", STATEMENT


@writes(Date)
def _date(node: Date) -> tuple[str, int]:
    parts = [] if node.weekday is None else [_WEEKDAYS.split()[node.weekday]]
    if node.month is not None:
        month = _MONTHS.split()[node.month - 1]
        parts.append(" ".join(str(part) for part in (node.day, month, node.year) if part is not None))
    return ", ".join(parts), STATEMENT


@writes(Brackets)
def _brackets(node: Brackets) -> tuple[str, int]:
    opens, closes = ("\\langle ", "\\rangle") if node.opens == "<" else (node.opens, node.closes)
    return f"{opens}{_items(node.items)}{closes}", OPERAND


def _items(nodes: tuple[Node, ...]) -> str:
    return ", ".join(inside(node, STATEMENT) for node in nodes)


@writes(Matrix)
def _matrix(node: Matrix) -> tuple[str, int]:
    rows = " \\\\ ".join(" & ".join(inside(cell, STATEMENT) for cell in row) for row in node.rows)
    return f"\\begin{{pmatrix}} {rows} \\end{{pmatrix}}", OPERAND


@writes(Listing)
def _listing(node: Listing) -> tuple[str, int]:
    items = [inside(item, STATEMENT) for item in node.items]
    if node.joint == ",":
        return ", ".join(items), LIST
    return f"{', '.join(items[:-1])} \\text{{ {node.joint} }} {items[-1]}", LIST


@writes(SetBuilder)
def _set_builder(node: SetBuilder) -> tuple[str, int]:
    conditions = ", ".join(inside(condition, LIST) for condition in node.conditions)
    return f"\\{{{inside(node.element, STATEMENT)} \\mid {conditions}\\}}", OPERAND


@writes(NamedSet)
def _named_set(node: NamedSet) -> tuple[str, int]:
    if node.name == "empty":
        return "\\emptyset", OPERAND
    return f"\\mathbb{{{node.name[0]}}}" + (f"^{{{node.name[1:]}}}" if node.name[1:] else ""), OPERAND


@writes(SetOperation)
def _set_operation(node: SetOperation) -> tuple[str, int]:
    return f" {_OPERATIONS[node.kind]} ".join(inside(part, POWER) for part in node.parts), SET


@writes(Relation)
def _relation(node: Relation) -> tuple[str, int]:
    text = inside(node.sides[0], SET)
    for sign, side in zip(node.signs, node.sides[1:], strict=True):
        text += f" {_SIGNS[sign]} {inside(side, SET)}"
    return text, STATEMENT


@writes(Congruence)
def _congruence(node: Congruence) -> tuple[str, int]:
    sides = f"{inside(node.left, SET)} \\equiv {inside(node.right, SET)}"
    return f"{sides} \\pmod{{{plain(node.modulus)}}}", STATEMENT


@writes(Cases)
def _cases(node: Cases) -> tuple[str, int]:
    value, condition = node.branches[0]
    if len(node.branches) == 1 and condition is not None:
        return f"{inside(value, LIST)} \\text{{ for }} {inside(condition, LIST)}", LIST
    rows = " \\\\ ".join(f"{inside(value, STATEMENT)} & {_condition(condition)}" for value, condition in node.branches)
    return f"\\begin{{cases}} {rows} \\end{{cases}}", OPERAND


def _condition(node: Node | None) -> str:
    return "\\text{otherwise}" if node is None else inside(node, STATEMENT)


@writes(Ratio)
def _ratio(node: Ratio) -> tuple[str, int]:
    return " : ".join(inside(part, SUM) for part in node.parts), SET


@writes(Braces)
def _braces(node: Braces) -> tuple[str, int]:
    return f"\\{{{_items(node.items)}\\}}", OPERAND


@writes(Text)
def _text(node: Text) -> tuple[str, int]:
    return f"\\text{{{node.text}}}", OPERAND
