"""The bias model of FiMi-RM's alternating form: a small network from a response's length to the score it would excuse.

Two residual blocks and a linear output, about six thousand weights as published (arXiv 2505.12843); widths, optimiser
and rate are ours [derived]. It learns -|rho(r, f(L))| on the remembered scores for a few steps, then stands still while
the reward model learns: trained until it converges, the two chase each other (the reward model takes up again the curve
that the bias model has just left).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from guerdon.rewards.training.length import WIDTH, correlation, length_basis

EVERY = 8
"""Steps of the reward model between two visits of the bias model, and steps of the bias model a visit."""

HIDDEN = 36
RATE = 1e-2


class _Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.inner(x)
        return found


class BiasModel:
    """A curve of length, called with lengths (n,) and giving a float64 number each."""

    def __init__(self, *, seed: int = 0) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layers = (nn.Linear(1 + WIDTH, HIDDEN), _Block(HIDDEN), _Block(HIDDEN), nn.Linear(HIDDEN, 1))
            self.net = nn.Sequential(*layers).double()
        self.optimiser = torch.optim.Adam(self.net.parameters(), lr=RATE)

    def learn(self, step: int, scores: Tensor, lengths: Tensor) -> None:
        """``EVERY`` steps of -|rho| on the scores (n,), if the step is one at which it visits."""
        if step % EVERY:
            return
        inputs = _inputs(lengths)
        for _ in range(EVERY):
            self.optimiser.zero_grad()
            (-correlation(self.net(inputs)[:, 0], scores).abs()).backward()
            self.optimiser.step()

    @torch.no_grad()
    def __call__(self, lengths: Tensor) -> Tensor:
        found: Tensor = self.net(_inputs(lengths))[:, 0]
        return found

    def state_dict(self) -> dict[str, Any]:
        return {"net": self.net.state_dict(), "optimiser": self.optimiser.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.net.load_state_dict(state["net"])
        self.optimiser.load_state_dict(state["optimiser"])


def _inputs(lengths: Tensor) -> Tensor:
    """The length basis with the logarithm brought to the size of the waves (responses have 10 to 10,000 characters)."""
    basis = length_basis(lengths)
    return torch.cat([(basis[:, :1] - 6.0) / 2.0, basis[:, 1:]], dim=1)
