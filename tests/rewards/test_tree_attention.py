"""Attention over trees gives what a dense mask gives, forwards and backwards, in every layout of a batch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from guerdon.rewards.network import RewardNet, shares_prompts
from guerdon.rewards.packing import Tree, collate, plain
from guerdon.rewards.tree_attention import NAME


def model(heads: int = 4, groups: int = 2, **options: Any) -> Any:
    from transformers import LlamaConfig, LlamaForSequenceClassification

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=heads,
        num_key_value_heads=groups, max_position_embeddings=128, num_labels=1, pad_token_id=0, **options,
    )  # fmt: skip
    return LlamaForSequenceClassification(config).eval()


def ids(seed: int, n: int) -> tuple[int, ...]:
    return tuple(torch.randint(1, 50, (n,), generator=torch.Generator().manual_seed(seed)).tolist())


TREES = [
    Tree(ids(1, 20), (ids(2, 3), ids(3, 9), ids(4, 1))),
    plain(ids(5, 12)),
    Tree(ids(6, 7), (ids(7, 2), ids(8, 30))),
    Tree((), (ids(9, 4), ids(10, 4))),
]


def scores(net: RewardNet, trees: list[Tree], *, dense: bool, left: bool = False) -> Tensor:
    return net(collate(trees, pad_id=0, left=left, dense=dense))


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_trees_score_as_under_a_dense_mask_and_as_their_sequences_alone(groups: int, left: bool) -> None:
    net = RewardNet(model(groups=groups))
    with torch.no_grad():
        found = scores(net, TREES, dense=False, left=left)
        torch.testing.assert_close(found, scores(net, TREES, dense=True, left=left), atol=1e-5, rtol=0)
        alone = [scores(net, [plain(tree.prefix + branch)], dense=False) for tree in TREES for branch in tree.branches]
        torch.testing.assert_close(found, torch.cat(alone), atol=1e-5, rtol=0)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_gradients_are_those_of_a_dense_mask_also_when_layers_are_computed_again(checkpointing: bool) -> None:
    gradients = []
    for dense in (True, False):
        net = RewardNet(model())
        net.train()
        if checkpointing:
            net.model.gradient_checkpointing_enable({"use_reentrant": False})
        scores(net, TREES, dense=dense).square().sum().backward()
        gradients.append([p.grad.clone() for p in net.parameters() if p.grad is not None])
    for dense_gradient, tree_gradient in zip(*gradients, strict=True):
        torch.testing.assert_close(tree_gradient, dense_gradient, atol=1e-4, rtol=1e-4)


def test_no_token_of_a_branch_sees_another_branch() -> None:
    net = RewardNet(model())
    one = Tree(ids(1, 20), (ids(2, 6), ids(3, 6)))
    other = Tree(ids(1, 20), (ids(2, 6), ids(4, 6)))
    with torch.no_grad():
        assert torch.equal(scores(net, [one], dense=False)[0], scores(net, [other], dense=False)[0])


def test_a_batch_of_plain_rows_is_computed_as_by_transformers() -> None:
    bare = model()
    rows = [ids(1, 12), ids(2, 12)]
    with torch.no_grad():
        theirs = bare(input_ids=torch.tensor(rows), attention_mask=torch.ones(2, 12, dtype=torch.long)).logits[:, 0]
        ours = RewardNet(bare)(collate([plain(row) for row in rows], pad_id=0, dense=False))
    assert torch.equal(theirs, ours)


def test_a_saved_checkpoint_does_not_name_our_attention(tmp_path: Path) -> None:
    net = RewardNet(model())
    assert net.model.config._attn_implementation == NAME
    net.model.save_pretrained(tmp_path)
    assert NAME not in json.dumps(json.loads((tmp_path / "config.json").read_text()))


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_both_kinds_of_attention_share_prompts(implementation: str) -> None:
    assert shares_prompts(RewardNet(model(attn_implementation=implementation))) == (True, "")


def test_dropout_in_attention_still_trains() -> None:
    net = RewardNet(model(attention_dropout=0.5))
    net.train()
    scores(net, TREES, dense=False).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in net.parameters() if p.grad is not None)
