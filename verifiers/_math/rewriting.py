"""Small tools on trees: is there such a part, and the same tree with some parts changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction

from guerdon.verifiers._math.tree import Binder, Node, Number, Power, Product, SetBuilder, Sum, Symbol, children, walk

MINUS_ONE = Number(Fraction(-1))


def kinds_in(node: Node) -> frozenset[type[Node]]:
    """The kinds of a node and of all parts below it."""
    found: set[type[Node]] = set()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        kind = type(part)
        found.add(kind)
        for name in _PARTS[kind] if kind in _PARTS else _parts_of(kind):
            value = getattr(part, name)
            if type(value) is not tuple:
                if value is not None:
                    waiting.append(value)
            elif value and type(value[0]) is tuple:  # rows, and branches with None for "otherwise"
                waiting += [item for row in value for item in row if item is not None]
            else:
                waiting += value
    return frozenset(found)


_PARTS: dict[type[Node], tuple[str, ...]] = {}


def _parts_of(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that hold nodes."""
    return _PARTS.setdefault(kind, tuple(part.name for part in fields(kind) if "Node" in str(part.type)))


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
    if isinstance(node, Symbol):
        return {node.name}
    inside = set[str]().union(*map(free_names, children(node)))
    if isinstance(node, Binder):
        inside.discard(node.variable)
    elif isinstance(node, SetBuilder):
        inside -= names_in(node.element)
    return inside


def renamed(node: Node, names: dict[str, str]) -> Node:
    """A node with its variables renamed, all at once."""
    return rewritten(node, lambda part: Symbol(names.get(part.name, part.name)) if isinstance(part, Symbol) else part)


def minus(a: Node, b: Node) -> Node:
    return Sum((a, Product((MINUS_ONE, b))))


def over(a: Node, b: Node) -> Node:
    return Product((a, Power(b, MINUS_ONE)))
