"""What the commands of ``guerdon audit`` read and write: samples with ids, their verdicts, and labels.

A label is a line of JSON: ``{"id": ..., "label": true|false, "drawn_by": {"scorer": ..., "stratum": ...}}``. The last
line of an id counts, and ``null`` takes a label back, so that a file of labels only ever grows. ``drawn_by`` says whose
accepted and rejected samples the label was drawn from, and by which strata: drawn for one scorer, labels are no random
sample of another's verdicts.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.rewards.errors import DataError, UsageError
from guerdon.rewards.types import Sample, Score, thaw
from guerdon.serving.commands import console
from guerdon.serving.commands.score import CHUNK, chunks

if TYPE_CHECKING:
    from guerdon.rewards.scorer import Scorer


@dataclass(frozen=True, slots=True)
class Judged:
    """Samples with what one scorer says of them. verdicts: 1.0, 0.0, or NaN for an unscored sample."""

    samples: Sequence[Sample]
    ids: Sequence[str]
    scorer: str
    version: str
    scores: Sequence[Score]
    verdicts: Sequence[float]


@dataclass(frozen=True, slots=True)
class Label:
    right: bool
    scorer: str | None = None
    """Whose verdicts it was drawn by, None if unknown."""
    stratum: str | None = None


def read(file: str, columns: Mapping[str, str], limit: int | None) -> list[Sample]:
    from guerdon.rewards.preferences import read_samples

    with console.source(file) as source:
        samples = read_samples(source, columns=columns, limit=limit)
    if not samples:
        raise UsageError(f"{file} holds no samples")
    return samples


def identities(samples: Sequence[Sample]) -> list[str]:
    """A name for each sample that does not depend on its place: its column ``id``, else a hash of its texts.

    Where several have one name, the second is ``name#2`` and so on.
    """
    seen: Counter[str] = Counter()
    names = []
    for sample in samples:
        name = sample.meta.get("id")
        if not isinstance(name, (str, int)) or isinstance(name, bool) or name == "":
            content = [thaw(sample.prompt), thaw(sample.response), thaw(sample.reference)]
            name = hashlib.sha256(json.dumps(content, default=str).encode()).hexdigest()[:16]
        name = str(name)
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return names


def judge(
    samples: Sequence[Sample],
    *,
    scorer: str | None,
    options: Mapping[str, Any],
    scores: str | None,
    threshold: float | None,
    hidden: str | None = None,
) -> Judged:
    """Verdicts by a scorer, or from scores that are there already. hidden: one more column that no scorer may see.

    Raises UsageError unless just one of scorer and scores is given, and for values that are no verdicts.
    """
    if (scorer is None) == (scores is None):
        raise UsageError("give either --scorer SPEC, or --scores with scores that are there already")
    if scorer is not None:
        from guerdon.serving.specs import load_scorer

        loaded = load_scorer(scorer, **options)
        name, version, found = loaded.name, loaded.version, score_all(loaded, samples, hidden)
    else:
        assert scores is not None
        name, version, found = scores, "", stored(samples, scores)
    return Judged(samples, identities(samples), name, version, found, verdicts(name, found, threshold))


def verdicts(name: str, scores: Sequence[Score], threshold: float | None) -> list[float]:
    """1.0, 0.0 or NaN of each. Raises UsageError for a value that is no verdict, unless there is a threshold."""
    bad = next((score.value for score in scores if score.value not in (None, 0.0, 1.0)), None)
    if bad is not None and threshold is None:
        raise UsageError(
            f"{name} gives {bad:g}, which is no verdict (0 or 1); say from which value on it accepts: --threshold 0.5"
        )
    return [_verdict(score, threshold) for score in scores]


def _verdict(score: Score, threshold: float | None) -> float:
    if score.value is None:
        return math.nan
    return score.value if threshold is None else float(score.value >= threshold)


def score_all(scorer: Scorer, samples: Sequence[Sample], hidden: str | None = None) -> list[Score]:
    """In the samples' order; the scorer sees no column that may hold the truth."""
    from guerdon.rewards.evaluation.correctness import TRUTH_COLUMNS

    secret = {*TRUTH_COLUMNS, hidden}
    shown = [
        Sample(s.prompt, s.response, s.reference, s.group, {k: v for k, v in s.meta.items() if k not in secret})
        for s in samples
    ]
    found: dict[int, Score] = {}
    with console.progress(f"Scoring with {scorer.name}") as moved:
        for indices in chunks(shown, CHUNK):
            found.update(zip(indices, scorer.score([shown[i] for i in indices]), strict=True))
            moved(len(found), len(shown), "")
    return [found[i] for i in range(len(shown))]


def stored(samples: Sequence[Sample], scores: str) -> list[Score]:
    """The scores of a file that ``guerdon score -o`` wrote, or those of this name in the samples' column ``scores``."""
    if Path(scores).is_file():
        rows: list[Any] = [row for _, row in _lines(Path(scores))]
        if len(rows) != len(samples):
            raise UsageError(f"{scores} holds {len(rows)} scores for {len(samples)} samples; score the same file again")
        places = [f"{scores}:{i + 1}" for i in range(len(rows))]
    else:
        rows = [_under(sample.meta.get("scores"), scores) for sample in samples]
        places = [str(sample.meta.get("where", f"row {i}")) for i, sample in enumerate(samples)]
        if all(row is None for row in rows):
            raise UsageError(f"--scores {scores!r} is no file, and no sample has scores under this name")
    found, problems = [], []
    for sample, row, place in zip(samples, rows, places, strict=True):
        try:
            found.append(score_of(row, sample))
        except (UsageError, TypeError, ValueError) as error:
            problems.append(f"{place}: {error}")
    if problems:
        raise DataError(scores, problems)
    return found


def _under(column: Any, name: str) -> Any:
    return column.get(name) if isinstance(column, Mapping) else None


def score_of(row: Any, sample: Sample) -> Score:
    """A stored score. Raises UsageError for what is none, or one of another sample."""
    if not isinstance(row, Mapping) or "value" not in row:
        raise UsageError(f"a score is an object with value, status, reason and details; got {row!r:.80}")
    if "id" in row and "id" in sample.meta and row["id"] != sample.meta["id"]:
        raise UsageError(f"the score is of {row['id']!r:.80} but the sample here is {sample.meta['id']!r:.80}")
    return Score(row["value"], row.get("reason", ""), row.get("details") or {}, row.get("status", "ok"))


def save_label(path: Path, row: Mapping[str, Any]) -> None:
    """One more line, on the disk when this returns."""
    with path.open("a", encoding="utf-8") as stream:
        stream.write(console.to_json(row) + "\n")


def mend(path: Path) -> None:
    """End the last line of a file of labels: one that a crash left half written is cut off, or the next is lost."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole == len(content):
        return
    with path.open("r+b") as stream:
        try:
            json.loads(content[whole:])
        except ValueError:
            console.err().print(f"{path}: a last line without its end was cut off")
            stream.truncate(whole)
        else:  # written by hand: it only lacks its line end
            stream.seek(0, 2)
            stream.write(b"\n")


def read_labels(path: Path) -> dict[str, Label]:
    """The labels of a file by id, in order; those taken back are left out. Raises DataError listing wrong lines."""
    found: dict[str, Label] = {}
    problems = []
    for number, row in _lines(path):
        by = row.get("drawn_by") or {} if isinstance(row, Mapping) else None
        if by is None or "id" not in row or row.get("label") not in (True, False, None) or not isinstance(by, Mapping):
            problems.append(f"line {number}: a label is {{'id': ..., 'label': true or false}}, got {row!r:.80}")
            continue
        found.pop(str(row["id"]), None)
        if row["label"] is not None:
            found[str(row["id"])] = Label(bool(row["label"]), by.get("scorer"), by.get("stratum"))
    if problems:
        raise DataError(str(path), problems)
    return found


def lines(path: Path) -> list[Mapping[str, Any]]:
    """The lines of a file of labels that ``read_labels`` takes, as they are."""
    return [row for _, row in _lines(path)]


def column_labels(samples: Sequence[Sample], ids: Sequence[str], column: str) -> dict[str, Label]:
    """The truth that a column holds: true or false, 1 or 0; samples without it have no label."""
    found, problems = {}, []
    for sample, name in zip(samples, ids, strict=True):
        value = sample.meta.get(column)
        if value in (True, False):  # 1 and 0 too
            found[name] = Label(bool(value))
        elif value is not None:
            problems.append(f"{sample.meta.get('where', name)}: {column} must be true or false, got {value!r:.60}")
    if problems:
        raise DataError("labels", problems)
    if not found:
        columns = sorted({key for sample in samples for key in sample.meta})
        raise UsageError(f"no sample has a label in a column {column!r}; the columns are {', '.join(columns)}")
    return found


def row_of(judged: Judged, index: int) -> dict[str, Any]:
    """A sample with its score as a line of JSON: the file's own columns, an id, and ``scores``."""
    sample, score = judged.samples[index], judged.scores[index]
    stored = {"value": score.value, "status": score.status, "reason": score.reason, "details": score.details}
    row = {key: value for key, value in sample.meta.items() if key != "where"}
    row |= {"id": judged.ids[index], "prompt": sample.prompt, "response": sample.response}
    row |= {"reference": sample.reference} if sample.reference is not None else {}
    row |= {"group": sample.group} if sample.group is not None else {}
    scores = row.get("scores")
    return {**row, "scores": {**(scores if isinstance(scores, Mapping) else {}), judged.scorer: stored}}


def _lines(path: Path) -> list[tuple[int, Any]]:
    """The lines of a file with their numbers; a last line that a crash cut off is left out."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no UTF-8 text: {error}") from error
    lines = text.split("\n")
    found, problems = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append((number, json.loads(line)))
        except (ValueError, RecursionError) as error:
            if number < len(lines):
                problems.append(f"line {number}: no JSON: {error}")
    if problems:
        raise DataError(str(path), problems)
    return found
