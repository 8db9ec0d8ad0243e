"""From an answered request to rows of the store. Runs in the store's own thread, never on the event loop.

What is kept of a sample without being asked: hashes of prompt and response (so that one sample is found again under
every scorer), the caller's names for it, ``step``, and of ``meta`` and ``details`` what is short: numbers, texts of up
to 200 characters and small lists of them, which is what strata are made of. Whole texts, references and long values are
kept only if the server was told to (``texts``).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from guerdon.rewards.types import Text
from guerdon.serving.engine import Scored
from guerdon.serving.jobs import Item, Job, ReadyMade, Request
from guerdon.serving.provenance import cut_of
from guerdon.serving.schemas import to_json

SHORT = 200
"""Characters of a text in ``meta`` or ``details`` that is kept without asking; the longest stratum has 80."""
STEPS = ("step", "global_step")
"""Where ``meta`` may hold the trainer's step."""
_MANY, _DEEP = 50, 4  # entries of a list or mapping in them, and how far these may nest
_PLAIN = frozenset({int, float, bool, type(None)})
_LONGEST = 100_000  # characters of all ``details`` or ``meta`` of a sample that are kept with texts


@dataclass(frozen=True, slots=True)
class Answered:
    """An answered request on its way to the store. time: seconds since 1970."""

    job: Job
    scored: Scored
    time: float


class Batch:
    """Rows of one transaction, by table. texts: whether prompts, responses and references are kept."""

    def __init__(self, versions: Versions, *, texts: bool) -> None:
        self.texts, self._versions = texts, versions
        self._rows: dict[str, dict[Any, tuple[Any, ...]]] = {table: {} for table in ("versions", "requests", "texts")}
        self._scores: list[tuple[Any, ...]] = []

    def add(self, answered: Answered) -> None:
        """The rows of one request; none of them if this raises."""
        job, scored = answered.job, answered.scored
        # A job without a request is a program's own, not one of the HTTP side.
        request = job.request or Request(os.urandom(16).hex())
        version = self._versions.row(job, scored)
        scores = [self._score(answered, index, request, version[0]) for index in range(len(job.items))]
        self._scores += scores
        self._rows["versions"][version[0]] = version
        timing = [scored.timing_ms[stage] for stage in ("prepare", "queue", "score", "total")]
        self._rows["requests"][request.id] = (
            request.id, answered.time, request.route, job.tenant, job.generation.name, len(scores), *timing,
        )  # fmt: skip

    def rows(self) -> Mapping[str, Sequence[tuple[Any, ...]]]:
        """All rows by table."""
        return {"scores": self._scores, **{table: list(rows.values()) for table, rows in self._rows.items()}}

    def _score(self, answered: Answered, index: int, request: Request, version: str) -> tuple[Any, ...]:
        job, score = answered.job, answered.scored.scores[index]
        item = job.items[index]
        sample = item.sample if isinstance(item, ReadyMade) else item
        origin = answered.scored.origins[index]
        ids, tokens, batch, size, how = origin or (None, None, None, None, None)
        return (
            request.id,
            index,
            _safe(request.names[index]) if request.names else None,
            answered.time,
            job.generation.name,
            version,
            score.status,
            score.value,
            _safe(score.reason),
            tokens,
            cut_of(score),
            None if ids is None else ids.hex(),
            batch,
            size,
            how,
            _safe(group_name(sample.group)),
            _step(sample.meta),
            self._text(sample.prompt),
            self._text(sample.response),
            _json(sample.reference) if self.texts and sample.reference is not None else None,
            self._ready_made(item),
            self._facts(score.details),
            self._facts(sample.meta),
        )

    def _text(self, text: Text) -> str | None:
        """A text's hash, and with ``texts`` its body to be kept. None for the empty text, which says nothing."""
        if not text:
            return None
        body = _json(text)
        digest = hashlib.blake2b(body.encode(), digest_size=16).hexdigest()
        if self.texts:
            self._rows["texts"][digest] = (digest, body)
        return digest

    def _ready_made(self, item: Item) -> str | None:
        if not self.texts or not isinstance(item, ReadyMade):
            return None
        text = None if item.text is None else self._text(item.text) or ""
        return _json({"text": text, "ids": item.ids, "special_tokens": item.special_tokens, "keep": item.keep})

    def _facts(self, values: Mapping[str, Any]) -> str | None:
        if not values:
            return None
        if self.texts and len(written := _json(values)) <= _LONGEST:
            return written
        return _json(_short(values))


class Versions:
    """Rows of ``versions``, made once for each: the same circumstances have the same id, in whatever process."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[Mapping[str, Any], tuple[Any, ...]]] = {}

    def row(self, job: Job, scored: Scored) -> tuple[Any, ...]:
        generation = job.generation
        key = (generation.name, scored.version)
        known = self._known.get(key)
        if known is None or known[0] is not scored.provenance:
            kind = "model" if generation.prepares else "plain"
            about = (generation.name, scored.version, generation.scale, kind, _json(scored.provenance))
            source = None if generation.source is None else _safe(generation.source.spec)
            name = hashlib.blake2b(_json([*about, source]).encode(), digest_size=8).hexdigest()
            known = self._known[key] = (scored.provenance, (name, *about, source, generation.began))
        return known[1]


def group_name(group: str | None) -> str | None:
    """A group as its caller named it: the server puts the request's id and a slash before it."""
    return None if group is None else group.partition("/")[2] or group


def _step(meta: Mapping[str, Any]) -> int | None:
    for key in STEPS:
        step = meta.get(key)
        if type(step) is int and -(2**63) <= step < 2**63:
            return step
    return None


def _short(value: Any, depth: int = 0) -> Any:
    """A value without what is long in it; where something is left out stands ``…``."""
    if isinstance(value, str):
        return value if len(value) <= SHORT else value[:SHORT] + "…"
    if value is None or isinstance(value, (int, float)):
        return value
    if depth == _DEEP:
        return "…"
    if isinstance(value, Mapping):
        kept = {
            str(key)[:SHORT]: each if type(each) in _PLAIN else _short(each, depth + 1)
            for key, each in islice(value.items(), _MANY)
        }
        return kept if len(value) <= _MANY else {**kept, "…": len(value)}
    if isinstance(value, (list, tuple)):
        return [*(_short(each, depth + 1) for each in value[:_MANY]), *(["…"] if len(value) > _MANY else [])]
    return _short(str(value))


def _json(value: Any) -> str:
    """JSON that any database takes and that reads back as what was written: no NUL, no unpaired surrogate."""
    if isinstance(value, str):
        try:
            return orjson.dumps(value).decode()
        except TypeError:  # an unpaired surrogate, which only an escape brings back
            return json.dumps(value)
    return to_json(value).decode()


def _safe(text: str | None) -> str | None:
    """A plain text that any database takes: what it could not hold is escaped."""
    if text is None or ("\0" not in text and _encodes(text)):
        return text
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def _encodes(text: str) -> bool:
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False
