"""What an evaluation goes by: the field of balls, the values of symbols, the reading of what notation leaves open.

A value is exact (``int``, ``Fraction``, ``Gaussian``), one of the two infinities (the only floats here), or a ball.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias, TypeVar

from guerdon.verifiers._math.balls import Ball, Field
from guerdon.verifiers._math.decision import CannotTellError, InexactError, UndefinedError
from guerdon.verifiers._math.exact import Gaussian
from guerdon.verifiers._math.size import bits
from guerdon.verifiers._math.tree import Node

Value: TypeAlias = Any
"""Exact, infinite, or a ball of the scope's field."""

RULES: dict[type[Node], Callable[[Any, Scope], Value]] = {}
"""What gives each kind of node its value; filled by ``rule``."""

EXACT = frozenset({int, Fraction, Gaussian})
INFINITY = math.inf
MAX_NODES = 400_000
"""Of one evaluation, all rounds of its sums counted: under half a second."""

MET_IMAGINARY, MET_OPEN_LOG, MET_REAL_ROOT, MET_DIGITS, MET_ROUNDED = 1, 2, 4, 8, 16
_Rule = TypeVar("_Rule", bound=Callable[..., Any])


class Scope:
    """The circumstances of one evaluation.

    field: balls for what is not rational, or None: then it raises InexactError. symbols: their values. real: only real
    values are defined, so that the square root of a negative number is not. principal: rational powers of negative
    numbers are the principal ones of the complex plane, not the real roots. log_base: of ``log`` with one argument,
    None for e. analytic: inside an integral, values must be those of one analytic function.

    Kept on the way: met, what notation was met that could be read in another way (``MET_…``); spread, if ``tracks``:
    how many bits apart lie the numbers that were added up or went into a function. Products, powers and quotients lose
    nothing, so they are not looked at.
    """

    __slots__ = (
        *("analytic", "applied", "clock", "deadline", "draw", "field", "left", "log_base", "met", "principal", "real"),
        *("spread", "symbols", "tracks"),
    )

    def __init__(
        self,
        field: Field | None,
        symbols: Mapping[str, Value] | None = None,
        *,
        real: bool = False,
        principal: bool = False,
        log_base: int | None = None,
        deadline: float | None = None,
        tracks: bool = False,
        draw: Callable[[], Value] | None = None,
    ) -> None:
        self.field, self.symbols = field, {} if symbols is None else symbols
        self.real, self.principal, self.log_base, self.analytic = real, principal, log_base, False
        self.deadline, self.left = deadline, MAX_NODES
        # how often the clock is looked at: with thousands of bits one gamma takes milliseconds
        self.clock = 63 if field is None or field.precision <= 512 else 0
        self.tracks, self.spread, self.met = tracks, 0, 0
        self.draw = draw
        self.applied: list[tuple[str, tuple[Value, ...], Value]] = []

    def value(self, node: Node) -> Value:
        """The value of a tree. Raises one of the failures of ``decision`` if it has none that can be told."""
        self.left -= 1
        if not self.left & self.clock:
            self.check()
        rule = RULES.get(type(node))
        if rule is None:
            raise CannotTellError(f"a {type(node).__name__} has no value")
        return rule(node, self)

    def check(self) -> None:
        """Raises CannotTellError when there were too many steps or the time is up."""
        if self.left <= 0:
            raise CannotTellError(f"more than {MAX_NODES:,} steps", "refused")
        check_time(self.deadline)

    def ball(self, value: Value) -> Ball:
        """Any finite value as a ball."""
        kind = type(value)
        if kind in EXACT:
            if self.tracks and value != 0:
                self.note(value)
            return self.balls().ball(value)
        if kind is float:
            raise UndefinedError("an infinite value where a number is needed")
        return value

    def balls(self) -> Field:
        """The field; raises InexactError if there is none."""
        if self.field is None:
            raise InexactError
        return self.field

    def sign(self, value: Value) -> int | None:
        """-1, 0 or 1 of a real value, None if it is not certain or not real."""
        kind = type(value)
        if kind is int or kind is Fraction or kind is float:
            return int(value > 0) - int(value < 0)
        if kind is Gaussian:
            return None
        field = self.balls()
        return field.sign(value) if field.is_real(value) else None

    def rounded(self, value: Ball) -> int | None:
        """The integer that a real ball agrees with to half of the precision, if there is one. That it is this integer
        is then taken for true where a function jumps, and ``met`` says so."""
        field = self.balls()
        whole = field.floor(value + field.ratio(1, 2))
        if whole is None or field.closeness(value, field.ball(whole)) != "near":
            return None
        self.met |= MET_ROUNDED
        return whole

    def note(self, value: Value) -> None:
        """Keep how far a number lies from 1, in bits."""
        kind = type(value)
        if kind is int or kind is Fraction:
            self.spread = max(self.spread, bits(value))
        elif kind is Gaussian:
            self.spread = max(self.spread, bits(value.real), bits(value.imag))
        elif kind is not float and self.field is not None:
            self.spread = max(self.spread, self.field.exponent(value))


def rule(kind: type[Node]) -> Callable[[_Rule], _Rule]:
    """Make a function the rule for a kind of node."""

    def enter(function: _Rule) -> _Rule:
        RULES[kind] = function
        return function

    return enter


def check_time(deadline: float | None) -> None:
    """Raises CannotTellError once ``time.monotonic()`` has passed the deadline."""
    if deadline is not None and time.monotonic() > deadline:
        raise CannotTellError("the time limit has passed", "timeout")
