"""One sample with everything that was said of it, as HTML."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.rewards.types import Score, text_of
from guerdon.serving.store import Row
from guerdon.serving.ui import text
from guerdon.serving.ui.source import Source

CHANGES = ("corrected", "calibrated", "debiased")
"""Under these names calibration's wrappers leave in the details what was there before (calibration/wrap.py)."""

_SHOWN_APART = {"answer", "span", "stage", *CHANGES}

NOTHING = text.notice("No sample is open.", "Click a row of the table, or go to it with Tab and press Enter.")


def detail(source: Source, number: int) -> str:
    """The sample behind a score. Raises UsageError if there is no such score."""
    row = source.row(number)
    rows = source.siblings(row)
    versions = {version.id: version for version in source.versions()}
    scales = {name: version.scale for name, version in versions.items()}
    title = text.word(row.name or f"{row.request}/{row.item}", 80)
    where = " · ".join(
        [
            f"{name} {text.word(value, 60)}"
            for name, value in (("group", row.group), ("step", row.step))
            if value is not None
        ]
    )
    parts = [
        f'<header><h3>{title}</h3><p class="soft">{where}</p></header>',
        signals([_signal(each, scales.get(each.version_id, "real"), opened=each.id == row.id) for each in rows]),
        sample_text(row, rows),
        _group(source, row, scales),
        _facts(row, versions.get(row.version_id), source.opened.request(row.request)),
    ]
    return f'<article class="detail" data-opened="{row.id}">{"".join(parts)}</article>'


def sample_text(row: Row, rows: Sequence[Row], *, marked: bool = True) -> str:
    """Prompt, response and reference. marked: with the answer that a verifier found."""
    if not row.has_texts:
        return text.notice(
            "The texts were not kept.", "Start the server with --store-text to see what was scored, and to audit it."
        )
    span = next((found for each in [row, *rows] if (found := span_of(each.details)) is not None), None)
    response = text.messages(row.response or "", span if marked else None)
    size = text_of(row.response or "")
    lines = size.count("\n") + 1
    extent = f"{len(size):,} characters, {lines:,} {'line' if lines == 1 else 'lines'}"
    reference = "" if row.reference is None else f"<h4>Reference</h4><div class='box'>{_plain(row.reference)}</div>"
    box = f'<div class="box long" tabindex="0">{response}</div>'
    return (
        f'<h4>Prompt</h4><div class="box short">{text.messages(row.prompt or "")}</div>'
        f'<h4>Response <span class="soft">{extent}</span></h4>{box}{reference}'
    )


def _plain(value: Any) -> str:
    return text.show(value if isinstance(value, str) else text.as_json(value))


def span_of(details: Mapping[str, Any]) -> tuple[int, int] | None:
    """Where a verifier found the answer: characters of the response."""
    span = details.get("span")
    if isinstance(span, (list, tuple)) and len(span) == 2 and all(type(each) is int for each in span):
        return span[0], span[1]
    return None


HEAD = ("signal", "value", "answer", "reason")


def signals(cells: Sequence[Sequence[str]]) -> str:
    """What every scorer says of one sample."""
    return text.table(HEAD, cells, "signals")


def _signal(row: Row, scale: str, *, opened: bool) -> list[str]:
    name = text.word(row.scorer, 40)
    name = f'<b title="the row that was opened">{name}</b>' if opened else name
    return cells_of(name, row.value, row.status, row.reason, row.details, scale, row.version)


def cells_of_score(name: str, score: Score, scale: str, version: str) -> list[str]:
    """A row of ``signals`` for a score that was given just now."""
    return cells_of(text.word(name, 40), score.value, score.status, score.reason, score.details, scale, version)


def cells_of(
    name: str, value: float | None, status: str, reason: str, details: Mapping[str, Any], scale: str, version: str
) -> list[str]:
    """name: HTML. The value with what it was before a correction, the answer with the stage that decided."""
    answer, stage = details.get("answer"), details.get("stage")
    shown = "" if answer is None else f'<bdi dir="auto">{text.word(answer, 120)}</bdi>'
    decided = "" if not stage else f'<div class="soft small">stage: {text.word(stage, 60)}</div>'
    return [
        f'{name}<div class="soft small">{text.word(version, 24)}</div>',
        f"{text.verdict(value, scale)}<div>{text.badge(status)}</div>{changed(value, details)}",
        f"{shown}{decided}",
        f'<bdi dir="auto">{text.word(reason, 400)}</bdi>',
    ]


def changed(value: float | None, details: Mapping[str, Any]) -> str:
    """The value before and after what calibration did to it, and in which stratum; empty if it did nothing."""
    for name in CHANGES:
        said = details.get(name)
        if isinstance(said, Mapping) and "raw" in said:
            stratum = f'<div class="soft small">{name}, {text.word(said.get("stratum") or "all samples", 60)}</div>'
            raw = said["raw"]
            before = text.number(raw) if isinstance(raw, (int, float)) else text.word(raw, 20)
            return f'<div class="small" title="raw → {name}">{before} → {text.number(value)}</div>{stratum}'
    return ""


def _group(source: Source, row: Row, scales: Mapping[str, str]) -> str:
    """The other responses to the prompt, the best first."""
    members = source.group(row)
    if not members:
        return ""
    ordered = sorted(members, key=lambda each: -float("inf") if each.value is None else each.value, reverse=True)
    rows = [
        [
            f"{place}",
            text.verdict(each.value, scales.get(each.version_id, "real")),
            text.badge(each.status),
            f'<bdi dir="auto"><b>this one</b> · {_end(each)}</bdi>'
            if each.id == row.id
            else f"<bdi>{_end(each)}</bdi>",
        ]
        for place, each in enumerate(ordered, 1)
    ]
    table = text.table(("place", "value", "status", "response"), rows, "group")
    return f"<details><summary>Its group: {len(members)} responses to this prompt</summary>{table}</details>"


def _end(row: Row) -> str:
    return text.tail(text_of(row.response), 120) if row.response is not None else '<span class="soft">not kept</span>'


def _facts(row: Row, version: Any, request: Mapping[str, Any] | None) -> str:
    said = {key: value for key, value in row.details.items() if key not in _SHOWN_APART}
    origin = {
        "scorer": row.scorer,
        "version": row.version,
        "loaded from": getattr(version, "source", None),
        "stored": time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.time)),
        "request": f"{row.request} item {row.item}",
        "token ids": row.input,
        "tokens": row.tokens,
        "cut off": row.cut,
        "batch": None if row.batch is None else f"{row.batch} of {row.batch_size} sequences",
        "came by": row.how,
        **(getattr(version, "provenance", None) or {}),
    }
    if request is not None and request["route"] != "file":
        origin |= {key.replace("_", " "): request[key] for key in ("route", "tenant", "queue_ms", "score_ms")}
    sections = (
        ("What the scorer says besides", said, False),
        ("The sample's own columns", row.meta, False),
        ("Where the score comes from", {key: value for key, value in origin.items() if value is not None}, False),
    )
    return "".join(
        f"<details{' open' if opened else ''}><summary>{title}</summary>{text.facts(pairs)}</details>"
        for title, pairs, opened in sections
        if pairs
    )
