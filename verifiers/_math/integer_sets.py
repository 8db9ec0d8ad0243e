r"""Finite sets of integers that are described: ``\{x \in \mathbb{Z} : 1 \le x < 4\}`` is ``\{1, 2, 3\}``."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from guerdon.verifiers._math.reading_sets import read_set
from guerdon.verifiers._math.structure import exact
from guerdon.verifiers._math.tree import Braces, NamedSet, Node, Number, Relation, SetBuilder

_SMALLEST = {"Z": None, "N": 0, "Z+": 1, "N*": 1, "N+": 1}
_MOST = 1_000


def listed(node: Node, deadline: float | None) -> Braces | None:
    """The set by its elements if it is one of at most 1,000 integers between two rational ends, else None."""
    if not isinstance(node, SetBuilder):
        return None
    statements = [*node.conditions, *([node.element] if isinstance(node.element, Relation) else [])]
    variable = node.element.sides[0] if isinstance(node.element, Relation) else node.element
    domains = [part for part in statements if isinstance(part, Relation) and _domain(part) is not None]
    if len(domains) != 1 or domains[0].sides[0] != variable:
        return None
    bounds = tuple(part for part in statements if part is not domains[0])
    found = read_set(SetBuilder(variable, bounds), solve=True, pairs=False, deadline=deadline)
    if found is None or found[1].inside[0] or found[1].inside[-1]:
        return None
    points = [exact(point) for point in found[1].points]
    if not points or any(point is None for point in points):
        return None
    ends = [point for point in points if point is not None]
    lowest, smallest = ceil(ends[0]), _SMALLEST[_domain(domains[0]) or "Z"]
    if floor(ends[-1]) - lowest > _MOST or (smallest == 0 and lowest <= 0):
        return None  # whether 0 is a natural number is a matter of taste
    integers = range(max(lowest, lowest if smallest is None else smallest), floor(ends[-1]) + 1)
    return Braces(tuple(Number(Fraction(n)) for n in integers if _is_inside(n, ends, found[1].inside)))


def _domain(statement: Relation) -> str | None:
    inside = statement.sides[1]
    named = statement.signs == ("in",) and isinstance(inside, NamedSet) and inside.name in _SMALLEST
    return inside.name if named and isinstance(inside, NamedSet) else None


def _is_inside(n: int, ends: list[Fraction], inside: tuple[bool, ...]) -> bool:
    for index, end in enumerate(ends):
        if n <= end:
            return inside[2 * index + (n == end)]
    return inside[-1]
