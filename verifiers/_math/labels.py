r"""Values with a name: ``x = 5``, ``f(x) = 2x + 1``, ``(p, q) = (3, 2)``, ``m + n = 256 + 37 = 293``.

The name is dropped when the other side has none. ``n = 3k`` has the value 3k and never 3; a curve such as
``2x + 3y = 5`` or ``x^2 = 4`` has no name at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.judging import Ask, any_of, unequal
from guerdon.verifiers._math.rewriting import MINUS_ONE, free_names, renamed
from guerdon.verifiers._math.scalars import rounds_to
from guerdon.verifiers._math.tree import (
    Apply,
    Binder,
    Brackets,
    Call,
    Cases,
    Matrix,
    Node,
    Power,
    Product,
    Ratio,
    Relation,
    Sum,
    Symbol,
    Text,
    walk,
)

_ANY_THING = frozenset({"unit", "item", "object", "thing", "piece", "total", "square", "cubic"})
_NAMES = (Symbol, Apply, Text)


@dataclass(frozen=True, slots=True)
class Named:
    """A value and its names. values: what the sides of a chain say it is, which must be one and the same value."""

    names: tuple[Node, ...]
    values: tuple[Node, ...]


def named(node: Node) -> Named:
    """What a node says, with the names it gives to it; a node without a name is its own value."""
    if isinstance(node, Cases) and len(node.branches) == 1:
        node = node.branches[0][0]
    if not isinstance(node, Relation):
        return Named((), (node,))
    if node.signs == ("in",) and is_name(node.sides[0], node.sides[1]):
        return Named(node.sides[:1], node.sides[1:])
    if node.signs == ("maps",):
        start = node.sides[0]
        return Named((Apply("", start.items if isinstance(start, Brackets) else (start,)),), node.sides[1:])
    if any(sign not in ("=", "approx") for sign in node.signs):
        return Named((), (node,))
    sides = list(node.sides)
    if _closed(sides[0]) and len(sides) == 2 and isinstance(sides[1], _NAMES):
        sides.reverse()  # 5 = x
    value = sides[-1]
    names = []
    while len(sides) > 1 and is_name(sides[0], value):
        names.append(sides.pop(0))
    if len(sides) > 1 and not all(map(_closed, sides)):
        if not names:
            return Named((), (node,))  # an equation
        sides = [side for side in sides if _closed(side)] if _closed(value) else [value]
    return Named(tuple(names), tuple(sides))


def contradicts_itself(named: Named, ask: Ask) -> bool:
    """Whether two sides of a chain are certainly different values; a rounding is not."""
    return any(
        ask.same(a, b).equal is False and not rounds_to(a, b, ask.deadline) and not rounds_to(b, a, ask.deadline)
        for a, b in combinations(named.values, 2)
    )


def same_named(a: Named, b: Named, ask: Ask) -> Decision:
    """Whether two named values are the same, the names too if both have one."""
    if contradicts_itself(a, ask) or contradicts_itself(b, ask):
        return unequal("chain", "different values are said to be equal")
    pairs = ((x, y) for x in reversed(a.values) for y in reversed(b.values))
    return any_of((_same_under_names(a.names, x, b.names, y, ask) for x, y in pairs), unequal("value", "another value"))


def _same_under_names(a: tuple[Node, ...], x: Node, b: tuple[Node, ...], y: Node, ask: Ask) -> Decision:
    if not a or not b:
        return ask.same(x, y)
    f, g = _function(a[0], x), _function(b[0], y)
    if f and g:
        if len(f.arguments) != len(g.arguments) or (f.name and g.name and f.name != g.name):
            return unequal("names", f"{f.name} is not {g.name}")
        fresh = [f"_{index}" for index in range(len(f.arguments))]
        return ask.same(_with_arguments(x, f, fresh), _with_arguments(y, g, fresh))
    if (f and _is_value_of(a[0], b[0])) or (g and _is_value_of(b[0], a[0])):
        return ask.same(x, y)
    if not any(_same_name(one, other) for one in a for other in b):
        return unequal("names", "another variable")
    return ask.same(x, y)


def same_names(a: tuple[Node, ...], b: tuple[Node, ...]) -> bool:
    """Whether two values may be meant to be the same one: one of the names in common, or no name on one side."""
    return not a or not b or any(_same_name(one, other) for one in a for other in b)


@dataclass(frozen=True, slots=True)
class _Function:
    name: str  # "" for a mapping, which has none
    arguments: tuple[str, ...]


def _function(name: Node, body: Node) -> _Function | None:
    r"""f(x), or a_n where n stands in the body; None for f(2), a_1 and x."""
    if isinstance(name, Apply) and all(isinstance(argument, Symbol) for argument in name.arguments):
        arguments = tuple(argument.name for argument in name.arguments if isinstance(argument, Symbol))
        return _Function(name.name, arguments) if len(set(arguments)) == len(arguments) else None
    if isinstance(name, Symbol):
        stem, _, index = name.name.partition("_")
        return _Function(stem, (index,)) if index and index in free_names(body) else None
    return None


def _is_value_of(function: Node, name: Node) -> bool:
    """y = 2x + 1 is f(x) = 2x + 1."""
    return isinstance(function, Apply) and isinstance(name, Symbol) and "_" not in name.name


def _with_arguments(body: Node, function: _Function, fresh: list[str]) -> Node:
    return renamed(body, dict(zip(function.arguments, fresh, strict=True)))


# --- what is a name ---------------------------------------------------------------------------------------------------


def _closed(node: Node) -> bool:
    """Whether nothing in it is unknown. An index such as n_1 of f(n_1) counts as well as f(1)."""
    return not free_names(node) and not any(isinstance(part, Text | Apply) for part in walk(node))


def is_name(node: Node, value: Node) -> bool:
    """Whether the left side of ``node = value`` only says what the value is of."""
    if isinstance(node, Symbol):
        return node.name not in free_names(value)
    if isinstance(node, Apply | Text):
        return True
    if isinstance(node, Brackets | Matrix):
        items = node.items if isinstance(node, Brackets) else tuple(item for row in node.rows for item in row)
        return all(isinstance(item, _NAMES) for item in items)
    return _is_derivative(node) or (_closed(value) and not _closed(node) and _is_compound_name(node))


def _is_derivative(node: Node) -> bool:
    """dy/dx"""
    if not (isinstance(node, Product) and len(node.factors) == 2 and isinstance(node.factors[1], Power)):
        return False
    parts = (node.factors[0], node.factors[1].base)
    return node.factors[1].exponent == MINUS_ONE and all(
        isinstance(part, Product) and len(part.factors) == 2 and part.factors[0] == Symbol("d") for part in parts
    )


def _is_compound_name(node: Node) -> bool:
    """AB, m+n, a/b, V_1:V_2, |AB|, sin A, det M: names of a number; 2x+3y and x^2 are curves."""
    if isinstance(node, Call | Binder):
        return True
    if isinstance(node, Ratio):
        return all(isinstance(part, _NAMES) for part in node.parts)
    if isinstance(node, Sum):
        return all(_is_plain_term(term) for term in node.terms)
    return isinstance(node, Product) and all(_is_plain_factor(factor) for factor in node.factors)


def _is_plain_term(node: Node) -> bool:
    if isinstance(node, Product) and node.factors[0] == MINUS_ONE:
        node = node.factors[1] if len(node.factors) == 2 else Product(node.factors[1:])
    return isinstance(node, _NAMES) or (isinstance(node, Product) and all(map(_is_plain_factor, node.factors)))


def _is_plain_factor(node: Node) -> bool:
    if isinstance(node, Power) and node.exponent == MINUS_ONE:
        node = node.base
    return isinstance(node, _NAMES) or (
        isinstance(node, Product) and all(isinstance(one, _NAMES) for one in node.factors)
    )


def _same_name(a: Node, b: Node) -> bool:
    if isinstance(a, Text) and isinstance(b, Text):
        return share_a_word(a.text, b.text)
    return _key(a) == _key(b) or _shorter(a, b) or _shorter(b, a)


def share_a_word(a: str, b: str) -> bool:
    """Whether two descriptions may be of the same things: "goats" and "stuffed goats"; "units" is any of them."""
    ours, theirs = (frozenset(word.rstrip(".,").removesuffix("s") for word in text.split()) for text in (a, b))
    return bool(ours & theirs) or ours <= _ANY_THING or theirs <= _ANY_THING


def _key(node: Node) -> object:
    """AB and BA name one segment."""
    if isinstance(node, Product) and all(isinstance(factor, Symbol) for factor in node.factors):
        return tuple(sorted(repr(factor) for factor in node.factors))
    return node


def _shorter(a: Node, b: Node) -> bool:
    """m is short for m_max and m_min."""
    return isinstance(a, Symbol) and isinstance(b, Symbol) and b.name in (f"{a.name}_max", f"{a.name}_min")
