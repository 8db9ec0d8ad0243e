"""``guerdon demo``: the whole of guerdon in two minutes, without a download, a GPU or a key."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import Annotated

import typer

from guerdon.serving.commands import console

EXAMPLES = console.examples(
    "$ guerdon demo                          # made-up pairs; under two minutes on two cores",
    "$ guerdon demo --keep-serving           # leave the server up: the inspection UI in a browser, and curl",
    "$ guerdon demo --pairs my_pairs.jsonl   # the same on pairs of your own",
    "$ guerdon demo --quick --json           # seconds, for a script",
    "Next: guerdon train, on data and weights of your own.",
)


def command(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="The folder for pairs, model and report; an earlier demo is replaced.")
    ] = Path("guerdon-demo"),
    pairs: Annotated[
        str | None, typer.Option(metavar="FILE", help="Preferences of your own instead of made-up ones.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few pairs, to see that everything runs.")] = False,
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Serve the model and ask it over HTTP.")] = True,
    keep_serving: Annotated[bool, typer.Option("--keep-serving", help="Leave the server up until Ctrl-C.")] = False,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Of the server; 8008 if it is free, else any.")
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="With --keep-serving: open the inspection UI in the browser.")
    ] = True,
    json_: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout, the story on stderr.")] = False,
) -> None:
    """Make preference pairs, train a reward model, evaluate it, serve it, and score a sample over HTTP."""
    from rich.text import Text

    from guerdon.rewards.errors import UsageError
    from guerdon.serving import demo
    from guerdon.serving.commands.train import watch

    if keep_serving and not serve:
        raise UsageError("--keep-serving and --no-serve contradict each other")
    terminal = console.err() if json_ else console.out()

    def say(step: str, line: str) -> None:
        # a line that wraps goes on below its beginning
        wrapper = textwrap.TextWrapper(
            width=max(40, terminal.width),
            initial_indent=f"{step:<9}",
            subsequent_indent=" " * 9,
            break_long_words=False,  # a path stays one that can be copied
            break_on_hyphens=False,
        )
        shown = Text(wrapper.fill(console.printable(line, 1000)))
        shown.stylize("bold", 0, len(step))
        terminal.print(shown)

    def while_serving(url: str) -> None:
        if not keep_serving:
            return
        terminal.print(demo.curl(url))
        if open_:
            console.open_browser(f"{url}/ui/")
        say("", "Ctrl-C stops the server")
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:  # what the user was told to press: no error
            say("", "stopped")

    result = demo.run(
        out,
        pairs=pairs,
        quick=quick,
        port=port,
        serve=serve,
        say=say,
        watch=watch,
        while_serving=while_serving,
        ui=keep_serving,
    )
    say("Done", f"in {result.seconds:.0f} s; everything is in {out}. To serve the model again:")
    terminal.print(f"  guerdon serve --scorer {demo.SCORER}={out}/model --scorer numeric=numeric")
    terminal.print(f"  {demo.curl('http://127.0.0.1:8008')}")
    if json_:
        from dataclasses import asdict

        console.print_json(asdict(result))
