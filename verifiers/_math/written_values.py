"""Values as plain text, each with how tightly it holds together; ``writer`` says what for."""

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math.naming import GREEK
from guerdon.verifiers._math.tree import (
    Apply,
    Based,
    Binder,
    Call,
    Constant,
    Node,
    Number,
    PlusMinus,
    Power,
    Product,
    Sum,
    Symbol,
)
from guerdon.verifiers._math.written import OPERAND, POWER, PRODUCT, SUM, inside, plain, writes, written

_BINDERS = {"sum": "\\sum", "product": "\\prod"}


@writes(Number)
def _number(node: Number) -> tuple[str, int]:
    value = abs(node.value)
    if node.digits and 10 ** node.value.denominator.bit_length() % node.value.denominator == 0:
        text = _decimal(value, node.digits)
    else:
        text = str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    if node.value < 0:
        return f"-{text}", SUM
    return text, OPERAND if text.isdigit() or node.digits else PRODUCT


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


@writes(Sum)
def _sum(node: Sum) -> tuple[str, int]:
    text = ""
    for index, term in enumerate(node.terms):
        if isinstance(term, PlusMinus):
            piece = _plus_minus(term)[0]
        else:
            piece, holds = written(term)
            if holds < PRODUCT and not (piece.startswith("-") and isinstance(term, Number | Product)):
                piece = f"({piece})"
        if index and piece.startswith("-"):
            text += f" - {piece[1:]}"
        elif index:
            text += f" {piece}" if isinstance(term, PlusMinus) else f" + {piece}"
        else:
            text = piece
    return text, SUM


@writes(Product)
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
            text += f"/{inside(factor.base, POWER)}"
        else:
            text += f"*{_factor(factor)}"
    return text, SUM if minus else PRODUCT


def _factor(node: Node) -> str:
    return inside(node, POWER)


@writes(Power)
def _power(node: Power) -> tuple[str, int]:
    if node.exponent == Number(Fraction(1, 2)):
        return f"\\sqrt{{{plain(node.base)}}}", OPERAND
    return f"{inside(node.base, OPERAND)}^{{{plain(node.exponent)}}}", POWER


@writes(Call)
def _call(node: Call) -> tuple[str, int]:
    first, *rest = (plain(argument) for argument in node.arguments)
    match node.name:
        case "abs":
            return f"\\lvert {first} \\rvert", OPERAND
        case "norm":
            return f"\\lVert {first} \\rVert", OPERAND
        case "floor" | "ceil":
            return f"\\l{node.name} {first} \\r{node.name}", OPERAND
        case "factorial":
            return f"{inside(node.arguments[0], OPERAND)}!", POWER
        case "factorial2":
            return f"{inside(node.arguments[0], OPERAND)}!!", POWER
        case "transpose":
            return f"{inside(node.arguments[0], OPERAND)}^\\top", POWER
        case "root":
            return f"\\sqrt[{rest[0]}]{{{first}}}", OPERAND
        case "log" if rest:
            return f"\\log_{{{rest[0]}}}({first})", OPERAND
        case "mod":
            return f"({inside(node.arguments[0], POWER)} \\bmod {inside(node.arguments[1], POWER)})", OPERAND
        case "binomial":
            return f"\\binom{{{first}}}{{{rest[0]}}}", OPERAND
        case "gamma":
            return f"\\Gamma({first})", OPERAND
        case "conj":
            return f"\\overline{{{first}}}", OPERAND
        case "permutations":
            return f"{{}}_{{{first}}}P_{{{rest[0]}}}", OPERAND
        case _:
            return f"\\{node.name}({', '.join((first, *rest))})", OPERAND


@writes(Binder)
def _binder(node: Binder) -> tuple[str, int]:
    name = node.variable if len(node.variable) == 1 else f"\\{node.variable}"
    body = inside(node.body, POWER)
    if node.kind == "integral":
        ends = "" if node.low is None else f"_{{{plain(node.low)}}}"
        ends += "" if node.high is None else f"^{{{plain(node.high)}}}"
        return f"\\int{ends} {body} \\,d{name}", SUM
    if node.kind == "limit":
        return f"\\lim_{{{name} \\to {_point(node.low)}}} {body}", SUM
    low = "" if node.low is None else plain(node.low)
    high = "" if node.high is None else plain(node.high)
    return f"{_BINDERS[node.kind]}_{{{name}={low}}}^{{{high}}} {body}", SUM


def _point(node: Node | None) -> str:
    if isinstance(node, Apply) and node.name in ("+", "-"):
        return f"{inside(node.arguments[0], OPERAND)}^{{{node.name}}}"
    return "" if node is None else plain(node)


@writes(PlusMinus)
def _plus_minus(node: PlusMinus) -> tuple[str, int]:
    sign = "\\mp" if node.opposite else "\\pm"
    return f"{sign} {inside(node.value, PRODUCT)}", SUM


@writes(Symbol)
def _symbol(node: Symbol) -> tuple[str, int]:
    name = node.name
    if name.startswith("unit vector "):
        return f"\\mathbf{{{name[-1]}}}", OPERAND
    if name == "...":
        return "\\ldots", OPERAND
    if " " in name:
        head, _, rest = name.partition(" ")
        if rest in _ACCENTS:
            return f"\\{rest}{{{_letters(head)}}}", OPERAND
        return f"\\{head} {rest}" if head in _FIGURES else f"\\text{{{name}}}", OPERAND
    primes = len(name) - len(name.rstrip("'"))
    base, _, index = name.rstrip("'").partition("_")
    text = _letters(base) + (f"_{{{index}}}" if index else "") + "'" * primes
    return text, OPERAND


_ACCENTS = frozenset(("bar", "hat", "tilde", "dot", "ddot"))
_FIGURES = frozenset(("angle", "triangle"))


def _letters(name: str) -> str:
    if len(name) == 1:
        return name
    return f"\\{name}" if name in GREEK else f"\\vec{{{name}}}" if name.isupper() else f"\\text{{{name}}}"


@writes(Constant)
def _constant(node: Constant) -> tuple[str, int]:
    return {"pi": "\\pi", "infinity": "\\infty"}.get(node.name, node.name), OPERAND


@writes(Apply)
def _apply(node: Apply) -> tuple[str, int]:
    name = node.name
    if name.startswith("d/d"):
        return f"d{plain(node.arguments[0])}/{name[2:]}", PRODUCT
    arguments = ", ".join(map(plain, node.arguments))
    if name == "P given":
        return f"P({plain(node.arguments[0])} \\mid {plain(node.arguments[1])})", OPERAND
    if name.endswith("^-1"):
        return f"{name[:-3]}^{{-1}}({arguments})", OPERAND
    if len(name) > 1 and name.isalpha() and name not in GREEK:
        return f"\\operatorname{{{name}}}({arguments})", OPERAND
    return f"{_symbol(Symbol(name))[0]}({arguments})", OPERAND


@writes(Based)
def _based(node: Based) -> tuple[str, int]:
    return f"{node.digits}_{{{node.base}}}", OPERAND
