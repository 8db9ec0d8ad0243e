"""The client's half of the native wire format, as pure functions: samples to requests, answers to scores.

Nothing here touches a network. What cannot be right on the way out is the caller's mistake (UsageError), except text
that has no UTF-8 form, which leaves only its own sample unscored; what is wrong on the way back is an outage.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NoReturn

from guerdon.rewards.errors import OutageError, UsageError
from guerdon.rewards.types import SCALES, Sample, Scale, Score

MAX_WAIT = 60.0
"""Seconds; neither backoff nor a server's Retry-After makes one wait longer than this."""

_INT_LIMIT = 2**63
"""Beyond 64 bits some JSON readers (orjson is one) turn an integer into a float, and a reference would change."""


@dataclass(frozen=True, slots=True)
class About:
    """What a server says of one of its scorers."""

    name: str
    version: str
    scale: Scale


@dataclass(frozen=True, slots=True)
class Part:
    """Samples that travel in one request: their positions in the caller's list, and for each its JSON."""

    positions: tuple[int, ...]
    items: tuple[bytes, ...]

    @property
    def json(self) -> bytes:
        """The items as a JSON list."""
        return b"[" + b",".join(self.items) + b"]"


def pack(units: Iterable[Mapping[int, bytes]], *, batch_size: int, batch_bytes: int) -> list[Part]:
    """Requests of at most batch_size items and batch_bytes bytes, in order.

    units: items by position that must travel together; what is larger than the limits travels alone.
    """
    parts: list[Part] = []
    waiting: dict[int, bytes] = {}
    size = 0
    for unit in units:
        unit_size = sum(len(item) + 1 for item in unit.values())
        if waiting and (len(waiting) + len(unit) > batch_size or size + unit_size > batch_bytes):
            parts.append(Part(tuple(waiting), tuple(waiting.values())))
            waiting, size = {}, 0
        waiting |= unit
        size += unit_size
    if waiting:
        parts.append(Part(tuple(waiting), tuple(waiting.values())))
    return parts


def native_body(part: Part, scorer: str) -> bytes:
    """The body of ``POST /v1/score``."""
    return b'{"scorer":' + json.dumps(scorer).encode() + b',"items":' + part.json + b"}"


def encode(samples: Sequence[Sample], *, batch_size: int, batch_bytes: int) -> tuple[list[Part], dict[int, Score]]:
    """Split samples into requests of at most batch_size items and batch_bytes bytes.

    A group is never divided, since a pairwise scorer must see all of it: one that is larger than the limits travels
    alone. The second result holds, by position, the samples that cannot be sent.
    """
    unsent: dict[int, Score] = {}
    units: list[dict[int, bytes]] = []
    for members in _units(samples):
        units.append({})
        for position in members:
            item = _item(position, samples[position])
            if isinstance(item, Score):
                unsent[position] = item
            else:
                units[-1][position] = item
    return pack(units, batch_size=batch_size, batch_bytes=batch_bytes), unsent


def _units(samples: Sequence[Sample]) -> Iterator[list[int]]:
    """Positions that must stay together: each group, and each sample without one, by first appearance."""
    units: dict[str | int, list[int]] = {}
    for position, sample in enumerate(samples):
        if not isinstance(sample, Sample):
            raise UsageError(f"samples[{position}] must be a Sample, got {type(sample).__name__}: {sample!r:.80}")
        units.setdefault(position if sample.group is None else sample.group, []).append(position)
    yield from units.values()


def _item(position: int, sample: Sample) -> bytes | Score:
    item = {
        "id": str(position),
        "prompt": plain(sample.prompt, f"samples[{position}].prompt"),
        "response": plain(sample.response, f"samples[{position}].response"),
        "reference": plain(sample.reference, f"samples[{position}].reference"),
        "group": sample.group,
        "meta": plain(sample.meta, f"samples[{position}].meta"),
    }
    return as_json(item)


def as_json(value: Any) -> bytes | Score:
    """A value that ``plain`` gave, as JSON; an unscored score where text has no UTF-8 form."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        return Score.unscored(
            f"the sample cannot be sent: it holds {error.object[error.start]!r}, an unpaired surrogate, which has no "
            "UTF-8 form",
            status="refused",
        )


def plain(value: Any, where: str) -> Any:
    """The value as JSON can carry it: frozen lists and mappings thawed, numpy values as numbers and lists.

    Raises UsageError naming the place (``samples[3].meta.source``) of anything else.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        if not -_INT_LIMIT <= value < _INT_LIMIT:
            raise UsageError(f"{where} is an integer of more than 64 bits, which JSON readers round; give it as text")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(f"{where} is {value!r}, which JSON cannot carry; use None for a missing number")
        return value
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise UsageError(f"{where} has the key {key!r:.80}; JSON keys are strings")
        return {key: plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if hasattr(value, "tolist"):  # numpy scalars and arrays, which trainers hand over among plain values
        return plain(value.tolist(), where)
    raise UsageError(
        f"{where} is of type {type(value).__name__}, which JSON cannot carry; leave it out or turn it into text"
    )


def read_answer(body: bytes, part: Part, scorer: str, where: str) -> tuple[About, list[Score]]:
    """The scores of one request and the scorer that gave them; OutageError saying what is wrong with the answer."""
    answer = _object(body, where)
    about = _about({**answer, "name": answer.get("scorer")}, where)
    if about.name != scorer:
        _wrong(where, f"scorer {scorer!r} was asked, and {about.name!r} answered")
    items = answer.get("items")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        _wrong(where, f"'items' must be a list of objects, got {items!r:.80}")
    if len(items) != len(part.positions):
        _wrong(where, f"{len(part.positions)} samples were sent and {len(items)} scores came back")
    for position, item in zip(part.positions, items, strict=True):
        if item.get("id") != str(position):
            _wrong(where, f"the score of sample id {str(position)!r} was expected, and {item.get('id')!r:.80} came")
    return about, [_score(item, about.scale, where) for item in items]


def _score(item: dict[str, Any], scale: Scale, where: str) -> Score:
    value, name = item.get("value"), f"the item with id {item['id']!r}"
    if "value" not in item or isinstance(value, bool) or not isinstance(value, (int, float, type(None))):
        _wrong(where, f"{name} must have a number or null as 'value', got {value!r:.80}")
    reason, details = item.get("reason") or "", item.get("details") or {}
    if not isinstance(reason, str) or not isinstance(details, dict):
        _wrong(where, f"{name} must have text as 'reason' and an object as 'details'")
    try:
        # Score itself knows which values, reasons and statuses go together
        score = Score(value, reason, details, item.get("status"))  # type: ignore[arg-type]
    except (UsageError, OverflowError) as error:
        raise OutageError(f"{where} answered wrongly: {name}: {error}") from error
    if not _within(scale, score.value):
        _wrong(where, f"{name} has the value {value!r}, which is outside the scale {scale!r}")
    return score


def _within(scale: Scale, value: float | None) -> bool:
    if value is None or scale in ("logit", "real"):
        return True
    return value in (0.0, 1.0) if scale == "verdict" else 0.0 <= value <= 1.0


def read_listing(body: bytes, where: str) -> dict[str, About]:
    """The scorers of a server by name, from its answer to ``GET /v1/scorers``."""
    scorers = _object(body, where).get("scorers")
    if not isinstance(scorers, list) or not all(isinstance(scorer, dict) for scorer in scorers):
        _wrong(where, f"'scorers' must be a list of objects, got {scorers!r:.80}")
    abouts = [_about(scorer, where) for scorer in scorers]
    return {about.name: about for about in abouts}


def _about(fields: Mapping[str, Any], where: str) -> About:
    name, version, scale = fields.get("name"), fields.get("version"), fields.get("scale")
    if not isinstance(name, str) or not isinstance(version, str) or scale not in SCALES:
        _wrong(where, f"no scorer has name {name!r:.80}, version {version!r:.80} and scale {scale!r:.80}")
    return About(name, version, scale)


def _object(body: bytes, where: str) -> dict[str, Any]:
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise OutageError(f"{where} answered wrongly: no strict JSON ({error}): {body[:80]!r}") from error
    if not isinstance(value, dict):
        _wrong(where, f"a JSON object was expected, got {value!r:.80}")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")  # Python's reader would take NaN and Infinity


def _wrong(where: str, what: str) -> NoReturn:
    raise OutageError(f"{where} answered wrongly: {what}")


def error_message(body: bytes) -> str:
    """What a server says in an error answer, in any of the usual forms, at most 500 characters."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return body[:500].decode("utf-8", "replace").strip()
    error = value.get("error", value.get("detail", value.get("message"))) if isinstance(value, dict) else value
    if not isinstance(error, dict):
        return str(error)[:500]
    param = f" (at {error['param']})" if error.get("param") else ""
    return f"{error.get('message', error)!s:.500}{param}"


def retry_after(header: str | None, now: datetime | None = None) -> float | None:
    """Seconds that a Retry-After header asks to wait, given as seconds or as an HTTP date (RFC 9110, 10.2.3).

    None where there is none or it cannot be read. now: for tests.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            when = parsedate_to_datetime(header)
        except ValueError:
            return None
        if when.tzinfo is None:  # "-0000" in place of GMT
            when = when.replace(tzinfo=UTC)
        seconds = (when - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def wait_before(attempt: int, backoff: float, asked: float | None) -> float:
    """Seconds to wait before retry number attempt (1 is the first): exponential, with full jitter.

    At least what the server asked for, and never more than MAX_WAIT. Full jitter spreads clients that failed together
    (Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog 2015).
    """
    jittered = random.uniform(0.0, min(MAX_WAIT, backoff * 2.0 ** min(attempt - 1, 32)))  # noqa: S311 - not a secret
    return min(MAX_WAIT, max(jittered, asked or 0.0))
