"""The scorers that can be asked now: those that the server has loaded, and every verifier that needs no options.

What is loaded is asked through the server's engine, as a request would (a model is run by one thread at a time).
Nothing that is asked here is recorded, or it would be in the next audit's sample.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from guerdon.rewards.errors import GuerdonError, OutageError, UnknownNameError
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import Sample, Score
from guerdon.serving.jobs import Request

if TYPE_CHECKING:
    from guerdon.serving.engine import Engine

ROUTE = "/ui"
"""The route of what is asked here, by which the store knows to leave it out."""

PATIENCE = 60.0  # seconds that a person waits


@dataclass(frozen=True, slots=True)
class Voice:
    """A scorer on the bench. loaded: by the server."""

    name: str
    scale: str
    version: str
    loaded: bool


class Bench:
    """engine: None without a server. loop: gives the event loop that the engine runs on, None before it does."""

    def __init__(self, engine: Engine | None, loop: Callable[[], asyncio.AbstractEventLoop | None]) -> None:
        self._engine, self._loop = engine, loop
        self._verifiers = _verifiers()

    def voices(self) -> list[Voice]:
        lanes = {} if self._engine is None else self._engine.lanes
        loaded = [Voice(name, lane.scale, lane.version, True) for name, lane in lanes.items()]
        rest = [Voice(name, v.scale, v.version, False) for name, v in self._verifiers.items() if name not in lanes]
        return loaded + rest

    def names(self) -> list[str]:
        return [voice.name for voice in self.voices()]

    def score(self, name: str, samples: Sequence[Sample]) -> list[Score]:
        """Not to be called on the event loop. Raises OutageError if there is no answer within ``PATIENCE``."""
        lanes = {} if self._engine is None else self._engine.lanes
        if name in lanes:
            return self._through_engine(name, samples)
        if name in self._verifiers:
            return self._verifiers[name].score(samples)
        raise UnknownNameError("scorer", name, self.names())

    def _through_engine(self, name: str, samples: Sequence[Sample]) -> list[Score]:
        loop = self._loop()
        if loop is None:
            raise OutageError("the server has not started yet")
        asked: Any = self._ask(name, samples)
        future = asyncio.run_coroutine_threadsafe(asked, loop)
        try:
            return list(future.result(PATIENCE + 5).scores)
        except concurrent.futures.TimeoutError as error:
            future.cancel()
            raise OutageError(f"{name} gave no score within {PATIENCE:g} s") from error

    async def _ask(self, name: str, samples: Sequence[Sample]) -> Any:
        assert self._engine is not None
        request = Request("", ROUTE)
        return await self._engine.result(self._engine.submit(name, samples, seconds=PATIENCE, request=request))

    def scorer(self, name: str) -> Scorer:
        """One of them as a scorer, for calibration's wrappers."""
        for voice in self.voices():
            if voice.name == name:
                return _OnBench(self, voice)
        raise UnknownNameError("scorer", name, self.names())

    def explain(self, name: str, sample: Sample) -> Mapping[str, str]:
        """How a verifier read both sides, where it tells."""
        from guerdon.verifiers import Verifier

        scorer: Any = self._verifiers.get(name)
        if self._engine is not None and name in self._engine.lanes:
            scorer = self._engine.lanes[name].current.scorer
        if not isinstance(scorer, Verifier):
            return {}
        try:
            return scorer.explain(sample)
        except GuerdonError as error:
            return {"read as": str(error)}


class _OnBench:
    def __init__(self, bench: Bench, voice: Voice) -> None:
        self._bench, self.name, self.version = bench, voice.name, voice.version
        self.scale: Any = voice.scale

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self._bench.score(self.name, samples)


def _verifiers() -> dict[str, Scorer]:
    """Those that work without options; one that cannot be loaded here is left out, ``guerdon doctor`` says why."""
    from guerdon import verifiers

    found: dict[str, Scorer] = {}
    for name in verifiers.names():
        try:
            found[name] = verifiers.load(name)
        except Exception:  # noqa: S112 (options that are needed, an extra that is not installed, a broken package)
            continue
    return found
