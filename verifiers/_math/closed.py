"""Whether two numbers are equal, which one is larger, and what sign one has.

A first look at 128 bits proves most unequal pairs apart. Balls that overlap are looked at again at 512 bits, or at more
where the numbers on the way lie further apart than that: 1 + 10^-200 is not taken for 1. Numbers that still agree are
equal, and the stage says to how many bits. A value that divides by what is zero to that precision is undefined.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from guerdon.verifiers._limits import AGREEING_SHARE
from guerdon.verifiers._math import balls
from guerdon.verifiers._math.decision import (
    CannotTellError,
    Decision,
    InexactError,
    UndefinedError,
    VagueError,
)
from guerdon.verifiers._math.evaluate import difference, evaluate
from guerdon.verifiers._math.scope import EXACT, Scope, Value
from guerdon.verifiers._math.tree import Node

FIRST_LOOK = 128
PRECISION = 512
MAX_PRECISION = 8_192


@dataclass(frozen=True, slots=True)
class Reading:
    """How what notation leaves open is read: see ``Scope``. digits: one side prints a decimal to 12 digits or more."""

    principal: bool = False
    log_base: int | None = None
    digits: bool = False
    deadline: float | None = None

    def scope(self, precision: int, symbols: dict[str, Value] | None = None, **more: Any) -> Scope:
        return Scope(
            balls.field(precision),
            symbols,
            principal=self.principal,
            log_base=self.log_base,
            deadline=self.deadline,
            tracks=precision > FIRST_LOOK,
            **more,
        )


def same_number(a: Node, b: Node, reading: Reading) -> Decision:
    """Whether two closed values are equal. Raises OversizeError or InexactError if it takes other means to tell."""
    precision = FIRST_LOOK
    while True:
        scope = reading.scope(precision)
        with scope.balls().working():
            x, why_x = _value(a, scope)
            y, why_y = _value(b, scope)
            if why_x is not None or why_y is not None:
                vague = isinstance(why_x, VagueError) or isinstance(why_y, VagueError)
                if vague and precision < PRECISION:
                    precision = PRECISION
                    continue
                return Decision(False, f"numeric-{precision}" if vague else "exact", f"undefined: {why_x or why_y}")
            found = compare(x, y, scope, reading.digits)
        if found is not None:
            return found
        precision = next_precision(precision, scope)


def _value(node: Node, scope: Scope) -> tuple[Value, UndefinedError | VagueError | None]:
    try:
        return evaluate(node, scope), None
    except (UndefinedError, VagueError) as reason:
        return None, reason


def next_precision(precision: int, scope: Scope) -> int:
    """The precision at which to look again. Raises CannotTellError where that would be too many bits."""
    if precision < PRECISION:
        return PRECISION
    wanted = PRECISION
    while wanted < needed_bits(scope):
        wanted *= 2
    if precision < wanted <= MAX_PRECISION:
        return wanted
    raise CannotTellError(f"the numbers agree as far as {precision:,} bits can tell, and that is not far enough")


def needed_bits(scope: Scope) -> int:
    """Bits at which nothing that was met on the way could have been lost beside something else."""
    return PRECISION // 2 + 2 * scope.spread


def compare(x: Value, y: Value, scope: Scope, digits: bool) -> Decision | None:
    """The decision on two values, or None if it takes more bits."""
    if float in (type(x), type(y)):
        return Decision(type(x) is type(y) and x == y, "exact", "infinite")
    if type(x) in EXACT and type(y) in EXACT:
        return Decision(True, "exact") if x == y else _unequal("exact", x, y, scope, digits)
    field = scope.balls()
    a, b = scope.ball(x), scope.ball(y)
    closeness = field.closeness(a, b)
    if closeness == "apart":
        return _unequal(f"numeric-{field.precision}", a, b, scope, digits)
    if closeness == "near" and field.precision >= max(PRECISION, needed_bits(scope)):
        return Decision(True, f"numeric-{field.precision}", f"agree to {field.precision} bits")
    return None


def _unequal(stage: str, x: Value, y: Value, scope: Scope, digits: bool) -> Decision:
    if digits and agrees(x, y, scope):
        return Decision(True, "digits", "agree to 12 significant digits")
    return Decision(False, stage, "different numbers")


def agrees(x: Value, y: Value, scope: Scope) -> bool:
    """Whether two numbers agree to 12 significant digits."""
    if type(x) in (int, Fraction) and type(y) in (int, Fraction):
        return abs(x - y) <= max(abs(x), abs(y)) * AGREEING_SHARE
    return scope.balls().within(scope.ball(x), scope.ball(y), float(AGREEING_SHARE))


def order_of(a: Node, b: Node, reading: Reading) -> int | None:
    """-1, 0 or 1 as a is below, equal to or above b; None if that cannot be told or one is no real number."""
    precision = FIRST_LOOK
    while True:
        scope = reading.scope(precision)
        with scope.balls().working():
            try:
                x, y = evaluate(a, scope), evaluate(b, scope)
                order = scope.sign(difference(x, y, scope))
                if order is None:
                    found = compare(x, y, scope, digits=False)
                    if found is not None:  # equal, or apart off the real line
                        return 0 if found.equal else None
            except VagueError:
                if precision >= PRECISION:
                    return None
                order = None
            except (UndefinedError, InexactError):
                return None
        if order is not None:
            return order
        precision = next_precision(precision, scope)
