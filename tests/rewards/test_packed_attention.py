"""Sequences end to end in one row score as in padded rows, forwards and backwards, on decoders and encoders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from guerdon.rewards.network import RewardNet, shares_prompts
from guerdon.rewards.packed_attention import NAME
from guerdon.rewards.packing import Tree, collate, pack, plain


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


def scores(net: RewardNet, trees: list[Tree], *, packed: bool) -> Tensor:
    assert net.packs
    return net(pack(trees, both_ways=not net.causal) if packed else collate(trees, pad_id=0))


def encoder(kind: str = "bert", **options: Any) -> Any:
    import transformers

    torch.manual_seed(0)
    config, model = {
        "bert": (transformers.BertConfig, transformers.BertForSequenceClassification),
        "roberta": (transformers.RobertaConfig, transformers.RobertaForSequenceClassification),
        "electra": (transformers.ElectraConfig, transformers.ElectraForSequenceClassification),
    }[kind]
    settings = {
        "vocab_size": 50, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
        "num_attention_heads": 4, "max_position_embeddings": 64, "num_labels": 1, "pad_token_id": 0,
    }  # fmt: skip
    return model(config(**{**settings, **options})).eval()


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_trees_score_as_in_padded_rows_and_as_their_sequences_alone(groups: int) -> None:
    net = RewardNet(model(groups=groups))
    with torch.no_grad():
        found = scores(net, TREES, packed=True)
        torch.testing.assert_close(found, scores(net, TREES, packed=False), atol=1e-5, rtol=0)
        alone = [scores(net, [plain(tree.prefix + branch)], packed=True) for tree in TREES for branch in tree.branches]
        torch.testing.assert_close(found, torch.cat(alone), atol=1e-5, rtol=0)


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra"])
def test_encoders_score_more_tokens_in_a_row_than_they_have_positions(kind: str) -> None:
    net = RewardNet(encoder(kind))
    sequences = [plain(ids(seed, n)) for seed, n in enumerate((5, 40, 1, 13, 50, 22), start=1)]
    with torch.no_grad():
        torch.testing.assert_close(
            scores(net, sequences, packed=True), scores(net, sequences, packed=False), atol=1e-5, rtol=0
        )
        features = [net.features(batch) for batch in (pack(sequences, both_ways=True), collate(sequences, pad_id=0))]
        torch.testing.assert_close(*features, atol=1e-5, rtol=0)


@pytest.mark.parametrize("checkpointing", [False, True])
@pytest.mark.parametrize("causal", [False, True])
def test_gradients_are_those_of_padded_rows_also_when_layers_are_computed_again(
    causal: bool, checkpointing: bool
) -> None:
    rows = TREES if causal else [plain(ids(seed, n)) for seed, n in enumerate((5, 20, 9), start=1)]
    gradients = []
    for packed in (False, True):
        net = RewardNet(model() if causal else encoder(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))
        net.train()
        if checkpointing:
            net.model.gradient_checkpointing_enable({"use_reentrant": False})
        scores(net, rows, packed=packed).square().sum().backward()
        gradients.append([p.grad.clone() for p in net.parameters() if p.grad is not None])
    for padded_gradient, packed_gradient in zip(*gradients, strict=True):
        torch.testing.assert_close(packed_gradient, padded_gradient, atol=1e-4, rtol=1e-4)


def test_no_token_of_a_branch_sees_another_branch() -> None:
    net = RewardNet(model())
    one = Tree(ids(1, 20), (ids(2, 6), ids(3, 6)))
    other = Tree(ids(1, 20), (ids(2, 6), ids(4, 6)))
    with torch.no_grad():
        assert torch.equal(scores(net, [one], packed=True)[0], scores(net, [other], packed=True)[0])


def test_padded_rows_are_computed_as_by_transformers() -> None:
    bare = model()
    rows = [ids(1, 12), ids(2, 12)]
    with torch.no_grad():
        theirs = bare(input_ids=torch.tensor(rows), attention_mask=torch.ones(2, 12, dtype=torch.long)).logits[:, 0]
        ours = scores(RewardNet(bare), [plain(row) for row in rows], packed=False)
    assert torch.equal(theirs, ours)


def test_a_saved_checkpoint_does_not_name_our_attention(tmp_path: Path) -> None:
    net = RewardNet(model())
    assert net.packs
    assert net.model.config._attn_implementation == NAME
    net.model.save_pretrained(tmp_path)
    assert NAME not in json.dumps(json.loads((tmp_path / "config.json").read_text()))


@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_both_kinds_of_attention_share_prompts(implementation: str) -> None:
    net = RewardNet(model(attn_implementation=implementation))
    assert net.packs is (implementation == "sdpa")
    assert shares_prompts(net) == (True, "")


def test_a_model_with_a_sliding_window_is_padded() -> None:
    from transformers import MistralConfig, MistralForSequenceClassification

    config = MistralConfig(
        vocab_size=50, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4,
        num_key_value_heads=2, num_labels=1, pad_token_id=0, sliding_window=8,
    )  # fmt: skip
    net = RewardNet(MistralForSequenceClassification(config).eval())
    assert not net.packs
    assert net.model.config._attn_implementation == "sdpa"


def test_dropout_in_attention_still_trains() -> None:
    net = RewardNet(model(attention_dropout=0.5))
    net.train()
    scores(net, TREES, packed=True).sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in net.parameters() if p.grad is not None)
