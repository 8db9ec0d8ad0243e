"""guerdon's own: ``POST /v1/score``. One scored item for each item, null with a status where there is no score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from guerdon.rewards.types import Scale
from guerdon.serving.dialects import Call, Context
from guerdon.serving.engine import Scored
from guerdon.serving.provenance import of_score, truncated
from guerdon.serving.schemas import (
    ErrorBody,
    ErrorResponse,
    Problem,
    ScoreRequest,
    ScoreResponse,
    Work,
    read_request,
)

NAME = "guerdon"

_STATUSES = {
    400: "The body is not JSON.",
    401: "The token is missing or wrong.",
    404: "No such scorer; the message lists those there are.",
    408: "The body did not arrive in time.",
    409: "The version asked for is not served.",
    413: "The body or the number of items is over the server's limit.",
    415: "The content type is not application/json.",
    422: "A field is missing, unknown or of the wrong kind; `param` names it.",
    429: "Too much of this caller's work waits; try again after `Retry-After` seconds.",
    503: "The queue is full or the server is stopping; try again after `Retry-After` seconds.",
}

PATHS: Mapping[str, Mapping[str, Any]] = {
    "/v1/score": {
        "summary": "Score",
        "description": (
            "One score for each item, in order: a number on the scorer's scale, or null with a status and a reason. "
            "A scorer that fails on an item gives null with status `error`; so does a server behind it that is away."
        ),
        "tags": ["scoring"],
        "request": ScoreRequest,
        "response": ScoreResponse,
        "errors": {status: (ErrorResponse, text) for status, text in _STATUSES.items()},
    }
}


def claims(path: str, data: Any) -> bool:
    return True  # the last one asked: whatever nobody else knows is answered with what our own form looks like


def read(data: Any, context: Context) -> Call:
    if isinstance(data, dict) and context.scorer is not None:
        data = {"scorer": context.scorer, **data}
    work = read_request(data, context.request_id, max_items=context.max_items)
    scale = context.scale_of(work.scorer)
    return Call(work.scorer, work.samples, partial(_write, work, scale), work.seconds, work.ids)


def _write(work: Work, scale: Scale, scored: Scored) -> dict[str, Any]:
    items: list[dict[str, Any]] = [
        {
            "id": i,
            "value": s.value,
            "status": s.status,
            "truncated": truncated(s),
            "reason": s.reason,
            "details": s.details,
        }
        for i, s in zip(work.ids, scored.scores, strict=True)
    ]
    answer = {
        "scorer": work.scorer,
        "version": scored.version,
        "scale": scale,
        "items": items,
        "timing_ms": scored.timing_ms,
    }
    if work.provenance:
        answer["provenance"] = scored.provenance
        for item, origin, score in zip(items, scored.origins, scored.scores, strict=True):
            item["provenance"] = of_score(origin, score)
    return answer


def error(status: int, kind: str, message: str, problems: Sequence[Problem]) -> dict[str, Any]:
    param = problems[0].field or None if problems else None
    body = ErrorResponse(error=ErrorBody(type=kind, message=message, param=param, problems=list(problems)))
    return body.model_dump()
