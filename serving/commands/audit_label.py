"""``guerdon audit label``: a person says right or wrong, one keystroke a sample; every label is on the disk at once.

The labeller sees prompt, reference and response, and not what the scorer said: who knows the verdict tends to agree.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import Sample, text_of
from guerdon.serving.commands import audit_data, console

SHOWN = 4000
"""Characters of a text shown at first; ``f`` shows all."""

KEYS = "y right   n wrong   s skip   u undo   f full text   q quit"

EXAMPLES = console.examples(
    "$ guerdon audit label queue.jsonl -o labels.jsonl",
    "$ guerdon audit label queue.jsonl -o labels.jsonl --label-column label   # the truth is in the file",
    "Stop whenever you like (q, Ctrl-C) and start again: what is labelled is not asked twice.",
)


def command(
    file: Annotated[str, typer.Argument(help="The queue that `guerdon audit choose` wrote, or any samples.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where labels are added, each at once.")],
    label_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Take the labels from this column, and ask nobody.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="OURS=THEIRS: the file's own name of prompt, response, ...")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="The counts as JSON on stdout.")] = False,
) -> None:
    """Label samples right or wrong in the terminal; or take the labels from a column."""
    if file == "-" and label_column is None:
        raise UsageError("the queue cannot come from standard input, where the keystrokes come from; name a file")
    samples = audit_data.read(file, console.parse_columns(column or ()), None)
    ids = audit_data.identities(samples)
    console.writable_folder(out.parent)
    audit_data.mend(out)
    have = audit_data.read_labels(out) if out.exists() else {}
    todo = [i for i, name in enumerate(ids) if name not in have]
    if label_column is not None:
        known = audit_data.column_labels(samples, ids, label_column)
        for i in todo:
            if ids[i] in known:
                audit_data.save_label(out, _row(samples[i], ids[i], known[ids[i]].right))
    else:
        with suppress(KeyboardInterrupt):  # as good a way to stop as q
            _ask([(samples[i], ids[i]) for i in todo], out)
    labels = audit_data.read_labels(out) if out.exists() else {}
    counts = {"labels": len(labels), "right": sum(label.right for label in labels.values())}
    counts["left"] = sum(name not in labels for name in ids)
    if json_:
        console.print_json(counts)
    console.err().print(f"{counts['labels']} labels in {out} ({counts['right']} right); {counts['left']} samples left")


def _row(sample: Sample, name: str, label: bool | None) -> dict[str, Any]:
    drawn_by = sample.meta.get("drawn_by")
    return {"id": name, "label": label, **({} if drawn_by is None else {"drawn_by": drawn_by})}


def _ask(todo: Sequence[tuple[Sample, str]], out: Path) -> None:
    """Go through the samples; u goes back to the last one that was labelled or skipped."""
    place, full, done = 0, False, list[tuple[int, bool]]()  # where, and whether a label was written
    with _keys() as read:
        while place < len(todo):
            sample, name = todo[place]
            _show(sample, place, len(todo), full)
            key = read()
            full = key == "f"
            if key in "q\x04":  # the end of the input is "", which is in every string
                return
            if key in "yn10":
                audit_data.save_label(out, _row(sample, name, key in "y1"))
            if key in "yn10s":
                done.append((place, key != "s"))
                place += 1
            elif key == "u" and done:
                place, written = done.pop()
                if written:
                    audit_data.save_label(out, _row(*todo[place], None))


def _show(sample: Sample, place: int, total: int, full: bool) -> None:
    terminal = console.err()
    terminal.print(f"\n─── {place + 1} of {total} ───", style="bold")
    parts = [("prompt", text_of(sample.prompt)), ("response", sample.response_text)]
    if sample.reference is not None:
        parts.insert(1, ("reference", str(sample.reference)))
    for title, text in parts:
        terminal.print(f"{title}:", style="bold")
        # answers stand at the end of a response, so it is the beginning that is left out
        cut = "" if full or len(text) <= SHOWN else f"… ({len(text) - SHOWN:,} characters before this; f shows all)\n"
        for line in (cut + (text[-SHOWN:] if cut else text)).split("\n"):
            terminal.print("  " + console.printable(line, len(line)))
    terminal.print(KEYS, style="dim")


@contextmanager
def _keys() -> Iterator[Callable[[], str]]:
    """Gives the function that reads one keystroke, in lower case: from a terminal at once, from a pipe by character."""
    if not sys.stdin.isatty():
        yield _piped
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows
        import msvcrt

        yield lambda: str(msvcrt.getwch()).lower()  # type: ignore[attr-defined,unused-ignore]
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setcbreak(sys.stdin)
        yield lambda: sys.stdin.read(1).lower()
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _piped() -> str:
    while (key := sys.stdin.read(1)).isspace():
        pass
    return key.lower()
