"""What a tree is made of, found in one walk: symbols, degree, and what decides how it can be compared."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntFlag, auto
from fractions import Fraction
from typing import Any
from zlib import crc32

from guerdon.verifiers._limits import AGREEING_DIGITS
from guerdon.verifiers._math.tree import (
    Apply,
    Based,
    Binder,
    Brackets,
    Call,
    Constant,
    Node,
    Number,
    Power,
    Product,
    Sum,
    Symbol,
    children,
)


class Traits(IntFlag):
    """What a tree contains."""

    NONE = 0
    IMAGINARY = auto()  # the constant i
    OPEN_LOG = auto()  # a log without a base
    DIGITS = auto()  # a decimal of at least AGREEING_DIGITS digits
    PIECEWISE = auto()  # |x|, roots, max …: one formula here, another there
    STEPS = auto()  # floor, ceil, frac, mod: constant between jumps
    COUNTING = auto()  # factorial, binomial: meant for natural numbers
    UNKNOWN = auto()  # an unknown function
    GROUPED = auto()  # one value in square brackets


NOT_RATIONAL = -1
MAX_DEGREE = 2**40


class Survey:
    """What a walk over a tree, or over both sides of a comparison, finds.

    symbols: the free ones, in order of appearance. whole: those that stand where only integers make sense: under a
    factorial, at the end of a sum, in the exponent of a negative number. traits: ``Traits``; most count only where
    there is a free symbol inside. key: a number that depends on the whole tree. literals: the rational numbers in it.
    """

    __slots__ = ("bound", "key", "literals", "met", "symbols", "traits", "whole")

    def __init__(self) -> None:
        self.symbols: dict[str, None] = {}
        self.whole: set[str] = set()
        self.traits = 0
        self.key = 0
        self.literals: list[Fraction] = []
        self.bound: list[str] = []
        self.met: list[str] = []  # free symbols, each time one is met

    def take(self, node: Node) -> int:
        """Walk over a tree. Returns a bound on the degree of numerator and denominator if it is a rational function of
        its symbols with rational coefficients, and -1 if it is not, or if the degree is over 2^40."""
        rule = _TAKE.get(type(node))
        return self._other(node) if rule is None else rule(self, node)

    def _number(self, node: Number) -> int:
        value = node.value
        above, below = value.numerator, value.denominator
        self.key = (self.key * _FACTOR + above) & _MASK
        if below != 1:
            self.key = (self.key * _FACTOR + below) & _MASK
        if node.digits >= AGREEING_DIGITS:
            self.traits |= _DIGITS
        self.literals.append(value)
        return 0

    def _symbol(self, node: Symbol) -> int:
        name = node.name
        if name not in self.bound:
            self.symbols[name] = None
            self.met.append(name)
        self.key = (self.key * _FACTOR + crc32(name.encode())) & _MASK
        return 1

    def _sum(self, node: Sum) -> int:
        self.key = (self.key * _FACTOR + 1) & _MASK
        return self._all(node.terms)

    def _product(self, node: Product) -> int:
        self.key = (self.key * _FACTOR + 2) & _MASK
        return self._all(node.factors)

    def _all(self, parts: tuple[Node, ...]) -> int:
        total = 0  # of a sum too: its terms come over one denominator
        for part in parts:
            rule = _TAKE.get(type(part))
            degree = self._other(part) if rule is None else rule(self, part)
            if degree < 0:
                total = -(2 * MAX_DEGREE) * len(parts)
            total += degree
        return total if 0 <= total <= MAX_DEGREE else NOT_RATIONAL

    def _power(self, node: Power) -> int:
        met = len(self.met)
        degree = self.take(node.base)
        in_base = len(self.met) > met
        exponent = node.exponent
        self.key = (self.key * _FACTOR + 3) & _MASK
        if type(exponent) is Number:
            value = exponent.value
            self.key = (self.key * _FACTOR + value.numerator) & _MASK
            if value.denominator == 1:
                degree *= abs(value.numerator)
                return degree if 0 <= degree <= MAX_DEGREE else NOT_RATIONAL
            self.key = (self.key * _FACTOR + value.denominator) & _MASK
            if in_base:
                self.traits |= _PIECEWISE
            return NOT_RATIONAL
        self.take(exponent)
        if in_base:
            self.traits |= _PIECEWISE
        elif _is_negative(node.base):
            self.whole.update(self.met[met:])
        return NOT_RATIONAL

    def _other(self, node: Node) -> int:
        self.key = (self.key * _FACTOR + crc32(type(node).__name__.encode())) & _MASK
        if isinstance(node, Constant):
            self.key = (self.key * _FACTOR + crc32(node.name.encode())) & _MASK
            if node.name == "i":
                self.traits |= Traits.IMAGINARY
        elif isinstance(node, Binder):
            self._binder(node)
        else:
            self._parts(node)
        return NOT_RATIONAL

    def _parts(self, node: Node) -> None:
        met = len(self.met)
        for part in children(node):
            self.take(part)
        if isinstance(node, Call):
            self.key = (self.key * _FACTOR + crc32(node.name.encode())) & _MASK
            if node.name == "log" and len(node.arguments) == 1:
                self.traits |= Traits.OPEN_LOG
            if len(self.met) > met:
                self.traits |= _TRAITS_OF.get(node.name, 0)
                if node.name in _OF_NATURALS:
                    self.traits |= Traits.COUNTING
                if node.name in _OF_INTEGERS:
                    self.whole.update(self.met[met:])
        elif isinstance(node, Apply):
            self.met.append("")  # its value may be anything, like a symbol's
            self.key = (self.key * _FACTOR + crc32(node.name.encode())) & _MASK
            self.traits |= Traits.UNKNOWN
        elif isinstance(node, Brackets) and len(node.items) == 1:
            self.traits |= Traits.GROUPED
        elif not isinstance(node, Based):
            self.traits |= _PIECEWISE

    def _binder(self, node: Binder) -> None:
        met = len(self.met)
        for end in (node.low, node.high):
            if end is not None:
                self.take(end)
        if node.kind in ("sum", "product"):
            self.whole.update(self.met[met:])
        self.bound.append(node.variable)
        self.take(node.body)
        self.bound.pop()


_TAKE: dict[type[Node], Callable[[Survey, Any], int]] = {
    Number: Survey._number,
    Symbol: Survey._symbol,
    Sum: Survey._sum,
    Product: Survey._product,
    Power: Survey._power,
}
_FACTOR, _MASK = 0x5851F42D4C957F2D, 2**64 - 1
_DIGITS, _PIECEWISE = int(Traits.DIGITS), int(Traits.PIECEWISE)
_TRAITS_OF: dict[str, int] = {
    **dict.fromkeys(("abs", "sign", "min", "max", "root", "arg", "conj", "re", "im", "norm"), _PIECEWISE),
    **dict.fromkeys(("arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc", "ln", "log"), _PIECEWISE),
    **dict.fromkeys(("floor", "ceil", "frac", "mod"), int(Traits.STEPS | Traits.PIECEWISE)),
}
_OF_NATURALS = frozenset({"factorial", "factorial2", "binomial", "permutations"})
_OF_INTEGERS = _OF_NATURALS | {"gcd", "lcm", "phi"}


def _is_negative(node: Node) -> bool:
    """Whether a tree is a negative number by its form, or the imaginary unit."""
    if isinstance(node, Number):
        return node.value < 0
    if isinstance(node, Product):
        return sum(_is_negative(factor) for factor in node.factors) % 2 == 1
    return isinstance(node, Constant) and node.name == "i"
