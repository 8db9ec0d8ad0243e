r"""Where the final answer stands in a response. The one place that decides it, for every verifier.

Only what follows the model's thinking counts. There, the mark that comes last wins among those a model sets on purpose:

    boxed     \boxed{7}, \fbox{7}           several joined by commas or "and" are one list
    tag       <answer>7</answer>
    hash      #### 7                        the marker of GSM8K; a Markdown heading is none
    line      Answer: 7                     on a line of its own, or a heading with the answer under it

and without any of them, what it says last:

    phrase    … so the answer is 7.
    formula   … which leaves $7$.
    number    … and 7 apples are left.

A last mark that is empty, unfinished or taken back is no answer: an earlier one does not step in for it, since the
model did not stand by it. Nothing is compared here, so two alternatives ("3 or 4") are reported as one hedged answer.

Every scan is linear in the response and most begin at its end. No pattern here repeats a repetition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from guerdon.verifiers._numbers import NUMBER, number_span
from guerdon.verifiers._text import trim

Style: TypeAlias = Literal["boxed", "tag", "hash", "line", "phrase", "formula", "number"]
Flag: TypeAlias = Literal[
    "hedged", "several_boxes", "empty", "unclosed", "withdrawn", "rejected", "unfinished_thinking"
]

STYLES: tuple[Style, ...] = get_args(Style)
MARKED: tuple[Style, ...] = ("boxed", "tag", "hash", "line")
"""The styles that a model uses on purpose, as opposed to what happens to stand last."""

_LONGEST_PHRASE = 2_000
"""Characters of one spoken answer: what runs on for longer after "the answer is" is no answer."""

_SHOWN = 200
"""Characters of an answer that ``details`` repeats; the span says where the rest is."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The final answer of a response, or why there is none.

    text: what was answered, without the marks around it; None when there is no answer, and then ``reason`` says why.
    start, end: its span in the response. style: how it was marked. flags: what a verifier may want to know.
    """

    text: str | None
    start: int = 0
    end: int = 0
    style: Style | None = None
    flags: tuple[Flag, ...] = ()
    reason: str = ""

    def details(self, **more: Any) -> dict[str, Any]:
        """For ``Score.details``: the answer, where it stands, how it was found."""
        shown = self.text if self.text is None or len(self.text) <= _SHOWN else self.text[:_SHOWN] + "…"
        return {"answer": shown, "span": (self.start, self.end), "style": self.style, "flags": self.flags, **more}


def find_answer(response: str, *, styles: Sequence[Style] = STYLES) -> Answer:
    r"""The final answer, looked for in the given styles only.

    >>> find_answer(r"First \boxed{5}. That is wrong; the answer is \boxed{7}.").text
    '7'
    >>> find_answer("I bought 3 bags of 4, so 12 apples.").style
    'number'
    >>> find_answer(r"The answer is \boxed{}.").reason
    'the last box is empty'
    """
    start, end = final_part(response)
    if not response[start:end].strip():
        if end < len(response):
            return Answer(None, end, end, None, ("unfinished_thinking",), "the response ends inside its thinking")
        return Answer(None, reason="nothing follows the thinking" if start else "the response is empty")
    marked: tuple[int, Answer] | None = None
    for style, last_mark in _MARKS.items():
        # a mark only matters after the one found so far, so a boxed response is not read again and again
        if style in styles and (later := last_mark(response, marked[0] if marked else start, end)):
            marked = later
    if marked is None:
        return _last_said(response, start, end, styles)
    answer = marked[1]
    if answer.text is None or not _TAKEN_BACK.search(response, answer.end, min(end, answer.end + 60)):
        return answer
    instead = _last_said(response, answer.end, end, styles)
    if instead.text is not None:
        return instead
    return replace(answer, text=None, flags=("withdrawn",), reason="the answer was taken back")


# --- the part after the thinking --------------------------------------------------------------------------------------

_THINKING = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "seed:think")),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|channel|>analysis", "<|channel|>final<|message|>"),
)
"""How models mark their reasoning. The opening mark may be missing: templates often put it into the prompt."""


def final_part(response: str) -> tuple[int, int]:
    """The span after the last finished thinking and before thinking that was begun and not finished."""
    finished = [at + len(closes) for _, closes in _THINKING if (at := response.rfind(closes)) >= 0]
    start = max(finished, default=0)
    begun = [at for opens, _ in _THINKING if (at := response.find(opens, start)) >= 0]
    return start, min(begun, default=len(response))


# --- marks set on purpose ---------------------------------------------------------------------------------------------
# Each function gives the last mark of its kind: where the mark begins, and the answer in it.

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)[ \t]{0,3}\{")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_HASH = re.compile(r"^[ \t]*####(?!#)(.*)$", re.MULTILINE)
_ONLY_NUMBER = re.compile(r"[-+−$€£¥]{0,3}[\d.,/ ]*\d%?")
_CUE = re.compile(  # literal words first: with IGNORECASE the same scan takes ten times as long
    r"(?:(?P<answer>answer|Answer|ANSWER|答案)|result|Result|RESULT|solution|Solution|SOLUTION|option|Option|choice|Choice)"
    r"[sS]?(?:[*_ \t]{0,4}(?:(?P<colon>[:：=])|是|为|(?i:is|are|was|were|equals)\b"
    r"|(?:would|should|must|could|might|may|will) be\b)|(?P<heading>[^\w\n]*$))",
    re.MULTILINE,
)
_BEFORE_CUE = frozenset(
    {"so", "the", "my", "our", "final", "correct", "short", "exact", "therefore", "thus", "hence", "and"}
)
_BEFORE_CUE_LONGEST = 60
_TAKEN_BACK = re.compile(
    r"\b(?:(?:that|but this|but it)(?:'s| is| was) (?:wrong|incorrect|not right|not correct|a mistake|an error)"
    r"|scratch that|i take that back|i made (?:a mistake|an error))\b",
    re.IGNORECASE,
)
_JOINTS_LONGEST = 60
_HEDGES = frozenset(
    {"or", "maybe", "perhaps", "possibly", "alternatively", "either", "it", "is", "could", "might", "be"}
)
_OR = re.compile(r"\bor\b", re.IGNORECASE)


def _boxed(text: str, start: int, end: int) -> tuple[int, Answer] | None:
    boxes = backwards(_BOX, text, start, end)
    last = next(boxes, None)
    if last is None:
        return None
    closing = _closing_brace(text, last.end(), end)
    if closing < 0:
        return last.start(), _none("boxed", last.end(), end, "unclosed", "the last box is not closed")
    spans = [trim(text, last.end(), closing)]
    joints: list[str] = []
    flags: tuple[Flag, ...] = ()
    after = last.start()
    for box in boxes:
        closing = _closing_brace(text, box.end(), after)
        flags = ("several_boxes",) if closing >= 0 else flags
        joint = _joint(text[closing + 1 : after]) if 0 <= after - closing < _JOINTS_LONGEST else None
        if joint is None or closing < 0:
            break
        joints.append(joint)
        spans.append(trim(text, box.end(), closing))
        after = box.start()
    texts = [text[slice(*span)] for span in reversed(spans)]
    if not all(texts):
        return last.start(), _none("boxed", *spans[0], "empty", "the last box is empty")
    if len(set(texts)) == 1:
        return last.start(), _some("boxed", text, spans[0], flags)
    joint = " or " if " or " in joints else ", "
    hedge: tuple[Flag, ...] = ("hedged",) if joint == " or " else ()
    return last.start(), Answer(joint.join(texts), spans[-1][0], spans[0][1], "boxed", (*hedge, *flags))


def _joint(gap: str) -> str | None:
    """How the text between two boxes joins them: as a list, as alternatives, or not at all."""
    words = [word for word in re.findall(r"[a-z]+", gap.lower()) if word not in ("text", "quad", "qquad")]
    signs = set(re.sub(r"[A-Za-z\s]", "", gap))
    if "or" in words or _HEDGES.intersection(words[:1]):
        return " or " if _HEDGES.issuperset(words) else None
    is_list = bool(words or signs & set(",;&")) and set(words) <= {"and"} and signs <= set("$,;&()[]{}\\")
    return ", " if is_list else None


def _closing_brace(text: str, start: int, end: int) -> int:
    depth = 1
    for match in _BRACE.finditer(text, start, end):
        sign = match.group()
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return match.start()
    return -1


def _tagged(text: str, start: int, end: int) -> tuple[int, Answer] | None:
    at = text.rfind("<answer>", start, end)
    if at < 0:
        return None
    inside = at + len("<answer>")
    closing = text.find("</answer>", inside, end)
    if closing < 0:
        return at, _none("tag", inside, end, "unclosed", "the last <answer> is not closed")
    span = trim(text, inside, closing)
    if span[0] == span[1]:
        return at, _none("tag", *span, "empty", "the last <answer> is empty")
    return at, _said_within("tag", text, span)


def _said_within(style: Style, text: str, span: tuple[int, int]) -> Answer:
    """What a mark holds, or, if that is a sentence such as "The final answer is 7.", what the sentence says."""
    said = _phrase(text, *span)
    return replace(said, style=style) if said else _some(style, text, span)


def _hashed(text: str, start: int, end: int) -> tuple[int, Answer] | None:
    is_last = True
    for match in backwards(_HASH, text, start, end):
        span = trim(text, match.start(1), match.end(1))
        # "#### 2. Solve" and "#### Conclusion" are headings, unless nothing comes after them
        ends_response = is_last and not text[match.end() : end].strip()
        if span[0] < span[1] and (ends_response or _ONLY_NUMBER.fullmatch(text, *span)):
            return match.start(), _some("hash", text, span)
        is_last = False
    return None


def _lined(text: str, start: int, end: int) -> tuple[int, Answer] | None:
    for cue in backwards(_CUE, text, start, end):
        if _opens_line(text, cue, start):
            span = _said_after(text, cue.end(), end)
            if span is None:
                return cue.start(), _none("line", cue.end(), end, "empty", "nothing follows the last 'Answer:'")
            return cue.start(), _said_within("line", text, span)
    return None


def _opens_line(text: str, cue: re.Match[str], start: int) -> bool:
    """Whether this is "Answer:", or a heading, with only decoration and words such as "the final" before it."""
    if not cue["answer"] or (cue["colon"] is None and cue["heading"] is None):
        return False
    if text.endswith(("<", "/"), start, cue.start()):
        return False  # an <answer> tag
    nearest = max(start, cue.start() - _BEFORE_CUE_LONGEST)
    newline = text.rfind("\n", nearest, cue.start())
    if newline < 0 and nearest > start:
        return False
    return _BEFORE_CUE.issuperset(re.findall(r"\w+", text[max(newline + 1, start) : cue.start()].lower()))


_MARKS: dict[Style, Callable[[str, int, int], tuple[int, Answer] | None]] = {
    "boxed": _boxed,
    "tag": _tagged,
    "hash": _hashed,
    "line": _lined,
}


# --- what is said last ------------------------------------------------------------------------------------------------

_NO_ANSWER_FOLLOWS = re.compile(
    r"[ \t*_]{0,4}(?:not|obtained|found|calculated|computed|given|in the|as follows|of the form|correct|wrong|incorrect"
    r"|right|supposed|expected|required|to be|what)\b",
    re.IGNORECASE,
)
_DECORATION = re.compile(r"[ \t*_:：`]*(?:(?:therefore|thus|then|hence|simply|just|clearly|indeed),? [*_`]*)?")
_NEXT_LINE = re.compile(r"\s*(?:[-•>] )?[*_`]*")
_STOP = re.compile(r"\n|[.!?](?=[\s*_`\"')]|$)|[。！？]|</|<\|")
_ABBREVIATIONS = ("Mr", "Mrs", "Ms", "Dr", "St", "vs", "approx")
_CLAUSE = re.compile(
    r"[,;] (?:so|in|which|because|since|as|where|with|after|not|but|meaning|making|therefore|thus|hence|given|when|if"
    r"|assuming|rounded|altogether|per|giving|leaving|and so|and the|then|i\.e)\b| [—–] | because | since ",
)
_MATHEMATICS_FOLLOWS = re.compile(r"[\s*_:：]{0,9}[-+−$\\(\[{\d]|[\s*_:：]{0,9}[A-J]\b")
_DOLLARS = re.compile(r"\$(?:\$([^$\n]+)\$\$|(?<![\\$\d]\$)(?=\S)([^$\n]+)(?<=[^\s\\])\$(?![\d$]))")
_JOINS_NUMBERS = frozenset({" and ", ", and ", " or ", ", or "})
_GIVES_UP = re.compile(
    r"(?:(?:could|can) ?(?:not|n't)|unable to|not able to) (?:be )?(?:determine|find|solve|compute|answer|tell)"
    r"|do(?: not|n't) know\b|rules? (?:it|this|that|them) out\b"
)
_GIVES_UP_NEAR = 300


def _last_said(text: str, start: int, end: int, styles: Sequence[Style]) -> Answer:
    if "phrase" in styles and (said := _phrase(text, start, end)):
        return said
    formula = _last_formula(text, start, end) if "formula" in styles else None
    number = _last_number(text, start, end) if "number" in styles else None
    if number and formula:  # the later one; a number inside a formula is only a part of it
        formula, number = (None, number) if number.start >= formula.end else (formula, None)
    said = formula or number
    if said is None:
        return Answer(None, reason="no answer found")
    nearby = slice(max(start, said.start - _GIVES_UP_NEAR), min(end, said.end + _GIVES_UP_NEAR))
    if _GIVES_UP.search(text[nearby]):
        return replace(said, text=None, flags=("rejected",), reason="the response gives up or rejects what it mentions")
    return said


def _phrase(text: str, start: int, end: int) -> Answer | None:
    for cue in backwards(_CUE, text, start, end):
        if cue["heading"] is not None or _NO_ANSWER_FOLLOWS.match(text, cue.end(), end):
            continue
        if not cue["answer"] and not _MATHEMATICS_FOLLOWS.match(text, cue.end(), end):
            continue  # "the result is used below", "the solution is simple"
        if span := _said_after(text, cue.end(), end):
            return _some("phrase", text, span)
    return None


def _said_after(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span of what is said after a cue: to the end of the sentence or clause, or the next line if this one ends."""
    end = min(end, start + _LONGEST_PHRASE)
    at = _end_of(_DECORATION, text, start, end)
    if text.startswith("\n", at):
        at = _end_of(_NEXT_LINE, text, at, end)
    for opens, closes in (("\\[", "\\]"), ("$$", "$$")):
        if text.startswith(opens, at) and (closing := text.find(closes, at + 2, end)) >= 0:
            return _nonempty(trim(text, at + 2, closing))
    stop = next((match.start() for match in _STOP.finditer(text, at, end) if _ends_sentence(text, match)), end)
    if stop - start >= _LONGEST_PHRASE:
        return None
    clause = _CLAUSE.search(text, at, stop)
    return _nonempty(trim(text, at, clause.start() if clause else stop))


def _ends_sentence(text: str, stop: re.Match[str]) -> bool:
    before = text[max(0, stop.start() - 6) : stop.start()]
    if stop.group() == "!":
        return before[-2:].isalpha()  # otherwise a factorial
    return stop.group() != "." or not before.endswith(_ABBREVIATIONS)


def _last_formula(text: str, start: int, end: int) -> Answer | None:
    spans = []
    for match in backwards(_DOLLARS, text, start, end):
        span = trim(text, *match.span(match.lastindex or 0))
        if span[1] - span[0] > 1 or text[span[0] : span[1]].isdigit():  # "$n$" only names a variable
            spans.append(span)
            break
    for opens, closes in (("\\(", "\\)"), ("\\[", "\\]")):
        closing = text.rfind(closes, start, end)
        opening = text.rfind(opens, start, closing) if closing >= 0 else -1
        inside = trim(text, opening + 2, closing) if opening >= 0 else (0, 0)
        if inside[0] < inside[1]:
            spans.append(inside)
    return _some("formula", text, max(spans)) if spans else None


def _last_number(text: str, start: int, end: int) -> Answer | None:
    """The last number; with the ones before it if "and" or "or" joins them, since then none of them is the answer."""
    matches = backwards(NUMBER, text, start, end)
    last = next(matches, None)
    if last is None:
        return None
    begin, stop = number_span(text, last)
    for match in matches:
        earlier = number_span(text, match)
        if text[earlier[1] : begin] not in _JOINS_NUMBERS:
            break
        begin = earlier[0]
    return _some("number", text, (begin, stop))


# --- small tools ------------------------------------------------------------------------------------------------------


def _some(style: Style, text: str, span: tuple[int, int], flags: tuple[Flag, ...] = ()) -> Answer:
    answer = text[slice(*span)]
    return Answer(answer, *span, style, ("hedged", *flags) if _OR.search(answer) else flags)


def _none(style: Style, start: int, end: int, flag: Flag, reason: str) -> Answer:
    return Answer(None, start, end, style, (flag,), reason)


def _nonempty(span: tuple[int, int]) -> tuple[int, int] | None:
    return span if span[0] < span[1] else None


def _end_of(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    match = pattern.match(text, start, end)
    return match.end() if match else start


def backwards(pattern: re.Pattern[str], text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """The matches from the last to the first, without reading more of the text than is asked for.

    It reads whole lines, a few at first and then more and more, so the pattern must not match across a newline.
    """
    size = 250
    while start < end:
        begin = max(start, text.rfind("\n", start, max(start, end - size)) + 1)
        yield from reversed(list(pattern.finditer(text, begin, end)))
        end, size = begin, 4 * size
