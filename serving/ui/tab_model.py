"""The Model tab: what a scorer's scores are worth, measured on what is stored."""

from __future__ import annotations

from typing import Any

import gradio as gr

from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation.intervals import Estimate
from guerdon.rewards.evaluation.report_charts import reliability
from guerdon.rewards.evaluation.report_tables import or_reason
from guerdon.serving.ui import charts, quality, text
from guerdon.serving.ui.quality import Figures
from guerdon.serving.ui.shared import QUIET, Shared, said

NO_TRUTH = "none"
NO_SPLIT = "none"
START = text.notice("Choose a scorer and measure.", "A truth (labels, a column, another verifier) adds most figures.")


def build(shared: Shared, tab: Any, root: Any) -> None:
    scorers = list(shared.source.scorers())
    with gr.Row(elem_classes="filters"):
        scorer = gr.Dropdown(
            scorers, value=scorers[0] if scorers else None, label="Scorer", min_width=140, elem_id="model-scorer"
        )
        truth = gr.Dropdown([NO_TRUTH], value=NO_TRUTH, label="Truth", min_width=200, elem_id="model-truth")
        split = gr.Dropdown([NO_SPLIT], value=NO_SPLIT, label="Subsets by", min_width=160, elem_id="model-split")
        go = gr.Button("Measure", variant="primary", size="sm", min_width=100, elem_id="model-go")
    found = gr.HTML(START, elem_id="model-found")

    def choices(name: str | None) -> Any:
        truths, columns = choices_for(shared, name)
        best = truths[0] if truths else NO_TRUTH
        return gr.update(choices=[NO_TRUTH, *truths], value=best), gr.update(choices=[NO_SPLIT, *columns])

    def selected(name: str | None) -> Any:
        known = list(shared.source.scorers())
        name = name or (known[0] if known else None)
        return gr.update(choices=known, value=name), *choices(name)

    tab.select(selected, scorer, [scorer, truth, split], **QUIET)
    scorer.change(choices, scorer, [truth, split], **QUIET)
    go.click(
        lambda *values: page(shared, *values), [scorer, truth, split], found, show_progress="minimal",
        api_visibility="private",
    )  # fmt: skip


def choices_for(shared: Shared, scorer: str | None) -> tuple[list[str], list[str]]:
    """Truths that there are for a scorer, and columns to split by; nothing where nothing is stored."""
    if shared.source.store is None or not scorer:
        return [], []
    truths = quality.truths_there_are(shared.source, scorer, shared.desk)
    rows = shared.source.opened.rows(quality.of_scorer(scorer), limit=500)
    return truths, quality.columns_to_split_by(rows)


def page(shared: Shared, scorer: str | None, truth: str | None, split: str | None) -> str:
    return said(_page)(shared, scorer, truth, split)


def _page(shared: Shared, scorer: str | None, truth: str | None, split: str | None) -> str:
    if not scorer:
        raise UsageError("nothing is stored here; serve with --store scores.db, or name a file")
    figures = quality.measure(shared.source, scorer, None if truth == NO_TRUTH else truth, shared.desk)
    known = int(figures.known.sum())
    cards = [
        _reliability(figures),
        _spread(figures),
        *_length(figures),
        *_best_of(figures),
        _drift(figures),
        _subsets(figures, None if split == NO_SPLIT else split),
    ]
    lacking = ""
    if not known:
        lacking = text.notice(
            "No truth is known for these samples.",
            "Label some in the Audit tab, or choose a column or another verifier as the truth.",
        )
    return f'{charts.HATCH}{_tiles(figures)}{lacking}<div class="cards">{"".join(cards)}</div>'


def _tiles(figures: Figures) -> str:
    n, known = len(figures.values), int(figures.known.sum())
    unscored = int((figures.values != figures.values).sum())
    right = quality.right_scores(figures)
    accuracy = quality.share_of(right, figures.clusters)
    left = figures.pool.left_out
    tiles = [
        ("scores", f"{n:,}" + (f"<small>newest of {n + left:,}</small>" if left else "")),
        ("unscored", f"{unscored:,}"),
        ("with a known truth", f"{known:,}"),
        ("accuracy", _figure(accuracy)),
        ("AUC", _figure(quality.auc(figures))),
    ]  # fmt: skip
    return text.tiles(tiles)


def _figure(figure: Estimate) -> str:
    if figure.value is None:
        return f'<span title="{text.word(or_reason(figure), 200)}">–</span>'
    between = (
        ""
        if figure.low is None or figure.high is None
        else f"{max(0.0, figure.low):.3f} to {min(1.0, figure.high):.3f}"
    )
    return f"{figure.value:.3f}<small>{between}</small>"


def _card(title: str, svg: str, words: str) -> str:
    return f'<figure class="card plot"><h4>{title}</h4>{svg}<figcaption>{text.plain(words)}</figcaption></figure>'


def _none(title: str, why: str) -> str:
    return f'<figure class="card"><h4>{title}</h4><figcaption>{text.plain(why)}</figcaption></figure>'


def _reliability(figures: Figures) -> str:
    title = "Reliability"
    if figures.pool.scale != "probability":
        return _none(
            title, f"A scorer of scale {figures.pool.scale} claims no probability; guerdon calibrate makes one."
        )
    bins = quality.reliability(figures)
    if bins is None:
        return _none(title, "No right and wrong responses are known.")
    return _card(
        title, reliability([(figures.pool.scorer, bins)]), "Wilson intervals, bins of equal size; dashed is perfect."
    )


def _spread(figures: Figures) -> str:
    found = quality.spread(figures)
    if found is None:
        return _none("Scores by correctness", "No right and wrong responses are known.")
    words = "Filled, upwards: right. Hatched, downwards: wrong."
    return _card("Scores by correctness", charts.spread(*found), words)


def _length(figures: Figures) -> list[str]:
    from guerdon.calibration.debiasing.page import plot

    found = quality.curve(figures)
    if found is None:
        return [_none("Score against length", "Fewer than twenty responses with a text, or all of one length.")]
    curve, values, lengths, after = found
    n = f"{len(values):,} responses; dotted is the fitted curve (LOWESS)."
    return [
        _card("Score against length", plot(curve, values, lengths), n),
        _card("After debiasing", plot(curve, after, lengths, after=True), "The curve taken out; dotted is a new fit."),
    ]


def _best_of(figures: Figures) -> list[str]:
    found = quality.best_of(figures)
    if found is None:
        return [_none("Best of k", "Needs a truth for several responses to one prompt.")]
    prompts, left_out, curve, oracle, kl, fit = found
    less = f"; {left_out:,} with fewer responses are left out" if left_out else ""
    gain = [float(value - curve[0]) for value in curve]
    cards = [_card("Best of k", charts.best_of(curve.tolist(), oracle.tolist()), f"{prompts:,} prompts{less}.")]
    if len(curve) > 2:
        over = charts.overoptimisation(gain, kl.tolist(), fit)
        words = (
            "A fit needs four responses a prompt."
            if fit is None
            else "Gao et al. 2022; dashed is the peak, if it is reached."
        )
        cards.append(_card("Over-optimisation", over, words))
    return cards


def _drift(figures: Figures) -> str:
    series = [(name, points) for name, points in quality.drift(figures) if points]
    if not series:
        return _none("Drift", "Nothing is scored.")
    over = "step" if quality.has_steps(figures) else "order of scoring"
    return _card(
        "Drift by version",
        charts.drift(series, over=over),
        "95 % intervals, clustered by prompt; the last three versions.",
    )


def _subsets(figures: Figures, by: str | None) -> str:
    if by is None:
        return _none("Subsets", "Choose a column of the samples, or one of the scorer's details, to split by.")
    rows = quality.subsets(figures, by)
    values = [
        end for _, a, b in rows for each in (a, b) for end in (each.value, each.low, each.high) if end is not None
    ]
    scale = (0.0, 1.0) if not values or (min(values) >= 0 and max(values) <= 1) else (min(values), max(values))
    return _card(
        f"Subsets by {text.word(by, 40)}",
        charts.subsets(rows, scale=scale),
        "The largest ones; the number of samples in brackets.",
    )
