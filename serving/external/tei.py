"""text-embeddings-inference's ``/predict``: with a renderer the exact text, else prompt and response as a pair.

A pair is what rerankers are trained on; its tokenizer joins it. ``raw_scores`` asks for the logit, and ``truncate``
is turned off, which is on by default there.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon.rewards.types import Sample, Scale, Score
from guerdon.serving.external import Get, Item
from guerdon.serving.external._answers import field, only, rows, text_of
from guerdon.serving.external.rendering import ExactText, details, load, rendered

if TYPE_CHECKING:
    from guerdon.rewards.render import Renderer


class TEI:
    """renderer: a folder or Renderer; None sends pairs."""

    scale: Scale = "logit"
    path = "/predict"
    batch_size = 32  # its --max-client-batch-size, unless that was raised

    def __init__(self, *, renderer: str | Path | Renderer | None = None) -> None:
        self._renderer = None if renderer is None else load(renderer)
        self._exact = None if self._renderer is None else ExactText(self._renderer)
        self.mark = self._renderer.fingerprint[:8] if self._renderer else "pairs"

    def items(self, samples: Sequence[Sample]) -> list[Item | Score]:
        if self._renderer is None:
            return [Item([sample.prompt_text, sample.response_text]) for sample in samples]
        return [
            ids if isinstance(ids, Score) else self._item(ids.ids, details(ids))
            for ids in rendered(self._renderer, samples)
        ]

    def _item(self, ids: tuple[int, ...], about: dict[str, int]) -> Item | Score:
        assert self._exact is not None
        text = self._exact.text(ids)
        if text is None:
            reason = "no text becomes the token ids that the model was trained on, and the engine takes only text"
            return Score.unscored(reason, about, status="refused")
        return Item([text], details=about)

    def body(self, model: str | None, shared: Any, payloads: bytes) -> bytes:
        return b'{"raw_scores": true, "truncate": false, "inputs": ' + payloads + b"}"

    def read(self, answer: Any, count: int) -> list[float | None]:
        return [only([field(label, "score") for label in rows(row, len(row))]) for row in rows(answer, count)]

    def told(self, answer: Any) -> str | None:
        return None

    async def about(self, get: Get) -> tuple[Sequence[str] | None, str | None]:
        return None, text_of(await get("/info"), "model_id", "model_sha")
