"""Samples and scores as lines of JSON, for the pipes between a server and its own workers: no pickle on any wire.

What JSON would change without a word (keys that are no strings) or cannot say (objects of other types) is refused in
samples, since a scorer would read something else than it was given; in the details of a score it becomes text, as it
does in every answer of a server.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.rewards import Sample, Score


class UnsayableError(ValueError):
    """A sample that JSON cannot carry unchanged."""


def pack_samples(samples: Sequence[Sample]) -> str:
    """Raises UnsayableError for a prompt, reference or meta that JSON would change."""
    rows = [(sample.prompt, sample.response, sample.reference, sample.group, sample.meta) for sample in samples]
    try:
        return _EXACT.encode(rows)
    except (TypeError, ValueError, RecursionError) as error:
        raise UnsayableError(str(error)) from error


def unpack_samples(rows: Sequence[Sequence[Any]]) -> list[Sample]:
    return [Sample(*row) for row in rows]


def pack_scores(scores: Sequence[Score]) -> str:
    return _LOOSE.encode([(score.value, score.reason, score.details, score.status) for score in scores])


def unpack_scores(rows: Sequence[Sequence[Any]]) -> list[Score]:
    return [Score(*row) for row in rows]


def _exact(value: Any) -> Any:
    if not isinstance(value, Mapping):
        raise UnsayableError(f"{type(value).__name__} has no JSON form: {value!r:.80}")
    for key in value:
        if not isinstance(key, str):
            raise UnsayableError(f"a key that is no string: {key!r:.80}")
    return dict(value)


def _loose(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): item for key, item in value.items()}
    return value.tolist() if hasattr(value, "tolist") else str(value)  # numpy and torch


# Escaped to ASCII, so that a line ends nowhere but at its end and unpaired surrogates pass.
_EXACT = json.JSONEncoder(separators=(",", ":"), default=_exact)
_LOOSE = json.JSONEncoder(separators=(",", ":"), default=_loose)
