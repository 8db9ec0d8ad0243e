r"""Numbers as people and models write them, read exactly.

``read_number`` reads a whole text or nothing: a text with one unread sign is no number, never a shorter one. It knows
grouping (1,234  10\,000  9{,}500), fractions (3/4  \frac34  ½), mixed numbers, repeating decimals (0.\overline{3}),
powers of ten, percent, money, units, ordinals and labels (``x = 5``). It computes nothing: ``60 \times 60`` is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from guerdon.verifiers._limits import MAX_DIGITS, MAX_EXPONENT
from guerdon.verifiers._text import plain


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it was written.

    value: exact, before a percent sign is applied; None when it is over a limit of ``_limits``. decimals: its
    significant digits if it has a decimal point, else 0. unit: a measure in its short form ("cm", "$"), or "" for none
    and for words that are no measure ("apples"). bare: nothing but the number stood in the text.
    """

    value: Fraction | None
    decimals: int = 0
    percent: bool = False
    unit: str = ""
    bare: bool = True


NUMBER = re.compile(
    r"\d(?<![\w,^]\d)(?<![\w)\]}]\.\d)(?<![\^_]\{\d)"
    r"(?:\d* \d+/\d+|[\d,.]*)(?:/\d+)?(?:[eE][-+]?\d+)?(?:\^\{?-?\d+\}?)?"
    r"(?: ?\\?%| (?:percent|dozen|hundred|thousand|million|billion|trillion)\b)?"
)
"""One number in prose, from its first digit on; ``number_span`` adds what belongs to it on both sides. Each run of
digits is entered once. It begins with a digit and looks back from there, which is what makes the scan fast."""

_MEASURES = """
km kilometer kilometers kilometre kilometres; m meter meters metre metres; cm centimeter centimeters centimetre
centimetres; mm millimeter millimeters millimetre millimetres; mi mile miles; yd yard yards; ft foot feet; in inch
inches; kg kilogram kilograms; g gram grams; mg milligram milligrams; lb lbs; oz ounce ounces; L l liter liters litre
litres; ml mL milliliter milliliters; gal gallon gallons; s sec secs second seconds; min mins minute minutes; h hr hrs
hour hours; day days; week weeks; month months; year years; mph; kph; ° degree degrees deg ^\\circ ^{\\circ} \\circ;
$ dollar dollars USD; € euro euros EUR; £ GBP; ¥ yen JPY; ₹ rupee rupees INR; ¢ cent cents; N; J; W; V; K; C; F
"""
_SHORT = {name: names.split()[0] for names in _MEASURES.split(";") for name in names.split()}

# Words that change the number before them or say that the text goes on: with one of them inside, it is no unit.
_NO_UNITS = frozenset({
    "and", "or", "half", "halves", "quarter", "quarters", "third", "thirds", "fourths", "fifths", "plus", "minus",
    "over", "to", "than", "squared", "cubed", "factorial", "not", "pi", "sqrt", "root", "until", "between", "mod",
    "divided", "multiplied", "out",
})  # fmt: skip
_MULTIPLES = {"hundred": 100, "dozen": 12, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}

_SAME_SIGN = str.maketrans(
    {"−": "-", "–": "-", "‒": "-", "⁄": "/", "％": "%", "×": "*", "·": "*", "⋅": "*", "≈": "\\approx "}
    | {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "≤": "<", "≥": ">", "≠": "<"}
    | {sign: " " + unicodedata.normalize("NFKC", sign).replace("⁄", "/") for sign in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
)
_SUPERSCRIPT = re.compile(r"[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")

_INTEGER = re.compile(r"[-+]?[0-9]{1,15}")
_RELATION = re.compile(r"[<>]|\\(?:leq?|geq?|neq?|lt|gt|in)(?![a-z])|!=")
_LISTS = re.compile(r",(?!\d)|;|\band\b|\bor\b")
_BRACKETS = re.compile(r"\([^()]*\)")
_CURVE = re.compile(r"\d ?[a-zA-Z](?![a-zA-Z])|(?:(?<![a-zA-Z])[a-zA-Z]|[)}]) ?\^|\\frac ?\{[^{}]*[a-zA-Z]")
_ABOUT = re.compile(r"(?:about|approximately|roughly|around|exactly|only|just|a total of|\\approx|~)\s*", re.IGNORECASE)
_SIGN = re.compile(r"([-+]) ?")
_MONEY = re.compile(r"US\$|[$€£¥₹]|USD |EUR ")
_MIXED = re.compile(r"(\d+) (\d+) ?/ ?(\d+)|(\d+) ?\\frac ?(?:\{(\d+)\}|(\d)) ?(?:\{(\d+)\}|(\d))")
_FRACTION = re.compile(r"\\frac ?(?:\{([^{}]*)\}|(\d)) ?(?:\{([^{}]*)\}|(\d))")
_POWER_OF_TEN = re.compile(r"10 ?\^ ?(?:\{ ?([-+]?\d+) ?\}|([-+]?\d+))")
_DECIMAL = re.compile(r"(\d[\d,]*(?: \d\d\d(?!\d))*)?(?:\.(\d*))?(?:\\overline ?(?:\{(\d+)\}|(\d)))?")
_EXPONENT = re.compile(r"[eE]([-+]?\d+)| ?(?:\\times|\\cdot|\*|x) ?10 ?\^ ?(?:\{ ?([-+]?\d+) ?\}|([-+]?\d+))")
_SLASH = re.compile(r" ?/ ?(?=[\d.])")
# A sign right after a number, word or bracket is a minus between two things, or a hyphen.
_BEFORE = re.compile(r"(?:(?<![\w)\]}.])[-+−–])?(?:\\?[$€£¥₹][-−]?)?\.?\Z")
_NEXT_WORD = re.compile(r" ?([^\W\d_]{1,12}|°)(?:\^\{?[23]\}?|[²³])?(?!\w)")
_PERCENT = re.compile(r"%|per ?cent\b")
_ORDINAL = re.compile(r"(?:\^\{?)?(?:st|nd|rd|th)\}?(?![a-z])")
_POWER_OF_UNIT = re.compile(r"(.+?) ?\^ ?\{?([23])\}?")
_UNIT_WORD = re.compile(r"[^\W\d_]+(?:['’/.-][^\W\d_]+)?")


class _UnreadError(Exception):
    """The text is no number. Never leaves this module."""


def read_number(text: str) -> Number | None:
    r"""The one number that the whole text is, or None.

    >>> read_number(r"x = \frac{3}{4}").value
    Fraction(3, 4)
    >>> read_number("$1,250.50 per month").value
    Fraction(2501, 2)
    >>> read_number("3 and 4") is None
    True
    """
    if _INTEGER.fullmatch(text):
        return Number(Fraction(int(text)))
    for part in _sides(_ascii(plain(text))):
        try:
            return _parsed(part)
        except _UnreadError:
            continue
    return None


def numbers_in(text: str) -> list[tuple[int, int]]:
    """The spans of the numbers in prose."""
    return [number_span(text, match) for match in NUMBER.finditer(text)]


def number_span(text: str, match: re.Match[str]) -> tuple[int, int]:
    """The span of a match of ``NUMBER`` with its sign, currency, leading point and measure, without punctuation."""
    start, end = match.span()
    while text[end - 1] in ".,":
        end -= 1
    # most numbers stand alone, and a look at one sign tells
    if end < len(text) and text[end] not in "\n.,)":
        after = _NEXT_WORD.match(text, end)
        if after and after[1] in _SHORT and after[1] != "in":
            end = after.end()
    if start and text[start - 1] not in " (\n":
        before = _BEFORE.search(text, max(0, start - 4), start)
        start = before.start() if before else start
    return start, end


def goes_on(text: str, end: int) -> bool:
    """Whether the word after a number changes it, as in "3 and a half" and "5 over 7"."""
    after = _NEXT_WORD.match(text, end)
    return after is not None and after[1].lower() in _NO_UNITS


def _ascii(text: str) -> str:
    """The same number in ASCII: signs, vulgar fractions, superscripts, full-width and other decimal digits."""
    if text.isascii():
        return text
    text = text.translate(_SAME_SIGN)
    text = _SUPERSCRIPT.sub(lambda raised: "^{" + unicodedata.normalize("NFKC", raised.group()) + "}", text)
    text = unicodedata.normalize("NFKC", text).replace("−", "-")
    return "".join(str(unicodedata.decimal(sign)) if sign.isdecimal() else sign for sign in text).strip()


def _sides(text: str) -> Iterator[str]:
    """What may be the number: what stands before "≈", after it, and after the last "=" of each."""
    if _RELATION.search(text):
        return
    for side in text.split("\\approx") if "\\approx" in text[1:] else (text,):
        label, _, value = side.rpartition("=")
        label = _BRACKETS.sub("", label)
        # "x=3, y=4" are two numbers and "3x+y=5" is a line; "f(1, 2) = 5" and "m+n = 2+3 = 5" are one number
        if not (_LISTS.search(label) or _CURVE.search(label)):
            yield value


def _parsed(text: str) -> Number:
    text = _unbracketed(text.strip())
    start = 0
    while match := _ABOUT.match(text, start):
        start = match.end()
    negative, unit = False, ""
    for _ in range(2):  # -$5 and $-5
        if match := _SIGN.match(text, start):
            negative, start = negative != (match[1] == "-"), match.end()
        if not unit and (match := _MONEY.match(text, start)):
            unit, start = _SHORT[match[0].strip().removeprefix("US") or "$"], match.end()
    value, decimals, end = _magnitude(text, start)
    if value is not None and negative:
        value = -value
    number = Number(value, decimals, unit=unit, bare=start == 0 or text[:start].strip() in "+-")
    return _with_suffix(number, text[end:])


def _unbracketed(text: str) -> str:
    """(5) and {{5}} are 5; brackets that open or close inside stay."""
    inside = text.strip("(){} ")
    around = text.replace(inside, "", 1) if inside else text
    closed = around.count("(") == around.count(")") and around.count("{") == around.count("}")
    # (1,234) is a pair, so no comma may be left
    if text[:1] in "({" and closed and not any(sign in inside for sign in "(){},"):
        return inside
    return text


def _magnitude(text: str, start: int) -> tuple[Fraction | None, int, int]:
    """The unsigned number that begins at start: its value (None over a limit), its decimals, and where it ends."""
    if match := _MIXED.match(text, start):
        whole, top, bottom = (_decimal(group) for group in match.groups() if group is not None)
        if whole is None or top is None or bottom is None:
            return None, 0, match.end()
        if top >= bottom:
            raise _UnreadError
        return whole + top / bottom, 0, match.end()
    if match := _FRACTION.match(text, start):
        top, bottom = (_signed_decimal(group) for group in match.groups() if group is not None)
        return _quotient(top, bottom), 0, match.end()
    if match := _POWER_OF_TEN.match(text, start):
        return _decimal("1", exponent=match[1] or match[2]), 0, match.end()
    return _decimal_magnitude(text, start)


def _decimal_magnitude(text: str, start: int) -> tuple[Fraction | None, int, int]:
    match = _DECIMAL.match(text, start)
    if match is None or match.end() == start or not (match[1] or match[2] or match[3] or match[4]):
        raise _UnreadError
    whole, part, repeat = match[1] or "", match[2] or "", match[3] or match[4] or ""
    decimals = len((_ungrouped(whole) + part).lstrip("0")) if match[2] is not None else 0
    if power := _EXPONENT.match(text, match.end()):
        exponent = power[1] or power[2] or power[3]
        return _decimal(whole, part, repeat, exponent), decimals, power.end()
    value = _decimal(whole, part, repeat)
    if (slash := _SLASH.match(text, match.end())) and (below := _DECIMAL.match(text, slash.end())):
        return _quotient(value, _signed_decimal(below[0])), 0, below.end()
    return value, decimals, match.end()


def _quotient(top: Fraction | None, bottom: Fraction | None) -> Fraction | None:
    if bottom == 0:
        raise _UnreadError
    return None if top is None or bottom is None else top / bottom


def _signed_decimal(text: str) -> Fraction | None:
    text = text.strip()
    match = _DECIMAL.fullmatch(text.lstrip("+-"))
    if match is None or not match[0] or len(text) - len(match[0]) > 1:
        raise _UnreadError
    value = _decimal(match[1] or "", match[2] or "", match[3] or match[4] or "")
    return -value if value is not None and text[0] == "-" else value


def _decimal(whole: str, part: str = "", repeat: str = "", exponent: str = "0") -> Fraction | None:
    """whole.part(repeat repeat …) × 10^exponent, exactly; None over the limits."""
    whole = _ungrouped(whole).lstrip("0")
    part = part if repeat else part.rstrip("0")
    if not (whole or part.strip("0") or repeat.strip("0")):
        return Fraction(0)
    if len(whole) + len(part) + len(repeat) > MAX_DIGITS or len(exponent.lstrip("+-0")) > len(str(MAX_EXPONENT)):
        return None
    power = int(exponent)
    if abs(power) > MAX_EXPONENT:
        return None
    value = Fraction(int(whole + part or "0"), 10 ** len(part))
    if repeat:
        value += Fraction(int(repeat), 10 ** len(part) * (10 ** len(repeat) - 1))
    return value * Fraction(10) ** power


def _ungrouped(digits: str) -> str:
    """The digits of 1,234 or 1 234 567 or 12,34,567 (Indian grouping); other commas make no number."""
    if "," not in digits:
        return digits.replace(" ", "")
    first, *middle, last = digits.split(",")
    western = len(first) <= 3 and all(len(group) == 3 for group in middle)
    indian = len(first) <= 2 and all(len(group) == 2 for group in middle)
    if " " in digits or not first.strip("0") or len(last) != 3 or not (western or indian):
        raise _UnreadError
    return digits.replace(",", "")


def _with_suffix(number: Number, suffix: str) -> Number:
    """The number with what stands after it: percent or ordinal, multiples, a unit. Anything else is no number."""
    rest = suffix.strip()
    if match := _PERCENT.match(rest):
        number, rest = replace(number, percent=True), rest[match.end() :].strip()
    elif (match := _ORDINAL.match(suffix)) and number.decimals == 0:
        rest = rest[match.end() :].strip()
    elif suffix in ("k", "K"):
        number, rest = _times(number, 1000), ""
    for _ in range(2):  # "two hundred thousand"; more is no number
        first, _, after = rest.partition(" ")
        if first.lower() in _MULTIPLES:
            number, rest = _times(number, _MULTIPLES[first.lower()]), after
    return _with_unit(number, rest, glued=suffix[:1] == rest[:1])


def _times(number: Number, factor: int) -> Number:
    return replace(number, value=None if number.value is None else number.value * factor, bare=False)


def _with_unit(number: Number, unit: str, *, glued: bool) -> Number:
    unit = unit.strip(" .-*")
    if not unit:
        return number
    number, power = replace(number, bare=False), ""
    if match := _POWER_OF_UNIT.fullmatch(unit):
        unit, power = match[1], match[2]
    for word, exponent in (("square ", "2"), ("sq ", "2"), ("sq. ", "2"), ("cubic ", "3")):
        if unit.startswith(word):
            unit, power = unit.removeprefix(word), exponent
    if short := _SHORT.get(unit) or _SHORT.get(unit.lower()):
        if glued and len(unit) == 1 and unit.isalpha() and not power:
            raise _UnreadError  # 5m is as likely a product
        return replace(number, unit=number.unit or (f"{short}^{power}" if power else short))
    words = unit.split()
    if glued or power or len(words) > 6 or not all(_is_unit_word(word) for word in words):
        raise _UnreadError
    return number


def _is_unit_word(word: str) -> bool:
    word = word.strip("(),'\"")
    return (
        len(word) > 1
        and word.lower() not in _NO_UNITS
        and word.lower() not in _MULTIPLES
        and _UNIT_WORD.fullmatch(word) is not None
    )
