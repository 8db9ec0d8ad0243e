"""infinity's ``/rerank``: prompt and response as a pair, which its tokenizer joins; one request for each prompt.

It loads a model with one label as a reranker and answers its ``/classify`` with an error, so pairs are the only way in,
and exact ids cannot be had. ``raw_scores`` asks for the logit. What is longer than the model reads it cuts without a
word: with ``tokenizer=FOLDER`` such pairs are refused here.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from guerdon.rewards.types import Sample, Scale, Score
from guerdon.serving.external import Get, Item
from guerdon.serving.external._answers import by_index, field, names, number, rows
from guerdon.serving.external.rendering import load_tokenizer

_logger = logging.getLogger("guerdon.serving.client")


class Infinity:
    """tokenizer: the folder or hub id of the model's tokenizer, to tell which pairs are too long; None tells none."""

    scale: Scale = "logit"
    path = "/rerank"
    batch_size = 64
    mark = "pairs"

    def __init__(self, *, tokenizer: str | None = None) -> None:
        self._tokenizer: Any = None
        if tokenizer is None:
            _logger.warning(
                "infinity cuts texts that are too long without a word; give tokenizer=FOLDER so that they are refused"
            )
        else:
            self._tokenizer = load_tokenizer(tokenizer)

    def items(self, samples: Sequence[Sample]) -> list[Item | Score]:
        return [self._item(sample.prompt_text, sample.response_text) for sample in samples]

    def _item(self, prompt: str, response: str) -> Item | Score:
        if self._tokenizer is None:
            return Item(response, shared=prompt)
        tokens, limit = len(self._tokenizer([[prompt, response]])["input_ids"][0]), self._tokenizer.model_max_length
        if tokens > limit:
            reason = f"the pair has {tokens} tokens and the model reads {limit}; infinity would cut it"
            return Score.unscored(reason, {"tokens": tokens}, status="refused")
        return Item(response, shared=prompt, details={"tokens": tokens})

    def body(self, model: str | None, shared: Any, payloads: bytes) -> bytes:
        head = {"query": shared, "raw_scores": True, **({} if model is None else {"model": model})}
        return json.dumps(head, ensure_ascii=False).encode()[:-1] + b', "documents": ' + payloads + b"}"

    def read(self, answer: Any, count: int) -> list[float | None]:
        found = rows(answer, count, "results")
        return by_index(found, [number(field(row, "relevance_score")) for row in found])

    def told(self, answer: Any) -> str | None:
        return None

    async def about(self, get: Get) -> tuple[Sequence[str] | None, str | None]:
        return names(await get("/models")), None
