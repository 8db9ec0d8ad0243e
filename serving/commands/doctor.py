"""``guerdon doctor``: what is installed, what is missing, and the line that mends it."""

from __future__ import annotations

from typing import Annotated

import typer

from guerdon.serving.commands import console

EXAMPLES = console.examples(
    "$ guerdon doctor",
    "$ guerdon doctor --json",
    "Exit code: 0, or 1 if something is broken. An extra that is absent is not broken.",
)

_MARKS = {"ok": ("ok", "green"), "absent": ("--", "dim"), "note": ("!", "yellow"), "broken": ("BROKEN", "bold red")}


def command(
    json_: Annotated[bool, typer.Option("--json", help="Everything as JSON on stdout.")] = False,
) -> None:
    """Look at Python, torch, devices, extras, offline flags, caches and ports."""
    from guerdon.serving.doctor import examine

    checkup = examine()
    if json_:
        console.print_json(checkup.to_dict())
    else:
        terminal = console.out()
        width = max(len(finding.name) for finding in checkup.findings)
        for finding in checkup.findings:
            mark, style = _MARKS[finding.health]
            terminal.print(f"{mark:<6} {finding.name:<{width}}  {console.printable(finding.value)}", style=style)
            if finding.fix:
                terminal.print(f"{'':<6} {'':<{width}}  -> {finding.fix}")
    if checkup.broken:
        raise typer.Exit(console.FINDINGS)
