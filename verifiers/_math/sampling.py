"""At which values of the symbols two expressions are compared.

The first rounds look at every region where a formula may change: large, within (0, 1), negative, of mixed signs. Where
a tree has jumps or corners, later rounds lie around its own constants and beyond them. Real points are dyadic
fractions, which balls hold exactly. Everything is drawn from a seed that both sides determine.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import cycle
from typing import NamedTuple

from guerdon.verifiers._math.draws import Draws

ONE = 2**30
"""Real values are given as integers, in parts of 2^30."""

_FAR = 10**9 * ONE
_COVERED = (0, 1)  # constants that the regions have on both sides
_REGIONS: tuple[tuple[float, float, str], ...] = (
    (1.1, 4, "positive"),
    (0.3, 3, "negative"),
    (0.05, 0.95, "positive"),
    (0.3, 3, "mixed"),
    (5, 60, "positive"),
    (0.05, 0.95, "negative"),
    (60, 4000, "mixed"),
    # only if these were not enough
    (0.05, 0.95, "mixed"),
    (1, 12, "mixed"),
    (0.001, 0.05, "positive"),
    (100, 9000, "positive"),
    (1, 2.5, "positive"),
    (0.2, 1.8, "positive"),
    (0.2, 6, "mixed"),
    (0.2, 6, "mixed"),
    (0.2, 6, "mixed"),
)
FIRST_ROUNDS = 7


class Point(NamedTuple):
    """real: values in parts of 2^30; whole: exact values, most of them integers. positive: values of unknown functions
    are drawn positive here. needed: the point is looked at even when enough others have agreed."""

    real: dict[str, int]
    whole: dict[str, int | Fraction]
    positive: bool
    needed: bool


def points(
    names: Sequence[str], whole: Collection[str], literals: Collection[Fraction], draws: Draws, *, counting: bool
) -> Iterator[Point]:
    """The points for symbols of which some take integers, natural numbers only if they are for ``counting``.

    literals: around which to look too.
    """
    reals = [name for name in names if name not in whole]
    integers = [name for name in names if name in whole]
    if not integers:
        yield from _real_points(reals, draws)
        yield from _points_around(literals, reals, draws)
    elif not reals:
        yield from integer_points(integers, draws, counting=counting)
    else:
        for point, other in zip(
            integer_points(integers, draws, counting=counting), cycle(_real_points(reals, draws)), strict=False
        ):
            yield Point(other.real, point.whole, point.positive and other.positive, point.needed or other.needed)


def _real_points(names: Sequence[str], draws: Draws) -> Iterator[Point]:
    for index, (low, high, signs) in enumerate(_REGIONS):
        a, b = int(low * ONE), int(high * ONE)
        values = {name: _signed(draws.between(a, b) | 1, signs, draws) for name in names}
        yield Point(values, {}, signs == "positive", index < FIRST_ROUNDS)


def _points_around(literals: Collection[Fraction], names: Sequence[str], draws: Draws) -> Iterator[Point]:
    """Beside each constant, between constants and beyond the largest, on both sides of zero."""
    sizes = sorted({min(int(abs(literal) * ONE), _FAR) for literal in literals if abs(literal) not in _COVERED})[-8:]
    for size in sizes:
        for eighths in (9, 7, 20):
            for signs in ("positive", "negative"):
                first = draws.between(0, len(names) - 1) if names else 0
                values = {}
                for index, name in enumerate(names):
                    around = size if index == first else sizes[draws.between(0, len(sizes) - 1)]
                    value = around * eighths * draws.between(970, 1030) // 8000
                    values[name] = _signed(value | 1, signs, draws)
                yield Point(values, {}, signs == "positive", True)


def integer_points(names: Sequence[str], draws: Draws, *, counting: bool) -> Iterator[Point]:
    """Small integers from 1 on, rising or falling where there are several; then random ones, zero and negative ones."""
    for size in range(1, 11):
        order = names if size % 2 else list(reversed(names))
        yield Point({}, {name: size + index for index, name in enumerate(order)}, True, True)
    for top in (6, 6, 12, 12, 20, 30, 30, 40):
        yield Point({}, {name: draws.between(1, top) for name in names}, True, top < 30)
    for top in (12, 40):
        rising = sorted(draws.between(1, top) for _ in names)
        yield Point({}, dict(zip(names, rising, strict=True)), True, True)
    yield Point({}, dict.fromkeys(names, 0), True, True)
    for _ in range(0 if counting else 4):
        yield Point({}, {name: draws.between(-12, 12) for name in names}, False, True)
    for _ in range(2):
        yield Point({}, {name: draws.between(100, 2000) for name in names}, True, False)


def points_on_steps(names: Sequence[str], whole: Collection[str], draws: Draws) -> Iterator[Point]:
    """Integers, halves and thirds of both signs, for symbols that need not be whole: where floors jump."""
    for part in (1, 1, 2, 2, 3):
        values: dict[str, int | Fraction] = {}
        for name in names:
            drawn = Fraction(draws.between(-20, 20), part)
            values[name] = (
                draws.between(1, 20) if name in whole else drawn.numerator if drawn.denominator == 1 else drawn
            )
        yield Point({}, values, False, True)


def _signed(value: int, signs: str, draws: Draws) -> int:
    return -value if signs == "negative" or (signs == "mixed" and draws.bits(1)) else value
