r"""Letters of a multiple-choice question: ``(B)`` is B, ``D`` may be given with its text, or by its text alone.

The letter is read from the text and before any mathematics, since ``E: the rate doubles`` is none. A lone capital
without any dress stays a variable as well: both readings of ``C`` are the same letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from guerdon.verifiers._text import normal, plain

_LONGEST = 400
_NAMED = r"(?:(?:the )?(?:correct |final |best )?(?:option|choice|answer|letter)(?: is|:)? )?"
_ALONE = re.compile(_NAMED + r"(?:\(\s?([A-J])\s?\)|\[\s?([A-J])\s?\]|([A-J])\)?)[.:]?", re.IGNORECASE)
_LETTER = re.compile(r"(?<![A-Za-z\\])[A-Ja-j](?![A-Za-z])")
_BARE_LOWER = re.compile(r"[a-j]")
_WITH_TEXT = re.compile(_NAMED + r"(?:\(([A-J])\)[.:]?|([A-J])(?:[).:]| [-–—](?= ?[^\W\d_]{2})))\s*([\w$\\+−-].*)")


@dataclass(frozen=True, slots=True)
class Choice:
    """letter: A to J. said: the text beside it, "" if there is none."""

    letter: str
    said: str = ""


def read_choice(text: str) -> Choice | None:
    r"""The option that a text names, if it names exactly one.

    >>> read_choice(r"\text{(B)}"), read_choice("E: the rate doubles").letter, read_choice("A - 5")
    (Choice(letter='B', said=''), 'E', None)
    """
    if len(text) > _LONGEST or not _LETTER.search(text):
        return None
    text = plain(text)
    if _BARE_LOWER.fullmatch(text):
        return None  # b is a variable; (b) may be an option
    if match := _ALONE.fullmatch(text):
        return Choice((match[1] or match[2] or match[3]).upper())
    if match := _WITH_TEXT.fullmatch(text):
        return Choice((match[1] or match[2]).upper(), match[3])
    return None


def read_letters(text: str) -> str:
    """Several options, in the order of the alphabet: "ACD", "A, C, D", "(C) and (A)"; "" for anything else.

    Letters without anything between them must rise, since BA is a product or a segment.
    """
    if len(text) > _LONGEST or not _LETTER_OF_SEVERAL.search(text):
        return ""
    text = normal(text, ignore_case=False).rstrip(".")
    if not (_GLUED.fullmatch(text) or _APART.fullmatch(text)):
        return ""
    letters = _CAPITAL.findall(text)
    rises = all(a < b for a, b in pairwise(letters))
    return "".join(sorted(set(letters))) if rises or not _GLUED.fullmatch(text) else ""


_CAPITAL = re.compile("[A-J]")
_LETTER_OF_SEVERAL = re.compile(r"[A-J][A-J]|[A-J]\W")
_GLUED = re.compile("[A-J]{2,10}")
_APART = re.compile(r"\(?[A-J]\)?(?: ?(?:[,;&、]| and |和|, and )+ ?\(?[A-J]\)?){1,9}")


def same_choice(answer: Choice, reference: Choice, options: Mapping[str, str]) -> tuple[bool, str]:
    """Whether the letters agree, and the text beside the answer's letter with its option where that is known."""
    if answer.letter != reference.letter:
        return False, "another option"
    option = options.get(answer.letter)
    if answer.said and option is not None and normal(answer.said) != normal(option):
        others = {letter for letter, text in options.items() if normal(text) == normal(answer.said)}
        if others:
            return False, "the letter of one option with the text of another"
    return True, "the right option"
