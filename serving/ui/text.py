"""Text of models and users as HTML that is nothing but text.

Everything a tab shows goes through ``show`` or ``word``: markup is escaped, characters that are not seen or that turn
the direction of writing are written out, and what Gradio's own templates would act upon cannot be formed. Where the
answer stands is marked afterwards, by places in the text and not by a search in the result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from guerdon.rewards.types import Text, thaw

MOST = 120_000
"""Characters of one text that are shown; of a longer one the beginning, the end and what is marked."""

AROUND = 2_000
"""Characters on either side of a mark that lies in the part that is left out."""

# Controls, half surrogates, what turns the writing direction, and what has no width. Joiners and the marks that Arabic,
# Hebrew and emoji need (U+200C to U+200F, U+061C) turn nothing by themselves and stay.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")

# Handlebars and template strings, in which Gradio's HTML component speaks.
_TEMPLATE = str.maketrans({"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;"})

Span = tuple[int, int]


def plain(text: str) -> str:
    """Escaped text, on as many lines as it has."""
    escaped = escape(text.replace("\r\n", "\n"), quote=True).translate(_TEMPLATE)
    return _UNSEEN.sub(lambda found: f'<i class="unseen">U+{ord(found[0]):04X}</i>', escaped)


def word(value: Any, most: int = 200) -> str:
    """Anything on one line, cut at ``most`` characters."""
    text = " ".join(str(value).split())
    return plain(text if len(text) <= most else f"{text[: most - 1]}…")


def tail(value: Any, most: int) -> str:
    """The end of a text on one line: what a response answers stands there."""
    text = str(value)
    joined = " ".join(text[-4 * most :].split())
    return plain(joined if len(joined) <= most and len(text) <= 4 * most else f"…{joined[-(most - 1) :]}")


def show(text: str, span: Span | None = None, *, most: int = MOST) -> str:
    """A whole text, with what ``span`` holds marked. Each line finds its own direction of writing."""
    span = span if span is not None and 0 <= span[0] < span[1] <= len(text) else None
    parts: list[tuple[str, int]] = []
    for start, end in _shown(len(text), span, most):
        if start:
            before = start - (parts[-1][1] if parts else 0)
            parts.append((f'<span class="left-out">… {before:,} characters are not shown …</span>', start))
        parts.append((_marked(text, start, end, span), end))
    return f'<div class="text" dir="auto">{"".join(html for html, _ in parts)}</div>'


def _shown(length: int, span: Span | None, most: int) -> list[Span]:
    if length <= most:
        return [(0, length)]
    half = most // 2
    ranges = [(0, half), (length - half, length)]
    if span is not None:
        ranges.insert(1, (max(0, span[0] - AROUND), min(length, min(span[1], span[0] + most) + AROUND)))
    merged: list[Span] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _marked(text: str, start: int, end: int, span: Span | None) -> str:
    if span is None or span[1] <= start or span[0] >= end:
        return plain(text[start:end])
    a, b = max(start, span[0]), min(end, span[1])
    marked = f'<mark title="what was read as the answer">{plain(text[a:b])}</mark>'
    return f"{plain(text[start:a])}{marked}{plain(text[b:end])}"


def messages(text: Text, span: Span | None = None) -> str:
    """A prompt or a response: plain text, or messages one below the other. The span lies in the last one."""
    if isinstance(text, str):
        return show(text, span)
    shown = []
    for place, message in enumerate(text):
        content, rest = message.get("content"), {k: v for k, v in message.items() if k not in ("role", "content")}
        body = content if isinstance(content, str) else "" if content is None else as_json(content)
        extra = f'<pre class="facts">{plain(as_json(rest))}</pre>' if rest else ""
        own = span if place == len(text) - 1 else None
        shown.append(f'<div class="message"><b>{word(message.get("role", "?"))}</b>{show(body, own)}{extra}</div>')
    return "".join(shown)


def as_json(value: Any) -> str:
    """A value as indented JSON, unescaped."""
    import json

    return json.dumps(thaw(value), indent=1, ensure_ascii=False, default=str)


def number(value: float | None) -> str:
    """A value in as many digits as tell it apart; a dash for none."""
    if value is None:
        return "–"
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e6 else f"{value:.4g}"


def badge(status: str) -> str:
    """A status as a word with a sign, so that it is told apart without colour."""
    sign = {"ok": "●", "error": "▲", "timeout": "◷", "refused": "■"}.get(status, "○")
    return f'<span class="badge badge-{plain(status)}">{sign} {word(status, 40)}</span>'


def verdict(value: float | None, scale: str) -> str:
    """A value as it is shown in tables: a verdict has its sign, a score its number, no score a dash."""
    if scale == "verdict" and value in (0.0, 1.0):
        return '<span class="right">✓ 1</span>' if value else '<span class="wrong">✗ 0</span>'
    return f'<span class="value">{number(value)}</span>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], css: str = "") -> str:
    """A table of cells that are HTML already."""
    top = "".join(f"<th>{cell}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table class="{css}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def tiles(pairs: Sequence[tuple[str, str]]) -> str:
    """Figures with their names; both are HTML already."""
    shown = "".join(f'<div class="tile"><span>{name}</span><strong>{value}</strong></div>' for name, value in pairs)
    return f'<div class="tiles">{shown}</div>'


def facts(pairs: Mapping[str, Any]) -> str:
    """Names and values, one a line; values are any data."""
    rows = "".join(f"<div><dt>{word(key)}</dt><dd>{_fact(value)}</dd></div>" for key, value in pairs.items())
    return f'<dl class="facts">{rows}</dl>' if rows else ""


def _fact(value: Any) -> str:
    if isinstance(value, (Mapping, list, tuple)):
        text = as_json(value)
        return f'<pre dir="auto">{plain(text[:4_000])}</pre>'
    return f"<bdi>{word('–' if value is None else value, 1_000)}</bdi>"


def notice(title: str, body: str = "", *, kind: str = "empty") -> str:
    """A state in words. kind: ``empty``, ``error`` or ``good``. Both are plain text."""
    more = f"<p>{plain(body)}</p>" if body else ""
    role = ' role="alert"' if kind == "error" else ""
    return f'<div class="notice {kind}"{role}><b>{plain(title)}</b>{more}</div>'
