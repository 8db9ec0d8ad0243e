"""The one loop that turns the rows of a source into records and collects everything that is wrong on the way."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias, TypeVar

from guerdon.rewards.errors import DataError, UsageError
from guerdon.rewards.reading.formats import FIELDS, Fields, Kind, Layout, checked_names, kind_of_layout, layout_of
from guerdon.rewards.reading.sources import Source, name_of, read_rows
from guerdon.rewards.types import Preference, Ranking, Sample

Record = TypeVar("Record", Preference, Ranking, Sample)
BadRows: TypeAlias = Literal["error", "skip"]

READERS: Mapping[Kind, str] = {
    "preferences": "read_preferences",
    "rankings": "read_rankings",
    "ties": "read_ties",
    "samples": "read_samples",
}

logger = logging.getLogger(__name__)


def kind_of(source: Source, *, split: str = "train", columns: Mapping[str, str] | None = None) -> Kind:
    """What a source holds, seen from its first row that can be read."""
    names, problems = checked_names(columns), []
    for row in read_rows(source, split=split):
        if row.columns is not None:
            return kind_of_layout(
                _layout(Fields(row.columns, names), row.where, name_of(source), names, tuple(READERS))
            )
        problems.append(f"{row.where}: {row.problem}")
    raise DataError(name_of(source), problems or ["no rows: the source is empty"])


def single(convert: Callable[[Fields, str, Layout], Record]) -> Callable[[Fields, str, Layout], list[Record]]:
    """A converter of one record a row."""
    return lambda fields, where, layout: [convert(fields, where, layout)]


def read(
    source: Source,
    kinds: Sequence[Kind],
    convert: Callable[[Fields, str, Layout], list[Record]],
    split: str,
    limit: int | None,
    columns: Mapping[str, str] | None,
    bad_rows: BadRows,
) -> list[Record]:
    """All records that ``convert`` makes of the rows, or one DataError with everything that is wrong."""
    if bad_rows not in ("error", "skip"):
        raise UsageError(f"bad_rows must be 'error' or 'skip', got {bad_rows!r}")
    name, names = name_of(source), checked_names(columns)
    records: list[Record] = []
    problems: list[str] = []
    layout: Layout | None = None
    n_rows = 0
    try:
        for n_rows, row in enumerate(read_rows(source, split=split, limit=limit), start=1):  # noqa: B007
            if row.columns is None:
                problems.append(f"{row.where}: {row.problem}")
                continue
            fields = Fields(row.columns, names)
            if layout is None:
                layout = _layout(fields, row.where, name, names, kinds)
            try:
                records += convert(fields, row.where, layout)
            except UsageError as error:
                problems.append(f"{row.where}: {error}")
            except RecursionError:
                problems.append(f"{row.where}: nested too deeply")
    except DataError as error:  # the source cannot be read on; what was found before belongs to the same report
        raise DataError(name, error.problems + problems) from error
    if not n_rows:
        raise DataError(name, ["no rows: the source is empty"])
    if problems:
        found = DataError(name, problems)
        if bad_rows == "error" or len(problems) == n_rows:
            raise found
        logger.warning("left out %d of %d rows\n%s", len(problems), n_rows, found)
    return records


def _layout(fields: Fields, where: str, name: str, names: Mapping[str, str], kinds: Sequence[Kind]) -> Layout:
    """The layout of the first row, if it holds one of these kinds and has use for the names given."""
    try:
        layout = layout_of(fields)
    except UsageError as error:
        raise DataError(name, [f"{where}: {error}"]) from error
    kind = kind_of_layout(layout)
    if kind not in kinds:
        raise UsageError(f"{name} holds {kind}, not {' or '.join(kinds)}; read it with {READERS[kind]}")
    for field in names:
        if field not in FIELDS[kind]:
            raise UsageError(f"{name} holds {kind}, which have no {field!r}; they have {', '.join(FIELDS[kind])}")
    return layout
