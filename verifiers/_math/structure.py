"""What can be told of a tree by its form alone: its symbols, what it is made of, and substitution."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from enum import IntFlag, auto
from fractions import Fraction
from itertools import count
from typing import Any
from zlib import crc32

from guerdon.verifiers._limits import AGREEING_DIGITS
from guerdon.verifiers._math.decision import CannotTellError, ValueFailureError
from guerdon.verifiers._math.evaluate import evaluate
from guerdon.verifiers._math.exact import Gaussian
from guerdon.verifiers._math.scope import Scope
from guerdon.verifiers._math.tree import (
    Apply,
    Based,
    Binder,
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
            self.key = (self.key * _FACTOR + crc32(node.name.encode())) & _MASK
            self.traits |= Traits.UNKNOWN
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


def free_symbols(node: Node) -> frozenset[str]:
    """The names of the symbols that are not bound by a sum, product, integral or limit.

    >>> k, n = Symbol("k"), Symbol("n")
    >>> free_symbols(Binder("sum", k, "k", Number(Fraction(1)), n))
    frozenset({'n'})
    """
    survey = Survey()
    survey.take(node)
    return frozenset(survey.symbols)


def is_closed(node: Node) -> bool:
    """Whether a tree has neither free symbols nor unknown functions, so that it stands for one number."""
    survey = Survey()
    survey.take(node)
    return not survey.symbols and not survey.traits & Traits.UNKNOWN


def exact(node: Node) -> Fraction | None:
    """The rational number that a tree is, if exact arithmetic within the limits of ``size`` finds one.

    >>> exact(Power(Number(Fraction(4)), Number(Fraction(-1, 2))))
    Fraction(1, 2)
    """
    try:
        value = evaluate(node, Scope(None))
    except (ValueFailureError, CannotTellError, RecursionError):
        return None
    return None if isinstance(value, float | Gaussian) else Fraction(value)


def substitute(node: Node, values: Mapping[str, Node]) -> Node:
    """The tree with trees in the place of free symbols; a bound variable that would catch one is renamed.

    >>> substitute(Symbol("x"), {"x": Number(Fraction(2))})
    Number(value=Fraction(2, 1), digits=0)
    """
    if isinstance(node, Symbol):
        return values.get(node.name, node)
    if isinstance(node, Binder):
        return _substitute_in_binder(node, values)
    changed = {part.name: _mapped(getattr(node, part.name), values) for part in fields(node)}
    if all(changed[name] is getattr(node, name) for name in changed):
        return node
    return replace(node, **changed)


def _mapped(part: Any, values: Mapping[str, Node]) -> Any:
    if isinstance(part, Node):
        return substitute(part, values)
    if isinstance(part, tuple):
        mapped = tuple(_mapped(item, values) for item in part)
        return part if all(old is new for old, new in zip(part, mapped, strict=True)) else mapped
    return part


def _substitute_in_binder(node: Binder, values: Mapping[str, Node]) -> Binder:
    low, high = _mapped(node.low, values), _mapped(node.high, values)
    inner = {name: value for name, value in values.items() if name != node.variable}
    body_symbols = free_symbols(node.body)
    inner = {name: value for name, value in inner.items() if name in body_symbols}
    variable, body = node.variable, node.body
    caught = frozenset[str]().union(*(free_symbols(value) for value in inner.values()))
    if variable in caught:
        taken = caught | body_symbols
        fresh = next(name for name in (f"{variable}'{number}" for number in count(1)) if name not in taken)
        body, variable = substitute(body, {variable: Symbol(fresh)}), fresh
    return Binder(node.kind, substitute(body, inner), variable, low, high)
