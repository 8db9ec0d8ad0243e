"""The Health tab: looked at again every few seconds while it is open."""

from __future__ import annotations

from typing import Any

import gradio as gr

from guerdon.serving.ui import health
from guerdon.serving.ui.shared import QUIET, Shared, said

SECONDS = 3.0


def build(shared: Shared, tab: Any, root: Any) -> None:
    before = gr.State(None)
    shown = gr.HTML("", elem_id="health")
    timer = gr.Timer(SECONDS, active=False)

    def look(pulse: Any) -> tuple[Any, str]:
        return look_again(shared, pulse)

    timer.tick(look, before, [before, shown], **QUIET)
    tab.select(look, before, [before, shown], **QUIET).then(lambda: gr.Timer(active=True), None, timer, **QUIET)


def look_again(shared: Shared, before: health.Pulse | None) -> tuple[health.Pulse | None, str]:
    """The counters now, and the page of what they did since ``before``."""
    now = None if shared.metrics is None else health.Pulse.take(shared.metrics)
    return now, said(health.page)(shared.source, now, before)
