"""The false-negative rate while training runs: some rejected responses appeal to a judge (methods C2.3).

Of the samples that a rule rejects, a random share q goes to a second, dearer judge, who flips some to "right". The
published estimator (noisy verifiable rewards, arXiv 2510.00915) takes every flip for a false negative; a judge who errs
biases it. With t = P(flip | right) and f = P(flip | wrong) of the judge known, or estimated on labelled rejections, the
bias goes away [derived]. Appeals give no false-positive rate: nobody appeals against being accepted.

Estimating and relabelling are two switches. Rewarding the flips as well changes the verifier's channel, and then the
rates to correct with are ``relabelled``'s, not the rule's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.calibration.intervals import Counts
from guerdon.calibration.rate_intervals import DRAWS
from guerdon.calibration.rates import Interval
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import np, npt


@dataclass(frozen=True, slots=True)
class Judge:
    """How the judge of appeals decides.

    flips_right: t = P(flip | right). flips_wrong: f = P(flip | wrong), below t. n_right, n_wrong: labelled rejections
    that each was estimated on, None if it is taken as known.
    """

    flips_right: float = 1.0
    flips_wrong: float = 0.0
    n_right: int | None = None
    n_wrong: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.flips_wrong < self.flips_right <= 1.0:
            raise UsageError(
                "a judge of appeals must flip right answers more often than wrong ones: "
                f"0 <= flips_wrong < flips_right <= 1, got {self.flips_wrong!r} and {self.flips_right!r}"
            )
        for name in ("n_right", "n_wrong"):
            count = getattr(self, name)
            if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
                raise UsageError(f"{name} must be a whole number >= 1, or None for a known rate; got {count!r}")

    @classmethod
    def estimated(cls, *, flipped_right: int, n_right: int, flipped_wrong: int, n_wrong: int) -> Judge:
        """From labelled rejections that the judge has seen: flips among the right ones and among the wrong ones."""
        for name, count, n in (("right", flipped_right, n_right), ("wrong", flipped_wrong, n_wrong)):
            if not 0 <= count <= n or n < 1:
                raise UsageError(f"flips among {name} samples must be between 0 and their number, got {count} of {n}")
        return cls(flipped_right / n_right, flipped_wrong / n_wrong, n_right, n_wrong)


PERFECT = Judge()


@dataclass(frozen=True, slots=True)
class Appeals:
    """What one step (or several, added up) saw.

    accepted, rejected: samples by the rule's verdict. appealed: rejected samples that the judge saw, drawn at random.
    flipped: those that it called right.
    """

    accepted: int
    rejected: int
    appealed: int
    flipped: int

    def __post_init__(self) -> None:
        counts = (self.accepted, self.rejected, self.appealed, self.flipped)
        if any(isinstance(count, bool) or not isinstance(count, int) or count < 0 for count in counts):
            raise UsageError(f"appeals are counted in whole numbers >= 0, got {counts}")
        if not self.flipped <= self.appealed <= self.rejected:
            raise UsageError(
                f"flipped <= appealed <= rejected must hold, got {self.flipped}, {self.appealed}, {self.rejected}"
            )

    def __add__(self, other: Appeals) -> Appeals:
        return Appeals(
            self.accepted + other.accepted,
            self.rejected + other.rejected,
            self.appealed + other.appealed,
            self.flipped + other.flipped,
        )


@dataclass(frozen=True, slots=True)
class AppealEstimate:
    false_negative: float
    interval: Interval
    prevalence: float
    """Share of right samples among all."""


def draw(verdicts: Any, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Which samples appeal: each rejected one (verdict 0) with probability ``share``; the unscored (NaN) never do."""
    if not 0.0 < share <= 1.0:
        raise UsageError(f"the share that appeals must lie in (0, 1], got {share!r}")
    rejected = np.asarray(verdicts, dtype=np.float64) == 0.0
    return np.asarray(rejected & (rng.random(rejected.shape) < share), dtype=bool)


def published(accepted: int, flipped: float, share: float, *, smoothing: float = 1e-5) -> float:
    """The paper's estimate (P_L / q + a) / (P_L / q + P_R + 2a): biased unless the judge is perfect.

    accepted: P_R. flipped: P_L. share: q, of the rejected that appealed. smoothing: a.

    >>> round(published(152, 12, 0.25), 6)
    0.24
    """
    if not 0.0 < share <= 1.0:
        raise UsageError(f"the share that appeals must lie in (0, 1], got {share!r}")
    found = flipped / share
    return (found + smoothing) / (found + accepted + 2 * smoothing)


def corrected(
    appeals: Appeals, judge: Judge = PERFECT, *, false_positive: float = 0.0, confidence: float = 0.95, seed: int = 0
) -> AppealEstimate | None:
    """The rate with the judge's own errors taken out, and its interval; None if nothing appealed, or none is right.

    FN = rejected * clip((flipped / appealed - f) / (t - f), 0, 1); with the rule's false-positive rate rho0 known,
    pi = (FN + accepted - rho0 n) / (n (1 - rho0)) are right, and the rate is FN / (pi n). false_positive: rho0.
    The interval carries Beta draws of the share flipped and, where they were estimated, of t and f.
    """
    if not 0.0 <= false_positive < 1.0:
        raise UsageError(f"false_positive must lie in [0, 1), got {false_positive!r}")
    if not appeals.appealed:
        return None
    n, accepted, rejected = appeals.accepted + appeals.rejected, float(appeals.accepted), float(appeals.rejected)

    def right(wrongly_rejected: Any) -> Any:
        """Right samples in all, at least those found among the rejected, at most all."""
        return np.clip((wrongly_rejected + accepted - false_positive * n) / (1 - false_positive), wrongly_rejected, n)

    t, f = judge.flips_right, judge.flips_wrong
    found = rejected * float(np.clip((appeals.flipped / appeals.appealed - f) / (t - f), 0.0, 1.0))
    total = float(right(found))
    if total <= 0.0:
        return None
    rng = np.random.default_rng(seed)
    limits = []
    tail = (1 - confidence) / 2
    flips = Counts.of(appeals.flipped, appeals.appealed, appeals.rejected)
    for flips_beta, ends, quantile in zip(flips.bounding("exact"), (0, 1), (tail, 1 - tail), strict=True):
        share = _beta_or_end(rng, flips_beta)
        ts, fs = _judge_draws(rng, t, judge.n_right), _judge_draws(rng, f, judge.n_wrong)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.clip((share - fs) / (ts - fs), 0.0, 1.0)
        part = np.where(ts > fs, part, ends)  # such a judge tells nothing: all or none
        amount = rejected * part
        whole = right(amount)
        rate = np.divide(amount, whole, out=np.full(DRAWS, float(ends)), where=whole > 0)
        limits.append(float(np.quantile(rate, quantile)))
    return AppealEstimate(found / total, Interval(min(limits), max(limits)), total / n)


def relabelled(
    false_positive: float, false_negative: float, share: float, judge: Judge = PERFECT
) -> tuple[float, float]:
    """(false_positive, false_negative) of the rule together with its appeals, if flipped samples are rewarded as right.

    rho1' = rho1 (1 - q t) and rho0' = rho0 + (1 - rho0) q f. share: q.
    """
    if not 0.0 <= share <= 1.0:
        raise UsageError(f"the share that appeals must lie in [0, 1], got {share!r}")
    return (
        false_positive + (1 - false_positive) * share * judge.flips_wrong,
        false_negative * (1 - share * judge.flips_right),
    )


class MovingRate:
    """A rate that follows training: an exponential average of the steps' estimates, starting at the first.

    decay: weight of the past, 0.9 in the paper. A step without an estimate (None: nothing was rejected, say) changes
    nothing. ``state`` and ``restore`` are for checkpoints.
    """

    def __init__(self, decay: float = 0.9) -> None:
        if not 0.0 <= decay < 1.0:
            raise UsageError(f"decay must lie in [0, 1), got {decay!r}; usual is 0.9")
        self.decay = decay
        self.value: float | None = None
        self.steps = 0

    def update(self, estimate: float | AppealEstimate | None) -> float | None:
        """Take a step's estimate in; gives the average, None before the first."""
        if estimate is None:
            return self.value
        new = estimate.false_negative if isinstance(estimate, AppealEstimate) else float(estimate)
        if not 0.0 <= new <= 1.0:
            raise UsageError(f"a rate lies in [0, 1], got {new!r}")
        self.value = new if self.value is None else self.decay * self.value + (1 - self.decay) * new
        self.steps += 1
        return self.value

    def state(self) -> dict[str, Any]:
        return {"decay": self.decay, "value": self.value, "steps": self.steps}

    @classmethod
    def restore(cls, state: Mapping[str, Any]) -> MovingRate:
        """From ``state()``; raises UsageError for other keys."""
        if set(state) != {"decay", "value", "steps"}:
            raise UsageError(f"the state of a MovingRate has decay, value and steps, got {', '.join(map(str, state))}")
        made = cls(state["decay"])
        if state["value"] is not None:
            made.update(state["value"])
        made.steps = int(state["steps"])
        return made


def _beta_or_end(rng: np.random.Generator, beta: tuple[float, float]) -> npt.NDArray[np.float64]:
    a, b = beta
    return np.zeros(DRAWS) if a <= 0 else np.ones(DRAWS) if b <= 0 else rng.beta(a, b, DRAWS)


def _judge_draws(rng: np.random.Generator, rate: float, n: int | None) -> npt.NDArray[np.float64]:
    if n is None:
        return np.full(DRAWS, rate)
    return rng.beta(rate * n + 0.5, n - rate * n + 0.5, DRAWS)
