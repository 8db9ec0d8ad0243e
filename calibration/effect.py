"""Does a correction change the update at all? An audit of one batch, after the trainer's own normalisation.

A binary reward has the same group z-score under every increasing affine map. So a correction with one pair of rates,
given to a trainer that standardises inside the group, leaves every advantage where it was; the same holds for rates
that differ between prompts but not inside a group (strata by data source, say). This says so before the run does.

    none       no advantage moves: the correction has no effect here
    rescaled   every advantage is multiplied by one factor: another learning rate, another balance against a KL term
    shifted    one factor and one constant: a baseline as well; the expected direction of the update stays
    changed    the update points elsewhere
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from guerdon.calibration._arrays import Codes, Floats, floats, group_codes, np, npt
from guerdon.calibration.normalisations import TRAINERS, Trainer, normalise
from guerdon.rewards.errors import UsageError

Change: TypeAlias = Literal["none", "rescaled", "shifted", "changed"]

THRESHOLD = 1e-6
"""Advantages that move by less do not move: far above rounding, far below any advantage that matters."""

INSTEAD = (
    "What does change it: rates by stratum, where the strata differ inside a group (format, answer kind, a suspicious "
    "pattern). The size of a corrected reward, though not what is learned, survives at coefficient level: "
    "to_advantages(records, baseline='leave_one_out', scale=1.0), RLOO, or Dr. GRPO"
)


class NoEffectWarning(UserWarning):
    """A correction that the trainer's normalisation undoes."""


@dataclass(frozen=True, slots=True)
class StratumEffect:
    """One stratum's part. n: responses scored before and after; the others as in ``Effect``, over these."""

    stratum: str
    n: int
    max_change: float
    mean_change: float
    flipped: float


@dataclass(frozen=True, slots=True)
class Effect:
    """What a correction does to the advantages of one batch.

    normalisation: what the trainer does to rewards. change: one of the four words of the module.
    max_change: the largest |A corrected - A uncorrected|; max_change_exact: the same with eps = 0, where only rounding
    is left if the correction is undone (eps beside a spread is no effect anyone means).
    factor, constant: of the best fit A corrected = factor * A uncorrected + constant; None if all of the latter are 0.
    flipped: share of responses whose advantage has another sign (0 is a sign of its own).
    cosine: between the two vectors of advantages; None if either is all 0.
    n: responses scored both times; lost: scored before and not after; unscored: not scored before.
    groups, mixed_groups: of the responses that count, and those with more than one stratum (None without strata).
    """

    normalisation: str
    change: Change
    max_change: float
    max_change_exact: float
    factor: float | None
    constant: float | None
    flipped: float
    cosine: float | None
    n: int
    lost: int
    unscored: int
    groups: int
    mixed_groups: int | None
    strata: tuple[StratumEffect, ...] = ()

    def sentence(self) -> str:
        """The finding, for a person."""
        about = f"{self.n} responses in {self.groups} groups, {self.normalisation}"
        lost = f"; {self.lost} responses lose their reward" if self.lost else ""
        if self.change == "none":
            text = f"The correction has no effect here ({about}): no advantage moves by more than {self._most()}."
            if self.mixed_groups == 0:
                text += " Strata differ between groups but never inside one."
            return f"{text} {INSTEAD}."
        if self.change == "rescaled":
            return (
                f"The correction multiplies every advantage by {self.factor:.4g} and changes nothing else ({about}): "
                f"another learning rate, and another balance against a KL term, but not another policy. {INSTEAD}."
            )
        if self.change == "shifted":
            return (
                f"The correction multiplies every advantage by {self.factor:.4g} and adds {self.constant:.4g} "
                f"({about}): a scale and a baseline, which change the noise of the update, not where it points on "
                f"average. {INSTEAD}."
            )
        cosine = "" if self.cosine is None else f", cosine {self.cosine:.4f}"
        return (
            f"The correction changes the update ({about}): advantages move by up to {self.max_change:.3g}, "
            f"{100 * self.flipped:.1f} % of them change sign{cosine}{lost}."
        )

    def _most(self) -> str:
        if self.max_change < THRESHOLD:
            return f"{self.max_change:.1g}"
        return f"{self.max_change:.1g}, all of it from the eps beside the spread ({self.max_change_exact:.1g} without)"

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, numbers and strings, the sentence included."""
        return {"kind": "correction_effect", "version": 1, "sentence": self.sentence(), **asdict(self)}

    def __str__(self) -> str:
        lines = [self.sentence()]
        if self.strata:
            lines += [f"  {'stratum':24} {'n':>8} {'max change':>11} {'mean change':>12} {'flipped':>8}"]
        for part in self.strata:
            name = (part.stratum or "(all)")[:24]
            lines.append(
                f"  {name:24} {part.n:8} {part.max_change:11.4f} {part.mean_change:+12.4f} {100 * part.flipped:7.1f}%"
            )
        return "\n".join(lines)


def effect(
    raw: npt.ArrayLike,
    corrected: npt.ArrayLike,
    groups: Sequence[Hashable] | npt.NDArray[Any],
    trainer: Trainer = "grpo",
    *,
    strata: Sequence[str] | None = None,
    eps: float | None = None,
    warn: bool = True,
) -> Effect:
    """What the correction does to the advantages that ``trainer`` computes from this batch (methods 0.1).

    raw, corrected: rewards before and after, shape (n,), NaN where unscored. groups: n ids, one a prompt. strata: n
    keys, for a line each. eps: as in ``normalise``. A correction that changes nothing warns with NoEffectWarning.

    >>> global_rates = effect([1, 0, 0, 1], [1.29, -0.14, -0.14, 1.29], [0, 0, 0, 0], "grpo", warn=False)
    >>> global_rates.change
    'none'
    """
    before, after = floats(raw, "raw"), floats(corrected, "corrected")
    codes = group_codes(groups, len(before))
    pair = [normalise(values, codes, trainer, eps=eps) for values in (before, after)]
    exact = pair if TRAINERS[trainer][1] == "none" else [normalise(v, codes, trainer, eps=0.0) for v in (before, after)]
    name = f"trainer {trainer!r}"
    found = compare(pair, codes, name, exact=exact, strata=strata)
    if warn and found.change == "none":
        warnings.warn(found.sentence(), NoEffectWarning, stacklevel=2)
    return found


def compare(
    advantages: Sequence[Floats],
    groups: Codes,
    normalisation: str,
    *,
    exact: Sequence[Floats] | None = None,
    strata: Sequence[str] | None = None,
) -> Effect:
    """``effect`` of advantages that are already there. advantages: (uncorrected, corrected), each of shape (n,).

    exact: the same with eps = 0; None if eps plays no part. groups: from 0, as ``group_codes`` gives them.
    """
    before, after = advantages
    if before.shape != after.shape or before.ndim != 1:
        raise UsageError(f"two arrays of shape (n,) are compared, got shapes {before.shape} and {after.shape}")
    both = ~(np.isnan(before) | np.isnan(after))
    if not both.any():
        raise UsageError(f"none of {len(before)} responses is scored both before and after the correction")
    keys = [] if strata is None else list(strata)
    if strata is not None and len(keys) != len(before):
        raise UsageError(f"{len(before)} responses but {len(keys)} strata")
    a, b = before[both], after[both]
    true_a, true_b = (a, b) if exact is None else (exact[0][both], exact[1][both])
    lost = int(np.count_nonzero(np.isnan(after) & ~np.isnan(before)))
    change, factor, constant = _kind(true_a, true_b)
    parts = None if strata is None else group_codes(keys, len(keys))[both]
    return Effect(
        normalisation=normalisation,
        change="changed" if lost else change,
        max_change=float(np.abs(b - a).max()),
        max_change_exact=float(np.abs(true_b - true_a).max()),
        factor=factor,
        constant=constant,
        flipped=float(np.mean(_sign(a) != _sign(b))),
        cosine=_cosine(a, b),
        n=len(a),
        lost=lost,
        unscored=int(np.count_nonzero(np.isnan(before))),
        groups=int(np.count_nonzero(np.bincount(groups[both]))),
        mixed_groups=None if parts is None else _mixed(groups[both], parts),
        strata=() if parts is None else _by_stratum(a, b, parts, list(dict.fromkeys(keys))),
    )


def _kind(a: Floats, b: Floats) -> tuple[Change, float | None, float | None]:
    """The word for b as a function of a, with the factor and the constant of the best line."""
    middle_a, middle_b = a.mean(), b.mean()
    squares = float(((a - middle_a) ** 2).sum())
    change: Change = "none" if np.abs(b - a).max() < THRESHOLD else "changed"
    if squares <= (THRESHOLD**2) * len(a):  # a constant: no line goes through it
        return change, None, None
    slope = float(((a - middle_a) * (b - middle_b)).sum()) / squares
    constant = float(middle_b - slope * middle_a)
    near = THRESHOLD * max(1.0, float(np.abs(b).max()))
    if change == "changed" and slope > 0 and np.abs(b - slope * a - constant).max() < near:
        change = "rescaled" if abs(constant) < near else "shifted"
    return change, slope, constant


def _sign(values: Floats) -> Floats:
    return np.where(np.abs(values) < THRESHOLD, 0.0, np.sign(values))


def _cosine(a: Floats, b: Floats) -> float | None:
    lengths = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return None if lengths == 0.0 else float(np.clip(a @ b / lengths, -1.0, 1.0))


def _mixed(groups: Codes, strata: Codes) -> int:
    """Groups with more than one stratum: those where some member's is not that of the group's last."""
    last = np.zeros(int(groups.max()) + 1, dtype=np.intp)
    last[groups] = strata
    return int(np.count_nonzero(np.bincount(groups, strata != last[groups])))


def _by_stratum(a: Floats, b: Floats, strata: Codes, names: Sequence[str]) -> tuple[StratumEffect, ...]:
    moved = b - a
    count = np.bincount(strata, minlength=len(names))
    most = np.zeros(len(names))
    np.maximum.at(most, strata, np.abs(moved))
    mean = np.bincount(strata, moved, len(names)) / np.maximum(count, 1)
    flipped = np.bincount(strata, _sign(a) != _sign(b), len(names)) / np.maximum(count, 1)
    parts = zip(names, count.tolist(), most.tolist(), mean.tolist(), flipped.tolist(), strict=True)
    return tuple(sorted((StratumEffect(*part) for part in parts if part[1]), key=lambda part: part.stratum))
