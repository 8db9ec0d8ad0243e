r"""``\pm`` written out: ``1 \pm x`` is the two values ``1 + x`` and ``1 - x``.

With a ``\mp`` all signs of an answer are tied, the upper ones together and the lower ones together. Without one, each
``\pm`` is independent of the others: ``(\pm 1, \pm 2)`` are four points.
"""

from __future__ import annotations

from itertools import product

from guerdon.verifiers._math.rewriting import MINUS_ONE, kinds_in, rewritten
from guerdon.verifiers._math.tree import Braces, Listing, Node, PlusMinus, Product, Relation, walk

MOST_SIGNS = 6


def spread(node: Node) -> Node | None:
    """A node without ``PlusMinus``: a list of what it stands for, or a set with more items. None beyond 6 signs."""
    if PlusMinus not in kinds_in(node):
        return node
    if isinstance(node, Listing | Braces):
        items: list[Node] = []
        for item in node.items:
            written_out = alternatives(item)
            if written_out is None:
                return None
            items += written_out
        return Braces(tuple(items)) if isinstance(node, Braces) else Listing(tuple(items), node.joint)
    written_out = alternatives(node)
    if written_out is None:
        return None
    unequal = isinstance(node, Relation) and node.signs == ("!=",)
    return Listing(tuple(written_out), "and" if unequal else "or")


def alternatives(node: Node) -> list[Node] | None:
    """Everything that a node stands for, the node itself if it has no ``PlusMinus``; None beyond 6 signs."""
    found = [part for part in walk(node) if isinstance(part, PlusMinus)]
    if any(part.opposite for part in found):
        return [_with_signs(node, [sign] * len(found)) for sign in (1, -1)]
    if len(found) > MOST_SIGNS:
        return None
    return [_with_signs(node, signs) for signs in product((1, -1), repeat=len(found))]


def _with_signs(node: Node, signs: list[int] | tuple[int, ...]) -> Node:
    waiting = iter(signs)

    def signed(part: Node) -> Node:
        if not isinstance(part, PlusMinus):
            return part
        positive = (next(waiting) > 0) != part.opposite
        return part.value if positive else Product((MINUS_ONE, part.value))

    return rewritten(node, signed)
