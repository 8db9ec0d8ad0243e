"""What the written forms of a report hold: its figures and tables as cells of text, in reading order.

Markdown, the page and the terminal take from here, so that they say the same.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from guerdon.rewards.evaluation.battles import Battles
from guerdon.rewards.evaluation.intervals import Estimate
from guerdon.rewards.evaluation.probabilities import Bin
from guerdon.rewards.report import (
    BestOf,
    Correctness,
    Counts,
    Group,
    Pairs,
    Probabilities,
    Ranked,
    Report,
    Section,
    Styles,
    Ties,
)

Cells: TypeAlias = "tuple[str, ...]"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under a head. shown: whether a page shows it at once; words: cells of words rather than figures."""

    title: str
    head: Cells
    rows: list[Cells]
    shown: bool = False
    words: bool = False


GROUPS_SHOWN = 40

HOW_TO_READ = (
    "Intervals are 95 % and take rows of one prompt as dependent. A tie of two scores counts half.",
    "Length-balanced is the mean of the accuracy where the longer and where the shorter response is right: a scorer "
    "that looks at length alone gets 0.5.",
    "Rulers know nothing of quality and are measured on the very same rows.",
    "Temperature T: P(chosen wins) = sigmoid(margin / T). Figures under a fitted temperature come from prompts that it "
    "was not fitted on. A coin has log-loss 0.693 and Brier 0.250.",
    "Conflict accuracy is that on (better, worse) pairs of responses to one prompt; each prompt weighs the same.",
    "JudgeBench's rule over both orders of a pair is plain accuracy where each response has its own score.",
)


# ---------------------------------------------------------------------------------------------------- text


def clean(text: str) -> str:
    """Text on one line without control characters, half surrogates and marks that turn the direction of writing."""
    kept = (" " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c) not in ("Cc", "Cf", "Cs"))
    return " ".join("".join(kept).split())


def number(value: float | None, digits: int = 3) -> str:
    """A figure with fixed digits, a dash where there is none; very large and small ones in powers of ten."""
    if value is None:
        return "–"
    if value != 0 and not 10**-digits <= abs(value) < 1e5:
        return f"{value:.2e}"
    return f"{value:.{digits}f}"


def estimate(figure: Estimate) -> str:
    """A figure with its interval."""
    if figure.low is None or figure.high is None:
        return number(figure.value)
    return f"{number(figure.value)} [{number(figure.low)}, {number(figure.high)}]"


def or_reason(figure: Estimate) -> str:
    """A figure with its interval, or why there is none."""
    return f"none: {figure.reason}" if figure.value is None else estimate(figure)


def signed(figure: Estimate) -> str:
    """A difference, with its sign."""
    if figure.value is None or figure.low is None or figure.high is None:
        return "–" if figure.value is None else f"{figure.value:+.3f}"
    return f"{figure.value:+.3f} [{figure.low:+.3f}, {figure.high:+.3f}]"


def _counts(values: Iterable[int]) -> Cells:
    return tuple(f"{value:,}" for value in values)


# ---------------------------------------------------------------------------------------------------- figures


def figure_cells(section: Section) -> list[tuple[str, str]]:
    """Name and value of the figures of a section, in the order in which they should be read."""
    cells = [(section.measure, or_reason(section.headline))]
    if section.counts.unscored:
        cells.append(("– with unscored rows as chance", estimate(section.unscored_half)))
    if section.pairs is not None and section.kind == "preferences":
        cells.append(("– with the scorer's ties wrong", number(section.pairs.strict)))
    cells.append((f"{section.measure} of a coin", number(section.chance)))
    if section.ceiling.value is not None:
        name = f"{section.measure} of one who knows how sure each label is ({section.ceiling.n:,} rows)"
        cells.append((name, estimate(section.ceiling)))
    if section.pairs is not None:
        if section.kind != "preferences":
            cells.append((f"accuracy over the {section.pairs.pairs:,} pairs", estimate(section.pairs.accuracy)))
        cells += _pair_cells(section.pairs)
    cells += [(f"worst {group.column}", f"{group.value}: {estimate(group.headline)}") for group in section.worst]
    if section.low_quantile.value is not None:
        cells.append((f"10 % quantile over {section.low_quantile.n} groups", number(section.low_quantile.value)))
    if section.ranked is not None:
        cells += _ranked_cells(section.ranked)
    if section.correctness is not None:
        cells += _correctness_cells(section.correctness)
    if section.ties is not None:
        cells += _tie_cells(section.ties)
    return cells


def _pair_cells(pairs: Pairs) -> list[tuple[str, str]]:
    length = pairs.length
    cells = [] if pairs.weighted is None else [("– with the rows' weights", number(pairs.weighted))]
    return [
        *cells,
        ("tie rate of the scorer", number(pairs.tie_rate)),
        ("length-balanced accuracy", or_reason(length.balanced)),
        ("– longer response is right", f"{estimate(length.longer_right)} on {length.longer_right.n:,}"),
        ("– shorter response is right", f"{estimate(length.shorter_right)} on {length.shorter_right.n:,}"),
        ("Spearman(margin, length difference)", or_reason(length.spearman)),
        ("– over both orders of every pair", number(length.spearman_both_orders.value)),
        ("– the same with the label held fixed", number(length.partial_spearman.value)),
        ("fitted temperature", or_reason(pairs.calibration.temperature)),
        *(("– left out", reason) for reason in pairs.calibration.reasons),
    ]


def _ranked_cells(ranked: Ranked) -> list[tuple[str, str]]:
    return [
        ("a best response above all others", estimate(ranked.above_all)),
        ("mean reciprocal rank", estimate(ranked.mrr)),
        ("NDCG", estimate(ranked.ndcg)),
        ("recovery (chosen − mean) / (best − mean)", or_reason(ranked.recovery)),
        ("rank correlation inside a prompt", or_reason(ranked.within)),
        ("rank correlation over all responses", or_reason(ranked.overall)),
    ]


def _correctness_cells(right: Correctness) -> list[tuple[str, str]]:
    cells = [
        ("mean truth (share of right responses)", number(right.share_right)),
        ("AUC over all responses", or_reason(right.auc)),
        ("recovery (chosen − mean) / (best − mean)", or_reason(right.recovery)),
        ("rank correlation inside a prompt", or_reason(right.within)),
    ]
    if right.false_positive.value is not None or right.false_negative.value is not None:
        cells.append(("false positive rate", or_reason(right.false_positive)))
        cells.append(("false negative rate", or_reason(right.false_negative)))
    return cells


def _tie_cells(ties: Ties) -> list[tuple[str, str]]:
    return [
        (f"AUC of |margin|, decided against tied ({ties.rows:,} ties)", or_reason(ties.auc)),
        ("mean |margin|, tied and decided", f"{number(ties.mean_margin_tied)} and {number(ties.mean_margin_decided)}"),
        ("accuracy with a tie as third answer", f"{or_reason(ties.three_way)} (chance {number(ties.chance)})"),
    ]


# ---------------------------------------------------------------------------------------------------- tables


def ruler_tables(section: Section) -> list[Table]:
    """The rulers on the rows that the scorer is judged on."""
    if not section.rulers:
        return []
    head = ("ruler", section.measure, "length-balanced", "scorer minus ruler")
    rows = [(r.name, estimate(r.headline), estimate(r.balanced), signed(r.difference)) for r in section.rulers]
    return [Table("Rulers on the same rows", head, list(rows), shown=True)]


def tables(section: Section) -> list[Table]:
    """The other tables of a section."""
    found = [*_calibration_tables(probabilities(section)), *_group_tables(section)]
    if section.styles is not None:
        found += _style_tables(section.styles)
    if section.battles is not None:
        found += _battle_tables(section.battles)
    if section.correctness is not None and section.correctness.best_of is not None:
        found += _best_of_tables(section.correctness.best_of)
    return [*found, *_count_tables(section.counts)]


def probabilities(section: Section) -> list[Probabilities]:
    """All ways of turning scores into probabilities that the section judges."""
    found: list[Probabilities | None] = []
    if section.pairs is not None:
        calibration = section.pairs.calibration
        found += [calibration.as_given, calibration.declared, calibration.fitted]
    if section.correctness is not None:
        found.append(section.correctness.probabilities)
    return [form for form in found if form is not None]


def _calibration_tables(forms: list[Probabilities]) -> list[Table]:
    if not forms:
        return []
    errors = (
        "probabilities",
        "T",
        "log-loss",
        "Brier",
        "ECE equal width",
        "ECE equal mass",
        "RMS debiased",
        "worst bin",
    )
    parts = ("probabilities", "reliability", "resolution", "uncertainty", "within bins")
    bins = ("claimed", "rows", "mean claim", "observed")
    return [
        Table("Calibration", errors, [_error_cells(form) for form in forms], shown=True),
        Table("Brier score in parts", parts, [_part_cells(form) for form in forms]),
        *(Table(f"Reliability, {form.name}", bins, [_bin_cells(b) for b in form.table]) for form in forms),
    ]


def _error_cells(form: Probabilities) -> Cells:
    errors = (form.ece_width, form.ece_mass, form.ece_debiased, form.mce)
    return form.name, number(form.temperature), estimate(form.log_loss), estimate(form.brier), *map(number, errors)


def _part_cells(form: Probabilities) -> Cells:
    parts = form.parts
    return form.name, *map(number, (parts.reliability, parts.resolution, parts.uncertainty, parts.within_bins))


def _bin_cells(b: Bin) -> Cells:
    observed = Estimate(b.observed, b.observed_low, b.observed_high)
    return f"{b.low:.2f} to {b.high:.2f}", f"{b.n:,}", number(b.claimed), estimate(observed)


def _group_tables(section: Section) -> list[Table]:
    found: list[Table] = []
    for column in dict.fromkeys(group.column for group in section.groups):
        mine = [group for group in section.groups if group.column == column]
        title = f"By {column}"
        if len(mine) > GROUPS_SHOWN:
            title += f", the {GROUPS_SHOWN} largest of {len(mine)}"
        if any(not group.counted for group in mine):
            title += f" (° fewer than {section.minimum_rows} {section.unit}s: never called the worst)"
        head = (column, f"{section.unit}s", section.measure, *(ruler.name for ruler in section.rulers))
        found.append(Table(title, head, [_group_cells(group) for group in mine[:GROUPS_SHOWN]]))
    return found


def _group_cells(group: Group) -> Cells:
    name = group.value if group.counted else f"{group.value} °"
    return name, f"{group.headline.n:,}", estimate(group.headline), *map(number, group.rulers)


def _style_tables(styles: Styles) -> list[Table]:
    domains: list[Cells] = [(name, *map(number, cells)) for name, *cells in styles.by_domain]
    domains.append(("mean over domains", *map(number, styles.domain_mean)))
    domains.append(("over all rows", estimate(styles.easy), estimate(styles.normal), estimate(styles.hard)))
    title = f"RM-Bench: {number(styles.overall)} over domains, {number(styles.strict_mean)} with ties wrong"
    matrix: list[Cells] = [(n, *map(number, row)) for n, row in zip(styles.styles, styles.matrix, strict=True)]
    return [
        Table(title, ("domain", "easy", "normal", "hard"), domains, shown=True),
        Table("Style matrix", ("chosen ↓ rejected →", *styles.styles), matrix),
    ]


def _battle_tables(battles: Battles) -> list[Table]:
    figures = (
        ("row-wise Pearson", battles.row_pearson),
        ("separability", battles.separability),
        ("confidence agreement", battles.confidence_agreement),
        ("Kendall", battles.kendall),
        ("Spearman", battles.spearman),
        ("Brier of ranks", battles.brier),
    )
    title = f"Models by {battles.battles:,} battles (PPE), {battles.resamples} resamples of prompts"
    ratings: list[Cells] = [
        (
            rating.model,
            f"{rating.battles:,}",
            estimate(Estimate(rating.labels, rating.labels_low, rating.labels_high)),
            estimate(Estimate(rating.scorer, rating.scorer_low, rating.scorer_high)),
        )
        for rating in battles.ratings
    ]
    return [
        Table(title, tuple(name for name, _ in figures), [tuple(number(value) for _, value in figures)], shown=True),
        Table("Ratings of models (log-strength)", ("model", "battles", "by the labels", "by the scorer"), ratings),
    ]


def _best_of_tables(best: BestOf) -> list[Table]:
    end = len(best.curve)
    steps = sorted({end, *(2**i for i in range(end.bit_length()))})
    curves = (best.kl, best.curve, best.oracle, *(curve for _, curve in best.rulers))
    head = ("k", "KL (nats)", "by score", "by truth", *(name for name, _ in best.rulers))
    rows: list[Cells] = [(f"{k}", *(number(curve[k - 1]) for curve in curves)) for k in steps]
    everywhere = (best.maximum, best.end, best.regret, best.loss, best.peak_kl)
    drawn = (best.drawn_maximum, best.drawn_end, best.drawn_regret, None, None)
    return [
        Table(f"Best of k over {best.prompts:,} prompts, {best.left_out:,} with fewer responses left out", head, rows),
        Table(
            "Best of k in figures",
            ("curve", "maximum", "end", "regret", "squared loss", "peak at KL"),
            [("over all subsets", *map(number, everywhere)), ("in file order (PPE)", *map(number, drawn))],
            shown=True,
        ),
    ]


def _count_tables(counts: Counts) -> list[Table]:
    head = ("rows", "used", "labelled ties", "unscored", "over-long", "truncated", "same text twice", "label below 0.5")
    values = (counts.rows, counts.used, counts.tied, counts.unscored, counts.over_long, counts.truncated)
    rows = [_counts((*values, counts.identical, counts.flipped, counts.samples))]
    found = [Table("What became of the rows", (*head, "distinct samples"), rows, shown=True)]
    if counts.reasons:
        reasons: list[Cells] = [(f"{reason.samples:,}", reason.status, reason.reason) for reason in counts.reasons]
        titles = ("samples", "status", "reason")
        found.append(Table("Why samples are unscored", titles, reasons, shown=True, words=True))
    return found


def repeat_table(report: Report) -> Table:
    """How far scores move when the same samples are scored in another way."""
    head = ("scored again", "samples", "largest change", "mean change", "pairs", "flipped", "scored in one way only")
    rows: list[Cells] = [
        (
            repeat.way,
            f"{repeat.samples}",
            number(repeat.max_change, 6),
            number(repeat.mean_change, 6),
            *_counts((repeat.pairs, repeat.flipped, repeat.unscored)),
        )
        for repeat in report.repeats
    ]
    return Table("Repeatability", head, rows, shown=True)
