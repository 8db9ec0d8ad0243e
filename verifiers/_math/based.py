r"""Digits in a named base: 2E_{16}, 101_2, (1101)_{two}, "101 base 2".

A number with a subscript is one if the subscript is a base from 2 to 36 and every digit is below it. Capital letters are
digits only above base 10: 2A_{1} stays 2 · A_1.
"""

from __future__ import annotations

from guerdon.verifiers._math.letters import read_index, symbol
from guerdon.verifiers._math.literals import literal
from guerdon.verifiers._math.numerals import BASES
from guerdon.verifiers._math.reader import Reader, head
from guerdon.verifiers._math.tree import Based, Node, Product


@head("based")
def read_based(r: Reader, digits: str) -> Node:
    """The digits, which have been passed, with the subscript that stands here; without one, number and letters."""
    if r.tokens[r.at] != "_":
        return _apart(r, digits)
    start = r.at
    r.at += 1
    index = read_index(r)
    base = base_named(index)
    if base is not None and are_digits(digits, base):
        return Based(digits, base)
    r.at = start
    return _apart(r, digits)


def _apart(r: Reader, digits: str) -> Node:
    """2A_1 as 2 · A_1, 3V as 3 · V."""
    number = digits.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    letters = digits[len(number) :]
    if not letters or not number.replace(".", "", 1).isdigit():
        r.fail(f"{digits!r} with this subscript is no number")
    factors: list[Node] = [literal(number), *(symbol(letter) for letter in letters[:-1])]
    last = letters[-1]
    if r.take("_"):
        factors.append(symbol(f"{last}_{read_index(r)}"))
    else:
        factors.append(symbol(last))
    return Product(tuple(factors))


def base_named(index: str) -> int | None:
    """The base that a subscript names, in digits or words."""
    index = index.lower().removeprefix("base").strip()
    base = int(index) if index.isdigit() and len(index) < 3 else BASES.get(index)
    return base if base is not None and 2 <= base <= 36 else None


def are_digits(text: str, base: int) -> bool:
    """Whether a text is digits of a base, with at most one point."""
    text = text.replace(".", "", 1)
    return text.isalnum() and text.isascii() and all(int(digit, 36) < base for digit in text) and text.upper() == text
