"""Where a response does not stand by what it says: it takes it back, rejects it, gives up, or offers a second one.

Each pattern is looked for in a few dozen characters beside an answer, and only where one of its words stands there.
"""

from __future__ import annotations

import re

from guerdon.verifiers._answer.answer import Answer

_TAKEN_BACK = re.compile(
    r"\A[\s$)}*\]]{0,6}\? ?no\b(?! doubt)"
    r"|\b(?:(?:that|this|it|which)(?:'s| is| was)(?: \w+)? (?:wrong|incorrect|not right|not correct|a mistake|an error)"
    r"|(?:that|this|it) (?:cannot|can't|can not) be (?:right|correct|true)|scratch that|on second thought"
    r"|(?:i )?(?:take that back|retract|withdraw)|i (?:made (?:a mistake|an error)|was wrong|meant)|no, wait"
    r"|(?:ignore|disregard) (?:that|this|the above)|make that|oops|correction:)"
)
_TAKEN_BACK_WITHIN = 60
"""Characters after an answer within which it is taken back."""

_REJECTED_BEFORE = re.compile(
    r"(?P<joint>,? ?\b(?:and |but )?(?:not|rather than|instead of)|\b(?:isn't|aren't|wasn't|(?:can't|cannot|can not) be"
    r"|(?:can't|cannot) equal|never))[\s$*(\\]*\Z"
)
_REJECTED_AFTER = re.compile(
    r"[\s$*)\\}]*(?:is|was|are|were|would be)(?: \w+)? (?:wrong|incorrect|impossible|invalid|ruled out|excluded"
    r"|not (?:right|correct|possible|valid|the answer))\b"
)
_REJECTING = ("not", "rather than", "instead of", "isn't", "aren't", "wasn't", " be", " equal", "never")
_LOOSE = " \t\n\r\f\v\x1c\x1d\x1e\x1f$*(\\"
"""The words that a match of ``_REJECTED_BEFORE`` may end with, and what may stand between one and the answer: looking
for them takes a fifth of the time of the pattern."""
_NEAR = 40

_GIVES_UP = re.compile(
    r"(?:(?:could|can) ?(?:not|n't)|unable to|not able to) (?:be )?(?:determine|find|found|solve|compute|answer|tell)"
    r"|do(?: not|n't) know\b|rules? (?:it|this|that|them) out\b"
)
_GIVES_UP_NEAR = 300

_SECOND = re.compile(
    r"[\s,.;)}$*\]]{0,8}(?:(?:but|though|although|and|or) )?(?:(?:it|the answer|that) )?"
    r"(?:could|might|may|possibly|perhaps|maybe|alternatively)(?: also| even| well| instead)?(?: be)?,? "
    r"(\$[^$\n]{1,60}\$|[-−]?\d[\d.,/]{0,20}(?<=\d))",
    re.IGNORECASE,
)


def is_taken_back(text: str, at: int, end: int) -> bool:
    """Whether what follows an answer that ends at ``at`` takes it back."""
    if end - at < 5:
        return False
    return _TAKEN_BACK.search(text[at : min(end, at + _TAKEN_BACK_WITHIN)].lower()) is not None


def rejected_from(text: str, answer: Answer, start: int, end: int) -> int | None:
    """Where the rejection of a mere mention begins ("so 7, not 12": behind the 7), or None if there is none."""
    before = text[max(start, answer.start - _NEAR) : answer.start].lower()
    if (before.rstrip(_LOOSE).endswith(_REJECTING) or not before.isascii()) and (
        match := _REJECTED_BEFORE.search(before)
    ):
        return answer.start - len(before) + match.start()
    if end - answer.end < len(" is wrong"):
        return None
    after = text[answer.end : min(end, answer.end + _NEAR)].lower()
    return answer.start if _REJECTED_AFTER.match(after) else None


def gives_up_near(text: str, answer: Answer, start: int, end: int) -> bool:
    near = text[max(start, answer.start - _GIVES_UP_NEAR) : min(end, answer.end + _GIVES_UP_NEAR)]
    # looking for a word is many times faster than looking for a pattern
    if "not" in near and (
        "cannot" in near or "could not" in near or "can not" in near or "not able" in near or "do not know" in near
    ):
        return _GIVES_UP.search(near) is not None
    may = ("'" in near and "n't" in near) or "unable" in near or (" out" in near and "rule" in near)
    return may and _GIVES_UP.search(near) is not None


def with_second_guess(text: str, answer: Answer, end: int) -> Answer:
    """The answer, or both if another is offered right behind it: "The answer is 3, but it could also be 4."."""
    if answer.text is None or end - answer.end < 8:
        return answer
    second = _SECOND.match(text, answer.end, min(end, answer.end + 120))
    if second is None:
        return answer
    both = f"{answer.text} or {second[1].strip('$')}"
    return answer._replace(text=both, end=second.end(1), flags=("hedged", *answer.flags))
