"""``guerdon replay``: do stored scores come back when they are computed again?"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.serving.commands import console

if TYPE_CHECKING:
    from guerdon.serving.config import ScorerSpec
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
    from guerdon.serving.specs import load_scorer
    from guerdon.serving.store import Filter, Store

    results: list[Replayed] = []
    with Store.open(store) as opened:
        for name, spec in _specs(opened, scorer or (), config):
            loaded, total = load_scorer(spec.spec, **spec.options), opened.count(Filter(scorer=name))
            with console.progress(f"Scoring {name} again") as moved:
                show = functools.partial(_move, moved, total)
                results += replay(
                    opened, {name: loaded}, limit=limit, any_version=any_version, tolerance=tolerance, moved=show
                )
        left_out = _left_out(opened, results)
    if json_:
        replayed = [_json(result) for result in results]
        console.print_json({"store": opened.name, "replayed": replayed, "left_out": left_out})
    else:
        _show(results)
        for name, versions in left_out.items():
            for version, count in versions.items():
                words = f"{name}: {count} scores of version {version} left out; --any-version compares them, too"
                console.err().print(words)
    if any(result.mismatches for result in results):
        raise typer.Exit(console.FINDINGS)


def _move(moved: console.Moves, total: int, done: int) -> None:
    moved(done, total, "")


def _left_out(store: Store, results: Sequence[Replayed]) -> dict[str, dict[str, int]]:
    """How many scores there are of versions that were not compared, by scorer and version."""
    from guerdon.serving.store import Filter

    compared = {(result.version.scorer, result.version.version) for result in results}
    found: dict[str, dict[str, int]] = {}
    for version in store.versions():
        name, of = version.scorer, version.version
        if (name, of) not in compared and any(name == other for other, _ in compared):
            found.setdefault(name, {})[of] = store.count(Filter(scorer=name, version=of))
    return found


def _specs(store: Store, flags: Sequence[str], config: Path | None) -> list[tuple[str, ScorerSpec]]:
    """What scores again, by name: as the command line and the file say, else as the store says of each version.

    What a store names is loaded only if that runs no code: the store may come from anywhere.
    """
    from guerdon.rewards.errors import UsageError
    from guerdon.serving.config import ScorerSpec, parse_scorer_flag, read_config
    from guerdon.serving.specs import is_data

    given: dict[str, ScorerSpec] = {}
    if config is not None:
        stored = {version.scorer for version in store.versions()}
        given |= {name: spec for name, spec in read_config(config).scorers.items() if name in stored}
    given |= dict(map(parse_scorer_flag, flags))
    told: list[tuple[str, ScorerSpec]] = list(given.items())
    if not told:
        for version in store.versions():
            if version.source is None or not is_data(version.source):
                raise UsageError(
                    f"{store.name} says of {version.scorer!r} that it was {version.source or 'made by a program'}; to "
                    f"load that, name it yourself: --scorer {version.scorer}=SPEC"
                )
            spec = ScorerSpec(version.source, version.provenance.get("options", {}))
            if (version.scorer, spec) not in told:
                told.append((version.scorer, spec))
    if not told:
        raise UsageError(f"{store.name} holds no scores")
    return told


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
