"""How far scores follow length: the code of a length, correlations, and the curve of length that scores follow most.

FiMi-RM (arXiv 2505.12843) fits a bias model to scores on length alone and punishes the reward model for its correlation
with it. For a bias model that is linear in fixed features the best one is the least-squares fit, so that the inner
problem needs no training: max |rho| = ||P r|| / ||r||, with P the projection on the features and r centred. That is
``multiple_correlation``, and ``projection`` is the curve that reaches it.
"""

from __future__ import annotations

from collections.abc import Callable

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
    if float(total.detach()) <= SMALLEST * float(scores.detach().square().sum()):
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
    found: Tensor = left[:, sizes > 1e-9 * sizes[0]]
    return found


def correlation(a: Tensor, b: Tensor) -> Tensor:
    """Pearson's correlation of two (n,), differentiable; 0, with a gradient of zero, where one is constant."""
    centred = [x - x.mean() for x in (a, b)]
    sizes = [x.square().sum() for x in centred]
    if any(
        float(size.detach()) <= SMALLEST * float(x.detach().square().sum())
        for size, x in zip(sizes, (a, b), strict=True)
    ):
        return (a * 0.0).sum() + (b * 0.0).sum()
    rho: Tensor = (centred[0] @ centred[1]) / (sizes[0] * sizes[1]).sqrt()
    return rho


Curve = Callable[[Tensor], Tensor]
"""From lengths (n,) to a number each, float64 on the CPU."""


def projection(scores: Tensor, lengths: Tensor, width: int = WIDTH) -> Curve:
    """The linear function of the length basis that correlates most with the scores, their least-squares fit.

    scores, lengths: (n,). The curve is constant beyond the lengths it was fitted on.
    """
    basis = length_basis(lengths, width)
    offset, scale = basis.mean(dim=0), basis.std(dim=0, unbiased=False).clamp(min=1e-12)
    # pinv rather than lstsq: long waves are almost collinear, and drivers differ in what they do then
    weights = torch.linalg.pinv((basis - offset) / scale, rtol=1e-9) @ (scores - scores.mean())
    low, high = float(lengths.min()), float(lengths.max())

    def curve(lengths: Tensor) -> Tensor:
        found: Tensor = (length_basis(lengths.clamp(low, high), width) - offset) / scale @ weights
        return found

    return curve
