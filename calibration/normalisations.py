"""What trainers do to rewards before the update: a baseline, then a scale, as one closed set of words.

    trainer                  baseline        scale        advantage of response i in group g (K responses a prompt)
    none                     none            none         r_i
    dr_grpo                  group_mean      none         r_i - mean_g
    grpo                     group_mean      group_std    (r_i - mean_g) / (std_g + eps)
    grpo_batch               group_mean      batch_std    (r_i - mean_g) / (std of all rewards + eps)
    rloo                     leave_one_out   none         r_i - mean of the K - 1 others
    reinforce++              none            whiten       (r_i - mean) / sqrt(var + eps), over the batch
    reinforce++_baseline     group_mean      whiten       the same of r_i - mean_g

Sources: GRPO, Shao et al. 2024 (https://arxiv.org/abs/2402.03300); Dr. GRPO, Liu et al. 2025
(https://arxiv.org/abs/2503.20783); RLOO, Ahmadian et al. 2024 (https://arxiv.org/abs/2402.14740); REINFORCE++, Hu
2025 (https://arxiv.org/abs/2501.03262); and the code that people run. All spreads divide by n - 1 (ddof=1). eps is
1e-4 in TRL (1.16), 1e-6 in verl and 1e-9 in OpenRLHF for std_g, and 1e-8 under the root when whitening.
``grpo_batch`` is TRL's ``scale_rewards="batch"``. Whitening in verl and OpenRLHF runs over tokens, so that a response
counts as often as it is long; here each counts once. verl gives a group of one its bare reward; here, as in TRL, it is
a constant group.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

from guerdon.calibration._arrays import Codes, Floats, floats, group_codes, np, npt
from guerdon.rewards.errors import UnknownNameError, UsageError

Baseline: TypeAlias = Literal["none", "group_mean", "leave_one_out"]
Scale: TypeAlias = Literal["none", "group_std", "batch_std", "whiten"]
Trainer: TypeAlias = Literal["none", "dr_grpo", "grpo", "grpo_batch", "rloo", "reinforce++", "reinforce++_baseline"]

BASELINES: tuple[str, ...] = get_args(Baseline)
SCALES: tuple[str, ...] = get_args(Scale)

TRAINERS: Mapping[str, tuple[Baseline, Scale]] = MappingProxyType(
    {
        "none": ("none", "none"),
        "dr_grpo": ("group_mean", "none"),
        "grpo": ("group_mean", "group_std"),
        "grpo_batch": ("group_mean", "batch_std"),
        "rloo": ("leave_one_out", "none"),
        "reinforce++": ("none", "whiten"),
        "reinforce++_baseline": ("group_mean", "whiten"),
    }
)
"""The baseline and the scale of each trainer."""

EPS: Mapping[str, float] = MappingProxyType({"none": 0.0, "group_std": 1e-4, "batch_std": 1e-4, "whiten": 1e-8})
"""What is added to the standard deviation (to the variance when whitening) unless the caller says otherwise."""

_CONSTANT = 1e-12  # a spread below this share of the largest value is rounding, and dividing by it would amplify that


def normalise(
    rewards: npt.ArrayLike,
    groups: Sequence[Hashable] | npt.NDArray[Any] | None = None,
    trainer: Trainer = "grpo",
    *,
    eps: float | None = None,
) -> Floats:
    """Advantages as the named trainer computes them from rewards; the table of the module has the formulas.

    rewards: shape (n,) with groups, n ids (responses to one prompt share one), or (B, K) without, a row a group. NaN is
    unscored: it stays NaN and counts in no mean, spread or K. Returns a new array of the same shape. eps: the
    trainer's own, EPS by default. A group that is constant, or of one response, gets 0 (with leave_one_out a response
    without siblings keeps its reward). Permuting the responses permutes the advantages.

    >>> normalise([[1.0, 2.0, 3.0, 6.0]], trainer="grpo", eps=0.0).round(5).tolist()
    [[-0.92582, -0.46291, 0.0, 1.38873]]
    """
    if trainer not in TRAINERS:
        raise UnknownNameError("trainer's normalisation", str(trainer), TRAINERS)
    baseline, scale = TRAINERS[trainer]
    values = floats(rewards, "rewards")
    return scaled(subtract(values, groups, baseline), values, groups, scale, eps=eps)


def subtract(values: npt.ArrayLike, groups: Sequence[Hashable] | npt.NDArray[Any] | None, baseline: Baseline) -> Floats:
    """Rewards less their baseline. Shapes, groups and NaN as in ``normalise``.

    leave_one_out is K / (K - 1) times group_mean's result, and unbiased where that is short by 1 - 1 / K; a response
    without scored siblings has the baseline 0 (methods C1.2).
    """
    if baseline not in BASELINES:
        raise UnknownNameError("baseline", str(baseline), BASELINES)
    rewards = floats(values, "rewards")
    if baseline == "none":
        return rewards.copy()
    codes = _codes(rewards, groups)
    flat = rewards.reshape(-1)
    total, count = _sums(flat, codes)
    if baseline == "group_mean":
        level = total / np.maximum(count, 1)
        return (flat - level[codes]).reshape(rewards.shape)
    siblings = count[codes] - 1
    others = np.where(siblings > 0, (total[codes] - np.nan_to_num(flat)) / np.maximum(siblings, 1), 0.0)
    return (flat - others).reshape(rewards.shape)


def scaled(
    centred: Floats,
    rewards: Floats,
    groups: Sequence[Hashable] | npt.NDArray[Any] | None,
    scale: Scale,
    *,
    eps: float | None = None,
) -> Floats:
    """Centred rewards divided by a spread: of each group's rewards, of all rewards, or (whiten) of what is centred."""
    if scale not in SCALES:
        raise UnknownNameError("scale", str(scale), SCALES)
    eps = EPS[scale] if eps is None else eps
    if isinstance(eps, bool) or not isinstance(eps, (int, float)) or not 0.0 <= eps < float("inf"):
        raise UsageError(f"eps must be a finite number >= 0, got {eps!r}")
    if scale == "none":
        return centred
    if scale == "whiten":
        middle, spread = _moments(centred, np.zeros(centred.size, dtype=np.intp), rewards)
        return _over(centred - middle, spread, np.sqrt(spread**2 + eps))
    codes = _codes(rewards, groups) if scale == "group_std" else np.zeros(rewards.size, dtype=np.intp)
    _, spread = _moments(rewards, codes, rewards)
    return _over(centred, spread, spread + eps)


def _codes(rewards: Floats, groups: Sequence[Hashable] | npt.NDArray[Any] | None) -> Codes:
    if groups is not None:
        if rewards.ndim != 1:
            raise UsageError(f"with groups, rewards must be one-dimensional; got shape {rewards.shape}")
        return group_codes(groups, len(rewards))
    if rewards.ndim != 2:
        raise UsageError(
            f"rewards of shape {rewards.shape} need groups; or give them as (B, K), one row for each prompt"
        )
    return np.repeat(np.arange(rewards.shape[0], dtype=np.intp), rewards.shape[1])


def _sums(values: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """The sum and the number of scored values of each group."""
    if not len(codes):
        return np.zeros(0), np.zeros(0)
    scored = ~np.isnan(values)
    total, count = np.bincount(codes, np.where(scored, values, 0.0)), np.bincount(codes, scored)
    return total.astype(np.float64, copy=False), count.astype(np.float64, copy=False)


def _moments(values: Floats, codes: Codes, rewards: Floats) -> tuple[Floats, Floats]:
    """The mean and the standard deviation (ddof=1) of each value's group, in the values' shape.

    The deviation is 0 for one value, and where it is rounding beside the rewards that the values come from.
    """
    flat = values.reshape(-1)
    if not flat.size:
        return values, values
    total, count = _sums(flat, codes)
    mean = total / np.maximum(count, 1)
    squares, _ = _sums((flat - mean[codes]) ** 2, codes)
    spread = np.sqrt(squares / np.maximum(count - 1, 1))
    largest = np.zeros(len(mean))
    np.maximum.at(largest, codes, np.nan_to_num(np.abs(rewards.reshape(-1))))
    spread = np.where((count > 1) & (spread > _CONSTANT * largest), spread, 0.0)
    return mean[codes].reshape(values.shape), spread[codes].reshape(values.shape)


def _over(centred: Floats, spread: Floats, divisor: Floats) -> Floats:
    """centred / divisor, 0 where the spread is 0: what is constant says nothing (NaN stays NaN)."""
    still = spread == 0.0
    divided = centred / np.where(still, 1.0, divisor)
    return np.where(still & ~np.isnan(centred), 0.0, divided)
