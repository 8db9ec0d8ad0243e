"""The native wire format: what ``POST /v1/score`` takes and gives.

A fault is reported with its place and what stood there: ``items[3].response must be a string or a list of messages,
got int: 5``. What JSON readers disagree about is refused rather than guessed: NaN and Infinity, numbers beyond a
double, unpaired surrogates, nesting beyond 200.

The models say which fields there are, for the reader below and for the OpenAPI document. They do not read requests:
pydantic lists every fault, and a body of a million wrong fields would cost a gigabyte; and Sample already checks texts.
"""

from __future__ import annotations

import difflib
import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NoReturn

import orjson
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import from_json

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import Sample, Scale, Status

_SHOWN = 20  # faults of one request
_DEPTH = 100  # of an answer's details; orjson stops at 254

_MESSAGES = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"role": {"type": "string"}, "content": {}},
        "required": ["role"],
    },
}
_Text = Annotated[Any, WithJsonSchema({"anyOf": [{"type": "string"}, _MESSAGES]})]
_Anything = Annotated[Any, WithJsonSchema({"description": "any JSON value"})]


class Item(BaseModel):
    """One response to one prompt."""

    model_config = ConfigDict(extra="forbid")

    id: str | None = Field(None, description="Comes back with the score; the order is kept with or without it.")
    prompt: _Text = Field(description="Text, or chat messages.")
    response: _Text = Field(description="Text, or the messages that the model wrote.")
    reference: _Anything = Field(None, description="The known answer, for scorers that need one.")
    group: str | None = Field(None, description="Items of one group answer one prompt and may be compared.")
    meta: dict[str, Any] = Field(default_factory=dict, description="Anything else the scorer needs.")


class ScoreRequest(BaseModel):
    """Items for one scorer."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "scorer": "math",
                    "items": [{"prompt": "What is 6 times 7?", "response": "The answer is 42.", "reference": "42"}],
                },
                {
                    "scorer": "helpful",
                    "items": [
                        {
                            "id": "r17",
                            "group": "p3",
                            "prompt": [{"role": "user", "content": "Say hello."}],
                            "response": [{"role": "assistant", "content": "Hello!"}],
                        }
                    ],
                    "deadline_ms": 60000,
                },
            ]
        },
    )

    scorer: str = Field(description="A name from GET /v1/scorers.")
    items: list[Item]
    deadline_ms: Annotated[float, Field(gt=0)] | None = Field(
        None, description="Items without a score by then come back with status 'timeout'."
    )
    provenance: bool = Field(False, description="Whether the answer says how its scores were made.")


class ScoredItem(BaseModel):
    """What the scorer says of one item."""

    id: str | None
    value: float | None = Field(description="On the scorer's scale; null exactly when the status is not 'ok'.")
    status: Status
    truncated: bool = Field(description="Whether the scorer read less than the item: it was cut to fit the model.")
    reason: str
    details: dict[str, Any]
    provenance: dict[str, Any] | None = Field(
        None, description="If asked for: hash and count of the token ids, tokens cut, batch, computed or repeated."
    )


class Timing(BaseModel):
    """Milliseconds of the request by stage."""

    prepare: float
    queue: float
    score: float
    total: float


class ScoreResponse(BaseModel):
    """One scored item for each item, in order."""

    scorer: str
    version: str = Field(description="Changes whenever the same item may get another score.")
    scale: Scale
    items: list[ScoredItem]
    timing_ms: Timing
    provenance: dict[str, Any] | None = Field(
        None, description="If asked for: what all scores of this version share (weights, renderer, dtype, ...)."
    )


class ScorerInfo(BaseModel):
    """A scorer of this server. kind: ``model`` if items of many requests share a forward, else ``plain``.

    provenance: hashes of weights, renderer and calibrators, dtype, device and so on, as far as the scorer has them.
    """

    name: str
    version: str
    scale: Scale
    kind: Literal["model", "plain"]
    provenance: dict[str, Any] = {}


class ScorerList(BaseModel):
    """The scorers of this server."""

    scorers: list[ScorerInfo]


class Problem(BaseModel):
    """A fault of a request. field: its place, such as ``items[3].response``, or empty for the whole body."""

    field: str
    message: str


class ErrorBody(BaseModel):
    """Why a request was not answered. param: the first field at fault."""

    type: str
    message: str
    param: str | None = None
    problems: list[Problem] = []


class ErrorResponse(BaseModel):
    """The body of every answer that is not 2xx."""

    error: ErrorBody


class BodyError(UsageError):
    """A request body that cannot be taken. kind: a word for programs. status: the HTTP status it is answered with:
    400 not JSON, 408 slow, 413 too large, 415 of another content type, 422 JSON of another form."""

    def __init__(self, status: int, kind: str, problems: Sequence[Problem]) -> None:
        self.status, self.kind, self.problems = status, kind, list(problems)
        first, more = problems[0], len(problems) - 1
        super().__init__(f"{first.field or 'the body'} {first.message}" + (f" (and {more} more)" if more else ""))

    def __reduce__(self) -> tuple[type[BodyError], tuple[int, str, list[Problem]]]:
        return type(self), (self.status, self.kind, self.problems)


@dataclass(frozen=True, slots=True)
class Work:
    """A request that has been read. seconds: the caller's deadline, or None. provenance: whether it is asked for."""

    scorer: str
    ids: list[str | None]
    samples: list[Sample]
    seconds: float | None
    provenance: bool = False


def parse(body: bytes) -> Any:
    """The JSON of a body. Raises BodyError for what readers disagree about."""
    try:
        return from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise BodyError(400, "invalid_json", [Problem(field="", message=f"is not JSON: {error}")]) from error


def read_request(data: Any, request_id: str, *, max_items: int) -> Work:
    """The samples of a native request, their groups prefixed with the request's id.

    Raises BodyError with up to 20 faults: reading ends there, so that a hostile body cannot make a long list of them.
    """
    reader = _Reader()
    if not reader.is_object("", data, ScoreRequest):
        reader.stop()
    scorer = reader.get(data, "", "scorer", str, "a string")
    deadline = data.get("deadline_ms")
    number = isinstance(deadline, (int, float)) and not isinstance(deadline, bool)
    if deadline is not None and not (number and 0 < deadline < math.inf):
        reader.wrong("deadline_ms", f"must be a number of milliseconds above 0, got {shown(deadline)}")
    reader.get(data, "", "provenance", bool, "true or false")
    items = reader.get(data, "", "items", list, "a list of items") or []
    check_count("items", items, max_items)
    samples = [reader.sample(f"items[{index}]", item, request_id) for index, item in enumerate(items)]
    if reader.problems:
        reader.stop()
    return Work(
        scorer=scorer,
        ids=[item.get("id") for item in items],
        samples=[sample for sample in samples if sample is not None],
        # In seconds, and no longer than a day, so that no event loop has to bear 10**4000.
        seconds=None if deadline is None else min(deadline, 86_400_000) / 1000,
        provenance=bool(data.get("provenance")),
    )


def check_count(field: str, items: Sequence[Any], max_items: int) -> None:
    """Raises BodyError if a request holds more items than the server takes at once."""
    if len(items) > max_items:
        message = f"holds {len(items)} items, and this server takes at most {max_items} in one request; send parts"
        raise BodyError(413, "too_large", [Problem(field=field, message=message)])


class _Reader:
    """Reads a request and collects what is wrong with it. The models say which fields there are."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def wrong(self, field: str, message: str) -> None:
        self.problems.append(Problem(field=field, message=message[:500]))
        if len(self.problems) == _SHOWN:
            self.stop()

    def stop(self) -> NoReturn:
        raise BodyError(422, "invalid_request", self.problems)

    def is_object(self, where: str, value: Any, model: type[BaseModel]) -> bool:
        """Whether it is an object, with wrong, unknown and missing fields noted."""
        fields = model.model_fields
        if not isinstance(value, dict):
            self.wrong(where, f"must be an object with {', '.join(fields)}; got {shown(value)}")
            return False
        for key in value:
            if key not in fields:
                near = difflib.get_close_matches(key[:100], fields, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                self.wrong(_join(where, key[:100]), f"is not a field.{hint} There are: {', '.join(fields)}")
        for key, field in fields.items():
            if field.is_required() and key not in value:
                self.wrong(_join(where, key), "is missing")
        return True

    def get(self, data: Mapping[str, Any], where: str, key: str, kind: type, wanted: str) -> Any:
        """A field that must be of a kind. None where it is missing (noted already) or not of it."""
        value = data.get(key)
        if key not in data or isinstance(value, kind):
            return value
        return self.wrong(_join(where, key), f"must be {wanted}, got {shown(value)}")

    def sample(self, where: str, item: Any, request_id: str) -> Sample | None:
        if not self.is_object(where, item, Item) or not {"prompt", "response"} <= item.keys():
            return None
        for key in ("id", "group"):
            if item.get(key) is not None:
                self.get(item, where, key, str, "a string or null")
        group, meta = item.get("group"), item.get("meta", {})
        try:
            for key in ("prompt", "response", "reference", "meta"):
                check_numbers(item.get(key), key)
            return Sample(
                item["prompt"], item["response"], item.get("reference"),
                None if group is None else f"{request_id}/{group}", meta,
            )  # fmt: skip
        except UsageError as error:
            # It names the field first: "prompt[0] must be a mapping ..."
            field, _, message = str(error).partition(" ")
            self.wrong(f"{where}.{field}", message)
            return None


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def shown(value: Any) -> str:
    """A value in a message: its type and its beginning."""
    return f"{type(value).__name__}: {reprlib.repr(value)}"


def check_numbers(value: Any, where: str) -> None:
    """1e999 is JSON, and no double holds it: readers make it infinity."""
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{where} holds a number too large for a double; give it as a string")
    if isinstance(value, dict):
        for item in value.values():
            check_numbers(item, where)
    elif isinstance(value, list):
        for item in value:
            check_numbers(item, where)


# --- answers ---


def to_json(value: Any) -> bytes:
    """Strict JSON of anything: a float that is not finite becomes null, what has no JSON form its text."""
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:  # an integer beyond 64 bits, text with an unpaired surrogate, or deeper than orjson goes
        return orjson.dumps(_safe(value), default=_plain, option=orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if hasattr(value, "tolist"):  # numpy and torch
        return value.tolist()
    return str(value)


def _safe(value: Any, depth: int = 0) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return hex(value)  # decimal digits of a huge integer take quadratic time
    if value is None or isinstance(value, (int, float)):
        return value
    if depth == _DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return {_safe(str(key)): _safe(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_safe(item, depth + 1) for item in value]
    return _safe(_plain(value), depth + 1)
