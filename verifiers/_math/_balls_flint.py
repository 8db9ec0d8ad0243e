"""Balls by python-flint: ``arb`` for real numbers, ``acb`` where they leave the real line.

flint's precision is one number for the whole process, so all arithmetic runs under one lock, taken by ``with``, and
what another user of flint has set is put back. Its functions take a bounded time whatever the argument: a result beyond
its exponents comes back infinite, and is turned into OversizeError here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import flint
from flint import acb, arb, fmpq

from guerdon.verifiers._math.balls import UNARY, Ball, Closeness
from guerdon.verifiers._math.decision import OversizeError, UndefinedError, VagueError, ValueFailureError
from guerdon.verifiers._math.exact import Exact, Gaussian

_lock = threading.RLock()


def _new_lock() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):  # the lock may be held by a thread that does not exist in the child
    os.register_at_fork(after_in_child=_new_lock)

_ARB, _ACB = (
    {name: getattr(kind, name.replace("arc", "a")) for name in UNARY if name not in ("abs", "re", "im", "conj", "arg")}
    for kind in (arb, acb)
)
_OVERFLOWING = frozenset({"exp", "gamma", "rgamma", "sinh", "cosh"})
MAX_EVALUATIONS = 5_000
"""Of an integrand: at 20 µs each a tenth of a second, which a smooth one does not take."""

_SMALL, _ORDINARY = 2.0**-64, 2.0**64  # a double tells this much at once; only beyond it are exponents looked at


class FlintField:
    """A ``Field`` of arb and acb; ``with`` it, the precision is its own."""

    def __init__(self, precision: int) -> None:
        self.precision = precision
        self._half = precision // 2
        self._near = arb(2) ** -self._half
        self._far = arb(2) ** precision
        self._before: list[int] = []

    def __enter__(self) -> None:
        _lock.acquire()
        self._before.append(flint.ctx.prec)
        flint.ctx.prec = self.precision

    def __exit__(self, *_: object) -> None:
        flint.ctx.prec = self._before.pop()
        _lock.release()

    def ball(self, value: Exact) -> Ball:
        if type(value) is int:
            return arb(value)
        if isinstance(value, Gaussian):
            return acb(self.ball(value.real), self.ball(value.imag))
        return arb(fmpq(value.numerator, value.denominator))

    def ratio(self, above: int, below: int) -> Ball:
        return arb(fmpq(above, below))

    def pi(self) -> Ball:
        return arb.pi()

    def inverse(self, value: Ball) -> Ball:
        result = 1 / value
        if not result.is_finite():
            raise VagueError("division by what may be zero")
        return result

    def integer_power(self, base: Ball, exponent: int) -> Ball:
        return _held(base**exponent if exponent >= 0 else self.inverse(base) ** -exponent)

    def power(self, base: Ball, exponent: Ball) -> Ball:
        if type(base) is arb and type(exponent) is arb and base > 0:
            return _held(base**exponent)
        base, exponent = acb(base), acb(exponent)
        if base.contains(0):
            raise VagueError("a power of what may be zero")
        return _held(base.pow(exponent))

    def unary(self, name: str, value: Ball, *, real: bool) -> Ball:
        if name in _PARTS:
            return _PARTS[name](value)
        if real and type(value) is not arb:
            raise UndefinedError("no real number")
        if type(value) is arb:
            result = _ARB[name](value)
            if result.is_finite():
                return result
            return self._off_line(name, value, real)
        result = _ACB[name](value)
        if not result.is_finite():
            raise _failure(name, value)
        return result

    def _off_line(self, name: str, value: Any, real: bool) -> Ball:
        """Where a function of a real number has no finite real value."""
        if name in ("sqrt", "log", "arcsin", "arccos", "arccosh", "arctanh"):
            if real:
                raise UndefinedError(f"{name} has no real value there")
            result = _ACB[name](acb(value))
            if result.is_finite():
                return result
        raise _failure(name, value)

    def widened(self, value: Ball, by: int) -> Ball:
        return value + arb(0, by)

    def larger(self, a: Ball, b: Ball) -> Ball:
        return a.max(b)

    def is_real(self, value: Ball) -> bool:
        return type(value) is arb or bool(value.imag.is_zero())

    def sign(self, value: Ball) -> int | None:
        if type(value) is not arb:
            value = value.real
        if value > 0:
            return 1
        if value < 0:
            return -1
        return 0 if value.is_zero() else None

    def floor(self, value: Ball) -> int | None:
        if type(value) is not arb:
            value = value.real
        if value.is_finite() and abs(value) < self._far:
            whole = value.floor().unique_fmpz()
            return None if whole is None else int(whole)
        return None

    def exponent(self, value: Ball) -> int:
        if type(value) is acb:
            return max(self.exponent(value.real), self.exponent(value.imag))
        size = abs(float(value))
        if _SMALL < size < _ORDINARY or value.contains(0):
            return 0
        mantissa, exponent = value.mid().man_exp()
        return abs(int(exponent) + int(mantissa).bit_length())

    def closeness(self, a: Ball, b: Ball) -> Closeness:
        if type(a) is not type(b):  # one is real
            a, b = acb(a), acb(b)
        if not a.overlaps(b):
            return "apart"
        return "near" if self._narrow(a) and self._narrow(b) else "vague"

    def _narrow(self, value: Ball) -> bool:
        if value.rel_accuracy_bits() >= self._half:
            return True
        if type(value) is acb:
            return bool(value.real.rad() <= self._near) and bool(value.imag.rad() <= self._near)
        return bool(value.rad() <= self._near)

    def same_digits(self, a: Ball, b: Ball, digits: int) -> bool:
        apart, larger = abs(a - b), abs(a).max(abs(b))
        if not larger > 0:
            return False
        unit = arb(10) ** ((larger.log() / arb(10).log()).floor() + 1 - digits)
        return bool(apart < unit)

    def integral(self, integrand: Callable[[Ball, bool], Ball], low: Ball, high: Ball) -> Ball:
        def safe(at: Any, analytic: bool) -> Any:
            try:  # an exception must not pass through flint's loop, which would lose it
                return acb(integrand(at, analytic))
            except ValueFailureError:
                return acb("nan")

        result = acb.integral(safe, acb(low), acb(high), eval_limit=MAX_EVALUATIONS, depth_limit=60)
        if not result.is_finite():
            raise VagueError("an integral that does not settle")
        return result


def _failure(name: str, value: Any) -> VagueError | OversizeError:
    if name in _OVERFLOWING and value.is_finite() and not acb(value).abs_upper() < 2**20:
        return OversizeError(f"{name} of a number that large")
    return VagueError(f"{name} of what may be a pole")


def _held(value: Ball) -> Ball:
    if not value.is_finite():
        raise OversizeError("a power too large for a ball")
    return value


_PARTS: dict[str, Callable[[Any], Any]] = {
    "abs": abs,
    "re": lambda z: z.real,
    "im": lambda z: z.imag,
    "conj": lambda z: z if type(z) is arb else z.conjugate(),
    "arg": lambda z: acb(z).arg(),
}
