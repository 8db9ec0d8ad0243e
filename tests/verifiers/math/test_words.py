"""Answers in words, and the few words that have a mathematical meaning."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

Same = Callable[..., bool | None]

MEANINGS = [
    [r"\text{no solution}", "No solutions", r"\text{no real solutions}", r"\emptyset", r"\{\}"],
    ["undefined", r"\text{does not exist}", "DNE"],
    ["infinitely many", r"\text{infinitely many solutions}"],
    ["yes", "Yes.", r"\text{true}"],
    ["no", r"\text{False}"],
    ["isosceles", "an isosceles"],
    [r"\text{Evelyn}", "**Evelyn**", "evelyn"],
    ["0", r"\text{zero}"],
    [r"-\infty", "negative infinity"],
]


@pytest.mark.parametrize("ways", MEANINGS, ids=lambda ways: ways[0])
def test_two_ways_of_saying_it_are_the_same(same: Same, ways: list[str]) -> None:
    for a, b in combinations(ways, 2):
        assert same(a, b) is True, (a, b)


@pytest.mark.parametrize(("ours", "theirs"), list(combinations(range(len(MEANINGS)), 2)))
def test_other_meanings_differ(same: Same, ours: int, theirs: int) -> None:
    assert same(MEANINGS[ours][0], MEANINGS[theirs][0]) is False


def test_words_and_mathematics_never_match(same: Same) -> None:
    assert same(r"\text{parabola}", "x^2") is False
    assert same(r"\text{the answer}", "7") is False
    assert same(r"\text{increasing}", r"\text{not increasing}") is False
