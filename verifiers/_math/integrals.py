r"""Sums, products, integrals and limits over a bound variable.

The body of a sum, product or limit is the product behind it: \sum k + 1 is (\sum k) + 1. An integral goes to its
``dx``, which may stand in a numerator. A limit from one side is written as the function ``+`` or ``-`` of its point.
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from guerdon.verifiers._math.building import negated
from guerdon.verifiers._math.expressions import read_sum
from guerdon.verifiers._math.naming import read_index
from guerdon.verifiers._math.powers import read_argument, read_operand
from guerdon.verifiers._math.products import read_product
from guerdon.verifiers._math.reader import Reader, head
from guerdon.verifiers._math.tree import Apply, Binder, Node


@head("\\sum", "\\prod")
def read_series(r: Reader, token: str) -> Node:
    """A sum or product with its ends; both must be written."""
    low: Node | None = None
    high: Node | None = None
    variable = ""
    while r.tokens[r.at] in ("_", "^"):
        below = r.tokens[r.at] == "_"
        r.at += 1
        if below:
            variable, low = _start(r, ("=",))
        else:
            high = read_argument(r) if r.tokens[r.at] == "{" else read_operand(r)
    if low is None or high is None:
        raise r.unread("a sum or product without both ends")
    outer, r.bound = r.bound, r.bound | {variable}
    body = _body(r)
    r.bound = outer
    return Binder("sum" if token == "\\sum" else "product", body, variable, low, high)


def _body(r: Reader) -> Node:
    r.deeper()
    body = read_product(r)
    r.depth -= 1
    return body


def _start(r: Reader, signs: tuple[str, ...]) -> tuple[str, Node]:
    """``{k=1}`` or ``{x \\to 0}``."""
    r.expect("{", "the variable of a sum")
    variable = _variable(r)
    if r.tokens[r.at] not in signs:
        raise r.unexpected()
    r.at += 1
    side = _take_side(r)
    r.deeper()
    low = read_sum(r)
    r.depth -= 1
    if side:
        r.expect("\\side", "the point of a limit")
        r.at = side
        low = Apply("+" if "+" in r.tokens[side - 3 : side] else "-", (low,))
    r.expect("}", "the variable of a sum")
    return variable, low


def _take_side(r: Reader) -> int:
    """Where ``^+`` or ``^{-}`` in front of the closing brace ends, 0 if there is none; its ``^`` ends the point now."""
    tokens = r.tokens
    for at in range(r.at, min(len(tokens) - 3, r.at + 12)):
        if tokens[at] == "^":
            width = (
                2
                if tokens[at + 1] in ("+", "-")
                else 4
                if tokens[at + 1 : at + 4] in (["{", "+", "}"], ["{", "-", "}"])
                else 0
            )
            if width and tokens[at + width] == "}":
                tokens[at] = "\\side"
                return at + width
    return 0


def _variable(r: Reader) -> str:
    token = r.tokens[r.at]
    name = token.lstrip('"\\')
    if not (name.isalpha() and (len(token) == 1 or token[:1] in '"\\')):
        raise r.unread("a bound variable should stand here")
    r.at += 1
    if r.take("_"):
        name += "_" + read_index(r)
    return name


@head("\\lim")
def read_limit(r: Reader, token: str) -> Node:
    """A limit."""
    r.expect("_", "the variable of a limit")
    variable, low = _start(r, ("\\to", "->", "\\rightarrow"))
    outer, r.bound = r.bound, r.bound | {variable}
    body = _body(r)
    r.bound = outer
    return Binder("limit", body, variable, low, None)


@head("\\int")
def read_integral(r: Reader, token: str) -> Node:
    """An integral up to its differential."""
    low: Node | None = None
    high: Node | None = None
    while r.tokens[r.at] in ("_", "^"):
        below = r.tokens[r.at] == "_"
        r.at += 1
        end = read_argument(r) if r.tokens[r.at] == "{" else _signed_end(r)
        low, high = (end, high) if below else (low, end)
    outer, r.differential = (r.integral, r.differential), None
    r.deeper()
    r.integral = r.depth
    body = read_sum(r)
    if r.differential is None:
        raise r.unread("an integral without its differential")
    variable = r.differential
    r.integral, r.differential = outer
    r.depth -= 1
    return Binder("integral", body, variable, low, high)


def _signed_end(r: Reader) -> Node:
    if r.take("-"):
        return negated(read_operand(r))
    r.take("+")
    return read_operand(r)
