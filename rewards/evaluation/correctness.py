"""Responses labelled right or wrong (or graded), several a prompt: AUC, conflict pairs, the best-of-k curve."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from guerdon.rewards.errors import DataError
from guerdon.rewards.evaluation._numeric import Codes, Floats, np
from guerdon.rewards.evaluation.common import (
    AreaMeasure,
    Measure,
    RowMeasure,
    Setup,
    break_down,
    compare_rulers,
    low_quantile,
    worst_groups,
)
from guerdon.rewards.evaluation.intervals import Estimate, codes_of, mean, share
from guerdon.rewards.evaluation.metrics import (
    best_of_first,
    best_of_n,
    best_of_n_kl,
    chosen_quality,
    correctness,
    length_balanced,
    overoptimisation,
    recovery,
    roc_auc,
    within_correlation,
)
from guerdon.rewards.evaluation.pairs import PairData, judge, pair_figures
from guerdon.rewards.evaluation.scoring import Flags, SampleTable, text_key
from guerdon.rewards.report import BestOf, Correctness, Counts, Section
from guerdon.rewards.types import Sample

TRUTH_COLUMNS = ("truth", "label", "correct", "is_correct")
PAIRS_A_PROMPT = 1_000  # more pairs of one prompt than this are drawn at random: they say little more
MOST_K = 1_024  # the best-of-k curve goes no further
_CELLS = 1_000_000
CURVE_SHARE = 0.5  # the best-of-k curve ends at the largest k that this share of the prompts reaches

Truth: TypeAlias = "str | Callable[[Sample], float | bool | None] | None"


@dataclass(frozen=True, slots=True)
class SampleRows:
    """Labelled samples: place in the sample table, truth (0/1 or any number), prompt and cluster."""

    metas: tuple[Mapping[str, Any], ...]
    index: Codes
    truth: Floats
    prompts: Codes
    clusters: Codes

    @property
    def binary(self) -> bool:
        """Whether every truth is 0 or 1."""
        return bool(np.isin(self.truth, (0.0, 1.0)).all())

    @property
    def links(self) -> list[tuple[int, int]]:
        """Neighbours in a prompt: pairs whose order a change of scores may flip."""
        order = np.argsort(self.prompts, kind="stable")
        same = self.prompts[order][1:] == self.prompts[order][:-1]
        placed = self.index[order]
        return list(zip(placed[:-1][same].tolist(), placed[1:][same].tolist(), strict=True))


def place_samples(
    records: Sequence[Sample], table: SampleTable, cluster: Callable[[Any], Hashable], truth: Truth, name: str
) -> SampleRows:
    """Put every sample into the table without its truth. Raises DataError listing the rows that have none."""
    found = [_truth_of(record, truth) for record in records]
    wanted = f"a number or true/false in {truth!r}" if isinstance(truth, str) else "a truth"
    if truth is None:
        wanted = f"a number or true/false in one of {', '.join(TRUTH_COLUMNS)}"
    problems = [
        f"{record.meta.get('where', f'row {i}')}: needs {wanted}; its columns are {sorted(record.meta)}"
        for i, (record, value) in enumerate(zip(records, found, strict=True))
        if value is None
    ]
    if problems:
        raise DataError(f"{name}: which responses are right is not stated (pass truth=)", problems)
    hidden = {*TRUTH_COLUMNS, *([truth] if isinstance(truth, str) else [])}
    prompts = codes_of(record.group if record.group is not None else text_key(record.prompt) for record in records)
    places = []
    for record, prompt in zip(records, prompts, strict=True):
        meta = {key: value for key, value in record.meta.items() if key not in hidden}
        group = f"{name} / {prompt}"  # groups of two files may have one name
        places.append(table.add_sample(Sample(record.prompt, record.response, record.reference, group, meta)))
    return SampleRows(
        tuple(record.meta for record in records),
        np.array(places, dtype=np.intp),
        np.array(found, dtype=float),
        prompts,
        codes_of(cluster(record) for record in records),
    )


def _truth_of(record: Sample, truth: Truth) -> float | None:
    if callable(truth):
        return _number(truth(record))
    columns = TRUTH_COLUMNS if truth is None else (truth,)
    return next((number for column in columns if (number := _number(record.meta.get(column))) is not None), None)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (bool, int, float)) and np.isfinite(value) else None


def samples_section(name: str, rows: SampleRows, setup: Setup) -> Section:
    """Everything about one set of labelled responses."""
    values = setup.scores.values
    scored = np.isfinite(values[rows.index])
    firsts = np.unique(rows.prompts, return_index=True)[1]  # a prompt's cluster and meta are those of its first sample
    clusters = rows.clusters[firsts]

    def conflict(values: Floats) -> Floats:
        scores = values[rows.index]
        return _conflict_accuracy(scores, rows, np.isfinite(scores))

    by_prompt = RowMeasure("conflict accuracy", clusters, conflict)
    conflicting = by_prompt.usable(values)
    measure: Measure = by_prompt
    metas: Sequence[Mapping[str, Any]] = [rows.metas[i] for i in firsts]
    used = conflicting
    if not conflicting.any() and rows.binary:
        measure = AreaMeasure(rows.clusters, rows.truth, rows.index)
        metas, used = rows.metas, scored
    better, worse, number = _pairs(rows, scored, setup.seed)
    longer = setup.lengths[better] - setup.lengths[worse]

    def balanced(other: Floats) -> Estimate:
        margins = other[better] - other[worse]
        known = ~np.isnan(margins)
        return length_balanced(correctness(margins[known]), longer[known], rows.clusters[number][known])

    ones = np.ones(len(better))
    data = PairData(
        values[better] - values[worse], setup.lengths[better], setup.lengths[worse], ones, ones, rows.clusters[number]
    )
    groups, notes = break_down(setup, measure, used, metas)
    headline = measure.estimate(values, used)
    if headline.value is None and not scored.any():
        headline = Estimate.missing("no response has a score", len(scored))
    half = Estimate.missing("an AUC has no such form")
    if measure is by_prompt:
        everyone = _conflict_accuracy(values[rows.index], rows, np.ones(len(scored), dtype=bool))
        half = share(everyone[conflicting], clusters[conflicting])
    return Section(
        name=name,
        kind="samples",
        measure=measure.name,
        unit="prompt" if measure is by_prompt else "response",
        counts=_counts(rows, setup, scored),
        headline=headline,
        unscored_half=half,
        chance=0.5,
        ceiling=Estimate.missing("the labels do not say how sure they are"),
        pairs=pair_figures(data, scale=setup.scale, temperature=setup.temperature, seed=setup.seed),
        rulers=compare_rulers(setup, measure, used, balanced),
        groups=groups,
        minimum_rows=setup.minimum_rows,
        worst=worst_groups(groups),
        low_quantile=low_quantile(groups),
        ties=None,
        styles=None,
        battles=None,
        ranked=None,
        correctness=_correctness(rows, setup, scored, by_prompt, conflicting) if scored.any() else None,
        notes=notes,
    )


def _conflict_accuracy(scores: Floats, rows: SampleRows, kept: Flags) -> Floats:
    """P(of two responses of different truth the better one scores higher), a prompt; NaN where no two differ."""
    figure = np.full(int(rows.prompts.max(initial=-1)) + 1, np.nan)
    for prompt, members in _members(rows.prompts, kept):
        figure[prompt] = _concordance(scores[members], rows.truth[members])
    return figure


def _concordance(scores: Floats, truth: Floats) -> float:
    """Share of the pairs of different truth that the scores order rightly, half where a score is NaN or equal."""
    right, total = 0.0, 0
    rows = max(1, _CELLS // len(scores))  # a block at a time, so that memory stays bounded in very large groups
    for start in range(0, len(scores), rows):
        block = slice(start, start + rows)
        differ = truth[block, None] > truth[None, :]
        margins = np.nan_to_num(scores[block, None] - scores[None, :], nan=0.0)
        right += float(correctness(margins)[differ].sum())
        total += int(differ.sum())
    return right / total if total else np.nan


def _members(prompts: Codes, kept: Flags) -> list[tuple[int, Codes]]:
    """The rows of each prompt, in file order, among those kept."""
    rows = np.flatnonzero(kept)
    rows = rows[np.argsort(prompts[rows], kind="stable")]
    cuts = np.flatnonzero(np.diff(prompts[rows])) + 1
    return [(int(prompts[part[0]]), part) for part in np.split(rows, cuts) if len(part)]


def _pairs(rows: SampleRows, scored: Flags, seed: int) -> tuple[Codes, Codes, Codes]:
    """Samples of the better and the worse side of scored pairs of one prompt, and the row of the better side."""
    generator = np.random.default_rng(seed)
    empty = np.zeros(0, dtype=np.intp)
    betters, worses = [empty], [empty]
    for _, members in _members(rows.prompts, scored):
        if len(members) > PAIRS_A_PROMPT:
            members = generator.choice(members, PAIRS_A_PROMPT, replace=False)
        truth = rows.truth[members]
        better, worse = np.nonzero(truth[:, None] > truth[None, :])
        if len(better) > PAIRS_A_PROMPT:
            drawn = generator.choice(len(better), PAIRS_A_PROMPT, replace=False)
            better, worse = better[drawn], worse[drawn]
        betters.append(members[better])
        worses.append(members[worse])
    number, other = np.concatenate(betters), np.concatenate(worses)
    return rows.index[number], rows.index[other], number


def _correctness(
    rows: SampleRows, setup: Setup, scored: Flags, by_prompt: RowMeasure, conflicting: Flags
) -> Correctness:
    values = setup.scores.values[rows.index]
    x, y, clusters = values[scored], rows.truth[scored], rows.clusters[scored]
    no_labels = Estimate.missing("the truth is graded, not right or wrong")
    no_verdict = Estimate.missing(f"scores on the scale {setup.scale!r} are no verdicts")
    wrong, right = y == 0, y == 1
    is_verdict = rows.binary and setup.scale == "verdict"
    gain, possible, within, prompts = [], [], [], []
    within_clusters = []
    for _, members in _members(rows.prompts, scored):
        truth, scores = rows.truth[members], values[members]
        gain.append(float(chosen_quality(scores[None], truth[None])[0] - truth.mean()))
        possible.append(float(truth.max() - truth.mean()))
        prompts.append(rows.clusters[members[0]])
        found, exists = within_correlation(scores[None], truth[None])
        if exists[0]:
            within.append(float(found[0]))
            within_clusters.append(rows.clusters[members[0]])
    return Correctness(
        share_right=float(y.mean()),
        auc=roc_auc(x, y, clusters) if rows.binary else no_labels,
        conflict=by_prompt.estimate(setup.scores.values, conflicting),
        recovery=recovery(np.array(gain), np.array(possible), np.array(prompts)),
        within=mean(np.array(within), np.array(within_clusters, dtype=np.intp))
        if within
        else Estimate.missing("no prompt has responses of different truth and different score"),
        false_positive=share(x[wrong], clusters[wrong]) if is_verdict else no_verdict,
        false_negative=share(1 - x[right], clusters[right]) if is_verdict else no_verdict,
        probabilities=judge("as given", x, y, clusters) if rows.binary and setup.scale == "probability" else None,
        best_of=_best_of(rows, setup, scored),
    )


def _best_of(rows: SampleRows, setup: Setup, scored: Flags) -> BestOf | None:
    """Curves averaged over the prompts that reach the last k, None unless that k is at least 2."""
    groups = [members for _, members in _members(rows.prompts, scored)]
    sizes = np.sort([len(members) for members in groups])
    last = min(MOST_K, int(sizes[int(np.floor((1 - CURVE_SHARE) * (len(sizes) - 1)))]))
    if last < 2:
        return None
    kept = [members for members in groups if len(members) >= last]
    values = setup.scores.values[rows.index]

    def average(curve: Callable[[Floats, Floats, int], Floats], scores: Floats) -> Floats:
        return np.asarray(np.mean([curve(scores[m], rows.truth[m], last) for m in kept], axis=0))

    curve, oracle = average(best_of_n, values), average(best_of_n, rows.truth)
    drawn, drawn_oracle = average(best_of_first, values), average(best_of_first, rows.truth)
    ruler_curves = []
    for name, scores in setup.rulers.items():
        measured = scores.values[rows.index]
        if np.isfinite(measured[np.concatenate(kept)]).all():
            ruler_curves.append((name, tuple(average(best_of_n, measured).tolist())))
    kl = best_of_n_kl(np.arange(1, last + 1, dtype=float))
    fit = overoptimisation(kl, curve - curve[0])
    peak = (fit[0] / (2 * fit[1])) ** 2 if fit is not None and min(fit) > 0 else None
    return BestOf(
        prompts=len(kept),
        left_out=len(groups) - len(kept),
        curve=tuple(curve.tolist()),
        oracle=tuple(oracle.tolist()),
        rulers=tuple(ruler_curves),
        kl=tuple(kl.tolist()),
        maximum=float(curve.max()),
        end=float(curve[-1]),
        regret=float((oracle - curve).mean()),
        loss=float(((oracle - curve) ** 2).mean()),
        drawn_maximum=float(drawn.max()),
        drawn_end=float(drawn[-1]),
        drawn_regret=float((drawn_oracle - drawn).mean()),
        peak_kl=peak,
    )


def _counts(rows: SampleRows, setup: Setup, scored: Flags) -> Counts:
    scores = setup.scores
    return Counts(
        rows=len(rows.index),
        used=int(scored.sum()),
        tied=0,
        unscored=int((~scored).sum()),
        over_long=int(scores.over_long[rows.index].sum()),
        truncated=int(scores.truncated[rows.index].sum()),
        identical=0,
        flipped=0,
        samples=len(rows.index),
        reasons=scores.reasons(rows.index.tolist()),
    )
