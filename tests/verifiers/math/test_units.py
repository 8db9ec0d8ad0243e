"""Units: by any of their names, behind any value, and how large they are."""

from __future__ import annotations

from fractions import Fraction

import pytest

from guerdon.verifiers._math.errors import UnreadError
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import Node, Number, Power, Product, Quantity, Sum, Symbol, Unit
from guerdon.verifiers._math.units import Measure, measure


def quantity(value: Node | str | int, **factors: int) -> Quantity:
    number = value if isinstance(value, Node) else Number(Fraction(value))
    return Quantity(number, Unit(tuple(sorted(factors.items()))))


def named(value: Node | str | int, *names: str) -> Quantity:
    number = value if isinstance(value, Node) else Number(Fraction(value))
    return Quantity(number, Unit(tuple(sorted((name, 1) for name in names))))


root_three = Power(Number(Fraction(3)), Number(Fraction(1, 2)))
TREES: list[tuple[str, Node]] = [
    (r"5\text{ cm}", quantity(5, cm=1)), ("5 cm", quantity(5, cm=1)), ("5cm", quantity(5, cm=1)),
    (r"5\,\mathrm{cm}", quantity(5, cm=1)), ("5 centimetres", quantity(5, cm=1)), ("5 Centimeters", quantity(5, cm=1)),
    ("5 m", quantity(5, m=1)), (r"5\text{ m}", quantity(5, m=1)), ("5m", Product((Number(Fraction(5)), Symbol("m")))),
    ("5 m/s", quantity(5, m=1, s=-1)), (r"5\text{ m/s}", quantity(5, m=1, s=-1)),
    (r"5\ \mathrm{m\,s^{-1}}", quantity(5, m=1, s=-1)),
    ("9.8 m/s^2", quantity("9.8", m=1, s=-2)), ("60 km/h", quantity(60, km=1, h=-1)),
    ("60 miles per hour", quantity(60, mi=1, h=-1)), ("60 mph", quantity(60, mph=1)),
    (r"15\text{ cm}^2", quantity(15, cm=2)), ("15 cm²", quantity(15, cm=2)),
    (r"15\text{ square centimeters}", quantity(15, cm=2)), ("15 sq. ft.", quantity(15, ft=2)),
    (r"144 \mbox{ m}^3", quantity(144, m=3)), ("3 cubic metres", quantity(3, m=3)),
    ("3 metres squared", quantity(3, m=2)),
    (r"12\text{ square units}", quantity(12, unit=2)), (r"45 \text{ units}^2", quantity(45, unit=2)),
    (r"8\sqrt{3} \text { square inches}", Quantity(Product((Number(Fraction(8)), root_three)), Unit((("in", 2),)))),
    (r"\frac{68}{3}\text{ pounds}", quantity("68/3", lb=1)), (r"20\text{ N}\cdot\text{m}", quantity(20, N=1, m=1)),
    ("4 cups of flour", quantity(4, cup=1)), ("12 feet long", quantity(12, ft=1)), ("5 min", quantity(5, min=1)),
    (r"\$18.90", named("18.9", "$")), ("$18.90", named("18.9", "$")), ("-$5", named(-5, "$")),
    ("5 dollars", named(5, "$")), (r"5\$", named(5, "$")), ("€5", named(5, "€")), ("5 €", named(5, "€")),
    ("50 cents", named(50, "¢")), (r"\$15,\!000", named(15000, "$")), ("£3", named(3, "£")),
    ("USD 5", named(5, "$")), ("Rs. 500", named(500, "₹")), ("US$5", named(5, "$")),
    (r"5{\rm cm}", quantity(5, cm=1)), (r"30 \mathrm{~km} / \mathrm{h}", quantity(30, km=1, h=-1)),
    (r"\$5 \text{ per hour}", Quantity(Number(Fraction(5)), Unit((("$", 1), ("h", -1))))),
    ("$2.5 million", named(2500000, "$")),
    (r"25\%", named(25, "%")), ("25%", named(25, "%")), ("25 percent", named(25, "%")),
    (r"25\text{ percent}", named(25, "%")), ("25 per cent", named(25, "%")), (r"2\frac12\%", named("5/2", "%")),
    (r"60^\circ", named(60, "°")), ("60°", named(60, "°")), (r"60^{\circ}", named(60, "°")),
    ("60 degrees", named(60, "°")), (r"120^{\text{o}}", named(120, "°")), (r"37^\circ\text{C}", named(37, "°C")),
    ("20°F", named(20, "°F")),
    ("5 apples", named(5, "apples")), (r"65 \text{ children tickets }", named(65, "children tickets")),
    ("8 meals per day", quantity(8, meals=1, day=-1)), ("seven apples", named(7, "apples")),
    (r"210\text{ ways}", named(210, "ways")), ("15th Day", named(15, "day")),
    ("5 ft 6 in", Sum((quantity(5, ft=1), named(6, "in")))), ("5'6\"", Sum((quantity(5, ft=1), named(6, "in")))),
    ("2 hours and 30 minutes", Sum((quantity(2, h=1), quantity(30, min=1)))),
    ("2 h 30 min", Sum((quantity(2, h=1), quantity(30, min=1)))),
    ("30°15'20''", Sum((named(30, "°"), named(15, "′"), named(20, "″")))),
    ("20% of 50", Product((named(20, "%"), Number(Fraction(50))))),
    ("half of 30", Product((Number(Fraction(1, 2)), Number(Fraction(30))))),
]  # fmt: skip

SIZES = [
    ("cm", {"m": 1}, "1/100"), ("km", {"m": 1}, "1000"), ("in", {"m": 1}, "0.0254"), ("ft", {"m": 1}, "0.3048"),
    ("mi", {"m": 1}, "1609.344"), ("yd", {"m": 1}, "0.9144"), ("L", {"m": 3}, "1/1000"), ("mL", {"m": 3}, "1/1000000"),
    ("gal", {"m": 3}, "0.003785411784"), ("qt", {"m": 3}, "0.000946352946"), ("pt", {"m": 3}, "0.000473176473"),
    ("cup", {"m": 3}, "0.0002365882365"), ("g", {"kg": 1}, "1/1000"), ("lb", {"kg": 1}, "0.45359237"),
    ("oz", {"kg": 1}, "0.028349523125"),
    ("min", {"s": 1}, "60"), ("h", {"s": 1}, "3600"), ("day", {"s": 1}, "86400"), ("week", {"s": 1}, "604800"),
    ("year", {"month": 1}, "12"), ("¢", {"$": 1}, "1/100"), ("N", {"kg": 1, "m": 1, "s": -2}, "1"),
    ("J", {"kg": 1, "m": 2, "s": -2}, "1"),
    ("kWh", {"kg": 1, "m": 2, "s": -2}, "3600000"), ("mph", {"m": 1, "s": -1}, "0.44704"),
    ("acre", {"m": 2}, "4046.8564224"), ("%", {}, "1/100"), ("′", {"°": 1}, "1/60"), ("Hz", {"s": -1}, "1"),
    ("apples", {"apple": 1}, "1"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "tree"), TREES, ids=[text for text, _ in TREES])
def test_a_unit_is_read_by_any_of_its_names(text: str, tree: Node) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(("name", "dimension", "factor"), SIZES, ids=[name for name, _, _ in SIZES])
def test_units_have_their_defined_size(name: str, dimension: dict[str, int], factor: str) -> None:
    assert measure(Unit(((name, 1),))) == Measure(tuple(sorted(dimension.items())), Fraction(factor))


def test_products_and_powers_of_units_multiply() -> None:
    assert measure(Unit((("cm", 2),))) == Measure((("m", 2),), Fraction(1, 10_000))
    assert measure(Unit((("h", -1), ("km", 1)))) == Measure((("m", 1), ("s", -1)), Fraction(5, 18))
    assert measure(Unit((("m", 1), ("cm", -1)))) == Measure((), Fraction(100))


def test_an_unknown_word_is_its_own_dimension_in_singular_and_plural() -> None:
    assert measure(Unit((("apples", 1),))) == measure(Unit((("apple", 1),)))
    assert measure(Unit((("berries", 1),))) == measure(Unit((("berry", 1),)))
    assert measure(Unit((("boxes", 1),))) == measure(Unit((("box", 1),)))
    assert measure(Unit((("apples", 1),))) != measure(Unit((("pears", 1),)))


@pytest.mark.parametrize("text", ["5 more", "5 less", "5 since", "5 is", "5 ft 6", "5 cm 3", "5 thus"])
def test_words_that_change_a_number_are_no_units(text: str) -> None:
    with pytest.raises(UnreadError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (r"45\degree", quantity(45, **{"°": 1})), (r"45^\degree", quantity(45, **{"°": 1})),
        (r"3\ \mu\text{m}", named(3, "μm")), (r"3\,\mathrm{\mu m}", named(3, "μm")), ("3 μm", named(3, "μm")),
        (r"20\ \Omega", named(20, "Ω")), ("20 Ω", named(20, "Ω")), (r"5\,\mathrm{k\Omega}", named(5, "kΩ")),
        (r"2\Omega x", Product((Number(Fraction(2)), Symbol("Omega"), Symbol("x")))),
        (r"2\mu m", Product((Number(Fraction(2)), Symbol("mu"), Symbol("m")))),
        ("2.5e-3 C", quantity("0.0025", C=1)), (r"2 \times 10^{3} m", quantity(2000, m=1)),
        (r"5\frac{\text{m}}{\text{s}}", quantity(5, m=1, s=-1)),
        (r"5\,\frac{\mathrm{m}}{\mathrm{s}^2}", quantity(5, m=1, s=-2)),
        ("8元", named(8, "RMB")), ("8个", named(8, "个")), (r"8\text{米}", quantity(8, m=1)),
        ("12平方厘米", quantity(12, cm=2)), ("5立方米", quantity(5, m=3)), ("6米每秒", quantity(6, m=1, s=-1)),
        ("6千米/小时", quantity(6, km=1, h=-1)),
    ],
)  # fmt: skip
def test_units_may_be_commands_single_letters_and_ideographs(text: str, tree: Node) -> None:
    assert parse(text) == tree


def test_an_electronvolt_and_a_kiloohm_have_their_defined_size() -> None:
    assert measure(Unit((("eV", 1),))).factor == Fraction("1.602176634e-19")
    assert measure(Unit((("GeV", 1),))).factor == Fraction("1.602176634e-10")
    assert measure(Unit((("kΩ", 1),))).factor == 1000 * measure(Unit((("Ω", 1),))).factor
