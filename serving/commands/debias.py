"""``guerdon debias``: what a scorer's scores owe to length or another feature, as a curve that a server can load."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from guerdon.serving.commands import console

if TYPE_CHECKING:
    from guerdon.calibration._arrays import Floats
    from guerdon.calibration._records import FittedOn
    from guerdon.calibration.debias import DebiasCurve
    from guerdon.calibration.debiasing.pool import Pool
    from guerdon.calibration.debiasing.report import Comparison
    from guerdon.rewards.scorer import Scorer

Scored: TypeAlias = tuple[Any, float]
"""A record and its stored score; NaN where there is none."""

EXAMPLES = console.examples(
    "$ guerdon debias pairs.jsonl --scorer runs/helpful -o runs/helpful/length.json --report debias.html",
    "$ guerdon debias pool.jsonl --test pairs.jsonl --scorer runs/helpful -o length.json",
    "$ guerdon debias pairs.jsonl -s runs/helpful --feature length --feature markdown --joint -o curve.json",
    "$ guerdon serve --scorer helpful=runs/helpful@runs/helpful/length.json",
    "Labels are never fitted on. With pairs or rankings the report also says what it costs and brings in accuracy.",
    "Several curves go to curve.FEATURE.json, to be wrapped around the scorer in that order.",
)


def command(
    file: Annotated[
        str, typer.Argument(help="The pool: pairs, rankings or samples; JSONL(.gz), Parquet, or '-' for stdin.")
    ],
    scorer: Annotated[
        str | None,
        typer.Option(
            "--scorer",
            "-s",
            metavar="SPEC",
            help="A model's folder or hub id, module:function, file.py:function, or a server's URL.",
        ),
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="In place of a scorer, for samples: a file of `guerdon score -o`, or a name in the column 'scores'.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where the curve goes.")] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option("--feature", metavar="NAME", help="length, markdown, lists, ...; repeat. [length]"),
    ] = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="Fit several features at once, not one after the other.")
    ] = False,
    method: Annotated[str, typer.Option(help="lowess, window or linear.")] = "lowess",
    strength: Annotated[float, typer.Option(min=0, help="The share that is taken out; 1 is all.")] = 1.0,
    test: Annotated[
        str | None, typer.Option(metavar="FILE", help="Report on these records; else on prompts held out of FILE.")
    ] = None,
    held_out: Annotated[float, typer.Option(min=0.01, max=0.99, help="Share of the prompts held out of FILE.")] = 0.3,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="HTML", help="A page with the figures and plots of the scores.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", help="KEY=VALUE for the scorer; the value is JSON or text.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many records of each file.")] = None,
    seed: Annotated[int, typer.Option(help="Decides which prompts are held out.")] = 0,
    json_: Annotated[bool, typer.Option("--json", help="The figures as JSON on stdout.")] = False,
) -> None:
    """Fit how scores run with a feature, save the curve, and report on other prompts what taking it out does."""
    from guerdon.rewards.errors import UnknownNameError, UsageError

    with console.needs_extra("guerdon debias", "calibration"):
        import numpy as np

        from guerdon.calibration._records import FittedOn
        from guerdon.calibration.debias import METHODS, fit_curves
        from guerdon.calibration.debiasing.pool import Pool
        from guerdon.calibration.debiasing.report import compare
        from guerdon.calibration.features import feature as named
        from guerdon.calibration.features import measure
    features = list(dict.fromkeys(feature or ["length"]))
    for name in features:
        named(name)  # a wrong name is told before a model takes a minute to load
    if method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    for path in (out, report):
        if path is not None:
            console.writable_folder(path.parent)
    options = console.parse_options(option or ())
    if (scorer is None) == (scores is None):
        raise UsageError("give either --scorer SPEC, or --scores with scores that are there already")
    parts = _records(file, test, held_out, seed, limit, scores)
    pools = [Pool.of([record for record, _ in part]) for part in parts]
    on = FittedOn(scores or "")
    if scorer is not None:
        loaded = _load(scorer, options)
        on = FittedOn(loaded.name, loaded.version)
        values = [_scores(pool, loaded) for pool in pools]
    else:
        values = [np.array([value for _, value in part]) for part in parts]
    columns = [measure(features, pool.texts()) for pool in pools]
    curves = fit_curves(values[0], columns[0], joint=joint, strength=strength, scorer=on, method=method)
    after = values[1]
    for curve in curves:
        after = curve.apply(after, columns[1][curve.feature])
    comparisons = compare(pools[1], values[1], after, columns[1], seed=seed)
    written = _save(curves, out)
    if report is not None:
        from guerdon.calibration.debiasing.page import page

        with console.whole_file(report) as write:
            write(page(on.name, curves, comparisons, values[1], after, [columns[1][name] for name in features]))
        written.append(report)
    if json_:
        console.print_json(_summary(on, curves, comparisons, values, written))
    else:
        _show(on, curves, comparisons, values)
    terminal = console.err()
    for path in written:
        terminal.print(f"written to {path}")
    if scorer is not None and out is not None and len(curves) == 1:
        terminal.print(f"a server loads it as {scorer}@{out}")


def _records(
    file: str, test: str | None, held_out: float, seed: int, limit: int | None, scores: str | None
) -> tuple[list[Scored], list[Scored]]:
    """The records to fit on and those to report on, of different prompts, each with its stored score or NaN."""
    from guerdon.rewards.errors import UsageError
    from guerdon.rewards.evaluate import read_records
    from guerdon.rewards.preferences import prompt_key, split_by_prompt

    with ExitStack() as stack:
        given = [stack.enter_context(console.source(name)) for name in (file, test) if name is not None]
        files: list[list[Any]] = [list(read_records(source, limit=limit)) for source in given]
    for name, records in zip((file, test), files, strict=False):
        if not records:
            raise UsageError(f"{name} holds no records")
    values = {id(record): value for records in files for record, value in _with(records, scores)}
    if test is None:
        kept, others = split_by_prompt(files[0], held_out, seed=seed)
    else:
        others = files[1]
        prompts = {prompt_key(record.prompt) for record in others}
        kept = [record for record in files[0] if prompt_key(record.prompt) not in prompts]
        if not kept:
            raise UsageError(f"every prompt of {file} is in {test} as well; leave out --test to split by prompt")
        if len(kept) < len(files[0]):
            left_out = len(files[0]) - len(kept)
            console.err().print(f"{left_out} records of {file} are left out: their prompts are in {test}")
    return [(record, values[id(record)]) for record in kept], [(record, values[id(record)]) for record in others]


def _with(records: Sequence[Any], scores: str | None) -> list[Scored]:
    from guerdon.rewards.errors import UsageError
    from guerdon.rewards.types import Sample
    from guerdon.serving.commands.audit_data import stored

    if scores is None:
        return [(record, math.nan) for record in records]
    if not all(isinstance(record, Sample) for record in records):
        raise UsageError("--scores is for single samples; pairs and rankings need --scorer")
    found = stored(records, scores)
    return [(record, math.nan if s.value is None else s.value) for record, s in zip(records, found, strict=True)]


def _load(spec: str, options: Mapping[str, Any]) -> Scorer:
    from guerdon.rewards.errors import ScaleError
    from guerdon.serving.specs import load_scorer

    loaded = load_scorer(spec, **options)
    if loaded.scale not in ("logit", "real"):
        raise ScaleError(
            f"a bias is taken from scores of scale logit or real, but {loaded.name!r} gives {loaded.scale!r}, which a "
            "subtraction would push out of range"
        )
    return loaded


def _scores(pool: Pool, scorer: Scorer) -> Floats:
    with console.progress(f"Scoring with {scorer.name}") as moved:
        return pool.score(scorer, lambda done, total: moved(done, total, "")).values


def _save(curves: Sequence[DebiasCurve], out: Path | None) -> list[Path]:
    if out is None:
        return []
    paths = [out] if len(curves) == 1 else [out.with_suffix(f".{curve.feature}{out.suffix}") for curve in curves]
    for curve, path in zip(curves, paths, strict=True):
        curve.save(path)
    return paths


def _summary(
    scorer: FittedOn,
    curves: Sequence[DebiasCurve],
    comparisons: Sequence[Comparison],
    values: Sequence[Floats],
    written: Sequence[Path],
) -> dict[str, Any]:
    return {
        "scorer": scorer.name,
        "version": scorer.version,
        "fitted_on": curves[0].n,
        "unscored": sum(_unscored(found) for found in values),
        "features": [
            {**comparison.to_dict(), "method": curve.method, "strength": curve.strength}
            for curve, comparison in zip(curves, comparisons, strict=True)
        ],
        "written": [str(path) for path in written],
    }


def _show(
    scorer: FittedOn, curves: Sequence[DebiasCurve], comparisons: Sequence[Comparison], values: Sequence[Floats]
) -> None:
    from rich.table import Table

    from guerdon.calibration.debiasing.page import table

    terminal = console.out()
    shown = comparisons[0]
    terminal.print(
        f"{console.printable(scorer.name)}: fitted on {curves[0].n:,} responses, "
        f"shown on {shown.responses:,} responses and {shown.pairs:,} pairs of other prompts"
    )
    if unscored := sum(_unscored(found) for found in values):
        terminal.print(f"{unscored:,} responses have no score and take no part")
    for curve, comparison in zip(curves, comparisons, strict=True):
        found = Table(box=None, pad_edge=False)
        for head in (f"{curve.feature} ({curve.method})", "before", "after", "change"):
            found.add_column(head, overflow="fold")
        for row in table(comparison):
            found.add_row(*row)
        terminal.print(found, soft_wrap=False)
    if not shown.pairs:
        terminal.print("no labelled pairs: what debiasing does to accuracy is not known")


def _unscored(values: Floats) -> int:
    import numpy as np

    return int((~np.isfinite(values)).sum())
