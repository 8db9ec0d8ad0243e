"""Debiasing length while training: what is added to the likelihood of a step, and the memory behind it.

    fimi               BT + s |rho(r, f(L))|, f the least-squares fit to remembered scores: the exact form of FiMi-RM
    fimi-alternating   the same with f a small network that is trained a little every few steps, as published
    odin               two heads, the sum of which is trained: BT + s (|rho(r_Q, L)| + 1 - rho(r_L, L) + |W_Q · W_L|);
                       r_Q is kept

s is ``debias_strength``; L the characters of the whole response, whatever of it is cut; rho the correlation over the
step. The 32 scores of a usual step cannot tell the seventeen features of f from noise, so f is fitted to the scores of
earlier steps, as the bias model of the alternating form is. Its sign and size are judged on the step itself: taken from
old scores, the penalty pushes on after the model has turned, and the two swing (seen on real pairs).

FiMi-RM: arXiv 2505.12843. ODIN: Chen et al. 2024, arXiv 2402.07319 (its code weighs the correlations 0.1, its text 1).
[derived]: memory, ``measured_in_logits`` and the network are ours, and no parity with published figures is claimed.
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
from guerdon.rewards.training.length import Curve, correlation, projection
from guerdon.rewards.training.two_heads import TwoHeadNet

WINDOW = 1_024
"""Scores remembered: 32 steps of 16 pairs. In simulation (strength 1, three seeds) the final multiple correlation with
length was 0.18 with 512 and with 1,024, at three times the learning rate 0.16 and 0.14; without debiasing 0.72."""

FEWEST = 128
"""Scores needed before a curve is fitted: about seven for each of its coefficients."""


class Debias(Protocol):
    """A debiasing method, as the steps see it. Scores of a whole step are (2n, heads), the chosen ones first."""

    def total(self, scores: Tensor) -> Tensor:
        """What the likelihood sees, of scores (n, heads) or, with one head, (n,)."""
        ...

    def served(self, scores: Tensor) -> Tensor:
        """What the model that is saved gives, (n,)."""
        ...

    def pull(self, scores: Tensor, pairs: Sequence[Pair], step: int) -> Tensor:
        """The gradient of the step's penalty with respect to its scores, (2n, heads); remembers the scores."""
        ...

    def of_weights(self) -> Tensor | None:
        """What is added to the loss for the weights alone."""
        ...

    def figures(self) -> dict[str, float]:
        """Correlations of the last step."""
        ...

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


class Fimi:
    """Punishes the correlation with a curve of length. bias_model: None fits the curve by least squares.

    The scores of a step are remembered about their own mean: while a model learns their level drifts, and that is not
    to be taken for an effect of length.
    """

    def __init__(self, strength: float, bias_model: BiasModel | None = None) -> None:
        self.strength, self.bias_model = strength, bias_model
        self.scores, self.lengths = torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float64)
        self.rho: float | None = None

    def total(self, scores: Tensor) -> Tensor:
        return scores

    served = total

    def pull(self, scores: Tensor, pairs: Sequence[Pair], step: int) -> Tensor:
        given, lengths = _on_cpu(scores)[:, 0].requires_grad_(), _lengths(pairs)
        self.rho = None
        penalty = given.sum() * 0.0
        if (curve := self._curve(step)) is not None:
            rho = correlation(given, curve(lengths))
            self.rho = float(rho.detach())
            penalty = rho.abs() * measured_in_logits(given)
        (gradient,) = torch.autograd.grad(penalty, given)
        kept = max(WINDOW, len(lengths))
        given = given.detach()
        self.scores = torch.cat([self.scores, given - given.mean()])[-kept:]
        self.lengths = torch.cat([self.lengths, lengths])[-kept:]
        return self.strength * gradient[:, None].to(scores.device, scores.dtype)

    def _curve(self, step: int) -> Curve | None:
        if len(self.scores) < FEWEST:
            return None
        if self.bias_model is None:
            return projection(self.scores, self.lengths)
        self.bias_model.learn(step, self.scores, self.lengths)
        return self.bias_model

    def of_weights(self) -> Tensor | None:
        return None

    def figures(self) -> dict[str, float]:
        return {} if self.rho is None else {"length_correlation": self.rho}

    def state_dict(self) -> dict[str, Any]:
        bias_model = None if self.bias_model is None else self.bias_model.state_dict()
        return {"scores": self.scores, "lengths": self.lengths, "bias_model": bias_model}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.scores, self.lengths = state["scores"], state["lengths"]
        if self.bias_model is not None:
            self.bias_model.load_state_dict(state["bias_model"])


class Odin:
    """Two heads: one is drawn towards length, the other away from it, and their sum is what the pairs teach."""

    def __init__(self, net: TwoHeadNet, strength: float) -> None:
        self.net, self.strength = net, strength
        self.rho: tuple[float, float] | None = None

    def total(self, scores: Tensor) -> Tensor:
        return scores.sum(dim=1)

    def served(self, scores: Tensor) -> Tensor:
        return scores[:, 0]

    def pull(self, scores: Tensor, pairs: Sequence[Pair], step: int) -> Tensor:
        given, lengths = _on_cpu(scores).requires_grad_(), _lengths(pairs)
        quality, length = (correlation(given[:, head], lengths) for head in (0, 1))
        self.rho = float(quality.detach()), float(length.detach())
        penalty = quality.abs() * measured_in_logits(given[:, 0]) - length * measured_in_logits(given[:, 1])
        (gradient,) = torch.autograd.grad(penalty, given)
        return self.strength * gradient.to(scores.device, scores.dtype)

    def of_weights(self) -> Tensor | None:
        return self.strength * self.net.overlap()

    def figures(self) -> dict[str, float]:
        if self.rho is None:
            return {}
        return {"length_correlation": self.rho[0], "length_head_correlation": self.rho[1]}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        pass


def measured_in_logits(scores: Tensor) -> float:
    """min(1, the scores' standard deviation): a factor for a penalty on a correlation.

    The gradient of a correlation goes with 1 / spread. A head that was just drawn has next to no spread, and the
    penalty would drown the likelihood until it has.
    """
    return min(1.0, float(scores.detach().std(unbiased=False)))


def _lengths(pairs: Sequence[Pair]) -> Tensor:
    """Characters of the chosen responses, then of the rejected ones."""
    sides = [[pair.chosen_length for pair in pairs], [pair.rejected_length for pair in pairs]]
    return torch.tensor(sides, dtype=torch.float64).reshape(-1)


def _on_cpu(scores: Tensor) -> Tensor:
    # the move comes before the cast: MPS has no float64
    return scores.detach().cpu().double()
