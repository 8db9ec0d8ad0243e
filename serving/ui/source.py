"""The store behind all tabs: pages of it, one sample with everything that was said of it, and all of one scorer.

Everything here reads. What takes a pass over all scores of a scorer (auditing, figures) is kept until more are stored.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import Sample, Score
from guerdon.serving.store import Filter, Order, Row, Store, Version

if TYPE_CHECKING:
    from guerdon.serving.commands.audit_data import Judged

PAGE = 50
"""Rows of a page: what fits on two screens and is there at once."""

MOST_POOL = 200_000
"""Scores of one scorer that auditing and figures look at, the newest ones: a look should not take a minute."""

_SIBLINGS = 200  # scores of one sample that are listed


@dataclass(frozen=True, slots=True)
class Page:
    """Rows with the number of all that the filter finds. first: the place of the first one, from 0."""

    rows: Sequence[Row]
    total: int
    first: int


@dataclass(frozen=True, slots=True)
class Pool:
    """All scores of one scorer, oldest first. ids: as ``guerdon audit`` names the samples of an export."""

    scorer: str
    scale: str
    rows: Sequence[Row]
    samples: Sequence[Sample]
    ids: Sequence[str]
    left_out: int

    @property
    def has_texts(self) -> bool:
        return all(row.has_texts for row in self.rows[:1])

    def judged(self, threshold: float | None = None) -> Judged:
        """As ``guerdon audit`` sees them. Raises UsageError for scores that are no verdicts, without a threshold."""
        from guerdon.serving.commands.audit_data import Judged, verdicts

        scores = [Score(row.value, row.reason, row.details, _status(row)) for row in self.rows]
        version = self.rows[-1].version if self.rows else ""
        found = verdicts(self.scorer, scores, threshold)
        return Judged(self.samples, self.ids, self.scorer, version, scores, found)


class Source:
    """A store, or None where a server records nothing. Thread-safe. name: for people."""

    def __init__(self, store: Store | None, name: str = "") -> None:
        self.store, self.name = store, name or ("" if store is None else store.name)
        self._lock = threading.Lock()
        self._pools: dict[str, tuple[int, Pool]] = {}
        self._counts: dict[tuple[Filter, int], int] = {}

    @property
    def opened(self) -> Store:
        if self.store is None:
            raise UsageError(
                "this server records no scores, so there is nothing to look back at; start it with "
                "--store scores.db --store-text"
            )
        return self.store

    def versions(self) -> list[Version]:
        return [] if self.store is None else self.store.versions()

    def scorers(self) -> dict[str, str]:
        """The scale of each scorer with stored scores, in the order in which they came."""
        return {version.scorer: version.scale for version in self.versions()}

    def page(self, filter: Filter, *, number: int = 0, order: Order = "newest") -> Page:
        """A page, or the last one if there are fewer."""
        if order not in get_args(Order):
            raise UsageError(f"an order is one of {', '.join(get_args(Order))}; got {order!r:.40}")
        total = self._count(filter, order)
        number = max(0, min(number, (total - 1) // PAGE))
        rows = self.opened.rows(filter, limit=PAGE, offset=number * PAGE, order=order)
        return Page(rows, total, number * PAGE)

    def _count(self, filter: Filter, order: Order) -> int:
        """How many there are, counted anew only when something was stored since."""
        if order in ("lowest", "highest") and filter.values is None:
            # in order of value only scores with a value come
            filter = _with(filter, values=(-1.8e308, None))
        key = (filter, self.newest())
        with self._lock:
            if key in self._counts:
                return self._counts[key]
        total = self.opened.count(filter)
        with self._lock:
            if len(self._counts) > 500:
                self._counts.clear()
            self._counts[key] = total
        return total

    def newest(self) -> int:
        """The number of the newest score, 0 without any: it grows with whatever is stored."""
        rows = self.opened.rows(limit=1)
        return rows[0].id if rows else 0

    def row(self, number: int) -> Row:
        """A score by its number. Raises UsageError if there is none."""
        found = self.opened.rows(Filter(id=number), limit=1)
        if not found:
            raise UsageError(f"no score {number} in {self.name}")
        return found[0]

    def siblings(self, row: Row) -> list[Row]:
        """All scores of the same prompt and response, the newest of each scorer and version first."""
        if row.prompt_hash is None and row.response_hash is None:
            return [row]
        found = self.opened.rows(Filter(prompt=row.prompt_hash, response=row.response_hash), limit=_SIBLINGS)
        same = [each for each in found if each.prompt_hash == row.prompt_hash]
        once = {(each.scorer, each.version_id, each.value, each.status): each for each in reversed(same)}
        rest = [each for each in once.values() if each.scorer != row.scorer or each.version_id != row.version_id]
        return [row, *sorted(rest, key=lambda each: (each.scorer, -each.id))]

    def group(self, row: Row) -> list[Row]:
        """The responses to the same prompt that were scored together, as this scorer scored them."""
        if row.group is None:
            return []
        found = self.opened.rows(Filter(scorer=row.scorer, group=row.group, prompt=row.prompt_hash), limit=_SIBLINGS)
        return found if len(found) > 1 else []

    def pool(self, scorer: str) -> Pool:
        """All scores of a scorer. A pass over 100,000 takes some seconds, once."""
        newest = self.newest()
        with self._lock:
            kept = self._pools.get(scorer)
        if kept is not None and kept[0] == newest:
            return kept[1]
        pool = self._read(scorer)
        with self._lock:
            self._pools = {**({} if len(self._pools) > 3 else self._pools), scorer: (newest, pool)}
        return pool

    def _read(self, scorer: str) -> Pool:
        from guerdon.serving.commands.audit_data import identities

        scales = self.scorers()
        if scorer not in scales:
            raise UsageError(f"{self.name} holds no scores of {scorer!r:.80}; it has {', '.join(scales) or 'none'}")
        left_out = max(0, self.opened.count(Filter(scorer=scorer)) - MOST_POOL)
        # names are told apart over all of them, as an export does
        rows = list(self.opened.each(Filter(scorer=scorer)))
        ids = identities([Sample("", "", meta={"id": row.name or f"{row.request}/{row.item}"}) for row in rows])
        rows, ids = rows[left_out:], ids[left_out:]
        samples = [Sample(r.prompt or "", r.response or "", r.reference, r.group, r.meta) for r in rows]
        return Pool(scorer, scales[scorer], rows, samples, ids, left_out)


def middle_of(scale: str) -> float:
    """Where a scale turns from no to yes, unless somebody says otherwise."""
    return 0.5 if scale in ("verdict", "probability") else 0.0


def _with(filter: Filter, **changed: Any) -> Filter:
    from dataclasses import replace

    return replace(filter, **changed)


def _status(row: Row) -> Any:
    return row.status
