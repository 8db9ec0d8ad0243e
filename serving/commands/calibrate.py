"""``guerdon calibrate``: what a scorer's values are worth as probabilities, as a file that a server can load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.serving.commands import console

if TYPE_CHECKING:
    from guerdon.calibration.choice import Choice, Quality
    from guerdon.rewards.scorer import Scorer

BEST = "best"
FEW = 200
"""Rows below which the table says that it knows little: the log-loss is then known to about 0.05."""

EXAMPLES = console.examples(
    "$ guerdon calibrate answers.jsonl --scorer runs/helpful -o runs/helpful/map.json",
    "$ guerdon calibrate pairs.jsonl --scorer runs/helpful --method temperature --json",
    "$ guerdon calibrate answers.jsonl --scorer my_rewards.py:judge --label-column human_says_right",
    "$ guerdon serve --scorer helpful=runs/helpful@runs/helpful/map.json",
    "Data are samples labelled right or wrong (score to P(right)), or preference pairs (margin to P(chosen wins)).",
)


@dataclass(frozen=True, slots=True)
class _Labelled:
    """Values as a map takes them, with labels and clusters; unscored rows are left out and counted by reason."""

    values: Any
    right: Any
    clusters: Any
    pairs: bool
    rows: int
    reasons: Sequence[Any]


def command(
    file: Annotated[str, typer.Argument(help="Labelled samples or pairs: JSONL(.gz), Parquet, or '-' for stdin.")],
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
        Path | None, typer.Option("--out", "-o", help="Where the map goes; its plot goes beside it as .svg.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="best, temperature, platt, beta, histogram or isotonic. Best is chosen out of sample.")
    ] = BEST,
    label_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Where samples say whether they are right. [label, truth, ...]")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="KEY=VALUE for the scorer; the value is JSON or text.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="OURS=THEIRS: the file's own name of prompt, response, ...")
    ] = None,
    clusters: Annotated[
        str, typer.Option(help="What makes rows dependent: prompt, conversation (its first user message), or row.")
    ] = "prompt",
    folds: Annotated[int, typer.Option(min=2, help="Every figure is of rows that did not help to fit it.")] = 10,
    seed: Annotated[int, typer.Option(help="Seed of the folds.")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many rows.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="The comparison as JSON on stdout.")] = False,
) -> None:
    """Fit the map from a scorer's values to probabilities, and say what it mends on rows it has not seen."""
    from guerdon.rewards.errors import UnknownNameError

    with console.needs_extra("guerdon calibrate", "calibration"):
        from guerdon.calibration._records import FittedOn
        from guerdon.calibration.choice import choose_map
        from guerdon.calibration.probabilities import METHODS

    if method not in (BEST, *METHODS):
        raise UnknownNameError("method", method, (BEST, *METHODS))
    if out is not None:
        console.writable_folder(out.parent)
    from guerdon.serving.specs import load_scorer

    options, columns = console.parse_options(option or ()), console.parse_columns(column or ())
    with console.source(file) as source:
        records = _read(source, columns, label_column, limit)
    loaded = load_scorer(scorer, **options)
    found = _labelled(records, loaded, label_column, clusters, file)
    choice = choose_map(
        found.values,
        found.right,
        input_scale=loaded.scale,
        pairs=found.pairs,
        clusters=found.clusters,
        methods=None if method == BEST else [method],
        folds=folds,
        seed=seed,
        scorer=FittedOn(loaded.name, loaded.version),
    )
    plot = _save(choice, out) if out is not None else None
    if json_:
        console.print_json(_summary(choice, found, out, plot))
    else:
        _show(choice, found, loaded)
    terminal = console.err()
    if out is not None:
        terminal.print(f"written to {out} and {plot}")
        if not found.pairs:
            terminal.print(f"a server loads it as {scorer}@{out}")


def _read(source: str, columns: dict[str, str], label_column: str | None, limit: int | None) -> Sequence[Any]:
    from guerdon.rewards.errors import UsageError
    from guerdon.rewards.preferences import kind_of, read_preferences, read_samples, read_ties

    kind = kind_of(source, columns=columns)
    if kind == "samples":
        return read_samples(source, columns=columns, limit=limit)
    if label_column is not None:
        raise UsageError(
            f"--label-column {label_column!r} is for samples, and this file holds {kind}, whose order is the label"
        )
    return (read_ties if kind == "ties" else read_preferences)(source, columns=columns, limit=limit)


def _labelled(records: Sequence[Any], scorer: Scorer, label_column: str | None, clusters: str, name: str) -> _Labelled:
    """The scorer's values with the labels. The scorer sees no column that holds a label."""
    import numpy as np

    from guerdon.calibration.probabilities import margins_of
    from guerdon.rewards.errors import UnknownNameError, UsageError
    from guerdon.rewards.evaluate import CLUSTERS
    from guerdon.rewards.evaluation.correctness import place_samples
    from guerdon.rewards.evaluation.preferences import place_preferences
    from guerdon.rewards.evaluation.scoring import SampleTable
    from guerdon.rewards.types import Sample

    if clusters not in CLUSTERS:
        raise UnknownNameError("kind of cluster", clusters, CLUSTERS)
    table, cluster = SampleTable(), CLUSTERS[clusters]
    pairs = not isinstance(records[0], Sample)
    if pairs:
        ordered = place_preferences(records, table, cluster)
        right, keys, sides = ordered.label, ordered.clusters, [ordered.better, ordered.worse]
    else:
        single = place_samples(records, table, cluster, label_column, name)
        right, keys, sides = single.truth, single.clusters, [single.index]
        if ((right < 0) | (right > 1)).any():
            raise UsageError(f"labels must lie in [0, 1], got {right[(right < 0) | (right > 1)][0]:g}; a grade is none")
    with console.progress(f"Scoring with {scorer.name}") as moved:
        scores = table.score(scorer, chunk_size=256, progress=lambda done, total: moved(done, total, ""))
    known = np.logical_and.reduce([np.isfinite(scores.values[side]) for side in sides])
    values = [scores.values[side][known] for side in sides]
    unscored = np.unique(np.concatenate([side[~known] for side in sides])).tolist()
    if not known.any():
        reasons = "; ".join(f"{reason.status}: {reason.reason}" for reason in scores.reasons(unscored)[:3])
        raise UsageError(f"{scorer.name} scored none of {len(records)} rows ({console.printable(reasons)})")
    return _Labelled(
        margins_of(values[0], values[1], scorer.scale) if pairs else values[0],
        right[known],
        keys[known],
        pairs,
        len(records),
        scores.reasons(unscored),
    )


def _save(choice: Choice, out: Path) -> Path:
    from guerdon.calibration.plots import reliability_plot

    plot = out.with_suffix(".svg")
    with console.whole_file(out) as write:
        write(console.to_json(choice.map.to_json()))
    forms = [(f"{choice.map.method}, out of sample", choice.chosen.table)]
    if choice.raw is not None:
        forms.insert(0, ("as it is", choice.raw.table))
    with console.whole_file(plot) as write:
        write(reliability_plot(forms))
    return plot


def _summary(choice: Choice, found: _Labelled, out: Path | None, plot: Path | None) -> dict[str, Any]:
    candidates = {
        c.method: {**_figures(c.quality), "excess": c.excess.value} if c.quality is not None else {"reason": c.reason}
        for c in choice.candidates
    }
    return {
        "map": choice.map.to_json(),
        "lowest": choice.lowest,
        "rows": found.rows,
        "used": len(found.values),
        "unscored": [{"status": r.status, "reason": r.reason, "samples": r.samples} for r in found.reasons],
        "raw": None if choice.raw is None else _figures(choice.raw),
        "candidates": candidates,
        "table": [
            {
                "low": b.low,
                "high": b.high,
                "n": b.n,
                "claimed": b.claimed,
                "observed": b.observed,
                "interval": [b.observed_low, b.observed_high],
            }
            for b in choice.chosen.table
        ],
        "written": None if out is None else {"map": str(out), "plot": str(plot)},
    }


def _figures(quality: Quality) -> dict[str, Any]:
    return {
        "log_loss": {"value": quality.log_loss.value, "low": quality.log_loss.low, "high": quality.log_loss.high},
        "brier": {"value": quality.brier.value, "low": quality.brier.low, "high": quality.brier.high},
        "ece": quality.ece,
        "ece_mass": quality.ece_mass,
        "worst": quality.worst,
        "squared_error": quality.squared_error,
    }


def _show(choice: Choice, found: _Labelled, scorer: Scorer) -> None:
    """The comparison as a table on stdout, and what was left out on stderr."""
    from rich.table import Table

    terminal, what = console.out(), "pairs" if found.pairs else "samples"
    table = Table(box=None, pad_edge=False)
    for name in ("", "log-loss", "Brier", "ECE", "ECE (mass)", "worst bin", ""):
        table.add_column(name, no_wrap=True)
    if choice.raw is not None:
        table.add_row("as it is", *_cells(choice.raw), "")
    for candidate in choice.candidates:
        if candidate.quality is None:
            table.add_row(candidate.method, "–", "–", "–", "–", "–", console.printable(candidate.reason, 60))
        else:
            mark = "chosen" if candidate.method == choice.map.method else ""
            table.add_row(candidate.method, *_cells(candidate.quality), mark)
    terminal.print(
        f"{scorer.name} ({scorer.scale}): {len(found.values):,} {what}, every map on rows it was not fitted on"
    )
    terminal.print(table, soft_wrap=False)
    if choice.map.method != choice.lowest:
        terminal.print(f"{choice.map.method} is the simplest map within one standard error of {choice.lowest}")
    if (slope := choice.map.parameters.get("slope")) is not None and slope <= 0:
        terminal.print("Higher values are not more often right here: the scorer tells nothing, or the reverse.")
    said = console.err()
    if len(found.values) < FEW:
        said.print(f"{len(found.values)} {what} are few: some {FEW} make the figures steady")
    for reason in found.reasons:
        said.print(f"left out: {reason.samples} {reason.status}: {console.printable(reason.reason)}")


def _cells(quality: Quality) -> tuple[str, ...]:
    from guerdon.rewards.evaluation.report_tables import estimate

    others = (quality.brier.value, quality.ece, quality.ece_mass, quality.worst)
    return (estimate(quality.log_loss), *(f"{figure:.3f}" for figure in others))
