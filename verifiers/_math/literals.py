r"""One number token to one exact number: grouping, decimals, repeating decimals, powers of ten.

``0.\overline{3}``, ``0.(3)`` and ``0.333…`` are 1/3. Dots behind digits that repeat nothing ("3.14159…") leave a
decimal with the digits that are written. Grouped digits lose their commas and spaces.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

from guerdon.verifiers._math.errors import TooLargeError
from guerdon.verifiers._math.limits import MAX_DIGITS, MAX_EXPONENT
from guerdon.verifiers._math.tree import Node, Number, Power, Product

_GROUPING = re.compile(r"[^\d.]")
_MARKED = re.compile(r"\\(?:overline|bar)|\(|\\dot(?!s)|\.\.\.|\\[lc]?dots")
_NO_DIGITS = re.compile(r"\D+")
_PERIOD_OF_DOTS = re.compile(r"(\d+?)\1+\Z")
_MAX_EXPONENT_DIGITS = 30
"""Of an exponent over the limit, which stays a power: 1e999999999 is 10^999999999, compared without computing it."""


@lru_cache(maxsize=4096)
def literal(token: str) -> Node:
    """The number that a number token is; over ``MAX_EXPONENT`` a product with a power of ten.

    Raises TooLargeError over MAX_DIGITS digits.
    """
    if token.isdigit():
        return Number(Fraction(_integer(token)))
    if marked := _MARKED.search(token):
        return _repeating(token[: marked.start()], token[marked.start() :])
    mantissa, mark, exponent = token.replace("E", "e").partition("e")
    value = _decimal(_GROUPING.sub("", mantissa))
    return scaled(value, int(_exponent(exponent))) if mark else value


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise TooLargeError(f"a number of {len(digits):,} digits; at most {MAX_DIGITS:,} are read")
    return int(digits or "0")


def _decimal(text: str) -> Number:
    whole, point, part = text.partition(".")
    value = _integer(whole + part)
    if not point:
        return Number(Fraction(value))
    return Number(Fraction(value, 10 ** len(part)), len((whole + part).lstrip("0")))


def _exponent(text: str) -> str:
    if len(text) > _MAX_EXPONENT_DIGITS:
        raise TooLargeError(f"an exponent of {len(text):,} digits; at most {_MAX_EXPONENT_DIGITS} are read")
    return text


def scaled(mantissa: Number, exponent: int) -> Node:
    """mantissa × 10^exponent: one number with the mantissa's digits, or a product where that would be too large."""
    if abs(exponent) > MAX_EXPONENT:
        return Product((mantissa, Power(Number(Fraction(10)), Number(Fraction(exponent)))))
    return Number(mantissa.value * Fraction(10) ** exponent, mantissa.digits)


def _repeating(start: str, end: str) -> Number:
    """start: "0.1", end: what marks the period, such as "\\overline{6}"; dots repeat the last digits of the start."""
    whole, _, part = start.partition(".")
    period = _NO_DIGITS.sub("", end)
    if not period:
        found = _PERIOD_OF_DOTS.search(part[-2 * _LONGEST_PERIOD :])
        if found is None or len(found.group()) < _SHORTEST_EVIDENCE:
            return _decimal(start)
        period = found[1]
        part = part.removesuffix(found.group())
    value = Fraction(_integer(whole + part), 10 ** len(part))
    return Number(value + Fraction(_integer(period), 10 ** len(part) * (10 ** len(period) - 1)))


_LONGEST_PERIOD = 20
"""Read out of dots; a longer one is marked with a bar by whoever means it."""
_SHORTEST_EVIDENCE = 3
"""Digits that show a period: 0.333… and 0.1212… do, 0.33… does not."""
