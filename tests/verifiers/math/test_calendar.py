"""Days and times of day."""

from __future__ import annotations

from fractions import Fraction

import pytest

from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import Clock, Date, Listing, Number, Ratio, Relation, Symbol, Text

DATES = [
    ("March 5", Date(month=3, day=5)), ("5 March", Date(month=3, day=5)), (r"\text{5 March}", Date(month=3, day=5)),
    ("5th of March", Date(month=3, day=5)), ("the 5th of March", Date(month=3, day=5)),
    ("March 5th", Date(month=3, day=5)),
    ("Mar. 5", Date(month=3, day=5)), ("March 5, 2020", Date(2020, 3, 5)), ("5 March 2020", Date(2020, 3, 5)),
    ("2020-03-05", Date(2020, 3, 5)), ("March 2020", Date(2020, 3)), (r"\text{June 20}", Date(month=6, day=20)),
    ("Friday", Date(weekday=4)), (r"\text{Sunday}", Date(weekday=6)), (r"\mbox{Saturday}", Date(weekday=5)),
    ("Monday, March 5", Date(month=3, day=5, weekday=0)), ("May", Date(month=5)), ("December", Date(month=12)),
    ("29 February", Date(month=2, day=29)),
]  # fmt: skip
CLOCKS = [
    ("3:30 PM", Clock(15, 30, 0, "pm")), ("3:30 pm", Clock(15, 30, 0, "pm")),
    (r"3\!:\!30\text{ p.m.}", Clock(15, 30, 0, "pm")), (r"\text{4:30 p.m.}", Clock(16, 30, 0, "pm")),
    ("3:30 a.m.", Clock(3, 30, 0, "am")), ("12:15 a.m.", Clock(0, 15, 0, "am")),
    ("12:15 p.m.", Clock(12, 15, 0, "pm")), ("3 p.m.", Clock(15, 0, 0, "pm")), ("3pm", Clock(15, 0, 0, "pm")),
    ("10 o'clock", Clock(10, 0)), ("noon", Clock(12, 0, 0, "pm")), ("midnight", Clock(0, 0, 0, "am")),
    ("1:02:03 pm", Clock(13, 2, 3, "pm")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "date"), DATES, ids=[text for text, _ in DATES])
def test_a_day_is_read_in_any_order(text: str, date: Date) -> None:
    assert parse(text) == date


@pytest.mark.parametrize(("text", "clock"), CLOCKS, ids=[text for text, _ in CLOCKS])
def test_a_marked_time_is_a_time_of_day(text: str, clock: Clock) -> None:
    assert parse(text) == clock


def test_what_is_no_date() -> None:
    assert parse("3/5") == Number(Fraction(3, 5))
    assert parse("2020-3") == parse("2020 - 3")
    assert parse("2023-02-29") == parse("2023 - 02 - 29")
    assert parse("3:30") == Ratio((Number(Fraction(3)), Number(Fraction(30))))
    assert parse("may") == Text("may")
    assert not isinstance(parse("February 30, 2020"), Date)


def test_dates_stand_in_lists_and_relations() -> None:
    assert parse("March 5 and April 6") == Listing((Date(month=3, day=5), Date(month=4, day=6)), "and")
    assert parse(r"x = \text{March 5}") == Relation((Symbol("x"), Date(month=3, day=5)), ("=",))
