"""OpenRLHF's remote reward model: ``POST /get_reward`` (its ``--reward.remote_url``), as of 0.11.

A query is prompt and response in one text, templated, its special tokens in it. The rollout sends one query a request,
hundreds at once, and tries again on any error, five times. It makes tensors of what it reads, so every number is a
number; ``scores`` (0 to 1, for its dynamic filtering) are the rewards where the scorer's scale promises that range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from guerdon.rewards import Sample
from guerdon.rewards.types import Scale
from guerdon.serving.dialects import Call, Context
from guerdon.serving.dialects._forms import fields, listed, values
from guerdon.serving.engine import Scored
from guerdon.serving.jobs import ReadyMade
from guerdon.serving.schemas import Problem

NAME = "openrlhf"

PATHS: Mapping[str, Mapping[str, Any]] = {
    "/get_reward": {
        "summary": "OpenRLHF: remote reward model",
        "tags": ["OpenRLHF"],
        "example": {"query": ["<prompt and response>"], "prompts": ["<prompt>"], "labels": ["42"]},
        "answer": {"rewards": [0.73], "scores": [0.73], "extra_logs": {"tokens": [412]}},
    }
}


def claims(path: str, data: Any) -> bool:
    return True


def read(data: Any, context: Context) -> Call:
    body = fields(data, "query", "prompts", "labels")
    queries = listed(body, "query", str, context.max_items)
    prompts = listed(body, "prompts", str, context.max_items, like=queries)
    labels = listed(body, "labels", object, context.max_items, like=queries)
    scorer = context.pick()
    items = [
        ReadyMade(Sample(prompt or "", _response(query, prompt), label), query)
        for query, prompt, label in zip(queries, prompts, labels, strict=True)
    ]
    return Call(scorer, items, partial(_write, context.scale_of(scorer)))


def _response(query: str, prompt: str | None) -> str:
    """What follows the prompt; the whole query where the prompt is not its beginning."""
    return query[len(prompt) :] if prompt and query.startswith(prompt) else query


def _write(scale: Scale, scored: Scored) -> dict[str, Any]:
    rewards = values(scored)
    answer: dict[str, Any] = {"rewards": rewards}
    if scale in ("verdict", "probability"):
        answer["scores"] = rewards
    logs = {}
    for name in ("tokens", "cut"):
        counts = [score.details.get(name) for score in scored.scores]
        if all(isinstance(count, int) for count in counts):
            logs[name] = counts
    return {**answer, "extra_logs": logs}


def error(status: int, kind: str, message: str, problems: Sequence[Problem]) -> dict[str, Any]:
    return {"error": {"type": kind, "message": message}}
