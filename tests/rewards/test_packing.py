"""Trees and batches lay out the same tokens as plain sequences, at the same positions, and pad little."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards.packing import Tree, collate, plain, plan, share_prefix

ids = st.lists(st.integers(0, 5), min_size=1, max_size=12).map(tuple)
groups = st.lists(ids, min_size=1, max_size=5)


@given(groups)
def test_a_tree_holds_exactly_its_sequences(sequences):
    tree = share_prefix(sequences)
    assert [tree.prefix + branch for branch in tree.branches] == sequences
    assert all(tree.branches)


@given(groups)
def test_the_shared_prefix_is_the_longest_that_leaves_every_branch_a_token(sequences):
    shared = len(share_prefix(sequences).prefix)
    longer = {sequence[: shared + 1] for sequence in sequences}
    assert len(longer) > 1 or min(map(len, sequences)) == shared + 1


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_a_plan_covers_every_index_once_within_the_budget(lengths, budget):
    groups = plan(lengths, budget)
    assert sorted(index for group in groups for index in group) == list(range(len(lengths)))
    for group in groups:
        assert len(group) == 1 or max(lengths[i] for i in group) * len(group) <= budget


def test_a_plan_puts_similar_lengths_together():
    assert plan([5, 90, 6, 88], budget=180) == [[1, 3], [2, 0]]


@given(st.lists(groups, min_size=1, max_size=4), st.booleans())
def test_every_score_is_read_at_the_last_token_of_its_sequence(trees_of, left):
    trees = [share_prefix(sequences) for sequences in trees_of]
    batch = collate(trees, pad_id=99, left=left)
    expected = [sequence for sequences in trees_of for sequence in sequences]
    for row, column, sequence in zip(batch.rows.tolist(), batch.columns.tolist(), expected, strict=True):
        assert batch.input_ids[row, column] == sequence[-1]
        assert batch.position_ids[row, column] == len(sequence) - 1


@given(groups, st.booleans())
def test_a_token_of_a_tree_sees_exactly_the_tokens_before_it_in_its_sequence(sequences, left):
    tree = share_prefix(sequences)
    batch = collate([tree, Tree((1,), ((2,), (3,)))], pad_id=99, left=left)
    if batch.attention_mask.ndim == 2:
        return
    for row, column, sequence in zip(batch.rows.tolist(), batch.columns.tolist(), sequences, strict=False):
        seen = (batch.attention_mask[row, 0, column] == 0).nonzero().flatten()
        assert batch.input_ids[row, seen].tolist() == list(sequence)
        assert batch.position_ids[row, seen].tolist() == list(range(len(sequence)))


def test_plain_rows_keep_the_ordinary_mask():
    batch = collate([plain((1, 2, 3)), plain((4,))], pad_id=0)
    assert batch.attention_mask.tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch.input_ids.tolist() == [[1, 2, 3], [4, 0, 0]]
    assert torch.equal(batch.columns, torch.tensor([2, 0]))
