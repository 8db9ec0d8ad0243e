"""Numbers in words: "seven", "twenty-one", "one hundred and five", "two thirds", "three and a half", "third"."""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

_ONES = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
nineteen
"""
_DECADES = "twenty thirty forty fifty sixty seventy eighty ninety"
_RANKS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_SMALL = {name: number for number, name in enumerate(_ONES.split())}
_TENS = {name: 10 * number for number, name in enumerate(_DECADES.split(), 2)}
MULTIPLES = {"hundred": 100, "dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
MULTIPLES |= {name + "s": value for name, value in MULTIPLES.items()}
ORDINALS = {name: number for number, name in enumerate(_RANKS.split(), 1)}
_PARTS = {name: Fraction(1, number) for name, number in ORDINALS.items() if number > 2}
_PARTS |= {name + "s": part for name, part in _PARTS.items()}
_PARTS |= {"half": Fraction(1, 2), "halves": Fraction(1, 2), "quarter": Fraction(1, 4), "quarters": Fraction(1, 4)}
_BASES = {**_SMALL, "binary": 2, "octal": 8, "decimal": 10, "hexadecimal": 16}


def is_numeral(word: str) -> bool:
    """Whether a number in words may begin with this word."""
    return word in _SMALL or word in _TENS or word == "half"


def read_numeral(tokens: Sequence[str], at: int) -> tuple[Fraction, int] | None:
    """The number in words that begins at a word token, and where it ends."""
    total, group, end, last = 0, 0, at, ""
    while True:
        word = _word(tokens, at)
        if word in _SMALL and last in ("", "hundred", "thousand", "tens") and not (last == "tens" and _SMALL[word] > 9):
            group += _SMALL[word]
            last = "ones"
        elif word in _TENS and last in ("", "hundred", "thousand"):
            group += _TENS[word]
            last = "tens"
        elif word == "hundred" and last == "ones":
            group *= 100
            last = "hundred"
        elif word in ("thousand", "million", "billion", "trillion") and last in ("ones", "tens", "hundred"):
            total, group, last = total + group * MULTIPLES[word], 0, "thousand"
        elif word == "and" and last in ("hundred", "thousand") and _is_part(_word(tokens, at + 1)):
            at += 1
            continue
        else:
            break
        at += 1
        end = at
        at += tokens[at] == "-" and tokens[at + 1][:1] == '"'
    value = Fraction(total + group)
    if last == "":
        return (Fraction(1, 2), at + 1) if _word(tokens, at) == "half" else None
    return _with_part(tokens, end, value, at)


def _with_part(tokens: Sequence[str], end: int, value: Fraction, at: int) -> tuple[Fraction, int]:
    """One half, two thirds; three and a half."""
    word = _word(tokens, at)
    if word in _PARTS:
        return value * _PARTS[word], at + 1
    if word == "and" and _word(tokens, at + 1) in ("a", "one") and _word(tokens, at + 2) in _PARTS:
        return value + _PARTS[_word(tokens, at + 2)], at + 3
    return value, end


def _is_part(word: str) -> bool:
    return word in _SMALL or word in _TENS


def _word(tokens: Sequence[str], at: int) -> str:
    token = tokens[at]
    if token == "a":
        return "a"
    return token[1:].lower() if token[:1] == '"' else ""


def base_named(index: str) -> int | None:
    """The base that a subscript names, in digits or words."""
    index = index.lower().removeprefix("base").strip(" ()")
    base = int(index) if index.isdigit() and len(index) < 3 else _BASES.get(index)
    return base if base is not None and 2 <= base <= 36 else None


def are_digits(text: str, base: int) -> bool:
    """Whether a text is digits of a base, with at most one point."""
    text = text.replace(".", "", 1)
    return text.isalnum() and text.isascii() and all(int(digit, 36) < base for digit in text) and text.upper() == text
