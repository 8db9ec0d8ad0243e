"""The page with its tabs, and how it is mounted on the server. The only way from outside into Gradio."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Before Gradio is imported: it reads them once, and would ask its makers for news.
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

from guerdon.rewards.errors import MissingExtraError

try:
    import gradio as gr
    import numpy  # noqa: F401
    import scipy  # noqa: F401
except ImportError as error:
    raise MissingExtraError("the UI", "ui") from error

from guerdon.serving.front import UI
from guerdon.serving.store import Store
from guerdon.serving.ui import tab_audit, tab_health, tab_model, tab_scores, tab_try, text, theme
from guerdon.serving.ui.auditing import Desk
from guerdon.serving.ui.bench import Bench
from guerdon.serving.ui.gate import Gate
from guerdon.serving.ui.shared import Shared
from guerdon.serving.ui.source import Source

# Gradio's own use of pandas is for its makers to mend; it would fill the server's log.
warnings.filterwarnings("ignore", module=r"gradio\.")

if TYPE_CHECKING:
    from fastapi import FastAPI

    from guerdon.serving.config import ServeConfig
    from guerdon.serving.engine import Engine
    from guerdon.serving.metrics import Metrics

PATH = UI
AT_ONCE = 16
"""Handlers of one kind that run at once: they wait for a database or a scorer more than they compute."""


def blocks(shared: Shared) -> Any:
    """The page, not yet mounted."""
    with gr.Blocks(title="guerdon", analytics_enabled=False) as page:
        gr.HTML(f'<div class="masthead"><b>guerdon</b><span>{text.word(shared.source.name, 200)}</span></div>')
        with gr.Tabs(elem_id="tabs"):
            for name, tab in (
                ("Scores", tab_scores),
                ("Try it", tab_try),
                ("Audit", tab_audit),
                ("Model", tab_model),
                ("Health", tab_health),
            ):
                with gr.Tab(name, id=name.lower().replace(" ", "-")) as opened:
                    tab.build(shared, opened, page)
    page.queue(default_concurrency_limit=AT_ONCE)
    return page


def mount(app: FastAPI, config: ServeConfig, engine: Engine, metrics: Metrics) -> None:
    """Put the page at ``/ui`` of an app that has not started, behind the tokens of its API."""
    tokens = [tenant.token for tenant in config.tenants.values()]
    tokens += [] if config.token is None else [config.token]
    found = shared(config, Bench(engine, lambda: getattr(app.state, "loop", None)), metrics)
    gr.mount_gradio_app(
        app,
        blocks(found),
        allowed_paths=[] if found.desk is None else [str(found.desk.rates_file.absolute())],
        path=PATH,
        footer_links=[],
        run_history=False,
        ssr_mode=False,
        enable_monitoring=False,
        mcp_server=False,
        pwa=False,
        show_error=False,  # a traceback is for the log; handlers say what went wrong
        theme=theme.theme(),
        css=theme.css(),
        js=theme.script(),
        head='<link rel="icon" href="data:,">',  # or browsers ask the API for one
    )
    mounted: Any = app.router.routes[-1]
    mounted.app = Gate(mounted.app, tokens, path=PATH, host=config.host)


def shared(config: ServeConfig, bench: Bench, metrics: Metrics | None) -> Shared:
    """What the tabs of a server of this configuration work on."""
    where = config.ui_store or config.store
    source = Source(None if where is None else Store.open(where), config.ui_name or "")
    return Shared(source, bench, Desk(source, labels_file(where, config.ui_labels)), metrics)


def labels_file(store: str | None, given: str | None) -> Path:
    """Where labels go: what was named, else beside the store."""
    if given is not None:
        return Path(given)
    return Path("labels.jsonl") if store is None or "://" in store else Path(f"{store}.labels.jsonl")
