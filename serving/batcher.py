"""Which waiting work goes next, and with what: two plain data structures without threads or clocks.

Neither has a timer. Whoever runs the work asks for the next batch when it is free, so a batch is as large as what
happened to wait, and an idle server answers a single sample at once. Work whose caller has left is skipped.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeAlias, TypeVar


class Waiting(Protocol):
    """A piece of work in a queue. cost: tokens for a reward model, samples otherwise. dropped: nobody wants it now."""

    @property
    def cost(self) -> int: ...

    @property
    def dropped(self) -> bool: ...


W = TypeVar("W", bound=Waiting)

Join: TypeAlias = Callable[[Sequence[W], int], list[tuple[list[int], int]]]
"""Of work in order of arrival, and a budget: which indices are best computed as one row, and that row's cost."""


class Batcher(Protocol[W]):
    """A queue that hands out batches. budget: the most cost of one; it may be changed at any time."""

    budget: int

    def __len__(self) -> int: ...

    def add(self, work: Iterable[W]) -> None: ...

    def take(self) -> list[W]:
        """The next batch; empty only when nothing waits any more."""
        ...


class InOrder(Generic[W]):
    """First come, first served: from the oldest on, as much as fits the budget, and always at least the oldest.

    budget: the most cost of one batch, summed.
    """

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self._queue: deque[W] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, work: Iterable[W]) -> None:
        self._queue.extend(work)

    def take(self) -> list[W]:
        batch: list[W] = []
        cost = 0
        while self._queue:
            if self._queue[0].dropped:
                self._queue.popleft()
                continue
            cost += self._queue[0].cost
            if batch and cost > self.budget:
                break
            batch.append(self._queue.popleft())
        return batch


class ByLength(Generic[W]):
    """The oldest, with waiting work of about its length: rows of one padded forward.

    budget: the most tokens of a batch after padding, rows times the longest row; a longer single row goes alone.
    window: how much waiting work to look at, in budgets. overhead: what a forward costs besides its tokens, in tokens.
    join: which work makes one row together (the responses to one prompt); None: each is a row of its own.
    padded: False for a model that reads rows end to end without padding: length does not matter then, and the oldest
    rows go, up to the budget.

    The oldest always goes, so nothing starves. What goes with it: all that waits is cut, in the order of length, into
    the forwards that take the least time together, and the oldest's is taken. A forward takes its padded tokens and an
    overhead, so few rows pay the overhead over and over, and rows of unlike length pay padding.
    """

    # Measured on a CPU with a small encoder: one row of 24 tokens takes as long as 72 tokens of a large batch.
    OVERHEAD = 48
    _ROWS = 512  # looked at, at most
    _BLOCKS = 48  # into which they are put before they are cut, so that choosing takes well under a millisecond

    def __init__(
        self,
        budget: int,
        *,
        window: int = 8,
        overhead: int = OVERHEAD,
        join: Join[W] | None = None,
        padded: bool = True,
    ) -> None:
        self.budget, self.overhead, self._window, self._join, self._padded = budget, overhead, window, join, padded
        # Ordered by arrival. An OrderedDict, because a dict leaves holes at its front and then scans over them.
        self._queue: OrderedDict[int, W] = OrderedDict()
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._queue)

    def add(self, work: Iterable[W]) -> None:
        for item in work:
            self._queue[self._arrivals] = item
            self._arrivals += 1

    def take(self) -> list[W]:
        keys = self._look()
        if len(keys) < 2:
            return [self._queue.pop(key) for key in keys]
        items = [self._queue[key] for key in keys]
        if self._join is None:
            rows = [([index], item.cost) for index, item in enumerate(items)]
        else:
            rows = self._join(items, self.budget)
        if not self._padded:
            chosen: list[int] = []
            cost = 0
            for members, tokens in sorted(rows, key=lambda row: min(row[0])):
                if chosen and cost + tokens > self.budget:
                    break
                chosen += members
                cost += tokens
            return [self._queue.pop(keys[index]) for index in chosen]
        rows.sort(key=lambda row: row[1])
        oldest = next(place for place, (members, _) in enumerate(rows) if 0 in members)
        first, last = self._best_run([cost for _, cost in rows], oldest)
        chosen = [index for members, _ in rows[first : last + 1] for index in members]
        return [self._queue.pop(keys[index]) for index in chosen]

    def _look(self) -> list[int]:
        """The keys of the oldest few budgets of work, oldest first."""
        keys: list[int] = []
        dropped: list[int] = []
        cost = 0
        for key, item in self._queue.items():
            if item.dropped:
                dropped.append(key)
                continue
            if keys and (cost + item.cost > self.budget * self._window or len(keys) == self._ROWS):
                break
            keys.append(key)
            cost += item.cost
        for key in dropped:
            del self._queue[key]
        return keys

    def _best_run(self, costs: Sequence[int], oldest: int) -> tuple[int, int]:
        """First and last index of the forward that holds ``oldest``, in the best cut of rows of ascending cost."""
        size = max(1, min(len(costs) // self._BLOCKS, self.budget // max(costs[-1], 1)))
        edges = [*range(0, len(costs), size), len(costs)]
        seconds, begins = [0.0], [0]  # of the best cut of all blocks before an edge, and where its last forward begins
        for j in range(1, len(edges)):
            longest, end = costs[edges[j] - 1], edges[j]
            best, begin = float("inf"), j - 1
            for i in range(j - 1, -1, -1):
                padded = longest * (end - edges[i])
                if padded > self.budget and i < j - 1:
                    break
                if seconds[i] + padded < best:
                    best, begin = seconds[i] + padded, i
            seconds.append(best + self.overhead)
            begins.append(begin)
        j = len(edges) - 1
        while edges[begins[j]] > oldest:
            j = begins[j]
        return edges[begins[j]], edges[j] - 1
