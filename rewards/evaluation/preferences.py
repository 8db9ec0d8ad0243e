"""Preference pairs: accuracy and its company, ties, RM-Bench's style matrix, battles between named models.

JudgeBench needs nothing of its own: its rule scores both orders of a pair and counts the sum, and for a scorer that
gives each response its own score both orders agree, so that the rule is pair accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.rewards.evaluation._numeric import Codes, Floats, np
from guerdon.rewards.evaluation.battles import Battles, compare_models
from guerdon.rewards.evaluation.common import (
    RowMeasure,
    Setup,
    break_down,
    compare_rulers,
    low_quantile,
    worst_groups,
)
from guerdon.rewards.evaluation.intervals import Estimate, codes_of, folds_of, mean, share
from guerdon.rewards.evaluation.metrics import correctness, length_balanced, roc_auc
from guerdon.rewards.evaluation.pairs import FOLDS, PairData, pair_figures
from guerdon.rewards.evaluation.scoring import Flags, SampleTable
from guerdon.rewards.report import Counts, Section, Styles, Ties
from guerdon.rewards.types import Preference

STYLES = ("concise", "detailed_plain", "detailed_markdown")  # RM-Bench's, from plain to rich
DIFFICULTIES = ("easy", "normal", "hard")
LABEL_STRENGTHS = ("strength", "agreement")  # columns that say how sure a label is, in [0, 1]


@dataclass(frozen=True, slots=True)
class PreferenceRows:
    """Preferences with their sides' places in the sample table, the better side first."""

    metas: tuple[Mapping[str, Any], ...]
    better: Codes
    worse: Codes
    label: Floats
    weight: Floats
    clusters: Codes
    identical: Flags
    flipped: Flags

    @property
    def links(self) -> list[tuple[int, int]]:
        """The pairs whose order a change of scores may flip."""
        return list(zip(self.better.tolist(), self.worse.tolist(), strict=True))


def place_preferences(
    records: Sequence[Preference], table: SampleTable, cluster: Callable[[Any], Hashable]
) -> PreferenceRows:
    """Put both sides of every pair into the sample table. A label below 0.5 swaps the sides."""
    better, worse, label, flipped, identical = [], [], [], [], []
    for record in records:
        reference = record.meta.get("reference")
        sides = [table.add(record.prompt, text, reference) for text in (record.chosen, record.rejected)]
        p = 1.0 if record.probability is None else record.probability
        flip = p < 0.5
        better.append(sides[flip])
        worse.append(sides[not flip])
        label.append(max(p, 1 - p))
        flipped.append(flip)
        identical.append(sides[0] == sides[1])
    return PreferenceRows(
        tuple(record.meta for record in records),
        np.array(better, dtype=np.intp),
        np.array(worse, dtype=np.intp),
        np.array(label),
        np.array([record.weight for record in records]),
        codes_of(cluster(record) for record in records),
        np.array(identical),
        np.array(flipped),
    )


def preferences_section(name: str, rows: PreferenceRows, setup: Setup) -> Section:
    """Everything about one set of preference pairs."""

    def margins(values: Floats) -> Floats:
        return np.asarray(values[rows.better] - values[rows.worse])

    def figure(values: Floats) -> Floats:
        m = margins(values)
        return np.where(np.isnan(m), np.nan, correctness(m))

    mine = margins(setup.scores.values)
    decided, scored = rows.label > 0.5, ~np.isnan(mine)
    used = decided & scored
    longer = setup.lengths[rows.better] - setup.lengths[rows.worse]
    measure = RowMeasure("accuracy", rows.clusters, figure)

    def balanced(values: Floats) -> Estimate:
        both = used & measure.usable(values)
        return length_balanced(figure(values)[both], longer[both], rows.clusters[both])

    data = PairData(
        mine[used],
        setup.lengths[rows.better][used],
        setup.lengths[rows.worse][used],
        rows.label[used],
        rows.weight[used],
        rows.clusters[used],
    )
    groups, notes = break_down(setup, measure, used, rows.metas)
    battles = _battles(rows, mine, scored, setup.seed)
    if isinstance(battles, str):
        notes, battles = (*notes, f"no figures of models: {battles}"), None
    headline = measure.estimate(setup.scores.values, used)
    if headline.value is None:
        why = "every row is labelled a tie" if not decided.any() else "no row has a score on both sides"
        headline = Estimate.missing(why, len(mine))
    return Section(
        name=name,
        kind="preferences",
        measure="accuracy",
        unit="pair",
        counts=_counts(rows, setup, used, scored, decided),
        headline=headline,
        unscored_half=measure.with_guess(setup.scores.values, decided, np.full(len(mine), 0.5)),
        chance=0.5,
        ceiling=_ceiling(rows, decided),
        pairs=pair_figures(data, scale=setup.scale, temperature=setup.temperature, seed=setup.seed),
        rulers=compare_rulers(setup, measure, used, balanced),
        groups=groups,
        minimum_rows=setup.minimum_rows,
        worst=worst_groups(groups),
        low_quantile=low_quantile(groups),
        ties=_ties(mine, decided, scored, rows.clusters, setup.seed),
        styles=_styles(rows, setup, figure, used),
        battles=battles,
        ranked=None,
        correctness=None,
        notes=notes,
    )


def _counts(rows: PreferenceRows, setup: Setup, used: Flags, scored: Flags, decided: Flags) -> Counts:
    samples = np.unique(np.concatenate([rows.better, rows.worse]))
    scores = setup.scores
    return Counts(
        rows=len(used),
        used=int(used.sum()),
        tied=int((~decided).sum()),
        unscored=int((~scored).sum()),
        over_long=int((scores.over_long[rows.better] | scores.over_long[rows.worse]).sum()),
        truncated=int(((scores.truncated[rows.better] | scores.truncated[rows.worse]) & scored).sum()),
        identical=int(rows.identical.sum()),
        flipped=int(rows.flipped.sum()),
        samples=len(samples),
        reasons=scores.reasons(samples.tolist()),
    )


def _ceiling(rows: PreferenceRows, decided: Flags) -> Estimate:
    """Accuracy of one who knows P(chosen is better) exactly, against a fresh label: the mean of max(p, 1 - p)."""
    stated = np.where(rows.label < 1, rows.label, np.nan)
    for column in LABEL_STRENGTHS:
        values = np.array([_strength(meta.get(column)) for meta in rows.metas])
        stated = np.where(np.isnan(stated), values, stated)
    known = decided & ~np.isnan(stated)
    if not known.any():
        return Estimate.missing("no row says how sure its label is")
    sure = stated[known]
    return mean(np.maximum(sure, 1 - sure), rows.clusters[known])


def _strength(value: Any) -> float:
    numeric = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if numeric else np.nan


def _ties(margins: Floats, decided: Flags, scored: Flags, clusters: Codes, seed: int) -> Ties | None:
    if decided.all():
        return None
    tied, settled = scored & ~decided, scored & decided
    size = np.abs(margins)
    counts = (int(tied.sum()), int(settled.sum()))
    frequent = max(counts[0], counts[1] / 2) / sum(counts) if sum(counts) else None
    return Ties(
        rows=counts[0],
        mean_margin_tied=float(size[tied].mean()) if counts[0] else None,
        mean_margin_decided=float(size[settled].mean()) if counts[1] else None,
        auc=roc_auc(size[scored], decided[scored].astype(float), clusters[scored]),
        three_way=_three_way(margins[scored], decided[scored], clusters[scored], seed),
        chance=frequent if all(counts) else None,
    )


def _three_way(margins: Floats, decided: Flags, clusters: Codes, seed: int) -> Estimate:
    """Accuracy of win, lose or tie with a threshold for ties that was fitted on other prompts."""
    if not (decided.any() and (~decided).any()):
        return Estimate.missing("needs tied rows and decided ones", len(margins))
    fold_of = folds_of(clusters, FOLDS, seed)
    if fold_of is None:
        return Estimate.missing("needs two prompts, to fit the threshold on one and try it on the other", len(margins))
    right = np.empty(len(margins))
    for k in np.unique(fold_of):
        held_out = fold_of == k
        threshold = _tie_threshold(margins[~held_out], decided[~held_out])
        called_tie = np.abs(margins) <= threshold
        outcome = np.where(called_tie, ~decided, np.where(decided, correctness(margins), 0.0))
        right[held_out] = outcome[held_out]
    return share(right, clusters)


def _tie_threshold(margins: Floats, decided: Flags) -> float:
    """The |margin| up to which "tie" is the best call, -1 when it never is."""
    order = np.argsort(np.abs(margins), kind="stable")
    size = np.abs(margins)[order]
    tied = (~decided)[order].astype(float)
    won = np.where(decided, correctness(margins), 0.0)[order]
    right = np.cumsum(tied) + won.sum() - np.cumsum(won)  # calling the first i + 1 rows ties
    right[:-1][size[1:] == size[:-1]] = -1  # equal sizes cannot be parted
    best = int(right.argmax()) if len(right) else -1
    return float(size[best]) if best >= 0 and right[best] > won.sum() else -1.0


def _styles(rows: PreferenceRows, setup: Setup, figure: Callable[[Floats], Floats], used: Flags) -> Styles | None:
    """RM-Bench's matrix, None unless some rows name the styles of both sides."""
    sides = [[_text(meta.get(column)) for meta in rows.metas] for column in ("chosen_style", "rejected_style")]
    named = used & np.array([bool(a and b) for a, b in zip(*sides, strict=True)])
    if not named.any():
        return None
    found = {style for side in sides for style in side if style}
    styles = STYLES if found <= set(STYLES) else tuple(sorted(found))
    place = [np.array([styles.index(style) if style in styles else -1 for style in side]) for side in sides]
    difficulty = np.array([_text(meta.get("difficulty")) or "" for meta in rows.metas])
    domain = np.array([_text(meta.get("category")) or "all" for meta in rows.metas])
    right = figure(setup.scores.values)

    def matrix(values: Floats) -> tuple[tuple[float | None, ...], ...]:
        return tuple(
            tuple(_mean(values[named & (place[0] == i) & (place[1] == j)]) for j in range(len(styles)))
            for i in range(len(styles))
        )

    def by_domain(values: Floats) -> dict[str, tuple[float | None, ...]]:
        parts: dict[str, list[tuple[float | None, ...]]] = {}
        for part in dict.fromkeys(domain[named].tolist()):
            cells = tuple(_mean(values[named & (domain == part) & (difficulty == d)]) for d in DIFFICULTIES)
            parts.setdefault(part.split("-")[0], []).append(cells)
        return {name: tuple(_mean_of(column) for column in zip(*cells, strict=True)) for name, cells in parts.items()}

    def overall(values: Floats) -> float | None:
        return _mean_of([_mean_of(cells) for cells in by_domain(values).values()])

    domains = by_domain(right)
    easy, normal, hard = (
        share(right[named & (difficulty == d)], rows.clusters[named & (difficulty == d)]) for d in DIFFICULTIES
    )
    ruler = next(iter(setup.rulers.values()), None)
    return Styles(
        styles=styles,
        matrix=matrix(right),
        easy=easy,
        normal=normal,
        hard=hard,
        by_domain=tuple((name, *cells) for name, cells in domains.items()),  # type: ignore[misc]
        domain_mean=tuple(_mean_of(column) for column in zip(*domains.values(), strict=True)),  # type: ignore[arg-type]
        overall=overall(right),
        strict_mean=overall(np.where(right == 1, 1.0, 0.0)),
        ruler_matrix=matrix(figure(ruler.values)) if ruler is not None else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _mean(values: Floats) -> float | None:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if len(finite) else None


def _mean_of(values: Sequence[float | None]) -> float | None:
    found = [value for value in values if value is not None]
    return sum(found) / len(found) if found else None


def _models(meta: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The models behind chosen and rejected; rows with ties name them a and b."""
    if "chosen_model" in meta:
        return _text(meta["chosen_model"]), _text(meta.get("rejected_model"))
    a, b = _text(meta.get("model_a")), _text(meta.get("model_b"))
    return (b, a) if meta.get("label") == "b" else (a, b)


def _battles(rows: PreferenceRows, margins: Floats, scored: Flags, seed: int) -> Battles | str | None:
    """PPE's figures of models, the reason why there are none, or None when the rows name no models."""
    sides = list(zip(*(_models(meta) for meta in rows.metas), strict=True))
    known = scored & np.array([bool(a and b and a != b) for a, b in zip(*sides, strict=True)])
    if not known.any():
        return None
    # the models are those of the file's chosen and rejected side, so a swapped row is turned back
    back = np.where(rows.flipped, -1.0, 1.0)[known]
    label = np.where(rows.label > 0.5, 1.0, 0.5)[known]
    chosen, rejected = ([side[i] or "" for i in np.flatnonzero(known)] for side in sides)
    return compare_models(
        chosen,
        rejected,
        np.where(back > 0, label, 1 - label),
        correctness(back * margins[known]),
        rows.clusters[known],
        seed=seed,
    )
