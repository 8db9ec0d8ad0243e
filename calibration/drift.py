"""Is the rate still what the audit found? Two watches over a stream of audited outcomes (methods C2.7).

``DriftTest`` may be looked at after every step for as long as training lasts: it is an e-process, a bet against "the
rate is still the audited one" whose gains are a martingale while that is true, so that it ever reaches 1 / alpha with
probability at most alpha (Ville). It bets from every moment on at once, with weights that sum to 1, because a change
may come late; each bet is a Beta mixture of likelihood ratios. If the audit left an interval, every rate in it counts
as "still the same". ``DiscountedRate`` is a Beta-Binomial posterior that forgets: it follows a rate and has an
interval, but whoever looks at that after each step will see it alarm falsely in the end.

An outcome is any error that a person, or a judge taken as the truth, can see: a wrong answer among accepted samples
that were audited, a right one among the rejected, a verdict on a planted sample of known truth. One object a stratum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from guerdon.calibration.intervals import jeffreys
from guerdon.calibration.rates import Interval
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Floats, np, special

BETS = 64
"""Bets kept: the least promising is dropped, which can only lower the evidence; 256 see a change no sooner."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """The rate has changed.

    step: when that was seen, from 1. evidence: the e-value, at least 1 / alpha. reference: the rate, or rates, in use.
    since: the first step of the best bet, near the change. rate, interval: the errors' share since then, 95 %; it is
    picked by looking, so it is a hint of what to audit, not an estimate to correct with. outcomes: since then.
    """

    step: int
    evidence: float
    reference: Interval
    since: int
    rate: float
    interval: Interval
    outcomes: int

    def __str__(self) -> str:
        known = f"{self.reference.low:.3f}" if self.reference.width == 0 else f"in {self.reference}"
        return (
            f"step {self.step}: the error rate is no longer {known} (e-value {self.evidence:.3g}); since about step "
            f"{self.since} it is {self.rate:.3f} {self.interval} on {self.outcomes} outcomes; audit again"
        )


class DriftTest:
    """An alarm for a changed rate, false with probability at most ``alpha`` over all time.

    reference: the rate in use, or an audit's interval of it. alpha: 0.05. The alarm stays once it was raised; after a
    new audit, make a new test.

    >>> test = DriftTest(0.1)
    >>> test.update(2, 20), test.update(12, 20) is not None
    (None, True)
    """

    def __init__(self, reference: float | Interval, *, alpha: float = 0.05) -> None:
        interval = reference if isinstance(reference, Interval) else Interval(float(reference), float(reference))
        if interval.low < 0.0:
            raise UsageError(f"reference must be a rate in [0, 1] or an interval of it, got {reference!r}")
        if not 0.0 < alpha < 1.0:
            raise UsageError(f"alpha must lie between 0 and 1, got {alpha!r}; usual is 0.05")
        self.reference, self.alpha = interval, alpha
        self.step = 0
        self.alarm: Alarm | None = None
        self._log_evidence = 0.0
        # one column a bet: the step it began at, the log of its stake, the errors and the outcomes since
        self._bets = np.zeros((4, 0))

    @property
    def evidence(self) -> float:
        """The e-value now: how often the bets have multiplied their stake."""
        return math.exp(min(self._log_evidence, 700.0))

    def update(self, errors: int, outcomes: int) -> Alarm | None:
        """Take in a step's outcomes, of which so many are errors; gives the alarm, if there is or ever was one.

        A step without outcomes changes nothing. Raises UsageError for counts that cannot be.
        """
        if not 0 <= errors <= outcomes or errors != int(errors) or outcomes != int(outcomes):
            raise UsageError(f"errors must be a whole number between 0 and outcomes, got {errors!r} of {outcomes!r}")
        if not outcomes:
            return self.alarm
        weight = math.log(_stake(self.step) - _stake(self.step + 1))
        self._bets = np.column_stack([self._bets, (self.step + 1, weight, 0.0, 0.0)])
        self._bets[2] += errors
        self._bets[3] += outcomes
        self.step += 1
        gains = self._bets[1] + self._log_ratio()
        # what is not yet staked stays as it is
        self._log_evidence = float(np.logaddexp(np.logaddexp.reduce(gains), math.log(_stake(self.step))))
        if self.alarm is None and self._log_evidence >= -math.log(self.alpha):
            self.alarm = self._raised(int(np.argmax(gains)))
        if len(gains) > BETS:
            self._bets = np.delete(self._bets, int(np.argmin(gains)), axis=1)
        return self.alarm

    def _log_ratio(self) -> Floats:
        """log of: likelihood under the mixture Beta(1/2, 1/2) over that under the likeliest rate of the reference."""
        _, _, errors, outcomes = self._bets
        others = outcomes - errors
        mixture = special.betaln(errors + 0.5, others + 0.5) - math.log(math.pi)  # B(1/2, 1/2) is pi
        rate = np.clip(errors / outcomes, self.reference.low, self.reference.high)
        return np.asarray(mixture - special.xlogy(errors, rate) - special.xlog1py(others, -rate), dtype=np.float64)

    def _raised(self, best: int) -> Alarm:
        since, _, errors, outcomes = (float(value) for value in self._bets[:, best])
        return Alarm(
            self.step,
            self.evidence,
            self.reference,
            int(since),
            errors / outcomes,
            jeffreys(errors, outcomes),
            int(outcomes),
        )


def _stake(step: int) -> float:
    """How much of the capital is not yet bet after so many steps: falls as slowly as 1 / log does, from 1."""
    return 1.0 / math.log2(step + 2)


class DiscountedRate:
    """A Beta posterior of a rate that forgets: each step the counts so far weigh ``discount`` times as much.

    ``excludes`` says whether the interval leaves out a rate; it is a glance, not a test (see the module).
    """

    def __init__(self, *, discount: float = 0.99, confidence: float = 0.95) -> None:
        if not 0.0 < discount <= 1.0:
            raise UsageError(f"discount must lie in (0, 1], got {discount!r}; usual is 0.99")
        if not 0.0 < confidence < 1.0:
            raise UsageError(f"confidence must lie between 0 and 1, got {confidence!r}")
        self.discount, self.confidence = discount, confidence
        self.errors = 0.0
        self.outcomes = 0.0

    def update(self, errors: int, outcomes: int) -> None:
        """Take in a step's outcomes, of which so many are errors."""
        if not 0 <= errors <= outcomes:
            raise UsageError(f"errors must be between 0 and outcomes, got {errors!r} of {outcomes!r}")
        self.errors = self.discount * self.errors + errors
        self.outcomes = self.discount * self.outcomes + outcomes

    @property
    def mean(self) -> float:
        """Of Beta(errors + 1/2, others + 1/2), the discounted counts."""
        return (self.errors + 0.5) / (self.outcomes + 1.0)

    @property
    def interval(self) -> Interval:
        return jeffreys(self.errors, self.outcomes, confidence=self.confidence)

    def excludes(self, rate: float) -> bool:
        return rate not in self.interval
