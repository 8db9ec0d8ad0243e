"""The words of the answer finder: what an answer is, how it may be marked, and what may be odd about it."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias, get_args

from guerdon.rewards.types import FrozenDict

Style: TypeAlias = Literal["boxed", "tag", "hash", "line", "phrase", "formula", "number"]
Flag: TypeAlias = Literal[
    "hedged", "several_boxes", "empty", "unclosed", "withdrawn", "rejected", "unfinished_thinking"
]
Span: TypeAlias = tuple[int, int]

STYLES: tuple[Style, ...] = get_args(Style)
MARKED: tuple[Style, ...] = ("boxed", "tag", "hash", "line")
"""The styles that a model uses on purpose, as opposed to what happens to stand last."""

_SHOWN = 200
"""Characters of an answer that ``details`` repeats; the span says where the rest is."""

_OR = re.compile(r"\b(?:or|oder|ou|или)\b|或")


class Answer(NamedTuple):
    """The final answer of a response, or why there is none.

    text: what was answered, without the marks around it; None when there is no answer, and then ``reason`` says why.
    start, end: its span in the response. style: how it was marked. flags: what a verifier may want to know. The text is
    the span's letter by letter, unless several guesses were joined ("3 or 4") or escapes of JSON undone.
    """

    text: str | None
    start: int = 0
    end: int = 0
    style: Style | None = None
    flags: tuple[Flag, ...] = ()
    reason: str = ""

    def details(self, **more: str | float | None) -> FrozenDict:
        """For ``Score.details``: the answer, where it stands, how it was found."""
        shown = self.text if self.text is None or len(self.text) <= _SHOWN else self.text[:_SHOWN] + "…"
        span = (self.start, self.end)
        return FrozenDict.of_frozen(answer=shown, span=span, style=self.style, flags=self.flags, **more)


def some(style: Style, text: str, span: Span, flags: tuple[Flag, ...] = ()) -> Answer:
    answer = text[span[0] : span[1]]
    return Answer(answer, span[0], span[1], style, ("hedged", *flags) if hedges(answer) else flags)


def none(style: Style, start: int, end: int, flag: Flag, reason: str) -> Answer:
    return Answer(None, start, end, style, (flag,), reason)


def hedges(answer: str) -> bool:
    """Whether an answer offers alternatives."""
    # looking for letters is faster than looking for a pattern
    return ("o" in answer or "O" in answer or not answer.isascii()) and _OR.search(answer.lower()) is not None
