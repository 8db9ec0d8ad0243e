"""A reward model with a second head for what length explains (ODIN), for training only: one head is served.

The second head reads what the first one reads: the input of the model's last linear layer.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from guerdon.rewards.backbone import is_head
from guerdon.rewards.errors import UsageError
from guerdon.rewards.network import RewardNet
from guerdon.rewards.packing import Batch


class TwoHeadNet(RewardNet):
    """Scores of quality and of length: ``forward(batch) -> (n, 2)`` in float32.

    Column 0 is the model's own head, which stays a plain checkpoint of one label; column 1 is the head that is added.
    """

    def __init__(self, model: Any, *, seed: int = 0) -> None:
        super().__init__(model)
        quality = self.quality
        generator = torch.Generator().manual_seed(seed)
        # small and not zero: a head that says nothing has no correlation that could be raised
        drawn = torch.randn(1, quality.in_features, generator=generator) / quality.in_features**0.5
        self.length_head = nn.Linear(quality.in_features, 1, bias=False)
        self.length_head.weight.data.copy_(0.1 * drawn)
        self.length_head.to(quality.weight.device)

    @property
    def quality(self) -> nn.Linear:
        """The last layer of the model's own head (under PEFT the copy that is trained)."""
        found = [
            module
            for name, module in self.model.named_modules()
            if isinstance(module, nn.Linear) and module.out_features == 1 and is_head(name)
        ]
        if not found:
            raise UsageError(
                f"debias='odin' needs a head that ends in a linear layer; {type(self.classifier).__name__} has none. "
                "Use debias='fimi'"
            )
        return found[-1]

    def forward(self, batch: Batch) -> Tensor:
        seen: list[Tensor] = []
        # for this call only: the model is also measured and saved without the second head
        hook = self.quality.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
        try:
            quality = super().forward(batch)
        finally:
            hook.remove()
        with torch.autocast(quality.device.type, enabled=False):
            length = self.length_head(seen[0].float())[:, 0]
        return torch.stack([quality, length], dim=1)

    def overlap(self) -> Tensor:
        """|W_Q · W_L|: how far the two heads read the same direction."""
        return (self.quality.weight.float() * self.length_head.weight).sum().abs()
