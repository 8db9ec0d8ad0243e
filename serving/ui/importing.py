"""A file of samples with their scores becomes a store, so that a table over a file is a table over a store.

Scores are those of the column ``scores`` (what ``Store.export`` and ``guerdon audit choose`` write), of a column
``reward`` if there is no other, of a file that ``guerdon score -o`` wrote, and of scorers that are asked here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from guerdon.rewards.errors import UsageError
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import Sample, Score
from guerdon.serving.commands import audit_data, console
from guerdon.serving.jobs import Origin, Request
from guerdon.serving.storing.database import connect
from guerdon.serving.storing.records import Answered, Batch, Versions

REWARD = "reward"
"""A column of rollouts that holds one number, and the name of its scorer."""

AT_ONCE = 2_000  # samples of one transaction


@dataclass(slots=True)
class Signal:
    """What one scorer says of the samples of a file; None where it says nothing of one."""

    name: str
    scale: str
    scores: list[Score | None]
    versions: list[str] = field(default_factory=list)
    origins: list[Origin | None] = field(default_factory=list)
    source: str | None = None


def build(
    file: str,
    store: Path,
    *,
    scorers: Mapping[str, Scorer] | None = None,
    sources: Mapping[str, str] | None = None,
    scores: str | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
) -> int:
    """Make a store of a file's samples; gives how many there are.

    scorers: asked now, under these names. sources: the specs they were loaded by. scores: a file of ``guerdon score``.
    Raises UsageError for a file without any scores, DataError for one whose rows are wrong.
    """
    samples = audit_data.read(file, columns or {}, limit)
    names = audit_data.identities(samples)
    signals = [*_columns(samples)]
    if scores is not None:
        found: list[Score | None] = [*audit_data.stored(samples, scores)]
        name = Path(scores).name.partition(".")[0] if Path(scores).is_file() else scores
        signals = [each for each in signals if each.name != name] + [Signal(name, scale_of(found), found)]
    for name, scorer in (scorers or {}).items():
        signals = [each for each in signals if each.name != name]
        given: list[Score | None] = [*audit_data.score_all(scorer, samples)]
        versions = [scorer.version] * len(samples)
        signals.append(Signal(name, scorer.scale, given, versions, source=(sources or {}).get(name)))
    if not signals:
        raise UsageError(
            f"{file} holds no scores (no column 'scores' or 'reward'); name who shall score it, for example "
            f"--scorer math, or score it first: guerdon score SPEC {file} -o scores.jsonl, then --scores scores.jsonl"
        )
    _write(samples, names, signals, store, _time(file))
    return len(samples)


def _time(file: str) -> float:
    with suppress(OSError):
        return os.path.getmtime(file)
    return 0.0


def _columns(samples: Sequence[Sample]) -> Iterator[Signal]:
    names: dict[str, None] = {}
    for sample in samples:
        kept = sample.meta.get("scores")
        if isinstance(kept, Mapping):
            names |= dict.fromkeys(map(str, kept))
    for name in names:
        rows = [_under(sample, name) for sample in samples]
        scores = [None if row is None else _score(row, sample) for row, sample in zip(rows, samples, strict=True)]
        versions = [str(row.get("version") or "") if isinstance(row, Mapping) else "" for row in rows]
        origins = [_origin(row) for row in rows]
        yield Signal(name, scale_of(scores), scores, versions, origins)
    if not names and any(_is_number(sample.meta.get(REWARD)) for sample in samples):
        found = [_reward(sample.meta.get(REWARD)) for sample in samples]
        yield Signal(REWARD, scale_of(found), [*found])


def _reward(value: Any) -> Score | None:
    return Score(float(value), "stored with the sample") if _is_number(value) else None


def _under(sample: Sample, name: str) -> Any:
    kept = sample.meta.get("scores")
    return kept.get(name) if isinstance(kept, Mapping) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == value and abs(value) != float("inf")


def _score(row: Any, sample: Sample) -> Score:
    """A bare number is a score, too."""
    if _is_number(row):
        return Score(float(row))
    return audit_data.score_of(row, sample)


def _origin(row: Any) -> Origin | None:
    known = row.get("provenance") if isinstance(row, Mapping) else None
    if not isinstance(known, Mapping) or not isinstance(known.get("batch"), str):
        return None
    digest = None
    with suppress(TypeError, ValueError):
        digest = bytes.fromhex(known["input"])
    return Origin(digest, known.get("tokens"), known["batch"], 0, str(known.get("how", "")))


def scale_of(scores: Sequence[Score | None]) -> str:
    """The narrowest scale that holds all values: a file does not say which one is meant."""
    values = {score.value for score in scores if score is not None and score.value is not None}
    if values <= {0.0, 1.0}:
        return "verdict"
    return "probability" if all(0.0 <= value <= 1.0 for value in values) else "real"


def _write(samples: Sequence[Sample], names: Sequence[str], signals: Sequence[Signal], store: Path, now: float) -> None:
    database = connect(str(store), create=True)
    versions = Versions()
    try:
        with console.progress("Reading") as moved:
            for start in range(0, len(samples), AT_ONCE):
                batch = Batch(versions, texts=True)
                for place, signal in enumerate(signals):
                    # a little later each, so that they keep the file's order
                    began = now + place / 1000
                    for answered in _answers(signal, samples, names, range(start, start + AT_ONCE), began):
                        batch.add(answered)
                database.write(batch.rows())
                moved(min(start + AT_ONCE, len(samples)), len(samples), "")
    finally:
        database.close()


def _answers(
    signal: Signal, samples: Sequence[Sample], names: Sequence[str], places: range, now: float
) -> Iterator[Answered]:
    """As if a server had answered these samples, a request for each version: rows are made in one place only."""
    by_version: dict[str, list[int]] = {}
    for place in places:
        if place < len(samples) and signal.scores[place] is not None:
            version = signal.versions[place] if signal.versions else ""
            by_version.setdefault(version, []).append(place)
    for version, chosen in by_version.items():
        items = [_stored(samples[place]) for place in chosen]
        request = Request(os.urandom(16).hex(), "file", [names[place] for place in chosen])
        origins = [signal.origins[place] if signal.origins else None for place in chosen]
        source = None if signal.source is None else SimpleNamespace(spec=signal.source)
        generation = SimpleNamespace(name=signal.name, scale=signal.scale, prepares=False, source=source, began=now)
        job = SimpleNamespace(items=items, request=request, tenant=None, generation=generation)
        timing = dict.fromkeys(("prepare", "queue", "score", "total"), 0.0)
        scored = SimpleNamespace(
            scores=[signal.scores[place] for place in chosen],
            version=version,
            provenance=_NO_PROVENANCE,
            timing_ms=timing,
            origins=origins,
        )
        yield Answered(cast("Any", job), cast("Any", scored), now)


_NO_PROVENANCE: Mapping[str, Any] = {}


def _stored(sample: Sample) -> Sample:
    """As the server's engine names groups; without the scores, which get rows of their own."""
    group = None if sample.group is None else f"file/{sample.group}"
    meta = {key: value for key, value in sample.meta.items() if key not in ("scores", REWARD)}
    return Sample(sample.prompt, sample.response, sample.reference, group, meta)
