"""Equations as curves, inequalities as regions, values with names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Same = Callable[..., bool | None]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("y = 2x + 3", "2x - y + 3 = 0"),
        ("2x + 4y - 3 = 0", r"y = -\frac{1}{2}x + \frac{3}{4}"),
        (r"\frac{x^2}{4} + \frac{y^2}{9} = 1", "9x^2 + 4y^2 = 36"),
        ("(x-1)^2 + (y+2)^2 = 9", "x^2 + y^2 - 2x + 4y - 4 = 0"),
        ("xy = 1", r"y = \frac{1}{x}"),
        (r"\frac{1}{x} + \frac{1}{y} = 1", "x + y = xy"),
        (r"\sqrt{3}x - y = 0", r"3x - \sqrt{3}y = 0"),
        (r"y = \pi x", r"\frac{y}{\pi} = x"),
        ("f(x) + f(-x) = 2", "f(-x) = 2 - f(x)"),
        ("a = b = c", "c = a = b"),
    ],
)
def test_a_curve_is_the_same_however_its_equation_is_arranged(same: Same, a: str, b: str) -> None:
    assert same(a, b) is True


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("y = 2x + 3", "y = 3x + 2"),
        ("2x + 4y - 3 = 0", "2x + 4y - 6 = 0"),
        (r"\frac{x^2}{4} + \frac{y^2}{3} = 1", r"\frac{x^2}{16} + \frac{y^2}{12} = 1"),
        ("x^2 + y^2 = 25", "x^2 - y^2 = 25"),
        ("x = 5", "y = 5"),
        ("x + y = 3", "x + z = 3"),
        (r"\sqrt{3}x - y = 0", r"x - \sqrt{3}y = 0"),
        ("a = b = c", "a = b = d"),
    ],
)
def test_other_curves_are_other_equations(same: Same, a: str, b: str) -> None:
    assert same(a, b) is False


@pytest.mark.parametrize("factor", ["2", "-1", "-3/7", "100"])
@pytest.mark.parametrize(("left", "right"), [("x^2 - 3xy", "y + 1"), ("2x", "6 - y^3"), ("x/y", "y - 2")])
def test_a_factor_on_both_sides_changes_no_equation(same: Same, factor: str, left: str, right: str) -> None:
    assert same(f"({factor})({left}) = ({factor})({right})", f"{left} = {right}") is True
    assert same(f"({factor})({left}) = 2({factor})({right})", f"{left} = {right}") is False


def test_an_inequality_turns_round_when_it_is_multiplied_by_a_negative_number(same: Same) -> None:
    assert same("-2y < 4x - 6", "y > 3 - 2x") is True
    assert same("-2y < 4x - 6", "y < 3 - 2x") is False
    assert same("y > 2x + 1", r"y \ge 2x + 1") is False


def test_a_falling_chain_is_the_rising_one(same: Same) -> None:
    assert same("a > b > c", "c < b < a") is True
    assert same("a > b > c", "a < b < c") is False
    assert same(r"a \ge b > c", r"c < b \le a") is True


@pytest.mark.parametrize(
    ("named", "value"),
    [
        ("x = 5", "5"),
        ("5 = x", "5"),
        ("y = 2x + 3", "2x + 3"),
        ("|AB| = 7", "7"),
        ("AB = 7", "7"),
        (r"\angle A = 30^\circ", r"30^\circ"),
        ("m + n = 256 + 37 = 293", "293"),
        (r"\frac{a}{b} = \frac{2}{3}", r"\frac23"),
        (r"\sin A = \frac35", "0.6"),
        ("f(2) = 7", "7"),
        (r"\frac{dy}{dx} = 2x", "2x"),
        ("S = ab = 12", "12"),
        (r"\text{Area} = 24", "24"),
        ("V_1:V_2 = 11:21", "11:21"),
    ],
)
def test_a_name_is_dropped_where_the_other_side_has_none(same: Same, named: str, value: str) -> None:
    assert same(named, value) is True


@pytest.mark.parametrize(
    ("a", "b"),
    [("n = 3k", "3"), ("3a + 2b = 5", "5"), ("x^2 = 4", "4"), ("x = 5", "x = 6"), ("2x = 10", "5"), ("x = x + 5", "5")],
)
def test_a_curve_or_a_family_is_no_named_value(same: Same, a: str, b: str) -> None:
    assert same(a, b) is False


def test_a_chain_that_contradicts_itself_is_no_value(same: Same) -> None:
    from guerdon.verifiers.math import verify

    assert verify(r"\boxed{S = 2 + 3 = 6}", "6").value == 0
    assert verify(r"\boxed{S = 2 + 3 = 6}", "5").value == 0
    assert verify(r"\boxed{\frac{\sqrt3}{3} = 0.577}", r"\frac{1}{\sqrt3}").value == 1
    assert verify(r"\boxed{\frac{\sqrt3}{3} = 0.571}", r"\frac{1}{\sqrt3}").value == 0


def test_a_function_may_rename_what_it_binds_and_nothing_else(same: Same) -> None:
    assert same("f(x) = x^2 + a", "f(t) = t^2 + a") is True
    assert same("f(x) = x^2 + a", "f(x) = x^2 + b") is False
    assert same("f(x, y) = x - y", "f(u, v) = u - v") is True
    assert same("f(x, y) = x - y", "f(y, x) = x - y") is False
    assert same("f(x) = 2x", "g(x) = 2x") is False
    assert same("f(x) = 2x", "y = 2x") is True
    assert same("a_n = 2^n", "a_k = 2^k") is True
    assert same("a_n = 2^n", "2^k") is False
    assert same(r"x \mapsto x^3", "f(t) = t^3") is True


def test_congruences_are_classes(same: Same) -> None:
    assert same(r"x \equiv 1 \pmod{3}", r"x \equiv -2 \pmod 3") is True
    assert same(r"x \equiv 1 \pmod{3}", r"x \equiv 2 \pmod 3") is False
    assert same(r"x \equiv 1 \pmod{3}", r"x \equiv 1 \pmod 4") is False
    assert same(r"x \equiv 1 \pmod{3}", r"y \equiv 1 \pmod 3") is False
