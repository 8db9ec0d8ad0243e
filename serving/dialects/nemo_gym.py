"""NeMo Gym's resources server, as of 0.4: ``/seed_session /verify /compare /aggregate_metrics``.

The graded text is what the assistant's messages say, without reasoning and tool calls. The whole request comes back
with the reward. Its client reads ``reward`` whatever else is there, so a sample without a score is an HTTP error, which
fails the rollout, and not a 0 with a mark beside it, which some of its callers do not look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from guerdon.rewards.types import thaw
from guerdon.serving.dialects import Call, Context
from guerdon.serving.dialects._forms import fields, listed, sample, values, wrong
from guerdon.serving.engine import Scored
from guerdon.serving.schemas import Problem, shown

NAME = "nemo_gym"

_TURN = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "42"}]}]
_VERIFY = {
    "responses_create_params": {"input": [{"role": "user", "content": "What is 6 times 7?"}]},
    "response": {"output": _TURN},
    "expected_answer": "42",
}
_TAGS = ["NeMo Gym"]
PATHS: Mapping[str, Mapping[str, Any]] = {
    "/verify": {
        "summary": "NeMo Gym: verify",
        "tags": _TAGS,
        "example": _VERIFY,
        "answer": {**_VERIFY, "reward": 1.0, "extracted_answer": "42"},
    },
    "/compare": {
        "summary": "NeMo Gym: compare the responses to one prompt",
        "tags": _TAGS,
        "example": {
            "conversation_history": [{"role": "user", "content": "Say hello."}],
            "response_objs": [{"output": _TURN}, {"output": _TURN}],
        },
        "answer": {"rewards": [0.73, 0.41], "comparison_results": [], "metrics": {}},
    },
    "/seed_session": {"summary": "NeMo Gym: seed session", "tags": _TAGS, "example": {}, "answer": {}},
    "/aggregate_metrics": {
        "summary": "NeMo Gym: means of the rewards of many answers",
        "tags": _TAGS,
        "example": {"verify_responses": [{"reward": 1.0}]},
        "answer": {"reward": 1.0, "count": 1},
    },
}
_REFERENCES = ("expected_answer", "answer", "ground_truth", "reference", "label")


def claims(path: str, data: Any) -> bool:
    return True


def read(data: Any, context: Context) -> Call:
    if context.path == "/seed_session":
        return Call(context.pick(), [], lambda scored: {})
    if context.path == "/aggregate_metrics":
        return _read_answers(data, context)
    if context.path == "/compare":
        body = fields(data, "conversation_history", "response_objs")
        responses = listed(body, "response_objs", dict, context.max_items)
        history = body.get("conversation_history")
        group = f"{context.request_id}/compare"
        items = [
            sample("conversation_history", history, _said(response, f"response_objs[{index}]"), group=group)
            for index, response in enumerate(responses)
        ]
        return Call(context.pick(), items, _compared)
    body = fields(data, "responses_create_params", "response")
    asked = fields(body.get("responses_create_params"), "input")
    reference = next((body[key] for key in _REFERENCES if body.get(key) is not None), None)
    item = sample(
        "responses_create_params.input",
        asked.get("input"),
        _said(body.get("response"), "response"),
        reference,
        meta={key: value for key, value in body.items() if key not in ("responses_create_params", "response")},
    )
    return Call(context.pick(), [item], partial(_verified, body))


def _said(response: Any, where: str) -> str:
    """The text of a response object's assistant messages."""
    output = response.get("output") if isinstance(response, dict) else None
    if not isinstance(output, list):
        raise wrong(f"{where}.output", f"must be a list of output items, got {shown(output)}")
    parts: list[Any] = []
    for item in output:
        if isinstance(item, dict) and item.get("type") == "message":
            content = item.get("content")
            if isinstance(content, str):
                parts.append(content)
            elif isinstance(content, list):
                parts += [p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "output_text"]
            elif content is not None:
                raise wrong(f"{where}.output", f"holds a message whose content is no list: {shown(content)}")
    if not all(isinstance(part, str) for part in parts):
        raise wrong(f"{where}.output", "holds an output_text without a text")
    return "".join(part for part in parts if part)


def _verified(body: Mapping[str, Any], scored: Scored) -> dict[str, Any]:
    (reward,) = values(scored)
    (score,) = scored.scores
    answer = {**body, "reward": reward, "reward_reason": score.reason}
    if score.details.get("answer") is not None:
        answer["extracted_answer"] = thaw(score.details["answer"])
    return answer


def _compared(scored: Scored) -> dict[str, Any]:
    return {"rewards": values(scored), "comparison_results": [], "metrics": {}}


def _read_answers(data: Any, context: Context) -> Call:
    body = fields(data, "verify_responses")
    answers = listed(body, "verify_responses", dict, 10**9)
    rewards = [answer.get("reward") for answer in answers]
    for index, reward in enumerate(rewards):
        if not isinstance(reward, (int, float)):
            raise wrong(f"verify_responses[{index}].reward", f"must be a number, got {shown(reward)}")
    mean = sum(rewards) / len(rewards) if rewards else None
    return Call(context.pick(), [], lambda scored: {"reward": mean, "count": len(rewards)})


def error(status: int, kind: str, message: str, problems: Sequence[Problem]) -> dict[str, Any]:
    return {"error": {"type": kind, "message": message}}
