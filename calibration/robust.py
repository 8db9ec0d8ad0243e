"""How far a reward head may be off before an advantage turns its sign, and advantages that reckon with it (SignCert).

"Mitigating Reward Hacking in RLHF via Advantage Sign Robustness" (2604.02986). With r = h.w + b, the group advantage is
A_j = D_j.w, D_j = h_j - mean_k h_k, so the smallest change of w that turns its sign has the length |A_j| / ||D_j||, the
certified radius. A response whose radius is small is one that a slightly different reward model would have judged the
other way: its advantage shrinks by rho = 1 - epsilon / radius.

What it cannot do: an adversary shared by the whole group is vacuous, because the advantages of a group sum to 0; and
once epsilon exceeds the radius of good responses they are dropped too (a quantile of 0.75 fails in the tests' bandit).
The weights are constants of the update: never differentiate through them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.evaluation._numeric import Floats, np, npt

if TYPE_CHECKING:
    from torch import Tensor

Flags: TypeAlias = npt.NDArray[np.bool_]
Mode: TypeAlias = Literal["clip", "raw"]
MODES: tuple[Mode, ...] = ("clip", "raw")

ROUNDING = 64 * float(np.finfo(float).eps)
"""A difference below this share of the numbers it came from is rounding, and taken for 0."""


def certified_radius(
    rewards: Floats,
    features: Floats,
    *,
    baseline: Floats | float | None = None,
    covariance: Floats | None = None,
    mask: Flags | None = None,
) -> Floats:
    """The smallest change of a linear head that can turn the sign of each advantage; shape (B, K).

    rewards: (B, K), B groups of K responses. features: (B, K, d), what the head reads, rewards = features . w + b.
    baseline: None is the group's mean, which depends on the head too (D = h - mean h); a number or array that
    broadcasts to (B, K) is independent of the head (D = h). covariance: (d, d) of the head (``bayes.HeadPosterior``);
    the radius is then in standard deviations of A_j, |A_j| / sqrt(D' S D). mask: (B, K), False for what is unscored: it
    is left out of the group's mean and gets 0, and may hold anything.
    0 where the group does not tell the response from its baseline: a group of one, or equal features.
    Raises UsageError for other shapes, values that are not finite, a covariance that is none.
    """
    r, keep = _checked_rewards(rewards, mask)
    h = np.asarray(features, dtype=float)
    if h.ndim != 3 or h.shape[:2] != r.shape:
        raise UsageError(f"features must have shape {(*r.shape, 'd')}, got {h.shape}")
    h = np.where(keep[..., None], h, 0.0)
    if not np.isfinite(h).all():
        raise UsageError(f"{int((~np.isfinite(h)).sum())} features are not finite; mask the responses they belong to")
    if baseline is None:
        advantages, directions = group_centred(r, keep), group_centred(h, keep)
    else:
        advantages, directions = np.where(keep, r - np.asarray(baseline, dtype=float), 0.0), h
    largest = np.sqrt(np.max(np.sum(h * h, axis=2), axis=1, keepdims=True, initial=0.0))
    lengths = np.sqrt(np.sum(directions * directions, axis=2))
    lengths = np.where(lengths <= ROUNDING * largest, 0.0, lengths)
    if covariance is not None:
        spread = _spread(directions, covariance)
        lengths = np.where(lengths > 0, spread, 0.0)
    return np.divide(np.abs(advantages), lengths, out=np.zeros_like(r), where=lengths > 0)


def feature_noise_radius(advantages: Floats, weight: Floats) -> Floats:
    """The smallest change of a response's own features that turns its advantage: |A| / ||w||, shape of ``advantages``.

    weight: (d,), the head. For isotropic noise on features, where ``certified_radius`` is for an uncertain head.
    """
    size = float(np.linalg.norm(weight))
    if not 0 < size < np.inf:
        raise UsageError(f"the head's weight must have a finite length > 0, got {size!r}")
    return np.asarray(np.abs(np.asarray(advantages, dtype=float)) / size)


def first_order_radius(advantages: Tensor, parameters: Iterable[Tensor]) -> Tensor:
    """The radius to first order for any differentiable model: |A| / ||dA / dparameters||, shape of ``advantages``.

    advantages: a tensor that still holds its graph, centred or z-scored as the trainer does it. parameters: what may
    be off; those that an advantage does not depend on count as 0. One backward an element; exact for a linear head
    with a group mean, an approximation otherwise. 0 where the gradient is 0. The result holds no graph.
    Raises UsageError for advantages without a graph.
    """
    import torch

    if not advantages.requires_grad:
        raise UsageError("the advantages hold no graph; compute them with gradients on (no torch.no_grad, no .item())")
    leaves = tuple(parameters)
    if not leaves:
        raise UsageError("no parameters were given; pass those of the head, or model.parameters()")
    radii = []
    for value in advantages.flatten():
        grads = torch.autograd.grad(value, leaves, retain_graph=True, allow_unused=True)
        squares = [float(g.detach().double().square().sum()) for g in grads if g is not None]
        length = sum(squares) ** 0.5
        radii.append(abs(float(value.detach())) / length if length > 0 else 0.0)
    return torch.tensor(radii, dtype=torch.float64).reshape(advantages.shape)


def radius_quantile(radius: Floats, quantile: float = 0.25, *, mask: Flags | None = None) -> float:
    """Epsilon: this quantile of the radii of a batch (linear interpolation), in the unit of the head.

    The paper's main text takes a quantile of 1 / radius, which has another unit; its appendix takes this one.
    """
    if not 0.0 <= quantile <= 1.0:
        raise UsageError(f"quantile must lie in [0, 1], got {quantile!r}; 0.25 is usual")
    values = np.asarray(radius, dtype=float)
    used = values[mask] if mask is not None else values.ravel()
    return float(np.quantile(used, quantile)) if used.size else 0.0


def robust_weights(
    radius: Floats,
    *,
    quantile: float = 0.25,
    epsilon: float | None = None,
    mode: Mode = "clip",
    mask: Flags | None = None,
) -> Floats:
    """rho = 1 - epsilon / radius, the share of each advantage that survives the worst head within epsilon.

    epsilon: None takes ``radius_quantile`` of the batch. mode: "clip" drops responses whose sign is not certified
    (max(rho, 0)); "raw" keeps the worst case itself, which pushes them the other way. 0 where the radius is 0.
    """
    if mode not in MODES:
        raise UnknownNameError("mode", str(mode), MODES)
    values = np.asarray(radius, dtype=float)
    if not ((values >= 0) & np.isfinite(values)).all():
        raise UsageError("radii must be finite and >= 0")
    size = radius_quantile(values, quantile, mask=mask) if epsilon is None else float(epsilon)
    if not 0 <= size < np.inf:
        raise UsageError(f"epsilon must be finite and >= 0, got {epsilon!r}")
    with np.errstate(over="ignore"):  # a subnormal radius: the weight is below any number, and finite after clipping
        rho = 1.0 - np.divide(size, values, out=np.ones_like(values), where=values > 0)
    rho = np.maximum(rho, 0.0 if mode == "clip" else np.finfo(float).min)
    return np.where(mask, rho, 0.0) if mask is not None else rho


def robust_advantages(
    rewards: Floats,
    features: Floats,
    *,
    quantile: float = 0.25,
    mode: Mode = "clip",
    covariance: Floats | None = None,
    mask: Flags | None = None,
) -> Floats:
    """rho_j A_j, group advantages in the worst case over heads within epsilon, each against its own adversary; (B, K).

    Arguments as in ``certified_radius`` and ``robust_weights``. Centre them no further with a group's standard
    deviation: it would rescale what was shrunk.

    >>> h = np.array([[[1.0, 0], [0, 1], [3, 4]]])
    >>> robust_advantages(h @ np.array([1, -0.5]), h).round(4).tolist()
    [[0.1018, -0.6508, 0.0]]
    """
    r, keep = _checked_rewards(rewards, mask)
    radius = certified_radius(r, features, covariance=covariance, mask=keep)
    return robust_weights(radius, quantile=quantile, mode=mode, mask=keep) * group_centred(r, keep)


def group_centred(values: Floats, keep: Flags) -> Floats:
    """Values (B, K) or (B, K, d) minus the mean of those of their group that ``keep`` (B, K) marks; 0 elsewhere."""
    marks = keep if values.ndim == 2 else keep[..., None]
    n = np.maximum(marks.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.where(marks, values - np.where(marks, values, 0.0).sum(axis=1, keepdims=True) / n, 0.0))


def _checked_rewards(rewards: Any, mask: Flags | None) -> tuple[Floats, Flags]:
    r = np.asarray(rewards, dtype=float)
    if r.ndim != 2:
        raise UsageError(f"rewards must have shape (B, K), groups by responses, got {r.shape}")
    keep = np.ones(r.shape, dtype=bool) if mask is None else np.asarray(mask)
    if keep.dtype != bool or keep.shape != r.shape:
        raise UsageError(f"mask must be bool of shape {r.shape}, got {keep.dtype} of shape {keep.shape}")
    r = np.where(keep, r, 0.0)
    if n_bad := int((~np.isfinite(r)).sum()):
        raise UsageError(f"{n_bad} rewards are not finite; mask what is unscored")
    return r, keep


def _spread(directions: Floats, covariance: Floats) -> Floats:
    """The standard deviation of D . w, when w has this covariance."""
    s = np.asarray(covariance, dtype=float)
    d = directions.shape[2]
    if s.shape != (d, d) or not np.isfinite(s).all() or not np.allclose(s, s.T, rtol=1e-8, atol=0):
        raise UsageError(f"covariance must be a finite symmetric matrix of shape {(d, d)}, got shape {s.shape}")
    try:
        root = np.linalg.cholesky(s)
    except np.linalg.LinAlgError as error:
        raise UsageError("covariance is not positive definite; add a ridge, or use bayes.HeadPosterior") from error
    return np.asarray(np.sqrt(np.sum((directions @ root) ** 2, axis=2)))
