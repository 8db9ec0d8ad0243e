"""The Model tab's plots, with the reports' tools. Series differ by shape, fill or dash, not by colour alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from guerdon.rewards.evaluation.intervals import Estimate
from guerdon.rewards.evaluation.report_svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Plot,
    digits_of,
    round_step,
    shorten,
)
from guerdon.rewards.evaluation.report_tables import estimate, number

HATCH = (
    '<svg width="0" height="0" aria-hidden="true"><defs><pattern id="g-hatch" width="5" height="5" '
    'patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0V5"/></pattern></defs></svg>'
)
"""What fills the bars of wrong responses; once a page."""

SHAPES = (("circle", "series1", "curve1"), ("square", "series2", "curve2"), ("diamond", "series3", "curve3"))
ROW, NAME = 24, 210


def spread(edges: Sequence[float], right: Sequence[int], wrong: Sequence[int]) -> str:
    """How right responses score (up, filled) and how wrong ones do (down, hatched), each as shares of their own."""
    shares = [[count / max(1, sum(side)) for count in side] for side in (right, wrong)]
    most = max(*shares[0], *shares[1], 0.01)
    plot = Plot((edges[0], edges[-1]), (-most * 1.1, most * 1.1))
    step = round_step(most / 2)
    for i in range(-int(most / step), int(most / step) + 1):
        plot.line(edges[0], step * i, edges[-1], step * i, "grid")
        plot.text(LEFT - 6, plot.y(step * i) + 4, f"{abs(100 * step * i):.0f} %", anchor="end")
    _ticks(plot)
    for low, high, up, down, n_right, n_wrong in zip(edges[:-1], edges[1:], *shares, right, wrong, strict=True):
        where = f"{number(low)} to {number(high)}"
        plot.bar(low, high, 0, up, "fill1", f"{where}: {n_right:,} right, {up:.1%} of them")
        plot.bar(low, high, 0, -down, "fill2", f"{where}: {n_wrong:,} wrong, {down:.1%} of them")
    plot.line(edges[0], 0, edges[-1], 0, "base")
    plot.text(WIDTH - RIGHT - 4, TOP + 12, f"right: {sum(right):,}", "legend", "end")
    plot.text(WIDTH - RIGHT - 4, HEIGHT - BOTTOM - 6, f"wrong: {sum(wrong):,}", "legend", "end")
    plot.names("score", "share of each side")
    return plot.svg("Scores of right and of wrong responses")


def _ticks(plot: Plot) -> None:
    low, high = plot.x_range
    step = round_step((high - low) / 6)
    for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        plot.tick(step * i, f"{step * i:.{digits_of(step)}f}")


def best_of(curve: Sequence[float], oracle: Sequence[float]) -> str:
    """Truth of the best-scored of k; above it the best possible choice, dashed a random one."""
    last = len(curve)
    plot = _frame(math.log2(last), [*curve, *oracle])
    for k in (2**i for i in range(last.bit_length())):
        plot.tick(math.log2(k), f"{k}")
    plot.line(0.0, curve[0], math.log2(last), curve[0], "reference")
    for i, (name, values, css) in enumerate((("by truth", oracle, "curve3"), ("by score", curve, "curve1"))):
        points = [(math.log2(k), value) for k, value in enumerate(values, start=1)]
        plot.path(points, css, f"{name}: {values[0]:.3f} at 1, {values[-1]:.3f} at {last}")
        _legend(plot, i, name, css)
    plot.names("k (logarithmic); dashed: a random choice", "truth of the chosen response")
    return plot.svg("Best of k")


def overoptimisation(gain: Sequence[float], kl: Sequence[float], fit: tuple[float, float] | None) -> str:
    """What choosing by score gains in truth over the distance it moves, sqrt(KL); dotted the fit d (a - b d)."""
    d = [math.sqrt(each) for each in kl]
    fitted = [] if fit is None else [(x, x * (fit[0] - fit[1] * x)) for x in (d[-1] * i / 60 for i in range(61))]
    plot = _frame(d[-1], [*gain, *(y for _, y in fitted)])
    _ticks(plot)
    plot.path(list(zip(d, gain, strict=True)), "curve1", f"gain {gain[-1]:+.3f} at the end")
    _legend(plot, 0, "measured", "curve1")
    if fit is not None:
        plot.path(fitted, "curve2", f"d ({fit[0]:.3f} - {fit[1]:.3f} d)")
        _legend(plot, 1, "fit d (a - b d)", "curve2")
        peak = fit[0] / (2 * fit[1]) if min(fit) > 0 else None
        if peak is not None and peak < d[-1]:
            plot.line(peak, plot.y_range[0], peak, plot.y_range[1], "reference")
    plot.names("d = sqrt(KL of best-of-k from the policy)", "gain in truth")
    return plot.svg("Over-optimisation")


def _frame(end: float, values: Sequence[float]) -> Plot:
    low, high = min(values), max(values)
    step = round_step(max(high - low, 1e-3) / 4)
    bottom, top = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    plot = Plot((0.0, end), (bottom, top if top > bottom else bottom + step))
    plot.grid([], [bottom + step * i for i in range(round((plot.y_range[1] - bottom) / step) + 1)], digits_of(step))
    return plot


def _legend(plot: Plot, place: int, name: str, css: str) -> None:
    y = TOP + 8 + 16 * place
    plot.unit_line(LEFT + 8, y, LEFT + 36, y, css)
    plot.text(LEFT + 42, y + 4, name, "legend", "start")


def subsets(rows: Sequence[tuple[str, Estimate, Estimate]], *, scale: tuple[float, float]) -> str:
    """Accuracy (circles) where the truth is known, else the mean score (squares), by subset with 95 % intervals."""
    plot = Plot(scale, (0.0, 1.0), left=NAME, height=TOP + 18 + BOTTOM + ROW * len(rows))
    step = round_step((scale[1] - scale[0]) / 5)
    for i in range(math.ceil(scale[0] / step - 1e-9), math.floor(scale[1] / step + 1e-9) + 1):
        plot.unit_line(plot.x(step * i), TOP + 18, plot.x(step * i), plot.height - BOTTOM, "grid")
        plot.tick(step * i, f"{step * i:.{digits_of(step)}f}")
    for place, (name, average, accuracy) in enumerate(rows):
        y = TOP + 18 + ROW * (place + 0.5)
        plot.text(NAME - 8, y + 4, f"{shorten(name, 22)} ({average.n:,})", "label", "end", title=name)
        for what, figure, shape, css, aside in (
            ("mean score", average, "square", "series2", 4.0),
            ("accuracy", accuracy, "circle", "series1", -4.0),
        ):
            if figure.value is None:
                continue
            if figure.low is not None and figure.high is not None:
                ends = (plot.x(max(scale[0], figure.low)), plot.x(min(scale[1], figure.high)))
                plot.unit_line(ends[0], y + aside, ends[1], y + aside, f"whisker {css}")
            plot.mark(shape, plot.x(figure.value), y + aside, css, f"{name}, {what}: {estimate(figure)}", 3.6)
    for x, shape, css, what in ((0, "circle", "series1", "accuracy"), (110, "square", "series2", "mean score")):
        plot.mark(shape, NAME + x + 6, TOP, css, what)
        plot.text(NAME + x + 16, TOP + 4, what, "legend", "start")
    plot.names("with 95 % intervals")
    return plot.svg("Subsets")


def drift(series: Sequence[tuple[str, Sequence[tuple[float, Estimate]]]], *, over: str) -> str:
    """The mean score with its interval over steps; a mark and a line of its own for each version."""
    ends = [
        end
        for _, points in series
        for _, figure in points
        for end in (figure.value, figure.low, figure.high)
        if end is not None
    ]
    at = [x for _, points in series for x, _ in points]
    low, high = min(ends), max(ends)
    step = round_step(max(high - low, 1e-3) / 4)
    start, end = (min(at), max(at)) if max(at) > min(at) else (min(at) - 0.5, min(at) + 0.5)
    bottom, top = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    plot = Plot((start, end), (bottom, max(top, bottom + step)))
    lines = round((plot.y_range[1] - plot.y_range[0]) / step)
    plot.grid([], [plot.y_range[0] + step * i for i in range(lines + 1)], digits_of(step))
    _ticks(plot)
    for i, ((name, points), (shape, css, line)) in enumerate(zip(series, SHAPES, strict=False)):
        known = [(x, figure) for x, figure in points if figure.value is not None]
        for x, figure in known:
            if figure.low is not None and figure.high is not None:
                plot.line(x, figure.low, x, figure.high, f"whisker thin {css}")
        if len(known) > 1:
            plot.path([(x, figure.value or 0.0) for x, figure in known], line, name)
        for x, figure in known:
            hint = f"{name or 'no version'}, {over} {x:.0f}: {estimate(figure)} on {figure.n:,}"
            plot.mark(shape, plot.x(x), plot.y(figure.value or 0.0), css, hint, 3.2)
        y = TOP + 6 + 16 * i
        plot.mark(shape, LEFT + 14, y, css, name)
        plot.text(LEFT + 24, y + 4, shorten(name, 30) or "no version", "legend", "start")
    plot.names(over, "mean score")
    return plot.svg("Drift")
