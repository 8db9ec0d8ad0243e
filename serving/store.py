"""The store: every score a server gave, how it was made, and (if asked for) the texts it was given.

A server writes it (``guerdon serve --store scores.db``, see ``storing/writer.py``); here it is read, by ``replay``, by
the inspection UI and by programs:

    with Store.open("scores.db") as store:
        store.count(Filter(scorer="math", status="error"))
        for row in store.rows(Filter(scorer="math", values=(None, 0.5)), limit=50):
            print(row.value, row.reason, row.response)
        store.export("scores.jsonl", Filter(scorer="math"))     # for guerdon audit

Reading needs nothing but the standard library, and does not disturb a server that writes. Nothing is ever changed.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.rewards import Sample
from guerdon.rewards.errors import UsageError
from guerdon.serving.storing.database import Database, connect
from guerdon.serving.storing.filters import Filter, Order, ordering

__all__ = ["Filter", "Order", "Row", "Store", "Version"]

_CHUNK = 1_000  # rows read at once where all are wanted

# Everything a row has, in the order of Row's fields.
_COLUMNS = (
    "s.id, s.request, s.item, s.name, s.time, s.scorer, coalesce(v.version, ''), s.version_id, s.status, s.value, "
    "s.reason, s.tokens, s.cut, s.input, s.batch, s.batch_size, s.how, s.group_name, s.step, s.prompt, s.response, "
    "s.reference, s.ready_made, s.details, s.meta, p.body, r.body"
)
_JOINS = (
    "LEFT JOIN texts p ON p.hash = s.prompt LEFT JOIN texts r ON r.hash = s.response "
    "LEFT JOIN versions v ON v.id = s.version_id"
)


@dataclass(frozen=True, slots=True)
class Version:
    """The circumstances under which a scorer gave scores. provenance: see guerdon.serving.provenance.

    kind: ``model`` or ``plain``. source: the spec it was loaded by, None if unknown. began: seconds since 1970.
    """

    id: str
    scorer: str
    version: str
    scale: str
    kind: str
    provenance: Mapping[str, Any]
    source: str | None
    began: float


@dataclass(frozen=True, slots=True)
class Row:
    """A stored score. request, item: which item of which request. name: the caller's id of it.

    cut, input, batch, how: see ``provenance.of_score``. prompt, response: text or messages, None if they were not kept;
    prompt_hash, response_hash: equal for equal ones, None for empty ones. ready_made: how a caller gave text or ids
    that were templated already.
    """

    id: int
    request: str
    item: int
    name: str | None
    time: float
    scorer: str
    version: str
    version_id: str
    status: str
    value: float | None
    reason: str
    tokens: int | None
    cut: int | None
    input: str | None
    batch: str | None
    batch_size: int | None
    how: str | None
    group: str | None
    step: int | None
    prompt_hash: str | None
    response_hash: str | None
    prompt: Any
    response: Any
    reference: Any
    ready_made: Mapping[str, Any] | None
    details: Mapping[str, Any]
    meta: Mapping[str, Any]

    @property
    def has_texts(self) -> bool:
        """Whether the sample itself was kept."""
        return (self.prompt is not None or self.prompt_hash is None) and (
            self.response is not None or self.response_hash is None
        )

    def sample(self) -> Sample:
        """The sample as it was scored. Raises UsageError if its texts were not kept."""
        if not self.has_texts:
            raise UsageError(f"the texts of item {self.item} of request {self.request} were not kept")
        return Sample(self.prompt or "", self.response or "", self.reference, self.group, self.meta)


class Store:
    """A store to read. Thread-safe."""

    def __init__(self, database: Database) -> None:
        self._database, self.name = database, database.name

    @classmethod
    def open(cls, where: str | os.PathLike[str]) -> Store:
        """A store by its file, or by a URL of SQLAlchemy.

        Raises UsageError for what is no store or one of another schema, OutageError for a database that does not
        answer, MissingExtraError for a URL without SQLAlchemy.
        """
        return cls(connect(os.fspath(where)))

    def rows(
        self, filter: Filter | None = None, *, limit: int = 50, offset: int = 0, order: Order = "newest"
    ) -> list[Row]:
        """A page of scores, with their texts where these were kept. In order of value, only scores with a value."""
        if limit < 0 or offset < 0:
            raise UsageError(f"limit and offset must be at least 0, got {limit} and {offset}")
        condition, values = _chosen(filter, order)
        # The page is found by its index first, and only its rows are joined.
        page = f"SELECT id FROM scores s WHERE {condition} ORDER BY {ordering(order)} LIMIT :limit OFFSET :offset"  # noqa: S608
        found = _select(f"s.id IN ({page}) ORDER BY {ordering(order)}")
        return [_row(row) for row in self._database.query(found, {**values, "limit": limit, "offset": offset})]

    def count(self, filter: Filter | None = None) -> int:
        """How many scores there are."""
        condition, values = (filter or Filter()).condition()
        found = self._database.query(f"SELECT count(*) FROM scores s WHERE {condition}", values)  # noqa: S608
        return int(found[0][0])

    def each(self, filter: Filter | None = None) -> Iterator[Row]:
        """All scores that there are now, from the oldest on, a portion at a time."""
        condition, values = (filter or Filter()).condition()
        # Their numbers first: asked for in portions by a condition, every portion would find and sort them all.
        found = self._database.query(f"SELECT s.id FROM scores s WHERE {condition}", values)  # noqa: S608
        numbers = array("q", sorted(number for (number,) in found))
        del found
        for start in range(0, len(numbers), _CHUNK):
            portion = ", ".join(map(str, numbers[start : start + _CHUNK]))
            yield from map(_row, self._database.query(_select(f"s.id IN ({portion}) ORDER BY s.id")))

    def versions(self) -> list[Version]:
        """Everything that gave scores, oldest first."""
        found = self._database.query(
            "SELECT id, scorer, version, scale, kind, provenance, source, began FROM versions ORDER BY began, id"
        )
        return [_version(row) for row in found]

    def request(self, name: str) -> dict[str, Any] | None:
        """A request by its ``X-Request-Id``: time, route, tenant, scorer, items and milliseconds by stage."""
        keys = ("time", "route", "tenant", "scorer", "items", "prepare_ms", "queue_ms", "score_ms", "total_ms")
        found = self._database.query(f"SELECT {', '.join(keys)} FROM requests WHERE id = :id", {"id": name})  # noqa: S608
        return dict(zip(keys, found[0], strict=True)) if found else None

    def text(self, hash: str) -> Any:
        """A kept text or messages by the hash of it; None if it was not kept."""
        found = self._database.query("SELECT body FROM texts WHERE hash = :hash", {"hash": hash})
        return json.loads(found[0][0]) if found else None

    def export(self, out: str | os.PathLike[str], filter: Filter | None = None) -> int:
        """Write scores as JSON lines that ``guerdon audit`` and ``score`` read; gives how many.

        A line has the sample, if it was kept, and ``scores``: the scorer's name with value, status, reason, details and
        provenance. The file appears only when it is whole.
        """
        from pathlib import Path

        from guerdon.serving.commands import console

        written = 0
        with console.whole_file(Path(out)) as write:
            for row in self.each(filter):
                write(console.to_json(line(row)))
                written += 1
        return written

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Store({self.name!r})"


def line(row: Row) -> dict[str, Any]:
    """A stored score as a record of a file of samples (see docs/data.md)."""
    score = {
        "value": row.value,
        "status": row.status,
        "reason": row.reason,
        "details": row.details,
        "version": row.version,
        "provenance": {"input": row.input, "tokens": row.tokens, "cut": row.cut, "batch": row.batch, "how": row.how},
    }
    known = {"id": row.name or f"{row.request}/{row.item}", "request": row.request, "time": row.time}
    sample = {"prompt": row.prompt or "", "response": row.response or ""} if row.has_texts else {}
    # As the server takes it: groups of different requests are different groups, whatever they are called.
    group = None if row.group is None else f"{row.request}/{row.group}"
    more = {"reference": row.reference, "group": group, "step": row.step}
    return {
        **row.meta,
        **known,
        **sample,
        **{key: value for key, value in more.items() if value is not None},
        "scores": {row.scorer: score},
    }


def _select(condition: str) -> str:
    """What is asked of the scores. The condition is made of our own words; what a caller gives is a parameter."""
    return f"SELECT {_COLUMNS} FROM scores s {_JOINS} WHERE {condition}"  # noqa: S608


def _chosen(filter: Filter | None, order: Order) -> tuple[str, dict[str, Any]]:
    condition, values = (filter or Filter()).condition()
    return (f"{condition} AND s.value IS NOT NULL", values) if order in ("lowest", "highest") else (condition, values)


def _row(row: tuple[Any, ...]) -> Row:
    *plain, reference, ready_made, details, meta, prompt, response = row
    texts = [_read(each) for each in (prompt, response, reference, ready_made)]
    values = [*plain, *texts, _read(details) or {}, _read(meta) or {}]
    return Row(*values)


def _version(row: tuple[Any, ...]) -> Version:
    values = list(row)
    values[5] = json.loads(values[5])
    return Version(*values)


def _read(body: str | None) -> Any:
    return None if body is None else json.loads(body)
