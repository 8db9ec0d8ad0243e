"""A report as Markdown. Text from data shows as itself: no markup of its own, no HTML, no broken table."""

from __future__ import annotations

import re

from guerdon.rewards.evaluation.report_tables import (
    HOW_TO_READ,
    Table,
    clean,
    figure_cells,
    repeat_table,
    ruler_tables,
    tables,
)
from guerdon.rewards.report import Report, Section

# what starts markup inside a line; a link needs "](", and an underscore inside a word means nothing
_MARKUP = re.compile(r"[\\`*|~$]|(?<=\])\(|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")


def escape(text: str) -> str:
    """Text as itself inside a line or a cell. HTML becomes entities, which even careless renderers leave alone.

    >>> print(escape("a|b <i> snake_case"))
    a\\|b &lt;i> snake_case
    """
    text = clean(text).replace("&", "&amp;").replace("<", "&lt;")
    return _MARKUP.sub(lambda match: "\\" + match.group(), text)


def to_markdown(report: Report) -> str:
    """The whole report."""
    lines = [
        f"# Evaluation of {escape(report.scorer)}",
        "",
        f"Version {escape(report.version)}, scale {report.scale}; {report.samples:,} samples scored in "
        f"{report.seconds:.1f} s; clusters: {escape(report.clusters)}; seed {report.seed}; guerdon {report.guerdon}.",
    ]
    for section in report.sections:
        lines += ["", f"## {escape(section.name)}", "", f"**{escape(section.sentence())}**", "", *_section(section)]
    if report.repeats:
        lines += ["", *_table(repeat_table(report), 2)]
    lines += ["", "## How to read this", "", *(f"- {line}" for line in HOW_TO_READ)]
    return "\n".join(lines) + "\n"


def _section(section: Section) -> list[str]:
    lines = _rows(("figure", "value"), figure_cells(section))
    for table in [*ruler_tables(section), *tables(section)]:
        lines += ["", *_table(table, 3)]
    for note in section.notes:
        lines += ["", f"Note: {escape(note)}."]
    return lines


def _table(table: Table, level: int) -> list[str]:
    return [f"{'#' * level} {escape(table.title)}", "", *_rows(table.head, table.rows)]


def _rows(head: tuple[str, ...], rows: list[tuple[str, ...]] | list[tuple[str, str]]) -> list[str]:
    lines = [head, tuple("---" for _ in head), *rows]
    return ["| " + " | ".join(escape(cell) for cell in line) + " |" for line in lines]
