r"""The last ``\boxed{…}``, or the last few if they are joined to one list."""

from __future__ import annotations

import re

from guerdon.verifiers._answer.answer import Answer, Flag, Span, none, some
from guerdon.verifiers._answer.scan import closing_brace
from guerdon.verifiers._text import trim

_OPENS = re.compile(r"\s{0,3}\{|[ \t]{0,3}([-+−]?(?:\.?\d\S{0,50}|\\[dt]?frac\{[^{}\n]{1,50}\}\{[^{}\n]{1,50}\}))")
_JOINTS_LONGEST = 60
_OR_WORDS = frozenset({"or", "oder", "ou", "или", "或"})
_MAYBES = _OR_WORDS | {"maybe", "perhaps", "possibly", "alternatively", "could", "might", "may"}
_HEDGES = _MAYBES | {"either", "it", "is", "be", "though", "although", "but", "also", "the", "answer"}
_DRESS = frozenset({"text", "quad", "qquad", "mathrm", "textbf", "left", "right", "large"})
_AND = frozenset({"and", "und", "et", "y", "e", "и", "as", "well"})
_LABEL = re.compile(r"(?:\\?[A-Za-z]\w{0,9}(?:_\{\w{1,5}\})?|\([\w, ]{1,20}\)) ?= ?\$?\Z")
_LABEL_LONGEST = 24
# "\boxed{1} paper and \boxed{2} bins", "\boxed{3} for part (a) and \boxed{1} for part (b)"
_NOUNS = re.compile(
    r"^[$\s]*(?:\\text\{\s*)?(?:for (?:part|case|question) \(?\w\)?"
    r"|(?!(?:is|are|was|were|so|then|but|not|or|and|thus|hence|which|that|gives|since|because|instead)\b)[a-z]{3,})"
    r"(,| and\b|, and\b)"
)
_WORD = re.compile(r"[^\W\d_]+")
_MENTION = re.compile(r"(?:`|\b(?:in|inside|into|within|using|with|use|as)(?: a| the| an)?(?: \w+)? ?[`$\"']?)\Z", re.I)
_PLACEHOLDERS = frozenset({"", "...", "…", "\\ldots", "\\dots", "answer", "your answer", "final answer"})
_TEXT_AROUND = re.compile(r"\\(?:text|textbf|mathrm)\{([^{}]*)\}")


def last_boxed(text: str, start: int, end: int) -> tuple[int, Answer] | None:
    box = _box_before(text, start, end, end) if "\\" in text or "\b" in text else None
    if box is None:
        return None
    at, opened, closing = box
    if closing < 0:
        return at, none("boxed", opened, end, "unclosed", "the last box is not closed")
    span = trim(text, opened, closing)
    if span[0] == span[1]:
        return at, none("boxed", *span, "empty", "the last box is empty")
    earlier = _box_before(text, start, at, end)
    if earlier is not None:
        return at, _joined(text, start, (at, span), earlier, end)
    if text.startswith("\\\\", at - 1) and not text.startswith("\\", at - 2):  # all was escaped twice
        return at, some("boxed", text, span)._replace(text=text[slice(*span)].replace("\\\\", "\\"))
    return at, some("boxed", text, span)


def _box_before(text: str, start: int, before: int, end: int) -> tuple[int, int, int] | None:
    """The last box that begins in ``text[start:before]``: where it does, and where its content begins and ends.

    It ends at -1 if it is not closed before ``end``.
    """
    at = text.rfind("ox", start, before)
    while at >= 0:
        begin, named = _command(text, at)
        if begin >= start and (opening := _OPENS.match(text, named, end)):
            if opening[1]:
                return begin, *opening.span(1)  # \boxed 7
            closing = closing_brace(text, opening.end(), end)
            if closing < 0 or not _is_mention(text, start, begin, opening.end(), closing):
                return begin, opening.end(), closing
        at = text.rfind("ox", start, at)
    return None


def _command(text: str, at: int) -> Span:
    r"""Where the command begins and ends that has its "ox" at ``at``: \boxed, \fbox or \framebox; else (-1, -1)."""
    if text.startswith("ed", at + 2):
        if text.startswith("\\b", at - 2):
            return at - 2, at + 4
        if text.startswith("\b", at - 1):  # what "\boxed" becomes where its backslash was read as an escape
            return at - 1, at + 4
    elif text.startswith("\\fb", at - 3):
        return at - 3, at + 2
    elif text.startswith("\\frameb", at - 7):
        return at - 7, at + 2
    return -1, -1


def _is_mention(text: str, start: int, at: int, opened: int, closing: int) -> bool:
    r"""Whether this is no answer but talk of the mark: "I will put it in \boxed{}", "within \boxed{answer}"."""
    if closing - opened > 40 or text[opened : opened + 1].isdigit():
        return False
    inside = text[opened:closing]
    inside = _TEXT_AROUND.sub(r"\1", inside).strip().strip("[]<>").lower()
    return inside in _PLACEHOLDERS and _MENTION.search(text, max(start, at - 40), at) is not None


def _joined(text: str, start: int, last: tuple[int, Span], earlier: tuple[int, int, int], end: int) -> Answer:
    """The last box with those before it that commas, "and" or "or" join to it."""
    parts = [last]
    joints: list[str] = []
    flags: tuple[Flag, ...] = ()
    box: tuple[int, int, int] | None = earlier
    while box is not None:
        at, opened, closing = box
        after = parts[-1][0]
        if not 0 <= closing < after:
            break
        flags = ("several_boxes",)
        joint = _joint(text[closing + 1 : after]) if after - closing < _JOINTS_LONGEST else None
        if joint is None:
            break
        joints.append(joint)
        parts.append((at, trim(text, opened, closing)))
        box = _box_before(text, start, at, end)
    spans = [span for _, span in reversed(parts)]
    texts = [text[slice(*span)] for span in spans]
    if not all(texts):
        return none("boxed", *spans[-1], "empty", "the last box is empty")
    if len(set(texts)) == 1:
        return some("boxed", text, spans[-1], flags)
    labels = [_LABEL.search(text, max(0, at - _LABEL_LONGEST), at) for at, _ in reversed(parts)]
    if all(labels):  # "x = \boxed{3} and y = \boxed{5}" says which is which
        texts = [f"{label[0].strip(' $')} {one}" for label, one in zip(labels, texts, strict=True) if label]
    joint = " or " if " or " in joints else ", "
    hedge: tuple[Flag, ...] = ("hedged",) if joint == " or " else ()
    return Answer(joint.join(texts), spans[0][0], spans[-1][1], "boxed", (*hedge, *flags))


def _joint(gap: str) -> str | None:
    """How the text between two boxes joins them: as a list, as alternatives, or not at all."""
    label = _LABEL.search(gap)
    if label:
        gap = gap[: label.start()]
    gap = _NOUNS.sub(r"\1", gap.lower(), count=1)
    words = [word for word in _WORD.findall(gap) if word not in _DRESS]
    signs = {sign for sign in gap if not (sign.isalpha() or sign.isspace())}
    if _MAYBES.intersection(words):
        return " or " if _HEDGES.issuperset(words) else None
    joined = bool(words or signs & set(",;&、，"))
    is_list = joined and _AND.issuperset(words) and signs <= set("$,;&()[]{}\\、，")
    return ", " if is_list else None
