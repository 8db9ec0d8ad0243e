"""SGLang's ``/classify`` with token ids. None of its routes that score applies a chat template: a renderer must."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import Sample, Scale, Score
from guerdon.serving.external import Get, Item
from guerdon.serving.external._answers import field, only, rows, text_of
from guerdon.serving.external.rendering import details, load, rendered

if TYPE_CHECKING:
    from guerdon.rewards.render import Renderer


class SGLang:
    """renderer: a folder or Renderer."""

    scale: Scale = "logit"
    path = "/classify"
    batch_size = 64

    def __init__(self, *, renderer: str | Path | Renderer | None = None) -> None:
        if renderer is None:
            raise UsageError(
                "SGLang puts no chat template around what it scores, so it needs renderer=FOLDER: the folder of the "
                "reward model, whose tokenizer and template make the ids"
            )
        self._renderer = load(renderer)
        self.mark = self._renderer.fingerprint[:8]

    def items(self, samples: Sequence[Sample]) -> list[Item | Score]:
        return [
            ids if isinstance(ids, Score) else Item(ids.ids, details=details(ids))
            for ids in rendered(self._renderer, samples)
        ]

    def body(self, model: str | None, shared: Any, payloads: bytes) -> bytes:
        return b'{"input_ids": ' + payloads + b"}"

    def read(self, answer: Any, count: int) -> list[float | None]:
        return [only(field(row, "embedding")) for row in rows(answer, count)]

    def told(self, answer: Any) -> str | None:
        return text_of(answer[0].get("meta_info"), "weight_version") if answer else None

    async def about(self, get: Get) -> tuple[Sequence[str] | None, str | None]:
        about = await get("/model_info")
        return None, text_of(about, "weight_version") or text_of(about, "model_path")
