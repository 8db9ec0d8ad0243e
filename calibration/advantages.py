"""From reward records to advantages, for a training loop of one's own (and what TRL, verl or OpenRLHF do inside).

A record knows at which level its number acts. A ``reward`` may be centred and scaled as any reward. A ``coefficient``
is the number that multiplies the score function: dividing it by the spread of its own group would undo the correction
it carries, so asking for that is an error and not a setting. Responses without a reward (NaN) stay NaN unless the
caller says what they get.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from guerdon.calibration._arrays import Codes, Floats, floats, np, npt
from guerdon.calibration.effect import NoEffectWarning, compare
from guerdon.calibration.normalisations import SCALES, Baseline, Scale, scaled, subtract
from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.types import Sample, Score

Level: TypeAlias = Literal["reward", "coefficient"]
LEVELS: tuple[str, ...] = get_args(Level)


@dataclass(frozen=True, slots=True)
class RewardRecord:
    """What a trainer is told of one response (methods D6).

    value: the reward, or None: unscored. group: joins the responses to one prompt; None stands alone. level: where the
    value acts. do_not_standardise: no division by a spread of this batch. do_not_centre: no baseline either (the
    forward correction). weight: >= 0, multiplies the advantage; 0 masks the response, which still counts in its group.
    raw: the value before the correction, for the audit. stratum: its key.
    """

    value: float | None
    group: str | None = None
    level: Level = "reward"
    do_not_standardise: bool = False
    do_not_centre: bool = False
    weight: float = 1.0
    raw: float | None = None
    stratum: str = ""

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise UsageError(f"level must be one of {', '.join(LEVELS)}; got {self.level!r}")
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise UsageError(f"weight must be a finite number >= 0, got {self.weight!r}")


def records(samples: Sequence[Sample], scores: Sequence[Score]) -> list[RewardRecord]:
    """Records of scored samples. What ``Corrected`` wrote into a score's details tells level, raw value and stratum.

    Scores of other scorers become records of level reward, with their own value as the raw one.
    """
    if len(samples) != len(scores):
        raise UsageError(f"{len(samples)} samples but {len(scores)} scores")
    return [_record(sample, score) for sample, score in zip(samples, scores, strict=True)]


def _record(sample: Sample, score: Score) -> RewardRecord:
    corrected = score.details.get("corrected")
    if not isinstance(corrected, Mapping):
        return RewardRecord(score.value, sample.group, raw=score.value)
    coefficient, forward = corrected.get("level") == "coefficient", corrected.get("mode") == "forward"
    return RewardRecord(
        score.value,
        sample.group,
        level="coefficient" if coefficient else "reward",
        do_not_standardise=coefficient,
        do_not_centre=forward,
        raw=corrected.get("raw"),
        stratum=corrected.get("stratum", ""),
    )


def to_advantages(
    records: Sequence[RewardRecord],
    *,
    baseline: Baseline,
    scale: Scale | float,
    eps: float | None = None,
    missing: float = math.nan,
    audit: bool = True,
) -> Floats:
    """The advantages of a batch, shape (n,), in the records' order.

    baseline: "none", "group_mean", "leave_one_out". scale: "none", "group_std", "batch_std", "whiten", or a number > 0
    to divide by (fixed, or from ``MovingScale``). GRPO is "group_mean" with "group_std", Dr. GRPO "group_mean" with
    "none", RLOO and the backward correction at coefficient level "leave_one_out" with 1.0, the forward one "none"
    with 1.0. missing: what unscored responses get; 0.0 leaves them out of the update. audit: warn
    (NoEffectWarning) when the records' correction changes no advantage.

    Raises UsageError for a level or flag that the baseline or the scale would break, and for levels that are mixed.

    >>> group = [RewardRecord(v, "a") for v in (9 / 7, 9 / 7, -1 / 7, 9 / 7)]
    >>> to_advantages(group, baseline="leave_one_out", scale=1.0).round(7).tolist()
    [0.4761905, 0.4761905, -1.4285714, 0.4761905]
    """
    divisor = _divisor(scale)
    _refuse_what_undoes(records, baseline, scale)
    groups = _groups(records)
    values = floats([r.value for r in records], "values")
    weights = np.array([r.weight for r in records], dtype=np.float64)

    def advantages(rewards: Floats, own_eps: float | None) -> Floats:
        centred = subtract(rewards, groups, baseline)
        if divisor is not None:
            return centred / divisor
        return scaled(centred, rewards, groups, scale, eps=own_eps)  # type: ignore[arg-type]

    result = advantages(values, eps)
    if audit:
        raw = floats([r.raw for r in records], "raw values")
        if not np.array_equal(raw, values, equal_nan=True) and not np.isnan(raw + values).all():
            exact = (advantages(raw, 0.0), advantages(values, 0.0))
            how = f"baseline {baseline!r}, scale {scale!r}"
            found = compare((advantages(raw, eps), result), groups, how, exact=exact)
            if found.change == "none":
                warnings.warn(found.sentence(), NoEffectWarning, stacklevel=2)
    weighted = result * weights
    return np.where(np.isnan(weighted), missing, weighted)


def _divisor(scale: Scale | float) -> float | None:
    """The number to divide by, None for a word."""
    if isinstance(scale, str):
        if scale not in SCALES:
            raise UnknownNameError("scale", scale, SCALES)
        return None
    if isinstance(scale, bool) or not isinstance(scale, (int, float)) or not 0.0 < scale < math.inf:
        raise UsageError(f"scale must be one of {', '.join(SCALES)} or a finite number > 0; got {scale!r}")
    return float(scale)


def _refuse_what_undoes(records: Sequence[RewardRecord], baseline: Baseline, scale: Scale | float) -> None:
    levels = sorted({r.level for r in records if r.value is not None})
    if len(levels) > 1:
        raise UsageError("the records mix levels, 'reward' and 'coefficient'; correct all of a batch in one way")
    spread = isinstance(scale, str) and scale != "none"
    if spread and any(r.do_not_standardise or r.level == "coefficient" for r in records):
        raise UsageError(
            f"scale={scale!r} divides by a spread of this batch, and a z-score is the same for every increasing affine "
            "map of a verdict: it would give back the update of the uncorrected reward. These records are coefficients "
            "(do_not_standardise): use a fixed scale such as 1.0, or correct at level 'reward' with rates by stratum"
        )
    if baseline != "none" and any(r.do_not_centre for r in records):
        raise UsageError(
            f"baseline={baseline!r} takes away the constant that makes the forward correction and leaves the plain "
            "noisy update; use baseline='none', or the backward correction with baseline='leave_one_out'"
        )


def _groups(records: Sequence[RewardRecord]) -> Codes:
    """The group of each record from 0; one without a group is a group of its own."""
    seen: dict[Any, int] = {}
    keys = ((0, i) if r.group is None else r.group for i, r in enumerate(records))
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.intp)


class MovingScale:
    """A slowly moving scale for coefficients: the exponential average of the batches' spread (methods C1.2).

    start: the scale before the first batch. decay: the share that the old value keeps. It is no z-score: one batch
    moves it by 1 - decay, so a correction keeps its size.

    >>> scale = MovingScale(decay=0.9)
    >>> scale.update([0.0, 2.0])  # 0.9 + 0.1 * sqrt(2)
    1.0414213562373096
    """

    def __init__(self, start: float = 1.0, *, decay: float = 0.99) -> None:
        if not 0.0 < start < math.inf:
            raise UsageError(f"start must be a finite number > 0, got {start!r}")
        if not 0.0 <= decay < 1.0:
            raise UsageError(f"decay must lie in [0, 1), got {decay!r}")
        self.value, self._decay = float(start), decay

    def update(self, values: npt.ArrayLike) -> float:
        """The scale after this batch. A batch without a spread (constant, or fewer than two values) moves nothing."""
        scored = floats(values, "values")
        scored = scored[~np.isnan(scored)]
        spread = float(scored.std(ddof=1)) if scored.size > 1 else 0.0
        if spread > 0.0:
            self.value = self._decay * self.value + (1.0 - self._decay) * spread
        return self.value
