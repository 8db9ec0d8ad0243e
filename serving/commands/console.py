"""What every command does the same way: results on stdout, everything else on stderr, files whole or not at all.

Text that models and users wrote goes to a terminal only through ``printable``: an escape sequence in a response must
not move the cursor, and square brackets in it are not rich's markup.
"""

from __future__ import annotations

import json
import math
import numbers
import os
import shutil
import sys
import tempfile
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from guerdon.rewards.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

FINDINGS = 1
"""Exit code of a command that worked and found something: a wrong answer, an accuracy below the wanted one."""


def out() -> Console:
    """rich on stdout. Made anew each time, because tests and pipes exchange the stream."""
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def err() -> Console:
    from rich.console import Console

    return Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)


def to_json(value: Any) -> str:
    """One line of JSON, ASCII only, so that no locale and no lone surrogate of hostile text can break the pipe."""
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    """What JSON can carry. ``details`` may hold anything: numpy's numbers become numbers; NaN and the unknown, text."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and math.isfinite(value):
        return float(value)
    return str(value)


def print_json(value: Any) -> None:
    print(to_json(value), flush=True)


def printable(text: Any, limit: int = 200) -> str:
    """Text in one line, control and direction marks shown as escapes, cut at ``limit`` characters with an ellipsis."""
    text = str(text)
    shown = "".join(_shown(character) for character in text[: limit + 1])
    return shown if len(text) <= limit else f"{shown[:limit]}…"


def _shown(character: str) -> str:
    # Cc control, Cf format (bidi overrides, zero width), Cs lone surrogates, Zl and Zp line ends
    if character != " " and unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character.encode("unicode_escape").decode("ascii")
    return character


def speaks() -> bool:
    """Whether this process is the one that talks: under torchrun, the first."""
    return os.environ.get("RANK", "0") == "0"


Moves: TypeAlias = Callable[[int, int, str], None]
"""Told how many are done, of how many, and a few words to show behind the bar."""


@contextmanager
def needs_extra(what: str, name: str) -> Iterator[None]:
    """Imports inside may need the extra ``name``; its absence becomes an error with the pip line."""
    try:
        yield
    except MissingExtraError:
        raise
    except ImportError as error:
        raise MissingExtraError(what, name) from error


@contextmanager
def progress(what: str) -> Iterator[Moves]:
    """A bar on stderr; gives the function that moves it. Nothing is drawn where nobody looks."""
    console = err()
    if not console.is_terminal or not speaks():
        yield lambda done, total, words: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    words = TextColumn("{task.fields[words]}")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), words)
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(what, total=None, words="")
        yield lambda done, total, words: bars.update(task, completed=done, total=total, words=words)


def writable_folder(folder: Path) -> Path:
    """The folder, made if need be, and tried: work of hours must not end in "permission denied"."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror or error}; name another folder") from error
    return folder


@contextmanager
def whole_file(path: Path) -> Iterator[Callable[[str], None]]:
    """Write lines to a file that appears only when all are written; gives the function that takes a line.

    The folder is made and tried at once, so that hours of scoring do not end in "permission denied".
    Raises UsageError where the file cannot be written.
    """
    try:
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file in it, for example {path / 'scores.jsonl'}")
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            yield lambda line: print(line, file=stream)
        # mkstemp's files are private to their owner; a result is as readable as any other new file
        os.chmod(draft, 0o666 & ~_umask())
        os.replace(draft, path)
    except BaseException:  # Ctrl-C included: no half file stays
        os.unlink(draft)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def parse_options(pairs: Iterable[str]) -> dict[str, Any]:
    """``["tolerance=0.01", "pattern=a+"]`` as keyword arguments: a value that is JSON is taken as JSON, else as text.

    >>> parse_options(["tolerance=0.01", "pattern=a+", 'digits="7"'])
    {'tolerance': 0.01, 'pattern': 'a+', 'digits': '7'}
    """
    options: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.isidentifier():
            raise UsageError(f"--option takes KEY=VALUE, got {pair!r:.80}; for example --option tolerance=0.01")
        if key in options:
            raise UsageError(f"--option {key} is given twice; give it once")
        try:
            options[key] = json.loads(text)
        except (ValueError, RecursionError):
            options[key] = text
    return options


def parse_columns(pairs: Iterable[str]) -> dict[str, str]:
    """``["prompt=question"]`` as the names that a file has for our columns (the readers check ours)."""
    columns: dict[str, str] = {}
    for pair in pairs:
        ours, equals, theirs = pair.partition("=")
        if not equals or not ours or not theirs or ours in columns:
            raise UsageError(
                f"--column takes OURS=THEIRS, each of ours once, got {pair!r:.80}; for example --column prompt=question"
            )
        columns[ours] = theirs
    return columns


@contextmanager
def source(file: str) -> Iterator[str]:
    """What the readers read for a file named on the command line: itself, or for ``-`` a copy of standard input."""
    if file != "-":
        yield file
        return
    _refuse_terminal()
    with tempfile.TemporaryDirectory(prefix="guerdon-") as folder:
        copy = Path(folder) / "stdin.jsonl"
        with copy.open("wb") as stream:
            shutil.copyfileobj(sys.stdin.buffer, stream)
        yield str(copy)


def read_stdin() -> str:
    """All of standard input as text, without the line end that ``echo`` adds."""
    _refuse_terminal()
    return sys.stdin.buffer.read().decode("utf-8", errors="replace").removesuffix("\n")


def open_browser(url: str) -> None:
    """Show a page in the user's browser, where there is a user with one: at a terminal, beside a screen.

    Without a screen Python would start a browser of text inside the terminal, and wait for it to end.
    """
    screen = sys.platform in ("win32", "darwin") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if screen and sys.stderr.isatty():
        import threading
        import webbrowser

        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _refuse_terminal() -> None:
    """At a terminal a read would wait for words that nobody knows to type."""
    if sys.stdin.isatty():
        raise UsageError("nothing on standard input; pipe text in, or name it on the command line")


def examples(*lines: str) -> str:
    """The examples at the end of a command's help. Lines are shown as they are: brackets in them are no markup."""
    # typer joins lines of one paragraph, so each example is a paragraph
    return "\n\n".join(line.replace("[", r"\[") for line in ("Examples:", *lines))
