"""Times of day and calendar days: what was not written on one side is not compared."""

from __future__ import annotations

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.judging import Ask, equal, unequal
from guerdon.verifiers._math.structure import exact
from guerdon.verifiers._math.tree import Clock, Date, Node, Ratio


def same_time(a: Node, b: Node, _: Ask) -> Decision:
    """At least one of the two is a time of day or a calendar day."""
    if isinstance(a, Date) and isinstance(b, Date):
        return equal("date") if same_date(a, b) else unequal("date", "another day")
    x, y = _clock(a), _clock(b)
    if x is None or y is None:
        return unequal("kinds", "a time against something else")
    return equal("time") if same_clock(x, y) else unequal("time", "another time")


def _clock(node: Node) -> Clock | None:
    """3:15 is a ratio until the other side is marked as a time."""
    if isinstance(node, Ratio) and len(node.parts) in (2, 3):
        numbers = [exact(part) for part in node.parts]
        if all(number is not None and number.denominator == 1 and 0 <= number < 60 for number in numbers):
            hour, minute, second, *_ = (*(int(number) for number in numbers if number is not None), 0)
            return Clock(hour, minute, second)
    return node if isinstance(node, Clock) else None


def same_clock(a: Clock, b: Clock) -> bool:
    """3:30 may be the morning's or the afternoon's; 15:30 is 3:30 p.m."""
    if (a.minute, a.second) != (b.minute, b.second):
        return False
    if a.half is None and b.half is None:
        return a.hour == b.hour
    if a.half is None or b.half is None:
        open_, marked = (a, b) if a.half is None else (b, a)
        return open_.hour == marked.hour or (1 <= open_.hour <= 12 and open_.hour % 12 == marked.hour % 12)
    return a.hour == b.hour


def same_date(a: Date, b: Date) -> bool:
    """The same day: year and weekday may be missing on one side; day and month, where written, on neither."""
    if (a.month, a.day) != (b.month, b.day):
        return False
    apart = any(x is not None and y is not None and x != y for x, y in ((a.year, b.year), (a.weekday, b.weekday)))
    in_common = a.day is not None or a.month is not None
    return not apart and (in_common or (a.year, a.weekday) == (b.year, b.weekday))
