"""Sets of reals: intervals, inequalities, unions, set-builder forms and words for them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.verifiers._math.realsets import ALL, EMPTY, Line, RealSet, ray
from guerdon.verifiers._math.tree import Number

Same = Callable[..., bool | None]

EQUAL = [
    ["x > 3", r"(3, \infty)", "3 < x", r"\{x \mid x > 3\}", r"x \in (3, +\infty)", r"\{t \in \mathbb{R} : t > 3\}"],
    [r"-1 \le x < 4", "[-1, 4)", r"4 > x \ge -1", r"x \ge -1 \text{ and } x < 4", r"x < 4, x \geq -1"],
    [r"x \neq 2", r"(-\infty,2) \cup (2,\infty)", r"\mathbb{R} \setminus \{2\}", r"x < 2 \text{ or } x > 2"],
    [r"x \le 0 \text{ or } x > \pi", r"(\pi, \infty) \cup (-\infty, 0]", r"\mathbb{R} \setminus (0, \pi]"],
    [r"x \ne \pm 1", r"(-\infty,-1)\cup(-1,1)\cup(1,\infty)", r"x \neq 1, x \neq -1"],
    [r"\mathbb{R}", r"(-\infty, \infty)", r"x \in \mathbb{R}"],
    [r"\{-1\} \cup [0, 7)", r"x = -1 \text{ or } 0 \le x < 7"],
    [r"(0, \sqrt{2})", r"0 < x < \sqrt{2}", r"(0, 1] \cup (0.5, \sqrt2)"],
    [r"(a, \infty)", "x > a"],
    ["x < 1, x > 3", "x < 1 or x > 3", "(-oo, 1) U (3, oo)", r"(-\infty, 1) \text{ and } (3, \infty)"],
    [r"(a, a+1)", "a < x < a + 1"],
]


@pytest.mark.parametrize("forms", EQUAL, ids=lambda forms: forms[0])
def test_a_set_is_the_same_in_all_its_forms(same: Same, forms: list[str]) -> None:
    for a, b in combinations(forms, 2):
        if "t" in a and "x" in b and "in" not in b:
            continue
        assert same(a, b) is True, (a, b)


@pytest.mark.parametrize(("ours", "theirs"), list(combinations(range(len(EQUAL)), 2)))
def test_other_sets_differ_in_their_first_forms(same: Same, ours: int, theirs: int) -> None:
    assert same(EQUAL[ours][0], EQUAL[theirs][0]) is False


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("[1, 2]", "(1, 2)"),
        ("[1, 2)", "(1, 2]"),
        (r"x \ge 3", "x > 3"),
        ("x > 3", "y > 3"),
        (r"(0,1) \cup (1,2)", "(0,2)"),
        (r"(-\infty, 3)", r"(3, \infty)"),
        ("(1, 2)", r"\{1, 2\}"),
        ("0 < x < 1", "0 < x < 1.0001"),
        (r"x < 1 \text{ or } x > 2", "1 < x < 2"),
        (r"x < 1 \text{ or } x > 2", r"x < 1 \text{ and } x > 2"),
        (r"\{x \mid x > 2\}", "2"),
    ],
)
def test_near_misses_are_other_sets(same: Same, a: str, b: str) -> None:
    assert same(a, b) is False


def test_an_inequality_equals_an_interval_only_when_it_is_solved(same: Same) -> None:
    assert same("2x + 3 < 7", "x < 2") is True
    assert same("2x + 3 < 7", r"(-\infty, 2)") is False
    assert same("3 - x < 1", "x > 2") is True
    assert same("-1 < 2x + 1 < 5", "-1 < x < 2") is True


def test_sets_whose_ends_have_no_known_order_are_compared_part_by_part(same: Same) -> None:
    assert same(r"(-\infty, a) \cup (b, \infty)", r"(b, \infty) \cup (-\infty, a)") is True
    assert same(r"(-\infty, a) \cup (b, \infty)", r"(-\infty, b) \cup (a, \infty)") is False
    assert same(r"x < a \text{ or } x > b", r"(-\infty, a) \cup (b, \infty)") is True


def test_a_set_that_is_built_may_rename_what_it_binds(same: Same) -> None:
    assert same(r"\{2k : k \in \mathbb{Z}\}", r"\{2n \mid n \in \mathbb{Z}\}") is True
    assert same(r"\{2k : k \in \mathbb{Z}\}", r"\{3k : k \in \mathbb{Z}\}") is False
    assert same(r"\{2k : k \in \mathbb{Z}\}", r"\{2k : k \in \mathbb{N}\}") is False


def test_a_distance_from_zero_is_an_interval(same: Same) -> None:
    assert same("|x| < 3", "(-3, 3)") is True
    assert same(r"|x| \ge 2", r"x \le -2 \text{ or } x \ge 2") is True
    assert same("|x| < 3", "x < 3") is False
    assert same("|x| < 3", "|x| > 3") is False
    assert same(r"1 \le |z| \le \frac{3}{2}", r"[-1.5, -1] \cup [1, 1.5]") is True
    assert same("0 < f(x) < 1", "(0, 1)") is True


def test_a_described_set_of_integers_is_its_elements(same: Same) -> None:
    assert same(r"\{x \in \mathbb{Z} : -1 \le x < 3\}", r"\{-1, 0, 1, 2\}") is True
    assert same(r"\{n \in \mathbb{N} \mid 1 < n < 5.5\}", "2, 3, 4, 5") is True
    assert same(r"\{x \in \mathbb{Z} : -1 \le x < 3\}", r"\{-1, 0, 1, 2, 3\}") is False
    assert same(r"\{x \in \mathbb{R} : -1 \le x < 3\}", r"\{-1, 0, 1, 2\}") is False
    assert same(r"\{x \in \mathbb{Z} : x > 3\}", r"\{4, 5, 6\}") is False


# --- the algebra, against sets of sample points -----------------------------------------------------------------------

_LINE = Line()
_SAMPLES = [Fraction(n, 2) for n in range(-1, 14)]


def _contains(given: RealSet, x: Fraction) -> bool:
    for index, point in enumerate(given.points):
        assert isinstance(point, Number)
        if x < point.value:
            return given.inside[2 * index]
        if x == point.value:
            return given.inside[2 * index + 1]
    return given.inside[-1]


def _interval(ends: tuple[int, int], low_closed: bool, high_closed: bool) -> RealSet:
    low, high = sorted(ends)
    found = _LINE.interval(
        Number(Fraction(low)), Number(Fraction(high)), low_closed=low_closed, high_closed=high_closed
    )
    return found or EMPTY


_ENDS = st.integers(0, 6)
_PIECES = st.one_of(
    st.builds(_interval, st.tuples(_ENDS, _ENDS), st.booleans(), st.booleans()),
    st.builds(lambda n, up, at: ray(Number(Fraction(n)), above=up, closed=at), _ENDS, st.booleans(), st.booleans()),
    st.just(ALL),
)


@given(st.lists(_PIECES, min_size=1, max_size=4), st.lists(_PIECES, min_size=1, max_size=3))
def test_unions_intersections_and_differences_hold_point_by_point(a: list[RealSet], b: list[RealSet]) -> None:
    left, right = a[0], b[0]
    for piece in a[1:]:
        left = _LINE.union(left, piece)
    for piece in b[1:]:
        right = _LINE.union(right, piece)
    both, one = _LINE.intersection(left, right), _LINE.difference(left, right)
    for x in _SAMPLES:
        assert _contains(left, x) == any(_contains(piece, x) for piece in a)
        assert _contains(both, x) == (_contains(left, x) and _contains(right, x))
        assert _contains(one, x) == (_contains(left, x) and not _contains(right, x))
    again = _LINE.union(both, one)
    assert again == left, "one form for one set"


def test_what_is_taken_of_the_integers_may_be_written_in_two_ways(same: Same) -> None:
    integers = r"\mathbb{Z} \setminus \{0\}"
    assert same(r"\{n \in \mathbb{Z} : n \neq 0\}", integers) is True
    assert same(r"\{n \mid n \in \mathbb{Z}, n \neq 0\}", integers) is True
    assert same(r"\{n \in \mathbb{Z} : n \neq 1\}", integers) is False
    assert same(r"\{n \in \mathbb{Q} : n \neq 0\}", integers) is False
    assert same(r"\{2n : n \in \mathbb{Z}, n \neq 0\}", integers) is False
    assert same(r"\mathbb{R} \setminus \{0\}", integers) is False


def test_conjunctions_of_other_languages_join_answers(same: Same) -> None:
    assert same(r"x \ge 2 \text{ 或 } x \le -2", r"x \le -2 \text{ or } x \ge 2") is True
    assert same(r"x < 1 \text{且} x \ne 0", r"x < 1, x \neq 0") is True
    assert same(r"x < 1 \text{或} x \ne 0", r"x < 1, x \neq 0") is False
    assert same("2和4", "2, 4") is True
    assert same(r"2 \text{ und } 4", "2, 4") is True
    assert same(r"2 \text{ oder } 4", "2") is False
