"""vLLM's ``/classify``: token ids with a renderer, else chat messages, which the engine puts through its own template.

``use_activation: false`` asks for the logit. Nothing is cut: the engine answers 400 to what is too long.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.rewards.errors import RenderError
from guerdon.rewards.rendering.chat import conversation
from guerdon.rewards.types import Sample, Scale, Score
from guerdon.serving import _wire
from guerdon.serving.external import Get, Item
from guerdon.serving.external._answers import by_index, field, names, only, rows, text_of
from guerdon.serving.external.rendering import details, load, rendered

if TYPE_CHECKING:
    from guerdon.rewards.render import Renderer


class VLLM:
    """renderer: a folder or Renderer; None sends messages."""

    scale: Scale = "logit"
    path = "/classify"

    def __init__(self, *, renderer: str | Path | Renderer | None = None) -> None:
        self._renderer = None if renderer is None else load(renderer)
        # A request holds one conversation, or any number of lists of ids.
        self.batch_size = 64 if self._renderer else 1
        self.mark = self._renderer.fingerprint[:8] if self._renderer else "messages"

    def items(self, samples: Sequence[Sample]) -> list[Item | Score]:
        if self._renderer is None:
            return [_messages(sample) for sample in samples]
        return [
            ids if isinstance(ids, Score) else Item(ids.ids, details=details(ids))
            for ids in rendered(self._renderer, samples)
        ]

    def body(self, model: str | None, shared: Any, payloads: bytes) -> bytes:
        head = {"use_activation": False, **({} if model is None else {"model": model})}
        if self._renderer is None:
            head |= {"add_generation_prompt": False}
            return json.dumps(head).encode()[:-1] + b', "messages": ' + payloads[1:-1] + b"}"
        return json.dumps(head).encode()[:-1] + b', "input": ' + payloads + b"}"

    def read(self, answer: Any, count: int) -> list[float | None]:
        found = rows(answer, count, "data")
        return by_index(found, [only(field(row, "probs")) for row in found])

    def told(self, answer: Any) -> str | None:
        return None

    async def about(self, get: Get) -> tuple[Sequence[str] | None, str | None]:
        models = names(await get("/v1/models"))
        # The weights' version is told in vLLM's developer mode only.
        weights = text_of(await get("/weight_info"), "weight_version")
        return models, weights or text_of(await get("/version"), "version")


def _messages(sample: Sample) -> Item | Score:
    try:
        return Item(_wire.plain(conversation(sample.prompt, sample.response).messages, "messages"))
    except RenderError as error:
        return Score.unscored(str(error), status="refused")
