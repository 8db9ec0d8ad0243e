"""The Try it tab: type or paste, and see what everybody says of it."""

from __future__ import annotations

from typing import Any

import gradio as gr

from guerdon.calibration.normalisations import TRAINERS
from guerdon.rewards.errors import UsageError
from guerdon.serving.ui import trying
from guerdon.serving.ui.auditing import Design
from guerdon.serving.ui.shared import QUIET, Shared, said

EXAMPLE = (
    "There are 4 bags of 6 apples. Mia uses 5. How many apples are left?",
    "4 times 6 is 24, and 24 minus 5 is 19. The answer is \\boxed{19}.",
    "19",
)
GROUP = "So \\boxed{19}.\n---\nSo \\boxed{18}.\n---\nThat leaves 19 apples.\n---\nI would guess 20."
AUDITED = "those of the audit"
GIVEN = "these two"


def build(shared: Shared, tab: Any, root: Any) -> None:
    names = shared.bench.names()
    prompt = gr.Textbox(label="Prompt", value=EXAMPLE[0], lines=2, elem_id="try-prompt")
    with gr.Row():
        with gr.Column(scale=9, min_width=420):
            first = gr.Textbox(label="Response", value=EXAMPLE[1], lines=7, elem_id="try-first")
            second = gr.Textbox(label="Another response, to compare (optional)", lines=4, elem_id="try-second")
            reference = gr.Textbox(label="Reference", value=EXAMPLE[2], elem_id="try-reference")
            go = gr.Button("Ask everybody", variant="primary", size="sm", elem_id="try-go")
        with gr.Column(scale=13, min_width=480):
            found = gr.HTML("", elem_id="try-found")
    texts = [prompt, first, second, reference]
    go.click(lambda *given: judge(shared, *given), texts, found, **QUIET)
    tab.select(lambda *given: judge(shared, *given), texts, found, **QUIET)
    gr.HTML("<h4>A group: its ranking, and what a correction changes</h4>")
    with gr.Row():
        with gr.Column(scale=9, min_width=420):
            responses = gr.Textbox(label="Responses, with a line of --- between", value=GROUP, lines=9)
            default = "math" if "math" in names else (names[0] if names else None)
            who = gr.Dropdown(names, value=default, label="Scorer")
            with gr.Row(elem_classes="filters"):
                which = gr.Dropdown([GIVEN, AUDITED], value=GIVEN, label="Error rates", min_width=130)
                fp = gr.Number(label="False positives", value=0.05, minimum=0, maximum=1, step=0.01, min_width=90)
                fn = gr.Number(label="False negatives", value=0.2, minimum=0, maximum=1, step=0.01, min_width=90)
                stratum = gr.Textbox(label="Audited strata", placeholder="as in Audit", min_width=110)
                trainer = gr.Dropdown(list(TRAINERS), value="grpo", label="The trainer's normalisation", min_width=140)
            rank = gr.Button("Rank them", variant="primary", size="sm", elem_id="try-rank")
        with gr.Column(scale=13, min_width=480):
            ranked = gr.HTML("", elem_id="try-ranked")
    inputs = [who, prompt, responses, reference, which, fp, fn, stratum, trainer]
    rank.click(lambda *values: rank_group(shared, *values), inputs, ranked, **QUIET)


def judge(shared: Shared, prompt: str, first: str, second: str, reference: str) -> str:
    return said(trying.verdicts)(shared.bench, *(given or "" for given in (prompt, first, second, reference)))


def rank_group(
    shared: Shared,
    who: str,
    prompt: str,
    responses: str,
    reference: str,
    which: str,
    fp: float | None,
    fn: float | None,
    stratum: str,
    trainer: str,
) -> str:
    """which: whether the error rates are those two, or what the labels of this store say of the scorer."""

    def ranked() -> str:
        rates = None
        if which == AUDITED:
            if shared.desk is None:
                raise UsageError("nothing was audited here")
            rates = shared.desk.audit(shared.desk.study(Design(who, (stratum or "").strip()))).rates
        return trying.group(shared.bench, who, prompt or "", responses or "", reference or "", fp, fn, rates, trainer)

    return said(ranked)()
