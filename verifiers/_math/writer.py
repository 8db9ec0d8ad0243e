r"""A tree as plain text: what ``--explain`` shows, and what ``parse`` reads back into the same tree.

The text is unambiguous rather than pretty: every product has its sign, and brackets stand wherever one could doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from guerdon.verifiers._math.letters import GREEK
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
    Unit,
)
from guerdon.verifiers._math.units import SIGNS

_SIGNS = {
    "=": "=", "!=": "\\ne", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "in": "\\in", "notin": "\\notin",
    "subset": "\\subset", "approx": "\\approx", "maps": "\\mapsto",
}  # fmt: skip
_OPERATIONS = {"union": "\\cup", "intersection": "\\cap", "difference": "\\setminus", "product": "\\times"}
_BINDERS = {"sum": "\\sum", "product": "\\prod"}
_MONTHS = "January February March April May June July August September October November December"
_WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"

# How tightly what was written holds together, from a list to a single operand.
_LIST, _STATEMENT, _SET, _SUM, _PRODUCT, _POWER, _OPERAND = range(7)


def write(node: Node) -> str:
    """The text of a tree.

    >>> write(Sum((Symbol("x"), Number(Fraction(-1, 2)))))
    'x - 1/2'
    """
    return _written(node)[0]


def _written(node: Node) -> tuple[str, int]:
    """The text and how tightly it holds together."""
    return _WRITERS[type(node)](node)


def _inside(node: Node, least: int) -> str:
    """The text, in brackets if it holds together less tightly than its place asks."""
    text, holds = _written(node)
    return text if holds >= least else f"({text})"


def _number(node: Number) -> tuple[str, int]:
    value = abs(node.value)
    if node.digits and 10 ** node.value.denominator.bit_length() % node.value.denominator == 0:
        text = _decimal(value, node.digits)
    else:
        text = str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    if node.value < 0:
        return f"-{text}", _SUM
    return text, _OPERAND if text.isdigit() or node.digits else _PRODUCT


def _decimal(value: Fraction, digits: int) -> str:
    """The decimal with so many significant digits, as it may have been written."""
    power = 0
    while value * 10**power != int(value * 10**power):
        power += 1
    text = str(int(value * 10**power))
    power += max(0, digits - len(text))
    text = str(int(value * 10**power)).rjust(power + 1, "0")
    if power:
        return f"{text[:-power]}.{text[-power:]}"
    return f"{text[0]}.{text[1:digits]}e{len(text) - 1:02d}" if len(text) > digits > 1 else f"{text}.0"


def _sum(node: Sum) -> tuple[str, int]:
    text = ""
    for index, term in enumerate(node.terms):
        if isinstance(term, PlusMinus):
            piece = _plus_minus(term)[0]
        else:
            piece, holds = _written(term)
            if holds < _PRODUCT and not (piece.startswith("-") and isinstance(term, Number | Product)):
                piece = f"({piece})"
        if index and piece.startswith("-"):
            text += f" - {piece[1:]}"
        elif index:
            text += f" {piece}" if isinstance(term, PlusMinus) else f" + {piece}"
        else:
            text = piece
    return text, _SUM


def _product(node: Product) -> tuple[str, int]:
    first, *rest = node.factors
    minus = isinstance(first, Number) and first.value < 0
    if isinstance(first, Number) and first.value == -1 and not first.digits:
        first, *rest = rest
        text = f"-{_factor(first)}"
    elif isinstance(first, Number) and minus:
        text = f"-{_factor(Number(-first.value, first.digits))}"
    else:
        text = _factor(first)
    for factor in rest:
        if isinstance(factor, Power) and factor.exponent == Number(Fraction(-1)):
            text += f"/{_inside(factor.base, _POWER)}"
        else:
            text += f"*{_factor(factor)}"
    return text, _SUM if minus else _PRODUCT


def _factor(node: Node) -> str:
    return _inside(node, _POWER)


def _power(node: Power) -> tuple[str, int]:
    if node.exponent == Number(Fraction(1, 2)):
        return f"\\sqrt{{{write(node.base)}}}", _OPERAND
    return f"{_inside(node.base, _OPERAND)}^{{{write(node.exponent)}}}", _POWER


def _call(node: Call) -> tuple[str, int]:
    first, *rest = (write(argument) for argument in node.arguments)
    match node.name:
        case "abs":
            return f"\\lvert {first} \\rvert", _OPERAND
        case "norm":
            return f"\\lVert {first} \\rVert", _OPERAND
        case "floor" | "ceil":
            return f"\\l{node.name} {first} \\r{node.name}", _OPERAND
        case "factorial":
            return f"{_inside(node.arguments[0], _OPERAND)}!", _POWER
        case "factorial2":
            return f"{_inside(node.arguments[0], _OPERAND)}!!", _POWER
        case "transpose":
            return f"{_inside(node.arguments[0], _OPERAND)}^\\top", _POWER
        case "root":
            return f"\\sqrt[{rest[0]}]{{{first}}}", _OPERAND
        case "log" if rest:
            return f"\\log_{{{rest[0]}}}({first})", _OPERAND
        case "mod":
            return f"({_inside(node.arguments[0], _POWER)} \\bmod {_inside(node.arguments[1], _POWER)})", _OPERAND
        case "binomial":
            return f"\\binom{{{first}}}{{{rest[0]}}}", _OPERAND
        case "gamma":
            return f"\\Gamma({first})", _OPERAND
        case "conj":
            return f"\\overline{{{first}}}", _OPERAND
        case "permutations":
            return f"{{}}_{{{first}}}P_{{{rest[0]}}}", _OPERAND
        case _:
            return f"\\{node.name}({', '.join((first, *rest))})", _OPERAND


def _binder(node: Binder) -> tuple[str, int]:
    name = node.variable if len(node.variable) == 1 else f"\\{node.variable}"
    body = _inside(node.body, _POWER)
    if node.kind == "integral":
        ends = "" if node.low is None else f"_{{{write(node.low)}}}"
        ends += "" if node.high is None else f"^{{{write(node.high)}}}"
        return f"\\int{ends} {body} \\,d{name}", _SUM
    if node.kind == "limit":
        return f"\\lim_{{{name} \\to {_point(node.low)}}} {body}", _SUM
    low = "" if node.low is None else write(node.low)
    high = "" if node.high is None else write(node.high)
    return f"{_BINDERS[node.kind]}_{{{name}={low}}}^{{{high}}} {body}", _SUM


def _point(node: Node | None) -> str:
    if isinstance(node, Apply) and node.name in ("+", "-"):
        return f"{_inside(node.arguments[0], _OPERAND)}^{{{node.name}}}"
    return "" if node is None else write(node)


def _plus_minus(node: PlusMinus) -> tuple[str, int]:
    sign = "\\mp" if node.opposite else "\\pm"
    return f"{sign} {_inside(node.value, _PRODUCT)}", _SUM


def _symbol(node: Symbol) -> tuple[str, int]:
    name = node.name
    if name.startswith("unit vector "):
        return f"\\mathbf{{{name[-1]}}}", _OPERAND
    if name == "...":
        return "\\ldots", _OPERAND
    if " " in name:
        head, _, rest = name.partition(" ")
        if rest in _ACCENTS:
            return f"\\{rest}{{{_letters(head)}}}", _OPERAND
        return f"\\{head} {rest}" if head in _FIGURES else f"\\text{{{name}}}", _OPERAND
    primes = len(name) - len(name.rstrip("'"))
    base, _, index = name.rstrip("'").partition("_")
    text = _letters(base) + (f"_{{{index}}}" if index else "") + "'" * primes
    return text, _OPERAND


_ACCENTS = frozenset(("bar", "hat", "tilde", "dot", "ddot"))
_FIGURES = frozenset(("angle", "triangle"))


def _letters(name: str) -> str:
    if len(name) == 1:
        return name
    return f"\\{name}" if name in GREEK else f"\\vec{{{name}}}" if name.isupper() else f"\\text{{{name}}}"


def _constant(node: Constant) -> tuple[str, int]:
    return {"pi": "\\pi", "infinity": "\\infty"}.get(node.name, node.name), _OPERAND


def _apply(node: Apply) -> tuple[str, int]:
    name = node.name
    if name.startswith("d/d"):
        return f"d{write(node.arguments[0])}/{name[2:]}", _PRODUCT
    name = f"{name[:-3]}^{{-1}}" if name.endswith("^-1") else name if len(name) == 1 else _symbol(Symbol(name))[0]
    return f"{name}({', '.join(map(write, node.arguments))})", _OPERAND


_CURRENCIES = {name: sign for sign, name in SIGNS.items()}


def _unit(node: Unit) -> str:
    return " ".join(
        (_CURRENCIES.get(name) or f"\\text{{{name}}}") + (f"^{{{power}}}" if power != 1 else "")
        for name, power in node.factors
    )


def _quantity(node: Quantity) -> tuple[str, int]:
    value = _inside(node.value, _PRODUCT)
    minus = value.startswith("(-") and isinstance(node.value, Number | Product)
    value = value[1:-1] if minus else value
    holds = _SUM if minus else _PRODUCT
    match node.unit.factors:
        case (("%", 1),):
            return f"{value}\\%", holds
        case (("°", 1),):
            return f"{value}^\\circ", holds
        case ((("°C" | "°F") as scale, 1),):
            return f"{value}^\\circ \\text{{{scale[1]}}}", holds
        case _:
            return f"{value} {_unit(node.unit)}", holds


def _clock(node: Clock) -> tuple[str, int]:
    seconds = f":{node.second:02d}" if node.second else ""
    if node.half is None:
        return f"{node.hour}:{node.minute:02d}{seconds} o'clock", _OPERAND
    return f"{(node.hour + 11) % 12 + 1}:{node.minute:02d}{seconds} {node.half}", _STATEMENT


def _date(node: Date) -> tuple[str, int]:
    parts = [] if node.weekday is None else [_WEEKDAYS.split()[node.weekday]]
    if node.month is not None:
        month = _MONTHS.split()[node.month - 1]
        parts.append(" ".join(str(part) for part in (node.day, month, node.year) if part is not None))
    return ", ".join(parts), _STATEMENT


def _brackets(node: Brackets) -> tuple[str, int]:
    opens, closes = ("\\langle ", "\\rangle") if node.opens == "<" else (node.opens, node.closes)
    return f"{opens}{_items(node.items)}{closes}", _OPERAND


def _items(nodes: tuple[Node, ...]) -> str:
    return ", ".join(_inside(node, _STATEMENT) for node in nodes)


def _matrix(node: Matrix) -> tuple[str, int]:
    rows = " \\\\ ".join(" & ".join(_inside(cell, _STATEMENT) for cell in row) for row in node.rows)
    return f"\\begin{{pmatrix}} {rows} \\end{{pmatrix}}", _OPERAND


def _listing(node: Listing) -> tuple[str, int]:
    items = [_inside(item, _STATEMENT) for item in node.items]
    if node.joint == ",":
        return ", ".join(items), _LIST
    return f"{', '.join(items[:-1])} \\text{{ {node.joint} }} {items[-1]}", _LIST


def _set_builder(node: SetBuilder) -> tuple[str, int]:
    conditions = ", ".join(_inside(condition, _LIST) for condition in node.conditions)
    return f"\\{{{_inside(node.element, _STATEMENT)} \\mid {conditions}\\}}", _OPERAND


def _named_set(node: NamedSet) -> tuple[str, int]:
    if node.name == "empty":
        return "\\emptyset", _OPERAND
    return f"\\mathbb{{{node.name[0]}}}" + (f"^{{{node.name[1:]}}}" if node.name[1:] else ""), _OPERAND


def _set_operation(node: SetOperation) -> tuple[str, int]:
    return f" {_OPERATIONS[node.kind]} ".join(_inside(part, _POWER) for part in node.parts), _SET


def _relation(node: Relation) -> tuple[str, int]:
    text = _inside(node.sides[0], _SET)
    for sign, side in zip(node.signs, node.sides[1:], strict=True):
        text += f" {_SIGNS[sign]} {_inside(side, _SET)}"
    return text, _STATEMENT


def _congruence(node: Congruence) -> tuple[str, int]:
    sides = f"{_inside(node.left, _SET)} \\equiv {_inside(node.right, _SET)}"
    return f"{sides} \\pmod{{{write(node.modulus)}}}", _STATEMENT


def _cases(node: Cases) -> tuple[str, int]:
    if len(node.branches) == 1 and node.branches[0][1] is not None:
        value, condition = node.branches[0]
        return f"{_inside(value, _LIST)} \\text{{ for }} {_inside(condition, _LIST)}", _LIST
    rows = " \\\\ ".join(
        f"{_inside(value, _STATEMENT)} & {_condition(condition)}" for value, condition in node.branches
    )
    return f"\\begin{{cases}} {rows} \\end{{cases}}", _OPERAND


def _condition(node: Node | None) -> str:
    return "\\text{otherwise}" if node is None else _inside(node, _STATEMENT)


def _based(node: Based) -> tuple[str, int]:
    return f"{node.digits}_{{{node.base}}}", _OPERAND


def _ratio(node: Ratio) -> tuple[str, int]:
    return " : ".join(_inside(part, _SUM) for part in node.parts), _SET


def _braces(node: Braces) -> tuple[str, int]:
    return f"\\{{{_items(node.items)}\\}}", _OPERAND


def _text(node: Text) -> tuple[str, int]:
    return f"\\text{{{node.text}}}", _OPERAND


_WRITERS: dict[type[Node], Callable[..., tuple[str, int]]] = {
    Number: _number, Based: _based, Constant: _constant,
    Symbol: _symbol, Sum: _sum, Product: _product, Power: _power, Call: _call, Apply: _apply, Binder: _binder,
    PlusMinus: _plus_minus, Cases: _cases, Quantity: _quantity, Ratio: _ratio, Clock: _clock, Date: _date,
    Brackets: _brackets, Braces: _braces, Matrix: _matrix, Listing: _listing, SetBuilder: _set_builder, NamedSet: _named_set, SetOperation: _set_operation,
    Relation: _relation, Congruence: _congruence, Text: _text,
}  # fmt: skip
