r"""What may stand behind a value: units, percent and degree signs, "million", "p.m.", "March", "th", "base 2".

5\text{ m}      metres; 5m is a product, except in "5 m" as plain text and in quotients of units (5m/s)
2\frac12\%      the unit measures the whole product in front of it, from the last unit on
5'10"           feet and inches; in a text with a degree sign, minutes and seconds of arc
20% of 50       a product
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from guerdon.verifiers._math.building import is_numeric, product
from guerdon.verifiers._math.calendar import clock, half_of_day, read_date
from guerdon.verifiers._math.numerals import MULTIPLES, are_digits, base_named, is_numeral
from guerdon.verifiers._math.powers import DEGREES, ORDINALS, read_power, takes_degree
from guerdon.verifiers._math.reader import Reader
from guerdon.verifiers._math.tree import Based, Node, Number, Quantity, Text, Unit
from guerdon.verifiers._math.units import NO_UNITS, PERCENT, SIGNS, known, read_part, read_unit, times

DEGREE = Unit((("°", 1),))
MARKS = frozenset(("%", "\\%", "^", "'", '"'))
_SCALES = {"C": "°C", "F": "°F", "celsius": "°C", "fahrenheit": "°F", "Celsius": "°C", "Fahrenheit": "°F"}
_NO_UNITS_HERE = frozenset(('"d', '"e', '"i'))
"""Single letters in a text command that are a differential or a constant and no unit."""


class Factors:
    """A product while it is read. start: the index of the first factor behind the last unit."""

    __slots__ = ("_checked", "_numeric", "factors", "r", "start")

    def __init__(self, r: Reader, first: Node) -> None:
        self.r = r
        self.factors = [first]
        self.start = 0
        self._checked = 0
        self._numeric = True

    def is_numeric(self) -> bool:
        """Whether no factor holds an unknown; each factor is looked through once."""
        if self._checked > len(self.factors):
            self._checked, self._numeric = 0, True
        self._numeric = self._numeric and is_numeric(self.factors[self._checked :])
        self._checked = len(self.factors)
        return self._numeric

    def measure(self, unit: Unit) -> None:
        """Gives the factors since the last unit this one."""
        measured = self.factors[self.start :]
        if not measured:
            last = self.factors[-1]
            if type(last) is not Quantity:
                raise self.r.unread("two units stand side by side")
            self.factors[-1] = Quantity(last.value, times(last.unit, unit))
            return
        value = product(measured)
        if isinstance(value, Text):
            raise self.r.unread("a unit stands behind words")
        if isinstance(value, Quantity):
            unit = times(value.unit, unit)
            value = value.value
        self.factors[self.start :] = [Quantity(value, unit)]
        self.start = len(self.factors)


def take_mark(f: Factors) -> bool:
    """Passes the percent, degree, minute or currency sign that stands here; False if ``^`` is none."""
    r = f.r
    token = r.tokens[r.at]
    if token == "^":
        if not takes_degree(r):
            return False
        f.measure(take_degree(r))
    elif token in ("%", "\\%"):
        r.at += 1
        f.measure(PERCENT)
    elif token in SIGNS:
        r.at += 1
        f.measure(Unit(((SIGNS[token], 1),)))
    else:
        double = token == '"' or r.tokens[r.at + 1] == "'"
        r.at += 2 if double and token == "'" else 1
        names = ("′", "″") if r.has_degrees() else ("ft", "in")
        f.measure(Unit(((names[double], 1),)))
    return True


def take_degree(r: Reader) -> Unit:
    """Passes the degree sign, with the scale of a temperature behind it."""
    r.at += 2 if r.tokens[r.at + 1] in DEGREES else 4
    scale = _SCALES.get(r.tokens[r.at].removeprefix('"'))
    if scale is None:
        return DEGREE
    r.at += 1
    return Unit(((scale, 1),))


def take_unit_below(f: Factors) -> bool:
    """Passes "/hour"."""
    return f.r.tokens[f.r.at + 1][:1] == '"' and _take_unit(f, read_unit(f.r.tokens, f.r.at))


def take_word(f: Factors) -> bool:
    """Passes the words that belong to the value; False if they are none."""
    r, last = f.r, f.factors[-1]
    token = r.tokens[r.at]
    word = token[1:].lower()
    if type(last) is Number and _changes_number(f, last, word):
        return True
    if r.at == 1 and r.tokens[0] in ("a", "A") and not known(token[1:]) and word not in NO_UNITS:
        raise r.unread("an article stands before words")
    if word == "of" and (type(last) is Quantity or f.is_numeric()):
        return _take_of(f)
    if token in _NO_UNITS_HERE or (len(token) == 2 and not f.is_numeric()):
        return False
    if word in ("am", "pm", "oclock") and r.tokens[r.at - 2] == ":":
        return False
    return _take_unit(f, read_unit(r.tokens, r.at))


def _take_of(f: Factors) -> bool:
    """20% of 50, half of the pizza."""
    r = f.r
    following = r.tokens[r.at + 1]
    if following[:1] == '"' and not is_numeral(following[1:].lower()):
        return _take_unit(f, read_part(r.tokens, r.at))
    r.at += 1
    f.factors.append(read_power(r))
    return True


def _take_unit(f: Factors, unit: tuple[Unit, int] | None) -> bool:
    if unit is None:
        return False
    f.r.at = unit[1]
    f.measure(unit[0])
    return True


def _changes_number(f: Factors, number: Number, word: str) -> bool:
    """Passes what makes another number or a date of a literal: "million", "th", "March", "p.m.", "base 2"."""
    r = f.r
    before = r.tokens[r.at - 1]
    if word in MULTIPLES:
        r.at += 1
        f.factors[-1] = Number(number.value * MULTIPLES[word], number.digits)
        return True
    if not before.isdigit():
        return False
    if (date := read_date(r.tokens, r.at - 1)) is not None:
        f.factors[-1], r.at = date
        return True
    if r.tokens[r.at] in ORDINALS:
        r.at += 1
        return True
    half = half_of_day(r.tokens[r.at])
    if half is not None and r.tokens[r.at - 2] != ":":
        time = clock([int(before[:3])], half)
        if time is not None:
            r.at += 1
            f.factors[-1] = time
            return True
    return word in ("base", "in") and _take_base(f, before)


def take_base_in_brackets(f: Factors) -> bool:
    """Passes "(base 5)" behind whole digits."""
    r, last = f.r, f.factors[-1]
    if type(last) is not Number or not r.tokens[r.at - 1].isdigit():
        return False
    digits = r.tokens[r.at - 1]
    r.at += 1
    if _take_base(f, digits):
        r.expect(")", "the bracket of a base")
        return True
    r.at -= 1
    return False


def _take_base(f: Factors, digits: str) -> bool:
    r = f.r
    at = r.at + (r.tokens[r.at].lower() == '"in')
    if r.tokens[at].lower() != '"base':
        return False
    base = base_named(r.tokens[at + 1].lstrip('"'))
    if base is None or not are_digits(digits, base):
        return False
    f.factors[-1] = Based(digits, base)
    r.at = at + 2
    return True
