"""Small tools on trees: is there such a part, and the same tree with some parts changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction

from guerdon.verifiers._math.tree import (
    Binder,
    Constant,
    Node,
    Number,
    Power,
    Product,
    SetBuilder,
    Sum,
    Symbol,
    children,
    walk,
)

MINUS_ONE = Number(Fraction(-1))
_LEAVES = frozenset({Number, Symbol, Constant})
"""Most nodes of most trees: nothing is inside of them."""


def kinds_in(node: Node) -> frozenset[type[Node]]:
    """The kinds of a node and of all parts below it."""
    found: set[type[Node]] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        kind = type(part)
        found.add(kind)
        # the usual kinds by name, since each comparison takes this walk several times
        if isinstance(part, Product):
            waiting += part.factors
        elif isinstance(part, Power):
            waiting += (part.base, part.exponent)
        elif kind not in _LEAVES:
            waiting += children(part)
    return frozenset(found)


def has(node: Node, wanted: Callable[[Node], bool]) -> bool:
    """Whether a node or any part below it is as wanted."""
    return any(wanted(part) for part in walk(node))


def rewritten(node: Node, change: Callable[[Node], Node]) -> Node:
    """A node with ``change`` applied to every part, from the leaves up. As deep as the tree, which the parser bounds.

    >>> from guerdon.verifiers._math.tree import Call, Symbol
    >>> rewritten(Call("sin", (Symbol("x"),)), lambda part: Symbol("y") if part == Symbol("x") else part)
    Call(name='sin', arguments=(Symbol(name='y'),))
    """
    parts = {}
    for part in fields(node):
        before = getattr(node, part.name)
        after = _rewritten(before, change)
        if after is not before:
            parts[part.name] = after
    return change(replace(node, **parts) if parts else node)


def _rewritten(value: object, change: Callable[[Node], Node]) -> object:
    if isinstance(value, Node):
        return rewritten(value, change)
    if isinstance(value, tuple):
        items = tuple(_rewritten(item, change) for item in value)
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    return value


def names_in(node: Node) -> set[str]:
    """The variables that are written anywhere in a node, bound ones included."""
    return {part.name for part in walk(node) if isinstance(part, Symbol)}


def free_names(node: Node) -> set[str]:
    """The variables of a node that nothing in it binds: a sum binds its index, a set its element's variable."""
    found: set[str] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Symbol):
            found.add(part.name)
        elif isinstance(part, (Binder, SetBuilder)):
            inside = set[str]().union(*map(free_names, children(part)))
            found |= inside - ({part.variable} if isinstance(part, Binder) else names_in(part.element))
        elif type(part) not in _LEAVES:
            waiting += children(part)
    return found


def renamed(node: Node, names: dict[str, str]) -> Node:
    """A node with its variables renamed, all at once."""
    return rewritten(node, lambda part: Symbol(names.get(part.name, part.name)) if isinstance(part, Symbol) else part)


def minus(a: Node, b: Node) -> Node:
    return Sum((a, Product((MINUS_ONE, b))))


def over(a: Node, b: Node) -> Node:
    return Product((a, Power(b, MINUS_ONE)))
