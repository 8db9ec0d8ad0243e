"""Polynomials and rational functions with rational coefficients: identity tests at random points, and normal forms.

The test is Schwartz and Zippel's (DeMillo & Lipton 1978, Zippel 1979, Schwartz 1980): a polynomial of degree d that is
not zero vanishes at a point drawn from s values a coordinate with a chance of at most d/s. Points are drawn from 2^61
values. As long as the numbers stay small they are whole numbers and the arithmetic is exact, so nothing else can go
wrong; for high degrees it is done modulo primes of 61 bits. Fractions are pairs (above, below), and nothing is reduced.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fractions import Fraction
from typing import TypeAlias

from guerdon.verifiers._math.decision import CannotTellError, OversizeError, UndefinedError
from guerdon.verifiers._math.draws import Draws
from guerdon.verifiers._math.scope import check_time
from guerdon.verifiers._math.size import MAX_BITS, bits
from guerdon.verifiers._math.tree import Node, Number, Power, Product, Sum, Symbol

Pair: TypeAlias = "tuple[int, int]"
Polynomial: TypeAlias = "dict[tuple[int, ...], Fraction]"
"""Coefficients by exponents, one exponent a name, without zeros: 3 x^2 y is ``{(2, 1): 3}`` for the names x, y."""

MAX_TERMS = 2_000
_EXACT_DEGREE = 200
# The eight largest primes below 2^61: two polynomials whose difference is a multiple of all of them have coefficients
# of 488 bits, and three drawn for each pair must divide it to be misled.
PRIMES = tuple(2**61 - less for less in (1, 31, 45, 229, 259, 283, 339, 391))


def _whole_exponent(node: Node) -> int | None:
    if type(node) is Number and node.value.denominator == 1:
        return node.value.numerator
    return None


def same_rational_function(
    a: Node, b: Node, degrees: int, names: Collection[str], seed: int, deadline: float | None
) -> bool | None:
    """Whether two rational functions are one; a wrong True has a chance of at most 2^-50, False is proved.

    degrees: of both together (``Survey.take``). None if no point was found at which both have a value.
    """
    draws = Draws(seed)
    if degrees <= _EXACT_DEGREE:
        try:
            return _agree(a, b, degrees, names, draws, deadline, None)
        except OversizeError:
            pass
    first = draws.between(0, len(PRIMES) - 1)
    verdict = None
    for index in range(3):
        verdict = _agree(a, b, degrees, names, draws, deadline, PRIMES[(first + index) % len(PRIMES)])
        if verdict is not True:
            break
    return verdict


def _agree(
    a: Node,
    b: Node,
    degrees: int,
    names: Collection[str],
    draws: Draws,
    deadline: float | None,
    prime: int | None,
) -> bool | None:
    """At enough points that 2^-50 bounds the error: one if the degree is at most 2^11, more for higher ones."""
    needed = 1 if degrees <= 2**11 else 3  # 2^40 at three points leaves (2^40 / 2^61)^3 = 2^-63
    agreed = 0
    for _ in range(8):
        check_time(deadline)
        point = {name: draws.bits(61) for name in names}
        try:
            (above, below), (other, under) = _at(a, point, prime), _at(b, point, prime)
        except UndefinedError:
            continue
        apart = above * under - other * below
        if apart if prime is None else apart % prime:
            return False
        agreed += 1
        if agreed == needed:
            return True
    return None


def _at(node: Node, point: Mapping[str, int], prime: int | None) -> Pair:
    """A rational function's numerator and denominator at a point, modulo a prime or, with None, exactly."""
    kind = type(node)
    if kind is Number:
        value = node.value  # type: ignore[attr-defined]
        pair = value.numerator, value.denominator
        return pair if prime is None else _mod(pair, prime)
    if kind is Symbol:
        return point[node.name], 1  # type: ignore[attr-defined]
    if kind is Sum:
        above, below = 0, 1
        for term in node.terms:  # type: ignore[attr-defined]
            x, y = _at(term, point, prime)
            if y == below:
                above += x
            else:
                above, below = above * y + x * below, below * y
    elif kind is Product:
        above, below = 1, 1
        for factor in node.factors:  # type: ignore[attr-defined]
            x, y = _at(factor, point, prime)
            above, below = above * x, below * y
            if prime is None and above.bit_length() > MAX_BITS:
                raise OversizeError("a number too large for exact arithmetic")
    elif isinstance(node, Power):
        exponent = node.exponent.value.numerator  # type: ignore[attr-defined]
        return _power(_at(node.base, point, prime), exponent, prime)
    else:
        raise CannotTellError(f"a {kind.__name__} in a rational function")
    if prime is not None:
        return _mod((above, below), prime)
    if above.bit_length() > MAX_BITS or below.bit_length() > MAX_BITS:
        raise OversizeError("a number too large for exact arithmetic")
    return above, below


def _power(base: Pair, exponent: int, prime: int | None) -> Pair:
    above, below = base
    if exponent <= 0:
        if above == 0:
            raise UndefinedError("zero to the power of zero or of a negative number")
        above, below, exponent = below, above, -exponent
    if prime is not None:
        return pow(above, exponent, prime), pow(below, exponent, prime)
    if max(above.bit_length(), below.bit_length()) * exponent > MAX_BITS:
        raise OversizeError("a power too large for exact arithmetic")
    return above**exponent, below**exponent


def _mod(pair: Pair, prime: int) -> Pair:
    above, below = pair[0] % prime, pair[1] % prime
    if below == 0:
        raise UndefinedError("a denominator that the prime divides")
    return above, below


def polynomial(node: Node, names: Collection[str]) -> Polynomial | None:
    """The polynomial with rational coefficients in these symbols, expanded; None if the tree is none of that kind.

    None too if it has more than 2,000 terms or its coefficients are over the limit of ``size``.

    >>> x = Symbol("x")
    >>> polynomial(Power(Sum((x, Number(Fraction(1)))), Number(Fraction(2))), ["x"])
    {(0,): Fraction(1, 1), (1,): Fraction(2, 1), (2,): Fraction(1, 1)}
    """
    order = {name: index for index, name in enumerate(names)}
    try:
        found = _expand(node, order)
    except (OversizeError, UndefinedError, CannotTellError, RecursionError):
        return None
    return dict(sorted(found.items())) if found is not None else None


def _expand(node: Node, order: Mapping[str, int]) -> Polynomial | None:
    constant = (0,) * len(order)
    if isinstance(node, Symbol):
        if node.name not in order:
            return None
        return {tuple(int(index == order[node.name]) for index in range(len(order))): Fraction(1)}
    if isinstance(node, Sum):
        total: Polynomial = {}
        for term in node.terms:
            part = _expand(term, order)
            if part is None:
                return None
            total = _added(total, part)
        return total
    if isinstance(node, Product):
        product: Polynomial = {constant: Fraction(1)}
        for factor in node.factors:
            part = _expand(factor, order)
            if part is None:
                return None
            product = _multiplied(product, part)
        return product
    if isinstance(node, Power):
        whole = _whole_exponent(node.exponent)
        base = _expand(node.base, order) if whole is not None else None
        if whole is not None and base is not None and (whole > 0 or set(base) == {constant}):
            return _raised(base, whole, constant)
    value = _constant(node)
    return None if value is None else {constant: value} if value else {}


def _constant(node: Node) -> Fraction | None:
    from guerdon.verifiers._math.structure import exact

    return exact(node)


def _added(a: Polynomial, b: Polynomial) -> Polynomial:
    total = dict(a)
    for exponents, coefficient in b.items():
        value = total.get(exponents, 0) + coefficient
        if value:
            total[exponents] = Fraction(value)
        else:
            total.pop(exponents, None)
    return _checked(total)


def _multiplied(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(a) * len(b) > 50 * MAX_TERMS:
        raise OversizeError("a product of too many terms")
    product: Polynomial = {}
    for left, x in a.items():
        for right, y in b.items():
            exponents = tuple(map(sum, zip(left, right, strict=True)))
            product[exponents] = product.get(exponents, Fraction(0)) + x * y
    return _checked({exponents: value for exponents, value in product.items() if value})


def _raised(base: Polynomial, exponent: int, constant: tuple[int, ...]) -> Polynomial:
    if set(base) <= {constant}:
        value = base.get(constant, Fraction(0))
        if not value and exponent <= 0:
            raise UndefinedError("zero to the power of zero or of a negative number")
        if bits(value) * abs(exponent) > MAX_BITS:
            raise OversizeError("a power too large")
        return {constant: value**exponent} if value else {}
    if len(base) == 1:
        ((exponents, value),) = base.items()
        if abs(value) != 1 and bits(value) * exponent > MAX_BITS:
            raise OversizeError("a power too large")
        return {tuple(each * exponent for each in exponents): value**exponent}
    if exponent > MAX_TERMS:
        raise OversizeError("a power of too many terms")
    product: Polynomial = {constant: Fraction(1)}
    for _ in range(exponent):
        product = _multiplied(product, base)
    return product


def _checked(polynomial: Polynomial) -> Polynomial:
    if len(polynomial) > MAX_TERMS:
        raise OversizeError(f"more than {MAX_TERMS:,} terms")
    if any(bits(value) > MAX_BITS for value in polynomial.values()):
        raise OversizeError("a coefficient too large")
    return polynomial
