"""What a response says last, if it marks no answer: a phrase ("the answer is 7"), a formula, or a number."""

from __future__ import annotations

import re
from collections.abc import Sequence

from guerdon.verifiers._answer.answer import Answer, Span, Style, some
from guerdon.verifiers._answer.cues import Cues
from guerdon.verifiers._answer.doubts import gives_up_near, rejected_from, with_second_guess
from guerdon.verifiers._answer.formulas import last_formula
from guerdon.verifiers._answer.prose import last_number
from guerdon.verifiers._answer.scan import end_of, nonempty
from guerdon.verifiers._text import trim

_LONGEST_PHRASE = 2_000
"""Characters of one spoken answer: what runs on for longer after "the answer is" is no answer."""

_NO_ANSWER_FOLLOWS = re.compile(
    r"[ \t*_]{0,4}(?:not|obtained|found|calculated|computed|given|in the|as follows|of the form|correct|wrong|incorrect"
    r"|right|supposed|expected|required|to be|what|(?:in|inside|within)\b[^.\n]{0,30}(?:box|format|brackets|form))\b",
    re.IGNORECASE,
)
_DECORATION = re.compile(r"[ \t*_:：`\"]*(?:(?:therefore|thus|then|hence|simply|just|clearly|indeed|also),? [*_`]*)?")
_NEXT_LINE = re.compile(r"\s*(?:```\w*\s*)?(?:[-•>] )?[*_`]*")
_STOP = re.compile(r"\n|[.!?](?=[\s*_`\"')]|$)|[。！？]|</|<\|")
_ABBREVIATIONS = ("Mr", "Mrs", "Ms", "Dr", "St", "vs", "approx", "Rs")
_CLAUSE = re.compile(
    r"[,;] (?:so|in|which|because|since|as|where|with|after|not|but|meaning|making|therefore|thus|hence|given|when|if"
    r"|assuming|rounded|altogether|per|giving|leaving|and so|and the|then|i\.e)\b| [—–] | because | since "
    r"| \((?=(?:since|because|as|i\.e|rounded|which|that is|approx|about|see|from|by|not)\b)",
)
_MATHEMATICS_FOLLOWS = re.compile(r"[\s*_:：]{0,9}[-+−$\\(\[{\d√π]|[\s*_:：]{0,9}[A-J]\b")


def last_said(text: str, start: int, end: int, styles: Sequence[Style], cues: Cues | None) -> Answer:
    if cues and "phrase" in styles and (found := phrase(text, start, end, cues)):
        return with_second_guess(text, found, end)
    said = _mention(text, start, end, styles)
    if said is None:
        return Answer(None, reason="no answer found")
    rejected = rejected_from(text, said, start, end)
    if rejected is not None:
        instead = _mention(text, start, rejected, styles)  # "so 7, not 12"
        if instead and instead.end >= rejected - 1:
            return instead
    if rejected is not None or gives_up_near(text, said, start, end):
        reason = "the response gives up or rejects what it mentions"
        return said._replace(text=None, flags=("rejected",), reason=reason)
    return with_second_guess(text, said, end)


def _mention(text: str, start: int, end: int, styles: Sequence[Style]) -> Answer | None:
    """The last formula or number, whichever is later; a number inside a formula is only a part of it."""
    number = last_number(text, start, end) if "number" in styles else None
    formula = last_formula(text, number.start if number else start, start, end) if "formula" in styles else None
    return formula if formula and (number is None or number.start < formula.end) else number


def phrase(text: str, start: int, end: int, cues: Cues) -> Answer | None:
    for cue in cues:
        if cue.heading or _NO_ANSWER_FOLLOWS.match(text, cue.end, end):
            continue
        if not cue.is_answer and not _MATHEMATICS_FOLLOWS.match(text, cue.end, end):
            continue  # "the result is used below", "the solution is simple"
        if span := said_after(text, cue.end, end):
            return some("phrase", text, span)
    return None


def said_after(text: str, start: int, end: int) -> Span | None:
    """The span of what is said after a cue: to the end of the sentence or clause, or the next line if this one ends."""
    end = min(end, start + _LONGEST_PHRASE)
    at = end_of(_DECORATION, text, start, end)
    if text.startswith("\n", at):
        at = end_of(_NEXT_LINE, text, at, end)
    for opens, closes in (("\\[", "\\]"), ("$$", "$$")):
        if text.startswith(opens, at) and (closing := text.find(closes, at + 2, end)) >= 0:
            return nonempty(trim(text, at + 2, closing))
    stop = next((match.start() for match in _STOP.finditer(text, at, end) if _ends_sentence(text, match)), end)
    if stop - start >= _LONGEST_PHRASE:
        return None
    clause = _CLAUSE.search(text, at, stop)
    return nonempty(trim(text, at, clause.start() if clause else stop))


def _ends_sentence(text: str, stop: re.Match[str]) -> bool:
    before = text[max(0, stop.start() - 6) : stop.start()]
    if stop.group() == "!":
        return before[-2:].isalpha()  # otherwise a factorial
    return stop.group() != "." or not before.endswith(_ABBREVIATIONS)
