"""What an audit says so far, as HTML: rates with intervals by stratum, labels still needed, auditors' agreement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from guerdon.serving.ui import text
from guerdon.serving.ui.auditing import HALF_WIDTH, Desk, Study
from guerdon.serving.ui.labels import SOMEBODY, Agreement

if TYPE_CHECKING:
    from guerdon.calibration.audit import Audit, Found
    from guerdon.calibration.rates import Channel, Interval

MOST_STRATA = 40
"""Strata in the table; those with the most samples."""

MOST_NEEDED = 4
"""Strata for which labels still needed are searched, the largest: each takes a tenth of a second."""


def rates(desk: Desk, study: Study) -> str:
    """The whole panel. Raises what ``Desk.audit`` raises, but for having no label yet."""
    labelled = sum(name in study.places for name in desk.labels.latest)
    if not labelled:
        return text.notice("No labels yet.", "After a few labels of each verdict the rates appear here.")
    audit = desk.audit(study)
    root = audit.found[""]
    return "".join([_tiles(root), _table(audit), _plot(audit), _said(audit), agreement(desk.labels.agreement())])


def _tiles(root: Found) -> str:
    channel = root.channel
    tiles = [("labels", f"{root.labelled:,} <small class='soft'>of {root.n:,}</small>")]
    for name in ("false_positive", "false_negative"):
        value = "–" if channel is None else _percent(getattr(channel, name), getattr(channel, f"{name}_interval"))
        tiles.append((f"{name.replace('_', ' ')}s", f'<span id="rate-{name}">{value}</span>'))
    share = "–" if root.prevalence is None else _percent(root.prevalence, root.prevalence_interval)
    return text.tiles([*tiles, ("right samples", share)])


def _percent(value: float, interval: Interval | None) -> str:
    between = (
        ""
        if interval is None
        else f" <small class='soft'>{100 * interval.low:.1f} to {100 * interval.high:.1f}</small>"
    )
    return f"{100 * value:.1f} %{between}"


def _table(audit: Audit) -> str:
    keys = sorted(audit.found, key=lambda key: (key != "", -audit.found[key].n, key))
    needed = _needed(audit, keys[:MOST_NEEDED])
    rows = []
    for key in keys[:MOST_STRATA]:
        found, more = audit.found[key], needed.get(key, "")
        name = text.word(key, 60) if key else "<b>all samples</b>"
        cells = ("–", "–") if found.channel is None else _rates(found.channel)
        rows.append([name, f"{found.n:,}", f"{found.labelled:,}", *cells, more])
    head = ("stratum", "samples", "labels", "false positive", "false negative", "labels needed, fp · fn")
    left = len(keys) - MOST_STRATA
    more_words = (
        f"<p class='soft small'>{left} smaller strata are not shown; the export has them.</p>" if left > 0 else ""
    )
    return text.table(head, rows, "numbers") + more_words


def _rates(channel: Channel) -> tuple[str, str]:
    cells = []
    for name in ("false_positive", "false_negative"):
        shown = _percent(getattr(channel, name), getattr(channel, f"{name}_interval"))
        cells.append(
            f"<span title='of the stratum above: no label here says'>({shown})</span>"
            if name in channel.borrowed
            else shown
        )
    return cells[0], cells[1]


def _needed(audit: Audit, keys: Sequence[str]) -> dict[str, str]:
    """Further labels that bring each rate to ± HALF_WIDTH."""
    from dataclasses import replace

    from guerdon.rewards.types import FrozenDict

    some = replace(audit, found=FrozenDict({key: audit.found[key] for key in keys}))
    return {
        key: f"{_need(need['false_positive'])} · {_need(need['false_negative'])}"
        for key, need in some.needed(HALF_WIDTH).items()
    }


def _need(need: Any) -> str:
    if need.labels is None:
        return f"<span title='all labels there can be give ± {need.half_width:.3f}: score more'>&gt; all</span>"
    return f"{need.labels:,}" if need.labels else "reached"


def _plot(audit: Audit) -> str:
    from guerdon.calibration.audit_plot import rates_svg
    from guerdon.rewards.errors import UsageError

    try:
        return f'<figure class="card plot">{rates_svg(audit.rates)}</figure>'
    except UsageError:  # no stratum has both rates yet: the table says so
        return ""


def _said(audit: Audit) -> str:
    """What the figures do not say by themselves."""
    lines = [f"Intervals are at {audit.confidence:.0%} ({audit.method}); “labels needed” is for ± {HALF_WIDTH:.0%}."]
    for key, found in list(audit.found.items())[:MOST_STRATA]:
        name = key or "all samples"
        if found.channel is None:
            lines.append(f"{name}: no rates, {found.reason}.")
        elif found.channel.borrowed:
            lines.append(f"{name}: {found.reason}; the rate in brackets is that of the stratum above.")
        elif found.channel.strength_interval is not None and found.channel.strength_interval.low <= 0:
            lines.append(
                f"{name}: the verdict may say nothing (strength {found.channel.strength_interval}); label more."
            )
    if unscored := audit.found[""].unscored:
        lines.append(f"{unscored:,} samples are unscored: they are in no rate.")
    return f'<ul class="small soft">{"".join(f"<li>{text.word(line, 300)}</li>" for line in lines[:12])}</ul>'


def agreement(pairs: Sequence[Agreement]) -> str:
    """Every two auditors; empty with fewer."""
    if not pairs:
        return ""
    rows = [
        [
            f"{_who(pair.first)} and {_who(pair.second)}",
            f"{pair.n:,}",
            f"{100 * pair.same / pair.n:.0f} %",
            "–" if pair.kappa is None or pair.half_width is None else f"{pair.kappa:.2f} ± {pair.half_width:.2f}",
        ]
        for pair in pairs
    ]
    table = text.table(("auditors", "both labelled", "the same", "Cohen's kappa"), rows, "numbers")
    return f"<h4>Agreement</h4>{table}"


def _who(name: str) -> str:
    return "(nobody named)" if name == SOMEBODY else text.word(name, 40)
