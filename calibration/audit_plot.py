"""An audit at a glance: both rates of every stratum with their intervals, as SVG."""

from __future__ import annotations

from guerdon.calibration.plots import standalone
from guerdon.calibration.rates import Interval, NoiseRates
from guerdon.rewards.evaluation.report_svg import BOTTOM, TOP, Plot, shorten

DRAWN = 40
"""Strata at most: more rows than this are no glance."""

ROW = 26  # height of one stratum
NAME = 170  # width of its name


def rates_plot(rates: NoiseRates) -> str:
    """``rates_svg`` as the text of a file of its own."""
    return standalone(rates_svg(rates))


def rates_svg(rates: NoiseRates) -> str:
    """False positives (circles) and false negatives (squares) by stratum, those with the most labels first.

    All samples stand on top. At most ``DRAWN`` strata are drawn; the axis says how many are not.
    """
    keys = sorted(rates.channels, key=lambda key: (key != "", -rates.channels[key].n_audited, key))
    shown = keys[:DRAWN]
    plot = Plot((0.0, 1.0), (0.0, 1.0), left=NAME, height=TOP + BOTTOM + 20 + ROW * len(shown))
    for i in range(6):
        plot.line(i / 5, 0.0, i / 5, 1.0, "grid")
        plot.tick(i / 5, f"{i / 5:.1f}")
    for row, key in enumerate(shown):
        channel = rates.channels[key]
        y = TOP + 20 + ROW * (row + 0.5)
        name = key or "all samples"
        plot.text(NAME - 8, y + 4, shorten(name, 24), "label", "end", title=f"{name}: {channel.n_audited:,} labels")
        _rate(plot, "false positive", channel.false_positive, channel.false_positive_interval, y - 5, "circle", 1)
        _rate(plot, "false negative", channel.false_negative, channel.false_negative_interval, y + 5, "square", 2)
    for x, shape, css, name in ((0.0, "circle", 1, "false positives"), (0.3, "square", 2, "false negatives")):
        plot.mark(shape, plot.x(x) + 8, TOP + 6, f"series{css}", name)
        plot.text(plot.x(x) + 18, TOP + 10, name, "legend", "start")
    more = f" ({len(keys) - DRAWN} more strata are not drawn)" if len(keys) > DRAWN else ""
    plot.names(f"rate, {rates.confidence:.0%} interval{more}")
    return plot.svg(f"Error rates of {rates.scorer or 'the verifier'} by stratum")


def _rate(plot: Plot, name: str, value: float, interval: Interval | None, y: float, shape: str, series: int) -> None:
    if interval is not None:
        plot.unit_line(plot.x(interval.low), y, plot.x(interval.high), y, f"whisker series{series}")
    told = "" if interval is None else f" {interval}"
    plot.mark(shape, plot.x(value), y, f"series{series}", f"{name} {value:.3f}{told}", size=3.5)
