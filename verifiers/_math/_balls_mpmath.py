"""Balls by mpmath's interval arithmetic, in pure Python: where flint is not installed.

About ten times slower than ``_balls_flint``, and without integrals. Intervals stand for real numbers and rectangles for
complex ones. mpmath knows few functions of intervals; the others come from logarithm, exponential and square root.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from mpmath.libmp import to_int
from mpmath.libmp.libhyper import NoConvergence
from mpmath.libmp.libmpf import ComplexResult

from guerdon.verifiers._math._mpmath_functions import MpmathFunctions
from guerdon.verifiers._math.balls import Ball, Closeness
from guerdon.verifiers._math.decision import OversizeError, UndefinedError, VagueError
from guerdon.verifiers._math.exact import Exact, Gaussian

MAX_POWER = 20_000
"""Bits of an integer exponent."""


class MpmathField(MpmathFunctions):
    """A ``Field`` of mpmath's intervals."""

    def __init__(self, precision: int) -> None:
        self.precision = precision
        self._lock = threading.RLock()
        super().__init__(precision)
        self._near = self._iv.mpf(2) ** (-precision // 2)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def ball(self, value: Exact) -> Ball:
        if type(value) is int:
            return self._iv.mpf(value)
        if isinstance(value, Gaussian):
            return self._iv.mpc(self.ball(value.real), self.ball(value.imag))
        return self._iv.mpf(value.numerator) / value.denominator

    def ratio(self, above: int, below: int) -> Ball:
        return self._iv.mpf(above) / below

    def pi(self) -> Ball:
        return +self._iv.pi

    def integer_power(self, base: Ball, exponent: int) -> Ball:
        if exponent < 0:
            base, exponent = self.inverse(base), -exponent
        if exponent.bit_length() > MAX_POWER:
            raise OversizeError("a power too large for a ball")
        if not self._is_interval(base):
            return self._complex_power(base, exponent)
        return base**exponent

    def _complex_power(self, base: Ball, exponent: int) -> Ball:
        result = self._iv.mpc(1, 0)
        while exponent:
            if exponent & 1:
                result = result * base
            exponent >>= 1
            if exponent:
                base = base * base
        return result

    def power(self, base: Ball, exponent: Ball) -> Ball:
        if self._may_be_zero(base):
            raise VagueError("a power of what may be zero")
        if self._is_interval(base) and self.sign(base) == 1:
            return self._exp(exponent * self._iv.ln(base))
        return self._exp(exponent * self._ln(base))

    def unary(self, name: str, value: Ball, *, real: bool) -> Ball:
        if real and not self._is_interval(value):
            raise UndefinedError("no real number")
        try:
            value = getattr(self, f"_{name}")(value)
        except (ComplexResult, NoConvergence, ZeroDivisionError, ValueError) as error:
            raise VagueError(f"{name} of what may be a pole") from error
        if real and not self._is_interval(value):
            raise UndefinedError(f"{name} has no real value there")
        if not self._is_finite(value):
            raise VagueError(f"{name} of what may be a pole")
        return value

    def widened(self, value: Ball, by: int) -> Ball:
        return value + self._iv.mpf([-by, by])

    def is_real(self, value: Ball) -> bool:
        return self._is_interval(value) or bool(value.imag == 0)

    def floor(self, value: Ball) -> int | None:
        if not self._is_interval(value):
            value = value.real
        if self.exponent(value) > self.precision:
            return None
        low, high = (to_int(end, "f") for end in value._mpi_)
        return int(low) if low == high else None

    def exponent(self, value: Ball) -> int:
        if not self._is_interval(value):
            return max(self.exponent(value.real), self.exponent(value.imag))
        if self._may_be_zero(value):
            return 0
        return max(abs(int(end[2] + end[3])) for end in value._mpi_)

    def closeness(self, a: Ball, b: Ball) -> Closeness:
        for x, y in zip(self._parts(a), self._parts(b), strict=True):
            if x < y or y < x:
                return "apart"
        return "near" if self._narrow(a) and self._narrow(b) else "vague"

    def _narrow(self, value: Ball) -> bool:
        size = abs(value)
        return all(
            bool(part.delta <= self._near) or bool(part.delta <= self._near * size.a) for part in self._parts(value)
        )

    def same_digits(self, a: Ball, b: Ball, digits: int) -> bool:
        larger = self.larger(abs(a), abs(b))
        if not larger > 0:
            return False
        exponent = math.floor(float((self._iv.log(larger) / self._iv.log(10)).a.a))
        return bool(abs(a - b) < self._iv.mpf(10) ** (exponent + 1 - digits))

    def integral(self, integrand: Callable[[Ball, bool], Ball], low: Ball, high: Ball) -> Ball:
        raise VagueError("an integral, which takes python-flint: pip install 'guerdon[math]'")
