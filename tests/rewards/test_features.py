"""The features a model gives are what its head reads: the head applied to them is the score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
)

from guerdon.rewards import Sample
from guerdon.rewards.errors import UsageError
from guerdon.rewards.model import RewardModel
from guerdon.rewards.network import RewardNet
from guerdon.rewards.packing import plain
from guerdon.rewards.render import Renderer
from guerdon.rewards.train import TrainConfig, train

SMALL = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "pad_token_id": 0,
    "num_labels": 1,
}
SEQUENCES = [(5, 6, 7, 8, 9), (5, 6, 20), (5, 6, 7, 21, 22, 23)]


@pytest.mark.parametrize("family", ["encoder", "causal"])
def test_the_head_on_the_features_is_the_score(family: str) -> None:
    torch.manual_seed(0)
    model = (
        BertForSequenceClassification(BertConfig(**SMALL))
        if family == "encoder"
        else LlamaForSequenceClassification(LlamaConfig(**SMALL))
    )
    net = RewardNet(model).eval()
    batch = net.collate([plain(s) for s in SEQUENCES])
    with torch.no_grad():
        features, scores = net.features(batch), net(batch)
        torch.testing.assert_close(net.head(features)[:, 0], scores, atol=1e-6, rtol=0)
    assert features.shape == (3, 32)
    assert features.std(dim=0).min() > 0


def test_a_head_that_is_not_linear_is_refused() -> None:
    net = RewardNet(LlamaForSequenceClassification(LlamaConfig(**SMALL)))
    net.model.score = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh())
    with pytest.raises(UsageError, match="no head that ends in a linear layer"):
        _ = net.head


def test_features_of_a_model_keep_the_order_and_leave_nan_where_there_is_no_score(tiny_llama_dir: Path) -> None:
    torch.manual_seed(0)
    network = AutoModelForSequenceClassification.from_pretrained(tiny_llama_dir, num_labels=1)
    renderer = Renderer.for_training(AutoTokenizer.from_pretrained(tiny_llama_dir), max_length=64)
    model = RewardModel(RewardNet(network), renderer, name="tiny", version="1", max_batch_tokens=40)
    samples = [Sample("what is " + "6 " * n, "the answer is " + "42 " * n) for n in (3, 1, 60, 2)]
    features = model.features(samples)
    weight, bias = model.head()
    scores = [score.value for score in model.score(samples)]
    assert scores[2] is None
    assert features[2].isnan().all()
    for row in (0, 1, 3):
        assert float(features[row] @ weight) + bias == pytest.approx(scores[row], abs=1e-5)
    assert model.features([]).shape == (0, 32)


def test_a_trained_model_tells_its_origin(tiny_llama_dir: Path, tmp_path: Path) -> None:
    rows = [{"prompt": f"say {i}", "chosen": f"{i} is here", "rejected": f"no {i * 3}"} for i in range(16)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    config = TrainConfig(
        base=str(tiny_llama_dir), data=(str(tmp_path / "rows.jsonl"),), output=str(tmp_path / "model"), precision="fp32"
    )
    model = RewardModel.load(train(config).folder)
    assert model.origin == {"backbone": tiny_llama_dir.name, "data": ["rows.jsonl"]}
