"""``guerdon replay``: do stored scores come back when they are computed again?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.serving.commands import console

if TYPE_CHECKING:
    from guerdon.rewards import Scorer
    from guerdon.serving.replay import Difference, Replayed
    from guerdon.serving.store import Store

EXAMPLES = console.examples(
    "$ guerdon replay scores.db",
    "$ guerdon replay scores.db --scorer helpful=runs/helpful --limit 1000",
    "$ guerdon replay scores.db --config serve.toml --json",
    "$ guerdon replay postgresql+psycopg://reader@db/scores --scorer math=numeric --any-version",
    "Scores are stored by: guerdon serve --store scores.db --store-text",
)


def command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="The store: its file, or its URL.")],
    scorer: Annotated[
        list[str] | None,
        typer.Option("--scorer", "-s", metavar="NAME=SPEC", help="What scores again under this name; repeat."),
    ] = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", help="A server's TOML file: its scorers, with their options.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only about so many scores of each scorer.")] = None,
    any_version: Annotated[
        bool, typer.Option("--any-version", help="Compare with scores of other versions, too.")
    ] = False,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="Allowed difference of a model's 'fast' scores, relative to max(1, |score|).")
    ] = 1e-4,
    json_: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Compute stored scores again and compare. Exit code 1 if one does not come back."""
    from guerdon.serving.replay import replay
    from guerdon.serving.store import Store

    with Store.open(store) as opened:
        scorers = _scorers(opened, scorer or (), config)
        with console.progress("Scoring again") as moved:
            total = sum(opened.count(filter_) for filter_ in _filters(scorers))
            results = replay(
                opened,
                scorers,
                limit=limit,
                any_version=any_version,
                tolerance=tolerance,
                moved=lambda done: moved(done, total, ""),
            )
    if json_:
        console.print_json({"store": opened.name, "replayed": [_json(result) for result in results]})
    else:
        _show(results)
    if any(result.mismatches for result in results):
        raise typer.Exit(console.FINDINGS)


def _filters(scorers: Mapping[str, Scorer]) -> list[Any]:
    from guerdon.serving.store import Filter

    return [Filter(scorer=name) for name in scorers]


def _scorers(store: Store, flags: Sequence[str], config: Path | None) -> dict[str, Scorer]:
    """Those named on the command line and in the file, else those that the store names itself.

    What a store names is loaded only if that runs no code: the store may come from anywhere.
    """
    from guerdon.rewards.errors import UsageError
    from guerdon.serving.config import ScorerSpec, parse_scorer_flag, read_config
    from guerdon.serving.specs import is_data, load_scorer

    given: dict[str, ScorerSpec] = {}
    if config is not None:
        stored = {version.scorer for version in store.versions()}
        given |= {name: spec for name, spec in read_config(config).scorers.items() if name in stored}
    given |= dict(map(parse_scorer_flag, flags))
    if not given:
        for version in store.versions():
            if version.source is None or not is_data(version.source):
                raise UsageError(
                    f"{store.name} says of {version.scorer!r} that it was {version.source or 'made by a program'}; to "
                    f"load that, name it yourself: --scorer {version.scorer}=SPEC"
                )
            given[version.scorer] = ScorerSpec(version.source, version.provenance.get("options", {}))
    if not given:
        raise UsageError(f"{store.name} holds no scores")
    return {name: load_scorer(spec.spec, **spec.options) for name, spec in given.items()}


def _json(result: Replayed) -> dict[str, Any]:
    return {
        "scorer": result.version.scorer,
        "version": result.version.version,
        "now": result.now["version"],
        "exact": result.exact,
        "scores": result.scores,
        "equal": result.equal,
        "close": result.close,
        "mismatches": result.mismatches,
        "largest_difference": result.largest,
        "skipped": dict(result.skipped),
        "changed": {key: {"then": then, "now": now} for key, (then, now) in result.changed.items()},
        "worst": [_difference(each) for each in result.worst],
    }


def _difference(each: Difference) -> dict[str, Any]:
    row = each.row
    return {
        "request": row.request,
        "item": row.item,
        "id": row.name,
        "then": row.value,
        "now": each.value,
        "difference": each.size,
        "why": each.why,
    }


def _show(results: Sequence[Replayed]) -> None:
    rows: list[Sequence[str]] = [
        ("scores", "equal", "close", "mismatches", "largest difference", "kept to", "version", "scorer")
    ]
    for result in results:
        figures = (result.scores, result.equal, result.close, result.mismatches)
        kept = "the bit" if result.exact else "tolerance"
        version = result.version
        rows.append((*map(str, figures), f"{result.largest:.3g}", kept, version.version, version.scorer))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[:5], widths[:5], strict=True)]
        cells += [cell.ljust(width) for cell, width in zip(row[5:], widths[5:], strict=True)]
        print(console.printable("  ".join(cells).rstrip()))
    terminal = console.err()
    for result in results:
        name = result.version.scorer
        for key, (then, now) in result.changed.items():
            terminal.print(f"{name}: {key} was {then}, is {now}")
        for reason, count in result.skipped.most_common():
            terminal.print(f"{name}: {count} left out: {reason}")
        for each in result.worst:
            then = each.row
            place = f"item {then.item} of request {then.request}" + (f" ({then.name})" if then.name else "")
            terminal.print(f"{name}: {console.printable(place)}: {then.value} then, {each.value} now: {each.why}")
