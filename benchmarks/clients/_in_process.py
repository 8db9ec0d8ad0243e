"""Makes the reward model that the clients are proved on, and scores in process: the answers that theirs must equal.

Run by the interpreter that has guerdon, which need not be the client's:

    python _in_process.py make FOLDER
    python _in_process.py score FOLDER < asked.json > scores.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n\n"
    "{{ m['content'] | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)
SPECIALS = ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>", "<|pad|>"]
LENGTH = 256


def make(folder: Path) -> None:
    """A random Llama of two layers with one label, whose tokenizer puts BOS before plain text, as Llama 3's does."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import LlamaConfig, LlamaForSequenceClassification, PreTrainedTokenizerFast

    from guerdon.rewards.render import Renderer

    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=SPECIALS, initial_alphabet=alphabet)
    raw.train_from_iterator(["user assistant system the answer is 42 and what is 6 times 7 hello world"] * 3, trainer)
    raw.post_processor = processors.TemplateProcessing(
        single=f"{SPECIALS[0]} $A", special_tokens=[(SPECIALS[0], raw.token_to_id(SPECIALS[0]))]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token=SPECIALS[0], eos_token=SPECIALS[1], pad_token=SPECIALS[4]
    )
    tokenizer.add_special_tokens({"additional_special_tokens": SPECIALS[2:4]})
    tokenizer.chat_template, tokenizer.model_max_length = TEMPLATE, LENGTH
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=LENGTH, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, num_labels=1, initializer_range=0.3,
    )  # fmt: skip
    LlamaForSequenceClassification(config).save_pretrained(folder)
    Renderer.for_foreign(tokenizer).save(folder)


def score(folder: Path, asked: list[dict[str, Any]]) -> list[float | None]:
    """Each of these by itself: ``{"text", "special_tokens"}`` or ``{"prompt", "response"}`` by the reward model,
    ``{"prompt", "response", "reference"}`` by the verifier ``numeric``."""
    from guerdon import verifiers
    from guerdon.rewards import Prepared, Sample
    from guerdon.rewards.model import RewardModel

    model, verifier = RewardModel.load(folder, device="cpu"), verifiers.load("numeric")

    def one(ask: dict[str, Any]) -> float | None:
        if "reference" in ask:
            return verifier.score([Sample(ask["prompt"], ask["response"], ask["reference"])])[0].value
        if "text" in ask:
            text, special = ask["text"], ask["special_tokens"]
            ready = model.prepare_text(Sample("", text), text, special_tokens=special)
            return model.run([ready])[0].value if isinstance(ready, Prepared) else None
        return model.score([Sample(ask["prompt"], ask["response"])])[0].value

    return [one(ask) for ask in asked]


if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "make":
        make(folder)
    else:
        print(json.dumps(score(folder, json.load(sys.stdin))))
