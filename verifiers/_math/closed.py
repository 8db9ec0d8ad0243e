"""Whether two numbers are equal, which one is larger, and what sign one has.

Numbers are worked out to 512 bits at once. Balls that are disjoint are proved unequal. Balls that overlap are looked at
again with more bits if the numbers added up on the way lie further apart than that: 1 + 10^-200 is not taken for 1.
Numbers that still agree are equal, and the stage says to how many bits. A value that divides by what is zero to that
precision is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from guerdon.verifiers._limits import AGREEING_DIGITS, agreeing_share
from guerdon.verifiers._math import balls
from guerdon.verifiers._math.decision import CannotTellError, Decision, InexactError, UndefinedError, VagueError
from guerdon.verifiers._math.evaluate import difference, evaluate
from guerdon.verifiers._math.scope import (
    EXACT,
    MET_DIGITS,
    MET_IMAGINARY,
    MET_OPEN_LOG,
    MET_REAL_ROOT,
    MET_ROUNDED,
    Scope,
    Value,
)
from guerdon.verifiers._math.tree import Node

PRECISION = 512
MAX_PRECISION = 8_192
UNDEFINED = "undefined"
"""The stage of a value that does not exist, or divides by what is zero to 512 bits: it equals no other."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How what notation leaves open is read (see ``Scope``), and until when."""

    principal: bool = False
    log_base: int | None = None
    deadline: float | None = None

    def scope(self, precision: int, symbols: dict[str, Value] | None = None, **more: Any) -> Scope:
        return Scope(
            balls.field(precision),
            symbols,
            principal=self.principal,
            log_base=self.log_base,
            deadline=self.deadline,
            tracks=precision >= PRECISION,
            **more,
        )


def same_number(a: Node, b: Node, reading: Reading) -> Decision:
    """Whether two closed values are equal, in the reading that fits what is met.

    Raises UnboundError if there is a symbol, OversizeError or InexactError if it takes other means to tell.
    """
    found, met = _same_number(a, b, reading)
    if met & MET_REAL_ROOT and met & MET_IMAGINARY and not reading.principal:
        reading = replace(reading, principal=True)
        found, met = _same_number(a, b, reading)
    if met & MET_OPEN_LOG and not found.equal and reading.log_base is None:
        other, _ = _same_number(a, b, replace(reading, log_base=10))
        if other.equal:
            return other
    return found


def _same_number(a: Node, b: Node, reading: Reading) -> tuple[Decision, int]:
    """The decision, and what was met on the way."""
    precision = PRECISION
    while True:
        scope = reading.scope(precision)
        with scope.balls():
            x, why_x = _value(a, scope)
            y, why_y = _value(b, scope)
            if why_x is not None or why_y is not None:
                return Decision(False, UNDEFINED, str(why_x or why_y)), scope.met
            found = compare(x, y, scope)
        if found is not None:
            return found, scope.met
        precision = more_bits(precision, scope)


def _value(node: Node, scope: Scope) -> tuple[Value, UndefinedError | VagueError | None]:
    try:
        return evaluate(node, scope), None
    except (UndefinedError, VagueError) as reason:
        return None, reason


def more_bits(precision: int, scope: Scope) -> int:
    """The precision at which to look again. Raises CannotTellError where that would be too many bits."""
    wanted = PRECISION
    while wanted < needed_bits(scope):
        wanted *= 2
    if precision < wanted <= MAX_PRECISION:
        return wanted
    raise CannotTellError(f"the numbers agree as far as {precision:,} bits can tell, and that is not far enough")


def needed_bits(scope: Scope) -> int:
    """Bits at which nothing that was met on the way could have been lost beside something else."""
    return PRECISION // 2 + 2 * scope.spread


def compare(x: Value, y: Value, scope: Scope) -> Decision | None:
    """The decision on two values, or None if it takes more bits."""
    if scope.met & MET_ROUNDED and scope.balls().precision < max(PRECISION, needed_bits(scope)):
        return None
    if type(x) in EXACT and type(y) in EXACT:
        stage = f"numeric-{scope.balls().precision}" if scope.met & MET_ROUNDED else "exact"
        return Decision(True, stage) if x == y else _unequal(stage, x, y, scope)
    if float in (type(x), type(y)):
        return Decision(type(x) is type(y) and x == y, "exact", "infinite")
    field = scope.balls()
    a, b = scope.ball(x), scope.ball(y)
    closeness = field.closeness(a, b)
    if closeness == "apart":
        return _unequal(f"numeric-{field.precision}", a, b, scope)
    if closeness == "near" and field.precision >= max(PRECISION, needed_bits(scope)):
        return Decision(True, f"numeric-{field.precision}", f"agree to {field.precision} bits")
    return None


def _unequal(stage: str, x: Value, y: Value, scope: Scope) -> Decision:
    if scope.met & MET_DIGITS and agrees(x, y, scope):
        return Decision(True, "digits", "agree to 12 significant digits")
    return Decision(False, stage, "different numbers")


def agrees(x: Value, y: Value, scope: Scope) -> bool:
    """Whether two numbers agree to 12 significant digits."""
    if type(x) in (int, Fraction) and type(y) in (int, Fraction):
        size = max(abs(Fraction(x)), abs(Fraction(y)))
        return bool(abs(x - y) < size * agreeing_share(size))
    return scope.balls().same_digits(scope.ball(x), scope.ball(y), AGREEING_DIGITS)


def order_of(a: Node, b: Node, reading: Reading) -> int | None:
    """-1, 0 or 1 as a is below, equal to or above b; None if that cannot be told or one is no real number."""
    precision = PRECISION
    while True:
        scope = reading.scope(precision)
        with scope.balls():
            try:
                x, y = evaluate(a, scope), evaluate(b, scope)
                order = scope.sign(difference(x, y, scope))
            except (UndefinedError, VagueError, InexactError):
                return None
            if order is not None:
                return order
            found = compare(x, y, scope)
            if found is not None:  # equal, or apart off the real line
                return 0 if found.equal else None
        precision = more_bits(precision, scope)
