"""Whether two expressions with symbols have equal values wherever both have one.

They are compared at points drawn for this pair: proved apart at one point of the common real domain they are unequal;
equal if they agree at all of them, at no fewer than three to 512 bits. Symbols that stand where only integers make
sense take integers. Where the two have no common real point, complex values are compared instead.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from guerdon.verifiers._math.closed import FIRST_LOOK, MAX_PRECISION, PRECISION, Reading, compare
from guerdon.verifiers._math.decision import (
    Decision,
    InexactError,
    OversizeError,
    UndefinedError,
    VagueError,
)
from guerdon.verifiers._math.evaluate import evaluate
from guerdon.verifiers._math.sampling import Point, integer_points, points
from guerdon.verifiers._math.scope import Value, check_time
from guerdon.verifiers._math.structure import Survey, Traits
from guerdon.verifiers._math.tree import Node

ENOUGH = 3
_INTEGER_NAMES = frozenset("ijklmnIJKLMN")


def same_at_points(a: Node, b: Node, both: Survey, reading: Reading) -> Decision:
    """The decision on two expressions; raises InexactError if they were found to have values at too few points."""
    names = list(both.symbols)
    imaginary = bool(both.traits & Traits.IMAGINARY)
    whole = {name for name in names if name in both.whole or (both.traits & Traits.STEPS and _is_integer_name(name))}
    literals = both.literals if both.traits & Traits.PIECEWISE else ()
    rng = random.Random(both.key)
    trial = _Trial(a, b, reading)
    found = trial.run(points(names, whole, literals, rng), rng, real=not imaginary)
    if found is None and len(whole) < len(names):  # they may have values at integers only
        found = trial.run(integer_points(names, rng), rng, real=not imaginary)
    if found is None and not imaginary:
        trial = _Trial(a, b, replace(reading, principal=True))
        found = trial.run(points(names, whole, literals, rng), rng, real=False)
    if found is None:
        raise InexactError(f"they have common values at too few points: {trial.obstacle}")
    return found


def _is_integer_name(name: str) -> bool:
    return name[0] in _INTEGER_NAMES and not name[1:2].isalpha()


class _Trial:
    """Two expressions, compared at one point after the other."""

    def __init__(self, a: Node, b: Node, reading: Reading) -> None:
        self.a, self.b, self.reading = a, b, reading
        self.obstacle: object = "none tried"

    def run(self, candidates: Iterable[Point], rng: random.Random, *, real: bool) -> Decision | None:
        """The decision, or None if fewer than three points could be compared."""
        agreed: list[tuple[Point, int]] = []
        by_digits = False
        for point in candidates:
            if len(agreed) >= ENOUGH and not point.needed:
                continue
            check_time(self.reading.deadline)
            seed = rng.getrandbits(32)
            for precision in (FIRST_LOOK, PRECISION):
                found = self._at(point, seed, precision, real)
                if found != "vague":
                    break
            if isinstance(found, Decision):
                if not found.equal:
                    return Decision(False, "identity-numeric", f"different where {_shown(point)}")
                by_digits = by_digits or found.stage == "digits"
            if found != "vague" and found is not None:
                agreed.append((point, seed))
        if len(agreed) < ENOUGH:
            return None
        if by_digits:
            return Decision(True, "digits", f"agree to 12 significant digits at {len(agreed)} points")
        return self._confirm(agreed, real)

    def _confirm(self, agreed: list[tuple[Point, int]], real: bool) -> Decision | None:
        """Look at points that agreed once more, with as many bits as they need."""
        confirmed = 0
        for point, seed in agreed:
            check_time(self.reading.deadline)
            precision = PRECISION
            while precision <= MAX_PRECISION:
                found = self._at(point, seed, precision, real)
                if found != "near":
                    break
                precision *= 2
            if isinstance(found, Decision):
                if not found.equal:
                    return Decision(False, "identity-numeric", f"different where {_shown(point)}")
                confirmed += 1
                if confirmed == ENOUGH:
                    return Decision(True, f"numeric-512 at {len(agreed)} points")
        self.obstacle = "the values lie too far apart in size to be compared"
        return None

    def _at(self, point: Point, seed: int, precision: int, real: bool) -> Decision | Literal["near", "vague"] | None:
        """A decision at one point; ``near`` if the values agree so far, ``vague`` if more bits are needed to say
        anything, None if one side has no value there."""
        drawn = random.Random(seed)

        def draw() -> Value:
            value = Fraction(drawn.getrandbits(30) | 1, 2**29)
            return value if point.positive or drawn.random() < 0.5 else -value

        scope = self.reading.scope(precision, point.values, real=real, draw=draw)
        with scope.balls().working():
            try:
                x, y = evaluate(self.a, scope), evaluate(self.b, scope)
            except VagueError as obstacle:
                self.obstacle = obstacle
                return "vague" if precision < PRECISION else None
            except (UndefinedError, InexactError, OversizeError) as obstacle:
                self.obstacle = obstacle
                return None
            found = compare(x, y, scope, self.reading.digits)
            if found is not None:
                return found
            near = scope.balls().closeness(scope.ball(x), scope.ball(y)) == "near"
            return "near" if near or precision >= PRECISION else "vague"


def _shown(point: Point) -> str:
    return ", ".join(f"{name} = {float(value):.6g}" for name, value in point.values.items()) or "an argument is drawn"
