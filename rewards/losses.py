"""Likelihoods of preferences (pairs, rankings, pairs with ties), as pure functions of rewards.

Half-precision rewards are raised to fp32 before the first subtraction, because small differences of large bf16 rewards
and sums of many small losses collapse otherwise; fp64 stays fp64.

Every function returns the mean over the batch in nats, or with ``reduction="none"`` one value an example. A weight
multiplies its example's loss, and the sum is divided by the number of examples n, not by the sum of the weights: a
weight then means the same in every batch, and accumulated gradients add up to those of one large batch.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from guerdon.rewards._tensors import (
    checked_mask,
    checked_ranks,
    checked_rewards,
    checked_tie_parameter,
    checked_values,
    first_bad,
    shape_of,
)
from guerdon.rewards.errors import UsageError

Reduction: TypeAlias = Literal["mean", "none"]


class Outcome(IntEnum):
    """What a comparison of a and b ended in; also the column of that outcome's probability."""

    A = 0
    B = 1
    TIE = 2


def bradley_terry_loss(
    chosen: Tensor,
    rejected: Tensor,
    *,
    margin: Tensor | None = None,
    probability: Tensor | None = None,
    smoothing: float = 0.0,
    weight: Tensor | None = None,
    centring: float = 0.0,
    reduction: Reduction = "mean",
) -> Tensor:
    """Negative log-likelihood that each chosen response beats its rejected one.

    With m = chosen - rejected, margin g and p = P(chosen is better):
    weight * [p softplus(-(m - g)) + (1 - p) softplus(m + g)] + centring * (chosen + rejected)².

    chosen, rejected: rewards, shape (b,), scale logit. margin: shape (b,), >= 0, same unit; None is 0.
    probability: shape (b,), the soft label p in [0, 1]; None is 1 - smoothing.
    smoothing: in [0, 0.5), the assumed share of flipped labels; it bounds the best margin at log((1 - s) / s).
    weight: shape (b,), >= 0; None is 1. centring: >= 0, pulls the rewards of a pair towards a sum of 0, which the
    likelihood alone leaves free; the weight does not scale it.
    Raises UsageError on other shapes, values outside these ranges, or rewards that are not finite.
    Bradley & Terry 1952; margin as in Llama 2 (Touvron et al. 2023, eq. 2); centring as in Eisenstein et al. 2023.

    >>> bradley_terry_loss(torch.tensor([2.0]), torch.tensor([0.0]))
    tensor(0.1269)
    """
    chosen = checked_rewards("chosen", chosen, ("b",))
    rejected = checked_rewards("rejected", rejected, ("b",), like=chosen)
    if not 0.0 <= smoothing < 0.5:
        raise UsageError(f"smoothing must be in [0, 0.5), got {smoothing!r}; 0.5 would say that labels mean nothing")
    if not (math.isfinite(centring) and centring >= 0.0):
        raise UsageError(f"centring must be a finite number >= 0, got {centring!r}")
    if probability is not None and smoothing:
        raise UsageError(
            f"smoothing={smoothing!r} and probability were both given, and a probability replaces 1 - smoothing; "
            "set smoothing to 0, or put 1 - smoothing into probability where a label is hard"
        )
    difference = chosen - rejected
    gap = torch.zeros_like(chosen) if margin is None else checked_values("margin", margin, chosen, upper=math.inf)
    if probability is None:
        p = torch.full_like(chosen, 1.0 - smoothing)
    else:
        p = checked_values("probability", probability, chosen, upper=1.0)
    # softplus(x) = -logsigmoid(-x); torch's own softplus turns linear at 20, which costs the gradient its tail
    losses = -p * logsigmoid(difference - gap) - (1.0 - p) * logsigmoid(-difference - gap)
    losses = _weighted(losses, weight)
    if centring:
        losses = losses + centring * (chosen + rejected).square()
    return _reduced(losses, reduction)


def plackett_luce_loss(
    scores: Tensor,
    ranks: Tensor,
    mask: Tensor | None = None,
    *,
    top: int | None = None,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Negative log-likelihood of each list's ranking: the best is chosen from all, the second from the rest, …

    scores: rewards, shape (b, k), scale logit. ranks: integers >= 0, shape (b, k), 0 is best.
    mask: bool, shape (b, k), False marks padding, whose scores and ranks may hold anything (even NaN) and change
    nothing; None is all True. top: only the first ``top`` choices count (1 is best-of-k); None is all.
    weight: shape (b,), >= 0. Every list needs two real responses. Uses memory of order b·k².

    Ties: every response is chosen from itself and the strictly worse ones, so tied responses do not order each other
    and two tied responses alone cost nothing. Without ties this is Plackett–Luce exactly; with ties it is a composite
    likelihood, in which each tied response beats the worse ones on its own. A response belongs to the first ``top``
    when fewer than ``top`` are strictly better. Plackett 1975; Luce 1959.

    >>> plackett_luce_loss(torch.tensor([[2.0, 1.0, 0.0]]), torch.tensor([[0, 1, 2]]))
    tensor(0.7209)
    """
    mask = checked_mask(scores, mask)
    # padding is replaced, not multiplied away: 0 * NaN is NaN, in the value and in the gradient
    scores = checked_rewards("scores", torch.where(mask, scores, torch.zeros_like(scores)), ("b", "k"))
    ranks = checked_ranks(ranks, mask)
    if top is not None and (isinstance(top, bool) or not isinstance(top, int) or top < 1):
        raise UsageError(f"top must be a whole number >= 1 or None, got {top!r}")

    better = (ranks.unsqueeze(2) < ranks.unsqueeze(1)) & mask.unsqueeze(2) & mask.unsqueeze(1)  # (b, k, k): i beats j
    itself = torch.eye(scores.shape[1], dtype=torch.bool, device=scores.device)
    # differences first: at a reward of 100 a logsumexp in fp32 has lost five digits of the loss
    lead = scores.unsqueeze(1) - scores.unsqueeze(2)  # (b, k, k): by how much j scores above i
    losses = lead.masked_fill(~(better | itself), -math.inf).logsumexp(dim=2)  # padding has only itself: exactly 0
    if top is not None:
        n_better = better.sum(dim=1)  # (b, k)
        losses = losses.masked_fill(n_better >= top, 0.0)
    return _reduced(_weighted(losses.sum(dim=1), weight), reduction)


def davidson_probabilities(a: Tensor, b: Tensor, nu: Tensor | float) -> Tensor:
    """P(a wins), P(b wins), P(tie) under Davidson's model, shape (b, 3), columns as in ``Outcome``.

    P(a) : P(b) : P(tie) = e^a : e^b : nu · e^((a + b) / 2).

    a, b: rewards, shape (b,), scale logit. nu: >= 0, a number, a scalar tensor or one of shape (b,); 0 is
    Bradley–Terry. A nu to be learnt must stay above 0: learn its logarithm and pass ``log_nu.exp()``.
    Davidson 1970.

    >>> davidson_probabilities(torch.tensor([1.0]), torch.tensor([0.0]), 0.5)
    tensor([[0.5984, 0.2201, 0.1815]])
    """
    return _davidson_logs(a, b, nu).exp()


def davidson_loss(
    a: Tensor,
    b: Tensor,
    outcome: Tensor,
    nu: Tensor | float,
    *,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Negative log-likelihood of outcomes under Davidson's model; gradients reach a, b and a tensor nu.

    a, b, nu: as in ``davidson_probabilities``. outcome: integers of ``Outcome``, shape (b,). weight: shape (b,), >= 0.
    Raises UsageError for a tie under nu = 0, whose loss would be infinite.

    >>> davidson_loss(torch.tensor([1.0]), torch.tensor([0.0]), torch.tensor([Outcome.TIE]), 0.5)
    tensor(1.7067)
    """
    return _outcome_loss(_davidson_logs(a, b, nu), outcome, "nu must be > 0", weight, reduction)


def rao_kupper_probabilities(a: Tensor, b: Tensor, theta: Tensor | float) -> Tensor:
    """P(a wins), P(b wins), P(tie) under Rao and Kupper's model, shape (b, 3), columns as in ``Outcome``.

    P(a) = e^a / (e^a + theta e^b), P(b) = e^b / (e^b + theta e^a), a tie is the rest: it happens when a logistic
    difference of utilities lies inside ±log(theta).

    a, b: rewards, shape (b,), scale logit. theta: >= 1, a number, a scalar tensor or one of shape (b,); 1 is
    Bradley–Terry. A theta to be learnt must stay above 1: pass ``1 + raw.exp()``. Rao & Kupper 1967.

    >>> rao_kupper_probabilities(torch.tensor([1.0]), torch.tensor([0.0]), 1.5)
    tensor([[0.6444, 0.1970, 0.1586]])
    """
    return _rao_kupper_logs(a, b, theta).exp()


def rao_kupper_loss(
    a: Tensor,
    b: Tensor,
    outcome: Tensor,
    theta: Tensor | float,
    *,
    weight: Tensor | None = None,
    reduction: Reduction = "mean",
) -> Tensor:
    """Negative log-likelihood of outcomes under Rao and Kupper's model; gradients reach a, b and a tensor theta.

    a, b, theta: as in ``rao_kupper_probabilities``. outcome: integers of ``Outcome``, shape (b,). weight: shape (b,),
    >= 0. Raises UsageError for a tie under theta = 1, whose loss would be infinite.

    >>> rao_kupper_loss(torch.tensor([1.0]), torch.tensor([0.0]), torch.tensor([Outcome.A]), 1.5)
    tensor(0.4394)
    """
    return _outcome_loss(_rao_kupper_logs(a, b, theta), outcome, "theta must be > 1", weight, reduction)


def _davidson_logs(a: Tensor, b: Tensor, nu: Tensor | float) -> Tensor:
    a = checked_rewards("a", a, ("b",))
    b = checked_rewards("b", b, ("b",), like=a)
    nu = checked_tie_parameter("nu", nu, a, lowest=0.0)
    return torch.log_softmax(torch.stack([a, b, nu.log() + (a + b) / 2], dim=1), dim=1)


def _rao_kupper_logs(a: Tensor, b: Tensor, theta: Tensor | float) -> Tensor:
    a = checked_rewards("a", a, ("b",))
    b = checked_rewards("b", b, ("b",), like=a)
    theta = checked_tie_parameter("theta", theta, a, lowest=1.0)
    wins_a = logsigmoid(a - b - theta.log())
    wins_b = logsigmoid(b - a - theta.log())
    # P(tie) = (theta² - 1) P(a) P(b); factored, because theta² - 1 loses its digits near 1
    tie = (theta - 1).log() + (theta + 1).log() + wins_a + wins_b
    return torch.stack([wins_a, wins_b, tie], dim=1)


def _outcome_loss(logs: Tensor, outcome: Tensor, cure: str, weight: Tensor | None, reduction: Reduction) -> Tensor:
    if outcome.shape != logs.shape[:1] or outcome.is_floating_point() or outcome.dtype == torch.bool:
        raise UsageError(
            f"outcome must hold integers of shape ({logs.shape[0]},), got {outcome.dtype} of shape {shape_of(outcome)}"
        )
    if bool(((outcome < 0) | (outcome > max(Outcome))).any()):
        raise UsageError(f"outcome must be 0 (a wins), 1 (b wins) or 2 (tie), got {first_bad(outcome, 0, 2)}")
    losses = -logs.gather(1, outcome.long().unsqueeze(1)).squeeze(1)
    if bool((torch.isinf(losses) & (outcome == Outcome.TIE)).any()):
        raise UsageError(f"the model gives an observed tie no probability; with ties among the outcomes {cure}")
    return _reduced(_weighted(losses, weight), reduction)


def _weighted(losses: Tensor, weight: Tensor | None) -> Tensor:
    return losses if weight is None else losses * checked_values("weight", weight, losses, upper=math.inf)


def _reduced(losses: Tensor, reduction: Reduction) -> Tensor:
    if reduction == "mean":
        return losses.mean()
    if reduction == "none":
        return losses
    raise UsageError(f"reduction must be 'mean' or 'none', got {reduction!r}")
