"""Checks of the tensors that losses are given: shape, range, finite values, and the dtype to compute in."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from guerdon.rewards.errors import UsageError


def checked_rewards(name: str, value: Tensor, dims: tuple[str, ...], like: Tensor | None = None) -> Tensor:
    """Rewards of the expected shape, finite, in at least fp32."""
    if not isinstance(value, Tensor) or not value.is_floating_point():
        kind = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise UsageError(f"{name} must be a tensor of floating-point rewards, got {kind}")
    if value.dim() != len(dims) or value.numel() == 0:
        hint = "; use .squeeze(-1) on the head's output" if value.dim() == 2 and value.shape[1] == 1 else ""
        raise UsageError(f"{name} must have shape ({', '.join(dims)}) and not be empty, got {shape_of(value)}{hint}")
    if like is not None and value.shape != like.shape:
        raise UsageError(f"{name} has shape {shape_of(value)}, its partner {shape_of(like)}; they must be equal")
    n_bad = int((~torch.isfinite(value)).sum())
    if n_bad:
        raise UsageError(
            f"{name} holds {n_bad} value(s) of {value.numel()} that are not finite; the model has diverged"
        )
    return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value


def checked_values(name: str, value: Tensor, like: Tensor, *, upper: float) -> Tensor:
    """One finite value in [0, upper] an example, in the rewards' dtype and on their device."""
    if not isinstance(value, Tensor) or value.shape != like.shape:
        got = shape_of(value) if isinstance(value, Tensor) else f"{type(value).__name__} {value!r:.40}"
        raise UsageError(f"{name} must be a tensor of shape {shape_of(like)}, got {got}")
    value = value.to(dtype=like.dtype, device=like.device)
    if not bool((torch.isfinite(value) & (value >= 0) & (value <= upper)).all()):
        bounds = "be finite and >= 0" if math.isinf(upper) else f"lie in [0, {upper:g}]"
        raise UsageError(f"{name} must {bounds}, got {first_bad(value, 0.0, upper)}")
    return value


def checked_mask(scores: Tensor, mask: Tensor | None) -> Tensor:
    """A bool mask of the scores' shape (b, k) with at least two real responses a list; None is all real."""
    if not isinstance(scores, Tensor) or scores.dim() != 2:
        got = shape_of(scores) if isinstance(scores, Tensor) else type(scores).__name__
        raise UsageError(f"scores must be a tensor of shape (b, k), got {got}")
    if mask is None:
        mask = torch.ones(scores.shape, dtype=torch.bool, device=scores.device)
    if mask.dtype != torch.bool or mask.shape != scores.shape:
        raise UsageError(f"mask must be bool of shape {shape_of(scores)}, got {mask.dtype} of shape {shape_of(mask)}")
    short = (mask.sum(dim=1) < 2).nonzero()
    if short.numel():
        raise UsageError(f"list {int(short[0])} has fewer than two real responses, so nothing is ranked in it")
    return mask


def checked_ranks(ranks: Tensor, mask: Tensor) -> Tensor:
    """Integer ranks, none below 0 outside the padding."""
    if ranks.shape != mask.shape or ranks.is_floating_point() or ranks.dtype == torch.bool:
        raise UsageError(
            f"ranks must hold integers of shape {shape_of(mask)}, got {ranks.dtype} of shape {shape_of(ranks)}"
        )
    if bool((ranks[mask] < 0).any()):
        raise UsageError(
            f"ranks start at 0 (best), got {int(ranks[mask].min())}; mark padding in mask, not by a negative rank"
        )
    return ranks


def checked_tie_parameter(name: str, value: Tensor | float, like: Tensor, *, lowest: float) -> Tensor:
    """The tie parameter as a tensor of shape (b,), at least ``lowest``, and above it where it is learnt."""
    value = torch.as_tensor(value, dtype=like.dtype, device=like.device)
    if value.shape not in (torch.Size([]), like.shape):
        raise UsageError(f"{name} must be a number, a scalar or of shape {shape_of(like)}, got shape {shape_of(value)}")
    if not bool(torch.isfinite(value).all()) or bool((value < lowest).any()):
        raise UsageError(f"{name} must be finite and >= {lowest:g}, got {value.detach().min().item()!r}")
    if value.requires_grad and bool((value == lowest).any()):
        raise UsageError(
            f"{name} is to be learnt and equals {lowest:g}, where its gradient is infinite; "
            f"learn the logarithm of its excess over {lowest:g} instead"
        )
    return value.expand(like.shape)


def first_bad(value: Tensor, lower: float, upper: float) -> str:
    """The first element outside [lower, upper] and its index, for a message."""
    bad = ~((value >= lower) & (value <= upper) & torch.isfinite(value))
    index = int(bad.nonzero()[0])
    return f"{value[index].item()!r} at {index}"


def shape_of(value: Tensor) -> str:
    """A shape as people write it: (2, 3)."""
    return str(tuple(value.shape))
