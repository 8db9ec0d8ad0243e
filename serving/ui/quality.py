"""Figures of a scorer over a store: how its scores go with the truth, with length, with time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Codes, Floats, np
from guerdon.rewards.evaluation.correctness import TRUTH_COLUMNS
from guerdon.rewards.evaluation.intervals import Estimate, codes_of, mean, share
from guerdon.rewards.evaluation.metrics import best_of_n, best_of_n_kl, overoptimisation, roc_auc
from guerdon.rewards.evaluation.probabilities import Bin, equal_mass, reliability_table
from guerdon.rewards.types import text_of
from guerdon.serving.store import Filter, Row
from guerdon.serving.ui.source import Pool, Source, middle_of

if TYPE_CHECKING:
    from guerdon.serving.ui.auditing import Desk

LABELS = "labels of the Audit tab"
COLUMN = "column: "
SCORER = "scorer: "

BINS = 10
MOST_K = 256
MOST_GROUPS = 2_000
"""Prompts that the best-of-k curve is averaged over, drawn evenly."""

MOST_CURVE = 20_000
"""Rows that a length curve is fitted on, drawn evenly: local regression takes time for each."""

SUBSETS = 14
POINTS = 24  # steps of a drift curve


@dataclass(frozen=True, slots=True)
class Figures:
    """values: (n,), NaN unscored. truth: (n,), NaN unknown. clusters: a number for each prompt."""

    pool: Pool
    values: Floats
    truth: Floats
    lengths: Floats
    clusters: Codes

    @property
    def known(self) -> Any:
        return np.isfinite(self.values) & np.isfinite(self.truth)

    @property
    def binary(self) -> bool:
        truth = self.truth[np.isfinite(self.truth)]
        return bool(len(truth)) and bool(np.isin(truth, (0.0, 1.0)).all())


def truths_there_are(source: Source, scorer: str, desk: Desk | None) -> list[str]:
    """What may say which responses are right: labels, columns of the samples, another scorer that gives verdicts."""
    found = [LABELS] if desk is not None and desk.labels.latest else []
    first = source.opened.rows(of_scorer(scorer), limit=20)
    columns = {key for row in first for key, value in row.meta.items() if key in TRUTH_COLUMNS and _is_truth(value)}
    found += [f"{COLUMN}{key}" for key in sorted(columns)]
    found += [f"{SCORER}{name}" for name, scale in source.scorers().items() if name != scorer and scale == "verdict"]
    return found


def of_scorer(scorer: str) -> Filter:
    return Filter(scorer=scorer)


def _is_truth(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) and math.isfinite(value)


def _number(value: Any) -> float:
    return float(value) if _is_truth(value) else math.nan


def measure(source: Source, scorer: str, truth: str | None, desk: Desk | None) -> Figures:
    """All of a scorer's scores as arrays. Raises UsageError for a scorer or a truth that is not there."""
    pool = source.pool(scorer)
    values = np.array([math.nan if row.value is None else row.value for row in pool.rows])
    lengths = np.array([math.nan if row.response is None else float(len(text_of(row.response))) for row in pool.rows])
    clusters = codes_of(row.prompt_hash or row.group or row.id for row in pool.rows)
    return Figures(pool, values, _truth(source, pool, truth, desk), lengths, clusters)


def _truth(source: Source, pool: Pool, truth: str | None, desk: Desk | None) -> Floats:
    if not truth:
        return np.full(len(pool.rows), math.nan)
    if truth == LABELS and desk is not None:
        labels = desk.labels.latest
        return np.array([float(labels[name].right) if name in labels else math.nan for name in pool.ids])
    if truth.startswith(COLUMN):
        key = truth.removeprefix(COLUMN)
        found = [row.meta.get(key) for row in pool.rows]
        return np.array([_number(value) for value in found])
    if truth.startswith(SCORER):
        other = source.pool(truth.removeprefix(SCORER))
        says = {(row.prompt_hash, row.response_hash): row.value for row in other.rows if row.value is not None}
        return np.array([says.get((row.prompt_hash, row.response_hash), math.nan) for row in pool.rows], dtype=float)
    raise UsageError(f"no truth is called {truth!r:.80}")


def reliability(figures: Figures) -> tuple[Bin, ...] | None:
    """Observed against claimed, for a scorer of probabilities and a truth of right and wrong; else None."""
    if figures.pool.scale != "probability" or not figures.binary:
        return None
    p, y = figures.values[figures.known], figures.truth[figures.known]
    return reliability_table(p, y, equal_mass(p, BINS)) if len(p) else None


def auc(figures: Figures) -> Estimate:
    known = figures.known
    if not figures.binary or not known.any():
        return Estimate.missing("no right and wrong responses are known")
    return roc_auc(figures.values[known], figures.truth[known], figures.clusters[known])


def spread(figures: Figures) -> tuple[list[float], list[int], list[int]] | None:
    """Edges, and how many right and wrong responses score between them; None without both."""
    known = figures.known
    if not figures.binary or not known.any():
        return None
    values = figures.values[known]
    low, high = (float(q) for q in np.quantile(values, (0.002, 0.998)))
    if high <= low:
        low, high = low - 0.5, low + 0.5
    edges = np.linspace(low, high, 25)
    inside = np.clip(values, low, high)
    right, wrong = (np.histogram(inside[figures.truth[known] == side], edges)[0] for side in (1.0, 0.0))
    return edges.tolist(), right.tolist(), wrong.tolist()


def curve(figures: Figures) -> Any:
    """(curve, values, lengths, values after) on rows drawn evenly, or None with too few texts."""
    from guerdon.calibration.debias import FEWEST, fit_curve

    rows = np.flatnonzero(np.isfinite(figures.values) & np.isfinite(figures.lengths))
    if len(rows) < FEWEST or np.ptp(figures.lengths[rows]) == 0:
        return None
    if len(rows) > MOST_CURVE:
        rows = rows[np.linspace(0, len(rows) - 1, MOST_CURVE).astype(int)]
    values, lengths = figures.values[rows], figures.lengths[rows]
    fitted = fit_curve(values, lengths)
    return fitted, values, lengths, fitted.apply(values, lengths)


def best_of(figures: Figures) -> Any:
    """Truth of the best-scored of k over groups, with its over-optimisation fit; None unless groups have siblings.

    Gives (prompts, left_out, curve, oracle, kl, fit) with fit = (a, b) of d (a - b d), or None.
    """
    rows = np.flatnonzero(figures.known)
    if not len(rows):
        return None
    order = rows[np.argsort(figures.clusters[rows], kind="stable")]
    groups = np.split(order, np.flatnonzero(np.diff(figures.clusters[order])) + 1)
    sizes = np.sort([len(group) for group in groups])
    last = min(MOST_K, int(sizes[len(sizes) // 2]))
    kept = [group for group in groups if len(group) >= last]
    if last < 2:
        return None
    left_out = len(groups) - len(kept)
    if len(kept) > MOST_GROUPS:
        kept = [kept[i] for i in np.linspace(0, len(kept) - 1, MOST_GROUPS).astype(int)]
    values, truth = figures.values, figures.truth
    by_score = np.mean([best_of_n(values[group], truth[group], last) for group in kept], axis=0)
    oracle = np.mean([best_of_n(truth[group], truth[group], last) for group in kept], axis=0)
    kl = best_of_n_kl(np.arange(1, last + 1, dtype=float))
    fit = overoptimisation(kl, by_score - by_score[0])
    return len(kept), left_out, by_score, oracle, kl, fit


def right_scores(figures: Figures) -> Floats:
    """1 where the scorer's yes or no is the truth's, NaN unknown: the accuracy of a row."""
    yes = figures.values >= middle_of(figures.pool.scale)
    return np.where(figures.known, (yes == (figures.truth >= 0.5)).astype(float), math.nan)


def subsets(figures: Figures, by: str) -> list[tuple[str, Estimate, Estimate]]:
    """The largest values of a column or detail: name, mean score and accuracy of each, with intervals."""
    rows = figures.pool.rows
    keys = [_key(row, by) for row in rows]
    counts: dict[str, int] = {}
    for key in keys:
        counts[key] = counts.get(key, 0) + 1
    right = right_scores(figures)
    found = []
    for key in sorted(counts, key=lambda each: -counts[each])[:SUBSETS]:
        at = np.array([each == key for each in keys])
        found.append((key, _mean(figures, at), share_of(np.where(at, right, math.nan), figures.clusters)))
    return found


def _key(row: Any, by: str) -> str:
    value = row.details.get(by) if by in row.details else row.meta.get(by)
    return "?" if value is None else str(value)[:80]


def columns_to_split_by(rows: Sequence[Row]) -> list[str]:
    """Details and columns with a few different short values in these rows."""
    values: dict[str, set[str]] = {}
    for row in rows:
        for facts in (row.details, row.meta):
            for key, value in facts.items():
                if isinstance(value, (str, bool, int)) and len(str(value)) <= 80:
                    values.setdefault(key, set()).add(str(value))
    return sorted(key for key, seen in values.items() if 2 <= len(seen) <= 40)


def _mean(figures: Figures, at: Any) -> Estimate:
    at = at & np.isfinite(figures.values)
    if not at.any():
        return Estimate.missing("none is scored")
    estimate = share if figures.pool.scale in ("verdict", "probability") else mean
    return estimate(figures.values[at], figures.clusters[at])


def share_of(right: Floats, clusters: Codes) -> Estimate:
    """The mean of what is known, with its interval."""
    known = np.isfinite(right)
    return share(right[known], clusters[known]) if known.any() else Estimate.missing("no truth is known")


def drift(figures: Figures) -> list[tuple[str, list[tuple[float, Estimate]]]]:
    """The mean score by step, a series for each version; by the order of scoring where no steps are known."""
    rows = figures.pool.rows
    steps = np.array([math.nan if row.step is None else float(row.step) for row in rows])
    known = np.isfinite(steps)
    at = steps if known.any() else np.arange(len(rows), dtype=float)
    seen = np.isfinite(figures.values) & np.isfinite(at)
    if not seen.any():
        return []
    distinct = np.unique(at[seen])
    # a point for each step, or for as many even stretches as a plot can show
    edges = (
        np.append(distinct, np.inf) if len(distinct) <= POINTS else np.linspace(distinct[0], distinct[-1], POINTS + 1)
    )
    versions: Mapping[str, None] = dict.fromkeys(row.version for row in rows)
    series = []
    for version in list(versions)[-3:]:
        own = seen & np.array([row.version == version for row in rows])
        points = []
        for left, right in pairwise(edges):
            inside = own & (at >= left) & ((at < right) | (right == edges[-1]))
            if inside.any():
                points.append((float(at[inside].mean()), _mean(figures, inside)))
        series.append((version, points))
    return series


def has_steps(figures: Figures) -> bool:
    return any(row.step is not None for row in figures.pool.rows)
