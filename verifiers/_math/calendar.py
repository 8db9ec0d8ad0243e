"""Days and times of day: "June 20", "5th of March 2020", "2020-03-05", "Friday", "3:30 p.m.", "noon".

A time without "a.m.", "p.m." or "o'clock" is a ratio as it stands (3:30), and 3/5 is a fraction.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from guerdon.verifiers._math.tree import Clock, Date

_NAMES_OF_MONTHS = """
january jan,february feb,march mar,april apr,may,june jun,july jul,august aug,september sep sept,october oct,november
nov,december dec
"""
_NAMES_OF_DAYS = "monday mon,tuesday tue tues,wednesday wed,thursday thu thur thurs,friday fri,saturday sat,sunday sun"
_MONTHS = {name: number for number, names in enumerate(_NAMES_OF_MONTHS.split(","), 1) for name in names.split()}
_WEEKDAYS = {name: number for number, names in enumerate(_NAMES_OF_DAYS.split(",")) for name in names.split()}
_ISO = re.compile(r"(\d{4})-(\d\d)-(\d\d)")
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
TIMES_OF_DAY = {"noon": Clock(12, 0, 0, "pm"), "midday": Clock(12, 0, 0, "pm"), "midnight": Clock(0, 0, 0, "am")}


def iso_date(text: str) -> Date | None:
    """2020-03-05, with its zeros, is a day and no difference."""
    found = _ISO.fullmatch(text)
    return _checked(int(found[1]), int(found[2]), int(found[3]), None) if found else None


def read_date(tokens: Sequence[str], at: int) -> tuple[Date, int] | None:
    """The date that begins at a token, and where it ends: a weekday, month, or day of a month, with or without year."""
    start, weekday, month = at, _WEEKDAYS.get(_word(tokens[at])), None
    if weekday is not None:
        at += 1
        if _word(tokens[at]) not in _MONTHS and not _begins_date(tokens, _after_comma(tokens, at)):
            return Date(weekday=weekday), at
        at = _after_comma(tokens, at)
    at += _word(tokens[at]) == "the"
    day, after = _day(tokens, at)
    if day is not None:
        after += _word(tokens[after]) == "of"
        month = _MONTHS.get(_word(tokens[after]))
        if month is None:
            return None
        at = after + 1
    else:
        month = _MONTHS.get(_word(tokens[at]))
        if month is None or (_word(tokens[at]) == "may" and at == start and tokens[at][1:2].islower()):
            return None
        at += 1
        at += tokens[at] == "." and tokens[at + 1][:1].isdigit()
        if not (_is_year(tokens[at])):
            day, at = _day(tokens, at + (_word(tokens[at]) == "the"))
    year_at = _after_comma(tokens, at)
    if _is_year(tokens[year_at]) and tokens[year_at + 1] not in ("/", "^", "."):
        year, at = int(tokens[year_at]), year_at + 1
    else:
        year = None
    found = _checked(year, month, day, weekday)
    return None if found is None else (found, at)


def _word(token: str) -> str:
    return token[1:].lower() if token[:1] == '"' else ""


def _after_comma(tokens: Sequence[str], at: int) -> int:
    return at + 1 if tokens[at] == "," else at


def _begins_date(tokens: Sequence[str], at: int) -> bool:
    if _word(tokens[at]) in _MONTHS:
        return True
    day, after = _day(tokens, at + (_word(tokens[at]) == "the"))
    return day is not None and _word(tokens[after + (_word(tokens[after]) == "of")]) in _MONTHS


def _day(tokens: Sequence[str], at: int) -> tuple[int | None, int]:
    digits = tokens[at]
    if not (digits.isdigit() and len(digits) < 3 and 0 < int(digits) < 32):
        return None, at
    at += 1
    if tokens[at] == "^" and tokens[at + 1] == "{" and _word(tokens[at + 2]) in _ORDINALS and tokens[at + 3] == "}":
        at += 4
    elif tokens[at] == "^" and _word(tokens[at + 1]) in _ORDINALS:
        at += 2
    elif _word(tokens[at]) in _ORDINALS:
        at += 1
    return int(digits), at


_ORDINALS = ("st", "nd", "rd", "th")


def _is_year(token: str) -> bool:
    return token.isdigit() and len(token) == 4


def _checked(year: int | None, month: int, day: int | None, weekday: int | None) -> Date | None:
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= _DAYS[month - 1]):
        return None
    if year and day:
        try:
            date(year, month, day)
        except ValueError:
            return None
    return Date(year, month, day, weekday)


def half_of_day(token: str) -> str | None:
    """am, pm, or "" for o'clock; None for any other token."""
    word = _word(token)
    return word if word in ("am", "pm") else "" if word in ("oclock", "o'clock") else None


def clock(numbers: Sequence[int], half: str) -> Clock | None:
    """The time of day of an hour, minutes and seconds behind which ``half_of_day`` stands; None if there is none."""
    hour, minute, second = (*numbers, 0, 0)[:3]
    if len(numbers) > 3 or not (0 <= hour <= 24 and 0 <= minute < 60 and 0 <= second < 60):
        return None
    if not half:
        return Clock(hour, minute, second)
    if hour > 12 or hour == 0:
        return (
            Clock(hour, minute, second, "pm" if hour > 11 else "am")
            if hour < 24 and (hour > 11) == (half == "pm")
            else None
        )
    return Clock(hour % 12 + (12 if half == "pm" else 0), minute, second, "pm" if half == "pm" else "am")
