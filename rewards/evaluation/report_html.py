"""A report as one HTML page: no request to anywhere, no script, light and dark, every text from data escaped.

A content security policy in the page forbids all loading, so that even a mistake here could not reach the network.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from guerdon.rewards.evaluation import report_charts as charts
from guerdon.rewards.evaluation.report_svg import shorten
from guerdon.rewards.evaluation.report_tables import (
    HOW_TO_READ,
    Table,
    clean,
    estimate,
    figure_cells,
    number,
    probabilities,
    repeat_table,
    ruler_tables,
    tables,
)
from guerdon.rewards.report import Group, Report, Section, Styles


def to_html(report: Report) -> str:
    """The whole page."""
    css = files("guerdon.rewards.evaluation").joinpath("report.css").read_text(encoding="utf-8")
    about = (
        f"version {_text(report.version)} · scale {_text(report.scale)} · {report.samples:,} samples scored in "
        f"{report.seconds:.1f} s · clusters: {_text(report.clusters)} · seed {report.seed} · "
        f"guerdon {_text(report.guerdon)}"
    )
    links = "".join(f'<a href="#s{i}">{_text(section.name)}</a>' for i, section in enumerate(report.sections))
    body = "".join(_section(section, i) for i, section in enumerate(report.sections))
    if report.repeats:
        table = repeat_table(report)
        body += f'<section><h2>{table.title}</h2><div class="card">{_table(table)}</div></section>'
    notes = "".join(f"<li>{_text(line)}</li>" for line in HOW_TO_READ)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Evaluation of {_text(report.scorer)}</title><style>{css}</style></head><body>"
        '<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs><pattern id="hatch" width="5" '
        'height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V5"/></pattern></defs>'
        "</svg>"
        f"<main><h1>Evaluation of <bdi>{_text(report.scorer)}</bdi></h1>"
        f'<p class="about">{about}</p>{f"<nav>{links}</nav>" if len(report.sections) > 1 else ""}'
        f"{body}<footer><h2>How to read this</h2><ul>{notes}</ul></footer></main></body></html>\n"
    )


def _text(text: str) -> str:
    return escape(clean(text), quote=True)


def _section(section: Section, number_: int) -> str:
    parts = [
        f'<section id="s{number_}"><h2><bdi>{_text(section.name)}</bdi></h2>',
        _headline(section),
        _tiles(section),
    ]
    parts += map(_card, ruler_tables(section))
    figures = _figures(section)
    if figures:
        parts.append(f'<div class="cards">{"".join(figures)}</div>')
    names = "".join(
        f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in figure_cells(section)
    )
    parts.append(f'<div class="card"><h3>All figures</h3><dl>{names}</dl></div>')
    parts += map(_card, tables(section))
    parts += [f'<p class="caption">Note: {_text(note)}.</p>' for note in section.notes]
    return "".join(parts) + "</section>"


def _headline(section: Section) -> str:
    sentence = section.sentence()
    state = "ahead" if "ahead by" in sentence or "Above chance" in sentence else ""
    state = "behind" if "behind by" in sentence or "Below chance" in sentence else state
    return f'<div class="headline {state}"><b>{number(section.headline.value)}</b><p>{_text(sentence)}</p></div>'


def _tiles(section: Section) -> str:
    tiles: list[tuple[str, str, str]] = []
    if section.pairs is not None:
        length = section.pairs.length
        sides = f"longer right {number(length.longer_right.value)}, shorter right {number(length.shorter_right.value)}"
        tiles.append(("length-balanced", number(length.balanced.value), sides))
        held = f"{number(length.partial_spearman.value)} with the label held fixed"
        tiles.append(("margin follows length", number(length.spearman.value), f"Spearman; {held}"))
    tiles += [
        (
            f"worst {group.column}",
            number(group.headline.value),
            f"{shorten(group.value, 40)}, {group.headline.n:,} {section.unit}s",
        )
        for group in section.worst
    ]
    if section.styles is not None:
        tiles.append(
            (
                "RM-Bench hard",
                number(section.styles.hard.value),
                f"easy {number(section.styles.easy.value)}, normal {number(section.styles.normal.value)}",
            )
        )
    if section.ranked is not None:
        tiles.append(("recovery", number(section.ranked.recovery.value), "of a perfect choice's gain"))
        tiles.append(("NDCG", number(section.ranked.ndcg.value), f"reciprocal rank {number(section.ranked.mrr.value)}"))
    if section.correctness is not None:
        tiles.append(("AUC", number(section.correctness.auc.value), "over all responses"))
    if section.ties is not None:
        tiles.append(
            ("ties told apart", number(section.ties.auc.value), f"AUC of |margin|, {section.ties.rows:,} ties")
        )
    if section.pairs is not None:
        fitted = section.pairs.calibration.fitted
        if fitted is not None:
            errors = f"Brier {number(fitted.brier.value)}, ECE {number(fitted.ece_width)}"
            tiles.append(("log-loss, T fitted", number(fitted.log_loss.value), f"{errors}; coin 0.693"))
    counts = section.counts
    gone = {"unscored": counts.unscored, "over-long": counts.over_long, "truncated": counts.truncated}
    left = ", ".join(f"{n:,} {what}" for what, n in gone.items() if n) or "none unscored or cut"
    tiles.append(("rows used", f"{counts.used:,}", f"of {counts.rows:,}; {left}"))
    written = "".join(
        f'<div class="tile"><span>{_text(name)}</span><strong>{_text(value)}</strong><span>{_text(remark)}</span></div>'
        for name, value, remark in tiles
    )
    return f'<div class="tiles">{written}</div>'


def _figures(section: Section) -> list[str]:
    figures = []
    if section.styles is not None:
        figures.append(_matrices(section.styles, section.rulers[0].name if section.rulers else ""))
    if section.correctness is not None and section.correctness.best_of is not None:
        caption = "Above the dashed line choosing by score helps; a curve that falls again is over-optimised."
        figures.append(_figure("Best of k", charts.best_of(section.correctness.best_of), caption))
    for column in dict.fromkeys(group.column for group in section.groups):
        figures += _group_figure(section, column)
    forms = [(form.name, form.table) for form in probabilities(section)]
    if forms:
        caption = "Bars are Wilson intervals. Below the diagonal the scorer is surer than it should be."
        figures.append(_figure("Reliability", charts.reliability(forms), caption))
    if section.pairs is not None:
        if any(b.accuracy.n for b in section.pairs.length.bins):
            caption = "A scorer free of length bias is flat; one that follows length alone takes the dashed steps."
            figures.append(_figure("Accuracy by length", charts.length_bins(section.pairs.length.bins), caption))
        if section.pairs.margins is not None:
            caption = "Right pairs point up, wrong ones down. Wrong pairs with large margins are confident mistakes."
            figures.append(_figure("Margins", charts.margins(section.pairs.margins), caption))
    if section.battles is not None:
        caption = "Each mark is a model; bars are 95 % intervals over resampled prompts."
        figures.append(_figure("Models, rated by their battles", charts.ratings(section.battles.ratings), caption))
    return figures


def _group_figure(section: Section, column: str) -> list[str]:
    """The largest groups of a column, best first."""
    mine = [group for group in section.groups if group.column == column and group.headline.value is not None]
    counted = [group for group in mine if group.counted] or mine
    shown = sorted(counted[: charts.GROUPS_DRAWN], key=_headline_value, reverse=True)
    worst = next((group for group in section.worst if group.column == column), None)
    if worst is not None and worst not in shown:
        shown = [*shown[:-1], worst]
    if len(shown) < 2 or section.headline.value is None:
        return []
    names = [ruler.name for ruler in section.rulers]
    rule = f"the worst with at least {section.minimum_rows} {section.unit}s is underlined."
    caption = f"{len(shown)} of {len(mine)} groups; {rule}"
    plot = charts.groups(shown, names, section.headline.value, section.chance, worst)
    return [_figure(f"By {column}", plot, caption)]


def _headline_value(group: Group) -> float:
    return group.headline.value or 0.0


def _figure(title: str, svg: str, caption: str) -> str:
    below = f'<figcaption class="caption">{_text(caption)}</figcaption>'
    return f'<figure class="card"><h3>{_text(title)}</h3>{svg}{below}</figure>'


def _matrices(styles: Styles, ruler: str) -> str:
    matrices = _matrix("scorer", styles, styles.matrix)
    if styles.ruler_matrix is not None:
        matrices += _matrix(f"{ruler} ruler", styles, styles.ruler_matrix)
    caption = "Above the diagonal the wrong response has the richer style (hard), below it the right one (easy)."
    return (
        f'<figure class="card"><h3>RM-Bench: accuracy by style</h3><div class="matrices">{matrices}</div>'
        f'<figcaption class="caption">{caption} Hard {estimate(styles.hard)}.</figcaption></figure>'
    )


def _matrix(name: str, styles: Styles, matrix: Sequence[Sequence[float | None]]) -> str:
    head = "".join(f"<th>{_text(_style(style))}</th>" for style in styles.styles)
    rows = "".join(
        f"<tr><th>{_text(_style(style))}</th>{''.join(map(_cell, row))}</tr>"
        for style, row in zip(styles.styles, matrix, strict=True)
    )
    title = f"{_text(name)}: chosen ↓ rejected →"
    return f'<table class="matrix"><thead><tr><th>{title}</th>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _style(style: str) -> str:
    return style.replace("detailed_", "").replace("_", " ")


def _cell(value: float | None) -> str:
    shade = f' class="cell" style="--v:{value:.3f}"' if value is not None else ""
    return f"<td{shade}>{number(value)}</td>"


def _card(table: Table) -> str:
    if table.shown:
        return f'<div class="card"><h3>{_text(table.title)}</h3>{_table(table)}</div>'
    return f"<details><summary>{_text(table.title)}</summary>{_table(table)}</details>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{_text(cell)}</th>" for cell in table.head)
    rows = "".join(f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    css = ' class="words"' if table.words else ""
    return f"<table{css}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
