"""What debiasing did, on labelled pairs of prompts that the curve was not fitted on: before, after, and the difference.

Two correlations are told apart. *Pooled*: of score and feature over all responses, which a curve takes out. *Within
pairs*: of the differences between two responses to one prompt, which is what a policy's group sees; a pooled curve
takes it out only as far as scores run with the feature in the same way inside prompts as between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from guerdon.calibration._arrays import Codes, Floats, np
from guerdon.calibration.debiasing.pool import Pool
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation.intervals import Estimate, mean, share
from guerdon.rewards.evaluation.metrics import correctness, length_balanced

RESAMPLES = 200
MOST_ROWS = 200_000
"""Rows times resamples are bounded: beyond so many rows a correlation has no interval, and needs none."""


@dataclass(frozen=True, slots=True)
class Figures:
    """One set of scores. pooled, within: Spearman's correlation with the feature. accuracy: over all pairs; more_right,
    less_right: over pairs whose better response has more, or less, of the feature; balanced: the mean of the two."""

    pooled: Estimate
    within: Estimate
    accuracy: Estimate
    more_right: Estimate
    less_right: Estimate
    balanced: Estimate


@dataclass(frozen=True, slots=True)
class Change:
    """After minus before, with paired intervals."""

    accuracy: Estimate
    more_right: Estimate
    less_right: Estimate
    balanced: Estimate


@dataclass(frozen=True, slots=True)
class Comparison:
    """Scores before and after debiasing, on one feature."""

    feature: str
    responses: int
    pairs: int
    before: Figures
    after: Figures
    change: Change

    def to_dict(self) -> dict[str, Any]:
        sides = {
            name: {field.name: _plain(getattr(getattr(self, name), field.name)) for field in fields(kind)}
            for name, kind in (("before", Figures), ("after", Figures), ("change", Change))
        }
        return {"feature": self.feature, "responses": self.responses, "pairs": self.pairs, **sides}


def compare(
    pool: Pool, before: Floats, after: Floats, features: Mapping[str, Floats], *, seed: int = 0
) -> list[Comparison]:
    """A comparison a feature. before, after: (n,), a score a response of the pool, NaN where there is none."""
    for name, values in {"before": before, "after": after, **features}.items():
        if len(values) != len(pool):
            raise UsageError(f"{name} has {len(values)} values for {len(pool)} responses")
    pairs = np.intersect1d(pool.known(before), pool.known(after))
    clusters = pool.prompts[pool.better[pairs]]
    sides = pool.better[pairs], pool.worse[pairs]
    right = [correctness(values[sides[0]] - values[sides[1]]) for values in (before, after)]
    found = []
    for name, column in features.items():
        more = column[sides[0]] - column[sides[1]]
        figures = [
            Figures(
                rank_correlation(values, column, pool.prompts, seed=seed),
                rank_correlation(values[sides[0]] - values[sides[1]], more, clusters, seed=seed, both_ways=True),
                share(correct, clusters),
                share(correct[more > 0], clusters[more > 0]),
                share(correct[more < 0], clusters[more < 0]),
                length_balanced(correct, more, clusters),
            )
            for values, correct in zip((before, after), right, strict=True)
        ]
        moved = right[1] - right[0]
        change = Change(
            mean(moved, clusters),
            mean(moved[more > 0], clusters[more > 0]),
            mean(moved[more < 0], clusters[more < 0]),
            length_balanced(moved, more, clusters),
        )
        scored = int((np.isfinite(before) & np.isfinite(after)).sum())
        found.append(Comparison(name, scored, len(pairs), figures[0], figures[1], change))
    return found


def rank_correlation(x: Floats, y: Floats, clusters: Codes, *, seed: int = 0, both_ways: bool = False) -> Estimate:
    """Spearman's correlation with a 95 % interval from resampled clusters; rows with NaN are left out.

    both_ways: rows are differences whose sign is an accident of the order, so each counts with both signs.
    """
    known = np.isfinite(x) & np.isfinite(y)
    x, y, clusters = x[known], y[known], clusters[known]
    if both_ways:
        x, y, clusters = np.concatenate([x, -x]), np.concatenate([y, -y]), np.concatenate([clusters, clusters])
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Estimate.missing("scores or features are all equal, or fewer than three", len(x))
    once = np.ones((1, len(x)))
    value = float(_weighted_spearman(x, y, once)[0])
    names, index = np.unique(clusters, return_inverse=True)
    n = len(x) // (2 if both_ways else 1)
    if len(names) < 2 or len(x) > MOST_ROWS:
        return Estimate(value, n=n, clusters=len(names))
    generator = np.random.default_rng(seed)
    draws = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=RESAMPLES)
    block = max(1, 4_000_000 // len(x))
    found = [
        _weighted_spearman(x, y, draws[start : start + block][:, index.reshape(-1)].astype(float))
        for start in range(0, RESAMPLES, block)
    ]
    low, high = np.nanquantile(np.concatenate(found), (0.025, 0.975))
    return Estimate(value, float(low), float(high), n, len(names))


def _weighted_spearman(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Spearman's correlation of rows that stand there ``weights`` times each: (b, n) gives (b,)."""
    a, b = (_weighted_ranks(values, weights) for values in (x, y))
    total = weights.sum(axis=1, keepdims=True)
    a, b = (ranks - (weights * ranks).sum(axis=1, keepdims=True) / total for ranks in (a, b))
    size = np.sqrt((weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((weights * a * b).sum(axis=1) / size)


def _weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Middle ranks, equal values sharing theirs."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] > ordered[:-1]]))
    level = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(values))))
    mass = np.add.reduceat(weights[:, order], starts, axis=1)
    middle = np.cumsum(mass, axis=1) - mass / 2
    ranks = np.empty_like(weights)
    ranks[:, order] = middle[:, level]
    return ranks


def _plain(figure: Estimate) -> dict[str, Any]:
    return {"value": figure.value, "low": figure.low, "high": figure.high, "n": figure.n, "reason": figure.reason}
