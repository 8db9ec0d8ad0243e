"""What ``guerdon audit`` prints: a plan and an audit, as tables for people and as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from guerdon.serving.commands import console

if TYPE_CHECKING:
    from guerdon.calibration.audit import Audit, Plan
    from guerdon.serving.commands.audit_data import Judged

Needs = Mapping[str, Mapping[Any, Any]]
"""By stratum and rate, what ``labels_needed`` says."""


def need_words(need: Any) -> str:
    """A ``Needed`` in words."""
    if need.labels is None:
        return f"more samples are needed: all labels there can be give ± {need.half_width:.3f}"
    return f"{need.labels} more labels" if need.labels else "reached"


def plan_json(plan: Plan, judged: Judged, half_width: float | None, needed: Any) -> dict[str, Any]:
    """needed: by rate, or None."""
    return {
        "scorer": judged.scorer,
        "samples": len(judged.samples),
        "unscored": sum(math.isnan(verdict) for verdict in judged.verdicts),
        "chosen": len(plan.indices),
        "cells": [_cell_json(planned.cell) | {"wanted": planned.wanted} for planned in plan.cells],
        "notes": plan.notes,
        "half_width": half_width,
        "needed": {rate: need.labels for rate, need in needed.items()} if needed else None,
    }


def _cell_json(cell: Any) -> dict[str, Any]:
    return {
        "stratum": cell.stratum,
        "verdict": int(cell.accepted),
        "samples": cell.size,
        "labelled": cell.labelled,
        "errors": cell.errors,
    }


def show_plan(plan: Plan, judged: Judged) -> None:
    """A line a cell."""
    rows: list[Sequence[str]] = [("samples", "labelled", "to label", "verdict", "stratum")]
    for planned in plan.cells:
        cell = planned.cell
        figures = (f"{cell.size:,}", f"{cell.labelled:,}", f"{planned.wanted:,}")
        rows.append((*figures, "accepted" if cell.accepted else "rejected", cell.stratum))
    _show_rows(rows, left=2)
    _say_unscored(judged.verdicts)


def _say_unscored(verdicts: Sequence[float]) -> None:
    if unscored := sum(math.isnan(verdict) for verdict in verdicts):
        console.err().print(f"{unscored} samples are unscored: they are in no rate")


def _show_rows(rows: Sequence[Sequence[str]], left: int) -> None:
    """Columns on stdout, figures first and right-aligned, the last ``left`` left-aligned: the stratum's name, as long
    as it is, comes at the end of the line.
    """
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    for *cells, name in rows:
        first = [
            cell.ljust(width) if place > len(widths) - left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        print("  ".join([*first, console.printable(name or "(all)")]))


def _percent(value: float, interval: Any) -> str:
    return f"{100 * value:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def audit_json(audit: Audit, needs: Needs, half_width: float) -> dict[str, Any]:
    found = {}
    for key, f in audit.found.items():
        interval = f.prevalence_interval
        found[key] = {
            "samples": f.n,
            "accepted": int(f.accepted.size),
            "unscored": f.unscored,
            "labelled": f.labelled,
            "unlabelled_cells_samples": f.unlabelled,
            "prevalence": f.prevalence,
            "prevalence_interval": None if interval is None else [interval.low, interval.high],
            "reason": f.reason,
            "more_labels": {rate: need.labels for rate, need in needs[key].items()},
        }
    return {
        "rates": audit.rates.to_json(),
        "method": audit.method,
        "half_width": half_width,
        "strata": found,
        "cells": [_cell_json(cell) for cell in audit.cells],
    }


def show_audit(audit: Audit, needs: Needs, half_width: float) -> None:
    """A line a stratum on stdout; what is not in it, and what it means, on stderr."""
    print(
        f"{audit.scorer}: error rates with {audit.confidence:.0%} intervals ({audit.method}), and how many more labels "
        f"make them ± {100 * half_width:g} %"
    )
    rows: list[Sequence[str]] = [
        ("samples", "labels", "false pos. %", "false neg. %", "more for fp", "for fn", "stratum")
    ]
    for key, f in audit.found.items():
        if (c := f.channel) is None:
            continue
        more = (f">{f.n - f.labelled:,}" if need.labels is None else f"{need.labels:,}" for need in needs[key].values())
        shown = {
            "false_positive": _percent(c.false_positive, c.false_positive_interval),
            "false_negative": _percent(c.false_negative, c.false_negative_interval),
        }
        rates = [f"({text})" if rate in c.borrowed else text for rate, text in shown.items()]
        rows.append((f"{f.n:,}", f"{f.labelled:,}", *rates, *more, key))
    _show_rows(rows, left=1)
    said = console.err()
    if any(need.labels is None for key, f in audit.found.items() if f.channel for need in needs[key].values()):
        said.print("> : all the samples that have no label yet would not do; score more")
    for key, f in audit.found.items():
        name = console.printable(key or "all samples", 60)
        if f.channel is None:
            said.print(f"{name}: no rates, {f.reason}; it takes those of the stratum above it")
        elif f.channel.borrowed:
            said.print(f"{name}: {f.reason}; that rate, in brackets, is the one of the stratum above it")
        elif f.channel.strength_interval is not None and f.channel.strength_interval.low <= 0:
            said.print(f"{name}: the verdict may say nothing (strength {f.channel.strength_interval}); label more")
        if f.channel is not None and f.unlabelled:
            said.print(f"{name}: {f.unlabelled} samples are in cells without a label; intervals allow any truth")
    root = audit.found[""]
    if root.unscored:
        said.print(f"{root.unscored} samples are unscored: they are in no rate")
    if root.prevalence is not None:
        said.print(f"right samples among the scored: {root.prevalence:.3f} {root.prevalence_interval}")
