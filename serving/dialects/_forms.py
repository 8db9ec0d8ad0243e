"""What the dialects share: reading fields with a clear fault, and finding a number for every item or saying why not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from guerdon.rewards.errors import GuerdonError, UsageError
from guerdon.serving.engine import Scored
from guerdon.serving.schemas import BodyError, Problem, check_count, check_numbers, shown


class UnscoredError(GuerdonError):
    """A sample has no score, and the dialect has no way to say so but an HTTP status.

    status: 503 for what may succeed when tried again (time ran out, something failed), 413 for a text that the model
    cannot read, 422 for a sample that this scorer does not judge.
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind

    def __reduce__(self) -> tuple[type[UnscoredError], tuple[int, str, str]]:
        return type(self), (self.status, self.kind, str(self))


_STATUS = {"timeout": 503, "error": 503, "refused": 413, "abstained": 422, "not_applicable": 422}


def values(scored: Scored) -> list[float]:
    """The number of every item. Raises UnscoredError naming the first item that has none."""
    found = [score.value for score in scored.scores if score.value is not None]
    if len(found) == len(scored.scores):
        return found
    index, score = next((i, score) for i, score in enumerate(scored.scores) if score.value is None)
    raise UnscoredError(
        _STATUS[score.status], score.status, f"item {index} has no score ({score.status}): {score.reason}"
    )


def wrong(field: str, message: str, status: int = 422) -> BodyError:
    """A body with one fault."""
    return BodyError(status, "invalid_request", [Problem(field=field, message=message)])


def fields(data: Any, *names: str, strict: bool = False) -> Mapping[str, Any]:
    """The body as an object. strict: no other field than these; else others are ignored, as engines do."""
    if not isinstance(data, dict):
        raise wrong("", f"must be an object with {', '.join(names)}; got {shown(data)}")
    if strict:
        for key in data:
            if key not in names:
                near = difflib.get_close_matches(key[:100], names, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                raise wrong(key[:100], f"is not a field.{hint} There are: {', '.join(names)}")
    try:
        check_numbers(data, "the body")
    except UsageError as error:
        raise wrong("", str(error).removeprefix("the body ")) from None
    return data


def listed(
    body: Mapping[str, Any], key: str, kind: type, max_items: int, *, like: Sequence[Any] | None = None
) -> list[Any]:
    """A list field. like: the list whose length it must have; such a field may be absent or null, item by item too."""
    value = body.get(key)
    if value is None and like is not None:
        return [None] * len(like)
    if not isinstance(value, list):
        raise wrong(key, "is missing" if key not in body else f"must be a list, got {shown(value)}")
    check_count(key, value, max_items)
    if like is not None and len(value) != len(like):
        raise wrong(key, f"holds {len(value)} items where {len(like)} are wanted")
    for index, item in enumerate(value):
        if not (isinstance(item, kind) or (item is None and like is not None)):
            raise wrong(f"{key}[{index}]", f"must be {_name(kind)}, got {shown(item)}")
    return value


def text(body: Mapping[str, Any], key: str) -> str:
    """A text field that must be there."""
    value = body.get(key)
    if not isinstance(value, str):
        raise wrong(key, "is missing" if key not in body else f"must be a string, got {shown(value)}")
    return value


def _name(kind: type) -> str:
    return {str: "a string", int: "an integer", dict: "an object", list: "a list"}.get(kind, kind.__name__)


def tokens_of(scored: Scored) -> int:
    """Tokens read for a request, where the scorer counts them."""
    return sum(_counts(score.details.get("tokens", 0) for score in scored.scores))


def _counts(values: Iterable[Any]) -> Iterable[int]:
    return (value for value in values if isinstance(value, int))
