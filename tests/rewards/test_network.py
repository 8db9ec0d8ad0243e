"""The network reads the true last token, whatever the padding, the batch and the pad id; trees change no score."""

import pytest
import torch
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2ForSequenceClassification,
    LlamaConfig,
    LlamaForSequenceClassification,
    MistralConfig,
    MistralForSequenceClassification,
    Qwen2Config,
    Qwen2ForSequenceClassification,
)

from guerdon.rewards.network import RewardNet, shares_prompts
from guerdon.rewards.packing import plain, share_prefix

PAD = 0
SEQUENCES = [(5, 6, 7, 8, 9, 10), (5, 6, 7, 20), (5, 6, 7, 21, 22, 23, 24, PAD)]
SMALL = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
    "pad_token_id": PAD,
    "num_labels": 1,
}
GROUPED = {"num_key_value_heads": 2}
SMALL_GPT2 = {"vocab_size": 300, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256}
SPECIAL = {"pad_token_id": PAD, "bos_token_id": 1, "eos_token_id": 2, "num_labels": 1}
CAUSAL = {
    "llama": lambda: LlamaForSequenceClassification(LlamaConfig(**SMALL)),
    "qwen2": lambda: Qwen2ForSequenceClassification(Qwen2Config(**SMALL, **GROUPED)),
    "mistral": lambda: MistralForSequenceClassification(MistralConfig(**SMALL, **GROUPED, sliding_window=None)),
    "gpt2": lambda: GPT2ForSequenceClassification(GPT2Config(**SMALL_GPT2, **SPECIAL)),
}


@pytest.fixture(params=CAUSAL)
def causal(request):
    torch.manual_seed(0)
    return RewardNet(CAUSAL[request.param]()).eval()


@torch.no_grad()
def alone(net):
    return torch.cat([net(net.collate([plain(sequence)])) for sequence in SEQUENCES])


@torch.no_grad()
def test_scores_are_the_head_at_the_true_last_token_even_if_it_is_the_pad_id(causal):
    classifier = causal.classifier
    hidden = [classifier.base_model(torch.tensor([s])).last_hidden_state[0, -1] for s in SEQUENCES]
    expected = torch.stack([classifier.score(h)[0] for h in hidden])
    torch.testing.assert_close(alone(causal), expected, atol=1e-6, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("left", [False, True])
def test_neither_batch_nor_padding_side_moves_a_score(causal, left):
    batch = causal.collate([plain(sequence) for sequence in SEQUENCES], left=left)
    torch.testing.assert_close(causal(batch), alone(causal), atol=1e-6, rtol=0)


@torch.no_grad()
@pytest.mark.parametrize("left", [False, True])
def test_a_shared_prompt_moves_no_score(causal, left):
    trees = [share_prefix(SEQUENCES), plain((9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9))]
    torch.testing.assert_close(causal(causal.collate(trees, left=left))[:3], alone(causal), atol=1e-6, rtol=0)


def test_plain_causal_attention_shares_prompts(causal):
    assert shares_prompts(causal) == (True, "")


def test_a_sliding_window_is_found_out_and_not_shared():
    torch.manual_seed(0)
    net = RewardNet(MistralForSequenceClassification(MistralConfig(**SMALL, **GROUPED, sliding_window=8)))
    shares, why = shares_prompts(net)
    assert not shares
    assert "moved the probe's scores" in why


def test_an_encoder_is_never_shared_and_keeps_its_own_pooling():
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig(**SMALL)).eval()
    net = RewardNet(model).eval()
    assert shares_prompts(net)[0] is False
    with torch.no_grad():
        expected = torch.cat([model(torch.tensor([s])).logits[:, 0] for s in SEQUENCES])
        batched = net(net.collate([plain(s) for s in SEQUENCES], left=True))
    torch.testing.assert_close(batched, expected, atol=1e-6, rtol=0)


def test_a_half_precision_model_still_scores_through_a_float32_head(tiny_llama_dir):
    model = AutoModelForSequenceClassification.from_pretrained(tiny_llama_dir, num_labels=1, dtype=torch.bfloat16)
    net = RewardNet(model).eval()
    with torch.no_grad():
        model.score.weight.copy_(model.score.weight * 1e-3 + 100.0)
        scores = net(net.collate([plain((3, i, 7)) for i in range(5, 25)]))
    assert scores.dtype == torch.float32
    # near 100 x 32 the spacing of bfloat16 is 16: a bf16 head would leave a handful of distinct scores
    assert len(set(scores.tolist())) == 20
