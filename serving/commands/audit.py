"""``guerdon audit``: how often a verifier is wrong, from some labels. Three steps: choose, label, estimate.

$ guerdon audit choose answers.jsonl --scorer numeric --stratum meta:source --budget 200 -o queue.jsonl
$ guerdon audit label queue.jsonl -o labels.jsonl
$ guerdon audit estimate answers.jsonl --scorer numeric --stratum meta:source --labels labels.jsonl -o rates.json
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.rewards.errors import UsageError
from guerdon.serving.commands import audit_data, audit_label, audit_report, console

if TYPE_CHECKING:
    from guerdon.serving.commands.audit_data import Judged, Label

EXAMPLES = console.examples(
    "$ guerdon audit choose answers.jsonl --scorer numeric --stratum meta:source --budget 200 -o queue.jsonl",
    "$ guerdon audit label queue.jsonl -o labels.jsonl",
    "$ guerdon audit estimate answers.jsonl --scorer numeric --stratum meta:source --labels labels.jsonl "
    "-o rates.json --json",
)
CHOOSE_EXAMPLES = console.examples(
    "$ guerdon audit choose answers.jsonl --scorer numeric --budget 200 -o queue.jsonl",
    "$ guerdon audit choose answers.jsonl --scorer my_rewards.py:check --stratum meta:source+kind --half-width 0.05 "
    "-o queue.jsonl",
    "$ guerdon audit choose answers.jsonl --scores scores.jsonl --labels labels.jsonl --budget 100 -o more.jsonl",
    "A stratum: kind, stage, details:KEY, meta:KEY, joined by '+', and last pattern:REGEX; '' is all samples.",
)
ESTIMATE_EXAMPLES = console.examples(
    "$ guerdon audit estimate answers.jsonl --scorer numeric --labels labels.jsonl -o rates.json",
    "$ guerdon audit estimate answers.jsonl --scorer math --label-column label --stratum meta:source+kind "
    "--plot rates.svg",
    "Labels from a queue know how they were drawn; others count as a random sample of each stratum's verdicts, or with "
    "--drawn-by verdict of all samples.",
)

app = typer.Typer(
    no_args_is_help=True, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)

File = Annotated[str, typer.Argument(help="Samples: JSONL(.gz), Parquet, a folder of datasets, or '-' for stdin.")]
Spec = Annotated[
    str | None,
    typer.Option(
        "--scorer",
        "-s",
        metavar="SPEC",
        help="A verifier's name, a model's folder or hub id, module:function, file.py:function, or a server's URL.",
    ),
]
Stored = Annotated[
    str | None,
    typer.Option(metavar="FILE|NAME", help="Scores from `guerdon score -o`, or a name in the column 'scores'."),
]
Threshold = Annotated[float | None, typer.Option(help="For scores that are no verdicts: accepted from this value on.")]
Strata = Annotated[str, typer.Option("--stratum", metavar="SPEC", help="What samples with like errors share.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="KEY=VALUE for the scorer; the value is JSON or text.")
]
Columns = Annotated[
    list[str] | None, typer.Option("--column", help="OURS=THEIRS: the file's own name of prompt, response, ...")
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first so many samples.")]
Seed = Annotated[int, typer.Option(help="Seed of what is drawn.")]
HALF_WIDTH = 0.05


@app.command("choose", epilog=CHOOSE_EXAMPLES)
def choose_command(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the queue goes, in the order to label it.")],
    scorer: Spec = None,
    scores: Stored = None,
    stratum: Strata = "",
    budget: Annotated[int | None, typer.Option(min=1, help="Labels to ask for.")] = None,
    half_width: Annotated[
        float | None,
        typer.Option(min=0.001, max=0.5, help="Say how many labels ± this takes; without a budget, ask for them."),
    ] = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labels so far: not asked again, and the plan's pilot.")
    ] = None,
    threshold: Threshold = None,
    option: Options = None,
    column: Columns = None,
    limit: Limit = None,
    seed: Seed = 0,
    json_: Annotated[bool, typer.Option("--json", help="The plan as JSON on stdout.")] = False,
) -> None:
    """Which samples a person should label next to learn most of the verifier's errors."""
    with console.needs_extra("guerdon audit", "calibration"):
        from guerdon.calibration.audit import choose, labels_needed
        from guerdon.calibration.cells import Cells

    if budget is None and half_width is None:
        raise UsageError("how many labels? --budget 200, or --half-width 0.05 for as many as that takes")
    judged, keys = _judged(file, scorer, scores, stratum, threshold, option, column, limit)
    truths = [math.nan] * len(keys)
    if labels is not None:
        truths = _truths(judged, _own(audit_data.read_labels(labels), judged, labels)[0], labels)
    needed = None
    if half_width is not None:
        sides = Cells.of(judged.verdicts, truths, keys).sides()
        rates: tuple[Any, ...] = ("false_positive", "false_negative")
        needed = {rate: labels_needed(*sides, half_width, rate=rate) for rate in rates}
    if budget is None and needed is not None:
        # where not even all labels reach it, ask for all
        budget = max(len(keys) if need.labels is None else need.labels for need in needed.values())
        if not budget:
            console.err().print(
                f"the labels there are suffice for ± {half_width:g}; --budget asks for more all the same"
            )
            return
    assert budget is not None
    plan = choose(judged.verdicts, keys, budget=budget, truths=truths, seed=seed)
    drawn_by = {"scorer": judged.scorer, "stratum": stratum}
    with console.whole_file(out) as write:
        for index in plan.indices:
            write(console.to_json({**audit_data.row_of(judged, int(index)), "drawn_by": drawn_by}))
    if json_:
        console.print_json(audit_report.plan_json(plan, judged, half_width, needed))
    else:
        audit_report.show_plan(plan, judged)
    terminal = console.err()
    for rate, need in (needed or {}).items():
        terminal.print(f"{rate.replace('_', ' ')} of all samples ± {half_width:g}: {audit_report.need_words(need)}")
    for note in plan.notes:
        terminal.print(f"note: {note}")
    terminal.print(f"{len(plan.indices)} samples in {out}; label them with: guerdon audit label {out} -o labels.jsonl")


@app.command("estimate", epilog=ESTIMATE_EXAMPLES)
def estimate_command(
    file: File,
    scorer: Spec = None,
    scores: Stored = None,
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Labels that `guerdon audit label` wrote.")
    ] = None,
    label_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Take the labels from this column of the samples.")
    ] = None,
    stratum: Strata = "",
    drawn_by: Annotated[
        str | None,
        typer.Option(help="How labels without a queue were drawn: within each 'stratum', or by 'verdict' alone."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where the rates go, as JSON.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Where a plot of the rates goes, as SVG.")] = None,
    half_width: Annotated[
        float, typer.Option(min=0.001, max=0.5, help="Say how many more labels intervals of ± this take.")
    ] = HALF_WIDTH,
    method: Annotated[str, typer.Option(help="Of the intervals: exact, bootstrap, corners or wilson.")] = "exact",
    confidence: Annotated[float, typer.Option(min=0.5, max=0.999, help="Of the intervals.")] = 0.95,
    threshold: Threshold = None,
    option: Options = None,
    column: Columns = None,
    limit: Limit = None,
    seed: Seed = 0,
    json_: Annotated[bool, typer.Option("--json", help="The audit as JSON on stdout.")] = False,
) -> None:
    """The verifier's error rates with intervals, by stratum and overall, and how many more labels are needed."""
    with console.needs_extra("guerdon audit", "calibration"):
        from guerdon.calibration.audit import estimate
        from guerdon.calibration.strata import stratum as strata_of

    if (labels is None) == (label_column is None):
        raise UsageError("give the labels either as a file (--labels) or as a column of the samples (--label-column)")
    judged, keys = _judged(file, scorer, scores, stratum, threshold, option, column, limit, label_column)
    if labels is not None:
        found, queue = _own(audit_data.read_labels(labels), judged, labels)
    else:
        assert label_column is not None
        found, queue = audit_data.column_labels(judged.samples, judged.ids, label_column), None
    truths = _truths(judged, found, labels or Path(file))
    by: Any = drawn_by or "stratum"
    if queue is not None and drawn_by is None and queue != stratum:
        of = strata_of(queue)
        by = [of(sample, score) for sample, score in zip(judged.samples, judged.scores, strict=True)]
    audit = estimate(
        judged.verdicts,
        truths,
        keys,
        drawn_by=by,
        scorer=judged.scorer,
        version=judged.version,
        stratum=stratum,
        method=method,
        confidence=confidence,
        seed=seed,
    )
    needs = audit.needed(half_width)
    if out is not None:
        with console.whole_file(out) as write:
            write(console.to_json(audit.rates.to_json()))
    if plot is not None:
        from guerdon.calibration.audit_plot import rates_plot

        with console.whole_file(plot) as write:
            write(rates_plot(audit.rates))
    if json_:
        console.print_json(audit_report.audit_json(audit, needs, half_width))
    else:
        audit_report.show_audit(audit, needs, half_width)
    for path in (out, plot):
        if path is not None:
            console.err().print(f"written to {path}")


app.command("label", epilog=audit_label.EXAMPLES)(audit_label.command)


def _judged(
    file: str,
    scorer: str | None,
    scores: str | None,
    stratum: str,
    threshold: float | None,
    option: Sequence[str] | None,
    column: Sequence[str] | None,
    limit: int | None,
    hidden: str | None = None,
) -> tuple[Judged, list[str]]:
    """The samples with their verdicts, and the key of each one's stratum."""
    from guerdon.calibration.strata import stratum as strata_of

    of = strata_of(stratum)
    samples = audit_data.read(file, console.parse_columns(column or ()), limit)
    options = console.parse_options(option or ())
    judged = audit_data.judge(
        samples, scorer=scorer, options=options, scores=scores, threshold=threshold, hidden=hidden
    )
    return judged, [of(sample, score) for sample, score in zip(judged.samples, judged.scores, strict=True)]


def _own(labels: Mapping[str, Label], judged: Judged, path: Path) -> tuple[dict[str, Label], str | None]:
    """The labels that were drawn by this scorer's verdicts, or by none that is known; and by which strata."""
    own = {name: label for name, label in labels.items() if label.scorer in (None, judged.scorer)}
    if left := len(labels) - len(own):
        others = sorted({str(label.scorer) for label in labels.values() if label.scorer not in (None, judged.scorer)})
        console.err().print(
            f"note: {left} labels were drawn by the verdicts of {', '.join(others)} and are left out: of the verdicts "
            f"of {judged.scorer} they are no random sample"
        )
    specs = {label.stratum for label in own.values()}
    if len(specs) > 1:
        raise UsageError(
            f"the labels of {path} were drawn in different ways ({', '.join(map(repr, sorted(map(str, specs))))}); use "
            "one file of labels for each stratum spec"
        )
    return own, next(iter(specs), None)


def _truths(judged: Judged, labels: Mapping[str, Label], source: Path) -> list[float]:
    """1, 0 or NaN for each sample. Raises UsageError if the labels are of none of them."""
    truths = [float(labels[name].right) if name in labels else math.nan for name in judged.ids]
    used = sum(name in labels for name in judged.ids)
    if labels and not used:
        raise UsageError(f"none of the {len(labels)} labels of {source} is of a sample here; is it another file's?")
    if strange := len(labels) - used:
        console.err().print(f"note: {strange} labels of {source} are of no sample here")
    return truths
