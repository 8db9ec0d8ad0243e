"""infinity's ``/classify`` and ``/rerank``, as of 0.0.78, told from vLLM's by their field ``raw_scores``.

Its own server answers ``/classify`` of a one-label model with an error and strips the white space that a template ends
with; here the text is scored as it is. Scores go through a sigmoid unless ``raw_scores``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.serving.dialects import Call, Context
from guerdon.serving.dialects._forms import activated, fields, flag, listed, ranked, ready_made, sample, text, tokens_of
from guerdon.serving.engine import Scored
from guerdon.serving.schemas import Problem

NAME = "infinity"

PATHS: Mapping[str, Mapping[str, Any]] = {
    "/classify": {
        "summary": "infinity: classify",
        "tags": ["infinity"],
        "example": {"input": ["<templated conversation>"], "model": "helpful", "raw_scores": True},
        "answer": {"object": "classify", "data": [[{"score": 0.73, "label": "LABEL_0"}]]},
    },
    "/rerank": {
        "summary": "infinity: rerank",
        "tags": ["infinity"],
        "example": {"query": "What is 6 times 7?", "documents": ["42", "41"], "raw_scores": True},
        "answer": {"object": "rerank", "results": [{"relevance_score": 0.73, "index": 0}]},
    },
}


def claims(path: str, data: Any) -> bool:
    return (
        isinstance(data, dict) and "raw_scores" in data and ("documents" in data or isinstance(data.get("input"), list))
    )


def read(data: Any, context: Context) -> Call:
    ranks = context.path == "/rerank"
    body = fields(data, *(("query", "documents", "model") if ranks else ("input", "model")))
    scorer = context.pick(body.get("model"))
    scale, activate = context.scale_of(scorer), not flag(body, "raw_scores", default=False)

    def around(kind: str, scored: Scored, **data: Any) -> dict[str, Any]:
        count = tokens_of(scored)
        usage = {"prompt_tokens": count, "total_tokens": count}
        stamp = {"id": f"infinity-{context.request_id}", "created": int(time.time())}
        return {"object": kind, **data, "model": scorer, "usage": usage, **stamp}

    if not ranks:
        items, _ = ready_made(body.get("input"), "input", context.max_items, special_tokens=True)

        def classify(scored: Scored) -> dict[str, Any]:
            numbers = activated(scored, scale, activate=activate)
            return around("classify", scored, data=[[{"score": number, "label": "LABEL_0"}] for number in numbers])

        return Call(scorer, items, classify)
    query, documents = text(body, "query"), listed(body, "documents", str, context.max_items)
    shows = flag(body, "return_documents", default=False)
    ranked([], body.get("top_n"))

    def rerank(scored: Scored) -> dict[str, Any]:
        order = ranked(activated(scored, scale, activate=activate), body.get("top_n"))
        results = [
            {"relevance_score": number, "index": index, "document": documents[index] if shows else None}
            for index, number in order
        ]
        return around("rerank", scored, results=results)

    return Call(scorer, [sample("documents", query, each) for each in documents], rerank)


def error(status: int, kind: str, message: str, problems: Sequence[Problem]) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": status}}
