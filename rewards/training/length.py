"""How far scores follow length: the code of a length, the multiple correlation with it, and its gradient a score.

FiMi-RM (arXiv 2505.12843) fits a bias model to scores on length alone and punishes the reward model for the correlation
with it. For a bias model that is linear in fixed features the best one is the least-squares fit, so that the inner
problem needs no training: max |rho| = ||P r|| / ||r||, with P the projection on the features and r centred. That is
``multiple_correlation``. ``Dependence`` is the same number taken from a window of earlier scores, as a slope for each
new score, because the 32 scores of a usual step cannot tell seventeen features from noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from guerdon.rewards.errors import UsageError

WIDTH = 16
"""Entries of the length code, as in FiMi-RM."""

SMALLEST = 1e-12
"""A variance below this share of the mean square is rounding, and counts as none."""


def length_code(lengths: Tensor, width: int = WIDTH) -> Tensor:
    """Sines, then cosines, of L / 10000^(2j / width), j = 0 … width/2 - 1. lengths: (n,) >= 0; gives (n, width).

    FiMi-RM, arXiv 2505.12843: the code of positions of Vaswani et al. 2017, for lengths.

    >>> length_code(torch.tensor([100.0], dtype=torch.float64), 4).round(decimals=4).tolist()
    [[-0.5064, 0.8415, 0.8623, 0.5403]]
    """
    if width < 2 or width % 2:
        raise UsageError(f"width must be an even number of at least 2, got {width!r}")
    powers = torch.arange(0, width, 2, dtype=lengths.dtype, device=lengths.device) / width
    angles = lengths[:, None] / 10_000.0**powers
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def length_basis(lengths: Tensor, width: int = WIDTH) -> Tensor:
    """log(1 + L) and the length code, (n, 1 + width). The logarithm is ours: waves alone extrapolate badly."""
    return torch.cat([lengths.log1p()[:, None], length_code(lengths, width)], dim=1)


def multiple_correlation(scores: Tensor, basis: Tensor) -> Tensor:
    """The largest correlation of the scores with any linear function of the basis: ||P r|| / ||r||, in [0, 1].

    scores: (n,), centred here; basis: (n, k), a constant column changes nothing. Differentiable in the scores; the
    basis is taken as fixed. 0 for constant scores. With n near k it is near 1 whatever the scores are.
    """
    if scores.dim() != 1 or basis.dim() != 2 or len(basis) != len(scores) or len(scores) < 2:
        raise UsageError(
            f"scores must be (n,) and basis (n, k) with n >= 2, got {tuple(scores.shape)} and {tuple(basis.shape)}"
        )
    centred = scores - scores.mean()
    total = centred.square().sum()
    if float(total) <= SMALLEST * float(scores.square().sum()):
        return scores.sum() * 0.0  # no spread, no correlation, and a gradient of zero
    directions = _directions(basis.detach())
    explained = (directions.to(scores.dtype).T @ centred).square().sum()
    return (explained / total).clamp(0.0, 1.0).sqrt()


def _directions(basis: Tensor) -> Tensor:
    """An orthonormal basis (n, rank) of the centred columns; columns that say nothing new are left out."""
    centred = basis.double() - basis.double().mean(dim=0)
    scale = centred.norm(dim=0)
    centred = centred[:, scale > 1e-9 * basis.double().norm(dim=0).clamp(min=1e-300)]
    if not centred.shape[1]:
        return centred
    left, sizes, _ = torch.linalg.svd(centred / centred.norm(dim=0), full_matrices=False)
    return left[:, sizes > 1e-9 * sizes[0]]


Curve = Callable[[Tensor], Tensor]
"""From lengths (n,) to a number each, float64 on the CPU."""


@dataclass(frozen=True, slots=True)
class Dependence:
    """How the scores of a window follow a curve of length, and where a score has to go to follow it more or less.

    rho: their correlation, signed. mean, spread: of the window's scores. curve: mean 0 and deviation 1 over the window.
    low, high: the window's lengths; the curve is constant beyond them.
    """

    rho: float
    mean: float
    spread: float
    curve: Curve
    low: float
    high: float

    @classmethod
    def of(cls, scores: Tensor, lengths: Tensor, curve: Curve) -> Dependence | None:
        """None where scores or curve are constant. scores, lengths: (n,) float64 on the CPU."""
        values = curve(lengths)
        offset, scale = float(values.mean()), float(values.std(unbiased=False))
        mean, spread = float(scores.mean()), float(scores.std(unbiased=False))
        if scale**2 <= SMALLEST * (scale**2 + offset**2) or spread**2 <= SMALLEST * (spread**2 + mean**2):
            return None
        rho = float(((values - offset) / scale * (scores - mean) / spread).mean())

        def standardised(lengths: Tensor) -> Tensor:
            return (curve(lengths) - offset) / scale

        return cls(rho, mean, spread, standardised, float(lengths.min()), float(lengths.max()))

    @property
    def unit(self) -> float:
        """What penalties are measured in: the spread of the scores, but at least one logit.

        A head that was just drawn has next to no spread, and a penalty divided by it would drown the likelihood.
        """
        return max(self.spread, 1.0)

    @property
    def size(self) -> float:
        """|rho|, less where the spread is below one logit: the deviation of what the curve explains, in units."""
        return abs(self.rho) * self.spread / self.unit

    def less(self, lengths: Tensor) -> Tensor:
        """n times the derivative of ``size`` with respect to each score, the unit being held fixed; (n,).

        With the unit free, the cheapest way to a lower rho is to blow up whatever does not depend on length; on scores
        of a window that are a few steps old, that runs away.
        """
        sign = -1.0 if self.rho < 0 else 1.0
        return sign * self.curve(lengths.clamp(self.low, self.high)) / self.unit

    def more(self, scores: Tensor, lengths: Tensor) -> Tensor:
        """n times the derivative of rho with respect to each score, in units; it vanishes as rho goes to 1; (n,)."""
        follows = self.curve(lengths.clamp(self.low, self.high))
        return (follows - self.rho * (scores - self.mean) / self.spread) / self.unit


def projection(scores: Tensor, lengths: Tensor, width: int = WIDTH) -> Curve:
    """The linear function of the length basis that correlates most with the scores: their least-squares fit."""
    basis = length_basis(lengths, width)
    offset, scale = basis.mean(dim=0), basis.std(dim=0, unbiased=False).clamp(min=1e-12)
    # pinv rather than lstsq: long waves are almost collinear, and CPU and GPU drivers differ in what they do then
    inverse = torch.linalg.pinv((basis - offset) / scale, rtol=1e-9)
    weights = inverse @ (scores - scores.mean())

    def curve(lengths: Tensor) -> Tensor:
        return (length_basis(lengths, width) - offset) / scale @ weights

    return curve
