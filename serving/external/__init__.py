"""Engines of others as scorers: vLLM, SGLang, text-embeddings-inference, infinity, ``transformers serve``.

    vllm+http://HOST:PORT#MODEL        a spec like any other (guerdon.serving.specs); options: renderer, token, ...

One small file an engine says how it is spoken to (a Form); ``scorer.py`` does what is the same for all: batches,
retries, order, failures. What an engine computes is the engine's; what it is sent is ours to answer for. A reward model
scores what it was trained on only if it sees the very token ids of its training, so with ``renderer=FOLDER`` (where
``guerdon train`` saved the model) each sample is sent in a form that becomes exactly those ids, or not at all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from guerdon.rewards.types import Sample, Scale, Score

Get: TypeAlias = Callable[[str], Awaitable[Any]]
"""The JSON at a path of the engine; None where it has no such path."""


@dataclass(frozen=True, slots=True)
class Item:
    """A sample as it travels. payload: JSON-able. shared: what all items of one request have in common.

    details: of its score.
    """

    payload: Any
    shared: Hashable = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Form(Protocol):
    """How one engine is spoken to, with a scorer's options.

    batch_size: items a request, unless the scorer says otherwise. mark: of what decides about the scores on our side
    (the renderer, the question), for the version; "" for nothing.
    """

    scale: Scale
    path: str
    batch_size: int
    mark: str

    def items(self, samples: Sequence[Sample]) -> list[Item | Score]:
        """Each sample as it travels, or unscored if it cannot."""
        ...

    def body(self, model: str | None, shared: Any, payloads: bytes) -> bytes:
        """A request's JSON. payloads: a JSON list."""
        ...

    def read(self, answer: Any, count: int) -> list[float | None]:
        """The numbers in the order of the payloads; None for one that is no finite number. Raises WrongAnswerError."""
        ...

    def told(self, answer: Any) -> str | None:
        """The version of the weights, if an answer tells it."""
        ...

    async def about(self, get: Get) -> tuple[Sequence[str] | None, str | None]:
        """The models that the engine says it has (None: it does not say), and what it says of their version."""
        ...


class WrongAnswerError(Exception):
    """An answer that is not of the engine's form."""
