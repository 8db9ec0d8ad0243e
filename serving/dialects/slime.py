"""slime's remote reward model (``--rm-type remote_rm --rm-url``): ``POST /slime``, or the root.

The whole body of the answer is the reward, a bare number. For runs with ``--reward-key score``, ``/slime/score`` gives
an object. A conversation may be a text or messages; ``label`` is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from guerdon.serving.dialects import Call, Context
from guerdon.serving.dialects._forms import fields, sample, values, wrong
from guerdon.serving.engine import Scored
from guerdon.serving.schemas import Problem

NAME = "slime"

_EXAMPLE = {"prompt": "What is 6 times 7?", "response": "The answer is 42.", "label": "42"}
_NUMBER = {"summary": "slime: remote reward model", "tags": ["slime"], "example": _EXAMPLE, "answer": 1.0}
PATHS: Mapping[str, Mapping[str, Any]] = {
    "/slime": _NUMBER,
    "/": _NUMBER,
    "/slime/score": {**_NUMBER, "summary": "slime: with --reward-key score", "answer": {"score": 1.0}},
}


def claims(path: str, data: Any) -> bool:
    return True


def read(data: Any, context: Context) -> Call:
    body = fields(data, "prompt", "response", "label")
    for key in ("prompt", "response"):
        if key not in body:
            raise wrong(key, "is missing")
    item = sample("", body["prompt"], body["response"], body.get("label"))
    write = partial(_write, as_object=context.path.endswith("/score"))
    return Call(context.pick(), [item], write)


def _write(scored: Scored, *, as_object: bool) -> Any:
    (value,) = values(scored)
    return {"score": value} if as_object else value


def error(status: int, kind: str, message: str, problems: Sequence[Problem]) -> dict[str, Any]:
    return {"error": {"type": kind, "message": message}}
