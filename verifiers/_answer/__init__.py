r"""Where the final answer stands in a response. The one place that decides it, for every verifier.

Only what follows the model's thinking counts. There, the mark that comes last wins among those a model sets on purpose:

    boxed     \boxed{7}, \fbox{7}           several joined by commas or "and" are one list
    tag       <answer>7</answer>            and {"answer": "7"}
    hash      #### 7                        the marker of GSM8K; a Markdown heading is none
    line      Answer: 7                     on a line of its own, or a heading with the answer under it

and without any of them, what it says last:

    phrase    … so the answer is 7.
    formula   … which leaves $7$.
    number    … and 7 apples are left.

A last mark that is empty, unfinished or taken back is no answer: an earlier one does not step in for it, since the
model did not stand by it. Nothing is compared here, so two alternatives ("3 or 4") are reported as one hedged answer.

Every scan is linear in the response and most begin at its end. No pattern here repeats a repetition. Most responses
hold few marks, so each kind is first looked for as a plain word, which costs a tenth of a pattern.
"""

from __future__ import annotations

from collections.abc import Sequence

from guerdon.verifiers._answer.answer import MARKED, STYLES, Answer, Flag, Style
from guerdon.verifiers._answer.boxes import last_boxed
from guerdon.verifiers._answer.cues import Cues, cues_in
from guerdon.verifiers._answer.doubts import is_taken_back
from guerdon.verifiers._answer.marks import last_hashed, last_keyed, last_lined, last_tagged
from guerdon.verifiers._answer.said import last_said
from guerdon.verifiers._answer.scan import backwards
from guerdon.verifiers._answer.thinking import final_part

__all__ = ["MARKED", "STYLES", "Answer", "Flag", "Style", "backwards", "final_part", "find_answer"]

_SHORTEST_MARK = 6
"""Characters of the shortest mark that may follow a box, "####" and a digit."""


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
    if start >= end or (response[start].isspace() and response[start:end].isspace()):
        if end < len(response):
            return Answer(None, end, end, None, ("unfinished_thinking",), "the response ends inside its thinking")
        return Answer(None, reason="nothing follows the thinking" if start else "the response is empty")
    answer, cues = _last_mark(response, start, end, styles)
    if answer is None:
        answer = last_said(response, start, end, styles, cues)
    if answer.text is None or not is_taken_back(response, answer.end, end):
        return answer
    instead = last_said(response, answer.end, end, styles, cues_in(response, answer.end, end))
    if instead.text is not None:
        return instead
    return answer._replace(text=None, flags=("withdrawn",), reason="the answer was taken back")


def _last_mark(text: str, start: int, end: int, styles: Sequence[Style]) -> tuple[Answer | None, Cues | None]:
    """The answer of the mark that stands last; without one, the cues of the whole part, so that they are read once."""
    after, answer = start, None
    # a mark only matters behind the one found so far, so a boxed response is not read again and again
    if "boxed" in styles and (found := last_boxed(text, start, end)):
        after, answer = _behind(found)
        if end - after < _SHORTEST_MARK:
            return answer, None
    cues = cues_in(text, after, end)
    if "tag" in styles and cues:  # "<answer>" has a cue word in it
        for last_mark in (last_tagged, last_keyed):
            if found := last_mark(text, after, end):
                after, answer = _behind(found)
    if "hash" in styles and (found := last_hashed(text, after, end)):
        after, answer = _behind(found)
    if "line" in styles and cues and (found := last_lined(text, start, end, cues, after)):
        answer = found[1]
    return answer, cues


def _behind(found: tuple[int, Answer]) -> tuple[int, Answer]:
    """Where a later mark may begin: behind this answer, or, if it is none, behind the mark's beginning."""
    at, answer = found
    return (at if answer.text is None else answer.end), answer
