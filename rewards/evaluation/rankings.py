"""Rankings of K responses (best-of-N sets, K-wise records): is the best one chosen, and how good is the order?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.rewards.evaluation._numeric import Codes, Floats, np
from guerdon.rewards.evaluation.common import (
    RowMeasure,
    Setup,
    break_down,
    compare_rulers,
    low_quantile,
    worst_groups,
)
from guerdon.rewards.evaluation.intervals import Estimate, codes_of, mean, share
from guerdon.rewards.evaluation.metrics import (
    above_all_others,
    chosen_quality,
    correctness,
    length_balanced,
    ndcg,
    reciprocal_rank,
    recovery,
    spearman,
    within_correlation,
)
from guerdon.rewards.evaluation.pairs import PairData, pair_figures
from guerdon.rewards.evaluation.scoring import Flags, SampleTable
from guerdon.rewards.report import Counts, Ranked, Section
from guerdon.rewards.types import Ranking


@dataclass(frozen=True, slots=True)
class _OfSize:
    """The rankings with K responses: their row numbers, places in the sample table and relevance (best is largest)."""

    rows: Codes
    index: Codes  # (n, K)
    relevance: Floats  # (n, K)

    @property
    def best(self) -> Floats:
        return np.asarray(self.relevance == self.relevance.max(axis=1, keepdims=True), dtype=float)


@dataclass(frozen=True, slots=True)
class RankingRows:
    """Rankings grouped by their number of responses, so that all arrays are rectangular."""

    metas: tuple[Mapping[str, Any], ...]
    clusters: Codes
    by_size: tuple[_OfSize, ...]
    identical: Flags

    @property
    def links(self) -> list[tuple[int, int]]:
        """The pairs whose order a change of scores may flip."""
        return [
            (int(i), int(j))
            for of in self.by_size
            for _, better, worse in _pairs(of)
            for i, j in zip(better, worse, strict=True)
        ]


def _pairs(of: _OfSize) -> list[tuple[Codes, Codes, Codes]]:
    """Row number, better and worse sample of every pair of different rank, a place pair at a time."""
    found = []
    size = of.index.shape[1]
    for i in range(size):
        for j in range(size):
            rows = of.relevance[:, i] > of.relevance[:, j]
            if rows.any():
                found.append((of.rows[rows], of.index[rows, i], of.index[rows, j]))
    return found


def place_rankings(records: Sequence[Ranking], table: SampleTable, cluster: Callable[[Any], Hashable]) -> RankingRows:
    """Put every response into the sample table."""
    sized: dict[int, list[tuple[int, list[int], list[float]]]] = {}
    identical = []
    for number, record in enumerate(records):
        reference = record.meta.get("reference")
        places = [table.add(record.prompt, response, reference) for response in record.responses]
        order = {rank: place for place, rank in enumerate(sorted(set(record.ranks)))}
        relevance = [float(len(order) - 1 - order[rank]) for rank in record.ranks]
        sized.setdefault(len(places), []).append((number, places, relevance))
        identical.append(len(set(places)) < len(places))
    by_size = tuple(
        _OfSize(*(np.array(column) for column in zip(*entries, strict=True))) for _, entries in sorted(sized.items())
    )
    return RankingRows(
        tuple(record.meta for record in records),
        codes_of(cluster(record) for record in records),
        by_size,
        np.array(identical),
    )


def rankings_section(name: str, rows: RankingRows, setup: Setup) -> Section:
    """Everything about one set of rankings."""
    values = setup.scores.values
    total = len(rows.metas)

    def a_row(of_size: Callable[[_OfSize, Floats], Floats], values: Floats) -> Floats:
        """A figure a ranking, NaN where a response has no score."""
        figure = np.full(total, np.nan)
        for of in rows.by_size:
            scores = values[of.index]
            whole = ~np.isnan(scores).any(axis=1)
            part = _OfSize(of.rows[whole], of.index[whole], of.relevance[whole])
            figure[part.rows] = of_size(part, scores[whole])
        return figure

    decided = np.zeros(total, dtype=bool)
    chance = np.ones(total)
    for of in rows.by_size:
        decided[of.rows] = np.ptp(of.relevance, axis=1) > 0
        chance[of.rows] = of.best.mean(axis=1)

    def top_1(values: Floats) -> Floats:
        return a_row(lambda of, scores: chosen_quality(scores, of.best), values)

    measure = RowMeasure("top-1 accuracy", rows.clusters, top_1)
    scored = measure.usable(values)
    used = decided & scored
    pairs = _pair_data(rows, setup, used)

    def balanced(other: Floats) -> Estimate:
        margins = other[pairs.better] - other[pairs.worse]
        known = ~np.isnan(margins)
        longer = pairs.data.chosen_length - pairs.data.rejected_length
        return length_balanced(correctness(margins[known]), longer[known], pairs.data.clusters[known])

    groups, notes = break_down(setup, measure, used, rows.metas)
    headline = measure.estimate(values, used)
    if headline.value is None:
        why = "every ranking is one tie" if not decided.any() else "no ranking has a score for every response"
        headline = Estimate.missing(why, total)
    return Section(
        name=name,
        kind="rankings",
        measure=measure.name,
        unit="ranking",
        counts=_counts(rows, setup, used, scored, decided),
        headline=headline,
        unscored_half=measure.with_guess(values, decided, chance),
        chance=float(chance[used].mean()) if used.any() else 0.5,
        ceiling=Estimate.missing("rankings do not say how sure they are"),
        pairs=pair_figures(pairs.data, scale=setup.scale, temperature=setup.temperature, seed=setup.seed),
        rulers=compare_rulers(setup, measure, used, balanced),
        groups=groups,
        minimum_rows=setup.minimum_rows,
        worst=worst_groups(groups),
        low_quantile=low_quantile(groups),
        ties=None,
        styles=None,
        battles=None,
        ranked=_ranked(rows, values, used, a_row, headline, float(chance[used].mean())) if used.any() else None,
        correctness=None,
        notes=notes,
    )


def _ranked(
    rows: RankingRows,
    values: Floats,
    used: Flags,
    a_row: Callable[[Callable[[_OfSize, Floats], Floats], Floats], Floats],
    headline: Estimate,
    chance: float,
) -> Ranked:
    clusters = rows.clusters[used]

    def over_rows(of_size: Callable[[_OfSize, Floats], Floats]) -> Floats:
        return a_row(of_size, values)[used]

    gain = over_rows(lambda of, scores: chosen_quality(scores, of.relevance) - of.relevance.mean(axis=1))
    possible = over_rows(lambda of, _: of.relevance.max(axis=1) - of.relevance.mean(axis=1))
    return Ranked(
        top_1=headline,
        chance=chance,
        above_all=share(over_rows(lambda of, scores: above_all_others(scores, of.best)), clusters),
        mrr=mean(over_rows(lambda of, scores: reciprocal_rank(scores, of.best)), clusters),
        ndcg=mean(over_rows(lambda of, scores: ndcg(scores, of.relevance)), clusters),
        recovery=recovery(gain, possible, clusters),
        within=_within(rows, values, used),
        overall=_overall(rows, values, used),
        sizes=tuple((of.index.shape[1], int(used[of.rows].sum())) for of in rows.by_size),
    )


def _within(rows: RankingRows, values: Floats, used: Flags) -> Estimate:
    found, clusters = [np.zeros(0)], [np.zeros(0, dtype=np.intp)]
    for of in rows.by_size:
        mine = used[of.rows]
        correlations, exists = within_correlation(values[of.index[mine]], of.relevance[mine])
        found.append(correlations)
        clusters.append(rows.clusters[of.rows[mine][exists]])
    correlations = np.concatenate(found)
    if not len(correlations):
        return Estimate.missing("all scores are equal inside every prompt")
    return mean(correlations, np.concatenate(clusters))


def _overall(rows: RankingRows, values: Floats, used: Flags) -> Estimate:
    scores = np.concatenate([values[of.index[used[of.rows]]].ravel() for of in rows.by_size])
    # relevance on one scale, 0 … 1, since rankings differ in length
    quality = np.concatenate(
        [
            (of.relevance / np.maximum(of.relevance.max(axis=1, keepdims=True), 1))[used[of.rows]].ravel()
            for of in rows.by_size
        ]
    )
    value = spearman(scores, quality)
    return Estimate.missing("all scores are equal", len(scores)) if value is None else Estimate(value, n=len(scores))


@dataclass(frozen=True, slots=True)
class _RankedPairs:
    data: PairData
    better: Codes
    worse: Codes


def _pair_data(rows: RankingRows, setup: Setup, used: Flags) -> _RankedPairs:
    """All pairs of different rank inside the rankings that are used."""
    parts = [part for of in rows.by_size for part in _pairs(of)]
    empty = np.zeros(0, dtype=np.intp)
    number, better, worse = (
        np.concatenate([empty, *column]) for column in (zip(*parts, strict=True) if parts else [[]] * 3)
    )
    kept = used[number]
    number, better, worse = number[kept], better[kept], worse[kept]
    data = PairData(
        setup.scores.values[better] - setup.scores.values[worse],
        setup.lengths[better],
        setup.lengths[worse],
        np.ones(len(better)),
        np.ones(len(better)),
        rows.clusters[number],
    )
    return _RankedPairs(data, better, worse)


def _counts(rows: RankingRows, setup: Setup, used: Flags, scored: Flags, decided: Flags) -> Counts:
    scores = setup.scores
    over_long, truncated = np.zeros(len(used), dtype=bool), np.zeros(len(used), dtype=bool)
    for of in rows.by_size:
        over_long[of.rows] = scores.over_long[of.index].any(axis=1)
        truncated[of.rows] = scores.truncated[of.index].any(axis=1)
    samples = np.unique(np.concatenate([of.index.ravel() for of in rows.by_size]))
    return Counts(
        rows=len(used),
        used=int(used.sum()),
        tied=int((~decided).sum()),
        unscored=int((~scored).sum()),
        over_long=int(over_long.sum()),
        truncated=int((truncated & scored).sum()),
        identical=int(rows.identical.sum()),
        flipped=0,
        samples=len(samples),
        reasons=scores.reasons(samples.tolist()),
    )
