"""Any base becomes a one-label classifier: heads are drawn or kept, dropout set, GGUF converted once."""

from __future__ import annotations

import math
import shutil

import pytest
import torch

from guerdon.rewards.backbone import convert_gguf, load_backbone
from guerdon.rewards.errors import CheckpointError
from guerdon.rewards.network import RewardNet, shares_prompts


def test_a_language_model_gets_a_fresh_head_of_the_stated_spread(tiny_llama_dir):
    torch.manual_seed(0)
    backbone = load_backbone(tiny_llama_dir)
    assert backbone.fresh == ("score.weight",)
    weight = backbone.model.score.weight
    assert weight.shape == (1, 32)
    assert float(weight.detach().std()) == pytest.approx(1 / math.sqrt(33), rel=0.4)


def test_a_reward_model_keeps_its_head(tiny_llama_dir, tmp_path):
    first = load_backbone(tiny_llama_dir)
    first.model.save_pretrained(tmp_path)
    first.tokenizer.save_pretrained(tmp_path)
    again = load_backbone(tmp_path)
    assert again.fresh == ()
    assert torch.equal(again.model.score.weight, first.model.score.weight)


def test_dropout_is_what_was_asked_everywhere(minilm_dir):
    for asked in (0.0, 0.2):
        model = load_backbone(minilm_dir, dropout=asked).model
        found = {module.p for module in model.modules() if isinstance(module, torch.nn.Dropout)}
        assert found == {asked}


def test_an_encoder_gets_a_head_and_keeps_its_own_pooler(minilm_dir):
    assert load_backbone(minilm_dir).fresh == ("classifier.bias", "classifier.weight")


def test_a_base_without_backbone_weights_is_refused(tiny_llama_dir, tmp_path):
    from safetensors.torch import load_file, save_file

    broken = shutil.copytree(tiny_llama_dir, tmp_path / "broken")
    tensors = load_file(broken / "model.safetensors")
    del tensors["model.layers.1.mlp.up_proj.weight"]
    save_file(tensors, broken / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(CheckpointError, match=r"layers\.1\.mlp\.up_proj\.weight"):
        load_backbone(broken)


@pytest.mark.parametrize("base", ["/nowhere/at/all", "nowhere.gguf", "one/two/three"])
def test_a_base_that_is_not_there_is_named(base):
    with pytest.raises(CheckpointError, match="no such"):
        load_backbone(base)


def test_an_empty_folder_says_what_it_lacks(tmp_path):
    with pytest.raises(CheckpointError, match=r"neither config\.json nor a \.gguf file"):
        load_backbone(tmp_path)


@pytest.mark.slow
def test_a_gguf_becomes_a_trainable_classifier_once(smollm2_gguf, monkeypatch, tmp_path):
    """The conversion is cached by content; its tensors are float32 and not marked as quantised."""
    folder = convert_gguf(smollm2_gguf)
    stamp = (folder / "model.safetensors").stat().st_mtime_ns
    backbone = load_backbone(smollm2_gguf)
    assert (folder / "model.safetensors").stat().st_mtime_ns == stamp
    assert backbone.fresh == ("score.weight",)
    assert not getattr(backbone.model, "is_quantized", False)
    assert {p.dtype for p in backbone.model.parameters()} == {torch.float32}
    backbone.model.save_pretrained(tmp_path)
    backbone.model.config.pad_token_id = 0
    assert shares_prompts(RewardNet(backbone.model)) == (True, "")
