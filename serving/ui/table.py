"""The table of scores: what its filters mean, and its rows as HTML."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import text_of
from guerdon.serving.store import Filter, Row
from guerdon.serving.ui import text
from guerdon.serving.ui.source import Page, Source, middle_of

ANY = "any"
"""What a choice says that asks nothing."""

EXCERPT = 80  # characters of an answer, or of the end of a response, in the table


@dataclass(frozen=True, slots=True)
class Asked:
    """The filters as they stand on the page: empty texts ask nothing.

    steps, values: ``10..50``, ``10..``, ``..50``, or one number. thresholds: ``0.5`` for both scorers or ``0.5, 0``.
    """

    scorer: str | None = None
    status: str | None = None
    version: str | None = None
    group: str = ""
    name: str = ""
    steps: str = ""
    values: str = ""
    disagrees_with: str | None = None
    thresholds: str = ""
    order: str = "newest"

    def filter(self, source: Source) -> Filter:
        """Raises UsageError for what no filter can be."""
        scorer, other = _chosen(self.scorer), _chosen(self.disagrees_with)
        if other is not None and scorer is None:
            raise UsageError(f"choose whose scores shall disagree with those of {other!r}: the first filter")
        first, last = between(self.steps, "Steps")
        steps = None if first is None and last is None else (_whole(first, -(2**62)), _whole(last, 2**62))
        values = between(self.values, "Values")
        scales = source.scorers()
        defaults = (middle_of(scales.get(scorer or "", "real")), middle_of(scales.get(other or "", "real")))
        return Filter(
            scorer=scorer,
            status=_chosen(self.status),
            version=_chosen(self.version),
            group=(self.group or "").strip() or None,
            name=(self.name or "").strip() or None,
            steps=steps,
            values=None if values == (None, None) else values,
            disagrees_with=other,
            thresholds=both(self.thresholds, defaults),
        )


def _chosen(word: str | None) -> str | None:
    return None if word in (None, "", ANY) else word


def _whole(value: float | None, default: int) -> int:
    return default if value is None else int(value)


def between(text: str | None, what: str) -> tuple[float | None, float | None]:
    """The lowest and the highest that a range names.

    >>> between("..0.5", "Values"), between("3", "Steps"), between("", "Steps")
    ((None, 0.5), (3.0, 3.0), (None, None))
    """
    low, dots, high = (text or "").strip().partition("..")
    least = _number(low, what)
    return (least, _number(high, what)) if dots else (least, least)


def both(text: str | None, defaults: tuple[float, float]) -> tuple[float, float]:
    """Two thresholds from one or two numbers."""
    parts = [_number(part, "Yes from") for part in (text or "").split(",")]
    if len(parts) > 2:
        raise UsageError("Yes from takes one number for both scorers, or two: 0.5, 0")
    mine, others = (parts[0], parts[-1])
    return (defaults[0] if mine is None else mine, defaults[1] if others is None else others)


def _number(text: str, what: str) -> float | None:
    if not text.strip():
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(f"{what} takes numbers such as 10..50, ..0.5 or 3; got {text.strip()!r:.40}")
    return value


def page(source: Source, asked: Asked, number: int) -> tuple[Page, str]:
    """A page and its HTML. Raises what ``Source.page`` and ``Asked.filter`` raise."""
    order: Any = asked.order
    found = source.page(asked.filter(source), number=number, order=order)
    return found, rows(source, found)


def rows(source: Source, found: Page) -> str:
    """A table whose rows hold the number of their score (``data-row``), by which it is opened."""
    if not found.rows:
        return text.notice(
            "Nothing here.",
            "No stored score passes all these filters; take one away."
            if source.newest()
            else "The store is empty so far. What the server answers appears here; press Refresh.",
        )
    head = ("sample", "scorer", "value", "status", "group", "step", "answer", "reason")
    scales = {version.id: version.scale for version in source.versions()}
    body = "".join(_row(row, scales.get(row.version_id, "real")) for row in found.rows)
    columns = "".join(f'<th class="c-{name}">{name}</th>' for name in head)
    return (
        '<div class="scroll"><table class="scores" aria-label="Scores">'
        f"<thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _row(row: Row, scale: str) -> str:
    response = text_of(row.response) if row.response is not None else ""
    shown = text.tail(response, EXCERPT) if row.has_texts else '<span class="soft">not kept</span>'
    if (answer := row.details.get("answer")) is not None:  # what a verifier found says more than a response's end
        shown = text.word(answer, EXCERPT)
    value = text.verdict(row.value, scale) if row.value is not None else '<span class="soft">–</span>'
    cells = (
        ("sample", text.word(row.name or f"{row.request[:8]}/{row.item}", 26)),
        ("scorer", text.word(row.scorer, 24)),
        ("value", value),
        ("status", text.badge(row.status)),
        ("group", text.word(row.group or "", 18)),
        ("step", "" if row.step is None else f"{row.step}"),
        ("answer", f'<bdi dir="auto">{shown}</bdi>'),
        ("reason", f'<bdi dir="auto">{text.word(row.reason, 80)}</bdi>'),
    )
    body = "".join(f'<td class="c-{name}">{cell}</td>' for name, cell in cells)
    return f'<tr data-row="{row.id}" tabindex="0">{body}</tr>'


def place(found: Page) -> str:
    """Which rows these are, of how many."""
    if not found.total:
        return "0 scores"
    return f"{found.first + 1:,}–{found.first + len(found.rows):,} of {found.total:,} scores"
