"""How large a reward model's batches should be on this machine, found by trying some before it serves.

A forward takes about ``overhead + padded tokens``, in units of a token's time. On a CPU the overhead is some dozens of
tokens and large batches gain nothing; on a GPU it is thousands, and batches must be large. Both are measured in a few
seconds, on token ids that the model itself made of a text.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.rewards import Prepared, Sample, Scorer

logger = logging.getLogger("guerdon.serving")

LENGTHS = (32, 128)
ROWS = (1, 4, 16, 64, 256, 1024)
ENOUGH = 0.97
"""The budget is the smallest batch that reaches this part of the best tokens a second."""

_WORTH = 12  # times the overhead that a batch holds at least, in case one lucky try made a small one look best
_LIMITS = (8, 8192)  # of an overhead in tokens that is believed, whatever a busy machine's clock says


@dataclass(frozen=True, slots=True)
class Sweep:
    """budget: padded tokens of the batch to aim at. overhead: what a forward costs besides its tokens, in tokens."""

    budget: int
    overhead: int


def sweep(scorer: Scorer, *, seconds: float = 2.0, clock: Callable[[], float] = time.perf_counter) -> Sweep | None:
    """Try batches of a BatchScorer for about so long; None if it makes no token ids or cannot score them."""
    ids = _ids(scorer)
    if ids is None:
        return None
    tried: list[tuple[int, float]] = []  # padded tokens, seconds
    start = clock()
    for rows in ROWS:
        for length in LENGTHS:
            took = _seconds(scorer, [ids[:length]] * rows, clock)
            if took is None:  # out of memory, most likely: what fits is known by now
                return _fitted(tried)
            tried.append((rows * length, took))
            if clock() - start > seconds and len(tried) > 2:
                return _fitted(tried)
    return _fitted(tried)


def _ids(scorer: Any) -> tuple[int, ...] | None:
    """As many token ids as the longest row tried; None if the scorer is none that makes them."""
    try:
        prepared = scorer.prepare(Sample("", "number " * max(LENGTHS)))
    except Exception:
        return None
    enough = isinstance(prepared, Prepared) and len(prepared.ids) >= max(LENGTHS)
    return prepared.ids if enough else None


def _seconds(scorer: Any, rows: Sequence[tuple[int, ...]], clock: Callable[[], float]) -> float | None:
    """The time of a forward over rows that share nothing: the shorter of two tries, the first of which warms up."""
    # Another first token each, so that no beginning is common.
    batch = [Prepared(Sample("", str(i)), (row[i % len(row)], *row[1:])) for i, row in enumerate(rows)]
    best = None
    for _ in range(2):
        start = clock()
        try:
            scorer.run(batch)
        except Exception as error:
            logger.info("batches are tried up to %d rows: %s: %.200s", len(rows), type(error).__name__, error)
            return None
        took = clock() - start
        best = took if best is None else min(best, took)
    return best


def _fitted(tried: Sequence[tuple[int, float]]) -> Sweep | None:
    """seconds = a token's time * (overhead + tokens), by least squares on relative errors; and the knee of the rate."""
    if len(tried) < 2:
        return None
    # Weights of 1 / seconds: a tenth too much matters as much in a short forward as in a long one.
    weights = [1 / took**2 for _, took in tried]
    total = sum(weights)
    mean_x = sum(w * x for w, (x, _) in zip(weights, tried, strict=True)) / total
    mean_y = sum(w * y for w, (_, y) in zip(weights, tried, strict=True)) / total
    spread = sum(w * (x - mean_x) ** 2 for w, (x, _) in zip(weights, tried, strict=True))
    slope = sum(w * (x - mean_x) * (y - mean_y) for w, (x, y) in zip(weights, tried, strict=True)) / spread
    overhead = (mean_y - slope * mean_x) / slope if slope > 0 else _LIMITS[1]
    best = max(tokens / took for tokens, took in tried)
    budget = min(tokens for tokens, took in tried if tokens / took >= ENOUGH * best)
    believed = round(min(max(overhead, _LIMITS[0]), _LIMITS[1]))
    largest = max(tokens for tokens, _ in tried)
    return Sweep(min(max(budget, LENGTHS[-1], _WORTH * believed), largest), believed)
