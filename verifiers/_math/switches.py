"""Where a formula with corners changes: |x^2 - 5x + 6| is another polynomial between 2 and 3, and nowhere else.

What may change its sign is taken from the form: what stands under an absolute value, a sign or a root, and the
differences of what a maximum or minimum chooses from. Polynomials are split at their real roots and at those of all
their derivatives, one symbol at a time with the others held at random values; of other functions many points are
looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise

from guerdon.verifiers._math.draws import Draws
from guerdon.verifiers._math.polynomials import polynomial
from guerdon.verifiers._math.sampling import ONE, Point
from guerdon.verifiers._math.structure import free_symbols, substitute
from guerdon.verifiers._math.tree import Call, Constant, Node, Number, Power, Product, Sum, Symbol, walk

MAX_SWITCHES = 8
MAX_SYMBOLS = 3
MAX_DEGREE = 8
_BISECTIONS = 40
_GRID = tuple(step / 4 for step in range(1, 26, 2)) + tuple(7.3 * 1.5**step for step in range(12))


def points_between(sides: Sequence[Node], names: Sequence[str], draws: Draws) -> Iterator[Point]:
    """Points on both sides of every switch of these trees. names: the symbols, all real."""
    switches = dict.fromkeys(factor for side in sides for switch in _switches(side) for factor in _factors(switch))
    for switch in list(switches)[:MAX_SWITCHES]:
        own = free_symbols(switch)
        for name in [name for name in names if name in own][:MAX_SYMBOLS]:
            others = {other: draws.between(ONE // 3, 4 * ONE) | 1 for other in names if other != name}
            fixed = substitute(switch, {other: Number(Fraction(value, ONE)) for other, value in others.items()})
            for value in _between(_splits(fixed, name)):
                yield Point({**others, name: int(value * ONE) | 1}, {}, True, True)


def _switches(node: Node) -> Iterator[Node]:
    for part in walk(node):
        if isinstance(part, Call):
            if part.name in ("abs", "sign", "root"):
                yield part.arguments[0]
            elif part.name in ("max", "min"):
                for a, b in combinations(part.arguments[:4], 2):
                    yield Sum((a, Product((Number(Fraction(-1)), b))))
        elif isinstance(part, Power) and not (
            isinstance(part.exponent, Number) and part.exponent.value.denominator == 1
        ):
            yield part.base


def _factors(switch: Node) -> Iterator[Node]:
    """The parts whose signs make the sign of a product; not symbols alone, since all points have them in both signs."""
    if isinstance(switch, Product):
        for factor in switch.factors:
            yield from _factors(factor)
    elif isinstance(switch, Power):
        yield from _factors(switch.base)
    elif not isinstance(switch, Symbol | Number | Constant):
        yield switch


def _splits(switch: Node, name: str) -> list[float]:
    """Where a function of one symbol may change its sign; a grid if it is no polynomial of a low degree."""
    found = polynomial(switch, [name])
    if found is not None and max(found, default=(0,))[0] <= MAX_DEGREE:
        coefficients = [0.0] * (max(found, default=(0,))[0] + 1)
        try:
            for (power,), value in found.items():
                coefficients[power] = float(value)
            return real_splits(coefficients)
        except OverflowError:
            pass
    return sorted((*_GRID, *(-value for value in _GRID)))


def real_splits(coefficients: Sequence[float]) -> list[float]:
    """The real roots of a polynomial (constant first) and of all its derivatives, rising, to about twelve digits.

    Between two neighbours of these the polynomial is monotonic, so that bisection finds its root there, if there is
    one; a double root is a root of the derivative.
    """
    if len(coefficients) < 2:
        return []
    flat = real_splits([power * value for power, value in enumerate(coefficients)][1:])
    reach = 1 + max(abs(value / coefficients[-1]) for value in coefficients[:-1])  # Cauchy's bound
    roots = []
    for low, high in pairwise([-reach, *flat, reach]):
        left = _at(coefficients, low)
        if left * _at(coefficients, high) < 0:
            for _ in range(_BISECTIONS):
                middle = (low + high) / 2
                if left * _at(coefficients, middle) > 0:
                    low = middle
                else:
                    high = middle
            roots.append((low + high) / 2)
    return sorted([*flat, *roots])


def _at(coefficients: Sequence[float], x: float) -> float:
    value = 0.0
    for coefficient in reversed(coefficients):
        value = value * x + coefficient
    return value


def _between(splits: Sequence[float]) -> Iterator[float]:
    """A point before, between and after."""
    if not splits:
        return
    yield splits[0] - 1.37
    for low, high in pairwise(splits):
        if high - low > 1e-9:
            yield low + (high - low) * 0.55
    yield splits[-1] + 1.37
