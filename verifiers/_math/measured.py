r"""Quantities, money, percents, angles, ratios, clock times, dates, and digits in a base.

A unit on one side only is dropped, except that p% is p/100 and that degrees may be given in radians. With a unit on
both sides the quantities are compared: 5 cm is 50 mm, and no length is a time.
"""

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math.bases import same_digits
from guerdon.verifiers._math.dates import same_time
from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.judging import Ask, any_of, unequal
from guerdon.verifiers._math.labels import Named, share_a_word
from guerdon.verifiers._math.ratios import same_ratio
from guerdon.verifiers._math.scalars import is_scalar
from guerdon.verifiers._math.structure import exact
from guerdon.verifiers._math.tree import (
    Based,
    Clock,
    Constant,
    Date,
    Node,
    Number,
    Product,
    Quantity,
    Ratio,
    Sum,
    Text,
    Unit,
)
from guerdon.verifiers._math.units import known, measure

_PERCENT = Unit((("%", 1),))
_DEGREES = Unit((("°", 1),))
_RADIANS = Unit((("rad", 1),))
_DEGREE = Product((Constant("pi"), Number(Fraction(1, 180))))


def measured_rule(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    """At least one side is measured."""
    a, b = _total(answer), _total(reference)
    for kind, same in (
        (Clock | Date, same_time),
        (Ratio, same_ratio),
        (Based, same_digits),
        (Quantity, _same_quantity),
    ):
        if isinstance(a, kind) or isinstance(b, kind):
            return same(a, b, ask)
    return None


# --- quantities -------------------------------------------------------------------------------------------------------


def _same_quantity(a: Node, b: Node, ask: Ask) -> Decision:
    if isinstance(a, Quantity) and isinstance(b, Quantity):
        return _same_units(a, b, ask)
    quantity, plain = (a, b) if isinstance(a, Quantity) else (b, a)
    if not isinstance(quantity, Quantity) or not is_scalar(plain):
        return unequal("kinds", "a quantity against something else")
    readings = [
        (ask.same(value, plain) if quantity is a else ask.same(plain, value))
        for value in _values_beside(quantity, plain, ask)
    ]
    return any_of(readings, readings[0])


def _values_beside(quantity: Quantity, plain: Node, ask: Ask) -> list[Node]:
    """What a quantity may be where the other side has no unit."""
    if quantity.unit == _PERCENT:
        as_value = Product((quantity.value, Number(Fraction(1, 100))))
        number = quantity.value
        value = Number(number.value / 100, number.digits) if isinstance(number, Number) else as_value
        dropped = ask.policy.percent == "ignore" or (ask.policy.percent == "either" and not _is_share(plain))
        return ([] if ask.policy.percent == "ignore" else [value]) + ([quantity.value] if dropped else [])
    if quantity.unit == _DEGREES:
        return [quantity.value, Product((quantity.value, _DEGREE))]
    return [quantity.value]


def _is_share(node: Node) -> bool:
    """Below one, a number beside a percent is a share: 0.5 is 50%, and not 0.5%."""
    value = exact(node)
    return value is not None and 0 < abs(value) < 1


def _same_units(a: Quantity, b: Quantity, ask: Ask) -> Decision:
    if a.unit == b.unit or ask.policy.units == "ignore":
        return ask.same(a.value, b.value)
    if {a.unit, b.unit} == {_DEGREES, _RADIANS}:
        x, y = (Product((side.value, _DEGREE)) if side.unit == _DEGREES else side.value for side in (a, b))
        return ask.same(x, y)
    if _is_known(a.unit) and _is_known(b.unit):
        ours, theirs = measure(a.unit), measure(b.unit)
        if ours.dimension != theirs.dimension or ask.policy.units == "match":
            return unequal("units", "other units")
        factor = ours.factor / theirs.factor
        return ask.same(a.value if factor == 1 else Product((a.value, Number(factor))), b.value)
    if _may_be_the_same(a.unit, b.unit):
        return ask.same(a.value, b.value)
    return unequal("units", "other units")


def _may_be_the_same(a: Unit, b: Unit) -> bool:
    """Units in other words: square units are cm^2, and units may be anything."""
    if dict(a.factors).keys() == dict(b.factors).keys():
        return False  # to other powers
    for unit, other in ((a, b), (b, a)):
        power = dict(unit.factors).get("unit")
        if len(unit.factors) == 1 and power and power > 1:
            return measure(other).dimension == (("m", power),)
    return share_a_word(_words(a), _words(b))


def _is_known(unit: Unit) -> bool:
    return all(known(name) and name != "unit" for name, _ in unit.factors)


def _words(unit: Unit) -> str:
    return " ".join(word for word, _ in unit.factors)


def _total(node: Node) -> Node:
    """5 ft 6 in as one quantity, in the unit of the first part."""
    if not (isinstance(node, Sum) and all(isinstance(term, Quantity) for term in node.terms)):
        return node
    quantities = [term for term in node.terms if isinstance(term, Quantity)]
    first = measure(quantities[0].unit)
    measures = [measure(quantity.unit) for quantity in quantities]
    if any(one.dimension != first.dimension for one in measures):
        return node
    parts = zip(quantities, measures, strict=True)
    terms = tuple(Product((quantity.value, Number(one.factor / first.factor))) for quantity, one in parts)
    return Quantity(Sum(terms), quantities[0].unit)


def item_name(node: Node) -> Named | None:
    """7 goats, in a list of things that are counted, is the value 7 with the name "goats"."""
    if isinstance(node, Quantity) and not _is_known(node.unit):
        return Named((Text(_words(node.unit)),), (node.value,))
    return None
