"""How the finder reads: from the end, and no more than it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from guerdon.verifiers._answer.answer import Span

_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)


def backwards(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The matches from the last to the first, without reading more of the text than is asked for.

    It reads whole lines, a few at first and then more and more, so the pattern must not match across a newline.
    """
    size = 120
    while start < end:
        begin = max(start, text.rfind("\n", start, max(start, end - size)) + 1)
        yield from reversed(list(pattern.finditer(text, begin, end)))
        end, size = begin, 4 * size


def closing_brace(text: str, start: int, end: int) -> int:
    """Where the brace closes that opened just before start, or -1."""
    first = text.find("}", start, end)
    if first < 0 or not (text.find("{", start, first) >= 0 or text.find("\\", start, first) >= 0):
        return first
    depth = 1
    for match in _BRACE.finditer(text, start, end):
        sign = match.group()
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return match.start()
    return -1


def end_of(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    """Where a match that begins at start ends; start if there is none."""
    match = pattern.match(text, start, end)
    return match.end() if match else start


def nonempty(span: Span) -> Span | None:
    return span if span[0] < span[1] else None
