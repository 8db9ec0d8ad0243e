"""Marks that a model sets on purpose, other than boxes: tags, GSM8K's hashes, lines that begin with "Answer:".

Each function gives the last mark of its kind: where the mark begins, and the answer in it.
"""

from __future__ import annotations

import re

from guerdon.verifiers._answer.answer import Answer, Span, Style, none, some
from guerdon.verifiers._answer.cues import Cue, Cues, cues_in
from guerdon.verifiers._answer.said import phrase, said_after
from guerdon.verifiers._answer.scan import backwards
from guerdon.verifiers._text import trim

_HASH = re.compile(r"^[ \t]*####(?!#)(.*)$", re.MULTILINE)
_ONLY_NUMBER = re.compile(r"[-+−$€£¥]{0,3}[\d.,/ ]*\d%?")
_KEY = re.compile(r"\s{0,9}:\s{0,9}(?:\"((?:[^\"\\\n]|\\.)*)\"|'((?:[^'\\\n]|\\.)*)'|([^\s,}\"'\[{][^,}\n]*))")
_BEFORE_CUE = frozenset(
    {"so", "the", "my", "our", "final", "correct", "short", "exact", "therefore", "thus", "hence", "and"}
    | {"die", "endgültige", "la", "a", "最终", "最后", "正确", "最終", "최종", "окончательный"}
)
_BEFORE_CUE_LONGEST = 60
_SENTENCE = re.compile(r"[.!?]\s+[*_]{0,3}[A-Z]")


def last_tagged(text: str, start: int, end: int) -> tuple[int, Answer] | None:
    at = text.rfind("<answer>", start, end)
    if at < 0:
        return None
    inside = at + len("<answer>")
    closing = text.find("</answer>", inside, end)
    if closing < 0:
        return at, none("tag", inside, end, "unclosed", "the last <answer> is not closed")
    span = trim(text, inside, closing)
    if span[0] == span[1]:
        return at, none("tag", *span, "empty", "the last <answer> is empty")
    return at, _said_within("tag", text, span)


def last_keyed(text: str, start: int, end: int) -> tuple[int, Answer] | None:
    """The value of "answer" in JSON."""
    at = max(text.rfind('answer"', start, end), text.rfind("answer'", start, end))
    match = _KEY.match(text, at + len('answer"'), end) if at >= 0 else None
    if match is None:
        return None
    group = match.lastindex or 0
    span = trim(text, *match.span(group))
    if span[0] == span[1]:
        return match.end(), none("tag", *span, "empty", 'the last "answer" is empty')
    answer = some("tag", text, span)
    if group < 3 and "\\" in (said := text[slice(*span)]):  # "\\frac" is \frac in JSON; "\frac" is written by models
        answer = answer._replace(text=said.replace("\\\\", "\\").replace('\\"', '"'))
    return at, answer


def _said_within(style: Style, text: str, span: Span) -> Answer:
    """What a mark holds, or, if that is a sentence such as "The final answer is 7.", what the sentence says."""
    cues = cues_in(text, *span)
    said = phrase(text, *span, cues) if cues else None
    return said._replace(style=style) if said else some(style, text, span)


def last_hashed(text: str, start: int, end: int) -> tuple[int, Answer] | None:
    if "#" not in text or text.rfind("####", start, end) < 0:
        return None
    is_last = True
    for match in backwards(_HASH, text, start, end):
        span = trim(text, match.start(1), match.end(1))
        # "#### 2. Solve" and "#### Conclusion" are headings, unless nothing comes after them
        ends_response = is_last and not text[match.end() : end].strip()
        if span[0] < span[1] and (ends_response or _ONLY_NUMBER.fullmatch(text, *span)):
            return match.start(), some("hash", text, span)
        is_last = False
    return None


def last_lined(text: str, start: int, end: int, cues: Cues, after: int) -> tuple[int, Answer] | None:
    """after: where the mark must begin, while its line may begin earlier."""
    for cue in cues:
        if cue.start < after:
            return None
        if _opens_line(text, cue, start):
            span = said_after(text, cue.end, end)
            if span is None:
                return cue.start, none("line", cue.end, end, "empty", "nothing follows the last 'Answer:'")
            return cue.start, _said_within("line", text, span)
    return None


def _opens_line(text: str, cue: Cue, start: int) -> bool:
    """Whether this is "Answer:", or a heading, with only decoration and words such as "the final" before it."""
    if not cue.is_answer or not (cue.colon or cue.heading):
        return False
    if text.endswith(("<", "/"), start, cue.start):
        return False  # an <answer> tag
    nearest = max(start, cue.start - _BEFORE_CUE_LONGEST)
    begin = text.rfind("\n", nearest, cue.start) + 1
    if cue.colon and (sentences := list(_SENTENCE.finditer(text, nearest, cue.start + 1))):
        begin = max(begin, sentences[-1].end() - 1)  # "… = 12. Final Answer: 12"
    if not begin and nearest > start:
        return False
    return _BEFORE_CUE.issuperset(re.findall(r"\w+", text[max(begin, start) : cue.start].lower()))
