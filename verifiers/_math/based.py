r"""Digits in a named base: 2E_{16}, 101_2, (1101)_{two}, "101 base 2".

A number with a subscript is one if the subscript is a base from 2 to 36 and every digit is below it. Capital letters
are digits only above base 10: 2A_{1} stays 2 · A_1.
"""

from __future__ import annotations

from guerdon.verifiers._math.literals import literal
from guerdon.verifiers._math.naming import read_index, symbol
from guerdon.verifiers._math.numerals import are_digits, base_named
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


def based_in_brackets(r: Reader) -> Node | None:
    """(101)_2 behind its opening bracket; None, with nothing passed, if something else stands here."""
    start = r.at
    digits = _joined(r, ")")
    if digits and r.tokens[r.at] == ")" and r.tokens[r.at + 1] == "_":
        r.at += 2
        base = base_named(read_index(r))
        if base is not None and are_digits(digits, base):
            return Based(digits, base)
    r.at = start
    return None


def _joined(r: Reader, ends: str) -> str:
    """The digits and single capitals up to a token, which they pass; empty if anything else stands between."""
    parts: list[str] = []
    while (token := r.tokens[r.at]) != ends:
        part = token.lstrip('"')
        if not (part.isdigit() or (len(part) == 1 and part.isupper()) or part.isupper()) or len(parts) > _MOST_PARTS:
            return ""
        parts.append(part)
        r.at += 1
    return "".join(parts)


_MOST_PARTS = 64


def _apart(r: Reader, digits: str) -> Node:
    """2A_1 as 2 · A_1, 3V as 3 · V."""
    number = digits.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    letters = digits[len(number) :]
    if not letters or not number.replace(".", "", 1).isdigit():
        raise r.unread(f"{digits!r} with this subscript is no number")
    factors: list[Node] = [literal(number), *(symbol(letter) for letter in letters[:-1])]
    last = letters[-1]
    if r.take("_"):
        factors.append(symbol(f"{last}_{read_index(r)}"))
    else:
        factors.append(symbol(last))
    return Product(tuple(factors))
