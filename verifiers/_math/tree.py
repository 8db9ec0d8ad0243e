r"""What an answer is once it has been read: a small, typed, immutable tree.

The parser writes it, everything after the parser reads it, and no text is looked at again. A node says what was
written, with as little interpretation as notation allows: ``(1,2)`` stays ``Brackets("(", (1, 2), ")")``, since only
the other side of a comparison may tell whether it is a point or an open interval. Nothing is evaluated while reading.

    value       Number Based Constant Symbol Sum Product Power Call Apply Binder PlusMinus Cases
    measured    Quantity (with its Unit) Ratio Clock Date
    collection  Brackets Braces Listing Matrix
    set         NamedSet SetBuilder SetOperation
    statement   Relation Congruence
    words       Text

Nodes compare and hash by what was written: equal nodes are equal answers; unequal nodes may still be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Literal, TypeAlias

Sign: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">=", "in", "notin", "subset", "approx", "maps"]
"""How two sides of a relation stand to each other; ``maps`` is the arrow of ``x \\mapsto x^2``."""


@dataclass(frozen=True, slots=True)
class Node:
    """Any part of an answer."""


# --- values -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A rational number as written. digits: significant digits of a decimal (0.50 has 2), 0 for one written exactly.

    A repeating decimal is exact: its digits are 0. A negative number is ``Product((Number(-1), …))`` only where the
    minus stands before something else than a literal.
    """

    value: Fraction
    digits: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Based(Node):
    """Digits in a named base, such as ``2E_{16}``. digits: upper case, without grouping; base: 2 to 36."""

    digits: str
    base: int


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """``pi``, ``e``, ``i`` (the imaginary unit), ``infinity`` or ``undefined``."""

    name: str


@dataclass(frozen=True, slots=True)
class Symbol(Node):
    r"""A variable: ``x``, ``alpha``, ``x_1``, ``x'``, ``a_{n+1}`` (named ``a_n+1``, without braces and spaces).

    What is left out ("1, 2, …, n") is ``Symbol("...")``, which equals only itself. A label in words ("area = 5") is a
    symbol named by the words, and so are ``angle ABC``, ``y bar`` and ``unit vector i``.
    """

    name: str


@dataclass(frozen=True, slots=True)
class Sum(Node):
    """Two or more terms added. ``a - b`` is ``Sum((a, Product((Number(-1), b))))``, a minus being a factor."""

    terms: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Product(Node):
    r"""Two or more factors. ``a/b`` and ``\frac{a}{b}`` are ``Product((a, Power(b, Number(-1))))``."""

    factors: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Power(Node):
    r"""A base and an exponent. ``\sqrt{x}`` is ``Power(x, Number(1/2))``; the n-th root for n > 2 is ``root(x, n)``."""

    base: Node
    exponent: Node


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A known function of its arguments; which names there are, and with how many arguments: ``FUNCTIONS``."""

    name: str
    arguments: tuple[Node, ...]


FUNCTIONS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("sin", "cos", "tan", "cot", "sec", "csc"), (1,)),
    **dict.fromkeys(("arcsin", "arccos", "arctan", "arccot", "arcsec", "arccsc"), (1,)),
    **dict.fromkeys(("sinh", "cosh", "tanh", "coth", "sech", "csch", "arcsinh", "arccosh", "arctanh"), (1,)),
    # ln is the natural logarithm; log without a base is 10's or e's: log of one argument leaves that open
    "ln": (1,),
    "log": (1, 2),  # log(x), or log(x, base)
    "root": (2,),  # root(x, n): the real n-th root where there is one, so root(-8, 3) = -2
    **dict.fromkeys(("abs", "floor", "ceil", "frac", "sign", "factorial", "factorial2", "gamma"), (1,)),
    **dict.fromkeys(("re", "im", "conj", "arg", "det", "trace", "transpose", "phi", "norm", "cardinality"), (1,)),
    "binomial": (2,),
    "permutations": (2,),
    "mod": (2,),
    **dict.fromkeys(("gcd", "lcm", "min", "max"), tuple(range(1, 65))),
}
"""Names of ``Call`` and how many arguments each may have. exp(x) is written ``Power(Constant("e"), x)``."""


@dataclass(frozen=True, slots=True)
class Apply(Node):
    """An unknown function of its arguments: ``f(x)``, ``f'(0)``, ``f^{-1}(x)`` (name ``f^-1``)."""

    name: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Binder(Node):
    """``sum``, ``product``, ``integral`` or ``limit`` of a body over a bound variable.

    low, high: the ends, None where none are written; a limit has only ``low``, what the variable goes to, which from
    one side is ``Apply("+", (point,))`` or ``Apply("-", (point,))``.
    """

    kind: Literal["sum", "product", "integral", "limit"]
    body: Node
    variable: str
    low: Node | None
    high: Node | None


@dataclass(frozen=True, slots=True)
class PlusMinus(Node):
    r"""Both signs of what follows: ``1 \pm x`` is ``Sum((1, PlusMinus(x)))``. opposite: written ``\mp``."""

    value: Node
    opposite: bool = False


@dataclass(frozen=True, slots=True)
class Cases(Node):
    """A piecewise value: pairs of a value and its condition, None for "otherwise".

    With one branch a value and what it holds for: "n(n+1) for n > 1", "x = kπ, k ∈ Z".
    """

    branches: tuple[tuple[Node, Node | None], ...]


# --- measured values --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit(Node):
    """A product of units to powers, by their short names in alphabetical order: m/s is ``(("m", 1), ("s", -1))``.

    A word that is no known unit ("apples") stands as it is written, in lower case.
    """

    factors: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Quantity(Node):
    r"""A value with a unit: ``5 cm``, ``\$3``, ``25\%`` (unit ``%``), ``60^\circ`` (unit ``°``)."""

    value: Node
    unit: Unit


@dataclass(frozen=True, slots=True)
class Ratio(Node):
    """``3:4`` or ``1:2:3``."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Clock(Node):
    """A time of day that is marked as one ("3:15 p.m."). hour: 0 to 23, or as written when half is None."""

    hour: int
    minute: int
    second: int = 0
    half: Literal["am", "pm"] | None = None


@dataclass(frozen=True, slots=True)
class Date(Node):
    """A calendar day; None is what was not written. month: 1 to 12; weekday: 0 is Monday."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None


# --- collections ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Brackets(Node):
    """Items between brackets: a point, a vector, an interval or a list. opens: ``( [ <``, closes: ``) ] >``.

    ``]1,2[`` is written as the interval it is, ``Brackets("(", …, ")")``. One item in round brackets is only grouped
    and is no Brackets. Separators "," and ";" are the same.
    """

    opens: str
    items: tuple[Node, ...]
    closes: str


@dataclass(frozen=True, slots=True)
class Braces(Node):
    r"""A set by its elements: ``\{1, 2\}``. ``\emptyset`` and ``\{\}`` are ``NamedSet("empty")``."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Listing(Node):
    """Two or more answers side by side without brackets. joint: the word between the last two, "," if there is none."""

    items: tuple[Node, ...]
    joint: Literal[",", "and", "or"] = ","


@dataclass(frozen=True, slots=True)
class Matrix(Node):
    """Rows of equal length; a column vector has rows of one."""

    rows: tuple[tuple[Node, ...], ...]


# --- sets -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedSet(Node):
    """``R Q Z N C`` (with ``+``, ``-`` or ``*`` after it where so marked) or ``empty``."""

    name: str


@dataclass(frozen=True, slots=True)
class SetBuilder(Node):
    r"""``\{x \in R : x > 0\}``: an element's form (which may be a Relation with ``in``) and the conditions on it."""

    element: Node
    conditions: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class SetOperation(Node):
    """``union``, ``intersection``, ``difference`` or ``product`` of sets; "all reals except 3" is R without {3}."""

    kind: Literal["union", "intersection", "difference", "product"]
    parts: tuple[Node, ...]


# --- statements and words ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Relation(Node):
    """A chain ``sides[0] signs[0] sides[1] signs[1] …``: one more side than signs."""

    sides: tuple[Node, ...]
    signs: tuple[Sign, ...]


@dataclass(frozen=True, slots=True)
class Congruence(Node):
    r"""``a \equiv b \pmod{n}``."""

    left: Node
    right: Node
    modulus: Node


@dataclass(frozen=True, slots=True)
class Text(Node):
    """Words, in the form in which equal words are equal text (``_text.normal``)."""

    text: str


# --- walking ----------------------------------------------------------------------------------------------------------


def children(node: Node) -> list[Node]:
    """The nodes directly inside a node, from left to right."""
    found: list[Node] = []
    kind = type(node)
    for name in _PARTS[kind] if kind in _PARTS else _parts_of(kind):
        value = getattr(node, name)
        if type(value) is not tuple:
            if value is not None:
                found.append(value)
        elif value and type(value[0]) is tuple:  # rows, and branches with None for "otherwise"
            found += [item for row in value for item in row if item is not None]
        else:
            found += value
    return found


_PARTS: dict[type[Node], tuple[str, ...]] = {}


def _parts_of(kind: type[Node]) -> tuple[str, ...]:
    """The fields of a kind of node that hold nodes, told by their annotations once: a walk meets every node."""
    holding = tuple(part.name for part in fields(kind) if "Node" in str(part.type) or str(part.type) == "Unit")
    return _PARTS.setdefault(kind, holding)


def walk(node: Node) -> Iterator[Node]:
    """A node and all below it, without recursion, so that depth is no danger."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(children(node))
