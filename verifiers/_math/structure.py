"""What can be told of a tree by its form alone: its symbols, what it is made of, and substitution."""

from __future__ import annotations

from collections.abc import Mapping
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
    UNKNOWN = auto()  # an unknown function
    BINDER = auto()


class Survey:
    """One walk over a tree, or over both sides of a comparison.

    symbols: the free ones, in order of appearance. whole: those of them that stand where only integers make sense: under
    a factorial, at the end of a sum, in the exponent of a negative number. traits: ``Traits``; most count only where
    there is a free symbol inside. key: a number that depends on the whole tree. literals: the rational numbers in it.
    """

    __slots__ = ("bound", "key", "literals", "met", "symbols", "traits", "whole")

    def __init__(self) -> None:
        self.symbols: dict[str, None] = {}
        self.whole: set[str] = set()
        self.traits = 0
        self.key = 0
        self.literals: set[Fraction] = set()
        self.bound: list[str] = []
        self.met: list[str] = []  # free symbols, each time one is met

    def take(self, node: Node) -> Survey:
        kind = type(node)
        if kind is Number:
            value = node.value  # type: ignore[attr-defined]
            self._mix(value.numerator & 0xFFFFFFFF)
            if value.denominator != 1:
                self._mix(value.denominator & 0xFFFFFFFF)
            if node.digits >= AGREEING_DIGITS:  # type: ignore[attr-defined]
                self.traits |= _DIGITS
            self.literals.add(value)
        elif kind is Symbol:
            name = node.name  # type: ignore[attr-defined]
            if name not in self.bound:
                self.symbols[name] = None
                self.met.append(name)
            self._mix(crc32(name.encode()))
        elif isinstance(node, Sum):
            for part in node.terms:
                self.take(part)
            self._mix(1)
        elif isinstance(node, Product):
            for part in node.factors:
                self.take(part)
            self._mix(2)
        elif isinstance(node, Power):
            self._take_power(node)
        else:
            self._take_other(node)
        return self

    def _take_power(self, node: Power) -> None:
        met = len(self.met)
        self.take(node.base)
        in_base = len(self.met) > met
        exponent = node.exponent
        if isinstance(exponent, Number):
            if exponent.value.denominator != 1 and in_base:
                self.traits |= _PIECEWISE
            self._mix(exponent.value.numerator & 0xFFFFFFFF)
        else:
            self.take(exponent)
            if in_base:
                self.traits |= _PIECEWISE
            elif _is_negative(node.base):
                self.whole.update(self.met[met:])
        self._mix(3)

    def _take_other(self, node: Node) -> None:
        self._mix(crc32(type(node).__name__.encode()))
        if isinstance(node, Constant):
            self._mix(crc32(node.name.encode()))
            if node.name == "i":
                self.traits |= Traits.IMAGINARY
            return
        if isinstance(node, Binder):
            self._take_binder(node)
            return
        met = len(self.met)
        for part in children(node):
            self.take(part)
        if isinstance(node, Call):
            self._mix(crc32(node.name.encode()))
            if node.name == "log" and len(node.arguments) == 1:
                self.traits |= Traits.OPEN_LOG
            if len(self.met) > met:
                self.traits |= _TRAITS_OF.get(node.name, 0)
                if node.name in _OF_INTEGERS:
                    self.whole.update(self.met[met:])
        elif isinstance(node, Apply):
            self.traits |= Traits.UNKNOWN
            self._mix(crc32(node.name.encode()))
        elif not isinstance(node, Based):
            self.traits |= _PIECEWISE

    def _take_binder(self, node: Binder) -> None:
        self.traits |= Traits.BINDER
        met = len(self.met)
        for end in (node.low, node.high):
            if end is not None:
                self.take(end)
        if node.kind in ("sum", "product"):
            self.whole.update(self.met[met:])
        self.bound.append(node.variable)
        self.take(node.body)
        self.bound.pop()

    def _mix(self, part: int) -> None:
        self.key = (self.key * 0x5851F42D + part + 1) & 0xFFFFFFFFFFFFFFFF


_DIGITS, _PIECEWISE = int(Traits.DIGITS), int(Traits.PIECEWISE)
_TRAITS_OF: dict[str, int] = {
    **dict.fromkeys(("abs", "sign", "min", "max", "root", "arg", "conj", "re", "im", "norm"), _PIECEWISE),
    **dict.fromkeys(("arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc", "ln", "log"), _PIECEWISE),
    **dict.fromkeys(("floor", "ceil", "frac", "mod"), int(Traits.STEPS | Traits.PIECEWISE)),
}
_OF_INTEGERS = frozenset({"factorial", "factorial2", "binomial", "permutations", "gcd", "lcm", "phi"})


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
    return frozenset(Survey().take(node).symbols)


def is_closed(node: Node) -> bool:
    """Whether a tree has neither free symbols nor unknown functions, so that it stands for one number."""
    survey = Survey().take(node)
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
