"""Roots against numbers known by construction, and points in every interval between them."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.verifiers._math.draws import Draws
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.sampling import ONE
from guerdon.verifiers._math.switches import points_between, real_splits


@given(st.lists(st.integers(-30, 30), min_size=1, max_size=5))
def test_all_real_roots_are_among_the_splits(roots):
    coefficients = [1]
    for root in roots:
        coefficients = [low - root * high for low, high in zip([0, *coefficients], [*coefficients, 0], strict=True)]
    splits = real_splits([float(value) for value in coefficients])
    for root in roots:
        assert min(abs(split - root) for split in splits) < 1e-3 * (1 + abs(root))
    assert splits == sorted(splits)


def test_a_polynomial_without_roots_is_split_where_it_turns():
    assert real_splits([1.0, 0.0, 1.0]) == pytest.approx([0.0])
    assert real_splits([7.0]) == []


@pytest.mark.parametrize(
    ("text", "borders"),
    [
        ("|x^2-5x+6|", (-9e9, 2, 3, 9e9)),
        (r"\sqrt{x^2-4x+4}", (-9e9, 2, 9e9)),
        (r"\max(x, 7)+\min(x, -3)", (-9e9, -3, 7, 9e9)),
        (r"|x^3-100x|", (-9e9, -10, 0, 10, 9e9)),
        (r"\operatorname{sgn}(x-1000)", (-9e9, 1000, 9e9)),
        (r"|\ln x|", (-9e9, 0, 1, 9e9)),
    ],
)
def test_there_is_a_point_in_every_piece(text, borders):
    found = [point.real["x"] / ONE for point in points_between([parse(text)], ["x"], Draws(1))]
    for low, high in pairwise(borders):
        assert any(low < value < high for value in found), (low, high, found)
    assert len(found) < 80
    assert all(map(math.isfinite, found))
