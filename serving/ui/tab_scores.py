"""The Scores tab: filters, a page of the table, and the sample that is open."""

from __future__ import annotations

from typing import Any, get_args

import gradio as gr

from guerdon.rewards.errors import GuerdonError
from guerdon.rewards.types import STATUSES
from guerdon.serving.store import Order
from guerdon.serving.ui import detail, table, text
from guerdon.serving.ui.shared import QUIET, Shared, said

# Sends the number of the row that was clicked, and marks the row; no text of a model is touched.
ROWS = """
element.addEventListener('click', (event) => {
  const row = event.target.closest('tr[data-row]');
  if (!row) return;
  element.querySelectorAll('tr.opened').forEach((other) => other.classList.remove('opened'));
  row.classList.add('opened');
  trigger('click', {row: Number(row.dataset.row)});
});
"""

# A long response is scrolled to the answer that was found in it.
ANSWER = """
const find = () => element.querySelectorAll('.box').forEach((box) => {
  const mark = box.querySelector('mark');
  if (mark) box.scrollTop = mark.getBoundingClientRect().top - box.getBoundingClientRect().top + box.scrollTop
    - box.clientHeight / 2;
});
watch('value', find);
"""


def build(shared: Shared, tab: Any, root: Any) -> None:
    source = shared.source
    scorers = list(source.scorers())
    with gr.Row(elem_classes="filters"):
        scorer = gr.Dropdown([table.ANY, *scorers], value=table.ANY, label="Scorer", min_width=100, elem_id="f-scorer")
        status = gr.Dropdown([table.ANY, *STATUSES], value=table.ANY, label="Status", min_width=100, elem_id="f-status")
        version = gr.Dropdown([table.ANY, *_versions(shared)], value=table.ANY, label="Version", min_width=100)
        group = gr.Textbox(label="Group", min_width=80, elem_id="f-group")
        name = gr.Textbox(label="Sample", min_width=80, elem_id="f-name")
        steps = gr.Textbox(label="Steps", placeholder="10..50", min_width=80, elem_id="f-steps")
        values = gr.Textbox(label="Values", placeholder="..0.5", min_width=80, elem_id="f-values")
        other = gr.Dropdown(
            [table.ANY, *scorers], value=table.ANY, label="Disagrees with", min_width=100, elem_id="f-disagrees"
        )
        yes = gr.Textbox(label="Yes from", placeholder="0.5, 0", min_width=80)
        order = gr.Dropdown(list(get_args(Order)), value="newest", label="Order", min_width=100, elem_id="f-order")
    filters: list[Any] = [scorer, status, version, group, name, steps, values, other, yes, order]
    place = gr.State(0)
    with gr.Row():
        with gr.Column(scale=11, min_width=520):
            with gr.Row(elem_classes="filters"):
                back = gr.Button("← Back", size="sm", min_width=80)
                shown = gr.HTML("", elem_id="place")
                on = gr.Button("On →", size="sm", min_width=80)
                refresh = gr.Button("Refresh", size="sm", min_width=80)
            rows = gr.HTML("", js_on_load=ROWS, elem_id="scores")
        with gr.Column(scale=9, min_width=440):
            opened = gr.State(None)
            sample = gr.HTML(detail.NOTHING, js_on_load=ANSWER, elem_id="sample")
            with gr.Row(elem_classes="filters"):
                names = shared.bench.names()
                again = gr.Dropdown(names, value=names[0] if names else None, label="Score again with", min_width=140)
                go = gr.Button("Score now", size="sm", min_width=90, elem_id="score-again")
            fresh = gr.HTML("", elem_id="fresh")

    def page(number: int, *values: Any) -> tuple[int, str, str]:
        return open_page(shared, number, *values)

    outputs = [place, shown, rows]
    gr.on([each.change for each in filters], lambda *v: page(0, *v), filters, outputs, **QUIET)
    back.click(lambda number, *v: page(number - 1, *v), [place, *filters], outputs, **QUIET)
    on.click(lambda number, *v: page(number + 1, *v), [place, *filters], outputs, **QUIET)
    again_from_store = refresh.click(lambda: _choices(shared), None, [scorer, version, other], **QUIET)
    again_from_store.then(page, [place, *filters], outputs, **QUIET)
    root.load(page, [place, *filters], outputs, **QUIET)

    def open_row(event: gr.EventData) -> tuple[int, str, str]:
        number = int(event.row)
        return number, open_sample(shared, number), ""

    rows.click(open_row, None, [opened, sample, fresh], **QUIET)
    go.click(lambda number, who: score_again(shared, number, who), [opened, again], fresh, **QUIET)
    # The same for programs.

    def scores(scorer: str, status: str, number: int) -> dict[str, Any]:
        return list_page(shared, scorer, status, number)

    def sample_of(number: int) -> str:
        return open_sample(shared, number)

    gr.events.api(scores, api_name="scores")
    gr.events.api(sample_of, api_name="sample")


def open_page(shared: Shared, number: int, *values: Any) -> tuple[int, str, str]:
    """The page's number, where it lies, and its rows; values: the fields of ``table.Asked`` in order."""
    try:
        found, rows = table.page(shared.source, table.Asked(*values), number)
    except GuerdonError as error:
        return (
            0,
            "",
            text.notice("No scores to show.", str(error), kind="empty" if not shared.source.store else "error"),
        )
    return found.first // 50, f'<div class="place">{table.place(found)}</div>', rows


def open_sample(shared: Shared, number: int) -> str:
    return said(detail.detail)(shared.source, number)


def score_again(shared: Shared, number: int | None, who: str | None) -> str:
    """What a scorer says of the open sample now, beside what is stored of it."""
    return said(_again)(shared, number, who)


def _again(shared: Shared, number: int | None, who: str | None) -> str:
    if number is None or not who:
        return text.notice("Nothing to score.", "Open a sample first, and choose who shall score it.")
    row = shared.source.row(number)
    sample = row.sample()
    (score,) = shared.bench.score(who, [sample])
    voice = next(voice for voice in shared.bench.voices() if voice.name == who)
    cells = [detail.cells_of_score(f"{who}, now", score, voice.scale, voice.version)]
    stored = next((each for each in shared.source.siblings(row) if each.scorer == who), None)
    if stored is None:
        words = "Nothing of this scorer is stored for this sample."
    elif (stored.value, stored.status) == (score.value, score.status):
        words = f"The same as what is stored ({text.number(stored.value)}, {stored.status})."
    else:
        other = "" if stored.version == voice.version else f" by version {stored.version}"
        words = f"Stored is {text.number(stored.value)} ({stored.status}){other}: another result."
    read = shared.bench.explain(who, sample)
    return f"{detail.signals(cells)}<p class='sentence'>{text.plain(words)}</p>{text.facts(read)}"


def _versions(shared: Shared) -> list[str]:
    return list(dict.fromkeys(version.version for version in shared.source.versions() if version.version))


def _choices(shared: Shared) -> tuple[Any, Any, Any]:
    names = [table.ANY, *shared.source.scorers()]
    return gr.update(choices=names), gr.update(choices=[table.ANY, *_versions(shared)]), gr.update(choices=names)


def list_page(shared: Shared, scorer: str, status: str, number: int) -> dict[str, Any]:
    """A page of scores for programs: the endpoint ``/scores``."""
    found = shared.source.page(table.Asked(scorer=scorer, status=status).filter(shared.source), number=number)
    rows = [
        {"id": row.id, "sample": row.name, "scorer": row.scorer, "value": row.value, "status": row.status}
        for row in found.rows
    ]
    return {"total": found.total, "first": found.first, "rows": rows}
