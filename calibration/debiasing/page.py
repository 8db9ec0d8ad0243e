"""The page of a debiasing: what it did, in a table, and the scores over each feature with their curve.

One file, no script, nothing loaded from anywhere; texts from outside (names of scorers and features) are escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from guerdon.calibration._arrays import Floats, np
from guerdon.calibration.debias import DebiasCurve
from guerdon.calibration.debiasing.report import Comparison
from guerdon.calibration.debiasing.smooth import lowess
from guerdon.rewards.evaluation.report_svg import Plot, digits_of, round_step
from guerdon.rewards.evaluation.report_tables import clean, estimate, signed

MOST_DOTS = 1_200
SHOWN = (0.005, 0.995)
"""Quantiles of feature and score that the axes span: a few huge ones would flatten the rest."""
CURVE_POINTS = 120

ROWS = (
    ("pooled", "Spearman, all responses"),
    ("within", "Spearman, inside pairs"),
    ("accuracy", "accuracy"),
    ("more_right", "accuracy, more is better"),
    ("less_right", "accuracy, less is better"),
    ("balanced", "balanced accuracy"),
)


def table(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Rows of a table: the figure, before, after, and the change where it has an interval of its own."""
    rows = []
    for name, words in ROWS:
        change = getattr(comparison.change, name, None)
        before, after = (estimate(getattr(side, name)) for side in (comparison.before, comparison.after))
        rows.append((words, before, after, "" if change is None or change.value is None else signed(change)))
    return rows


def plot(curve: DebiasCurve, values: Floats, features: Floats, *, after: bool = False) -> str:
    """Scores over a feature as SVG: the fitted curve before, and after debiasing what a new fit finds (flat, if all
    went well). values, features: (n,)."""
    known = np.isfinite(values) & np.isfinite(features)
    x, y = features[known], values[known]
    plot = Plot(_span(x), _span(y))
    plot.grid(_ticks(plot.x_range), _ticks(plot.y_range), digits_of(_step(plot.y_range)))
    seen = (x >= plot.x_range[0]) & (x <= plot.x_range[1]) & (y >= plot.y_range[0]) & (y <= plot.y_range[1])
    drawn = np.flatnonzero(seen)
    for i in drawn[np.linspace(0, len(drawn) - 1, min(len(drawn), MOST_DOTS)).astype(int)] if len(drawn) else ():
        plot.mark("circle", plot.x(float(x[i])), plot.y(float(y[i])), "series1 thin", "", size=1.6)
    at = np.linspace(*plot.x_range, CURVE_POINTS)
    line = np.interp(at, *lowess(x, y, fraction=0.5, iterations=3)) if after else curve.at(at)
    inside = np.clip(line, *plot.y_range)
    plot.path(list(zip(at.tolist(), inside.tolist(), strict=True)), "curve2", "what the scores run along")
    name = clean(curve.feature)
    plot.names(name, "score")
    return plot.svg(f"Scores over {name}, {'after' if after else 'before'} debiasing")


def page(
    scorer: str,
    curves: Sequence[DebiasCurve],
    comparisons: Sequence[Comparison],
    before: Floats,
    after: Floats,
    features: Sequence[Floats],
) -> str:
    """The whole page; curves, comparisons and features ((n,) each) in the same order."""
    css = files("guerdon.rewards.evaluation").joinpath("report.css").read_text(encoding="utf-8")
    title = f"Debiasing of {escape(clean(scorer))}"
    sections = []
    for curve, comparison, column in zip(curves, comparisons, features, strict=True):
        head = "".join(f"<th>{cell}</th>" for cell in ("", "before", "after", "change"))
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table(comparison))
        figures = "".join(
            f'<figure class="card"><h3>{when}</h3>{plot(curve, values, column, after=bool(i))}</figure>'
            for i, (when, values) in enumerate((("before", before), ("after", after)))
        )
        about = (
            f"{escape(curve.method)}, fitted on {curve.n:,} responses, strength {curve.strength:g}; shown on "
            f"{comparison.responses:,} responses and {comparison.pairs:,} pairs of other prompts"
        )
        sections.append(
            f'<section><h2>{escape(clean(curve.feature))}</h2><p class="about">{about}</p><div class="card"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
            f'<div class="cards">{figures}</div></section>'
        )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{css}</style></head><body><main><h1>{title}</h1>{''.join(sections)}"
        "<footer><p>95 % intervals, whole prompts being resampled or clustered. The curve was fitted without labels, "
        "on prompts that are not shown here.</p></footer></main></body></html>\n"
    )


def _span(values: Floats) -> tuple[float, float]:
    low, high = (float(q) for q in np.quantile(values, SHOWN)) if len(values) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _step(span: tuple[float, float]) -> float:
    return round_step((span[1] - span[0]) / 5)


def _ticks(span: tuple[float, float]) -> list[float]:
    step = _step(span)
    first = int(np.ceil(span[0] / step))
    return [step * i for i in range(first, int(np.floor(span[1] / step)) + 1)]
