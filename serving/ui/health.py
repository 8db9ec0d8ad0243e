"""How the running server does, as HTML: throughput, queues, statuses, and the latest failures."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.rewards.types import STATUSES
from guerdon.serving.store import Filter, Row
from guerdon.serving.ui import text
from guerdon.serving.ui.source import Source

if TYPE_CHECKING:
    from guerdon.serving.metrics import Metrics

FAILURES = ("error", "timeout", "refused")
SAMPLES = 12
"""Failures that are listed."""


@dataclass(frozen=True, slots=True)
class Pulse:
    """Counters at a moment, by name and labels. at: seconds of a clock that only runs on."""

    at: float
    values: Mapping[tuple[str, ...], float]

    @classmethod
    def take(cls, metrics: Metrics) -> Pulse:
        values = {
            (sample.name, *(f"{key}={sample.labels[key]}" for key in sorted(sample.labels))): sample.value
            for family in metrics.collect()
            for sample in family.samples
        }
        return cls(time.monotonic(), values)

    def sum(self, name: str, *labels: str) -> float:
        """Over all series of a name that have these labels, each as key=value."""
        return sum(value for key, value in self.values.items() if key[0] == name and set(labels) <= set(key[1:]))

    def names(self, label: str) -> list[str]:
        found = {
            part.removeprefix(f"{label}=") for key in self.values for part in key[1:] if part.startswith(f"{label}=")
        }
        return sorted(found)


def page(source: Source, now: Pulse | None, before: Pulse | None) -> str:
    """before: an earlier pulse, for what happens a second. None without a server in this process."""
    parts = [] if now is None or not now.names("scorer") else [_tiles(now, before), _scorers(now, before)]
    if source.store is not None:
        parts.append(_stored(source))
        parts.append(_failures(source))
    elif not parts:
        return text.notice("Nothing runs here.", "No scorer is served and no scores are stored.")
    return "".join(parts)


def _rate(now: Pulse, before: Pulse | None, name: str, *labels: str) -> str:
    if before is None or now.at - before.at < 0.2:
        return "–"
    return f"{(now.sum(name, *labels) - before.sum(name, *labels)) / (now.at - before.at):,.1f}"


def _tiles(now: Pulse, before: Pulse | None) -> str:
    refused = now.sum("guerdon_refused_total")
    tiles = (
        ("samples a second", _rate(now, before, "guerdon_scores_total")),
        ("samples answered", f"{now.sum('guerdon_scores_total'):,.0f}"),
        ("tokens waiting", f"{now.sum('guerdon_queue_tokens'):,.0f}"),
        ("requests refused", f"{refused:,.0f}"),
        ("scores not yet stored", f"{now.sum('guerdon_store_waiting'):,.0f}"),
    )
    return text.tiles(tiles)


def _scorers(now: Pulse, before: Pulse | None) -> str:
    rows = []
    for scorer in now.names("scorer"):
        own = f"scorer={scorer}"
        batches = now.sum("guerdon_batch_samples_count", own)
        per_batch = f"{now.sum('guerdon_batch_samples_sum', own) / batches:.1f}" if batches else "–"
        rows.append(
            [
                text.word(scorer, 40),
                _rate(now, before, "guerdon_scores_total", own),
                f"{now.sum('guerdon_queue_tokens', own):,.0f}",
                per_batch,
                *(_stage(now, own, stage) for stage in ("prepare", "queue", "score")),
                *(f"{now.sum('guerdon_scores_total', own, f'status={status}'):,.0f}" for status in STATUSES),
                f"{now.sum('guerdon_outages_total', own) + now.sum('guerdon_failures_total', own):,.0f}",
            ]
        )
    head = (
        "scorer",
        "samples/s",
        "tokens waiting",
        "a batch",
        "prepare ms",
        "queue ms",
        "score ms",
        *STATUSES,
        "failed batches",
    )
    return f"<h4>This server since it started</h4>{text.table(head, rows, 'numbers')}"


def _stage(now: Pulse, own: str, stage: str) -> str:
    """The mean of a stage's time over all requests."""
    labels = (own, f"stage={stage}")
    count = now.sum("guerdon_stage_seconds_count", *labels)
    return f"{1000 * now.sum('guerdon_stage_seconds_sum', *labels) / count:.1f}" if count else "–"


def _stored(source: Source) -> str:
    scorers = source.scorers()
    if not scorers:
        return text.notice("Nothing is stored yet.", "Scores appear here as the server answers.")
    rows = []
    for scorer, scale in scorers.items():
        counts = {status: source.opened.count(Filter(scorer=scorer, status=status)) for status in STATUSES}
        total = sum(counts.values())
        rows.append([text.word(scorer, 40), scale, f"{total:,}", *(_count(count, total) for count in counts.values())])
    head = ("scorer", "scale", "scores", *STATUSES)
    return f"<h4>In the store</h4>{text.table(head, rows, 'numbers')}"


def _count(count: int, total: int) -> str:
    if not count:
        return '<span class="soft">0</span>'
    return f"{count:,} <span class='soft small'>{100 * count / total:.1f} %</span>"


def _failures(source: Source) -> str:
    found: list[Row] = []
    for status in FAILURES:
        found += source.opened.rows(Filter(status=status), limit=SAMPLES)
    found.sort(key=lambda row: row.id, reverse=True)
    if not found:
        return "<h4>Latest failures</h4>" + text.notice(
            "None.", "No stored sample ended in an error, a timeout or a refusal."
        )
    return f"<h4>Latest failures</h4>{_listed(found[:SAMPLES])}"


def _listed(rows: Sequence[Row]) -> str:
    cells = [
        [
            time.strftime("%m-%d %H:%M:%S", time.localtime(row.time)),
            text.word(row.scorer, 30),
            text.badge(row.status),
            text.word(row.name or f"{row.request[:8]}/{row.item}", 30),
            f'<bdi dir="auto">{text.word(row.reason, 300)}</bdi>',
        ]
        for row in rows
    ]
    return text.table(("when", "scorer", "status", "sample", "reason"), cells)
