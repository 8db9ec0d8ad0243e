"""Whether two expressions with symbols have equal values wherever both have one.

They are compared at points drawn for this pair: proved apart at one point of the common real domain they are unequal;
equal if they agree at all of them, at three to 512 bits and at the others to 128. Three are enough for functions that
are analytic; others are looked at in every region. Symbols that stand where only
integers make sense take integers. Where the two have no common real point, complex values are compared instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from itertools import chain

from guerdon.verifiers._math.closed import MAX_PRECISION, PRECISION, Reading, compare
from guerdon.verifiers._math.decision import Decision, InexactError, OversizeError, UndefinedError, VagueError
from guerdon.verifiers._math.draws import Draws
from guerdon.verifiers._math.evaluate import evaluate
from guerdon.verifiers._math.sampling import ONE, Point, integer_points, points, points_on_steps
from guerdon.verifiers._math.scope import Value, check_time
from guerdon.verifiers._math.survey import Survey, Traits
from guerdon.verifiers._math.switches import points_between
from guerdon.verifiers._math.tree import Node

ENOUGH = 3
_QUICK = 128
_NEAR = Decision(None, "near")
_INTEGER_NAMES = frozenset("ijklmnIJKLMN")


def same_at_points(a: Node, b: Node, both: Survey, reading: Reading) -> Decision:
    """The decision on two expressions; raises InexactError if they were found to have values at too few points."""
    imaginary = bool(both.traits & Traits.IMAGINARY)
    reading = replace(reading, principal=imaginary)
    found = _same_in(a, b, both, reading, real=not imaginary)
    if not found.equal and both.traits & Traits.OPEN_LOG:
        other = _same_in(a, b, both, replace(reading, log_base=10), real=not imaginary)
        return other if other.equal else found
    return found


def _same_in(a: Node, b: Node, both: Survey, reading: Reading, *, real: bool) -> Decision:
    names = sorted(both.symbols)
    whole = {name for name in names if name in both.whole or (both.traits & Traits.STEPS and _is_integer_name(name))}
    literals = both.literals if both.traits & Traits.PIECEWISE else ()
    counting = bool(both.traits & Traits.COUNTING)
    smooth = not whole and not both.traits & Traits.PIECEWISE
    draws = Draws(both.key)
    trial = _Trial(a, b, reading)
    candidates = points(names, whole, literals, draws, counting=counting)
    if not smooth and not whole:
        candidates = chain(candidates, points_between((a, b), names, draws))
    if both.traits & Traits.STEPS and len(whole) < len(names):  # random reals are never where floors jump
        candidates = chain(candidates, points_on_steps(names, whole, draws))
    found = trial.run(candidates, draws, real=real, smooth=smooth)
    if found is None and len(whole) < len(names):  # they may have values at integers only
        found = trial.run(integer_points(names, draws, counting=counting), draws, real=real, smooth=False)
    if found is None and real:
        trial.reading = replace(reading, principal=True)
        found = trial.run(points(names, whole, literals, draws, counting=counting), draws, real=False, smooth=False)
    if found is None and isinstance(trial.obstacle, OversizeError):
        raise OversizeError(str(trial.obstacle))
    if found is None:
        raise InexactError(f"common values at too few points: {trial.obstacle}")
    return found


def _is_integer_name(name: str) -> bool:
    return name[0] in _INTEGER_NAMES and not name[1:2].isalpha()


class _Trial:
    """Two expressions, compared at one point after the other."""

    def __init__(self, a: Node, b: Node, reading: Reading) -> None:
        self.a, self.b, self.reading = a, b, reading
        self.obstacle: object = "none tried"

    def run(self, candidates: Iterable[Point], draws: Draws, *, real: bool, smooth: bool) -> Decision | None:
        """The decision, or None if fewer than three points could be compared.

        smooth: both sides are analytic functions of real symbols, so that no region needs a look of its own.
        """
        agreed = 0
        by_digits = False
        for point in candidates:
            if agreed >= ENOUGH and (smooth or not point.needed):
                continue
            check_time(self.reading.deadline)
            found = self._at(point, draws.bits(64), real, quick=agreed >= ENOUGH)
            if found is None:
                continue
            if found.equal is False:
                return Decision(False, "identity-numeric", f"different where {_shown(point)}")
            by_digits = by_digits or found.stage == "digits"
            agreed += 1
        if agreed < ENOUGH:
            return None
        if by_digits:
            return Decision(True, "digits", f"agree to 12 significant digits at {agreed} points")
        return Decision(True, "numeric-512", f"agree at {agreed} points")

    def _at(self, point: Point, seed: int, real: bool, *, quick: bool) -> Decision | None:
        """The decision at one point, None if one side has no value there that can be told. quick: 128 bits are enough
        to agree."""
        precision = _QUICK if quick else PRECISION
        while precision <= MAX_PRECISION:
            scope = self.reading.scope(precision, None, real=real, draw=_drawing(Draws(seed), point.positive))
            field = scope.balls()
            with field:
                scope.symbols = {name: field.ratio(value, ONE) for name, value in point.real.items()} | point.whole
                try:
                    x, y = evaluate(self.a, scope), evaluate(self.b, scope)
                except VagueError as obstacle:
                    self.obstacle = obstacle
                    if not quick or precision > _QUICK:
                        return None
                except (UndefinedError, InexactError, OversizeError) as obstacle:
                    self.obstacle = obstacle
                    return None
                else:
                    found = compare(x, y, scope)
                    if found is not None:
                        return found
                    if quick and field.closeness(scope.ball(x), scope.ball(y)) == "near":
                        return _NEAR
            precision *= 2
        self.obstacle = "the values lie too far apart in size to be compared"
        return None


def _drawing(draws: Draws, positive: bool) -> Callable[[], Value]:
    """Values for unknown functions."""

    def draw() -> Value:
        value = Fraction(draws.bits(30) | 1, 2**29)
        return value if positive or draws.bits(1) else -value

    return draw


def _shown(point: Point) -> str:
    values = {name: f"{value / ONE:.6g}" for name, value in point.real.items()} | point.whole
    return ", ".join(f"{name} = {value}" for name, value in values.items()) or "its unknown functions take some values"
