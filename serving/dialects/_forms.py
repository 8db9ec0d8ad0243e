"""What the dialects share: reading fields with a clear fault, and finding a number for every item or saying why not."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from guerdon.rewards import Sample, Scale
from guerdon.rewards.errors import GuerdonError, UsageError
from guerdon.serving.engine import Scored
from guerdon.serving.jobs import ReadyMade
from guerdon.serving.schemas import BodyError, Problem, check_count, check_numbers, shown

Keep = Literal["start", "end"] | None


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


def sigmoid(value: float) -> float:
    """1 / (1 + exp(-x)), without overflow at either end."""
    return 1 / (1 + math.exp(-value)) if value >= 0 else math.exp(value) / (1 + math.exp(value))


def activated(scored: Scored, scale: Scale, *, activate: bool) -> list[float]:
    """The numbers, through a sigmoid if that is asked for and they are logits; probabilities and verdicts stay."""
    numbers = values(scored)
    return [sigmoid(number) for number in numbers] if activate and scale == "logit" else numbers


def ready_made(
    value: Any, where: str, max_items: int, *, special_tokens: bool, keep: Keep = None
) -> tuple[list[ReadyMade], bool]:
    """Engines' ``input``: a text, token ids, or a list of either; and whether it was one alone."""
    alone = isinstance(value, str) or (isinstance(value, list) and bool(value) and _is_id(value[0]))
    inputs = [value] if alone else value
    if not isinstance(inputs, list) or not inputs:
        raise wrong(where, f"must be a text, token ids, or a list of either, and not empty; got {shown(value)}")
    check_count(where, inputs, max_items)
    items = []
    for index, item in enumerate(inputs):
        place = where if alone else f"{where}[{index}]"
        if isinstance(item, str):
            items.append(ReadyMade(Sample("", item), item, special_tokens=special_tokens, keep=keep))
        elif isinstance(item, list) and item and all(map(_is_id, item)):
            items.append(ReadyMade(Sample("", ""), ids=tuple(item), keep=keep))
        else:
            raise wrong(place, f"must be a text or a list of token ids, got {shown(item)}")
    return items, alone


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def flag(body: Mapping[str, Any], key: str, *, default: bool) -> bool:
    """A true-or-false field that may be absent or null."""
    value = body.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise wrong(key, f"must be true or false, got {shown(value)}")
    return value


def conversation(value: Any, where: str) -> Sample:
    """Chat messages of which the last ones, from the assistant, are the response."""
    if not isinstance(value, list) or not value:
        raise wrong(where, f"must be a list of messages, got {shown(value)}")
    split = len(value)
    while split and isinstance(value[split - 1], dict) and value[split - 1].get("role") == "assistant":
        split -= 1
    if split in (0, len(value)):
        raise wrong(where, "must begin with what was asked and end with what the assistant answered")
    return sample(where, value[:split], value[split:])


def sample(where: str, prompt: Any, response: Any, reference: Any = None, **more: Any) -> Sample:
    """A Sample of texts or messages; a fault in them is a fault of the body."""
    try:
        return Sample(prompt, response, reference, **more)
    except UsageError as error:
        raise wrong(where, str(error)) from None


def ranked(numbers: Sequence[float], top_n: Any) -> list[tuple[int, float]]:
    """(index, number) from the best down; equal numbers keep their order. top_n: how many, 0 or None for all."""
    if top_n is not None and (not isinstance(top_n, int) or isinstance(top_n, bool) or top_n < 0):
        raise wrong("top_n", f"must be a whole number of at least 0, got {shown(top_n)}")
    order = sorted(enumerate(numbers), key=lambda pair: -pair[1])
    return order[: top_n or None]
