"""From sequences of token ids to the tensors of one forward: prompts shared, and laid out with little or no padding.

``share_prefix`` turns the responses to one prompt into a *tree*: the prompt once, then each response as a branch that
sees the prompt and itself but no other branch. ``pack`` lays trees end to end in one row, for models whose attention
can be told who sees whom (packed_attention.py). ``collate`` lays them out as padded rows, for all others; ``plan`` then
sorts by length and cuts into forwards of bounded size, so that little is spent on padding.

A tree gives the very scores of its plain sequences (same position ids, no delimiter tokens), because under causal
attention no prompt token sees a response. Encoders attend both ways and therefore take plain sequences only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from guerdon.rewards.packed_attention import BOTH_WAYS, STRIDE

Ids = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """A prefix of token ids and the branches that continue it, each of at least one token; one score a branch."""

    prefix: Ids
    branches: tuple[Ids, ...]

    @property
    def length(self) -> int:
        return len(self.prefix) + sum(len(branch) for branch in self.branches)


@dataclass(frozen=True, slots=True)
class Batch:
    """The tensors of one forward over b rows of t positions, and where its n scores are read.

    input_ids, position_ids: (b, t) int64. attention_mask: (b, t) int64 for padded rows (1 = real); (b, 1, t, t) float
    to be added to attention logits when a padded row is a tree (0 = sees, a very negative number = does not); or, for
    one packed row, (1, 1, 1, t) int64, which says whose each token is.
    rows, columns: (n,) int64, the position of each score's last token, in the order of the trees and their branches.
    """

    input_ids: Tensor
    attention_mask: Tensor
    position_ids: Tensor
    rows: Tensor
    columns: Tensor

    def to(self, device: torch.device | str) -> Batch:
        return Batch(
            *(t.to(device) for t in (self.input_ids, self.attention_mask, self.position_ids, self.rows, self.columns))
        )


def plain(sequence: Ids) -> Tree:
    """One sequence as a tree without a shared prefix."""
    return Tree((), (sequence,))


def share_prefix(sequences: Sequence[Ids]) -> Tree:
    """The sequences as one tree over their longest common prefix; every branch keeps at least its last token.

    >>> share_prefix([(1, 2, 3), (1, 2, 4, 5)])
    Tree(prefix=(1, 2), branches=((3,), (4, 5)))
    """
    shortest = min(len(sequence) for sequence in sequences)
    first = sequences[0]
    shared = 0
    while shared < shortest - 1 and all(sequence[shared] == first[shared] for sequence in sequences):
        shared += 1
    return Tree(first[:shared], tuple(sequence[shared:] for sequence in sequences))


def plan(lengths: Sequence[int], budget: int, *, padded: bool = True) -> list[list[int]]:
    """Indices grouped into forwards of at most ``budget`` tokens each (or one sequence). padded: count padding too.

    Longest first, so that the largest forward comes first and memory trouble shows at once; neighbours in length go
    together, so that padding is little.
    """
    groups: list[list[int]] = []
    size = 0  # of the last group without its padding
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if groups:
            after = lengths[groups[-1][0]] * (len(groups[-1]) + 1) if padded else size + lengths[index]
            if after <= budget:
                groups[-1].append(index)
                size += lengths[index]
                continue
        groups.append([index])
        size = lengths[index]
    return groups


def pack(trees: Sequence[Tree], *, both_ways: bool) -> Batch:
    """Trees end to end in one row, without padding. both_ways: plain sequences of an encoder."""
    ids: list[int] = []
    layout: list[int] = []
    columns: list[int] = []
    for number, tree in enumerate(trees):
        ids += tree.prefix
        layout += [number * STRIDE] * len(tree.prefix)
        for branch, tokens in enumerate(tree.branches, start=1):
            ids += tokens
            layout += [number * STRIDE + (BOTH_WAYS if both_ways else branch)] * len(tokens)
            columns.append(len(ids) - 1)
    return Batch(
        torch.tensor([ids]),
        torch.tensor(layout)[None, None, None],
        torch.cat([_positions(tree) for tree in trees])[None],
        torch.zeros(len(columns), dtype=torch.long),
        torch.tensor(columns),
    )


def collate(
    trees: Sequence[Tree],
    *,
    pad_id: int,
    left: bool = False,
    dtype: torch.dtype = torch.float32,
) -> Batch:
    """Trees as padded rows. left: pad on the left (scores do not change; for comparison with other engines)."""
    width = max(tree.length for tree in trees)
    ids = torch.full((len(trees), width), pad_id, dtype=torch.long)
    positions = torch.zeros((len(trees), width), dtype=torch.long)
    mask = torch.zeros((len(trees), width), dtype=torch.long)
    rows, columns = [], []
    for row, tree in enumerate(trees):
        start = width - tree.length if left else 0
        stop = start + tree.length
        ids[row, start:stop] = torch.tensor([*tree.prefix, *_flat(tree.branches)], dtype=torch.long)
        mask[row, start:stop] = 1
        positions[row, start:stop] = _positions(tree)
        end = start + len(tree.prefix)
        for branch in tree.branches:
            end += len(branch)
            rows.append(row)
            columns.append(end - 1)
    if any(len(tree.branches) > 1 for tree in trees):
        mask = _tree_mask(_branches(trees, width, left=left), dtype)
    return Batch(ids, mask, positions, torch.tensor(rows), torch.tensor(columns))


def _flat(branches: Iterable[Ids]) -> list[int]:
    return [token for branch in branches for token in branch]


def _positions(tree: Tree) -> Tensor:
    prefix = len(tree.prefix)
    parts = [torch.arange(prefix)] + [torch.arange(prefix, prefix + len(branch)) for branch in tree.branches]
    return torch.cat(parts)


def _branches(trees: Sequence[Tree], width: int, *, left: bool) -> Tensor:
    """(b, t): which branch of its tree each token is of; -1 is padding, 0 the prefix."""
    branches = torch.full((len(trees), width), -1)
    for row, tree in enumerate(trees):
        start = width - tree.length if left else 0
        edge = start + len(tree.prefix)
        branches[row, start:edge] = 0
        for number, branch in enumerate(tree.branches, start=1):
            branches[row, edge : edge + len(branch)] = number
            edge += len(branch)
    return branches


def _tree_mask(branches: Tensor, dtype: torch.dtype) -> Tensor:
    """Additive (b, 1, t, t): a token sees its own prefix and the earlier tokens of its own branch."""
    width = branches.shape[1]
    same = branches[:, :, None] == branches[:, None, :]
    sees = (same | (branches[:, None, :] == 0)) & (branches[:, :, None] >= 0)
    sees &= torch.ones((width, width), dtype=torch.bool).tril()
    # A padding position sees itself: a row of softmax over nothing would be NaN and spread through the layer.
    sees |= torch.eye(width, dtype=torch.bool)
    blocked = torch.finfo(dtype).min
    return torch.zeros(sees.shape, dtype=dtype).masked_fill_(~sees, blocked).unsqueeze(1)
