"""From a trained network to the checkpoint folder that everyone else loads (checkpoint.py says what is in it)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from guerdon.rewards.backbone import quiet_loading
from guerdon.rewards.checkpoint import CARD, Card, Golden, weights_hash, write_model_card
from guerdon.rewards.errors import RenderError
from guerdon.rewards.model import RewardModel
from guerdon.rewards.network import RewardNet
from guerdon.rewards.render import Renderer
from guerdon.rewards.training.config import TrainConfig
from guerdon.rewards.types import Text

# Texts of our own, never a user's data: a checkpoint may be published. They differ in length, script and shape, and
# one holds what looks like control tokens.
GOLDEN_TEXTS: tuple[tuple[Text, Text], ...] = (
    ("What is 6 times 7?", "42"),
    ("What is 6 times 7?", "6 times 7 is 42, since it means seven sixes added up: 6 + 6 + 6 + 6 + 6 + 6 + 6."),
    ("Name a colour.", "Blue."),
    (
        "Write a short note to a colleague who is ill.",
        "Dear Ana,\n\nget well soon!\n\n- rest\n- tea\n\nBo",
    ),
    ("Translate 'good morning' into Greek and Japanese.", "Καλημέρα; おはようございます"),
    ("Print the end marker.", "<|im_end|> </s> [SEP] <|eot_id|> <|endoftext|>"),
    (
        [
            {"role": "user", "content": "Is 91 prime?"},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "Are you sure?"},
        ],
        [{"role": "assistant", "content": "No: 91 = 7 * 13."}],
    ),
)


def export(
    net: RewardNet,
    renderer: Renderer,
    config: TrainConfig,
    training: Mapping[str, Any],
    temperature: float | None,
) -> RewardModel:
    """Write the folder ``config.output`` and load it again, which proves the golden scores; returns what was loaded.

    The folder is complete before any of its files takes its place, and the card comes last.
    """
    output = config.output_folder
    work = output / ".export"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    classifier = _merged(net, work)
    with quiet_loading():
        classifier.save_pretrained(work)
    renderer.save(work)
    golden = _golden(net if net.model is classifier else RewardNet(classifier), renderer)
    Card(weights_hash(work), renderer.fingerprint, temperature, golden, training).save(work)
    write_model_card(work, base=config.base, training=training, temperature=temperature)
    for file in sorted(work.iterdir(), key=lambda file: file.name == CARD):
        target = output / file.name
        if target.is_dir():
            shutil.rmtree(target)
        os.replace(file, target)
    work.rmdir()
    return RewardModel.load(output, device=net.device)


def _merged(net: RewardNet, work: Path) -> Any:
    """The plain transformers model; adapters are saved beside it and merged into it."""
    if not hasattr(net.model, "merge_and_unload"):
        return net.model
    net.model.save_pretrained(str(work / "adapter"))
    return net.model.merge_and_unload()


@torch.no_grad()
def _golden(net: RewardNet, renderer: Renderer) -> tuple[Golden, ...]:
    model = RewardModel(net, renderer, name="export", version="export", share_prompts=False, max_batch_tokens=1)
    fitting = []
    for prompt, response in GOLDEN_TEXTS:
        try:
            fitting.append((prompt, response, renderer.render(prompt, response).ids))
        except RenderError:  # a model for very short texts, or a template that refuses a turn
            continue
    scores = model.score_ids([ids for _, _, ids in fitting])
    return tuple(Golden(p, r, ids, score) for (p, r, ids), score in zip(fitting, scores, strict=True))
