"""What a reference says: one text or several, any of which is right."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from guerdon.verifiers._answer import MARKED, find_answer
from guerdon.verifiers._text import trim

_MARKS = ("\\boxed", "\\fbox", "<answer>")
_NO_ANSWERS = frozenset({"", "n/a", "na", "i don't know", "i do not know", "unknown", "null", "nan"})


def reference_texts(reference: Any) -> tuple[str, ...]:
    """The texts of a reference; none if it is empty or of a kind that holds no answer.

    >>> reference_texts("5 * 4 = 20 #### 20"), reference_texts(0.5), reference_texts(["1/2", "one half"])
    (('20',), ('0.5',), ('1/2', 'one half'))
    """
    if type(reference) is str and reference.isdigit():
        return (reference,)  # most references, told at once
    if isinstance(reference, list | tuple):
        texts = [text for one in reference for text in reference_texts(one)]
        return tuple(dict.fromkeys(texts)) if all(map(reference_texts, reference)) else ()
    text = _text(reference)
    return () if text is None or text.casefold() in _NO_ANSWERS else (text,)


def _text(reference: Any) -> str | None:
    if isinstance(reference, str):
        return _answer_in(reference)
    if isinstance(reference, bool):
        return "yes" if reference else "no"
    if isinstance(reference, float) or (isinstance(reference, Decimal) and not reference.is_finite()):
        return repr(reference) if math.isfinite(reference) else None
    try:
        return str(reference) if isinstance(reference, int | Fraction | Decimal) else None
    except ValueError:  # Python prints no integer of more than 4,300 digits
        return None


@lru_cache(maxsize=4_096)
def _answer_in(text: str) -> str | None:
    """The final answer of a solution; the whole text if nothing in it is marked as one."""
    _, hashes, after = text.rpartition("####")
    if hashes:  # the mark of GSM8K, wherever in the line it stands
        text = after
    if any(mark in text for mark in _MARKS):
        return find_answer(text, styles=MARKED).text
    return text[slice(*trim(text))]
