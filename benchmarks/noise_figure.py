"""The figure of the noise study as SVG: a panel a trainer, a line an arm, told apart by dash and mark beside colour."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

PANEL, HEIGHT, GAP, LEFT, TOP = 300, 250, 34, 58, 44
LEGEND_ROW, BOTTOM = 22, 62
# Okabe and Ito's palette, which most colour-blind readers can tell apart; dash and mark say the same again.
STYLES = (
    ("#000000", "2 3", "none"),
    ("#0072B2", "", "circle"),
    ("#009E73", "9 4", "square"),
    ("#CC79A7", "9 3 2 3", "diamond"),
    ("#56B4E9", "5 3", "triangle"),
    ("#E69F00", "1 3", "plus"),
    ("#D55E00", "12 3 2 3 2 3", "cross"),
    ("#555555", "", "ring"),
)


@dataclass(frozen=True)
class Curve:
    """A line with its band. steps, mean, low, high: one each mark."""

    name: str
    steps: Sequence[int]
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray


def figure(panels: Mapping[str, Sequence[Curve]]) -> str:
    """The whole SVG. panels: title -> curves, the same names in each."""
    names = [curve.name for curve in next(iter(panels.values()))]
    columns = 3
    rows = math.ceil(len(names) / columns)
    width = LEFT + len(panels) * PANEL + (len(panels) - 1) * GAP + 16
    height = TOP + HEIGHT + BOTTOM + rows * LEGEND_ROW + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222">',
        "<title>True accuracy against training steps under each reward, for three trainers</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for column, (title, curves) in enumerate(panels.items()):
        parts += _panel(LEFT + column * (PANEL + GAP), title, curves, first=column == 0)
    for place, name in enumerate(names):
        x = LEFT + (place % columns) * (width - LEFT) / columns
        y = TOP + HEIGHT + BOTTOM + (place // columns) * LEGEND_ROW
        parts += [*_line([(x, y), (x + 46, y)], place), _mark(x + 23, y, place)]
        parts.append(f'<text x="{x + 54:.1f}" y="{y + 4.5:.1f}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(left: float, title: str, curves: Sequence[Curve], *, first: bool) -> list[str]:
    steps = curves[0].steps
    low, high = math.log10(steps[1]), math.log10(steps[-1])

    def x(step: float) -> float:  # a logarithmic axis; step 0 stands a little left of the first mark
        return left + 14 + (math.log10(step) - low) / (high - low) * (PANEL - 14) if step else left

    def y(value: float) -> float:
        return TOP + (1 - value) * HEIGHT

    parts = [
        f'<text x="{left + PANEL / 2:.1f}" y="{TOP - 16}" text-anchor="middle" font-size="15" font-weight="bold">'
        f"{escape(title)}</text>"
    ]
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<line x1="{left}" x2="{left + PANEL}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>')
        if first:
            parts.append(f'<text x="{left - 8}" y="{y(value) + 4.5:.1f}" text-anchor="end">{value:g}</text>')
    for step in [
        0,
        *(10**power * lead for power in range(5) for lead in (1, 3) if steps[1] <= 10**power * lead <= steps[-1]),
    ]:
        parts.append(f'<line x1="{x(step):.1f}" x2="{x(step):.1f}" y1="{y(0):.1f}" y2="{y(0) + 5:.1f}" stroke="#888"/>')
        parts.append(f'<text x="{x(step):.1f}" y="{y(0) + 20:.1f}" text-anchor="middle">{step}</text>')
    parts.append(f'<text x="{left + PANEL / 2:.1f}" y="{y(0) + 38:.1f}" text-anchor="middle">steps (log scale)</text>')
    if first:
        turn = f"translate(16 {TOP + HEIGHT / 2:.1f}) rotate(-90)"
        parts.append(f'<text transform="{turn}" text-anchor="middle">true accuracy</text>')
    for place, curve in enumerate(curves):
        edge = [(x(s), y(v)) for s, v in zip(curve.steps, curve.high, strict=True)]
        edge += [(x(s), y(v)) for s, v in zip(curve.steps[::-1], curve.low[::-1], strict=True)]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in edge)
        parts.append(f'<polygon points="{points}" fill="{STYLES[place][0]}" opacity="0.12"/>')
    for place, curve in enumerate(curves):
        points = [(x(s), y(v)) for s, v in zip(curve.steps, curve.mean, strict=True)]
        parts += _line(points, place)
        # every line has its marks elsewhere, so that lines that lie on one another are all seen
        parts += [_mark(*point, place) for point in points[2 + place % 6 :: 6]]
    return parts


def _line(points: Sequence[tuple[float, float]], place: int) -> list[str]:
    colour, dash, _ = STYLES[place]
    text = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    return [f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>']


def _mark(x: float, y: float, place: int) -> str:
    colour, _, shape = STYLES[place]
    if shape == "none":
        return ""
    if shape in ("circle", "ring"):
        fill = colour if shape == "circle" else "#fff"
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{fill}" stroke="{colour}" stroke-width="2"/>'
    if shape in ("plus", "cross"):
        turn = f' transform="rotate(45 {x:.1f} {y:.1f})"' if shape == "cross" else ""
        path = f"M{x - 6:.1f} {y:.1f}H{x + 6:.1f}M{x:.1f} {y - 6:.1f}V{y + 6:.1f}"
        return f'<path d="{path}" stroke="{colour}" stroke-width="2.5" fill="none"{turn}/>'
    corners = {
        "square": [(-4.5, -4.5), (4.5, -4.5), (4.5, 4.5), (-4.5, 4.5)],
        "diamond": [(0, -6.5), (6.5, 0), (0, 6.5), (-6.5, 0)],
        "triangle": [(0, -6), (6, 5), (-6, 5)],
    }[shape]
    points = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners)
    return f'<polygon points="{points}" fill="{colour}"/>'
