"""A plot of the evaluation's page as an SVG file of its own."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from guerdon.rewards.evaluation.probabilities import Bin
from guerdon.rewards.evaluation.report_charts import reliability


def reliability_plot(forms: Sequence[tuple[str, Sequence[Bin]]]) -> str:
    """Observed against claimed probability with Wilson intervals, as the text of an SVG file.

    forms: at most three names with their bins (``choice.Quality.table``); the dashed line is perfect.
    """
    return standalone(reliability(forms))


def standalone(svg: str) -> str:
    """The SVG of a page's plot with the page's style inside, in the light or dark form of whoever looks at it."""
    css = files("guerdon.rewards.evaluation").joinpath("report.css").read_text(encoding="utf-8")
    inside = f"<style>{css} svg {{ background: var(--page); }}</style>"
    head, end, body = svg.partition(">")
    named = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    return f"{named}{end}{inside}{body}\n"
