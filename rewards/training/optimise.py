"""How a step moves the weights: learning rates by layer, their schedule, and the loss of each pair."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from guerdon.rewards.backbone import is_head
from guerdon.rewards.losses import bradley_terry_loss
from guerdon.rewards.network import RewardNet
from guerdon.rewards.training.batches import Pair
from guerdon.rewards.training.config import TrainConfig


def learning_rate(step: int, total: int, warmup: float) -> float:
    """The factor of step 0 … total - 1: up linearly over the warm-up share, then down linearly to almost zero."""
    rising = max(1, math.ceil(warmup * total))
    if step < rising:
        return (step + 1) / rising
    return (total - step) / max(1, total - rising)


_LAYER = re.compile(r"\.(?:layers?|h|blocks?)\.(\d+)\.")


def parameter_groups(net: RewardNet, config: TrainConfig) -> list[dict[str, Any]]:
    """Trainable parameters by learning rate and weight decay: head, layers from top to bottom, embeddings.

    A layer's rate is ``layer_decay`` times that of the layer above; embeddings count as the layer below the first.
    """
    named = [(name, p) for name, p in net.named_parameters() if p.requires_grad]
    depth = 1 + max((int(m[1]) for name, _ in named if (m := _LAYER.search(name))), default=-1)
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in named:
        if is_head(name) or name.startswith("length_head."):  # the second one of debias="odin"
            rate = config.head_learning_rate
        else:
            found = _LAYER.search(name)
            below_top = depth - 1 - int(found[1]) if found else (depth if "embed" in name else 0)
            rate = config.learning_rate * config.layer_decay**below_top
        decay = config.weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((rate, decay), []).append(parameter)
    return [{"params": members, "lr": rate, "weight_decay": decay} for (rate, decay), members in groups.items()]


def pair_losses(chosen: Tensor, rejected: Tensor, pairs: Sequence[Pair], config: TrainConfig) -> Tensor:
    """Bradley–Terry loss of each pair, (n,), with the margins, soft labels and weights that the data gives."""

    def column(values: list[float]) -> Tensor:
        return torch.tensor(values, dtype=chosen.dtype, device=chosen.device)

    margin = probability = weight = None
    smoothing = config.smoothing
    if any(pair.margin is not None for pair in pairs):
        margin = column([pair.margin or 0.0 for pair in pairs])
    if any(pair.probability is not None for pair in pairs):
        hard = 1.0 - smoothing
        probability = column([hard if pair.probability is None else pair.probability for pair in pairs])
        smoothing = 0.0
    if any(pair.weight != 1.0 for pair in pairs):
        weight = column([pair.weight for pair in pairs])
    return bradley_terry_loss(
        chosen,
        rejected,
        margin=margin,
        probability=probability,
        smoothing=smoothing,
        weight=weight,
        centring=config.centring,
        reduction="none",
    )
