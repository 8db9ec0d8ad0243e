"""A report as the few lines that a terminal shows."""

from __future__ import annotations

from guerdon.rewards.evaluation.report_tables import clean, estimate, number
from guerdon.rewards.report import Pairs, Report, Row, Section


def summary_rows(report: Report) -> list[Row]:
    """What must be seen at once: a few lines a section, and one on repeatability."""
    rows = [Row(section.name, *cells) for section in report.sections for cells in _section(section)]
    if report.repeats:
        largest = max((r.max_change for r in report.repeats if r.max_change is not None), default=None)
        flipped, unscored = (sum(getattr(r, name) for r in report.repeats) for name in ("flipped", "unscored"))
        remark = f"{flipped} flipped pairs, {unscored} scored in one way only; {len(report.repeats)} ways"
        rows.append(Row("repeatability", "largest change of a score", number(largest, 6), remark))
    return [Row(clean(row.section), clean(row.measure), clean(row.value), clean(row.remark)) for row in rows]


def _section(section: Section) -> list[tuple[str, str, str]]:
    rulers = ", ".join(f"{ruler.name} {number(ruler.headline.value)}" for ruler in section.rulers)
    remark = section.headline.reason or (f"rulers: {rulers}" if rulers else f"coin {number(section.chance)}")
    lines = [(section.measure, estimate(section.headline), remark)]
    if section.pairs is not None:
        lines += _pairs(section.pairs)
    if section.styles is not None:
        styles = section.styles
        value = " / ".join(number(figure.value) for figure in (styles.easy, styles.normal, styles.hard))
        lines.append(("easy / normal / hard", value, f"mean over domains {number(styles.overall)}"))
    if section.ranked is not None:
        ranked = section.ranked
        remark = f"MRR {number(ranked.mrr.value)}, NDCG {number(ranked.ndcg.value)}"
        lines.append(
            ("recovery", estimate(ranked.recovery), f"{remark}, inside a prompt r {number(ranked.within.value)}")
        )
    if section.correctness is not None:
        right = section.correctness
        lines.append(("AUC", estimate(right.auc), f"recovery {number(right.recovery.value)}"))
        if right.best_of is not None:
            best = right.best_of
            remark = (
                f"best of 1 {number(best.curve[0])}, maximum {number(best.maximum)}, oracle {number(best.oracle[-1])}"
            )
            lines.append((f"best of {len(best.curve)}", number(best.end), remark))
    if section.ties is not None:
        lines.append(("ties told apart (AUC)", estimate(section.ties.auc), f"{section.ties.rows:,} ties"))
    for group in section.worst:
        lines.append(
            (f"worst {group.column}", estimate(group.headline), f"{group.value}, {group.headline.n:,} {section.unit}s")
        )
    counts = section.counts
    gone = {"unscored": counts.unscored, "over-long": counts.over_long, "truncated": counts.truncated}
    if any(gone.values()):
        what = ", ".join(f"{n:,} {name}" for name, n in gone.items() if n)
        lines.append(("rows", f"{counts.used:,} of {counts.rows:,}", what))
    return lines


def _pairs(pairs: Pairs) -> list[tuple[str, str, str]]:
    length, calibration = pairs.length, pairs.calibration
    sides = f"longer right {number(length.longer_right.value)}, shorter right {number(length.shorter_right.value)}"
    lines = [
        ("length-balanced", estimate(length.balanced), sides),
        (
            "Spearman(margin, length)",
            number(length.spearman.value),
            f"with the label held fixed {number(length.partial_spearman.value)}",
        ),
        ("tie rate", number(pairs.tie_rate), f"with ties wrong {number(pairs.strict)}"),
    ]
    for form in (calibration.as_given, calibration.declared, calibration.fitted):
        if form is not None:
            remark = f"Brier {number(form.brier.value)}, ECE {number(form.ece_width)}, T {number(form.temperature)}"
            lines.append((f"log-loss, {form.name}", number(form.log_loss.value), remark))
    return lines
