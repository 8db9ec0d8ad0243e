"""How many right responses there are when two or three verifiers, each without false positives, found some of them.

Capture and recapture: what the second found that the first had found too says how much the first misses (Chapman 1951).
It assumes that the verifiers miss independently. They rarely do: what is hard for one is hard for the other. Then the
total is underestimated, so it is a *lower* bound, and so is the false-negative rate that follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guerdon.rewards.errors import UsageError


@dataclass(frozen=True, slots=True)
class Recapture:
    """A lower bound of how many right responses there are. variance: of ``total`` under independence, None: not known.

    recalls: of each verifier, an upper bound; its false-negative rate is at least 1 - recall.
    """

    total: float
    variance: float | None
    recalls: tuple[float, ...]


def chapman(first: int, second: int, both: int) -> Recapture:
    """Two verifiers that accepted ``first`` and ``second`` responses, ``both`` of them in common.

    N = (n1 + 1)(n2 + 1) / (m + 1) - 1; recall of the first m / n2, of the second m / n1 (0 of none found is 0).

    >>> round(chapman(70, 80, 60).total, 7)
    93.2786885
    """
    _counts(first=first, second=second, both=both)
    if both > min(first, second):
        raise UsageError(f"both found {both}, more than one of them alone ({first} and {second}); check the counts")
    n1, n2, m = first + 1, second + 1, both + 1
    variance = n1 * n2 * (first - both) * (second - both) / (m * m * (both + 2))
    recalls = (both / second if second else 0.0, both / first if first else 0.0)
    return Recapture(n1 * n2 / m - 1, variance, recalls)


PATTERNS = ("111", "110", "101", "011", "100", "010", "001")


def three_lists(counts: Mapping[str, int]) -> Recapture:
    """Three verifiers, with every dependence between two of them allowed for.

    counts: how many responses each pattern of acceptance has, {"110": accepted by the first two only, ...}; all seven.
    The log-linear model without a three-way term has as many parameters as cells, so that its estimate of what all
    missed is n111 n100 n010 n001 / (n110 n101 n011), of right responses (Fienberg 1972).
    Raises UsageError for a cell of two that is empty while what all missed is not 0: the estimate is infinite.
    """
    if set(counts) != set(PATTERNS):
        raise UsageError(f"counts must have the patterns {', '.join(PATTERNS)}, got {', '.join(map(str, counts))}")
    _counts(**counts)
    above = counts["111"] * counts["100"] * counts["010"] * counts["001"]
    below = counts["110"] * counts["101"] * counts["011"]
    if below == 0 and above:
        raise UsageError("no response was accepted by just two of the verifiers in some pair, so no bound can be told")
    total = sum(counts.values()) + (above / below if below else 0.0)
    found = [sum(n for pattern, n in counts.items() if pattern[i] == "1") for i in range(3)]
    return Recapture(total, None, tuple(n / total if total else 0.0 for n in found))


def _counts(**counts: int) -> None:
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise UsageError(f"{name} must be a whole number >= 0, got {value!r}")
