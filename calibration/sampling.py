"""Which samples a person should label next, and how many labels an interval of a given width takes.

Every cell (a stratum's accepted, or rejected, samples) gets at least a few labels; the rest goes where a label narrows
the two rates of all samples most: Neyman's allocation, weighted by how much the rates move with the cell's share of
errors (methods C2.2). The labels are asked for in an order whose every beginning is spread over the cells, so that a
person may stop at any time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from guerdon.calibration.cells import Cell, Cells
from guerdon.calibration.intervals import Counts
from guerdon.calibration.rate_intervals import rate_intervals
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Codes, Floats, np

LEAST = 10
"""Labels of a cell, or all its samples if there are fewer: methods C2.2."""

PRIOR = 0.1
"""The share of wrong verdicts that is expected where nothing was labelled yet, worth two labels."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A cell as it is, and how many new labels it gets."""

    cell: Cell
    wanted: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What to label next.

    indices: positions of the samples in the order to label them, shape (b,). notes: what the budget could not do.
    """

    indices: Codes
    cells: tuple[Planned, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Needed:
    """labels: how many more are expected to be needed, None if the samples do not suffice; half_width: reached so."""

    labels: int | None
    half_width: float


def choose(
    verdicts: Any,
    strata: Sequence[str] | None = None,
    *,
    budget: int,
    truths: Any = None,
    prior: float = PRIOR,
    least: int = LEAST,
    seed: int = 0,
) -> Plan:
    """The next samples to label.

    verdicts: 1, 0, or NaN for an unscored sample, shape (n,); unscored ones are never chosen. strata: the key of each
    sample's, None for one stratum. truths: 1 right, 0 wrong, NaN not labelled, shape (n,): labelled samples are left
    out, and what they say is the pilot that the rest is planned by. prior: expected share of wrong verdicts where
    there is no label. least: labels that each cell is to have.
    The same arguments always give the same plan. Raises UsageError for an impossible budget, and if nothing is left.
    """
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 1:
        raise UsageError(f"budget must be a whole number of labels >= 1, got {budget!r}")
    if not 0.0 < prior < 1.0:
        raise UsageError(f"prior must lie between 0 and 1, got {prior!r}; it is the expected share of wrong verdicts")
    cells = Cells.of(verdicts, truths, strata)
    sizes, labelled = cells.counts.sizes, cells.counts.labelled
    free = sizes - labelled
    if not free.sum():
        raise UsageError("every scored sample has a label already; there is nothing left to choose")
    gain = np.empty_like(free)
    gain[cells.accepted], gain[~cells.accepted] = gains(*cells.sides(), prior=prior)
    wanted = _spread(gain, cells.counts, budget, least)
    notes = []
    if short := int(np.maximum(np.minimum(sizes, float(least)) - labelled - wanted, 0).sum()):
        notes.append(
            f"{short} more labels are needed to give each of {len(free)} cells {least} (or all it has); raise the "
            "budget or name fewer strata"
        )
    if empty := int((labelled + wanted == 0).sum()):
        notes.append(f"{empty} cells get no label at all, so nothing will be known of them")
    if budget > free.sum():
        notes.append(f"only {int(free.sum())} scored samples are without a label; all of them are chosen")
    planned = tuple(Planned(cell, int(w)) for cell, w in zip(cells.listed(), wanted, strict=True))
    return Plan(_in_order(cells.of_sample, truths, wanted, seed), planned, tuple(notes))


def neyman(sizes: Floats, shares: Floats, budget: int, *, least: int = LEAST) -> Codes:
    """Labels of each cell in proportion to sizes * sqrt(shares * (1 - shares)): least variance of the whole's share.

    sizes: samples of each cell, shape (c,), also the most it can get. shares: the expected share of events in each.
    Neyman 1934, methods C2.2.
    """
    weights = sizes * np.sqrt(shares * (1 - shares))
    return allocate(weights, budget, least=np.full(len(sizes), float(least)), most=np.asarray(sizes, dtype=np.float64))


def allocate(weights: Floats, budget: int, *, least: Floats, most: Floats) -> Codes:
    """Whole numbers in proportion to the weights, from ``least`` to ``most`` each, that sum to the budget.

    All of shape (c,), weights >= 0. A budget under the sum of ``least``, or over that of ``most``, becomes that sum.
    Rounding is by the largest remainder, ties to the earlier.

    >>> allocate(np.array([3.0, 1.0, 1.0]), 50, least=np.full(3, 10.0), most=np.array([90.0, 90.0, 5.0])).tolist()
    [34, 11, 5]
    """
    least = np.minimum(least, most)
    budget = int(min(max(budget, least.sum()), most.sum()))
    # a weight of 0 still gets what no other cell has room for
    weights = np.maximum(weights, max(float(weights.max(initial=0.0)), 1.0) * 1e-12)
    low, high = -100.0, 100.0  # of log t, where sum(clip(t * weights, least, most)) = budget
    for _ in range(80):
        middle = (low + high) / 2
        spent = float(np.clip(np.exp(middle) * weights, least, most).sum())
        low, high = (middle, high) if spent < budget else (low, middle)
    shares = np.clip(np.exp(low) * weights, least, most)
    whole = np.floor(shares + 1e-9)
    by_remainder = np.argsort(whole - shares, kind="stable")
    with_room = by_remainder[whole[by_remainder] < most[by_remainder]]
    whole[with_room[: max(0, budget - int(whole.sum()))]] += 1
    return np.asarray(whole, dtype=np.intp)


def gains(accepted: Counts, rejected: Counts, *, prior: float = PRIOR) -> tuple[Floats, Floats]:
    """Neyman weights of each side's cells for the sum of both rates' variances: |gradient| * size * sqrt(p (1 - p)).

    What is known so far is the pilot: a cell's expected share p is its own, drawn to its side's by two labels.
    """
    n = max(accepted.size + rejected.size, 1.0)
    a, r = expected(accepted, prior), expected(rejected, prior)
    false_accepts, true_accepts = float(accepted.sizes @ a) / n, float(accepted.sizes @ (1 - a)) / n
    false_rejects, true_rejects = float(rejected.sizes @ r) / n, float(rejected.sizes @ (1 - r)) / n
    wrong, right = max(false_accepts + true_rejects, 1 / n), max(false_rejects + true_accepts, 1 / n)
    # d(fp), d(fn) by the number of false accepts, then by the number of false rejects
    by_accepts = np.hypot(true_rejects / wrong**2, false_rejects / right**2)
    by_rejects = np.hypot(false_accepts / wrong**2, true_accepts / right**2)
    weights = by_accepts * accepted.sizes * np.sqrt(a * (1 - a)), by_rejects * rejected.sizes * np.sqrt(r * (1 - r))
    return weights[0] / n, weights[1] / n


def expected(counts: Counts, prior: float = PRIOR) -> Floats:
    """The share of errors to expect in each cell, inside (0, 1): its labels and two more at the side's share."""
    side = (counts.events.sum() + 2 * prior) / (counts.n_labelled + 2)
    return np.asarray((counts.events + 2 * side) / (counts.labelled + 2), dtype=np.float64)


def labels_needed(
    accepted: Counts,
    rejected: Counts,
    half_width: float,
    *,
    rate: Literal["false_positive", "false_negative"],
    method: str = "exact",
    confidence: float = 0.95,
    prior: float = PRIOR,
    least: int = LEAST,
) -> Needed:
    """How many more labels bring a rate's interval to this half width, if they say what is expected so far.

    Labels are spread over the cells as ``choose`` does; the width is that of the interval itself at the expected
    counts, searched by bisection, not a normal formula's. accepted, rejected: the cells as they are, with any labels.
    """
    if not 0.0 < half_width < 1.0:
        raise UsageError(f"half_width must lie between 0 and 1, got {half_width!r}; for example 0.05")
    a, r = expected(accepted, prior), expected(rejected, prior)
    gain = np.concatenate(gains(accepted, rejected, prior=prior))
    both = Counts(
        np.concatenate([accepted.sizes, rejected.sizes]),
        np.concatenate([accepted.labelled, rejected.labelled]),
        np.concatenate([accepted.events, rejected.events]),
    )

    def reached(more: int) -> float:
        new = _spread(gain, both, more, least) if more else np.zeros_like(gain)
        sides = [
            Counts(counts.sizes, counts.labelled + added, counts.events + added * share)
            for counts, share, added in ((accepted, a, new[: len(a)]), (rejected, r, new[len(a) :]))
        ]
        found = rate_intervals(*sides, method=method, confidence=confidence)
        return float(getattr(found, rate).width) / 2

    low, high = 0, int((both.sizes - both.labelled).sum())
    if (width := reached(0)) <= half_width:
        return Needed(0, width)
    if (width := reached(high)) > half_width:
        return Needed(None, width)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) <= half_width else (middle, high)
    return Needed(high, reached(high))


def _spread(gain: Floats, counts: Counts, budget: int, least: int) -> Codes:
    """New labels of each cell: evenly until each has its ``least``, the rest so that all labels follow the gain."""
    sizes, labelled = counts.sizes, counts.labelled
    lacking = np.maximum(np.minimum(sizes, float(least)) - labelled, 0.0)
    if budget < lacking.sum():
        return allocate(np.ones_like(gain), budget, least=np.zeros_like(gain), most=lacking)
    goal = allocate(gain, budget + int(labelled.sum()), least=labelled + lacking, most=sizes)
    return goal - labelled.astype(np.intp)


def _in_order(of_sample: Codes, truths: Any, wanted: Codes, seed: int) -> Codes:
    """Samples drawn at random within each cell; first one of every cell, then in proportion."""
    rng = np.random.default_rng(seed)
    free = of_sample >= 0
    if truths is not None:
        free &= np.isnan(np.asarray(truths, dtype=np.float64))
    indices = rng.permutation(np.flatnonzero(free))
    indices = indices[np.argsort(of_sample[indices], kind="stable")]
    cell = of_sample[indices]
    starts = np.searchsorted(cell, np.arange(len(wanted)))
    turn = np.arange(len(indices)) - starts[cell]
    drawn = turn < wanted[cell]
    indices, cell, turn = indices[drawn], cell[drawn], turn[drawn]
    place = turn / wanted[cell] + rng.random(len(indices)) / (2 * wanted[cell])
    return np.asarray(indices[np.lexsort((place, turn > 0))], dtype=np.intp)
