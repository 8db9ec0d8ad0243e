"""``guerdon ui``: look at scores in a browser, label them, and see what the labels say."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from guerdon.serving.commands import console

EXAMPLES = console.examples(
    "$ guerdon ui scores.db                                  # what a server recorded: serve --store scores.db",
    "$ guerdon ui answers.jsonl --scorer math                # a file, scored now",
    "$ guerdon ui rollouts.jsonl                             # a file with a column 'reward' or 'scores'",
    "$ guerdon ui answers.jsonl --scores scores.jsonl        # with what `guerdon score -o` wrote",
    "$ guerdon ui scores.db --scorer helpful=runs/helpful    # and ask a model about new texts",
    "Labels go to FILE.labels.jsonl at once; rates are exported beside it, for: guerdon serve --scorer math=math@RATES",
)

PORT = 8009


def command(
    what: Annotated[str, typer.Argument(metavar="FILE|STORE", help="Samples with scores, or a store of `serve`.")],
    scorer: Annotated[
        list[str] | None,
        typer.Option("--scorer", "-s", metavar="[NAME=]SPEC", help="Scores a file now, and answers in Try it; repeat."),
    ] = None,
    scores: Annotated[
        str | None, typer.Option(metavar="FILE|NAME", help="With a file: scores from `guerdon score -o`.")
    ] = None,
    labels: Annotated[str | None, typer.Option(metavar="FILE", help="Where labels are added, each at once.")] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="OURS=THEIRS: the file's own name of prompt, response, ...")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many samples of a file.")] = None,
    host: Annotated[str, typer.Option(help="Where to listen; others than loopback need GUERDON_TOKEN.")] = "127.0.0.1",
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="8009 if it is free, else any.")] = None,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the browser.")] = True,
) -> None:
    """The inspection UI over a store, or over a file of samples with their scores."""
    from guerdon.rewards.errors import MissingExtraError
    from guerdon.serving.config import read_config

    with console.needs_extra("the UI", "ui"):
        import gradio  # noqa: F401 (seconds, but better missed now than after a file is scored)
    named = dict(_named(text) for text in scorer or ())
    if port is None:
        from guerdon.serving.doctor import port_is_free

        port = PORT if port_is_free(PORT) else 0
    with tempfile.TemporaryDirectory(prefix="guerdon-ui-") as folder:
        store = what
        if is_samples(what):
            store = str(Path(folder) / "scores.db")
            _import(what, store, named, scores, console.parse_columns(column or ()), limit)
        elif scores is not None or column or limit is not None:
            from guerdon.rewards.errors import UsageError

            raise UsageError("--scores, --column and --limit are for a file of samples; a store has its own")
        flags: dict[str, Any] = {
            "scorers": named,
            "host": host,
            "port": port,
            "ui": True,
            "ui_store": store,
            "ui_name": what.rpartition("@")[2] if "://" in what else what,  # a URL may hold a password
            "ui_labels": labels or (None if store == what else f"{what}.labels.jsonl"),
        }
        config = read_config(None, flags)
        from guerdon.serving.server import serve

        try:
            serve(config, ready=_open if open_ else None)
        except ImportError as error:
            raise MissingExtraError("the UI", "ui") from error


def is_samples(what: str) -> bool:
    """Whether this is a file of samples and not a store: SQLite says so in its first bytes."""
    if "://" in what:
        return False
    try:
        with Path(what).open("rb") as stream:
            return stream.read(16) != b"SQLite format 3\0"
    except IsADirectoryError:
        return True
    except OSError:
        # what is not there is a store by its suffix, and so the message names what was meant
        return not what.endswith((".db", ".sqlite", ".sqlite3"))


def _named(text: str) -> tuple[str, Any]:
    """``math`` is ``math=math``."""
    from guerdon.serving.config import ScorerSpec, parse_scorer_flag

    return parse_scorer_flag(text) if "=" in text else (text, ScorerSpec(text))


def _import(
    file: str,
    store: str,
    named: Mapping[str, Any],
    scores: str | None,
    columns: Mapping[str, str],
    limit: int | None,
) -> None:
    from guerdon.serving.specs import load_scorer
    from guerdon.serving.ui.importing import build

    scorers = {name: load_scorer(spec.spec, **spec.options) for name, spec in named.items()}
    sources = {name: spec.spec for name, spec in named.items()}
    n = build(file, Path(store), scorers=scorers, sources=sources, scores=scores, columns=dict(columns), limit=limit)
    console.err().print(f"{n:,} samples of {file}")


def _open(url: str) -> None:
    console.open_browser(f"{url}/ui/")
