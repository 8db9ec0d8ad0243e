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

from itertools import pairwise

from guerdon.verifiers._math.building import as_set, as_vector, difference, quotient
from guerdon.verifiers._math.calendar import clock, half_of_day
from guerdon.verifiers._math.expressions import read_sum
from guerdon.verifiers._math.powers import read_power
from guerdon.verifiers._math.reader import HEADS, Reader
from guerdon.verifiers._math.tree import (
    Apply,
    Braces,
    Brackets,
    Call,
    Cases,
    Congruence,
    Listing,
    NamedSet,
    Node,
    Number,
    Product,
    Quantity,
    Ratio,
    Relation,
    SetOperation,
    Sign,
    Sum,
    Symbol,
    Text,
)
from guerdon.verifiers._math.units import measure

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
_JOINTS = {'"and': "and", '"or': "or", "\\land": "and", "\\lor": "or", "\\wedge": "and", "\\vee": "or"}
SEPARATORS = frozenset((",", ";", *_JOINTS))
_ENDS = frozenset(("", ")", "]", "}", "\\}", "\\\\", *SEPARATORS)) - {"\\\\"}
CONDITIONAL = frozenset(('"if', '"for', '"when', '"where', '"with', '"whenever', '"provided', '"given', "\\forall"))
_OTHERWISE = frozenset(('"otherwise', '"else'))
_PENDING = Symbol("modulus to come")
_MODULI = frozenset(("\\pmod", "\\bmod", "\\mod"))


def read_listing(r: Reader) -> Node:
    """Items up to whatever ends them; one item is itself."""
    first = read_item(r)
    if r.tokens[r.at] not in SEPARATORS:
        return _congruent([first])[0] if type(first) is Congruence else first
    items = [first]
    joint = ","
    while (token := r.tokens[r.at]) in SEPARATORS:
        while r.tokens[r.at] in SEPARATORS:
            joint = _JOINTS.get(r.tokens[r.at], joint)
            r.at += 1
        following = r.tokens[r.at]
        if following == "":
            r.at -= 1
            raise r.unread(f"nothing follows {token.lstrip(chr(34))!r}")
        if following in CONDITIONAL:
            items = [Cases(((_listed(items, joint), read_condition(r)),))]
        else:
            items.append(read_item(r))
    return _listed(_congruent(items), joint)


def _listed(items: list[Node], joint: str) -> Node:
    """What stands side by side, as one node."""
    if len(items) == 1:
        return items[0]
    if all(type(item) is Cases and len(item.branches) == 1 for item in items) and any(
        type(item) is Cases and item.branches[0][1] != _domain(item) for item in items
    ):
        return Cases(tuple(item.branches[0] for item in items if type(item) is Cases))
    last = items[-1]
    if _is_domain(last) and not all(_is_domain(item) for item in items):
        return Cases(((_listed(items[:-1], ","), last),))
    if joint != "or" and _is_compound(items):
        return Sum(tuple(items))
    return Listing(tuple(items), "and" if joint == "and" else "or" if joint == "or" else ",")


def _domain(item: Cases) -> Node | None:
    condition = item.branches[0][1]
    return condition if condition is not None and _is_domain(condition) else Text("")


def _is_domain(node: Node) -> bool:
    """k ∈ Z: what a letter of the answer stands for."""
    return (
        type(node) is Relation
        and node.signs == ("in",)
        and type(node.sides[0]) is Symbol
        and type(node.sides[1]) is NamedSet
    )


def _is_compound(items: list[Node]) -> bool:
    """Whether these are one quantity in units that become smaller."""
    if not all(type(item) is Quantity for item in items):
        return False
    measures = [measure(item.unit) for item in items if type(item) is Quantity]
    factors = [one.factor for one in measures]
    return (
        len({one.dimension for one in measures}) == 1
        and all(big > small for big, small in pairwise(factors))
        and all(type(item) is Quantity and type(item.value) is Number for item in items)
    )


def _congruent(items: list[Node]) -> list[Node]:
    """The modulus that stands behind the last item, given to those before it; without any, ≡ is =."""
    if not any(type(item) is Congruence and item.modulus == _PENDING for item in items):
        return items
    last = items[-1]
    known = last.arguments if type(last) is Call and last.name == "mod" else None
    done: list[Node] = []
    left: Node | None = None
    for item in items:
        if type(item) is Congruence and item.modulus == _PENDING:
            left = item.left
            done.append(
                Relation((left, item.right), ("=",)) if known is None else Congruence(left, item.right, known[1])
            )
        elif known is not None and left is not None:
            done.append(Congruence(left, known[0] if item is last else item, known[1]))
        else:
            done.append(item)
    return done


def read_item(r: Reader) -> Node:
    """One item: a value, set, statement or words, with its condition."""
    token = r.tokens[r.at]
    if token[:1] == '"' and len(token) > 2:
        if r.opens == "matrix" and token in CONDITIONAL:
            return read_condition(r)  # "if x > 0" in the second column of cases
        HEADS["lead-in"](r, token)
        if r.tokens[r.at] in _OTHERWISE:
            return _otherwise(r)
    left = read_sum(r)
    if r.tokens[r.at] in _ENDS and r.condition is None and not r.vectors and type(left) is not Product:
        return left
    return finish_item(r, left)


def _otherwise(r: Reader) -> Node:
    r.at += 1
    if r.tokens[r.at] in _ENDS or r.tokens[r.at] == "\\\\" or r.tokens[r.at].startswith("\\end"):
        return Text("otherwise")
    r.take(",")
    return Cases(((read_sum(r), None),))


def finish_item(r: Reader, left: Node) -> Node:
    """The item whose first value has been read."""
    node = _named_point(r, finish_side(r, as_vector(left) if r.vectors else left))
    token = r.tokens[r.at]
    if token[:1] == '"' and type(node) is Symbol and (found := _free(r, node)) is not None:
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
    if token in _OTHERWISE:
        r.at += 1
        return Cases(((node, None),))
    return node


def _free(r: Reader, symbol: Node) -> Node | None:
    """x "can be any real number", "is an integer": the variable in a set; None, with nothing passed, if it is none."""
    start = r.at
    while r.tokens[r.at] in _MAY_BE:
        r.at += 1
    if r.at > start and r.tokens[r.at][:1] == '"':
        word = r.tokens[r.at]
        r.at += 1
        found = HEADS["word"](r, word)
        if isinstance(found, (NamedSet, SetOperation, Brackets)):
            return Relation((symbol, found), ("in",))
    r.at = start
    return None


_MAY_BE = frozenset(('"can', '"may', '"must', '"could', '"be', '"is', '"an', '"a', "a", '"take', '"on', '"are'))


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
        return Congruence(left, right, _PENDING)
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


def read_condition(r: Reader) -> Node:
    """The condition behind "if", "for", "where": a statement, or the words up to the end of the item."""
    bracket = r.take("(")
    r.at += 1
    while r.tokens[r.at] in ('"all', '"every', '"any', '"some', '"each'):
        r.at += 1
    start = r.at
    if r.tokens[start][:1] != '"':
        r.deeper()
        condition = read_item(r)
        while not bracket and r.tokens[r.at] in ('"and', '"or', ",") and _more_follows(r.tokens[r.at + 1]):
            r.at += 1
            condition = _listed([condition, read_item(r)], "and")
        r.depth -= 1
        if r.tokens[r.at][:1] != '"' or r.tokens[r.at] in SEPARATORS:
            if bracket:
                r.expect(")", "the bracket of a condition")
            return condition
        r.at = start
    words: list[str] = []
    while (token := r.tokens[r.at]) not in (",", ";", "", ")", "\\\\", "}") and not token.startswith("\\end"):
        words.append(token.lstrip('"'))
        r.at += 1
    if bracket:
        r.expect(")", "the bracket of a condition")
    if not words:
        raise r.unexpected()
    return HEADS["text"](r, " ".join(words))


def _more_follows(token: str) -> bool:
    """Whether a condition goes on behind a comma: not with words, and not at the end of a row."""
    return token[:1] != '"' and token not in ("", "\\\\", "&") and not token.startswith("\\end")
