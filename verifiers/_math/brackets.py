r"""Brackets of all kinds, matrices and piecewise values.

(a)             only groups; (a, b) are Brackets, whose meaning the comparison finds: point, interval, list
[a]             groups where it is a factor, base or argument, and is a list of one where it stands alone
]a, b[  [a, b[  intervals with an open end; ``[`` closes where nothing can follow it but the end of an operand
{a}             groups; {a, b} and \{a\} are sets, {x | …} and {x : …} are sets by condition
[[a, b], [c, d]]   a matrix
(1,234)         two values: a comma between brackets separates (``dress`` has split the number)
"""

from __future__ import annotations

from guerdon.verifiers._math.based import based_in_brackets
from guerdon.verifiers._math.building import as_set
from guerdon.verifiers._math.expressions import read_sum
from guerdon.verifiers._math.powers import read_power
from guerdon.verifiers._math.products import closes_interval
from guerdon.verifiers._math.reader import Reader, head
from guerdon.verifiers._math.statements import finish_item, read_item, read_listing
from guerdon.verifiers._math.tree import (
    Braces,
    Brackets,
    Call,
    Cases,
    Listing,
    Matrix,
    NamedSet,
    Node,
    Relation,
    SetBuilder,
    Text,
)

_COMMAS = frozenset((",", ";"))
_CLOSERS = {"(": (")", "]", "["), "[": ("]", ")", "["), "]": ("[", "]", ")")}


@head("(", "[", "]")
def read_bracket(r: Reader, opens: str) -> Node:
    """What stands between brackets, from the opening one on."""
    kind = opens[0]
    before, r.opens = r.opens, kind
    r.deeper()
    if r.tokens[r.at] == ")":
        raise r.unread("empty brackets")
    if kind == "(" and (number := based_in_brackets(r)) is not None:
        r.depth -= 1
        r.opens = before
        return number
    items = [read_item(r)]
    while r.tokens[r.at] in _COMMAS:
        r.at += 1
        items.append(read_item(r))
    closes = r.tokens[r.at]
    if closes not in _CLOSERS[kind] or (closes == "[" and not closes_interval(r)):
        raise r.unread("a bracket is not closed")
    r.at += 1
    r.depth -= 1
    r.opens = before
    if kind == "(" and closes == ")" and len(items) == 1:
        return items[0]
    return _bracketed(kind, items, closes)


def _bracketed(opens: str, items: list[Node], closes: str) -> Node:
    if opens == "[" and closes == "]":
        rows = [item.items for item in items if type(item) is Brackets and item.opens == "[" and item.closes == "]"]
        if len(rows) == len(items) and len({len(row) for row in rows}) == 1:
            return Matrix(tuple(rows))
        if len(items) == 1 and type(items[0]) is Matrix:
            return items[0]
    first = "(" if opens == "]" else opens
    last = ")" if closes == "[" else closes
    return Brackets(first, tuple(items), last)


@head("\\lbrack")
def read_square_bracket(r: Reader, opens: str) -> Node:
    r"""``\lbrack a \rbrack``."""
    return read_bracket(r, "[")


@head("\\langle", "<")
def read_vector(r: Reader, opens: str) -> Node:
    """A vector between angle brackets."""
    before, r.opens = r.opens, "<"
    r.deeper()
    items = [read_sum(r)]
    while r.tokens[r.at] in _COMMAS:
        r.at += 1
        items.append(read_sum(r))
    r.expect(">" if opens == "<" else "\\rangle", "an angle bracket")
    r.depth -= 1
    r.opens = before
    return Brackets("<", tuple(items), ">")


@head("{")
def read_group(r: Reader, opens: str) -> Node:
    """Braces: a group, ``{a \\over b}``, or a set in plain text."""
    tokens = r.tokens
    if tokens[r.at] == "}":
        r.at += 1
        if tokens[r.at] in ("_", "^"):
            return read_power(r)  # {}_nC_k
        return NamedSet("empty")
    before, r.opens = r.opens, "{"
    r.deeper()
    inside = read_sum(r)
    if tokens[r.at] != "}":
        inside = _longer_group(r, inside)
    r.expect("}", "a brace")
    r.depth -= 1
    r.opens = before
    return inside


def _longer_group(r: Reader, first: Node) -> Node:
    token = r.tokens[r.at]
    if token in ("|", ":", "\\mid", "\\colon"):
        return _built(r, first)
    node = finish_item(r, first)
    if r.tokens[r.at] in ("|", ":", "\\mid", "\\colon"):
        return _built(r, node)
    if r.tokens[r.at] not in _COMMAS:
        return node
    items = [node]
    while r.tokens[r.at] in _COMMAS:
        r.at += 1
        items.append(read_item(r))
    return Braces(tuple(items))


@head("\\{", "\\lbrace")
def read_set(r: Reader, opens: str) -> Node:
    r"""A set by its elements or by a condition."""
    closes = "\\}" if opens == "\\{" else "\\rbrace"
    if r.take(closes):
        return NamedSet("empty")
    before, r.opens = r.opens, "\\{"
    r.deeper()
    items = [read_item(r)]
    if r.tokens[r.at] in ("|", ":", "\\mid", "\\colon", "\\vert"):
        node = _built(r, items[0])
    else:
        while r.tokens[r.at] in _COMMAS:
            r.at += 1
            items.append(read_item(r))
        node = Braces(tuple(items))
    r.expect(closes, "the brace of a set")
    r.depth -= 1
    r.opens = before
    return node


def _built(r: Reader, element: Node) -> Node:
    """The conditions of a set behind the bar."""
    r.at += 1
    r.opens = "{"  # from here on a bar is an absolute value
    conditions = read_listing(r)
    if type(element) is Relation and element.signs == ("in",):
        element = Relation((element.sides[0], as_set(element.sides[1])), ("in",))
    return SetBuilder(element, _each(conditions))


def _each(conditions: Node) -> tuple[Node, ...]:
    """Conditions side by side, each by itself: also that k is an integer, which stands last."""
    if type(conditions) is Listing and conditions.joint != "or":
        return conditions.items
    if type(conditions) is Cases and len(conditions.branches) == 1:
        value, domain = conditions.branches[0]
        return (*_each(value), domain) if domain is not None else (value,)
    return (conditions,)


_KINDS = "matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix psmallmatrix bsmallmatrix array"
_MATRICES = _KINDS.split()


@head(*(f"\\begin{{{name}}}" for name in _MATRICES))
def read_matrix(r: Reader, token: str) -> Node:
    """Rows of equal length; between bars the determinant."""
    name = token[7:-1]
    rows = _rows(r, f"\\end{{{name}}}")
    if len({len(row) for row in rows}) > 1:
        raise r.unread("the rows of a matrix differ in length")
    matrix = Matrix(tuple(tuple(row) for row in rows))
    return Call({"vmatrix": "det", "Vmatrix": "norm"}[name], (matrix,)) if name in ("vmatrix", "Vmatrix") else matrix


def _rows(r: Reader, ends: str) -> list[list[Node]]:
    before, r.opens = r.opens, "matrix"
    r.deeper()
    rows: list[list[Node]] = []
    while not r.take(ends):
        row = [read_item(r)]
        while r.tokens[r.at] in ("&", ","):
            r.at += 1
            if r.tokens[r.at] in ("\\\\", ends):
                break  # "x > 0," at the end of a row
            r.at += r.tokens[r.at] == "&" and r.tokens[r.at - 1] == ","
            row.append(read_item(r))
        rows.append(row)
        if r.tokens[r.at] not in ("\\\\", ends):
            raise r.unread("a matrix is not closed") if r.tokens[r.at] == "" else r.unexpected()
        r.take("\\\\")
    if not rows:
        raise r.unread("an empty matrix")
    r.depth -= 1
    r.opens = before
    return rows


@head("\\begin{cases}", "\\begin{rcases}", "\\begin{dcases}")
def read_cases(r: Reader, token: str) -> Node:
    """A piecewise value, or the equations of a system, which are a list."""
    rows = _rows(r, token.replace("begin", "end"))
    if all(len(row) == 1 for row in rows):
        items = tuple(row[0] for row in rows)
        return items[0] if len(items) == 1 else Listing(items, "and")
    branches: list[tuple[Node, Node | None]] = []
    for row in rows:
        if len(row) > 2:
            raise r.unread("a case of more than a value and a condition")
        condition = row[1] if len(row) == 2 else None
        branches.append((row[0], None if condition == _OTHERWISE else condition))
    return Cases(tuple(branches))


_OTHERWISE = Text("otherwise")
