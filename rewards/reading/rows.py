"""A row of a data file with its place, and the reader of JSON files.

Only Python is needed. JSON Lines are read line by line, so memory holds one line; a JSON list is held whole. Whether a
file is gzip, and whether it is a list or lines, is seen from its content and not from its name.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from guerdon.rewards.errors import DataError

LONGEST_LINE = 64 * 2**20
"""Bytes. A row is a conversation; a line longer than this is another kind of file, or an attack on memory."""

LONGEST_LIST = 2**30
"""Bytes of a JSON list, which can only be read whole."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: where it stands (``file:line``), and its columns, or the reason why it has none."""

    where: str
    columns: Mapping[str, Any] | None = None
    problem: str = ""


def json_rows(path: Path) -> Iterator[Row]:
    """The rows of a JSON Lines file or of a JSON list, plain or gzip, in UTF-8 (a byte-order mark is passed over).

    Blank lines are no rows. A line that is wrong gives a Row with its problem; a file that cannot be read on (damaged
    gzip, another encoding, a line over LONGEST_LINE) raises DataError.
    """
    number = 0
    try:
        with _opened(path) as handle:
            while line := handle.readline(LONGEST_LINE + 1):
                number += 1
                if number == 1:
                    _check_encoding(path, line)
                    line = line.removeprefix(b"\xef\xbb\xbf")
                if number == 1 and line.lstrip().startswith(b"["):
                    yield from _list_rows(path, line + handle.read(LONGEST_LIST))
                    return
                if len(line) > LONGEST_LINE:
                    raise DataError(str(path), [f"{path}:{number}: the line is longer than {LONGEST_LINE} bytes"])
                if line.strip():
                    yield _row(f"{path}:{number}", line)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = f"{path}:{number + 1}: the gzip file is damaged or incomplete ({error}); copy it again"
        raise DataError(str(path), [problem]) from error


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw:
        if raw.peek(2)[:2] != b"\x1f\x8b":
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield unpacked  # type: ignore[misc]  # GzipFile is a binary stream in all but its declared type


def _check_encoding(path: Path, start: bytes) -> None:
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(str(path), [f"{path}:1: the file is UTF-16; save it as UTF-8"])


def _row(where: str, line: bytes) -> Row:
    try:
        return _checked(where, json.loads(line.rstrip(b"\r\n").decode("utf-8")))
    except UnicodeDecodeError as error:
        byte = line[error.start]
        return Row(where, problem=f"not UTF-8: byte 0x{byte:02x} at column {error.start + 1}; save the file as UTF-8")
    except json.JSONDecodeError as error:
        fault = error.msg.removesuffix(" at")
        return Row(where, problem=f"not JSON: {fault} at column {error.pos + 1}; each line must be one JSON object")
    except ValueError as error:  # a whole number of thousands of digits, say
        return Row(where, problem=f"not JSON that can be read: {error}")
    except RecursionError:
        return Row(where, problem="nested too deeply")


def _list_rows(path: Path, content: bytes) -> Iterator[Row]:
    if len(content) > LONGEST_LIST:
        raise DataError(
            str(path), [f"{path}: the JSON list is longer than {LONGEST_LIST} bytes; save it as JSON Lines"]
        )
    try:
        items = json.loads(content.decode("utf-8"))
    except json.JSONDecodeError as error:
        problem = f"{path}:{error.lineno}: not a JSON list: {error.msg} at column {error.colno}"
        raise DataError(str(path), [problem]) from error
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        raise DataError(str(path), [f"{path}: not a JSON list that can be read: {error}"]) from error
    for index, item in enumerate(items, start=1):
        yield _checked(f"{path}:item {index}", item)


def _checked(where: str, value: Any) -> Row:
    if isinstance(value, Mapping):
        return Row(where, value)
    return Row(where, problem=f"must be a JSON object with named columns, got {type(value).__name__}: {value!r:.60}")
