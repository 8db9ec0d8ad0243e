"""A frame with axes that marks are added to, written as SVG text: all that the page's plots need of a plotting library.

Colours, dashes and fills are CSS classes of the page (report.css), so that plots follow its light and dark form. Every
text is cleaned and escaped here. Sizes are in SVG units; the page scales a plot to its column.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from guerdon.rewards.evaluation.report_tables import clean

WIDTH, HEIGHT = 520, 320
LEFT, RIGHT, TOP, BOTTOM = 48, 16, 14, 44


def element(tag: str, css: str, title: str = "", text: str = "", **attributes: float | str) -> str:
    """One SVG element; numbers get one digit, an underscore in a name is a hyphen, ``title`` is its tooltip."""
    written = "".join(
        f' {name.replace("_", "-")}="{value if isinstance(value, str) else format(value, ".1f")}"'
        for name, value in attributes.items()
    )
    hint = f"<title>{escape(clean(title))}</title>" if title else ""
    return f'<{tag} class="{css}"{written}>{hint}{escape(clean(text))}</{tag}>'


class Plot:
    """Linear axes over a frame. Methods take values of the axes, except where they say units."""

    def __init__(
        self, x: tuple[float, float], y: tuple[float, float], *, left: int = LEFT, height: int = HEIGHT
    ) -> None:
        self.x_range, self.y_range = x, y
        self.left, self.height = left, height
        self.parts: list[str] = []

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (WIDTH - self.left - RIGHT)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.height - BOTTOM - (value - low) / (high - low) * (self.height - TOP - BOTTOM)

    def line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        self.unit_line(self.x(x1), self.y(y1), self.x(x2), self.y(y2), css)

    def unit_line(self, x1: float, y1: float, x2: float, y2: float, css: str) -> None:
        """A line between places in units."""
        self.parts.append(element("line", css, x1=x1, y1=y1, x2=x2, y2=y2))

    def text(self, x: float, y: float, text: str, css: str = "tick", anchor: str = "middle", title: str = "") -> None:
        """Text at a place in units."""
        self.parts.append(element("text", css, title, text, x=x, y=y, text_anchor=anchor))

    def path(self, points: Sequence[tuple[float, float]], css: str, title: str) -> None:
        steps = " L".join(f"{self.x(a):.1f} {self.y(b):.1f}" for a, b in points)
        self.parts.append(element("path", css, title, d=f"M{steps}"))

    def mark(self, shape: str, x: float, y: float, css: str, title: str, size: float = 4.5) -> None:
        """A circle, square or diamond at a place in units."""
        if shape == "circle":
            self.parts.append(element("circle", css, title, cx=x, cy=y, r=size))
            return
        side = size * 1.7
        place: dict[str, Any] = {"x": x - side / 2, "y": y - side / 2, "width": side, "height": side}
        if shape == "diamond":
            place["transform"] = f"rotate(45 {x:.1f} {y:.1f})"
        self.parts.append(element("rect", css, title, **place))

    def bar(self, x1: float, x2: float, y1: float, y2: float, css: str, title: str) -> None:
        width, height = max(self.x(x2) - self.x(x1) - 1, 0.5), abs(self.y(y1) - self.y(y2))
        top = min(self.y(y1), self.y(y2))
        self.parts.append(element("rect", css, title, x=self.x(x1), y=top, width=width, height=height))

    def grid(self, xs: Sequence[float], ys: Sequence[float], digits: int = 1) -> None:
        """Ticks on both axes, and a line across for each of y."""
        for value in ys:
            self.line(self.x_range[0], value, self.x_range[1], value, "grid")
            self.text(self.left - 6, self.y(value) + 4, f"{value:.{digits}f}", anchor="end")
        for value in xs:
            self.tick(value, f"{value:.{digits}f}")

    def tick(self, x: float, text: str) -> None:
        self.text(self.x(x), self.height - BOTTOM + 16, text)

    def names(self, x: str, y: str = "") -> None:
        """The names of the axes."""
        self.text((self.left + WIDTH - RIGHT) / 2, self.height - 8, x, "axis")
        turn = f"translate(12 {(TOP + self.height - BOTTOM) / 2:.1f}) rotate(-90)"
        self.parts.append(element("text", "axis", "", y, text_anchor="middle", transform=turn))

    def svg(self, label: str) -> str:
        """The whole plot. label: what it shows, for those who do not see it."""
        return (
            f'<svg viewBox="0 0 {WIDTH} {self.height}" role="img" aria-label="{escape(clean(label), quote=True)}">'
            f"{''.join(self.parts)}</svg>"
        )


def round_step(size: float) -> float:
    """A round distance between ticks (1, 2 or 5 times a power of ten), at least ``size``."""
    power = 10.0 ** math.floor(math.log10(size))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= size * (1 - 1e-9))


def digits_of(step: float) -> int:
    """Digits after the point that ticks of this distance need."""
    return max(0, -math.floor(math.log10(step)))


def shorten(text: str, most: int = 20) -> str:
    """The end of a text that is too long for its place: paths and categories differ at their ends."""
    text = clean(text)
    return text if len(text) <= most else "…" + text[-(most - 1) :]
