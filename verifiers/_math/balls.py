"""Numbers as balls: a midpoint, a radius, and the proof that the true value lies within.

Two fields of balls do the same work: ``_balls_flint`` (python-flint, fast) and ``_balls_mpmath`` (pure Python, where
flint is not installed). A ball is whatever the field's ``+ - *`` take; nothing else is done to one outside its field.
Disjoint balls prove two numbers unequal. Balls that overlap prove nothing by themselves: how narrow they are says up
to how many bits the numbers agree.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, Protocol, TypeAlias

from guerdon.verifiers._math.exact import Exact

Ball: TypeAlias = Any
Closeness: TypeAlias = Literal["apart", "near", "vague"]
"""``apart``: proved unequal. ``near``: they overlap, and agree to half of the precision or more. ``vague``: they
overlap because they are wide."""

UNARY = (
    *("sqrt", "exp", "log", "gamma", "rgamma", "abs", "re", "im", "conj", "arg"),
    *("sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "tanh", "coth", "sech", "csch", "arcsinh", "arccosh", "arctanh"),
)
"""Functions of one ball that a field knows by name."""


class Field(Protocol):
    """Balls of one precision, in bits. Every method returns an enclosure or raises; no ball is ever infinite or NaN.

    VagueError: the argument is too wide, or is zero to this precision where it may not be. UndefinedError: there is
    no real value and ``real`` asks for one. OversizeError: the result has no place even in a ball.
    """

    precision: int

    def __enter__(self) -> None:
        """Within ``with`` the arithmetic of balls has this field's precision. Reentrant, one thread at a time."""

    def __exit__(self, *_: object) -> None: ...

    def ball(self, value: Exact) -> Ball: ...

    def ratio(self, above: int, below: int) -> Ball:
        """above / below."""

    def pi(self) -> Ball: ...

    def inverse(self, value: Ball) -> Ball: ...

    def integer_power(self, base: Ball, exponent: int) -> Ball: ...

    def power(self, base: Ball, exponent: Ball) -> Ball:
        """The principal power, by way of the logarithm."""

    def unary(self, name: str, value: Ball, *, real: bool) -> Ball:
        """A function of ``UNARY``. real: only real values are defined; otherwise the principal branch is taken."""

    def widened(self, value: Ball, by: int) -> Ball:
        """A real ball with a larger radius."""

    def larger(self, a: Ball, b: Ball) -> Ball:
        """The larger one of two real balls."""

    def is_real(self, value: Ball) -> bool: ...

    def sign(self, value: Ball) -> int | None:
        """-1, 0 or 1 if that is certain of a real ball, else None. 0 only for exactly zero."""

    def floor(self, value: Ball) -> int | None:
        """The largest integer below a real ball, if there is just one."""

    def exponent(self, value: Ball) -> int:
        """About |log2 |value||, 0 for a ball around zero: how many bits one may have to look to see it beside 1."""

    def closeness(self, a: Ball, b: Ball) -> Closeness: ...

    def same_digits(self, a: Ball, b: Ball, digits: int) -> bool:
        """Whether it is certain that a and b differ by less than one unit of the last of the larger one's digits."""

    def integral(self, integrand: Callable[[Ball, bool], Ball], low: Ball, high: Ball) -> Ball:
        """The integral along a line. The integrand is also told whether it must be analytic on its whole argument,
        and then raises VagueError if it may not be."""


@cache
def has_flint() -> bool:
    return importlib.util.find_spec("flint") is not None


@cache
def field(precision: int) -> Field:
    """The fastest field there is, at a precision in bits."""
    if has_flint():
        from guerdon.verifiers._math._balls_flint import FlintField

        return FlintField(precision)
    from guerdon.verifiers._math._balls_mpmath import MpmathField

    return MpmathField(precision)


if hasattr(os, "register_at_fork"):  # a field's lock may be held by a thread that does not exist in the child
    os.register_at_fork(after_in_child=field.cache_clear)
