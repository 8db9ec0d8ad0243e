"""Several reward models as one: their mean, or a number that is lower where they do not agree.

Each function takes scores ``r`` of shape (M, ...), one row a member, and gives shape (...). Members must be on one
scale, and of real-valued scores also of one size: ``whitening`` learns each member's mean and spread on a reference set
(methods A4.1). What no combination sees is a mistake that all members share: models of one backbone or trained on one
data set agree on the same spurious feature. Disagreement is evidence of error; agreement is none of being right.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.evaluation._numeric import Floats, np, special
from guerdon.rewards.types import Scale


def mean(r: Floats) -> Floats:
    """The mean of the members."""
    return np.asarray(_checked(r).mean(axis=0))


def minimum(r: Floats) -> Floats:
    """The worst case over members (Coste et al. 2024, worst-case optimisation)."""
    return np.asarray(_checked(r).min(axis=0))


def uwo(r: Floats, *, penalty: float = 0.5) -> Floats:
    """Mean - penalty * variance (ddof 0): uncertainty-weighted optimisation (Coste et al. 2024). penalty: >= 0."""
    scores = _checked(r)
    return np.asarray(scores.mean(axis=0) - _at_least_0("penalty", penalty) * scores.var(axis=0))


def lcb(r: Floats, *, k: float = 1.0) -> Floats:
    """Mean - k standard deviations (ddof 1), a lower confidence bound. k: >= 0; one member has no deviation."""
    scores = _checked(r)
    if len(scores) == 1:
        return np.asarray(scores[0].copy())
    return np.asarray(scores.mean(axis=0) - _at_least_0("k", k) * scores.std(axis=0, ddof=1))


def median(r: Floats) -> Floats:
    """The median of the members: one that went mad moves nothing."""
    return np.asarray(np.median(_checked(r), axis=0))


def trimmed(r: Floats, *, share: float = 0.25) -> Floats:
    """The mean without the floor(share * M) lowest and as many highest members. share: in [0, 0.5)."""
    scores = _checked(r)
    if not 0 <= share < 0.5:
        raise UsageError(f"share must lie in [0, 0.5), got {share!r}; it is cut at both ends")
    cut = int(share * len(scores))
    return np.asarray(np.sort(scores, axis=0)[cut : len(scores) - cut].mean(axis=0))


def entropic(r: Floats, *, tau: float = 1.0) -> Floats:
    """The risk-averse mean -tau log mean exp(-r / tau): between the minimum (tau to 0) and the mean (tau to infinity).

    Also the robust value of one group over a ball of policies around the current one, r of shape (K,); it is derived
    after FRPO, whose constants are unknown, so no parity is claimed (methods A4.3).

    >>> round(float(entropic(np.array([1.0, 1, 0, 0]), tau=0.5)), 7)
    0.2831096
    """
    scores = _checked(r)
    t = _above_0("tau", tau)
    return np.asarray(-t * (special.logsumexp(-scores / t, axis=0) - np.log(len(scores))))


def entropic_weights(r: Floats, *, tau: float = 1.0) -> Floats:
    """q = softmax(-r / tau) over the first axis, shape of r: the share of each response in the entropic gradient.

    M q_k r_k is a per-response coefficient (methods A4.3; derived, no parity claimed).
    """
    return np.asarray(special.softmax(-_checked(r) / _above_0("tau", tau), axis=0))


def double_soft_min(v1: Floats, v2: Floats, *, tau: float = 1.0) -> Floats:
    """-tau log((exp(-v1 / tau) + exp(-v2 / tau)) / 2), between the smaller value and the mean of both.

    Derived from the description of SAFE's double critic; its constants are unknown, no parity is claimed (A4.4).
    """
    first, second = np.asarray(v1, dtype=float), np.asarray(v2, dtype=float)
    if first.shape != second.shape:
        raise UsageError(f"v1 and v2 must have one shape, got {first.shape} and {second.shape}")
    return entropic(np.stack([first, second]), tau=tau)


COMBINATIONS: Mapping[str, Callable[..., Floats]] = {
    "mean": mean,
    "min": minimum,
    "uwo": uwo,
    "lcb": lcb,
    "median": median,
    "trimmed": trimmed,
    "entropic": entropic,
}


def combine(r: Floats, how: str = "mean", **options: float) -> Floats:
    """A combination by name, one of COMBINATIONS, with its options."""
    check_options(how, options)
    return COMBINATIONS[how](r, **options)


def check_options(how: str, options: Mapping[str, Any]) -> None:
    """Raises UnknownNameError for a combination or an option there is none of, UsageError for a value out of range."""
    if how not in COMBINATIONS:
        raise UnknownNameError("combination", str(how), COMBINATIONS)
    names = [name for name in inspect.signature(COMBINATIONS[how]).parameters if name != "r"]
    for option in options:
        if option not in names:
            raise UnknownNameError(f"option of {how!r}", option, names)
    COMBINATIONS[how](np.zeros((2, 1)), **options)


def scale_of(how: str, scale: Scale) -> Scale:
    """The scale of a combination of members on ``scale``: a penalty leaves [0, 1], a mean of verdicts is a share."""
    if how in ("uwo", "lcb"):
        return "real"
    return "probability" if scale == "verdict" and how != "min" else scale


@dataclass(frozen=True, slots=True)
class Whitening:
    """Each member's mean and standard deviation on a reference set, both (M,): makes real-valued scores comparable."""

    mean: tuple[float, ...]
    std: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.std) or not self.mean:
            raise UsageError(f"{len(self.mean)} means and {len(self.std)} deviations; give one of each a member")
        if not all(0 < s < np.inf for s in self.std) or not np.isfinite(self.mean).all():
            raise UsageError(f"means must be finite and deviations finite and > 0, got {self.mean} and {self.std}")

    def apply(self, r: Floats) -> Floats:
        """(r - mean) / std a member, shape (M, ...)."""
        scores = _checked(r)
        if len(scores) != len(self.mean):
            raise UsageError(f"{len(scores)} members, but whitening was learnt for {len(self.mean)}")
        shape = (-1,) + (1,) * (scores.ndim - 1)
        return np.asarray((scores - np.reshape(self.mean, shape)) / np.reshape(self.std, shape))


def whitening(r: Floats) -> Whitening:
    """The members' means and standard deviations (ddof 0) on a reference set of scores (M, n).

    Raises UsageError for a member whose scores are all equal there.
    """
    scores = _checked(r)
    spread = scores.reshape(len(scores), -1).std(axis=1)
    if constant := np.flatnonzero(spread == 0).tolist():
        raise UsageError(f"member(s) {constant} score every reference sample the same; leave them out")
    means = scores.reshape(len(scores), -1).mean(axis=1)
    return Whitening(tuple(means.tolist()), tuple(spread.tolist()))


def _checked(r: Any) -> Floats:
    scores = np.asarray(r, dtype=float)
    if not scores.ndim or not scores.size:
        raise UsageError(f"scores must have shape (M, ...) with at least one member, got {scores.shape}")
    if n_bad := int((~np.isfinite(scores)).sum()):
        raise UsageError(f"{n_bad} of {scores.size} scores are not finite; leave out what is unscored")
    return scores


def _at_least_0(name: str, value: float) -> float:
    if not 0 <= value < np.inf:
        raise UsageError(f"{name} must be finite and >= 0, got {value!r}")
    return value


def _above_0(name: str, value: float) -> float:
    if not 0 < value < np.inf:
        raise UsageError(f"{name} must be finite and > 0, got {value!r}")
    return value
