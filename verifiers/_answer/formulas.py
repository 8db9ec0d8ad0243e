r"""The last formula that a response sets off from its words: ``$x$``, ``\(x\)``, ``\[x\]``, ``**2x + 1**``, a fence."""

from __future__ import annotations

import re

from guerdon.verifiers._answer.answer import Answer, Span, some
from guerdon.verifiers._answer.scan import backwards
from guerdon.verifiers._text import trim

# A dollar sign may be money: without a command inside, there is no space at the ends of a formula.
_DOLLARS = re.compile(
    r"\$(?:\$([^$\n]+)\$\$|(?<![\\$\d]\$)(?:(?=\S)([^$\n]+)(?<=[^\s\\])|[ \t]([^$\n]*\\[a-zA-Z][^$\n]*))\$(?![\d$]))"
)
_JOINTS = frozenset({" and ", ", and ", " or ", ", or "})
_EMPHASIS = re.compile(r"\*\*([^*\n]+)\*\*|`([^`\n]+)`")
_FENCED = re.compile(r"```\w*\n[ \t]*([^\n`]+)\n[ \t]*```\s*\Z")
_PROSE = re.compile(r"[A-Za-z]{3}")
_FUNCTIONS = re.compile(r"\\[A-Za-z]+|sqrt|sin|cos|tan|log|exp|theta|alpha|beta|gamma|arc|inf|mod")
_SAYS_SOMETHING = re.compile(r"\d|\\|[-+*/^=√π].")


def last_formula(text: str, after: int, start: int, end: int) -> Answer | None:
    """The last formula whose end lies behind ``after``."""
    spans: list[Span] = []
    rest = text[after:end]
    if "$" in rest:
        spans += _in_dollars(text, start, end)
    if "\\" in rest:
        spans += _between(text, "\\(", "\\)", start, end) + _between(text, "\\[", "\\]", start, end)
    if "*" in rest or "`" in rest:
        spans += _emphasised(text, start, end)
    return some("formula", text, max(spans)) if spans else None


def _in_dollars(text: str, start: int, end: int) -> list[Span]:
    """The last formula between dollar signs, with those that "and" or "or" joins to it."""
    found: list[Span] = []
    begin = 0
    for match in backwards(_DOLLARS, text, start, end):
        span = trim(text, *match.span(match.lastindex or 0))
        if not found:
            if span[1] - span[0] > 1 or text[span[0] : span[1]].isdigit():  # "$n$" only names a variable
                found, begin, stop, joints = [span], match.start(), match.end(), _JOINTS
            continue
        if text[match.end() : begin] not in joints:
            break
        begin, joints = match.start(), _JOINTS | {", "}
        found = [(begin, stop)]
    return found


def _between(text: str, opens: str, closes: str, start: int, end: int) -> list[Span]:
    closing = text.rfind(closes, start, end)
    opening = text.rfind(opens, start, closing) if closing >= 0 else -1
    inside = trim(text, opening + 2, closing) if opening >= 0 else (0, 0)
    return [inside] if inside[0] < inside[1] else []


def _emphasised(text: str, start: int, end: int) -> list[Span]:
    """The last bold or fenced text, if it is mathematics rather than words."""
    fence = text.rfind("```", start, text.rfind("```", start, end)) if text.rfind("```", start, end) >= 0 else -1
    match = _FENCED.match(text, fence, end) if fence >= 0 else next(backwards(_EMPHASIS, text, start, end), None)
    if match is None:
        return []
    span = trim(text, *match.span(match.lastindex or 0))
    said = text[slice(*span)]
    if len(said) > 200 or _PROSE.search(_FUNCTIONS.sub("", said)) or not _SAYS_SOMETHING.search(said):
        return []
    return [span]
