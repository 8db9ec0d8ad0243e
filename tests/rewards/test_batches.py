"""The order of learning, and the sharing of work inside a step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards.errors import DataError
from guerdon.rewards.render import Renderer
from guerdon.rewards.training.batches import Pair, chunks, encode, rows_of, schedule
from guerdon.rewards.types import Preference

short = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple)
pairs_strategy = st.lists(
    st.builds(Pair, short, short, st.integers(0, 4), st.none(), st.none(), st.just(1.0)), min_size=1, max_size=30
)


@given(pairs_strategy, st.integers(1, 8), st.integers(0, 3))
def test_an_epoch_holds_every_pair_once_in_full_steps(pairs, batch_pairs, epoch):
    steps = schedule(pairs, batch_pairs, seed=1, epoch=epoch)
    assert sorted(index for step in steps for index in step) == list(range(len(pairs)))
    assert all(len(step) == batch_pairs for step in steps[:-1])


@given(pairs_strategy)
def test_the_order_depends_on_seed_and_epoch_alone(pairs):
    assert schedule(pairs, 4, seed=1, epoch=2) == schedule(pairs, 4, seed=1, epoch=2)


def test_epochs_differ_and_pairs_of_a_prompt_stay_together():
    pairs = [Pair((1,), (2,), index // 4, None, None, 1.0) for index in range(64)]
    first, second = (schedule(pairs, 16, seed=0, epoch=epoch) for epoch in (0, 1))
    assert first != second
    for step in first:
        assert len({pairs[index].prompt for index in step}) == 4


def test_no_step_is_about_one_prompt_alone():
    pairs = [Pair((1,), (2,), 0 if index < 40 else index, None, None, 1.0) for index in range(80)]
    steps = schedule(pairs, 8, seed=3, epoch=0)
    assert max(sum(pairs[i].prompt == 0 for i in step) for step in steps[:3]) <= 8
    assert sum(len({pairs[i].prompt for i in step}) > 1 for step in steps) >= 5


@given(pairs_strategy, st.booleans())
def test_rows_give_every_pair_its_own_two_sequences(pairs, share):
    rows = rows_of(pairs, share_prompts=share)
    flat = [tree.prefix + branch for tree in rows.trees for branch in tree.branches]
    for pair, chosen, rejected in zip(pairs, rows.chosen, rows.rejected, strict=True):
        assert flat[chosen] == pair.chosen
        assert flat[rejected] == pair.rejected


@given(pairs_strategy)
def test_without_sharing_each_distinct_sequence_is_one_row(pairs):
    rows = rows_of(pairs, share_prompts=False)
    assert len(rows.trees) == len({ids for pair in pairs for ids in (pair.chosen, pair.rejected)})


@given(pairs_strategy, st.integers(1, 30))
def test_chunks_keep_order_and_hold_the_bound(pairs, tokens):
    parts = chunks(pairs, tokens)
    assert [pair for part in parts for pair in part] == pairs
    for part in parts:
        assert len(part) == 1 or sum(len(p.chosen) + len(p.rejected) for p in part) <= tokens


def test_over_long_pairs_are_listed_or_dropped_and_counted(tiny_tokenizer_dir):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_tokenizer_dir)
    preferences = [
        Preference("hello", "42", "7", meta={"where": "f.jsonl:1"}),
        Preference("hello", "42 " * 200, "7", meta={"where": "f.jsonl:2"}),
    ]
    with pytest.raises(DataError, match=r"f\.jsonl:2"):
        encode(preferences, Renderer.for_training(tokenizer, max_length=64))
    dropped = encode(preferences, Renderer.for_training(tokenizer, max_length=64, overlong="drop"))
    assert (len(dropped.pairs), dropped.dropped) == (1, 1)
    cut = encode(preferences, Renderer.for_training(tokenizer, max_length=64, overlong="truncate"))
    assert (len(cut.pairs), cut.cut_responses) == (2, 1)
    assert cut.cut_tokens > 100
