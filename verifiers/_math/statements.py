r"""Items and lists of them: relations, congruences, ratios, set operations, conditions.

x = 2, 3        the relation x = 2 and the value 3, as it is written
a < b < c       one chain
a:b             a ratio, unless it stands in a set before the conditions; 3 to 4 is one too
x \equiv 1 \pmod 3    a congruence; \equiv without a modulus is an equality
1, 3 (mod 8)    the modulus belongs to all of the list
v if c, w otherwise   cases; "n(n+1) for n ≥ 1", "kπ, k ∈ Z" are a value with its condition: cases of one branch
2 hours and 30 minutes    one quantity: the units measure the same and become smaller
A(1,2)          the point A = (1,2), if A is a capital letter
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from guerdon.verifiers._math.building import as_set, as_vector, difference, quotient
from guerdon.verifiers._math.calendar import clock, half_of_day
from guerdon.verifiers._math.conditions import (
    CONDITIONAL,
    ENDS,
    JOINTS,
    OTHERWISE,
    SEPARATORS,
    in_set,
    read_condition,
    read_otherwise,
)
from guerdon.verifiers._math.expressions import read_sum
from guerdon.verifiers._math.joining import PENDING, congruent, listed
from guerdon.verifiers._math.powers import read_power
from guerdon.verifiers._math.reader import HEADS, Reader
from guerdon.verifiers._math.tree import (
    Apply,
    Braces,
    Brackets,
    Call,
    Cases,
    Congruence,
    NamedSet,
    Node,
    Number,
    Product,
    Ratio,
    Relation,
    SetOperation,
    Sign,
    Symbol,
    Text,
)

RELATIONS: dict[str, Sign] = {
    "=": "=", ":=": "=", "==": "=", "\\equiv": "=", "\\ne": "!=", "\\neq": "!=", "!=": "!=", "<>": "!=", "<": "<",
    "\\lt": "<", ">": ">", "\\gt": ">", "\\le": "<=", "\\leq": "<=", "\\leqslant": "<=", "<=": "<=", "=<": "<=",
    "\\leqq": "<=", "\\ge": ">=", "\\geq": ">=", "\\geqslant": ">=", ">=": ">=", "\\geqq": ">=", "\\in": "in",
    "\\notin": "notin", "\\subset": "subset", "\\subseteq": "subset", "\\approx": "approx", "\\simeq": "approx",
    "\\sim": "approx", "\\cong": "approx", "\\doteq": "approx", "\\mapsto": "maps", "\\to": "maps", "->": "maps",
    "\\rightarrow": "maps", "\\longmapsto": "maps", "\\coloneqq": "=", "\\triangleq": "=", "=>": ">=",
}  # fmt: skip
_UNIONS = {
    **dict.fromkeys(("\\cup", "\\bigcup", "\\sqcup", "\\cupdot", "\\uplus", "\\bigsqcup"), "union"),
    **dict.fromkeys(("\\cap", "\\bigcap"), "intersection"),
    **dict.fromkeys(("\\setminus", "\\backslash", "\\smallsetminus", "\\ "), "difference"),
}
_RATIOS = frozenset((":", "\\colon", '"to'))
_CURVES = frozenset(("l", "L", "ell", "C", "E", "Gamma"))
"""What a line or a curve is called in front of its equation."""
_LEADING = frozenset(("=", "\\approx", "\\simeq", "\\sim"))
"""What may stand in front of an answer whose left side is left out: "= 5"."""
_MODULI = frozenset(("\\pmod", "\\bmod", "\\mod"))


def read_listing(r: Reader) -> Node:
    """Items up to whatever ends them; one item is itself."""
    if r.at == 0 and r.tokens[0] in _LEADING:
        r.at = 1
    first = read_item(r)
    if r.tokens[r.at] not in SEPARATORS:
        return congruent([first])[0] if type(first) is Congruence else first
    items = [first]
    joint = ","
    while (token := r.tokens[r.at]) in SEPARATORS:
        while r.tokens[r.at] in SEPARATORS:
            joint = JOINTS.get(r.tokens[r.at], joint)
            r.at += 1
        following = r.tokens[r.at]
        if following == "":
            r.at -= 1
            raise r.unread(f"nothing follows {token.lstrip(chr(34))!r}")
        if following in CONDITIONAL:
            items = [Cases(((listed(items, joint), read_condition(r)),))]
        else:
            items.append(read_item(r))
    return listed(congruent(items), joint)


def read_item(r: Reader) -> Node:
    """One item: a value, set, statement or words, with its condition."""
    token = r.tokens[r.at]
    if token[:1] == '"' and len(token) > 2:
        if r.opens == "matrix" and token in CONDITIONAL:
            return read_condition(r)  # "if x > 0" in the second column of cases
        HEADS["lead-in"](r, token)
        if r.tokens[r.at] in OTHERWISE:
            return read_otherwise(r)
    left = read_sum(r)
    if r.tokens[r.at] in ENDS and r.condition is None and not r.vectors and type(left) is not Product:
        return left
    return finish_item(r, left)


def finish_item(r: Reader, left: Node) -> Node:
    """The item whose first value has been read."""
    node = _named_point(r, finish_side(r, as_vector(left) if r.vectors else left))
    token = r.tokens[r.at]
    if token[:1] == '"' and type(node) is Symbol and (found := in_set(r, node)) is not None:
        node, token = found, r.tokens[r.at]
    if token in RELATIONS or token in ("\\not", '"is', '"equals'):
        node = _relation(r, node)
        token = r.tokens[r.at]
    if token in _MODULI or (token == "(" and r.tokens[r.at + 1] in _MODULI):
        modulus = _read_modulus(r)
        whole = type(node) is Congruence and Congruence(node.left, node.right, modulus)
        node = whole or Call("mod", (node, modulus))
        token = r.tokens[r.at]
    if r.condition is not None:
        node, r.condition = Cases(((node, r.condition),)), None
    if token in CONDITIONAL or (token == "(" and r.tokens[r.at + 1] in CONDITIONAL):
        return Cases(((node, read_condition(r)),))
    if token in OTHERWISE:
        r.at += 1
        return Cases(((node, None),))
    return node


def _named_point(r: Reader, node: Node) -> Node:
    if type(node) is Product and len(node.factors) == 2 and type(node.factors[1]) is Brackets:
        name = node.factors[0]
        if type(name) is Symbol and name.name[0].isupper() and len(node.factors[1].items) > 1:
            if r.tokens[r.at] == "=":
                return Apply(name.name, node.factors[1].items)
            return Relation((name, node.factors[1]), ("=",))
    return node


def _read_side(r: Reader) -> Node:
    side = read_sum(r)
    return finish_side(r, as_vector(side) if r.vectors else side)


def finish_side(r: Reader, node: Node) -> Node:
    """A ratio or a set operation whose first part has been read."""
    token = r.tokens[r.at]
    if token in ("\\over", "\\choose"):
        r.at += 1
        below = read_sum(r)
        return quotient(node, below) if token == "\\over" else Call("binomial", (node, below))
    if token in _RATIOS and r.opens != "\\{":
        return _ratio(r, node)
    while (kind := _UNIONS.get(token)) is not None:
        parts = [_as_part(node)]
        while _UNIONS.get(r.tokens[r.at]) == kind:
            r.at += 1
            parts.append(_as_part(read_sum(r)))
        if kind == "difference":
            for part in parts[1:]:
                node = difference(node, part)
        else:
            node = SetOperation("union" if kind == "union" else "intersection", tuple(parts))
        token = r.tokens[r.at]
        r.deeper()  # for good: each turn nests the tree
    return node


def _as_part(node: Node) -> Node:
    """A part of a union: in braces of which LaTeX took the set away, {3} is the set of 3."""
    return Braces((node,)) if type(node) is Number else as_set(node)


def _ratio(r: Reader, first: Node) -> Node:
    tokens = r.tokens
    if type(first) is Symbol and tokens[r.at + 2] in ("\\mapsto", "\\longmapsto"):
        r.at += 1
        variable = read_power(r)
        r.at += 1
        return Relation((Apply(first.name, (variable,)), read_sum(r)), ("=",))  # f: x ↦ x²
    if type(first) is Symbol and len(first.name) > 3 and first.name.isalpha() and r.tokens[r.at + 1][:1] != '"':
        r.at += 1
        return Relation((first, _read_side(r)), ("=",))  # girls: 4
    start = r.at - 1
    parts = [first]
    while tokens[r.at] in _RATIOS:
        r.at += 1
        parts.append(read_sum(r))
    if len(parts) == 2 and tokens[r.at] == "=" and type(first) is Symbol and first.name.partition("_")[0] in _CURVES:
        return parts[1]  # l: y = 2x
    if any(type(part) is Text for part in parts):
        raise r.unread("a ratio of words")
    half = half_of_day(tokens[r.at])
    if half is not None:
        numbers = tokens[start : r.at : 2]
        time = (
            clock([int(digits) for digits in numbers], half)
            if all(n.isdigit() and len(n) < 3 for n in numbers)
            else None
        )
        if time is None:
            raise r.unread("no time of day")
        r.at += 1
        return time
    return Ratio(tuple(parts))


def _relation(r: Reader, left: Node) -> Node:
    sides, signs = [left], list[Sign]()
    congruent = False
    while True:
        token = r.tokens[r.at]
        negative = token == "\\not"
        if negative:
            token = r.tokens[r.at + 1]
        sign: Sign | None = "=" if token in ('"is', '"equals') else RELATIONS.get(token)
        if sign is None or (token == ">" and r.opens == "<") or (token == '"is' and r.tokens[r.at + 1][:1] == '"'):
            break
        r.at += 1 + negative
        if token in ("<", ">") and r.tokens[r.at] == "=":
            r.at += 1
            sign = "<=" if token == "<" else ">="
        congruent = congruent or token == "\\equiv"
        if sign in ("in", "notin", "subset") and r.tokens[r.at] in ("R", "Q", "Z", "N", "C"):
            r.tokens[r.at] = f"\\mathbb{{{r.tokens[r.at]}}}"  # with the marks behind it, as in N^*
        signs.append(_negative(r, sign) if negative else sign)
        right = _read_side(r)
        if sign == "=" and _runs_through(sides[-1], right):
            sign = "in"  # x = all real numbers
            signs[-1] = sign
        sides.append(as_set(right) if sign in ("in", "notin", "subset") else right)
    if not signs:
        return left
    if congruent and len(signs) == 1:
        right = sides[1]
        if type(right) is Call and right.name == "mod":
            return Congruence(left, right.arguments[0], right.arguments[1])
        return Congruence(left, right, PENDING)
    return Relation(tuple(sides), tuple(signs))


def _runs_through(left: Node, right: Node) -> bool:
    if type(right) is SetOperation and right.kind == "difference":
        right = right.parts[0]
    return type(left) is Symbol and left.name.islower() and type(right) is NamedSet and right.name != "empty"


def _negative(r: Reader, sign: Sign) -> Sign:
    if sign == "=":
        return "!="
    if sign == "in":
        return "notin"
    raise r.unread("cannot read a negated relation other than ≠ and ∉")


def _read_modulus(r: Reader) -> Node:
    bracket = r.take("(")
    r.at += 1
    modulus = read_sum(r)
    if bracket:
        r.expect(")", "the bracket of a modulus")
    return modulus
