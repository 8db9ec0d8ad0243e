r"""Text without its dress: what is left of ``\text{Evelyn}``, ``**Evelyn**`` and ``$\mathrm{Evelyn}$.`` is ``Evelyn``.

Dress is LaTeX and Markdown that change how text looks and not what it says. Everything here is linear in the text.
"""

from __future__ import annotations

import re
import unicodedata

_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|\{,\}|[{}~$]|[^\\{}~$]+|\\", re.DOTALL)

_WRAPPERS = frozenset(
    {"\\text", "\\textbf", "\\textit", "\\textrm", "\\textsf", "\\texttt", "\\textnormal", "\\mbox", "\\hbox"}
    | {"\\mathrm", "\\mathbf", "\\mathit", "\\mathsf", "\\mathtt", "\\operatorname", "\\boldsymbol", "\\bm"}
    | {"\\emph", "\\underline", "\\boxed", "\\fbox"}
)
_INVISIBLE = frozenset({"\\left", "\\right", "\\bigl", "\\bigr", "\\displaystyle", "\\textstyle", "\\limits", "\\!"})
_SPACES = frozenset({"\\,", "\\;", "\\:", "\\ ", "\\\n", "\\\t", "~", "\\quad", "\\qquad", "\\thinspace"})
_SAME = {"\\dfrac": "\\frac", "\\tfrac": "\\frac", "\\cfrac": "\\frac", "\\$": "$", "\\%": "%", "\\#": "#", "\\&": "&"}
_SAME["{,}"] = ","  # a comma that groups digits

# Marks that may stand around a whole answer: the one that opens goes together with the one that closes.
_AROUND = (
    *((mark, mark) for mark in ("***", "**", "__", "$$", "*", "_", "`", "$", '"', "'")),
    *(("\\(", "\\)"), ("\\[", "\\]"), ("“", "”"), ("‘", "’"), ("«", "»")),
)
# What stays behind at the end of an answer whose opening mark stood before the words, as in "**Answer: 7**".
_LEFT_BEHIND = (("**", "**"), ("__", "__"), ("\\(", "\\)"), ("\\[", "\\]"), ("*", "*"), ("$", "$"), ("`", "`"))

_LOOKALIKES = {"−": "-", "–": "-", "‐": "-", "‑": "-", "’": "'", "‘": "'", "“": '"', "”": '"', "…": "..."}

_CLOSING_SIGNS = frozenset(closing[-1] for _, closing in (*_AROUND, *_LEFT_BEHIND))
_MOST_MARKS = len(_AROUND) + len(_LEFT_BEHIND)
"""More than one of each kind is no dress but a flood, and each turn may look through the whole text."""
_CLOSES_SENTENCE = frozenset(".,;:?!。，；：")


def trim(text: str, start: int = 0, end: int | None = None) -> tuple[int, int]:
    """The part of ``text[start:end]`` inside the spaces, emphasis, math signs and closing punctuation around it.

    >>> text = "The answer is **$42$**."
    >>> text[slice(*trim(text, 14))]
    '42'
    """
    end = len(text) if end is None else end
    if start < end and text[start].isalnum() and text[end - 1].isalnum():
        return start, end  # the common case: nothing to take off
    start, end = _without_spaces_and_stops(text, start, end)
    for _ in range(_MOST_MARKS):
        if start == end or text[end - 1] not in _CLOSING_SIGNS:
            break
        before = (start, end)
        start, end = _without_spaces_and_stops(text, *_without_marks(text, start, end))
        if before == (start, end):
            break
    return start, end


def _without_marks(text: str, start: int, end: int) -> tuple[int, int]:
    for opening, closing in _AROUND:
        inside = (start + len(opening), end - len(closing))
        around = text.startswith(opening, start) and text.startswith(closing, inside[1])
        if inside[0] < inside[1] and around and text.find(closing, *inside) < 0:
            return inside
    for opening, closing in _LEFT_BEHIND:
        rest = end - len(closing)
        if start < rest and text.startswith(closing, rest) and text.find(opening, start, rest) < 0:
            return (start, end) if closing == "*" and text[rest - 1] == "^" else (start, rest)  # N^* is a set
    return start, end


def _without_spaces_and_stops(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end:
        last = text[end - 1]
        if not (last in _CLOSES_SENTENCE or last.isspace()):
            break
        if last == "." and start <= end - 3 and text.startswith("...", end - 3):
            break  # an ellipsis goes on; "1, 3, ..." is not "1, 3"
        if last == "!" and not (start <= end - 3 and text[end - 3 : end - 1].isalpha()):
            break  # a factorial, unless it follows a word: "Seven!", and not n!
        # a LaTeX space such as "\\," goes as a whole
        end -= 2 if start <= end - 2 and text[end - 2] == "\\" else 1
    return start, end


def plain(text: str) -> str:
    r"""The text without LaTeX and Markdown dress, its spaces collapsed.

    >>> plain(r"\left( 3, \text{ cm} \right)")
    '( 3, cm )'
    >>> plain(r"$15\text{cm}^2$.")
    '15 cm^2'
    """
    undressed = "".join(_undressed(text[slice(*trim(text))]))
    return " ".join(undressed[slice(*trim(undressed))].split())


def _undressed(text: str) -> list[str]:
    if not any(sign in text for sign in "\\$~{"):
        return [text]
    dollars_pair = text.count("$") % 2 == text.count("\\$") % 2
    pieces: list[str] = []
    written: list[bool] = []  # of each open brace: whether it was written
    unwraps = False  # a wrapping command waits for its brace
    for match in _TOKEN.finditer(text):
        sign = match.group()
        if sign in _WRAPPERS:
            unwraps = True
            if pieces and pieces[-1][-1:].isdigit():
                pieces.append(" ")  # 15\text{cm} is 15 cm
        elif sign == "{":
            written.append(not unwraps)
            pieces += ["{"] * written[-1]
            unwraps = False
        elif sign == "}":
            pieces += ["}"] * (written.pop() if written else True)
        elif sign in _SPACES:
            pieces.append(" ")
        elif not (sign in _INVISIBLE or (sign == "$" and dollars_pair)):
            unwraps = unwraps and sign.isspace()
            pieces.append(_SAME.get(sign, sign))
    return pieces


def normal(text: str, *, ignore_case: bool = True) -> str:
    r"""A form in which equal answers are equal text: plain, in one Unicode form, without invisible signs.

    >>> normal(r"**\text{Ｅvelyn}** ") == normal("evelyn")
    True
    """
    if not text.isascii():
        text = "".join(map(_one_form, unicodedata.normalize("NFC", text)))
    text = plain(text)
    return text.casefold() if ignore_case else text


def _one_form(sign: str) -> str:
    """Full-width, circled and similar forms as the plain sign; raised and lowered ones stay, since x² is not x2."""
    if unicodedata.category(sign) == "Cf":
        return ""
    if unicodedata.decomposition(sign).startswith(("<super>", "<sub>", "<fraction>")):
        return sign
    return _LOOKALIKES.get(sign) or unicodedata.normalize("NFKC", sign)
