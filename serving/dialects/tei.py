"""text-embeddings-inference's ``/predict`` and ``/rerank``, as of 1.9, and what huggingface_hub's client sends.

``inputs`` is a text, a pair ``[a, b]``, or a batch ``[[a], [a, b], ...]``: ``["a", "b"]`` is one pair and no batch. A
pair is a prompt with its response. Scores go through a sigmoid unless ``raw_scores``. A text that is too long is
refused unless ``truncate`` asks for less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from guerdon.rewards import Sample
from guerdon.serving.dialects import Call, Context
from guerdon.serving.dialects._forms import Keep, activated, fields, flag, listed, ranked, sample, text, wrong
from guerdon.serving.engine import Scored
from guerdon.serving.jobs import Item, ReadyMade
from guerdon.serving.schemas import Problem, check_count, shown

NAME = "tei"

PATHS: Mapping[str, Mapping[str, Any]] = {
    "/predict": {
        "summary": "text-embeddings-inference: predict",
        "tags": ["text-embeddings-inference"],
        "example": {"inputs": [["<templated conversation>"]], "raw_scores": True},
        "answer": [[{"score": 0.73, "label": "LABEL_0"}]],
    },
    "/rerank": {
        "summary": "text-embeddings-inference: rerank",
        "tags": ["text-embeddings-inference"],
        "example": {"query": "What is 6 times 7?", "texts": ["42", "41"], "raw_scores": True},
        "answer": [{"index": 0, "score": 0.73}],
    },
}
_KINDS = {413: "Validation", 422: "Validation", 400: "Validation", 503: "Unhealthy", 429: "Overloaded"}


def claims(path: str, data: Any) -> bool:
    return path == "/predict" or (isinstance(data, dict) and "texts" in data)


def read(data: Any, context: Context) -> Call:
    scorer, scale = context.pick(), context.scale_of(context.pick())
    if context.path == "/rerank":
        body = fields(data, "query", "texts")
        query, texts = text(body, "query"), listed(body, "texts", str, context.max_items)
        activate = not flag(body, "raw_scores", default=False)
        shows = flag(body, "return_text", default=False)

        def rerank(scored: Scored) -> list[dict[str, Any]]:
            order = ranked(activated(scored, scale, activate=activate), None)
            return [{"index": i, "score": number, **({"text": texts[i]} if shows else {})} for i, number in order]

        return Call(scorer, [sample("texts", query, each) for each in texts], rerank)
    body = fields(data, "inputs")
    inputs = body.get("inputs")
    alone = isinstance(inputs, str) or (isinstance(inputs, list) and bool(inputs) and isinstance(inputs[0], str))
    batch = [inputs] if alone else inputs
    if not isinstance(batch, list) or not batch:
        raise wrong("inputs", f"must be a text, a pair [a, b] or a batch [[a], [a, b]], got {shown(inputs)}")
    check_count("inputs", batch, context.max_items)
    keep = _keep(body)
    items = [_item(each, "inputs" if alone else f"inputs[{index}]", keep) for index, each in enumerate(batch)]
    activate = not flag(body, "raw_scores", default=False)
    predict = partial(_predicted, alone=alone, numbers=partial(activated, scale=scale, activate=activate))
    return Call(scorer, items, predict)


def _keep(body: Mapping[str, Any]) -> Keep:
    if not flag(body, "truncate", default=False):
        return None
    return "end" if body.get("truncation_direction") in ("Left", "left") else "start"


def _item(value: Any, where: str, keep: Keep) -> Item:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or len(texts) not in (1, 2) or not all(isinstance(each, str) for each in texts):
        raise wrong(where, f"must hold one text or a pair of texts, got {shown(value)}")
    if len(texts) == 2:
        return sample(where, *texts)
    return ReadyMade(Sample("", texts[0]), texts[0], special_tokens=True, keep=keep)


def _predicted(scored: Scored, *, alone: bool, numbers: Any) -> Any:
    answers = [[{"score": number, "label": "LABEL_0"}] for number in numbers(scored)]
    return answers[0] if alone else answers


def error(status: int, kind: str, message: str, problems: Sequence[Problem]) -> dict[str, Any]:
    return {"error": message, "error_type": _KINDS.get(status, "Backend")}
