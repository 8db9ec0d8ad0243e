"""Debiasing length while training: what is added to the loss of each pair, and the memory that it comes from.

A penalty on a correlation needs more scores than a step has. So the last ``WINDOW`` scores are kept, detached, and each
step takes its slopes from them (length.py): the penalty is then a sum over pairs, like the likelihood, and a step may
be accumulated or split over processes without changing what is learned.

    fimi               BT + s |rho(r, f(L))|, f the least-squares fit of the window: the exact form of FiMi-RM
    fimi-alternating   the same with f a small network that is trained a little every few steps, as published
    odin               two heads, the sum of which is trained: BT + s (|rho(r_Q, L)| + 1 - rho(r_L, L) + |W_Q · W_L|);
                       r_Q is kept

s is ``debias_strength``; L the characters of the whole response, whatever of it is cut. FiMi-RM: arXiv 2505.12843.
ODIN: Chen et al. 2024, arXiv 2402.07319 (its code weighs the correlations 0.1, its text 1). [derived]: the window, the
unit of a penalty (``Dependence.unit``) and the network are ours, and no parity with published figures is claimed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor

from guerdon.rewards.network import RewardNet
from guerdon.rewards.training.batches import Pair
from guerdon.rewards.training.bias_model import BiasModel
from guerdon.rewards.training.config import TrainConfig
from guerdon.rewards.training.length import Curve, Dependence, projection
from guerdon.rewards.training.two_heads import TwoHeadNet

WINDOW = 512
"""Scores remembered: 16 steps of 16 pairs. In simulation (strength 1) the final multiple correlation with length was
0.12, 0.09 and 0.08 with 256, 512 and 1,024, and quality was seen best with 512."""

FEWEST = 128
"""Scores needed before a curve is fitted: about seven for each of its seventeen coefficients."""


class Debias(Protocol):
    """A debiasing method, as the steps see it. Scores are (n, heads), or (n,) where there is one head."""

    def begin(self, step: int) -> None:
        """Take the slopes of this step from the memory."""
        ...

    def total(self, scores: Tensor) -> Tensor:
        """What the likelihood sees, (n,)."""
        ...

    def served(self, scores: Tensor) -> Tensor:
        """What the model that is saved gives, (n,)."""
        ...

    def penalties(self, chosen: Tensor, rejected: Tensor, pairs: Sequence[Pair]) -> Tensor:
        """What is added to the loss of each pair, (n,), already times the strength."""
        ...

    def remember(self, scores: Tensor, pairs: Sequence[Pair]) -> None:
        """Keep the scores of a whole step: (2n, heads), the chosen ones first."""
        ...

    def figures(self) -> dict[str, float]: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


def prepare(model: Any, config: TrainConfig) -> tuple[RewardNet, Debias | None]:
    """The network as it is trained, and what debiases it (None without debiasing)."""
    if config.debias is None:
        return RewardNet(model), None
    if config.debias == "odin":
        net = TwoHeadNet(model, seed=config.seed)
        return net, Odin(net, config.debias_strength)
    bias_model = BiasModel(seed=config.seed) if config.debias == "fimi-alternating" else None
    return RewardNet(model), Fimi(config.debias_strength, bias_model)


class Memory:
    """The last scores and the lengths of their responses, float64 on the CPU; at least one whole step of them.

    The scores of a step are kept about their own mean: while a model learns their level drifts, and is not to be taken
    for an effect of length. level: that of the last step.
    """

    def __init__(self, heads: int) -> None:
        self.scores = torch.empty(0, heads, dtype=torch.float64)
        self.lengths = torch.empty(0, dtype=torch.float64)
        self.level = torch.zeros(heads, dtype=torch.float64)

    def __len__(self) -> int:
        return len(self.lengths)

    def add(self, scores: Tensor, lengths: Tensor) -> None:
        kept = max(WINDOW, len(lengths))
        self.level = scores.mean(dim=0)
        self.scores = torch.cat([self.scores, scores - self.level])[-kept:]
        self.lengths = torch.cat([self.lengths, lengths])[-kept:]

    def state_dict(self) -> dict[str, Tensor]:
        return {"scores": self.scores, "lengths": self.lengths, "level": self.level}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.scores, self.lengths, self.level = state["scores"], state["lengths"], state["level"]


class Fimi:
    """Punishes how well a curve of length explains the scores. bias_model: None fits the curve by least squares."""

    def __init__(self, strength: float, bias_model: BiasModel | None = None) -> None:
        self.strength, self.bias_model = strength, bias_model
        self.memory = Memory(1)
        self.dependence: Dependence | None = None

    def begin(self, step: int) -> None:
        self.dependence = None
        if len(self.memory) < FEWEST:
            return
        scores, lengths = self.memory.scores[:, 0], self.memory.lengths
        curve: Curve
        if self.bias_model is None:
            curve = projection(scores, lengths)
        else:
            self.bias_model.learn(step, scores, lengths)
            curve = self.bias_model
        self.dependence = Dependence.of(scores, lengths, curve)

    def total(self, scores: Tensor) -> Tensor:
        return scores

    served = total

    def penalties(self, chosen: Tensor, rejected: Tensor, pairs: Sequence[Pair]) -> Tensor:
        return self.strength * _less(self.dependence, chosen, rejected, pairs)

    def remember(self, scores: Tensor, pairs: Sequence[Pair]) -> None:
        self.memory.add(_on_cpu(scores).reshape(-1, 1), _lengths(pairs))

    def figures(self) -> dict[str, float]:
        return {"length_correlation": abs(self.dependence.rho)} if self.dependence else {}

    def state_dict(self) -> dict[str, Any]:
        memory = {"memory": self.memory.state_dict()}
        return memory if self.bias_model is None else {**memory, "bias_model": self.bias_model.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.memory.load_state_dict(state["memory"])
        if self.bias_model is not None:
            self.bias_model.load_state_dict(state["bias_model"])


class Odin:
    """Two heads: one is drawn towards length, the other away from it, and their sum is what the pairs teach."""

    def __init__(self, net: TwoHeadNet, strength: float) -> None:
        self.net, self.strength = net, strength
        self.memory = Memory(2)
        self.quality: Dependence | None = None
        self.length: Dependence | None = None

    def begin(self, step: int) -> None:
        self.quality = self.length = None
        if len(self.memory) >= FEWEST:
            scores, lengths = self.memory.scores, self.memory.lengths
            self.quality, self.length = (Dependence.of(scores[:, i], lengths, _itself) for i in range(2))

    def total(self, scores: Tensor) -> Tensor:
        return scores.sum(dim=1)

    def served(self, scores: Tensor) -> Tensor:
        return scores[:, 0]

    def penalties(self, chosen: Tensor, rejected: Tensor, pairs: Sequence[Pair]) -> Tensor:
        quality = _less(self.quality, chosen[:, 0], rejected[:, 0], pairs)
        length = _more(self.length, chosen[:, 1], rejected[:, 1], pairs, float(self.memory.level[1]))
        return self.strength * (quality + 1.0 - length + self.net.overlap())

    def remember(self, scores: Tensor, pairs: Sequence[Pair]) -> None:
        self.memory.add(_on_cpu(scores), _lengths(pairs))

    def figures(self) -> dict[str, float]:
        if self.quality is None or self.length is None:
            return {}
        return {"length_correlation": abs(self.quality.rho), "length_head_correlation": self.length.rho}

    def state_dict(self) -> dict[str, Any]:
        return {"memory": self.memory.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.memory.load_state_dict(state["memory"])


def _less(dependence: Dependence | None, chosen: Tensor, rejected: Tensor, pairs: Sequence[Pair]) -> Tensor:
    """A term a pair whose value is |rho| in the dependence's units, to be lowered; 0 while there is no dependence."""
    if dependence is None:
        return torch.zeros_like(chosen)
    return _term(dependence.size, dependence.less(_lengths(pairs)), torch.cat([chosen, rejected]))


def _more(
    dependence: Dependence | None, chosen: Tensor, rejected: Tensor, pairs: Sequence[Pair], level: float
) -> Tensor:
    """A term a pair whose value is rho, to be raised; 0 while there is no dependence. level: of the last scores."""
    if dependence is None:
        return torch.zeros_like(chosen)
    scores = torch.cat([chosen, rejected])
    return _term(dependence.rho, dependence.more(_on_cpu(scores) - level, _lengths(pairs)), scores)


def _term(value: float, slopes: Tensor, scores: Tensor) -> Tensor:
    """(n,) for the 2n scores of n pairs: the value, with the mean of the slopes of its two sides as gradient."""
    moves = slopes.to(scores.device, scores.dtype) * (scores - scores.detach())
    return value + moves.reshape(2, -1).mean(dim=0)


def _itself(lengths: Tensor) -> Tensor:
    return lengths


def _lengths(pairs: Sequence[Pair]) -> Tensor:
    """Characters of the chosen responses, then of the rejected ones."""
    sides = [[pair.chosen_length for pair in pairs], [pair.rejected_length for pair in pairs]]
    return torch.tensor(sides, dtype=torch.float64).reshape(-1)


def _on_cpu(scores: Tensor) -> Tensor:
    # float64 first where the device has it not (MPS): the move comes before the cast
    return scores.detach().cpu().double()
