"""How a tree becomes text: a writer for each kind of node, and brackets where a node holds together too loosely."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, TypeVar

from guerdon.verifiers._math.tree import Node

LIST, STATEMENT, SET, SUM, PRODUCT, POWER, OPERAND = range(7)
"""How tightly what was written holds together, from a list to a single operand."""

Written: TypeAlias = tuple[str, int]
_Kind = TypeVar("_Kind", bound=Node)
_WRITERS: dict[type[Node], Callable[..., Written]] = {}


def writes(kind: type[_Kind]) -> Callable[[Callable[[_Kind], Written]], Callable[[_Kind], Written]]:
    """Enters the writer of a kind of node."""

    def enter(function: Callable[[_Kind], Written]) -> Callable[[_Kind], Written]:
        _WRITERS[kind] = function
        return function

    return enter


def written(node: Node) -> Written:
    """The text of a node and how tightly it holds together."""
    return _WRITERS[type(node)](node)


def inside(node: Node, least: int) -> str:
    """The text, in brackets if it holds together less tightly than its place asks."""
    text, holds = written(node)
    return text if holds >= least else f"({text})"


def plain(node: Node) -> str:
    """The text without brackets around it."""
    return written(node)[0]
