"""OpenRLHF's remote reward model: ``POST /get_reward`` (its ``--reward.remote_url``), as of 0.11.

A query is prompt and response in one text, templated, its special tokens in it. The rollout sends one query a request,
hundreds at once, and tries again on any error, five times. It makes tensors of what it reads, so every number is a
number; ``scores`` (0 to 1, for its dynamic filtering) are the rewards where the scorer's scale promises that range.

A reward model reads the query as it is. A verifier reads the response: what follows the prompt, without the policy's
end tokens. Of a query that does not begin with its prompt (OpenRLHF cuts long ones) nobody could tell the response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from guerdon.rewards import Sample
from guerdon.rewards.types import Scale
from guerdon.serving.dialects import Call, Context
from guerdon.serving.dialects._forms import UnscoredError, fields, listed, values
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


_END = re.compile(
    r"(?s:.*?)(?P<token><\|[A-Za-z0-9_.-]{1,40}\|>|<｜[^｜<>]{1,40}｜>|</?s>|<eos>|<pad>|<end_of_turn>|\[(PAD|SEP|EOS)\])\s*"
)
"""How the tokenizers of today write the tokens that end a turn or fill a batch."""
_LONGEST_END = 64


def claims(path: str, data: Any) -> bool:
    return True


def read(data: Any, context: Context) -> Call:
    body = fields(data, "query", "prompts", "labels")
    queries = listed(body, "query", str, context.max_items)
    prompts = listed(body, "prompts", str, context.max_items, like=queries)
    labels = listed(body, "labels", object, context.max_items, like=queries)
    scorer = context.pick()
    reads_ids = context.scale_of(scorer) == "logit"
    items = []
    for index, (query, prompt, label) in enumerate(zip(queries, prompts, labels, strict=True)):
        response = _response(query, prompt or "")
        if response is None and not reads_ids:
            reason = f"item {index} has no score (error): its query does not begin with its prompt, so where the "
            raise UnscoredError(422, "error", reason + "response begins would be a guess; was the prompt cut?")
        # Without a label key OpenRLHF hands over "".
        known = Sample(prompt or "", query if response is None else response, None if label == "" else label)
        items.append(ReadyMade(known, query))
    return Call(scorer, items, partial(_write, context.scale_of(scorer)))


def _response(query: str, prompt: str) -> str | None:
    """What follows the prompt, whatever spaces decoding has moved; None where the prompt is not the beginning."""
    if query.startswith(prompt):
        return _without_end(query[len(prompt) :])
    position = 0
    for character in prompt:
        if character.isspace():
            continue
        while position < len(query) and query[position].isspace():
            position += 1
        if query[position : position + 1] != character:
            return None
        position += 1
    return _without_end(query[position:])


def _without_end(response: str) -> str:
    """The response without the end and padding tokens at its end."""
    end = len(response)
    while token := _END.fullmatch(response, max(0, end - _LONGEST_END), end):
        end = token.start("token")
    return response[:end]


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
