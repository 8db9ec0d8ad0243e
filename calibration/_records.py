"""How a fitted record becomes JSON and comes back: its kind, the version of its layout, its scorer, and exact keys.

A file is never more than data: nothing in it names code, and a key that is unknown or lacking is refused.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from guerdon.rewards.errors import UsageError

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class FittedOn:
    """The scorer whose values a record was fitted on; "" is unknown, and fits any.

    >>> FittedOn("exact", "1").refuses("exact", "2")
    "fitted on the scores of 'exact' version '1', not on version '2'; fit it again on the new version's scores"
    """

    name: str = ""
    version: str = ""

    def __post_init__(self) -> None:
        for field in ("name", "version"):
            if not isinstance(getattr(self, field), str):
                raise UsageError(f"a scorer's {field} must be a string, got {getattr(self, field)!r:.80}")

    def refuses(self, name: str, version: str) -> str:
        """Why the record may not be applied to this scorer, or "" if it may."""
        if self.name and self.name != name:
            return f"fitted on the scores of {self.name!r}, not of {name!r}; fit it on the scorer it is to serve"
        if self.version and self.version != version:
            return (
                f"fitted on the scores of {name!r} version {self.version!r}, not on version {version!r}; "
                "fit it again on the new version's scores"
            )
        return ""


ANY_SCORER = FittedOn()


def write(path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
    """Write a record's JSON. Raises UsageError where the file cannot be written."""
    try:
        Path(path).write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def load(path: str | os.PathLike[str], from_json: Callable[[Any], Record]) -> Record:
    """The record in a file. Raises UsageError naming the file if it cannot be read or holds no such record."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        return from_json(json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant))
    except OSError as error:
        raise UsageError(f"cannot read {str(path)!r}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:  # UsageError and JSON's own error are ValueErrors
        raise UsageError(f"{path}: {error or type(error).__name__}") from error


def opened(data: Any, kind: str, version: int, names: Sequence[str]) -> Mapping[str, Any]:
    """A record's fields, if it is of this kind and version and has just these keys beside the two."""
    if not isinstance(data, Mapping) or data.get("kind") != kind:
        found = data.get("kind") if isinstance(data, Mapping) else type(data).__name__
        raise UsageError(f"'kind' must be {kind!r} here, got {found!r:.80}")
    if data.get("version") != version:
        raise UsageError(f"a {kind} of version {data.get('version')!r:.80}; this guerdon reads version {version}")
    return exactly(data, kind, ("kind", "version", *names))


def exactly(data: Any, what: str, names: Sequence[str]) -> Mapping[str, Any]:
    """The mapping, if it has just these keys."""
    if not isinstance(data, Mapping):
        raise UsageError(f"{what} must be an object, got {data!r:.80}")
    unknown = sorted(repr(key) for key in data if key not in names)
    lacking = [repr(name) for name in names if name not in data]
    if unknown or lacking:
        parts = [f"unknown: {', '.join(unknown)}"] * bool(unknown) + [f"lacking: {', '.join(lacking)}"] * bool(lacking)
        raise UsageError(f"keys of {what}: {'; '.join(parts)}. The keys are {', '.join(names)}")
    return data


def number(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> float:
    """A finite float in [low, high]; anything else raises."""
    if isinstance(value, (bool, str)) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise UsageError(f"{name} must be a finite number, got {value!r:.80}")
    if not low <= value <= high:
        raise UsageError(f"{name} must lie in [{low:g}, {high:g}], got {value!r}")
    return float(value)


def numbers(value: Any, name: str, low: float = -math.inf, high: float = math.inf) -> tuple[float, ...]:
    """A list of finite floats in [low, high]."""
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"{name} must be a list of numbers, got {value!r:.80}")
    return tuple(number(item, f"{name}[{i}]", low, high) for i, item in enumerate(value))


def matrix(value: Any, name: str, size: int) -> tuple[tuple[float, ...], ...]:
    """A list of ``size`` rows of ``size`` finite floats."""
    if not isinstance(value, (list, tuple)) or len(value) != size:
        raise UsageError(f"{name} must be a list of {size} rows, got {value!r:.80}")
    rows = tuple(numbers(row, f"{name}[{i}]") for i, row in enumerate(value))
    if any(len(row) != size for row in rows):
        raise UsageError(f"every row of {name} must have {size} numbers")
    return rows


def count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"{name} must be a whole number >= 0, got {value!r:.80}")
    return value


def fitted_on(data: Any) -> FittedOn:
    return FittedOn(**exactly(data, "scorer", ("name", "version")))


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UsageError("a key is given twice in one object; keep one")
    return found


def _no_constant(text: str) -> float:
    raise UsageError(f"{text} is no number that a record may hold")
