r"""A run of letters: a function, a word, a unit, or single letters multiplied.

    sin, pi, sqrt, alpha    what the command of that name is; sinx, xcosx, 2pir are cut into function and letters
    apples, Evelyn, odd     a word, marked with a quotation mark in front
    cm, km                  behind a number a unit, which is a word too
    ab, xyz, abcd, bcd      letters: three or fewer, in the order of the alphabet, or without a vowel

``cost`` is a word and no cos t.
"""

from __future__ import annotations

import re
from itertools import pairwise

from guerdon.verifiers._math.units import known
from guerdon.verifiers._math.vocabulary import NAMES, NO_FUNCTIONS, PROGRAM, PROSE_NAMES, SHORT_WORDS

_FUNCTION = re.compile(r"(arcsin|arccos|arctan|sin|cos|tan|cot|sec|csc|ln|log|sqrt)")
_BESIDE_PI = frozenset(("r", "R", "rh", "k", "n", "x", "m", "h", "rl", "i", "t"))
_BEFORE_UNITS = frozenset(("}", ")", "\\pi", "/", '"sq', '"square', '"cubic', '"per'))


def letters_of(run: str, last: str, following: str, *, behind_operand: bool) -> list[str]:
    """The tokens of a run of two letters or more between the last token that was kept and the next raw one."""
    name = NAMES.get(run)
    if name is not None and not (run == "min" and behind_operand and following not in ("(", "{", "\\{", "_")):
        return ['"' + run] if run in PROSE_NAMES and not behind_operand else [name]
    lower = run.lower()
    if lower in PROGRAM and following in ("(", "os", "."):
        return [run]  # which nothing reads
    if _is_unit_here(run, last) or lower in SHORT_WORDS or (len(run) > 2 and run.istitle()):
        return ['"' + run]
    if (parts := split_functions(run)) is not None:
        return parts
    beside_words = is_word(last) or _is_long_word(following)
    if beside_words or (len(run) > 3 and not _is_alphabet(run)):
        return ['"' + run]
    return ["n", run[1]] if run in ("nCr", "nPr") else list(run)


def _is_unit_here(run: str, last: str) -> bool:
    if known(run) is None:
        return False
    return last[:1].isdigit() or last in _BEFORE_UNITS or (last[:1] == '"' and known(last[1:]) is not None)


def is_word(token: str) -> bool:
    """Whether a kept token is a word of two letters or more."""
    return token[:1] == '"' and len(token) > 2


def split_functions(run: str) -> list[str] | None:
    """``sinx``, ``xcosx``, ``pir``: functions and π glued to single letters; None if the run is no such thing."""
    if run in NO_FUNCTIONS:
        return None
    if len(run) < 6 and "pi" in run and run.replace("pi", "", 1) in _BESIDE_PI:
        before, _, after = run.partition("pi")
        return [*before, "\\pi", *after]
    pieces = _FUNCTION.split(run)
    if len(pieces) < 3 or not all(len(piece) < 2 for piece in pieces[::2]):
        return None
    if pieces[-1] == "" and pieces[0] and len(pieces) == 3 and len(run) > 4:
        return None
    return [part if index % 2 == 0 else f"\\{part}" for index, part in enumerate(pieces) if part]


def _is_alphabet(run: str) -> bool:
    if len(run) > 6:
        return False
    return all(ord(b) - ord(a) == 1 for a, b in pairwise(run)) or not set(run.lower()) & set("aeiouy")


def _is_long_word(token: str) -> bool:
    return len(token) > 3 and token.isalpha() and token not in NAMES and not _is_alphabet(token)
