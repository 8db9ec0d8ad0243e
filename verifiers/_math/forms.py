"""The form of a value, with the freedom that notation leaves taken out: order, grouping, names of bound variables.

Equal forms are equal values, however large and whether or not they can be worked out. Like terms and like factors are
collected, so that 2^(2^(2^100)) - 2^(2^(2^100)) + 6 becomes 6; powers of small integers are written in primes, so that
4^n and 2^(2n) are one. This is slower than working a value out and is done only where that fails.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

from guerdon.verifiers._math.decision import CannotTellError, ValueFailureError
from guerdon.verifiers._math.exact import power as exact_power
from guerdon.verifiers._math.size import check_bits
from guerdon.verifiers._math.structure import substitute
from guerdon.verifiers._math.tree import Binder, Constant, Node, Number, Power, Product, Sum, Symbol, children

MAX_NODES = 5_000
MAX_FACTORED = 10**6

_ZERO, _ONE = Number(Fraction(0)), Number(Fraction(1))


def minus(a: Node, b: Node) -> Node:
    """a - b."""
    return Sum((a, Product((Number(Fraction(-1)), b))))


def over(a: Node, b: Node) -> Node:
    """a / b."""
    return Product((a, Power(b, Number(Fraction(-1)))))


def canonical(node: Node) -> Node:
    """The form of a tree. Raises CannotTellError if the tree is too large for this."""
    return _Former().form(node)


class _Former:
    def __init__(self) -> None:
        self.left = MAX_NODES
        self.bound = 0

    def form(self, node: Node) -> Node:
        self.left -= 1
        if self.left < 0:
            raise CannotTellError(f"a form of more than {MAX_NODES:,} parts", "refused")
        if isinstance(node, Number):
            return Number(node.value)
        if isinstance(node, Sum):
            return self._sum(node)
        if isinstance(node, Product):
            return self._product([node])
        if isinstance(node, Power):
            return self._product([node])
        if isinstance(node, Binder):
            return self._binder(node)
        changed = {part.name: self._inside(getattr(node, part.name)) for part in fields(node)}
        return replace(node, **changed) if changed else node

    def _inside(self, part: Any) -> Any:
        if isinstance(part, Node):
            return self.form(part)
        return tuple(self._inside(item) for item in part) if isinstance(part, tuple) else part

    def _binder(self, node: Binder) -> Node:
        self.bound += 1
        name = f"\N{BULLET}{self.bound}"  # no parser writes such a name
        body = self.form(substitute(node.body, {node.variable: Symbol(name)}))
        self.bound -= 1
        low, high = self._inside(node.low), self._inside(node.high)
        return Binder(node.kind, body, name, low, high)

    def _sum(self, node: Sum) -> Node:
        coefficients: dict[Node, Fraction] = {}
        for term in _flat(node, Sum):
            for part in _terms(self.form(term)):
                coefficient, rest = _split(part)
                coefficients[rest] = coefficients.get(rest, Fraction(0)) + coefficient
        return _add_up(_scaled(coefficient, rest) for rest, coefficient in coefficients.items() if coefficient)

    def _product(self, waiting: list[Node]) -> Node:
        """A product of powers: like bases collected, their exponents added."""
        coefficient = Fraction(1)
        exponents: dict[Node, list[Node]] = {}
        work: list[tuple[Node, Node]] = [(part, _ONE) for part in waiting]
        while work:
            part, exponent = work.pop()
            self.left -= 1
            if isinstance(part, Product) and _is_whole(exponent):
                work.extend((factor, exponent) for factor in part.factors)
            elif isinstance(part, Power) and (_is_whole(exponent) or _is_positive(part.base)):
                work.append(
                    (
                        part.base,
                        self.form(Product((part.exponent, exponent))) if exponent != _ONE else self.form(part.exponent),
                    )
                )
            else:
                base = self.form(part)
                if isinstance(base, Product | Power) and base != part:
                    work.append((base, exponent))
                    continue
                value = _raised(base, exponent)
                if value is not None:
                    coefficient *= value
                    check_bits(coefficient)
                    continue
                for prime, times in _primes(base):
                    scaled = exponent if times == 1 else self.form(Product((Number(Fraction(times)), exponent)))
                    exponents.setdefault(prime, []).append(scaled)
        factors = []
        for base, each in exponents.items():
            total = each[0] if len(each) == 1 else self.form(Sum(tuple(each)))
            value = _raised(base, total)
            if value is not None:
                coefficient *= value
                check_bits(coefficient)
            elif total == _ONE:
                factors.append(base)
            elif total != _ZERO:
                factors.append(Power(base, total))
        return _scaled(coefficient, _multiply(factors))


def _flat(node: Node, kind: type[Sum]) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, kind):
            waiting.extend(part.terms)
        else:
            yield part


def _terms(node: Node) -> tuple[Node, ...]:
    return node.terms if isinstance(node, Sum) else (node,)


def _split(node: Node) -> tuple[Fraction, Node]:
    """A term as a rational coefficient and the rest."""
    if isinstance(node, Number):
        return node.value, _ONE
    if isinstance(node, Product) and isinstance(node.factors[0], Number):
        return node.factors[0].value, _multiply(node.factors[1:])
    return Fraction(1), node


def _scaled(coefficient: Fraction, rest: Node) -> Node:
    if coefficient == 0 or rest == _ONE:
        return Number(coefficient)
    if coefficient == 1:
        return rest
    if isinstance(rest, Sum):  # distributed, so that -(a + b) and -a - b are one
        return _add_up(_scaled(coefficient * _split(term)[0], _split(term)[1]) for term in rest.terms)
    return Product((Number(coefficient), *(rest.factors if isinstance(rest, Product) else (rest,))))


def _multiply(factors: Iterable[Node]) -> Node:
    ordered = tuple(sorted(factors, key=_key))
    return _ONE if not ordered else ordered[0] if len(ordered) == 1 else Product(ordered)


def _key(node: Node) -> tuple[str, ...]:
    """What terms and factors are put in order by: a tree from the root down, its numbers in base 16, since Python
    refuses to write more than 4,300 decimal digits."""
    found: list[str] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        inside = list(children(part))
        waiting += reversed(inside)
        if isinstance(part, Number):
            found.append(f"{part.value.numerator:x}/{part.value.denominator:x}")
        else:
            own = (getattr(part, field.name) for field in fields(part))
            found.append(f"{type(part).__name__} {len(inside)} {[name for name in own if isinstance(name, str)]}")
    return tuple(found)


def _add_up(terms: Iterable[Node]) -> Node:
    ordered = tuple(sorted(terms, key=_key))
    return _ZERO if not ordered else ordered[0] if len(ordered) == 1 else Sum(ordered)


def _is_whole(node: Node) -> bool:
    return isinstance(node, Number) and node.value.denominator == 1


def _is_positive(node: Node) -> bool:
    """Whether (a^b)^c is a^(bc) for this a."""
    return (isinstance(node, Number) and node.value > 0) or (isinstance(node, Constant) and node.name in ("e", "pi"))


def _raised(base: Node, exponent: Node) -> Fraction | None:
    """A power of rational numbers, if it is rational and not too large."""
    if not isinstance(base, Number) or not isinstance(exponent, Number):
        return None
    try:
        value = exact_power(base.value, exponent.value)
    except ValueFailureError:
        return None
    return Fraction(value) if isinstance(value, int | Fraction) else None


def _primes(base: Node) -> Iterator[tuple[Node, int]]:
    """A positive rational number of small parts as primes with exponents; anything else as itself."""
    value = base.value if isinstance(base, Number) else Fraction(0)
    if value <= 0 or max(value.numerator, value.denominator) > MAX_FACTORED:
        yield base, 1
        return
    for part, sign in ((value.numerator, 1), (value.denominator, -1)):
        prime = 2
        while part > 1:
            if prime * prime > part:
                prime = part
            times = 0
            while part % prime == 0:
                part //= prime
                times += 1
            if times:
                yield Number(Fraction(prime)), sign * times
            prime += 1
