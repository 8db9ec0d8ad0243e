"""Balls by mpmath's interval arithmetic, in pure Python: where flint is not installed.

About ten times slower than ``_balls_flint``, and without integrals. Intervals stand for real numbers and rectangles for
complex ones. mpmath knows few functions of intervals; the others come from logarithm, exponential and square root.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from mpmath.ctx_iv import MPIntervalContext
from mpmath.libmp import to_int
from mpmath.libmp.libhyper import NoConvergence
from mpmath.libmp.libmpf import ComplexResult

from guerdon.verifiers._math.balls import Ball, Closeness
from guerdon.verifiers._math.decision import OversizeError, UndefinedError, VagueError
from guerdon.verifiers._math.exact import Exact, Gaussian

Interval: TypeAlias = Any

MAX_EXPONENT = 4_000
"""Bits before the point of an argument of exp, sin or cos: mpmath takes that many bits of pi."""

MAX_GAMMA = 64
MAX_POWER = 20_000


class MpmathField:
    """A ``Field`` of mpmath's intervals."""

    def __init__(self, precision: int) -> None:
        self.precision = precision
        self._lock = threading.RLock()
        self._iv: Any = MPIntervalContext()  # one of our own: mpmath's shared ones have a precision that anyone sets
        self._iv.prec = precision
        self._real = type(self._iv.mpf(0))
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

    def inverse(self, value: Ball) -> Ball:
        if self._may_be_zero(value):
            raise VagueError("division by what may be zero")
        return 1 / value

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
            rule = _RULES.get(name)
            value = rule(self, value) if rule else getattr(self, f"_{name}")(value)
        except (ComplexResult, NoConvergence, ZeroDivisionError, ValueError) as error:
            raise VagueError(f"{name} of what may be a pole") from error
        if real and not self._is_interval(value):
            raise UndefinedError(f"{name} has no real value there")
        if not self._is_finite(value):
            raise VagueError(f"{name} of what may be a pole")
        return value

    def widened(self, value: Ball, by: int) -> Ball:
        return value + self._iv.mpf([-by, by])

    def larger(self, a: Ball, b: Ball) -> Ball:
        low = a.a if (a.a >= b.a) else b.a
        high = a.b if (a.b >= b.b) else b.b
        return self._iv.mpf([low, high])

    def is_real(self, value: Ball) -> bool:
        return self._is_interval(value) or bool(value.imag == 0)

    def sign(self, value: Ball) -> int | None:
        if not self._is_interval(value):
            value = value.real
        if value > 0:
            return 1
        if value < 0:
            return -1
        return 0 if value == 0 else None

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

    def within(self, a: Ball, b: Ball, share: float) -> bool:
        return bool(abs(a - b) <= self.larger(abs(a), abs(b)) * share)

    def integral(self, integrand: Callable[[Ball, bool], Ball], low: Ball, high: Ball) -> Ball:
        raise VagueError("an integral, which takes python-flint: pip install 'guerdon[math]'")

    # --- functions ----------------------------------------------------------------------------------------------------

    def _is_interval(self, value: Ball) -> bool:
        return type(value) is self._real

    def _parts(self, value: Ball) -> tuple[Interval, Interval]:
        return (value, self._iv.mpf(0)) if self._is_interval(value) else (value.real, value.imag)

    def _may_be_zero(self, value: Ball) -> bool:
        return all(0 in part for part in self._parts(value))

    def _is_finite(self, value: Ball) -> bool:
        return all(abs(part) < self._iv.inf for part in self._parts(value))

    def _check_size(self, value: Ball, bits: int) -> None:
        if any(end[2] + end[3] > bits for part in self._parts(value) for end in part._mpi_):
            raise OversizeError("an argument too large for a ball")

    def _exp(self, z: Ball) -> Ball:
        self._check_size(z, MAX_EXPONENT)
        return self._iv.exp(z)

    def _ln(self, z: Ball) -> Ball:
        if self._may_be_zero(z):
            raise VagueError("the logarithm of what may be zero")
        if self._is_interval(z) and self.sign(z) == -1:
            return self._iv.mpc(self._iv.ln(-z), self._iv.pi)
        if self._is_interval(z) and self.sign(z) is None:
            raise VagueError("the logarithm of what may be zero")
        return self._iv.ln(z)

    _log = _ln

    def _sqrt(self, z: Ball) -> Ball:
        if not self._is_interval(z):
            return self._exp(self._ln(z) / 2)
        sign = self.sign(z)
        if sign is None:
            raise VagueError("the root of what may be negative")
        return self._iv.sqrt(z) if sign >= 0 else self._iv.mpc(0, self._iv.sqrt(-z))

    def _sin(self, z: Ball) -> Ball:
        self._check_size(z, MAX_EXPONENT)
        return self._iv.sin(z)

    def _cos(self, z: Ball) -> Ball:
        self._check_size(z, MAX_EXPONENT)
        return self._iv.cos(z)

    def _gamma(self, z: Ball) -> Ball:
        self._check_size(z, MAX_GAMMA)
        return self._iv.gamma(z)

    def _rgamma(self, z: Ball) -> Ball:
        self._check_size(z, MAX_GAMMA)
        return self._iv.rgamma(z)

    def _arg(self, z: Ball) -> Ball:
        if self._may_be_zero(z):
            raise VagueError("the angle of what may be zero")
        return self._iv.arg(self._iv.mpc(*self._parts(z)))

    def _arctan(self, z: Ball) -> Ball:
        if self._is_interval(z):
            return self._iv.atan2(z, self._iv.mpf(1))
        i = self._iv.mpc(0, 1)
        return (self._ln(1 - i * z) - self._ln(1 + i * z)) * i / 2

    def _in_unit(self, z: Ball) -> bool:
        """Whether a ball lies in [-1, 1]; raises VagueError if that is not certain."""
        if not self._is_interval(z):
            return False
        if abs(z) <= 1:
            return True
        if abs(z) > 1:
            return False
        raise VagueError("an argument that may be outside of [-1, 1]")

    def _arcsin(self, z: Ball) -> Ball:
        if self._in_unit(z):
            return self._iv.atan2(z, self._leg(z))
        i = self._iv.mpc(0, 1)
        return -i * self._ln(i * z + self._sqrt(1 - z * z))

    def _leg(self, z: Interval) -> Interval:
        """sqrt(1 - z^2) for z in [-1, 1], where rounding must not lead below zero."""
        square = (1 - z) * (1 + z)
        return self._iv.sqrt(self.larger(square, self._iv.mpf(0)))

    def _arccos(self, z: Ball) -> Ball:
        if self._in_unit(z):
            return self._iv.atan2(self._leg(z), z)
        return self._iv.pi / 2 - self._arcsin(z)

    def _arcsinh(self, z: Ball) -> Ball:
        if self._is_interval(z) and self.sign(z) == -1:
            return -self._arcsinh(-z)
        return self._ln(z + self._sqrt(z * z + 1))

    def _arccosh(self, z: Ball) -> Ball:
        if self._is_interval(z) and z >= 1:
            return self._iv.ln(z + self._iv.sqrt((z - 1) * (z + 1)))
        return self._ln(z + self._sqrt(z + 1) * self._sqrt(z - 1))

    def _arctanh(self, z: Ball) -> Ball:
        return (self._ln(1 + z) - self._ln(1 - z)) / 2

    def _cosh(self, z: Ball) -> Ball:
        return (self._exp(z) + self._exp(-z)) / 2

    def _sinh(self, z: Ball) -> Ball:
        return (self._exp(z) - self._exp(-z)) / 2

    def _tanh(self, z: Ball) -> Ball:
        return 1 - 2 * self.inverse(self._exp(2 * z) + 1)


_RULES: dict[str, Callable[[MpmathField, Ball], Ball]] = {
    "abs": lambda field, z: abs(z),
    "re": lambda field, z: field._parts(z)[0],
    "im": lambda field, z: field._parts(z)[1],
    "conj": lambda field, z: z if field._is_interval(z) else field._iv.mpc(z.real, -z.imag),
    "tan": lambda field, z: field._sin(z) * field.inverse(field._cos(z)),
    "cot": lambda field, z: field._cos(z) * field.inverse(field._sin(z)),
    "sec": lambda field, z: field.inverse(field._cos(z)),
    "csc": lambda field, z: field.inverse(field._sin(z)),
    "coth": lambda field, z: field.inverse(field._tanh(z)),
    "sech": lambda field, z: field.inverse(field._cosh(z)),
    "csch": lambda field, z: field.inverse(field._sinh(z)),
}
