r"""Whether the response's final answer is the reference number, compared as exact fractions.

``1/2``, ``\frac12``, ``0.50``, ``.5``, ``50%`` and ``½`` are one number; so are ``1,250`` and ``1250.00``. There is no
hidden tolerance: ``0.33`` is not 1/3, and 99999999999 is not 100000000000. A decimal of at least 12 significant digits
stands for the number it agrees with to 12 digits, since that is how a program prints 1/12.

A response without a readable number is wrong. A reference without one is not a matter for this verifier: unscored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from numbers import Real
from typing import Any, Literal

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import Score
from guerdon.verifiers._answer import MARKED, STYLES, Answer, Style, find_answer
from guerdon.verifiers._limits import AGREEING_DIGITS, MAX_DIGITS, agreeing_share
from guerdon.verifiers._numbers import Number, goes_on, numbers_in, read_number
from guerdon.verifiers._text import plain

EXAMPLES = (
    ("3 bags of 4 make 12 apples.", "12", 1),
    (r"The total is \boxed{\$1{,}250.00}.", 1250, 1),
    ("Answer: m+n = 256+37 = 293", "293", 1),
    ("#### 41", "42", 0),
    (r"\boxed{3 \text{ or } 4}", "3", 0),
    (r"\boxed{0.33}", "1/3", 0),
    (r"\boxed{0.33}", "1/3", 1, {"tolerance": 0.01}),
    (r"\boxed{0.0833333333333333}", r"\frac{1}{12}", 1),
    ("That is 25%.", "25", 1),
    ("That is 25%.", "25", 0, {"percent": "value"}),
    ("<answer>12 minutes</answer>", "12 hours", 0),
    ("<answer>12 minutes</answer>", "12", 1),
    ("The answer is 7.", "7", 0, {"styles": ["boxed"]}),
    (r"\boxed{1e999999999}", "1", 0),
    ("The answer is blue.", "7", 0),
    ("The answer is 7.", "blue", None),
)

_OR = re.compile(r"\bor\b", re.IGNORECASE)
_AND = re.compile(r"\band\b|&", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]{2}")
_PROSE = re.compile(r"[^\d_+*/^=<>\\{}|~!]*")


def verify(
    response: str,
    reference: Any,
    *,
    tolerance: float | str = 0,
    relative_tolerance: float | str = 0,
    percent: Literal["either", "value", "ignore"] = "either",
    units: Literal["match", "ignore", "refuse"] = "match",
    styles: Sequence[Style] = STYLES,
) -> Score:
    """1 if the response's final answer is the reference number.

    reference: a number, or text that is one or ends with one ("… #### 42"). tolerance: the most by which they may
    differ; relative_tolerance: the same as a share of the larger one. Both are read as decimals, so 0.1 is 1/10.
    percent: with a percent sign on one side only, p% is p/100 or p ("either"), only p/100 ("value"), only p ("ignore").
    units: on one side only they are always dropped; on both they must be the same ("match") or are dropped ("ignore");
    with "refuse", an answer with a unit or currency sign is no number. styles: how an answer may be given.
    """
    expected = _read_reference(reference)
    if expected is None:
        return Score.unscored(f"the reference is no number: {reference!r:.80}", status="not_applicable")
    if expected.value is None:
        return Score.unscored(f"the reference has more than {MAX_DIGITS:,} digits", status="refused")
    answer = find_answer(response, styles=styles)
    if answer.text is None:
        return Score(0.0, answer.reason, answer.details(stage="no answer"))
    numbers = _read_answer(answer)
    if not numbers or (units == "refuse" and not all(number.bare for number in numbers)):
        return Score(0.0, "the answer is not one number", answer.details(stage="unread"))
    if any(_same(number, numbers[0], percent, units) is None for number in numbers[1:]):
        return Score(0.0, "the answer offers several numbers", answer.details(stage="hedged"))
    stage = _same(numbers[0], expected, percent, units, _allowed(tolerance), _allowed(relative_tolerance))
    if stage is None:
        return Score(0.0, "another number than the reference", answer.details(stage="unequal"))
    return Score(1.0, "the reference number", answer.details(stage=stage))


def check_options(*, tolerance: float | str = 0, relative_tolerance: float | str = 0, **_: Any) -> None:
    for name, value in (("tolerance", tolerance), ("relative_tolerance", relative_tolerance)):
        if _allowed(value) is None:
            raise UsageError(
                f"{name} must be a finite number >= 0, as a number or as text such as '1e-6'; got {value!r}"
            )


def _read_reference(reference: Any) -> Number | None:
    if isinstance(reference, bool) or not isinstance(reference, Real | Decimal | str):
        return None
    try:
        text = str(reference)
    except ValueError:  # Python prints no integer of more than 4,300 digits
        return Number(None)
    return read_number(text) or read_number(find_answer(text, styles=MARKED).text or "")


def _read_answer(answer: Answer) -> list[Number]:
    """The number of an answer; several if it offers alternatives; none if it cannot be read or is a list."""
    text = plain(answer.text or "")
    if "hedged" in answer.flags:
        read = [read_number(part) for part in _OR.split(text)]
    else:
        read = [read_number(text) or _number_in_prose(text, said=answer.style in ("line", "phrase"))]
    return [] if None in read else [number for number in read if number]


def _number_in_prose(text: str, *, said: bool) -> Number | None:
    """The number in "72 clips in 2 days": what a phrase begins with, else the only one, else, if said, the last."""
    if said and text.endswith("!"):  # a factorial where it is written down, an exclamation where it is said
        return read_number(text.rstrip("!")) or _number_in_prose(text.rstrip("!"), said=True)
    spans = numbers_in(text)
    if not spans or not _WORD.search(text):
        return None
    between = [(0, 0), *spans, (len(text), len(text))]
    gaps = [text[left[1] : right[0]] for left, right in pairwise(between)]
    leads = not gaps[0]
    chosen = spans[0 if leads else -1]
    if not all(_PROSE.fullmatch(gap) for gap in gaps) or goes_on(text, chosen[1]):
        return None
    if len(spans) > 1:
        gap = gaps[1 if leads else -2]
        if not (leads or said) or not _WORD.search(gap) or _AND.search(gap):
            return None  # "3 and 4", "1, 2", "12 - 5": not one number
    return read_number(text[slice(*chosen)])


def _same(
    a: Number,
    b: Number,
    percent: str,
    units: str,
    tolerance: Fraction | None = None,
    share: Fraction | None = None,
) -> str | None:
    """The stage at which two numbers are the same, or None. Symmetric."""
    if a.value is None or b.value is None:
        return None  # over a limit, so not a number that a reference within the limits could be
    if units == "match" and a.unit and b.unit and a.unit != b.unit:
        return None
    pairs = [(a.value, b.value, "exact")]
    if percent != "ignore" and (a.percent or b.percent):
        as_value = (a.value / 100 if a.percent else a.value, b.value / 100 if b.percent else b.value, "percent")
        pairs = [as_value, *(pairs if percent == "either" and a.percent != b.percent else ())]
    prints_digits = max(a.decimals, b.decimals) >= AGREEING_DIGITS
    for x, y, stage in pairs:
        apart, size = abs(x - y), max(abs(x), abs(y))
        if apart == 0:
            return stage
        if prints_digits and apart < size * agreeing_share(size):
            return "digits"
        if apart <= (tolerance or 0) or apart <= size * (share or 0):
            return "tolerance"
    return None


@lru_cache
def _allowed(tolerance: float | str) -> Fraction | None:
    """A tolerance as an exact number, or None if it is not a finite number >= 0."""
    number = read_number(str(tolerance))
    if number is None or number.value is None or number.value < 0 or number.percent or not number.bare:
        return None
    return number.value
