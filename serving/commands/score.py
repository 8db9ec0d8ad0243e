"""``guerdon score``: any scorer over a file of samples, one line of JSON for each."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.serving.commands import console

if TYPE_CHECKING:
    from guerdon.rewards import Sample, Score, Scorer

CHUNK = 256
"""Samples scored at once: enough for a model to make full batches, few enough for the bar to move."""

EXAMPLES = console.examples(
    "$ guerdon score samples.jsonl --scorer numeric",
    "$ guerdon score samples.jsonl.gz --scorer runs/helpful -o scores.jsonl --json",
    "$ cat samples.jsonl | guerdon score - --scorer http://127.0.0.1:8008#helpful | head",
    "$ guerdon score samples.jsonl --scorer my_rewards.py:brevity --option scale=verdict",
    'A sample: {"prompt": "6 * 7?", "response": "It is 42.", "reference": "42"}',
    'Its score: {"id": 0, "value": 1.0, "status": "ok", "reason": "...", "details": {...}}; no score is null.',
)


def command(
    file: Annotated[str, typer.Argument(help="Samples: JSONL(.gz), Parquet, a folder of datasets, or '-' for stdin.")],
    scorer: Annotated[
        str,
        typer.Option(
            "--scorer",
            "-s",
            metavar="SPEC",
            help="A verifier's name, a model's folder or hub id, module:function, file.py:function, or a server's URL.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where the scores go; standard output if absent.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="KEY=VALUE for the scorer; the value is JSON or text.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="OURS=THEIRS: the file's own name of prompt, response, ...")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Score only the first so many.")] = None,
    split: Annotated[str, typer.Option(help="Split of a datasets folder or hub id.")] = "train",
    json_: Annotated[
        bool, typer.Option("--json", help="The summary as JSON: on stdout with -o, else on stderr.")
    ] = False,
) -> None:
    """Score a file of samples; the scores keep its order."""
    from guerdon.rewards.preferences import read_samples
    from guerdon.serving.specs import load_scorer

    options, columns = console.parse_options(option or ()), console.parse_columns(column or ())
    with console.source(file) as source:
        samples = read_samples(source, split=split, limit=limit, columns=columns)
    with _sink(out) as write:
        loaded = load_scorer(scorer, **options)
        start = time.monotonic()
        scores = _score(loaded, samples, write)
        seconds = time.monotonic() - start
    summary = _summary(loaded, scores, seconds)
    if json_:
        print(console.to_json(summary), file=sys.stdout if out else sys.stderr)
    else:
        _show(summary, out)


@contextmanager
def _sink(out: Path | None) -> Iterator[Callable[[str], None]]:
    if out is None:
        yield print
    else:
        with console.whole_file(out) as write:
            yield write


def _score(scorer: Scorer, samples: Sequence[Sample], write: Callable[[str], None]) -> list[Score]:
    """Scores in the samples' order, each written as soon as all before it are there."""
    scores: dict[int, Score] = {}
    written = 0
    with console.progress(f"Scoring with {scorer.name}") as moved:
        for indices in chunks(samples, CHUNK):
            scores.update(zip(indices, scorer.score([samples[i] for i in indices]), strict=True))
            while written in scores:
                write(console.to_json(_row(samples[written], scores[written], written)))
                written += 1
            moved(len(scores), len(samples), "")
    return [scores[i] for i in range(len(samples))]


def chunks(samples: Sequence[Sample], size: int) -> Iterator[list[int]]:
    """Indices in portions of ``size`` or a little more that never part a group: its members may be compared."""
    groups: dict[object, list[int]] = {}
    for index, sample in enumerate(samples):
        groups.setdefault(index if sample.group is None else sample.group, []).append(index)
    portion: list[int] = []
    for members in groups.values():
        portion += members
        if len(portion) >= size:
            yield portion
            portion = []
    if portion:
        yield portion


def _row(sample: Sample, score: Score, index: int) -> dict[str, Any]:
    return {
        "id": sample.meta.get("id", index),
        "value": score.value,
        "status": score.status,
        "reason": score.reason,
        "details": score.details,
    }


def _summary(scorer: Scorer, scores: Sequence[Score], seconds: float) -> dict[str, Any]:
    values = [score.value for score in scores if score.value is not None]
    reasons = Counter((score.status, score.reason) for score in scores if score.value is None)
    return {
        "scorer": scorer.name,
        "version": scorer.version,
        "scale": scorer.scale,
        "samples": len(scores),
        "scored": len(values),
        "unscored": len(scores) - len(values),
        "mean": sum(values) / len(values) if values else None,
        "min": min(values, default=None),
        "max": max(values, default=None),
        "reasons": [{"status": s, "reason": r, "samples": n} for (s, r), n in reasons.most_common(5)],
        "seconds": round(seconds, 3),
    }


def _show(summary: dict[str, Any], out: Path | None) -> None:
    terminal = console.err()
    line = f"{summary['scored']} of {summary['samples']} scored by {summary['scorer']} ({summary['scale']})"
    if summary["mean"] is not None:
        line += f": mean {summary['mean']:.4f}, from {summary['min']:.4f} to {summary['max']:.4f}"
    terminal.print(f"{line}; {summary['seconds']:.1f} s")
    for reason in summary["reasons"]:
        terminal.print(f"  {reason['samples']} {reason['status']}: {console.printable(reason['reason'])}")
    if out:
        terminal.print(f"written to {out}")
