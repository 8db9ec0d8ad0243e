"""Random numbers that are the same on every machine and cheap to begin: ``random.Random`` takes 10 µs to seed.

splitmix64 (Steele, Lea & Flood, "Fast splittable pseudorandom number generators", 2014).
"""

from __future__ import annotations

_MASK = 2**64 - 1


class Draws:
    """Numbers drawn from a seed."""

    __slots__ = ("_state",)

    def __init__(self, seed: int) -> None:
        self._state = seed & _MASK

    def bits(self, count: int) -> int:
        """A number of up to 64 bits."""
        self._state = z = (self._state + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return (z ^ (z >> 31)) >> (64 - count)

    def between(self, low: int, high: int) -> int:
        """A number from low to high, both included; a few in 2^64 more often than others."""
        return low + self.bits(64) % (high - low + 1)
