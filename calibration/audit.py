"""Audit a verifier: its error rates, with intervals, from the labels a person gave to some of the samples it judged.

    plan = choose(verdicts, strata, budget=200)                  # what to label next (sampling.py)
    audit = estimate(verdicts, truths, strata, scorer="math")    # what the labels say, by stratum and overall
    audit.rates.save("rates.json")

Labels may be drawn at quite different rates from the accepted and the rejected of each stratum, as ``choose`` does;
within such a cell they must be a random sample. docs/calibration/noise.md says how good the intervals are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from guerdon.calibration.cells import Cell, Cells
from guerdon.calibration.intervals import Counts
from guerdon.calibration.rate_intervals import RateIntervals, rate_intervals, rates_of
from guerdon.calibration.rates import Channel, Interval, NoiseRates, prefixes
from guerdon.calibration.sampling import Needed, Plan, choose, labels_needed
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import np
from guerdon.rewards.types import FrozenDict

__all__ = ["Audit", "Found", "Needed", "Plan", "choose", "estimate", "labels_needed"]


@dataclass(frozen=True, slots=True)
class Found:
    """What the audit says of one stratum.

    accepted, rejected: the cells with their labels, errors being wrong verdicts. unscored: samples without a verdict,
    which are in no rate. channel: None if no rate can be told, and ``reason`` says why; also why a rate is borrowed.
    prevalence: the share of right samples among the scored ones, None without labels on both sides.
    """

    accepted: Counts
    rejected: Counts
    unscored: int
    channel: Channel | None
    reason: str = ""
    prevalence: float | None = None
    prevalence_interval: Interval | None = None

    @property
    def n(self) -> int:
        """Scored samples."""
        return int(self.accepted.size + self.rejected.size)

    @property
    def labelled(self) -> int:
        return int(self.accepted.n_labelled + self.rejected.n_labelled)

    @property
    def unlabelled(self) -> int:
        """Scored samples in cells without any label: nothing is assumed of them, and intervals are as wide."""
        return round(sum(side.size * (1 - side.known) for side in (self.accepted, self.rejected)))


@dataclass(frozen=True, slots=True)
class Audit:
    """An audit's result. found: by key, every path down to the root "". cells: what the labels were drawn from."""

    scorer: str
    version: str
    stratum: str
    method: str
    confidence: float
    found: Mapping[str, Found]
    cells: tuple[Cell, ...]

    @property
    def rates(self) -> NoiseRates:
        """The channels of all strata that have one. Raises UsageError if none has."""
        channels = {key: found.channel for key, found in self.found.items() if found.channel is not None}
        if not channels:
            raise UsageError(f"no rates can be told from these labels: {self.found[''].reason}")
        return NoiseRates(self.scorer, self.version, self.stratum, channels, self.confidence)

    def needed(self, half_width: float) -> dict[str, dict[Literal["false_positive", "false_negative"], Needed]]:
        """How many more labels each stratum's rates take for intervals of this half width; see ``labels_needed``."""
        rates: tuple[Literal["false_positive", "false_negative"], ...] = ("false_positive", "false_negative")
        options: Any = {"method": self.method, "confidence": self.confidence}
        return {
            key: {rate: labels_needed(f.accepted, f.rejected, half_width, rate=rate, **options) for rate in rates}
            for key, f in self.found.items()
        }


def estimate(
    verdicts: Any,
    truths: Any,
    strata: Sequence[str] | None = None,
    *,
    drawn_by: Sequence[str] | Literal["stratum", "verdict"] = "stratum",
    scorer: str = "",
    version: str = "",
    stratum: str = "",
    method: str = "exact",
    confidence: float = 0.95,
    seed: int = 0,
) -> Audit:
    """False-positive and false-negative rates per stratum and overall, with the interval that ``method`` names.

    verdicts: 1, 0 or NaN for an unscored sample, shape (n,). truths: 1 right, 0 wrong, NaN not labelled, shape (n,).
    strata: the key of each sample's, None for one stratum. drawn_by: what decided how many labels a sample's like got:
    "stratum" (as ``choose`` does: each stratum's accepted and rejected), "verdict" (a random sample of all, or of the
    accepted and of the rejected), or a key for each sample if it was something else; always together with the verdict.
    scorer, version, stratum (the spec): kept in the record. method: see ``intervals.py``.
    Cells are weighted by their sizes. A stratum that has a side without labels gets no channel but a reason. One with
    no wrong (or no right) sample in sight says nothing of one rate, and borrows that from the next shorter path, as
    ``Channel.borrowed`` tells. Raises UsageError for arrays that do not fit and if there is no label.
    """
    if isinstance(drawn_by, str) and drawn_by not in ("stratum", "verdict"):
        raise UsageError(f"drawn_by must be 'stratum', 'verdict' or a key for each sample, got {drawn_by!r:.80}")
    keys = [""] * len(verdicts) if drawn_by == "verdict" else None if drawn_by == "stratum" else drawn_by
    cells = Cells.of(verdicts, truths, strata, keys)
    if not cells.counts.n_labelled:
        raise UsageError("no scored sample has a label; label some of each verdict first (choose says which)")
    found: dict[str, Found] = {}
    paths = cells.paths()
    for path in sorted(paths, key=lambda path: (path.count("/"), path) if path else (-1, "")):  # the shorter ones first
        sides, unscored = cells.sides(paths[path]), int(cells.unscored[paths[path]].sum())
        above = next((found[p].channel for p in prefixes(path) if p != path and p in found and found[p].channel), None)
        found[path] = _found(*sides, unscored, method, confidence, seed, above)
    found = {path: found[path] for path in paths}
    return Audit(scorer, version, stratum, method, confidence, FrozenDict(found), tuple(cells.listed()))


def _found(
    accepted: Counts,
    rejected: Counts,
    unscored: int,
    method: str,
    confidence: float,
    seed: int,
    above: Channel | None,
) -> Found:
    sides = (("accepted", accepted), ("rejected", rejected))
    lacking = [
        f"none of {side.size:.0f} {name} samples has a label" for name, side in sides if side.size and not side.known
    ]
    if not accepted.size + rejected.size:
        lacking = ["no sample is scored"]
    if lacking:
        return Found(accepted, rejected, unscored, None, " and ".join(lacking))
    intervals = rate_intervals(accepted, rejected, method=method, confidence=confidence, seed=seed)
    # a side without samples adds nothing, whatever its share
    a, r = (side.share if side.size else 0.0 for _, side in sides)
    n = accepted.size + rejected.size
    right = (rejected.size * r + accepted.size * (1 - a)) / n
    fp, fn = (float(rate) for rate in rates_of(*(np.array(x) for x in (accepted.size, rejected.size, a, r))))
    labels = int(accepted.n_labelled + rejected.n_labelled)
    lacking = [f"no labelled sample is {kind}" for kind, rate in (("wrong", fp), ("right", fn)) if np.isnan(rate)]
    channel = None
    if not lacking:
        own = (intervals.false_positive, intervals.false_negative, intervals.strength)
        channel = Channel(fp, fn, *own, labels)
    elif above is not None:
        channel = _borrowing(fp, fn, intervals, labels, above)
    return Found(accepted, rejected, unscored, channel, " and ".join(lacking), right, intervals.prevalence)


def _borrowing(fp: float, fn: float, intervals: RateIntervals, labels: int, above: Channel) -> Channel:
    """A channel of one rate of the stratum's own and another, NaN here, of the path above it.

    Its strength interval takes the worst and the best of both, so a stratum is corrected only where its own rate alone
    leaves no doubt that its verdicts say something.
    """
    fp_interval, fn_interval = intervals.false_positive, intervals.false_negative
    if np.isnan(fp):
        fp, fp_interval, borrowed = above.false_positive, above.false_positive_interval or fp_interval, "false_positive"
    else:
        fn, fn_interval, borrowed = above.false_negative, above.false_negative_interval or fn_interval, "false_negative"
    strength = Interval(
        max(-1.0, 1 - fp_interval.high - fn_interval.high), min(1.0, 1 - fp_interval.low - fn_interval.low)
    )
    return Channel(fp, fn, fp_interval, fn_interval, strength, labels, (borrowed,))
