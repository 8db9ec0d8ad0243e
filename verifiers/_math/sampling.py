"""At which values of the symbols two expressions are compared.

The first rounds look at every region where a formula may change: large, within (0, 1), negative, of mixed signs. Where
a tree has jumps or corners, later rounds lie around its own constants and beyond them. Points are dyadic fractions,
which balls hold exactly. Everything is drawn from a generator that the caller seeds.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction
from itertools import cycle
from typing import NamedTuple

from guerdon.verifiers._math.scope import Value

_DYADIC = 2**30
_REGIONS: tuple[tuple[float, float, str], ...] = (
    (1.1, 4, "positive"),
    (0.05, 0.95, "positive"),
    (0.3, 3, "negative"),
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
    """values: of the symbols. positive: values of unknown functions are drawn positive here. needed: it is looked at
    even when enough points have agreed."""

    values: dict[str, Value]
    positive: bool
    needed: bool


def points(
    names: Sequence[str], whole: Collection[str], literals: Collection[Fraction], rng: random.Random
) -> Iterator[Point]:
    """The points for symbols of which some take integers. literals: around which to look too."""
    reals = [name for name in names if name not in whole]
    integers = [name for name in names if name in whole]
    if not integers:
        yield from _real_points(reals, rng)
        yield from _points_around(literals, reals, rng)
    elif not reals:
        yield from integer_points(integers, rng)
    else:
        for point, other in zip(integer_points(integers, rng), cycle(_real_points(reals, rng)), strict=False):
            positive = point.positive and other.positive
            yield Point({**point.values, **other.values}, positive, point.needed or other.needed)


def _real_points(names: Sequence[str], rng: random.Random) -> Iterator[Point]:
    for index, (low, high, signs) in enumerate(_REGIONS):
        values = {name: _signed(_dyadic(rng.uniform(low, high)), signs, rng) for name in names}
        yield Point(values, signs == "positive", index < FIRST_ROUNDS)


def _points_around(literals: Collection[Fraction], names: Sequence[str], rng: random.Random) -> Iterator[Point]:
    """Beside each constant, between constants and beyond the largest, on both sides of zero."""
    sizes = sorted({abs(float(literal)) for literal in literals if 0 < abs(literal) < 10**9})[-8:]
    for size in sizes:
        for factor in (1.125, 0.875, 2.5):
            for signs in ("positive", "negative"):
                chosen = [size] + [rng.choice(sizes) for _ in names[1:]]
                rng.shuffle(chosen)
                values = {
                    name: _signed(_dyadic(around * factor * rng.uniform(0.97, 1.03)), signs, rng)
                    for name, around in zip(names, chosen, strict=True)
                }
                yield Point(values, signs == "positive", True)


def integer_points(names: Sequence[str], rng: random.Random) -> Iterator[Point]:
    """Small integers from 1 on, falling where there are several; then random ones, larger ones, zero and negative."""
    for size in range(1, 11):
        values = {name: size + len(names) - 1 - index for index, name in enumerate(names)}
        yield Point(values, True, True)
    for top in (6, 6, 12, 12, 20, 30, 30, 40):
        yield Point({name: rng.randint(1, top) for name in names}, True, top < 30)
    for top in (12, 40):
        rising = sorted(rng.randint(1, top) for _ in names)
        yield Point(dict(zip(names, rising, strict=True)), True, True)
    yield Point(dict.fromkeys(names, 0), True, True)
    for _ in range(4):
        yield Point({name: rng.randint(-12, 12) for name in names}, False, True)
    for _ in range(2):
        yield Point({name: rng.randint(100, 2000) for name in names}, True, False)


def _dyadic(value: float) -> Fraction:
    return Fraction(int(value * _DYADIC) | 1, _DYADIC)


def _signed(value: Fraction, signs: str, rng: random.Random) -> Fraction:
    negative = signs == "negative" or (signs == "mixed" and rng.random() < 0.5)
    return -value if negative else value
