"""Functions of mpmath's intervals: those it has, guarded against giants, and the others made of them."""

from __future__ import annotations

from typing import Any, TypeAlias

from mpmath.ctx_iv import MPIntervalContext

from guerdon.verifiers._math.balls import Ball
from guerdon.verifiers._math.decision import OversizeError, VagueError

Interval: TypeAlias = Any

MAX_EXPONENT = 4_000
"""Bits before the point of an argument of exp, sin or cos: mpmath takes that many bits of pi."""

MAX_GAMMA = 64
"""Bits before the point of an argument of gamma."""


class MpmathFunctions:
    """The functions of ``balls.UNARY``, each as a method with an underscore before its name."""

    def __init__(self, precision: int) -> None:
        self._iv: Any = MPIntervalContext()  # one of our own: mpmath's shared ones have a precision that anyone sets
        self._iv.prec = precision
        self._real = type(self._iv.mpf(0))

    def sign(self, value: Ball) -> int | None:
        if not self._is_interval(value):
            value = value.real
        if value > 0:
            return 1
        if value < 0:
            return -1
        return 0 if value == 0 else None

    def inverse(self, value: Ball) -> Ball:
        if self._may_be_zero(value):
            raise VagueError("division by what may be zero")
        return 1 / value

    def larger(self, a: Ball, b: Ball) -> Ball:
        low = a.a if (a.a >= b.a) else b.a
        high = a.b if (a.b >= b.b) else b.b
        return self._iv.mpf([low, high])

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

    def _abs(self, z: Ball) -> Ball:
        return abs(z)

    def _re(self, z: Ball) -> Ball:
        return self._parts(z)[0]

    def _im(self, z: Ball) -> Ball:
        return self._parts(z)[1]

    def _conj(self, z: Ball) -> Ball:
        return z if self._is_interval(z) else self._iv.mpc(z.real, -z.imag)

    def _tan(self, z: Ball) -> Ball:
        return self._sin(z) * self.inverse(self._cos(z))

    def _cot(self, z: Ball) -> Ball:
        return self._cos(z) * self.inverse(self._sin(z))

    def _sec(self, z: Ball) -> Ball:
        return self.inverse(self._cos(z))

    def _csc(self, z: Ball) -> Ball:
        return self.inverse(self._sin(z))

    def _coth(self, z: Ball) -> Ball:
        return self.inverse(self._tanh(z))

    def _sech(self, z: Ball) -> Ball:
        return self.inverse(self._cosh(z))

    def _csch(self, z: Ball) -> Ball:
        return self.inverse(self._sinh(z))
