"""EngineScorer: an engine of others as an ordinary Scorer."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from guerdon.rewards.errors import OutageError, UnknownNameError, UsageError
from guerdon.rewards.types import Sample, Scale, Score
from guerdon.serving import _caller, _wire
from guerdon.serving._caller import Caller
from guerdon.serving._wire import Part
from guerdon.serving.external import Form, Item, WrongAnswerError
from guerdon.serving.external._answers import parsed
from guerdon.serving.external.infinity import Infinity
from guerdon.serving.external.sglang import SGLang
from guerdon.serving.external.tei import TEI
from guerdon.serving.external.transformers_serve import TransformersServe
from guerdon.serving.external.vllm import VLLM

_logger = logging.getLogger("guerdon.serving.client")

FORMS: Mapping[str, Callable[..., Form]] = {
    "infinity": Infinity,
    "sglang": SGLang,
    "tei": TEI,
    "transformers": TransformersServe,
    "vllm": VLLM,
}
SPEC = re.compile(r"(?P<engine>[A-Za-z0-9_-]+)\+(?P<url>https?://.*)")

_PROBE = Sample("What is 6 times 7?", "42")
"""Scored before anything else: whether the engine can score at all is no question of a caller's sample."""
_REFUSED = {400: "refused", 413: "refused", 422: "refused", 424: "error"}
"""Statuses by which engines refuse a request for what is in it; 424 is text-embeddings-inference's for a NaN."""


@dataclass(frozen=True, slots=True)
class _About:
    """What is known of the engine. told: what it says of its weights, or None."""

    model: str | None
    told: str | None


class EngineScorer:
    """A reward model in somebody else's engine, or a language model that is asked a question.

    spec: ``vllm+http://host:port#model``, and so on for sglang, tei, infinity and transformers; the model may be left
    out where the engine has only one. renderer: the folder of the reward model (or its Renderer): the engine is then
    sent what becomes the very ids of the training; sglang needs it, vllm and tei take it. tokenizer: for infinity.
    question: for transformers. batch_size: samples a request, if not as many as the form takes. The others are those of
    RemoteScorer; a token is sent only if it is given here.

    What the engine refuses for its content (400, 413, 422) is sent again in halves until the sample at fault is alone,
    which is unscored. Raises OutageError when the last try failed or an answer is malformed, UsageError when the engine
    cannot score at all. Thread-safe; usable after a fork; picklable.

    version: the engine, the model, what the engine tells of its weights (its address, if nothing) and what decides on
    our side; it follows the engine where answers tell of new weights.
    """

    remote = True  # its weights may change unasked, so nobody in between should remember its scores

    def __init__(
        self,
        spec: str,
        *,
        renderer: Any = None,
        tokenizer: str | None = None,
        question: str | None = None,
        token: str | None = None,
        timeout: float = 180.0,
        retries: int = 5,
        backoff: float = 2.0,
        batch_size: int | None = None,
        batch_bytes: int = 1_000_000,
        concurrency: int = 8,
    ) -> None:
        match = SPEC.fullmatch(spec) if isinstance(spec, str) else None
        if match is None:
            raise UsageError(f"an engine's spec must look like vllm+http://127.0.0.1:8000#model, got {spec!r}")
        self.engine = match["engine"]
        if self.engine not in FORMS:
            raise UnknownNameError("engine", self.engine, FORMS)
        self.url, self._model = _caller.address(match["url"], None, like=f"{self.engine}+http://127.0.0.1:8000#model")
        given = {"renderer": renderer, "tokenizer": tokenizer, "question": question}
        self._form = _form(self.engine, {key: value for key, value in given.items() if value is not None})
        self.batch_size = self._form.batch_size if batch_size is None else batch_size
        if self._form.batch_size == 1 < self.batch_size:
            raise UsageError(f"a request to {self.engine} holds one sample in this form; leave out batch_size")
        _caller.check_least(batch_size=(self.batch_size, 1), batch_bytes=(batch_bytes, 1))
        self.batch_bytes = batch_bytes
        self._caller = Caller(
            self.url, token=token, timeout=timeout, retries=retries, backoff=backoff, concurrency=concurrency
        )
        self._about: _About | None = None

    @property
    def name(self) -> str:
        return self._known().model or self.engine

    @property
    def version(self) -> str:
        """The version seen last."""
        about = self._known()
        where = about.told or self.url
        return f"{self.engine}:{about.model or ''}@{where}" + (f"+{self._form.mark}" if self._form.mark else "")

    @property
    def scale(self) -> Scale:
        return self._form.scale

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """One score a sample, in order. Blocks; in an event loop use ``ascore``."""
        return _caller.wait(_caller.start(self._score(self._items(samples))))

    async def ascore(self, samples: Sequence[Sample]) -> list[Score]:
        """``score`` for async callers; cancelling it cancels its requests."""
        items = await asyncio.to_thread(self._items, samples)  # rendering takes its time
        return await asyncio.wrap_future(_caller.start(self._score(items)))

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        self._caller.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_about": None}

    def __repr__(self) -> str:
        return f"EngineScorer({self.engine}+{self.url}{'' if self._model is None else f'#{self._model}'})"

    def _items(self, samples: Sequence[Sample]) -> list[Item | Score]:
        for position, sample in enumerate(samples):
            if not isinstance(sample, Sample):
                raise UsageError(f"samples[{position}] must be a Sample, got {type(sample).__name__}: {sample!r:.80}")
        return self._form.items(samples)

    def _known(self) -> _About:
        if self._about is None:
            return _caller.wait(_caller.start(self._ask()))
        return self._about

    # --- on the background loop ---

    async def _score(self, items: Sequence[Item | Score]) -> list[Score]:
        requests, scores = self._requests(items)
        if requests:
            model = (self._about or await self._ask()).model
            parts = await _caller.together([self._post(part, shared, model) for part, shared in requests])
            for (part, _), answer in zip(requests, parts, strict=True):
                scores.update(zip(part.positions, answer, strict=True))
        found = [scores[position] for position in range(len(items))]
        return [
            Score(score.value, score.reason, {**score.details, **item.details}, score.status)
            if isinstance(item, Item) and item.details
            else score
            for item, score in zip(items, found, strict=True)
        ]

    def _requests(self, items: Sequence[Item | Score]) -> tuple[list[tuple[Part, Any]], dict[int, Score]]:
        """Items by what they share, in requests; and the scores of those that cannot be sent."""
        scores: dict[int, Score] = {}
        sharing: dict[Hashable, list[dict[int, bytes]]] = {}
        for position, item in enumerate(items):
            payload = item if isinstance(item, Score) else _wire.as_json(item.payload)
            shared = None if isinstance(item, Score) else item.shared
            if not isinstance(payload, Score) and shared is not None and shared not in sharing:
                head = _wire.as_json(shared)  # a text that has no UTF-8 form could not be sent either
                payload = head if isinstance(head, Score) else payload
            if isinstance(payload, Score):
                scores[position] = payload
            else:
                sharing.setdefault(shared, []).append({position: payload})
        requests = [
            (part, shared)
            for shared, units in sharing.items()
            for part in _wire.pack(units, batch_size=self.batch_size, batch_bytes=self.batch_bytes)
        ]
        return requests, scores

    async def _post(self, part: Part, shared: Any, model: str | None) -> list[Score]:
        where = self.url + self._form.path
        response = await self._caller.request("POST", where, self._form.body(model, shared, part.json))
        if response.status_code == 200:
            try:
                values, told = self._read(response, len(part.positions))
            except WrongAnswerError as error:
                raise OutageError(f"{where} answered wrongly: {error}") from error
            self._follow(told)
            return [self._scored(value) for value in values]
        status = _REFUSED.get(response.status_code)
        if status is None:
            raise self._caller.refusal(response, where)
        if len(part.positions) == 1:
            message = _wire.error_message(response.content)
            reason = f"{self.engine} refused it with {response.status_code}: {message}"
            return [Score.unscored(reason, status=status)]  # type: ignore[arg-type]
        middle = len(part.positions) // 2
        halves = [
            Part(part.positions[:middle], part.items[:middle]),
            Part(part.positions[middle:], part.items[middle:]),
        ]
        first, second = await _caller.together([self._post(half, shared, model) for half in halves])
        return first + second

    def _scored(self, value: float | None) -> Score:
        if value is None:
            return Score.unscored(f"{self.engine} gave no finite number", status="error")
        return Score(value, f"{self.engine} gave it")

    def _read(self, response: httpx.Response, count: int) -> tuple[list[float | None], str | None]:
        """The numbers of an answer, and the version of the weights if it tells that. Raises WrongAnswerError."""
        answer = parsed(response.content)
        values = self._form.read(answer, count)
        return values, response.headers.get("X-Model-Version") or self._form.told(answer)

    async def _ask(self) -> _About:
        """What the engine is and whether it can score, found out with a sample of ours."""
        models, told = await self._form.about(self._get)
        model = self._model
        if model is None and models is not None:
            if len(models) != 1:
                raise UsageError(f"{self.url} has {len(models)} models, so name one: {', '.join(sorted(models))}")
            model = models[0]
        elif model is not None and models is not None and model not in models:
            raise UnknownNameError(f"model at {self.url}", model, models)
        where = self.url + self._form.path
        (item,) = self._form.items([_PROBE])
        if isinstance(item, Score):
            raise UsageError(f"{self!r} cannot be sent even a short sample: {item.reason}")
        payload = json.dumps([item.payload]).encode()
        response = await self._caller.request("POST", where, self._form.body(model, item.shared, payload))
        if response.status_code in (404, 405):
            raise UsageError(
                f"{where} is not there ({response.status_code}): is this {self.engine}, and does it serve a model that "
                f"scores? {_wire.error_message(response.content)}"
            )
        if response.status_code != 200:
            raise self._caller.refusal(response, where)
        try:
            (value,), newer = self._read(response, 1)
        except WrongAnswerError as error:
            raise UsageError(f"{where} does not answer as a reward model in {self.engine} would: {error}") from error
        if value is None:
            raise UsageError(f"{where} gives no finite number even for a short sample")
        self._about = _About(model, newer or told)
        return self._about

    async def _get(self, path: str) -> Any:
        """JSON that an engine may or may not have for us."""
        # transformers serve answers its list of models with 500 where the machine has no cache of models.
        response = await self._caller.request("GET", self.url + path, final=(500, 501))
        try:
            return parsed(response.content) if response.status_code == 200 else None
        except WrongAnswerError:
            return None

    def _follow(self, told: str | None) -> None:
        before = self._about
        if before is None or told is None or told == before.told:
            return
        _logger.warning(
            "%r changed from version %s to %s while in use; scores before and after may differ", self, before.told, told
        )
        self._about = _About(before.model, told)


def _form(engine: str, options: Mapping[str, Any]) -> Form:
    known = inspect.signature(FORMS[engine]).parameters
    for option in options:
        if option not in known:
            raise UnknownNameError(f"option of {engine}", option, known)
    return FORMS[engine](**options)
