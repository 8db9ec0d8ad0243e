"""The words of guerdon: what is scored, what a score is, what a preference is.

All are frozen, hashable, picklable and free of torch. Messages and ``details`` may be given as plain lists and dicts;
they are kept as tuples and ``FrozenDict``, so that no caller can change a sample behind a scorer's back.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from guerdon.rewards.errors import UsageError

Scale: TypeAlias = Literal["verdict", "probability", "logit", "real"]
"""``verdict`` is {0, 1}, ``probability`` [0, 1], ``logit`` a log-odds-like number, ``real`` any finite number."""

Status: TypeAlias = Literal["ok", "abstained", "not_applicable", "timeout", "error", "refused"]
"""Why a score has a value (``ok``) or has none (all others)."""

Text: TypeAlias = "str | Sequence[Mapping[str, Any]]"
"""Plain text, or chat messages: mappings with at least ``role`` and ``content``."""

SCALES: tuple[str, ...] = get_args(Scale)
STATUSES: tuple[str, ...] = get_args(Status)


def in_scale(value: float, scale: Scale) -> bool:
    """Whether a value may be given on a scale.

    >>> in_scale(0.5, "verdict"), in_scale(0.5, "probability"), in_scale(-7.0, "logit")
    (False, True, True)
    """
    if scale == "verdict":
        return value in (0.0, 1.0)
    if scale == "probability":
        return 0.0 <= value <= 1.0
    return math.isfinite(value)


_ATOMS: frozenset[type] = frozenset({str, int, float, bool, type(None)})
"""What is frozen as it is, told by its type alone: every score of a batch passes here."""


class FrozenDict(Mapping[str, Any]):
    """A read-only mapping that hashes and pickles (``types.MappingProxyType`` does neither)."""

    __slots__ = ("_items",)

    def __init__(self, items: Mapping[str, Any] | Sequence[tuple[str, Any]] = ()) -> None:
        given = items if type(items) is dict else dict(items)
        frozen = {key: value if type(value) in _ATOMS else freeze(value) for key, value in given.items()}
        object.__setattr__(self, "_items", frozen)

    @classmethod
    def of_frozen(cls, **items: Any) -> FrozenDict:
        """Of values that are frozen already, which is not checked: it takes a third of the time."""
        made = cls.__new__(cls)
        object.__setattr__(made, "_items", items)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"FrozenDict is read-only; cannot set {name!r}")

    def __getitem__(self, key: str) -> Any:
        return self._items[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return type(self), (dict(self._items),)

    _items: dict[str, Any]


_NOTHING = FrozenDict()


def freeze(value: Any) -> Any:
    """Lists become tuples and mappings ``FrozenDict``, all the way down; everything else is kept as it is."""
    kind = type(value)
    # the common cases; the check against Mapping is slow
    if kind is tuple and (not value or _ATOMS.issuperset(map(type, value))):
        return value
    if kind in _ATOMS or kind is FrozenDict:
        return value
    if kind is dict:
        return FrozenDict(value)
    if isinstance(value, (str, FrozenDict)):
        return value
    if isinstance(value, Mapping):
        return FrozenDict(value)
    if isinstance(value, (list, tuple)):
        return tuple(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """The reverse of ``freeze``: plain dicts and lists, for JSON and for chat templates."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in value]
    return value


def text_of(text: Text) -> str:
    """The plain words of a prompt or response: a string as it is, the contents of messages joined by newlines.

    Parts of multi-part content that are not text (images) are left out.
    """
    if isinstance(text, str):
        return text
    return "\n".join(_content_text(message.get("content")) for message in text)


def _content_text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))


def _checked_text(value: Any, name: str) -> Any:
    """A string, or a frozen tuple of messages; raises UsageError with the place of the fault."""
    if isinstance(value, str):
        return value
    if not isinstance(value, (list, tuple)):
        raise UsageError(f"{name} must be a string or a list of messages, got {type(value).__name__}: {value!r:.80}")
    if not value:
        raise UsageError(f"{name} is an empty list of messages; give at least one message or a string")
    for index, message in enumerate(value):
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise UsageError(
                f"{name}[{index}] must be a mapping with 'role' (a string) and 'content', got {message!r:.80}"
            )
        if "content" not in message and "tool_calls" not in message:
            raise UsageError(f"{name}[{index}] has no 'content'; its keys are {sorted(message)}")
        content = message.get("content")
        if not (content is None or isinstance(content, (str, list, tuple))):
            raise UsageError(f"{name}[{index}]['content'] must be text, got {type(content).__name__}: {content!r:.80}")
    return freeze(value)


@dataclass(frozen=True, slots=True)
class Sample:
    """One response to one prompt.

    prompt, response: text or chat messages; a response given as messages holds what the model said, usually one
    assistant message. reference: the known answer, or None. group: samples with the same group answer one prompt
    and may be compared; None stands alone. meta: anything else a scorer or a stratum needs.
    """

    prompt: Text
    response: Text
    reference: Any = None
    group: str | None = None
    meta: Mapping[str, Any] = _NOTHING

    def __post_init__(self) -> None:
        # what is frozen already is left alone: a sample is made for every verdict
        if not isinstance(self.prompt, str):
            object.__setattr__(self, "prompt", _checked_text(self.prompt, "prompt"))
        if not isinstance(self.response, str):
            object.__setattr__(self, "response", _checked_text(self.response, "response"))
        if type(self.reference) not in _ATOMS:
            object.__setattr__(self, "reference", freeze(self.reference))
        if self.group is not None and not isinstance(self.group, str):
            raise UsageError(f"group must be a string or None, got {type(self.group).__name__}: {self.group!r:.80}")
        if type(self.meta) is not FrozenDict:
            if not isinstance(self.meta, Mapping):
                raise UsageError(f"meta must be a mapping, got {type(self.meta).__name__}: {self.meta!r:.80}")
            object.__setattr__(self, "meta", freeze(self.meta))

    @property
    def response_text(self) -> str:
        return text_of(self.response)

    @property
    def prompt_text(self) -> str:
        return text_of(self.prompt)


@dataclass(frozen=True, slots=True)
class Score:
    """What a scorer says of one sample: a finite value with a reason, or None with the reason why there is none.

    value: on the scorer's scale; None means "could not tell" and is never 0 and never NaN.
    details: what a person or a stratum needs: the extracted answer, the deciding stage, token counts, versions.
    status: ``ok`` exactly when there is a value.

    >>> Score(1.0, "equal numbers", {"answer": "42"}).value
    1.0
    >>> Score.unscored("no answer found").value is None
    True
    """

    value: float | None
    reason: str = ""
    details: Mapping[str, Any] = _NOTHING
    status: Status = "ok"

    def __post_init__(self) -> None:
        if type(self.details) is not FrozenDict:
            object.__setattr__(self, "details", freeze(self.details))
        if type(self.value) is float and self.status == "ok" and math.isfinite(self.value):
            return  # the common case, in a third of the time
        if self.value is not None:
            if isinstance(self.value, bool) or not isinstance(self.value, float):
                object.__setattr__(self, "value", float(self.value))
            if not math.isfinite(self.value):
                raise UsageError(f"a score must be finite, got {self.value!r}; use Score.unscored(reason) instead")
        if self.status not in STATUSES:
            raise UsageError(f"status must be one of {', '.join(STATUSES)}; got {self.status!r}")
        if (self.value is None) == (self.status == "ok"):
            raise UsageError(
                f"status {self.status!r} does not fit value {self.value!r}: 'ok' always has a value, others never"
            )
        if self.value is None and not self.reason:
            raise UsageError("an unscored sample needs a reason")

    @classmethod
    def unscored(cls, reason: str, details: Mapping[str, Any] | None = None, *, status: Status = "abstained") -> Score:
        """No value, with the reason. status: any but ``ok``."""
        return cls(None, reason, details or {}, status)


@dataclass(frozen=True, slots=True)
class Preference:
    """A labelled pair: chosen is better than rejected for this prompt.

    margin: by how much, in the unit of the reward, >= 0, or None. probability: how sure the label is,
    P(chosen is better), in [0, 1] (0.5 says nothing), or None for a plain label. weight: > 0, how much the pair counts.
    """

    prompt: Text
    chosen: Text
    rejected: Text
    margin: float | None = None
    probability: float | None = None
    weight: float = 1.0
    meta: Mapping[str, Any] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        for name in ("prompt", "chosen", "rejected"):
            object.__setattr__(self, name, _checked_text(getattr(self, name), name))
        if self.margin is not None and not (math.isfinite(self.margin) and self.margin >= 0):
            raise UsageError(
                f"margin must be a finite number >= 0, got {self.margin!r}; swap the pair if it is negative"
            )
        if self.probability is not None and not 0.0 <= self.probability <= 1.0:
            raise UsageError(f"probability must be in [0, 1], got {self.probability!r}")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise UsageError(f"weight must be a finite number > 0, got {self.weight!r}")
        object.__setattr__(self, "meta", freeze(self.meta))


@dataclass(frozen=True, slots=True)
class Ranking:
    """K responses to one prompt, ordered by preference (a K-wise record).

    ranks: one a response, 0 is best, equal ranks are ties; at least two responses.
    """

    prompt: Text
    responses: Sequence[Text]
    ranks: Sequence[int]
    meta: Mapping[str, Any] = field(default_factory=FrozenDict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "prompt", _checked_text(self.prompt, "prompt"))
        if isinstance(self.responses, str) or len(self.responses) < 2:
            raise UsageError("a ranking needs at least two responses")
        checked = tuple(_checked_text(response, f"responses[{i}]") for i, response in enumerate(self.responses))
        object.__setattr__(self, "responses", checked)
        object.__setattr__(self, "ranks", tuple(int(rank) for rank in self.ranks))
        if len(self.ranks) != len(self.responses):
            raise UsageError(f"{len(self.responses)} responses but {len(self.ranks)} ranks")
        if min(self.ranks) < 0:
            raise UsageError(f"ranks start at 0 (best), got {min(self.ranks)}")
        object.__setattr__(self, "meta", freeze(self.meta))
