"""What the forms share: reading an engine's JSON strictly, and saying what is wrong with it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from guerdon.serving.external import WrongAnswerError


def parsed(body: bytes) -> Any:
    """JSON, with NaN and the infinities, which some engines write, as null."""
    try:
        return json.loads(body, parse_constant=lambda name: None)
    except (ValueError, RecursionError) as error:
        raise WrongAnswerError(f"no JSON ({error}): {body[:80]!r}") from error


def number(value: Any) -> float | None:
    """A number, or None for null (which is what NaN becomes) and for one beyond all bounds."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        wrong(f"a number was expected, got {value!r:.80}")
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def only(values: Any) -> float | None:
    """The one number of a reward model's answer: several are of another kind of model."""
    if not isinstance(values, list):
        wrong(f"a list of numbers was expected, got {values!r:.80}")
    if len(values) != 1:
        wrong(f"the model gives {len(values)} numbers a text; a reward model gives one")
    return number(values[0])


def rows(answer: Any, count: int, key: str | None = None) -> list[Any]:
    """The list of rows in an answer (under a key), as many as were asked for."""
    found = field(answer, key) if key is not None else answer
    if not isinstance(found, list):
        wrong(f"a list was expected, got {found!r:.80}")
    if len(found) != count:
        wrong(f"{count} samples were sent and {len(found)} scores came back")
    return found


def field(value: Any, key: str) -> Any:
    if not isinstance(value, Mapping) or key not in value:
        wrong(f"an object with {key!r} was expected, got {value!r:.80}")
    return value[key]


def by_index(found: Sequence[Any], values: Sequence[float | None]) -> list[float | None]:
    """Values in the order of the ``index`` beside them; every index once."""
    indices = [field(row, "index") for row in found]
    if not all(type(index) is int for index in indices) or sorted(indices) != list(range(len(found))):
        wrong(f"the indices 0 to {len(found) - 1} were expected, each once, got {indices!r:.80}")
    return [value for _, value in sorted(zip(indices, values, strict=True), key=lambda pair: pair[0])]


def names(listing: Any) -> list[str] | None:
    """The ids in OpenAI's list of models; None if this is no such list."""
    data = listing.get("data") if isinstance(listing, Mapping) else None
    if not isinstance(data, list):
        return None
    found = [row.get("id") for row in data if isinstance(row, Mapping)]
    return [name for name in found if isinstance(name, str)] or None


def text_of(value: Any, *keys: str) -> str | None:
    """The texts under these keys of an object, joined by spaces; None if there are none."""
    found = [value[key] for key in keys if isinstance(value, Mapping) and isinstance(value.get(key), str)]
    return " ".join(text for text in found if text) or None


def wrong(what: str) -> NoReturn:
    raise WrongAnswerError(what)
