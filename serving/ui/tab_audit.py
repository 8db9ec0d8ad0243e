"""The Audit tab: a sample, one keystroke, the next one; beside it what all labels say so far."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import gradio as gr

from guerdon.rewards.errors import GuerdonError, UsageError
from guerdon.serving.ui import rates, text
from guerdon.serving.ui.auditing import BUDGET, QUEUES, Design, Desk, Queue, Study
from guerdon.serving.ui.detail import sample_text
from guerdon.serving.ui.shared import QUIET, Shared
from guerdon.serving.ui.table import between

logger = logging.getLogger("guerdon.serving")

KEYS = (
    "<div class='asked'><span><kbd>y</kbd> right</span><span><kbd>n</kbd> wrong</span><span><kbd>s</kbd> skip</span>"
    "<span><kbd>u</kbd> undo</span><span>{progress}</span></div>"
)
START = text.notice(
    "Which verifier is wrong how often?",
    "Choose a scorer, say who you are, and begin. The design draws the samples that tell most; you judge each without "
    "seeing the verdict: y is right, n is wrong.",
)
LONGEST_NAME = 60


def build(shared: Shared, tab: Any, root: Any) -> None:
    desk = shared.desk
    scorers = list(shared.source.scorers())
    with gr.Row(elem_classes="filters"):
        auditor = gr.Textbox(label="Auditor (you)", min_width=120, elem_id="auditor")
        scorer = gr.Dropdown(
            scorers, value=scorers[0] if scorers else None, label="Scorer", min_width=120, elem_id="audit-scorer"
        )
        stratum = gr.Textbox(label="Strata", placeholder="meta:source+kind", min_width=200, elem_id="stratum")
        threshold = gr.Textbox(label="Yes from", placeholder="0.5", min_width=110)
        budget = gr.Number(label="Labels to ask for", value=BUDGET, precision=0, minimum=1, min_width=110)
        queue = gr.Dropdown(list(QUEUES), value=QUEUES[0], label="Look at", min_width=130)
        begin = gr.Button("Begin", variant="primary", size="sm", min_width=90, elem_id="audit-begin")
    design: list[Any] = [auditor, scorer, stratum, threshold, budget, queue]
    shown = gr.Textbox(visible="hidden", elem_id="audit-shown", label="shown")
    with gr.Row():
        with gr.Column(scale=11, min_width=520, elem_classes="audit"):
            with gr.Row(elem_classes="filters"):
                yes = gr.Button("Right (y)", size="sm", min_width=80, elem_id="audit-y", interactive=False)
                no = gr.Button("Wrong (n)", size="sm", min_width=80, elem_id="audit-n", interactive=False)
                skip = gr.Button("Skip (s)", size="sm", min_width=80, elem_id="audit-s", interactive=False)
                undo = gr.Button("Undo (u)", size="sm", min_width=80, elem_id="audit-u", interactive=False)
            sample = gr.HTML(START, elem_id="audit-sample")
        with gr.Column(scale=9, min_width=440):
            found = gr.HTML("", elem_id="audit-rates")
            with gr.Row(elem_classes="filters"):
                export = gr.Button("Export rates", size="sm", min_width=110, elem_id="audit-export")
                download = gr.DownloadButton(
                    "Download rates.json", size="sm", min_width=110, visible=False, elem_id="audit-download"
                )
            exported = gr.HTML("", elem_id="audit-exported")

    buttons = [yes, no, skip, undo]

    def ready(html: str) -> list[Any]:
        return [gr.update(interactive="data-id" in html) for _ in buttons[:3]] + [gr.update(interactive=True)]

    def start(*values: Any) -> Any:
        name, html = begin_audit(desk, *values)
        return name, html, *ready(html)

    def press(action: str) -> Any:
        def pressed(name: str, *values: Any) -> Any:
            name, html = act(desk, action, name, *values)
            return name, html, *ready(html)

        return pressed

    outputs = [shown, sample, *buttons]
    live: Any = lambda *values: show_rates(desk, *values)  # noqa: E731 (handed over twice)
    begin.click(start, design, outputs, **QUIET).then(live, design, found, **QUIET)
    for button, action in ((yes, "y"), (no, "n"), (skip, "s"), (undo, "u")):
        event = button.click(press(action), [shown, *design], outputs, **QUIET)
        event.then(live, design, found, trigger_mode="always_last", **QUIET)

    def exporting(*values: Any) -> Any:
        html, path = export_rates(desk, *values)
        return html, gr.update(visible=path is not None, value=None if path is None else str(Path(path).absolute()))

    export.click(exporting, design, [exported, download], **QUIET)
    tab.select(lambda: gr.update(choices=list(shared.source.scorers())), None, scorer, **QUIET)


def begin_audit(desk: Desk | None, auditor: str, *design: Any) -> tuple[str, str]:
    """The name of the sample to look at and its HTML; draws new samples by what is labelled so far."""
    return _guarded(lambda: _next(*_study(desk, auditor, *design, again=True)))


def act(desk: Desk | None, action: str, name: str, auditor: str, *design: Any) -> tuple[str, str]:
    """What a key does to the sample ``name``, which the auditor saw; then the next one."""

    def done() -> tuple[str, str]:
        at, study, who, queue = _study(desk, auditor, *design)
        if action == "u":
            back = at.undo(study, who)
            return _next(at, study, who, queue) if back is None else (back, _show(at, study, who, back))
        taken = at.skip(study, who, name) if action == "s" else at.label(study, who, name, action == "y")
        showing = study.showing.get(who)
        if not taken and showing is not None:  # pressed twice: the sample that is shown stays
            return showing, _show(at, study, who, showing)
        return _next(at, study, who, queue)

    return _guarded(done)


def show_rates(desk: Desk | None, auditor: str, *design: Any) -> str:
    """What all labels say of the design's scorer."""

    def found() -> tuple[str, str]:
        at, study, *_ = _study(desk, auditor, *design)
        return "", rates.rates(at, study)

    return _guarded(found)[1]


def export_rates(desk: Desk | None, auditor: str, *design: Any) -> tuple[str, str | None]:
    """Write rates.json; a notice that says how to serve it, and where it is."""
    path: str | None = None

    def written() -> tuple[str, str]:
        nonlocal path
        at, study, *_ = _study(desk, auditor, *design)
        file, useless = at.export(study)
        path = str(file)
        name, spec = study.design.scorer, at.spec_of(study.design.scorer)
        line = f"Serve the corrected verifier: guerdon serve --scorer {name}={spec}@{path}"
        if useless:
            line = f"Too little is known to correct a verdict by it: {useless}. Label more, then export again."
        return "", text.notice(f"Written to {path}", line, kind="empty" if useless else "good")

    return _guarded(written)[1], path


def _study(
    desk: Desk | None,
    auditor: str,
    scorer: str | None,
    stratum: str,
    threshold: str | None,
    budget: float | None,
    queue: Queue,
    *,
    again: bool = False,
) -> tuple[Desk, Study, str, Queue]:
    if desk is None or desk.source.store is None:
        raise UsageError("nothing is stored here that could be audited; serve with --store scores.db --store-text")
    who = " ".join(str(auditor or "").split())[:LONGEST_NAME]
    if not who:
        raise UsageError("say who you are (Auditor): labels of several people are told apart by it")
    if not scorer:
        raise UsageError("choose the scorer to audit")
    design = Design(scorer, (stratum or "").strip(), between(threshold, "Yes from")[0], int(budget or BUDGET))
    return desk, desk.study(design, again=again), who, queue


def _next(desk: Desk, study: Study, who: str, queue: Queue) -> tuple[str, str]:
    name = desk.next(study, who, queue)
    if name is not None:
        return name, _show(desk, study, who, name)
    words = {
        "new samples": "All samples of this draw have a label or were skipped. Begin draws more, by what is known.",
        "second opinions": "There is nothing that others labelled and you did not.",
        "disputed": "No two auditors differ about a sample.",
    }[queue]
    return "", text.notice("Done.", " ".join([words, *study.notes]), kind="good")


def _show(desk: Desk, study: Study, who: str, name: str) -> str:
    done, total = desk.progress(study)
    row = desk.row(study, name)
    said = desk.labels.by.get(name, {})
    others = ""
    if len(set(said.values())) > 1:  # a dispute is settled by who knows what it is about
        told = "; ".join(f"{other}: {'right' if right else 'wrong'}" for other, right in said.items())
        others = f"<p class='sentence'>Auditors differ. {text.word(told, 300)}</p>"
    bar = KEYS.format(progress=f"{done:,} of {total:,} labelled, {text.word(who, 40)}")
    body = sample_text(row, [row], marked=False)
    return f'<div data-id="{text.word(name, 100)}">{bar}{others}{body}</div>'


def _guarded(handler: Any) -> tuple[str, str]:
    try:
        found: tuple[str, str] = handler()
        return found
    except GuerdonError as error:
        return "", text.notice("That does not work.", str(error), kind="error")
    except Exception:
        logger.exception("a handler of the Audit tab failed")
        return "", text.notice("The server made a mistake.", "Its log says which.", kind="error")
