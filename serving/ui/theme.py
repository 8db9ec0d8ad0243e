"""How the page looks: Gradio's base theme in the colours of guerdon's reports, with the fonts that a machine has."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import gradio as gr

SYSTEM = ("system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Liberation Sans", "sans-serif")
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "Liberation Mono", "monospace")


def theme() -> Any:
    """No font is loaded from anywhere: names are looked for on the reader's machine."""
    blue = gr.themes.Color(
        "#eef3f8", "#dbe7f2", "#b9d1e7", "#8fb5d8", "#5f93c3", "#3b77ad", "#1f5f99", "#1a4f80", "#173f66", "#12304d",
        "#0c2035",
    )  # fmt: skip
    base = gr.themes.Base(primary_hue=blue, neutral_hue="gray", radius_size="sm", font=SYSTEM, font_mono=MONO)
    return base.set(
        body_background_fill="#f6f6f4",
        body_background_fill_dark="#131517",
        block_background_fill="#ffffff",
        block_background_fill_dark="#1b1e22",
        body_text_color="#1c1f23",
        body_text_color_dark="#e5e7ea",
        block_border_color="#dcdfe2",
        block_border_color_dark="#33383e",
        block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent",
        block_label_border_width="0px",
        block_shadow="none",
        input_background_fill="#fbfbfa",
        input_background_fill_dark="#15181b",
        button_primary_background_fill="#1f5f99",
        button_primary_background_fill_hover="#1a4f80",
        button_primary_background_fill_dark="#2d6ea8",
        button_primary_background_fill_hover_dark="#3b7db8",
        button_primary_text_color="#ffffff",
    )


def css() -> str:
    """The page's own rules, and those of the plots, which are the reports'."""
    return files("guerdon.serving.ui").joinpath("ui.css").read_text(encoding="utf-8")


def script() -> str:
    """Run once when the page is there: keys of the Audit tab, rows that open with Enter."""
    return files("guerdon.serving.ui").joinpath("ui.js").read_text(encoding="utf-8")
