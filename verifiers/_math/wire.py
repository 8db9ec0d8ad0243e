"""Trees as JSON and back, for the pipe to the symbolic workers: no pickle, and no class that is not a node.

A node is a list of its kind's name and its fields; a tuple is ``{"t": [...]}``; a fraction is ``{"q": "3/2"}`` with
hexadecimal digits, which take linear time to write and to read.
"""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from guerdon.verifiers._math import tree
from guerdon.verifiers._math.tree import Node

KINDS: dict[str, type[Node]] = {
    name: kind for name, kind in vars(tree).items() if isinstance(kind, type) and issubclass(kind, Node)
}


def pack(part: Any) -> Any:
    """A node, or a part of one, as lists, dicts, strings and numbers."""
    if isinstance(part, Node):
        return [type(part).__name__, *(pack(getattr(part, field.name)) for field in fields(part))]
    if isinstance(part, tuple):
        return {"t": [pack(item) for item in part]}
    if isinstance(part, Fraction):
        return {"q": f"{part.numerator:x}/{part.denominator:x}"}
    return part


def unpack(packed: Any) -> Any:
    """The reverse of ``pack``; raises ValueError for anything that ``pack`` does not write."""
    if isinstance(packed, list):
        kind = KINDS.get(packed[0])
        if kind is None:
            raise ValueError(f"no kind of node: {packed[0]!r:.80}")
        return kind(*(unpack(part) for part in packed[1:]))
    if isinstance(packed, dict):
        if "t" in packed:
            return tuple(unpack(item) for item in packed["t"])
        above, _, below = packed["q"].partition("/")
        return Fraction(int(above, 16), int(below, 16))
    return packed
