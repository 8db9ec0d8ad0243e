"""Sets of real numbers, in a form in which equal sets look equal.

A set is written by its boundary points in rising order and by what is inside: whether below the first point, at it,
between it and the second, at the second, and so on. ``(-inf, 3]`` is the point 3 with (True, True, False); all reals
are no points and (True,). Union, intersection and complement are then a matter of one list of points and of booleans.
Points are values of any kind, put in order by a ``Line``; a single interval may have ends whose order nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from guerdon.verifiers._math.identity import order
from guerdon.verifiers._math.scope import check_time
from guerdon.verifiers._math.tree import Node


class UnorderedError(Exception):
    """The order of two boundary points cannot be told. Never leaves the math verifier."""


@dataclass(frozen=True, slots=True)
class RealSet:
    """points: rising. inside: one more than twice as many, alternately a gap and a point, from -inf to inf."""

    points: tuple[Node, ...]
    inside: tuple[bool, ...]

    @property
    def is_empty(self) -> bool:
        return not any(self.inside)


ALL = RealSet((), (True,))
EMPTY = RealSet((), (False,))


def ray(end: Node, *, above: bool, closed: bool) -> RealSet:
    """The numbers above or below an end."""
    return RealSet((end,), (not above, closed, above))


def with_ends(given: RealSet) -> RealSet:
    """The same set with the boundary points of its intervals inside."""
    inside = list(given.inside)
    for index in range(1, len(inside), 2):
        inside[index] = any(inside[index - 1 : index + 2])
    return _tidy(RealSet(given.points, tuple(inside)))


class Line:
    """What needs the order of points: intervals, finite sets, and sets put together.

    deadline: of ``time.monotonic()`` or None; past it, CannotTellError is raised.
    """

    def __init__(self, deadline: float | None = None) -> None:
        self._deadline = deadline

    def interval(self, low: Node, high: Node, *, low_closed: bool, high_closed: bool) -> RealSet | None:
        """Between two ends; None if they are the wrong way round. An order that nobody knows is taken as written."""
        found = order(low, high, deadline=self._deadline)
        if found == 0 and low_closed and high_closed:
            return self.finite((low,))
        if found is not None and found >= 0:
            return None
        return RealSet((low, high), (False, low_closed, True, high_closed, False))

    def finite(self, points: Iterable[Node]) -> RealSet:
        """Some points. Raises UnorderedError for several of unknown order, as do the others below."""
        return self.union(*(RealSet((point,), (False, True, False)) for point in points))

    def union(self, *sets: RealSet) -> RealSet:
        """Halves first, so that each of n points is put in order with log n others and not with all."""
        if len(sets) < 2:
            return sets[0] if sets else EMPTY
        middle = len(sets) // 2
        return self._combined(self.union(*sets[:middle]), self.union(*sets[middle:]), lambda x, y: x or y)

    def intersection(self, a: RealSet, b: RealSet) -> RealSet:
        return self._combined(a, b, lambda x, y: x and y)

    def difference(self, a: RealSet, b: RealSet) -> RealSet:
        return self._combined(a, b, lambda x, y: x and not y)

    def _combined(self, a: RealSet, b: RealSet, inside: Callable[[bool, bool], bool]) -> RealSet:
        points: list[Node] = []
        found = [inside(a.inside[0], b.inside[0])]
        i = j = 0
        while i < len(a.points) or j < len(b.points):
            where = self._which_first(a, i, b, j)
            points.append(a.points[i] if where <= 0 else b.points[j])
            at_a = a.inside[2 * i + 1] if where <= 0 else a.inside[2 * i]
            at_b = b.inside[2 * j + 1] if where >= 0 else b.inside[2 * j]
            i, j = i + (where <= 0), j + (where >= 0)
            found += [inside(at_a, at_b), inside(a.inside[2 * i], b.inside[2 * j])]
        return _tidy(RealSet(tuple(points), tuple(found)))

    def _which_first(self, a: RealSet, i: int, b: RealSet, j: int) -> int:
        if i == len(a.points) or j == len(b.points):
            return 1 if i == len(a.points) else -1
        if a.points[i] == b.points[j]:
            return 0
        check_time(self._deadline)
        found = order(a.points[i], b.points[j], deadline=self._deadline)
        if found is None:
            raise UnorderedError
        return found


def _tidy(given: RealSet) -> RealSet:
    """Without points at which nothing changes."""
    points, inside = [], [given.inside[0]]
    for index, point in enumerate(given.points):
        at, after = given.inside[2 * index + 1], given.inside[2 * index + 2]
        if not inside[-1] == at == after:
            points.append(point)
            inside += [at, after]
    return RealSet(tuple(points), tuple(inside))
