"""Where rows come from: files, a folder, the hub or memory. One function finds out which it is and reads it."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from guerdon.rewards.errors import UsageError
from guerdon.rewards.reading.rows import Row, json_rows
from guerdon.rewards.reading.tables import folder_rows, hub_rows, is_datasets_folder, parquet_rows

Source: TypeAlias = "str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Iterable[Mapping[str, Any]]"
"""A path, several paths, a hub id, or rows in memory (a list of dicts, a ``datasets.Dataset``)."""

JSON_SUFFIXES = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
SUFFIXES = (*JSON_SUFFIXES, ".parquet")
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+", re.ASCII)


def read_rows(source: Source, *, split: str = "train", limit: int | None = None) -> Iterator[Row]:
    """The rows of a source, each with its place; see ``docs/data.md`` for every source there is.

    split: for a datasets folder or a hub id that has several. limit: only the first rows.
    Raises UsageError for a source that is not there (with near names) or of an unknown kind; DataError while reading
    when the rest of a file cannot be read; MissingExtraError when a package is absent; OutageError for the hub.
    """
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise UsageError(f"limit must be a whole number >= 1 or None, got {limit!r}")
    return islice(_rows(source, split), limit)


def name_of(source: Source) -> str:
    """What a message calls the source."""
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    if _are_paths(source):
        return ", ".join(os.fspath(path) for path in source)  # type: ignore[arg-type]
    return "rows"


def _rows(source: Source, split: str) -> Iterator[Row]:
    if isinstance(source, (str, os.PathLike)):
        return _stored_rows(source, split)
    if _are_paths(source):
        return chain.from_iterable([_stored_rows(path, split) for path in source])  # type: ignore[arg-type]
    return _memory_rows(source)


def _are_paths(source: Any) -> bool:
    return isinstance(source, (list, tuple)) and bool(source) and isinstance(source[0], (str, os.PathLike))


def _stored_rows(source: str | os.PathLike[str], split: str) -> Iterator[Row]:
    path = Path(source).expanduser()
    if path.is_dir():
        if not is_datasets_folder(path):
            raise UsageError(_not_a_datasets_folder(path))
        return folder_rows(path, split)
    if path.is_file():
        return _file_rows(path, split)
    name = os.fspath(source)
    if HUB_ID.fullmatch(name) and not name.endswith(SUFFIXES) and not path.parent.is_dir():
        return hub_rows(name, split)
    raise UsageError(_not_there(path))


def _file_rows(path: Path, split: str) -> Iterator[Row]:
    if split != "train":
        raise UsageError(
            f"{path} is one file and has no split {split!r}; give the file of that split and leave split out"
        )
    name = path.name.lower()
    if name.endswith(".parquet"):
        return parquet_rows(path)
    if name.endswith(JSON_SUFFIXES):
        return json_rows(path)
    raise UsageError(f"{path} is of no kind that is read here; the name must end in {', '.join(SUFFIXES)}")


def _memory_rows(source: Any) -> Iterator[Row]:
    if isinstance(source, Mapping):
        raise UsageError(
            f"a mapping with the keys {', '.join(map(str, source))} is no list of rows; "
            "pass a list of dicts, or one split of a DatasetDict"
        )
    if isinstance(source, Iterator):
        raise UsageError("an iterator can be read only once; pass a list of rows")
    if not isinstance(source, Iterable):
        raise UsageError(f"a source must be a path, a hub id or a list of dicts, got {type(source).__name__}")
    return (_memory_row(f"rows[{index}]", item) for index, item in enumerate(source))


def _memory_row(where: str, item: Any) -> Row:
    if isinstance(item, Mapping):
        return Row(where, item)
    return Row(where, problem=f"must be a dict with named columns, got {type(item).__name__}: {item!r:.60}")


def _not_there(path: Path) -> str:
    if path.exists():
        return f"{str(path)!r} is neither a file nor a folder (a pipe or a device?); write the rows to a file first"
    if not path.parent.is_dir():
        return f"no file or folder {str(path)!r}; there is no folder {str(path.parent)!r} either"
    near = difflib.get_close_matches(path.name, os.listdir(path.parent), n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(repr(str(path.parent / name)) for name in near)}?" if near else ""
    return f"no file or folder {str(path)!r}.{hint}"


def _not_a_datasets_folder(path: Path) -> str:
    files = sorted(entry.name for entry in path.iterdir() if entry.name.lower().endswith(SUFFIXES))
    if not files:
        return (
            f"the folder {str(path)!r} holds no data: no dataset that save_to_disk wrote and no {', '.join(SUFFIXES)}"
        )
    shown = ", ".join(files[:10]) + (f" and {len(files) - 10} more" if len(files) > 10 else "")
    # reading them all would put a test file among the training rows
    return f"the folder {str(path)!r} holds several files; give one of them, or a list of those to read: {shown}"
