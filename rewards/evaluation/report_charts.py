"""The plots of the page. Series differ by shape, fill or dash, not by colour alone; every mark tells its figures."""

from __future__ import annotations

import math
from collections.abc import Sequence

from guerdon.rewards.evaluation.battles import Rating
from guerdon.rewards.evaluation.intervals import Estimate
from guerdon.rewards.evaluation.probabilities import Bin
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
from guerdon.rewards.report import RANDOM, BestOf, Group, Histogram, LengthBin

FIFTHS = [i / 5 for i in range(6)]
SERIES = (("circle", "series1"), ("square", "series2"), ("diamond", "series3"))
RULER_MARKS = (("diamond", "series2"), ("square", "series3"))

GROUPS_DRAWN = 18
ROW = 22  # height of one group
NAME = 190  # width of its name


def reliability(forms: Sequence[tuple[str, Sequence[Bin]]]) -> str:
    """Observed against claimed probability with Wilson intervals, of at most three forms; dashed is perfect."""
    low = 0.5 if all(b.low >= 0.5 for _, table in forms for b in table) else 0.0
    plot = Plot((low, 1.0), (0.0, 1.0))
    plot.grid([low + (1 - low) * fifth for fifth in FIFTHS], FIFTHS)
    plot.line(low, low, 1.0, 1.0, "reference")
    for i, ((name, table), (shape, css)) in enumerate(zip(forms, SERIES, strict=False)):
        aside = (i - (len(forms) - 1) / 2) * 6  # so that bars of several forms do not hide each other
        for b in table:
            x = plot.x(b.claimed) + aside
            plot.unit_line(x, plot.y(b.observed_high), x, plot.y(b.observed_low), f"whisker {css}")
            observed = estimate(Estimate(b.observed, b.observed_low, b.observed_high))
            hint = f"{name}: claims {b.claimed:.3f}, observed {observed} on {b.n:,}"
            plot.mark(shape, x, plot.y(b.observed), css, hint)
        y = TOP + 12 + 18 * i
        plot.mark(shape, LEFT + 14, y, css, name)
        plot.text(LEFT + 24, y + 4, name, "legend", "start")
    plot.names("claimed probability", "share that was right")
    return plot.svg("Reliability diagram")


def margins(histogram: Histogram) -> str:
    """How large margins are where the scorer is right (up, filled) and where it is wrong (down, hatched)."""
    most = float(max(*histogram.right, *histogram.wrong, 1))
    end = histogram.edges[-1]
    plot = Plot((0.0, end), (-most, most))
    step = round_step(most / 2)
    for i in range(-int(most / step), int(most / step) + 1):
        plot.line(0.0, step * i, end, step * i, "grid")
        plot.text(LEFT - 6, plot.y(step * i) + 4, f"{abs(step * i):,.0f}", anchor="end")
    step = round_step(end / 4)
    for i in range(int(end / step) + 1):
        plot.tick(step * i, f"{step * i:g}")
    edges = zip(histogram.edges[:-1], histogram.edges[1:], histogram.right, histogram.wrong, strict=True)
    for low, high, right, wrong in edges:
        where = f"|margin| {number(low)} to {number(high)}"
        plot.bar(low, high, 0, right, "fill1", f"{where}: {right:,} right")
        plot.bar(low, high, 0, -wrong, "fill2", f"{where}: {wrong:,} wrong")
    plot.line(0.0, 0.0, end, 0.0, "base")
    plot.text(WIDTH - RIGHT - 4, TOP + 12, f"right: {sum(histogram.right):,}", "legend", "end")
    plot.text(WIDTH - RIGHT - 4, HEIGHT - BOTTOM - 6, f"wrong: {sum(histogram.wrong):,}", "legend", "end")
    plot.names(f"|margin| ({histogram.beyond:,} larger ones not drawn)" if histogram.beyond else "|margin|", "pairs")
    return plot.svg("Margins of right and wrong pairs")


def length_bins(bins: Sequence[LengthBin]) -> str:
    """Accuracy by how much longer or shorter the right response is; the dashed steps are what length alone gets."""
    end = float(len(bins))
    plot = Plot((0.0, end), (0.0, 1.0))
    plot.grid([], FIFTHS)
    plot.path([(0, 0), (end / 2, 0), (end / 2, 1), (end, 1)], "reference", "what the length ruler gets")
    for i, b in enumerate(bins):
        at, accuracy, name = i + 0.5, b.accuracy, _ratio(b)
        plot.tick(at, name)
        if accuracy.value is None:
            continue
        if accuracy.low is not None and accuracy.high is not None:
            plot.line(at, accuracy.low, at, accuracy.high, "whisker series1")
        y = plot.y(accuracy.value)
        plot.mark("circle", plot.x(at), y, "series1", f"{name}: {estimate(accuracy)} on {accuracy.n:,}")
        plot.text(plot.x(at) + 9, y + 4, f"{accuracy.value:.2f}", "legend", "start")
    plot.names("length of the right response / length of the wrong one", "accuracy")
    return plot.svg("Accuracy by length ratio")


def _ratio(b: LengthBin) -> str:
    if b.low is None:
        return f"< {b.high:g}"
    return f"> {b.low:g}" if b.high is None else f"{b.low:g}–{b.high:g}"


def groups(shown: Sequence[Group], rulers: Sequence[str], overall: float, chance: float, worst: Group | None) -> str:
    """The headline of each group with its interval, and two rulers' on the same rows; the worst is underlined."""
    plot = Plot((0.0, 1.0), (0.0, 1.0), left=NAME, height=TOP + 18 + ROW * len(shown) + BOTTOM)
    top, bottom = TOP + 18, plot.height - BOTTOM
    for fifth in FIFTHS:
        plot.unit_line(plot.x(fifth), top, plot.x(fifth), bottom, "grid")
        plot.tick(fifth, f"{fifth:.1f}")
    plot.unit_line(plot.x(overall), top, plot.x(overall), bottom, "overall")
    plot.unit_line(plot.x(chance), top, plot.x(chance), bottom, "reference")
    drawn = [(place, name) for place, name in enumerate(rulers) if name != RANDOM][: len(RULER_MARKS)]
    for i, group in enumerate(shown):
        y, headline = top + ROW * (i + 0.5), group.headline
        name = f"{shorten(group.value)} ({headline.n:,})"
        hint = f"{group.value}: {estimate(headline)} on {headline.n:,}"
        plot.text(NAME - 10, y + 4, name, "label worst" if group == worst else "label", "end", hint)
        for (place, ruler), (shape, css) in zip(drawn, RULER_MARKS, strict=False):
            value = group.rulers[place]
            if value is not None:
                plot.mark(shape, plot.x(value), y, css, f"{group.value}, {ruler} ruler: {value:.3f}", 3.6)
        if headline.low is not None and headline.high is not None:
            plot.unit_line(plot.x(headline.low), y, plot.x(headline.high), y, "whisker series1")
        if headline.value is not None:
            plot.mark("circle", plot.x(headline.value), y, "series1", hint)
    legend = [("circle", "series1", "scorer")]
    legend += [(shape, css, name) for (_, name), (shape, css) in zip(drawn, RULER_MARKS, strict=False)]
    x = float(NAME)
    for shape, css, name in legend:
        plot.mark(shape, x + 6, TOP, css, name)
        plot.text(x + 15, TOP + 4, shorten(name, 16), "legend", "start")
        x += 30 + 7 * min(len(name), 16)
    plot.names("dotted: all rows; dashed: a coin")
    return plot.svg("Headline by group")


def best_of(curves: BestOf) -> str:
    """Truth of the best-scored of k, against the best possible choice, a random one and a ruler's."""
    last = len(curves.curve)
    end = math.log2(last)
    every = [*curves.curve, *curves.oracle, *(value for _, curve in curves.rulers for value in curve)]
    low, high, step = _round_range(min(every), max(every), 4)
    plot = Plot((0.0, end), (low, high))
    plot.grid([], [low + step * i for i in range(round((high - low) / step) + 1)], digits_of(step))
    for k in sorted({last, *(2**i for i in range(last.bit_length()))}):
        plot.tick(math.log2(k), f"{k}")
    plot.line(0.0, curves.curve[0], end, curves.curve[0], "reference")
    series = [("by truth", curves.oracle, "curve3"), ("by score", curves.curve, "curve1")]
    series += [(f"by the {name} ruler", curve, "curve2") for name, curve in curves.rulers if name != RANDOM][:1]
    for i, (name, curve, css) in enumerate(series):
        points = [(math.log2(k), value) for k, value in enumerate(curve, start=1)]
        plot.path(points, css, f"{name}: {curve[0]:.3f} at 1, {curve[-1]:.3f} at {last}")
        y = TOP + 8 + 16 * i
        plot.unit_line(LEFT + 8, y, LEFT + 36, y, css)
        plot.text(LEFT + 42, y + 4, name, "legend", "start")
    plot.names("k (logarithmic); dashed: a random choice", "truth of the chosen response")
    return plot.svg("Best of k")


def ratings(models: Sequence[Rating]) -> str:
    """Ratings of models by the scorer against those by the labels, with 95 % intervals; on the diagonal both agree."""
    ends = [end for m in models for end in (m.labels_low, m.labels_high, m.scorer_low, m.scorer_high)]
    low, high, step = _round_range(min(ends), max(ends), 5)
    plot = Plot((low, high), (low, high))
    ticks = [low + step * i for i in range(round((high - low) / step) + 1)]
    plot.grid(ticks, ticks, digits_of(step))
    plot.line(low, low, high, high, "reference")
    for m in models:
        plot.line(m.labels_low, m.scorer, m.labels_high, m.scorer, "whisker thin series1")
        plot.line(m.labels, m.scorer_low, m.labels, m.scorer_high, "whisker thin series1")
        hint = f"{m.model}: {m.labels:.2f} by the labels, {m.scorer:.2f} by the scorer, {m.battles:,} battles"
        plot.mark("circle", plot.x(m.labels), plot.y(m.scorer), "series1", hint, 3.6)
    plot.names("rating by the labels (log-strength)", "rating by the scorer")
    return plot.svg("Ratings of models")


def _round_range(low: float, high: float, n_steps: int) -> tuple[float, float, float]:
    """A range of whole steps around low and high, and the step."""
    step = round_step(max((high - low) / n_steps, 1e-6))
    low = math.floor(low / step) * step
    return low, max(math.ceil(high / step) * step, low + step), step
