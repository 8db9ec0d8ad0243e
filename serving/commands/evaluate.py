"""``guerdon evaluate``: how good is a scorer, against rulers that know nothing, on labelled files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.serving.commands import console

if TYPE_CHECKING:
    from guerdon.rewards.report import Report

EXAMPLES = console.examples(
    "$ guerdon evaluate runs/helpful --data heldout.jsonl",
    "$ guerdon evaluate runs/helpful --data pairs.jsonl.gz --data bestof.jsonl --out runs/helpful/report",
    "$ guerdon evaluate numeric --data answers.jsonl --json > report.json",
    "$ guerdon evaluate runs/helpful --data heldout.jsonl --min-accuracy 0.7   # exit code 1 below it",
    "Data may be pairs, rankings, ties, RM-Bench styles, or samples labelled right and wrong; the columns tell which.",
)


def command(
    scorer: Annotated[
        str,
        typer.Argument(
            metavar="SPEC", help="A model's folder or hub id, a verifier's name, module:function, or a server's URL."
        ),
    ],
    data: Annotated[
        list[str], typer.Option("--data", "-d", metavar="FILE", help="Labelled records; repeat for several files.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="A folder for report.json, report.md and report.html.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="KEY=VALUE for the scorer; the value is JSON or text.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many records of each file.")] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", metavar="COLUMN", help="Break down by it; repeat. [source, category]")
    ] = None,
    clusters: Annotated[
        str, typer.Option(help="What makes rows dependent: prompt, conversation (its first user message), or row.")
    ] = "prompt",
    truth: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Where samples say whether they are right (0/1 or a grade).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the folds and of the random ruler.")] = 0,
    min_accuracy: Annotated[
        float | None, typer.Option(min=0, max=1, help="Exit with 1 if the headline of a file is below this.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="The whole report as JSON on stdout.")] = False,
) -> None:
    """Evaluate any scorer on labelled records: accuracy with its interval, length bias, calibration, rulers."""
    options = console.parse_options(option or ())
    if out is not None:
        console.writable_folder(out)
    with ExitStack() as stack:
        files = [stack.enter_context(console.source(file)) for file in data]
        choices = {"clusters": clusters, "truth": truth, "seed": seed, **({"by": by} if by else {})}
        report = _report(scorer, options, files, limit, choices)
    paths = report.save(out) if out is not None else {}
    if json_:
        console.print_json(report.to_dict())
    else:
        show(report)
    terminal = console.err()
    for path in paths.values():
        terminal.print(f"written to {path}")
    short = (
        [] if min_accuracy is None else [s for s in report.sections if not (s.headline.value or 0.0) >= min_accuracy]
    )
    for section in short:
        terminal.print(f"{section.name}: {section.measure} {section.headline} is below {min_accuracy:g}")
    if short:
        raise typer.Exit(console.FINDINGS)


def _report(
    spec: str, options: dict[str, Any], files: Sequence[str], limit: int | None, choices: dict[str, Any]
) -> Report:
    from guerdon.rewards.evaluate import evaluate, read_records
    from guerdon.rewards.preferences import kind_of
    from guerdon.serving.specs import load_scorer

    for file in files:
        kind_of(file)  # a file that is not there is found before a model takes a minute to load
    records = list(files) if limit is None else {file: read_records(file, limit=limit) for file in files}
    scorer = load_scorer(spec, **options)
    with console.progress(f"Scoring with {scorer.name}") as moved:
        return evaluate(scorer, records, progress=lambda done, total: moved(done, total, ""), **choices)


def show(report: Report) -> None:
    """The report's summary as a table on stdout, and its sentence for each file."""
    from rich.table import Table

    terminal = console.out()
    table = Table(box=None, pad_edge=False, title=None)
    for column in ("", "measure", "value", "remark"):
        table.add_column(column, overflow="fold")
    section = None
    for row in report.summary_table():
        table.add_row(
            "" if row.section == section else console.printable(row.section), row.measure, row.value, row.remark
        )
        section = row.section
    terminal.print(f"{report.scorer} ({report.scale}), {report.samples:,} samples in {report.seconds:.1f} s")
    terminal.print(table, soft_wrap=False)
    for found in report.sections:
        terminal.print(console.printable(f"{found.name}: {found.sentence()}", 500), soft_wrap=False)
