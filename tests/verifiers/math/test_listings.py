"""Lists, sets, tuples, vectors and matrices: what may change places and what may not."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

Same = Callable[..., bool | None]


def test_a_list_is_unordered_and_counts_its_repeats(same: Same) -> None:
    assert same("1, 2, 3", "3, 1, 2") is True
    assert same("1, 1, 2", "2, 1, 1") is True
    assert same("1, 1, 2", "1, 2") is False
    assert same("1, 1, 2", "1, 2, 2") is False
    assert same("1, 2", "1, 2, 3") is False


def test_a_set_counts_nothing_twice_and_is_as_good_as_a_list(same: Same) -> None:
    assert same(r"\{1, 1, 2\}", r"\{2, 1\}") is True
    assert same(r"\{2, \sqrt{4}, 5\}", r"\{5, 2\}") is True
    assert same(r"\{1, 2\}", "2, 1") is True
    assert same(r"\{5\}", "5") is True
    assert same(r"S = \{1, 2\}", r"\{2, 1\}") is True
    assert same(r"S = \{1, 2\}", r"T = \{2, 1\}") is False
    assert same(r"\{\emptyset\}", r"\emptyset") is False
    assert same(r"\{\{1\}\}", r"\{1\}") is False
    assert same(r"\{1, 2\}", r"\{1, 2, 3\}") is False


@pytest.mark.parametrize("a", ["(1, 2)", "[1, 2]", r"\{1, 2\}", "(1, 2, 3)", "[1, 2, 3]", r"\{1, 2, 3\}"])
def test_brackets_tell_answers_apart(same: Same, a: str) -> None:
    for b in ("(1, 2)", "[1, 2]", r"\{1, 2\}", "(1, 2, 3)", "[1, 2, 3]", r"\{1, 2, 3\}"):
        assert same(a, b) is (a == b)


def test_a_tuple_is_ordered_and_its_items_are_answers(same: Same) -> None:
    assert same(r"(\frac12, -3)", "(0.5, -3)") is True
    assert same("(1, 2)", "(2, 1)") is False
    assert same("(1, (2, 3))", "(1, (2, 3.0))") is True
    assert same("(1, 2), (3, 4)", "(3, 4), (1, 2)") is True
    assert same("(1, 2), (3, 4)", "(1, 4), (3, 2)") is False


def test_long_lists_are_matched_whatever_their_order(same: Same) -> None:
    rng = random.Random(7)
    items = [rf"\sqrt{{{n}}}" for n in range(2, 32)]
    others = [rf"{n}^{{1/2}}" for n in range(2, 32)]
    rng.shuffle(others)
    assert same(", ".join(items), ", ".join(others)) is True
    others[3] = "7"
    assert same(", ".join(items), ", ".join(others)) is False


def test_values_with_names_of_their_own_go_by_their_names(same: Same) -> None:
    assert same("p = 5, q = 2", "q = 2, p = 5") is True
    assert same("p = 5, q = 2", "p = 2, q = 5") is False
    assert same("p = 5, q = 2", "5, 2") is True
    assert same("p = 5, q = 2", "2, 5") is False
    assert same("p = 5, q = 2", "(5, 2)") is True
    assert same("(p, q) = (5, 2)", "q = 2, p = 5") is True
    assert same("(p, q) = (5, 2)", "(5, 2)") is True
    assert same("(p, q) = (5, 2)", "(q, p) = (2, 5)") is True
    assert same("p = 5, q = 2", "p = 5, r = 2") is False
    assert same("x = y = 2", "x = 2, y = 2") is True
    assert same("x = 1, y = 2 or x = 3, y = 4", "(3, 4), (1, 2)") is True


def test_one_name_for_all_values_is_dropped(same: Same) -> None:
    assert same("x = 1, x = 2", "2, 1") is True
    assert same(r"x = 1 \text{ or } x = 2", r"\{1, 2\}") is True
    assert same("n = 2, 3, 4", "4, 3, 2") is True
    assert same(r"x \in \{1, 2\}", "x = 2, x = 1") is True
    assert same("x = 1, x = 2", "y = 1, y = 2") is False
    assert same("7 goats and 4 toy helicopters", "7, 4") is True
    assert same("7 goats and 4 toy helicopters", "4, 7") is False


def test_plus_minus_stands_for_both_signs(same: Same) -> None:
    assert same(r"1 \pm \sqrt{19}", r"1 - \sqrt{19}, 1 + \sqrt{19}") is True
    assert same(r"1 \pm \sqrt{19}", r"1 + \sqrt{19}") is False
    assert same(r"x = \pm 2", r"\{-2, 2\}") is True
    assert same(r"(\pm 1, \pm 2)", "(1,2), (1,-2), (-1,2), (-1,-2)") is True
    assert same(r"(\pm 1, \mp 2)", "(1,-2), (-1,2)") is True
    assert same(r"(\pm 1, \mp 2)", "(1,2), (-1,-2)") is False
    assert same(r"0, \pm 1", "-1, 0, 1") is True


@pytest.mark.parametrize(
    "b", [r"\langle 1, -2 \rangle", r"\begin{bmatrix} 1 \\ -2 \end{bmatrix}", r"\mathbf{i} - 2\mathbf{j}", "[1, -2]^T"]
)
def test_a_vector_has_many_notations(same: Same, b: str) -> None:
    assert same(r"\begin{pmatrix} 1 \\ -2 \end{pmatrix}", b) is True
    assert same(r"\begin{pmatrix} -2 \\ 1 \end{pmatrix}", b) is False
    assert same(r"\{1, -2\}", b) is False


def test_a_matrix_is_its_entries_in_their_places(same: Same) -> None:
    a = r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"
    assert same(a, r"\begin{bmatrix} 1 & \sqrt{4} \\ 3.0 & 4 \end{bmatrix}") is True
    assert same(a, "[[1, 2], [3, 4]]") is True
    assert same(a, r"\begin{pmatrix} 1 & 3 \\ 2 & 4 \end{pmatrix}") is False
    assert same(a, r"\begin{pmatrix} 1 & 2 & 3 & 4 \end{pmatrix}") is False
    assert same(r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", r"\begin{pmatrix} 1 & 2 \end{pmatrix}") is False


def test_a_condition_on_the_only_value_may_be_left_out(same: Same) -> None:
    assert same(r"k\pi, k \in \mathbb{Z}", r"k\pi") is True
    assert same(r"f(x) = 1 \text{ for all } x \in \mathbb{Q}", "f(x) = 1") is True
    assert same(
        r"\begin{cases} 1 & x > 0 \\ 2 & x < 0 \end{cases}", r"\begin{cases} 2 & x < 0 \\ 1 & x > 0 \end{cases}"
    )
    assert same(r"\begin{cases} 1 & x > 0 \\ 2 & x < 0 \end{cases}", "1") is False


def test_a_matrix_or_vector_may_have_a_number_in_front(same: Same) -> None:
    halves = r"\begin{pmatrix} \frac12 & 1 \\ \frac32 & -2 \end{pmatrix}"
    assert same(r"\frac12 \begin{pmatrix} 1 & 2 \\ 3 & -4 \end{pmatrix}", halves) is True
    assert same(r"-\frac12 \begin{bmatrix} -1 & -2 \\ -3 & 4 \end{bmatrix}", halves) is True
    assert same(r"\frac12 \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", halves) is False
    assert same(r"\begin{pmatrix} 1 & 2 \\ 3 & -4 \end{pmatrix}", halves) is False
    assert same(r"\frac13 (2, -1, 2)", r"\left(\frac23, -\frac13, \frac23\right)") is True
    assert same(r"\frac13 (2, -1, 2)", "(2, -1, 2)") is False
    assert same(r"t\langle 1, 2\rangle", r"\langle t, 2t\rangle") is True
    assert same("P(1, 2)", "(1, 2)") is True


def test_piecewise_functions_may_be_named_on_one_side(same: Same) -> None:
    cases = r"\begin{cases} x^2, & x \ge 0 \\ -x, & x < 0 \end{cases}"
    assert same(r"\begin{cases} -x & \text{if } x < 0 \\ x^2 & \text{if } x \geq 0 \end{cases}", f"f(x) = {cases}")
    assert same(r"\begin{cases} x & x < 0 \\ x^2 & x \geq 0 \end{cases}", f"f(x) = {cases}") is False
    assert same("x^2", f"f(x) = {cases}") is False


def test_a_comparison_behind_a_formula_says_where_it_holds(same: Same) -> None:
    assert same(r"\frac{x+1}{x-1}, x \ne 1", r"\frac{x+1}{x-1}\ (x \neq 1)") is True
    assert same(r"\frac{x+1}{x-1}, x \ne 1", r"\frac{x+1}{x-1}") is True
    assert same(r"\frac{x+1}{x-1}, x \ne 1", r"\frac{x+1}{x-1}, x \ne 2") is False
    assert same(r"f(x) = \frac1x, x > 0", r"\frac1x") is True
    assert same(r"\frac1x, x > 0", "x > 0") is False
    assert same("x, x > 3", "x > 3") is not True
    assert same("3, x > 0", "3") is not True


def test_alternatives_that_are_one_value_are_one_answer(same: Same) -> None:
    assert same(r"\frac12 \text{ or } 0.5", r"\frac12") is True
    assert same(r"\frac12 \text{ or } 0.6", r"\frac12") is False


def test_an_array_of_one_is_its_entry(same: Same) -> None:
    assert same(r"\begin{array}{c} 2 \end{array}", "2") is True
    assert same(r"\begin{array}{c} 2 \\ 3 \end{array}", "2") is False


def test_values_of_functions_may_be_what_a_value_is_of(same: Same) -> None:
    assert same("f(0) + f(1) = 2", "2") is True
    assert same("f(0) + f(1) = 2", "3") is False


def test_one_of_several_names_is_not_all_of_them(same: Same) -> None:
    assert same("Alice or Bob", "Alice and Bob") is False
    assert same("Bob, Alice", "Alice and Bob") is True
    assert same(r"B \text{ or } D", r"B \text{ and } D") is False
    assert same(r"x = 2 \text{ or } x = 3", r"x = 2 \text{ and } x = 3") is True


def test_coordinates_have_their_places_by_their_letters(same: Same) -> None:
    assert same("y = 2, x = 1", "(1, 2)") is True
    assert same("y = 1, x = 2", "(1, 2)") is False
    assert same("(y, x) = (1, 2)", "(1, 2)") is False
    assert same("c = 3, a = 1, b = 2", "(1, 2, 3)") is True
