"""``transformers serve``'s ``/v1/systemone``: the probability that a language model answers a question with yes.

That server has no route for reward models, and its completions come without log-probabilities. This route reads both
answers' probabilities in one forward, without generating anything. The model's prompt is the server's, so another
version of transformers may ask differently; prompt and response travel as fields of one JSON object, apart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import Sample, Scale, Score
from guerdon.serving import _wire
from guerdon.serving.external import Get, Item
from guerdon.serving.external._answers import field, number, wrong


class TransformersServe:
    """question: about ``prompt`` and ``response`` (and ``reference``, where a sample has one), to answer yes or no."""

    scale: Scale = "probability"
    path = "/v1/systemone"
    batch_size = 1

    def __init__(self, *, question: str | None = None) -> None:
        if not isinstance(question, str) or not question.strip():
            raise UsageError(
                "transformers serve scores by a question that is answered with yes or no, so it needs question=..., "
                f"for example 'Does the response answer the prompt correctly?'; got {question!r}"
            )
        self._question = question
        self.mark = hashlib.sha256(question.encode()).hexdigest()[:8]

    def items(self, samples: Sequence[Sample]) -> list[Item | Score]:
        return [Item(_state(sample)) for sample in samples]

    def body(self, model: str | None, shared: Any, payloads: bytes) -> bytes:
        asked = {"score": {"type": "noul", "instructions": self._question}}
        head = {"questions": asked, **({} if model is None else {"model": model})}
        return json.dumps(head, ensure_ascii=False).encode()[:-1] + b', "state": ' + payloads[1:-1] + b"}"

    def read(self, answer: Any, count: int) -> list[float | None]:
        value = number(field(field(field(answer, "answers"), "score"), "noul"))
        if value is not None and not 0.0 <= value <= 1.0:
            wrong(f"a probability was expected, got {value!r}")
        return [value]

    def told(self, answer: Any) -> str | None:
        return None

    async def about(self, get: Get) -> tuple[Sequence[str] | None, str | None]:
        # Its list holds what is in the cache of this machine, not what it serves; a folder is never in it.
        return None, None


def _state(sample: Sample) -> dict[str, str]:
    state = {"prompt": sample.prompt_text, "response": sample.response_text}
    if sample.reference is not None:
        known = _wire.plain(sample.reference, "reference")
        state["reference"] = known if isinstance(known, str) else json.dumps(known, ensure_ascii=False)
    return state
