"""``guerdon serve``: scorers over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from guerdon.serving.commands import console

EXAMPLES = console.examples(
    "$ guerdon serve --scorer math=numeric",
    "$ guerdon serve --scorer helpful=runs/helpful --scorer math=numeric --port 8009",
    "$ guerdon serve --config serve.toml",
    "$ GUERDON_TOKEN=... guerdon serve --host 0.0.0.0 --scorer helpful=runs/helpful",
    "$ guerdon serve --scorer helpful=runs/helpful --store scores.db --store-text",
    "$ guerdon serve --scorer math=math --store scores.db --store-text --ui   # and open /ui in a browser",
    "$ GUERDON_ADMIN_TOKEN=... guerdon serve --scorer helpful=runs/helpful --swap-dir runs",
    'The file has the same names:  port = 8008, and a table [scorers] with  math = "numeric".',
    "Ctrl-C answers what was accepted, then ends with 0.",
)


def command(
    scorer: Annotated[
        list[str] | None,
        typer.Option("--scorer", "-s", metavar="NAME=SPEC", help="A scorer and the name it is served under; repeat."),
    ] = None,
    config: Annotated[Path | None, typer.Option("--config", "-c", help="A TOML file; flags win over it.")] = None,
    host: Annotated[
        str | None, typer.Option(help="Where to listen (127.0.0.1); others than loopback need a token.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port (8008); 0 takes a free one.")] = None,
    token: Annotated[
        str | None,
        typer.Option(help="Bearer token callers must send. Others can see it in `ps`: better set GUERDON_TOKEN."),
    ] = None,
    token_file: Annotated[Path | None, typer.Option(help="A file that holds the token.")] = None,
    max_items: Annotated[int | None, typer.Option(help="Samples in one request, at most (4096).")] = None,
    max_batch_tokens: Annotated[int | None, typer.Option(help="Padded tokens of one forward (2048).")] = None,
    max_queue_tokens: Annotated[int | None, typer.Option(help="Tokens waiting, at most (2000000).")] = None,
    max_wait: Annotated[
        float | None, typer.Option(help="Seconds; work that would wait longer is refused at once (100).")
    ] = None,
    sweep: Annotated[
        float, typer.Option(min=0, help="Seconds to try batch sizes of each reward model at the start; 0: not at all.")
    ] = 2.0,
    scores: Annotated[
        str | None, typer.Option(help="'fast' (batches), or 'exact': the same bits whatever else is scored.")
    ] = None,
    cache_entries: Annotated[
        int | None, typer.Option(min=0, help="Scores remembered for each scorer, so that retries are free (65536).")
    ] = None,
    default_scorer: Annotated[
        str | None, typer.Option(help="The scorer of requests that name none: trainers' own forms (the first).")
    ] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds a request waits, at most (600).")] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="Record every score here: an SQLite file, or a URL of SQLAlchemy."),
    ] = None,
    store_text: Annotated[
        bool | None,
        typer.Option("--store-text/--no-store-text", help="Record prompts and responses too, for guerdon replay."),
    ] = None,
    swap_dir: Annotated[
        list[str] | None,
        typer.Option(help="New weights may be loaded from below this folder, by GUERDON_ADMIN_TOKEN; repeat."),
    ] = None,
    ui: Annotated[
        bool | None, typer.Option("--ui/--no-ui", help="The inspection UI at /ui, behind the same token.")
    ] = None,
    ui_labels: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where the UI adds labels; else beside the store.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print what will be served as one line of JSON first.")] = False,
) -> None:
    """Serve scorers over HTTP: /v1/score, /v1/scorers, /health, /ready, /metrics; the API is described at /docs."""
    from guerdon.rewards.errors import UsageError
    from guerdon.serving.config import parse_scorer_flag, read_config

    named = [parse_scorer_flag(text) for text in scorer or ()]
    names = [name for name, _ in named]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"--scorer names {', '.join(twice)} more than once; give every scorer a name of its own")
    flags: dict[str, Any] = {
        "scorers": dict(named),
        "host": host,
        "port": port,
        "token": token,
        "token_file": None if token_file is None else str(token_file),
        "max_items": max_items,
        "max_batch_tokens": max_batch_tokens,
        "max_queue_tokens": max_queue_tokens,
        "max_wait_seconds": max_wait,
        "sweep_seconds": sweep,
        "scores": scores,
        "cache_entries": cache_entries,
        "default_scorer": default_scorer,
        "timeout_seconds": timeout,
        "store": store,
        "store_text": store_text,
        "swap_dirs": swap_dir or None,
        "ui": ui,
        "ui_labels": ui_labels,
    }
    settings = read_config(config, flags)
    if not settings.scorers:
        raise UsageError("nothing to serve; name a scorer, for example --scorer math=numeric")
    from guerdon.serving.server import serve

    if json_:
        console.print_json(
            {
                "host": settings.host,
                "port": settings.port,
                "token": settings.token is not None,
                "tenants": dict(settings.shares),
                "store": settings.store is not None,
                "admin": settings.admin_token is not None,
                "scorers": {name: spec.spec for name, spec in settings.scorers.items()},
            }
        )
    serve(settings)
