"""How sure a share is that was counted on labelled samples: of one batch, or of cells drawn at different rates.

    exact        Clopper-Pearson: quantiles of Beta(k, n - k + 1) below and Beta(k + 1, n - k) above. The default
    bootstrap    quantiles of Beta(k + 1/2, n - k + 1/2), open at k = 0 and k = n: shorter, at times under nominal
    corners      as exact for one share; ``rate_intervals.py`` says how it differs when shares are combined
    wilson       the score interval; corners when shares are combined

Over cells, the share is the mean of the cells' shares, weighted by their sizes. Its Beta distribution takes mean and
variance from them, after one more label (exact) is put where it moves the mean most: a cell without an error among
its few labels may hide some, and one such cell is enough to think of. It is the binomial form of the gamma interval
for standardised rates (Fay & Feuer 1997); with one cell it is Clopper-Pearson's. [derived for cells; the coverage is
measured in docs/calibration/noise.md]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from guerdon.calibration.rates import Interval
from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.evaluation import intervals
from guerdon.rewards.evaluation._numeric import Floats, np, special

Method: TypeAlias = Literal["exact", "bootstrap", "corners", "wilson"]
METHODS: tuple[str, ...] = get_args(Method)

Beta: TypeAlias = tuple[float, float]
"""The two parameters of a Beta distribution; one of them 0 is a point at that end."""


def clopper_pearson(events: float, n: float, *, confidence: float = 0.95) -> Interval:
    """The exact interval of a share; all of [0, 1] without trials. Clopper & Pearson 1934.

    >>> print(clopper_pearson(3, 50))
    [0.013, 0.165]
    """
    _check(events, n, confidence)
    return Interval(*_quantiles((events, n - events + 1), (events + 1, n - events), confidence))


def jeffreys(events: float, n: float, *, confidence: float = 0.95) -> Interval:
    """Quantiles of Beta(events + 1/2, n - events + 1/2), from 0 without events and up to 1 without others.

    Opened at the ends because the plain one never holds a rate of 0 (Brown, Cai & DasGupta 2001, section 4.1).
    """
    _check(events, n, confidence)
    beta = (events + 0.5, n - events + 0.5)
    low, high = _quantiles(beta, beta, confidence)
    return Interval(low if events > 0 else 0.0, high if events < n else 1.0)


def wilson(events: float, n: float, *, confidence: float = 0.95) -> Interval:
    """Wilson's score interval (``guerdon.rewards.evaluation`` has the formula); all of [0, 1] without trials."""
    _check(events, n, confidence)
    low, high = intervals.wilson(events, n, level=confidence) if n > 0 else (0.0, 1.0)
    return Interval(low if events > 0 else 0.0, high if events < n else 1.0)  # rounding would leave 1e-18 of an end


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """What is known of a share, by the cells that labels were drawn from; arrays of shape (c,).

    sizes: samples of each cell. labelled: how many of them have a label, drawn at random within the cell. events:
    labels that count (say, that contradict the verdict); expected numbers need not be whole.
    """

    sizes: Floats
    labelled: Floats
    events: Floats

    @classmethod
    def of(cls, events: float, labelled: float, size: float) -> Counts:
        """One cell."""
        return cls(np.array([size], float), np.array([labelled], float), np.array([events], float))

    @property
    def size(self) -> float:
        return float(self.sizes.sum())

    @property
    def n_labelled(self) -> float:
        return float(self.labelled.sum())

    @property
    def known(self) -> float:
        """The share of samples whose cell has a label: 0 if there is none, and if there is no sample."""
        return float(self.sizes[self.labelled > 0].sum() / self.size) if self.size > 0 else 0.0

    @property
    def share(self) -> float:
        """The estimated share of events in the cells that have labels; NaN if none has."""
        seen = self.seen
        return float(seen.sizes @ (seen.events / seen.labelled)) / seen.size if len(seen.sizes) else float("nan")

    @property
    def seen(self) -> Counts:
        """The cells that have labels."""
        kept = self.labelled > 0
        return Counts(self.sizes[kept], self.labelled[kept], self.events[kept])

    def bounding(self, method: str) -> tuple[Beta, Beta]:
        """The Beta distributions that bound the share in the seen cells from below and from above."""
        if method not in METHODS:
            raise UnknownNameError("method", method, METHODS)
        if method in ("bootstrap", "wilson"):
            both = _beta(self.seen, 0.5, 0.5)
            return both, both
        return _beta(self.seen, 0.0, 1.0), _beta(self.seen, 1.0, 0.0)

    @property
    def ends(self) -> tuple[bool, bool]:
        """Whether the share in the seen cells may be 0 (no event was seen), and 1 (nothing else was)."""
        seen = self.seen
        return not (seen.events > 0).any(), not (seen.events < seen.labelled).any()


def share_interval(counts: Counts, *, method: str = "exact", confidence: float = 0.95) -> Interval:
    """The interval of a share. Samples of cells without a label may all be events, or none.

    Raises UnknownNameError for a method there is not.
    """
    check_confidence(confidence)
    low_beta, high_beta = counts.bounding(method)
    may_be_0, may_be_1 = counts.ends
    if method == "wilson" and counts.known > 0:
        effective = sum(low_beta) - 1.0  # of one cell: its labels
        found = wilson(counts.share * effective, effective, confidence=confidence)
        low, high = found.low, found.high
    else:
        low, high = _quantiles(low_beta, high_beta, confidence)
        low, high = 0.0 if may_be_0 else low, 1.0 if may_be_1 else high
    known = counts.known
    return Interval(known * low, min(1.0, known * high + (1.0 - known)))


def _beta(seen: Counts, errors: float, others: float) -> Beta:
    """The Beta of the weighted share after so many more labels were put where they move it most."""
    events, labelled = seen.events.copy(), seen.labelled.copy()
    if not len(labelled):
        return errors, others
    if len(labelled) > 1:
        weights = seen.sizes / seen.size
        moved = (events + errors) / (labelled + errors + others) - events / labelled
        # half a label of both kinds hardly moves a mean of 1/2; what it stands for is how much a label weighs
        worst = int(np.argmax(weights / labelled if errors == others else weights * np.abs(moved)))
    else:
        worst = 0
    events[worst] += errors
    labelled[worst] += errors + others
    if len(labelled) == 1:
        return float(events[0]), float(labelled[0] - events[0])
    shares = events / labelled
    mean = float(weights @ shares)
    within = float(weights**2 @ (shares * (1 - shares) / (labelled + 1)))
    between = float(weights @ (shares - mean) ** 2) / seen.size  # the cells' sizes are themselves a draw
    if within + between <= 0.0:
        return mean, 1.0 - mean  # only at 0 or 1: nothing was seen but events, or none
    total = mean * (1 - mean) / (within + between) - 1.0
    return mean * total, (1 - mean) * total


def _quantiles(low: Beta, high: Beta, confidence: float) -> tuple[float, float]:
    tail = (1.0 - confidence) / 2.0
    bottom = float(special.betaincinv(*low, tail)) if low[0] > 0 else 0.0
    top = float(special.betaincinv(*high, 1.0 - tail)) if high[1] > 0 else 1.0
    return bottom, top


def _check(events: float, n: float, confidence: float) -> None:
    if not 0.0 <= events <= n < float("inf"):
        raise UsageError(f"events must be between 0 and the number of trials, got {events!r} of {n!r}")
    check_confidence(confidence)


def check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise UsageError(f"confidence must lie between 0 and 1, got {confidence!r}; usual is 0.95")
