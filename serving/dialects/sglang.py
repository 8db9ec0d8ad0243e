"""SGLang's routes, as of 0.5: ``/classify /v1/embeddings /v1/rerank /v1/score``. verl reads a reward from the second.

A text is no longer templated and gets the tokenizer's special tokens. The numbers are the head's logits.
``/v1/rerank`` is this form only under ``/compat/sglang``: at the root Cohere's is expected.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from guerdon.serving.dialects import Call, Context
from guerdon.serving.dialects._forms import fields, listed, ranked, ready_made, sample, text, tokens_of, values, wrong
from guerdon.serving.engine import Scored
from guerdon.serving.schemas import Problem

NAME = "sglang"

PATHS: Mapping[str, Mapping[str, Any]] = {
    "/classify": {
        "summary": "SGLang: classify",
        "tags": ["SGLang"],
        "example": {"text": ["<templated conversation>"]},
        "answer": [{"embedding": [0.73], "meta_info": {"prompt_tokens": 9}}],
    },
    "/v1/embeddings": {
        "summary": "SGLang: embeddings, the form of verl's reward loop",
        "tags": ["SGLang"],
        "example": {"model": "helpful", "input": "<templated conversation>"},
        "answer": {"object": "list", "data": [{"embedding": [0.73], "index": 0, "object": "embedding"}]},
    },
    "/v1/rerank": {
        "summary": "SGLang: rerank",
        "tags": ["SGLang"],
        "example": {"query": "What is 6 times 7?", "documents": ["42", "41"]},
        "answer": [{"score": 0.73, "document": "42", "index": 0}],
    },
    "/v1/score": {
        "summary": "SGLang: score items",
        "tags": ["SGLang"],
        "example": {"query": "What is 6 times 7?", "items": ["42", "41"], "model": "helpful"},
        "answer": {"scores": [[0.73], [0.11]], "model": "helpful", "object": "scoring"},
    },
}


def claims(path: str, data: Any) -> bool:
    if not isinstance(data, dict):
        return False
    if path == "/classify":
        return "text" in data or "input_ids" in data
    if path == "/v1/score":
        return "query" in data and "scorer" not in data
    return path == "/v1/embeddings"


def read(data: Any, context: Context) -> Call:
    if context.path == "/v1/rerank":
        body = fields(data, "query", "documents")
        query, documents = text(body, "query"), listed(body, "documents", str, context.max_items)
        ranked([], body.get("top_n"))
        scorer = context.pick(body.get("model"))
        pairs = [sample("documents", query, each) for each in documents]
        return Call(scorer, pairs, partial(_reranked, documents, body.get("top_n")))
    if context.path == "/v1/score":
        return _read_items(data, context)
    embeds = context.path == "/v1/embeddings"
    body = fields(data, *(("model", "input") if embeds else ("text", "input_ids")))
    key = "input" if embeds else ("text" if body.get("text") is not None else "input_ids")
    items, alone = ready_made(body.get(key), key, context.max_items, special_tokens=True)
    scorer = context.pick(body.get("model"))
    write = partial(_embedded, scorer) if embeds else partial(_classified, context.request_id, alone)
    return Call(scorer, items, write)


def _read_items(data: Any, context: Context) -> Call:
    body = fields(data, "query", "items", "model")
    if body.get("label_token_ids"):
        raise wrong("label_token_ids", "has no meaning for a reward model, whose score is one logit; leave it out")
    query, items = text(body, "query"), listed(body, "items", str, context.max_items)
    if body.get("item_first"):
        raise wrong("item_first", "cannot be true: a response follows its prompt")
    scorer = context.pick(body.get("model"))
    return Call(scorer, [sample("items", query, item) for item in items], partial(_item_scores, scorer))


def _classified(request_id: str, alone: bool, scored: Scored) -> Any:
    answers = [
        {
            "embedding": [number],
            "meta_info": {
                "id": request_id,
                "finish_reason": {"type": "stop"},
                "prompt_tokens": score.details.get("tokens", 0),
                "weight_version": scored.version,
            },
        }
        for number, score in zip(values(scored), scored.scores, strict=True)
    ]
    return answers[0] if alone else answers


def _embedded(scorer: str, scored: Scored) -> dict[str, Any]:
    count = tokens_of(scored)
    return {
        "object": "list",
        "data": [
            {"embedding": [number], "index": index, "object": "embedding"}
            for index, number in enumerate(values(scored))
        ],
        "model": scorer,
        "usage": {"prompt_tokens": count, "total_tokens": count},
    }


def _reranked(documents: Sequence[str], top_n: Any, scored: Scored) -> list[dict[str, Any]]:
    return [
        {"score": number, "document": documents[index], "index": index}
        for index, number in ranked(values(scored), top_n)
    ]


def _item_scores(scorer: str, scored: Scored) -> dict[str, Any]:
    count = tokens_of(scored)
    return {
        "scores": [[number] for number in values(scored)],
        "model": scorer,
        "usage": {"prompt_tokens": count, "total_tokens": count},
        "object": "scoring",
    }


def error(status: int, kind: str, message: str, problems: Sequence[Problem]) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind}}
