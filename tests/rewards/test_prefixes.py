"""Who computes together: those who begin alike, by a named prompt or by their ids."""

from __future__ import annotations

import random
from itertools import takewhile

from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards.prefixes import common, groups, shared, tree_length


def plainly(sequences: list[tuple[int, ...]]) -> int:
    """How many leading ids all share, one place after the other."""
    columns = zip(*sequences, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


ids = st.lists(st.integers(0, 2), max_size=12).map(tuple)


@given(ids, ids)
def test_common_beginning_is_that_of_the_plain_loop(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    assert common(a, b) == plainly([a, b])


@given(st.lists(ids.filter(bool), min_size=1, max_size=6))
def test_what_all_share_is_what_the_two_extremes_share_less_a_last_id(sequences: list[tuple[int, ...]]) -> None:
    plain = plainly(sequences)
    assert shared(sequences) == min(plain, min(map(len, sequences)) - 1)
    assert tree_length(sequences) == sum(map(len, sequences)) - shared(sequences) * (len(sequences) - 1)


def sequence(prompt: int, response: int, lengths: tuple[int, int] = (100, 50)) -> tuple[int, ...]:
    return tuple(random.Random(prompt).choices(range(1000), k=lengths[0])) + tuple(
        random.Random(-response).choices(range(1000), k=lengths[1])
    )


def test_responses_to_one_prompt_are_found_without_its_name() -> None:
    sequences = [sequence(prompt=i % 3, response=i) for i in range(1, 10)]
    assert groups(sequences, [None] * 9, budget=4096) == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_a_named_prompt_joins_also_long_responses_to_a_short_prompt() -> None:
    sequences = [sequence(1, i, (40, 200)) for i in range(1, 5)]
    assert groups(sequences, ["p"] * 4, budget=4096) == [[0, 1, 2, 3]]
    assert groups(sequences, [None] * 4, budget=4096) == [[0], [1], [2], [3]]


def test_strangers_with_a_few_tokens_of_template_in_common_stand_alone() -> None:
    sequences = [(1, 2, 3, *sequence(i, i)) for i in range(1, 5)]
    assert groups(sequences, [None] * 4, budget=4096) == [[0], [1], [2], [3]]
    assert groups(sequences, ["same name"] * 4, budget=4096) == [[0], [1], [2], [3]]


def test_no_tree_is_over_the_budget_unless_it_is_one_sequence() -> None:
    sequences = [sequence(1, i) for i in range(1, 9)]
    parts = groups(sequences, [None] * 8, budget=260)
    assert parts == [[0, 1, 2], [3, 4, 5], [6, 7]]
    assert [tree_length([sequences[i] for i in part]) for part in parts] == [250, 250, 200]
    assert groups(sequences, [None] * 8, budget=1) == [[i] for i in range(8)]


def test_equal_sequences_keep_a_last_id_each() -> None:
    assert groups([sequence(1, 1)] * 3, [None] * 3, budget=4096) == [[0, 1, 2]]
    assert tree_length([sequence(1, 1)] * 3) == 149 + 3


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 9)), max_size=12), st.integers(1, 600))
def test_every_sequence_is_in_exactly_one_group(pairs: list[tuple[int, int]], budget: int) -> None:
    sequences = [sequence(*pair) for pair in pairs]
    found = groups(sequences, [None if p == 0 else p for p, _ in pairs], budget)
    assert sorted(i for group in found for i in group) == list(range(len(pairs)))
