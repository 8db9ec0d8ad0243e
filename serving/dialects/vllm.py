"""vLLM's pooling routes, as of 0.33, which are also Cohere's and Jina's rerank: ``/classify /pooling /score /rerank``.

verl's reward loop sends ``/classify`` with one templated text (its leading BOS taken off, since the server adds it), so
text gets the tokenizer's special tokens and ``messages`` get the model's own template.

Two deliberate differences. ``use_activation`` is off unless asked for: a reward is the raw logit. And a query with a
document is scored as a prompt with a response, through the template that the model was trained with.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from guerdon.rewards.types import Scale
from guerdon.serving.dialects import Call, Context
from guerdon.serving.dialects._forms import (
    Keep,
    activated,
    conversation,
    fields,
    flag,
    listed,
    ranked,
    ready_made,
    sample,
    text,
    tokens_of,
    wrong,
)
from guerdon.serving.engine import Scored
from guerdon.serving.jobs import Item
from guerdon.serving.schemas import Problem, check_count, shown

NAME = "vllm"

_CLASSIFY = {
    "summary": "vLLM: classify",
    "tags": ["vLLM"],
    "example": {"model": "helpful", "input": "<templated conversation>", "use_activation": False},
    "answer": {"object": "list", "data": [{"index": 0, "label": "LABEL_0", "probs": [0.73], "num_classes": 1}]},
}
_POOLING = {
    "summary": "vLLM: pooling",
    "tags": ["vLLM"],
    "example": {"model": "helpful", "input": ["<templated conversation>"]},
    "answer": {"object": "list", "data": [{"index": 0, "object": "pooling", "data": [0.73]}]},
}
_SCORE = {
    "summary": "vLLM: score pairs",
    "tags": ["vLLM"],
    "example": {"model": "helpful", "text_1": "What is 6 times 7?", "text_2": ["42", "41"]},
    "answer": {"object": "list", "data": [{"index": 0, "object": "score", "score": 0.73}]},
}
_RERANK = {
    "summary": "vLLM, Cohere, Jina: rerank",
    "tags": ["vLLM"],
    "example": {"model": "helpful", "query": "What is 6 times 7?", "documents": ["42", "41"]},
    "answer": {"results": [{"index": 0, "document": {"text": "42"}, "relevance_score": 0.73}]},
}
PATHS: Mapping[str, Mapping[str, Any]] = {
    "/classify": _CLASSIFY,
    "/v1/classify": _CLASSIFY,
    "/pooling": _POOLING,
    "/score": _SCORE,
    "/v1/score": _SCORE,
    "/rerank": _RERANK,
    "/v1/rerank": _RERANK,
    "/v2/rerank": _RERANK,
}
_PAIRS = (("text_1", "text_2"), ("data_1", "data_2"), ("queries", "documents"), ("queries", "items"))


def claims(path: str, data: Any) -> bool:
    if not path.endswith("/score") or not isinstance(data, dict):
        return True
    return any(first in data and second in data for first, second in _PAIRS)


def read(data: Any, context: Context) -> Call:
    if context.path.endswith("rerank"):
        return _read_rerank(data, context)
    if context.path.endswith("score"):
        return _read_pairs(data, context)
    body = fields(data, "model", "input", "messages")
    scorer = context.pick(body.get("model"))
    items: Sequence[Item]
    if "messages" in body:
        items = [conversation(body["messages"], "messages")]
    else:
        special = flag(body, "add_special_tokens", default=True)
        items, _ = ready_made(body.get("input"), "input", context.max_items, special_tokens=special, keep=_keep(body))
    write = _pooled if context.path == "/pooling" else _classified
    return Call(scorer, items, partial(write, _Answer(body, scorer, context)))


def _read_pairs(data: Any, context: Context) -> Call:
    body = fields(data, "model", "text_1", "text_2")
    first, second = next((pair for pair in _PAIRS if pair[0] in body and pair[1] in body), _PAIRS[0])
    queries, documents = _texts(body, first, context), _texts(body, second, context)
    if len(queries) == 1:
        queries = queries * len(documents)
    if len(queries) != len(documents):
        raise wrong(first, f"holds {len(queries)} texts and {second} {len(documents)}; give one, or as many")
    scorer = context.pick(body.get("model"))
    items = [sample(first, query, document) for query, document in zip(queries, documents, strict=True)]
    return Call(scorer, items, partial(_scored, _Answer(body, scorer, context)))


def _read_rerank(data: Any, context: Context) -> Call:
    body = fields(data, "model", "query", "documents")
    documents = _texts(body, "documents", context)
    query, scorer = text(body, "query"), context.pick(body.get("model"))
    ranked([], body.get("top_n"))  # a wrong one is said before anything is scored
    items = [sample("documents", query, document) for document in documents]
    return Call(scorer, items, partial(_reranked, _Answer(body, scorer, context), documents))


def _texts(body: Mapping[str, Any], key: str, context: Context) -> list[str]:
    """A text, or a list of texts or of ``{"text": ...}``."""
    value = body.get(key)
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        found = [item["text"] if isinstance(item, dict) and "text" in item else item for item in value]
        body = {**body, key: found}
    texts = listed(body, key, str, context.max_items)
    if not texts:
        raise wrong(key, "is empty")
    check_count(key, texts, context.max_items)
    return texts


def _keep(body: Mapping[str, Any]) -> Keep:
    limit = body.get("truncate_prompt_tokens")
    if limit is None:
        return None
    if limit != -1:
        raise wrong("truncate_prompt_tokens", f"may be -1 (the model's own length) or absent, got {shown(limit)}")
    return "start" if body.get("truncation_side") == "right" else "end"


class _Answer:
    """What an answer repeats of its request. activate: whether logits go through a sigmoid."""

    def __init__(self, body: Mapping[str, Any], scorer: str, context: Context) -> None:
        self.model, self.id = scorer, context.request_id
        self.scale: Scale = context.scale_of(scorer)
        self.activate = flag(body, "use_activation", default=False)
        self.top_n = body.get("top_n")

    def numbers(self, scored: Scored) -> list[float]:
        return activated(scored, self.scale, activate=self.activate)

    def around(self, kind: str, scored: Scored, data: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": f"{kind}-{self.id}",
            "object": "list",
            "created": int(time.time()),
            "model": self.model,
            "data": data,
            "usage": _usage(scored),
        }


def _usage(scored: Scored) -> dict[str, Any]:
    count = tokens_of(scored)
    return {"prompt_tokens": count, "total_tokens": count, "completion_tokens": 0, "prompt_tokens_details": None}


def _classified(answer: _Answer, scored: Scored) -> dict[str, Any]:
    data = [
        {"index": index, "label": "LABEL_0", "probs": [number], "num_classes": 1}
        for index, number in enumerate(answer.numbers(scored))
    ]
    return answer.around("classify", scored, data)


def _pooled(answer: _Answer, scored: Scored) -> dict[str, Any]:
    data = [
        {"index": index, "object": "pooling", "data": [number]} for index, number in enumerate(answer.numbers(scored))
    ]
    return answer.around("pool", scored, data)


def _scored(answer: _Answer, scored: Scored) -> dict[str, Any]:
    data = [{"index": index, "object": "score", "score": number} for index, number in enumerate(answer.numbers(scored))]
    return answer.around("score", scored, data)


def _reranked(answer: _Answer, documents: Sequence[str], scored: Scored) -> dict[str, Any]:
    results = [
        {"index": index, "document": {"text": documents[index]}, "relevance_score": number}
        for index, number in ranked(answer.numbers(scored), answer.top_n)
    ]
    return {"id": f"rerank-{answer.id}", "model": answer.model, "usage": _usage(scored), "results": results}


def error(status: int, kind: str, message: str, problems: Sequence[Problem]) -> dict[str, Any]:
    param = problems[0].field or None if problems else None
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}
