"""The mathematics in an answer that is a sentence, such as "The largest n is 34" after "Final Answer:"."""

from __future__ import annotations

import re

from guerdon.verifiers._answer.answer import Answer
from guerdon.verifiers._answer.said import last_said
from guerdon.verifiers._numbers import NUMBER

_LONGEST = 400
_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{3}")
_ANNOUNCED = re.compile(
    r"(?:\b(?:is|are|was|were|be|equals|total of|get|gives|have|has)|[=:])[\s*_$\\(\[]*\Z", re.IGNORECASE
)
_ANNOUNCED_WITHIN = 24
_PROGRAM = re.compile(
    r"(?<![\\A-Za-z])(?!(?:sin|cos|tan|cot|sec|csc|log|ln|exp|sqrt|max|min|gcd|lcm|abs|floor|ceil)\()[A-Za-z_]{2,}\("
    r"|[_^]\s?\{?\s?[A-Za-z]{2}|__|\b(?:import|lambda|return|exec|eval|print)\b|[\w)\]]\.[a-z]{2,}\("
)
"""Words of a program or an index, which say nothing."""


def mathematics_in(sentence: str) -> str | None:
    """What a sentence gives as its result; None if it is no sentence, or if several things in it might be meant.

    >>> mathematics_in("Jane started 3 hours ago"), mathematics_in("The largest $n$ below 50 is 34")
    ('3 hours', '34')
    >>> mathematics_in("2 apples and 3 pears"), mathematics_in("3 + 4") is None
    (None, True)
    """
    if len(sentence) > _LONGEST or not _WORD.search(sentence) or _PROGRAM.search(sentence):
        return None
    said = _last(sentence)
    if said.text is None:
        return None
    others = NUMBER.search(sentence, 0, said.start) or NUMBER.search(sentence, said.end)
    near = max(0, said.start - _ANNOUNCED_WITHIN)
    if others and not _ANNOUNCED.search(sentence[near : said.start]):
        return None
    return said.text


def _last(sentence: str) -> Answer:
    return last_said(sentence, 0, len(sentence), ("formula", "number"), None)
