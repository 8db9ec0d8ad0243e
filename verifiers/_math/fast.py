r"""What two texts tell without being read as trees: equal text is equal, and plain numbers are compared as they stand.

A plain number is an integer, a decimal, or a fraction of two integers (``-7``, ``1,234``, ``0.50``, ``3/4``,
``\frac{3}{4}``). Most answers to grade-school problems are one. Whatever could depend on more than its value, such as a
rounded reference or a decimal that a program printed, is left to the trees, so the two ways never differ.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from guerdon.verifiers._limits import AGREEING_DIGITS
from guerdon.verifiers._math.decision import Decision

SAME_TEXT = Decision(True, "text", "the reference letter by letter")
SAME_NUMBER = Decision(True, "number", "the reference number")
OTHER_NUMBER = Decision(False, "number", "another number than the reference")

_LONGEST = 40
"""Characters of a plain number: enough for every usual one, and few enough to be read at once."""

_STARTS = frozenset("0123456789-+−\\")
"""What a plain number may begin with: a look at it spares most other texts the patterns."""
_WHOLE = r"([-+−]?)(\d+|[1-9]\d{0,2}(?:,\d\d\d)+)"
_DECIMAL = re.compile(_WHOLE + r"(?:\.(\d+))?", re.ASCII)
_FRACTION = re.compile(_WHOLE + r"/(\d+)|([-+−]?)\\[dt]?frac\{(\d+)\}\{(\d+)\}", re.ASCII)


class _Plain(NamedTuple):
    """A number as a fraction, not reduced. decimals: digits behind the point; digits: significant ones of a decimal."""

    top: int
    bottom: int
    decimals: int = 0
    digits: int = 0


def decide(answer: str, reference: str, *, exact: bool = True) -> Decision | None:
    r"""Whether an answer is the reference, or None if their trees must be compared.

    It does not ask whether the reference can be read at all. exact: False if the policy allows a distance, and then no
    number is another number.

    >>> decide("1,234", "1234.00").equal, decide("0.5", r"\frac{1}{3}").equal, decide("x + 1", "1 + x")
    (True, False, None)
    """
    if answer == reference:
        return SAME_TEXT
    if len(answer) > _LONGEST or len(reference) > _LONGEST:
        return None
    # two integers are most of all pairs, and two thirds of a microsecond instead of three
    if answer.isdigit() and reference.isdigit() and answer.isascii() and reference.isascii():
        if int(answer) == int(reference):
            return SAME_NUMBER
        return OTHER_NUMBER if exact else None
    if answer[:1] not in _STARTS or reference[:1] not in _STARTS:
        return None
    a, b = _plain(answer), _plain(reference)
    if a is None or b is None:
        return None
    if a.top * b.bottom == b.top * a.bottom:
        return SAME_NUMBER
    if not exact or max(a.digits, b.digits) >= AGREEING_DIGITS:
        return None
    # a decimal reference may be a rounded one, which an answer of no more decimals cannot be
    if b.decimals and (a.decimals > b.decimals or (a.bottom > 1 and not a.decimals)):
        return None
    return OTHER_NUMBER


@lru_cache(maxsize=8192)
def _plain(text: str) -> _Plain | None:
    if match := _DECIMAL.fullmatch(text):
        sign, whole, part = match.groups()
        whole = whole.replace(",", "")
        value = int(whole + (part or ""))
        decimals = len(part or "")
        digits = len((whole + (part or "")).lstrip("0")) if part else 0
        return _Plain(-value if sign in ("-", "−") else value, 10**decimals, decimals, digits)
    if match := _FRACTION.fullmatch(text):
        sign, top, bottom = match.groups()[:3] if match[3] else match.groups()[3:]
        if int(bottom):
            value = int(top.replace(",", ""))
            return _Plain(-value if sign in ("-", "−") else value, int(bottom))
    return None
