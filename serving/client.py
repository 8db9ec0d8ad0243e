"""RemoteScorer: a scorer that lives on a guerdon server, as an ordinary Scorer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import httpx

from guerdon.rewards.errors import ScaleError, UnknownNameError, UsageError
from guerdon.rewards.types import Sample, Scale, Score
from guerdon.serving import _caller, _wire
from guerdon.serving._caller import Caller
from guerdon.serving._wire import About, Part
from guerdon.serving.config import TOKEN_VARIABLE

_logger = logging.getLogger(__name__)


class RemoteScorer:
    """A scorer of a guerdon server, over ``POST {url}/v1/score``.

    url: the server's address, ``http://host:port``, or ``http://host:port#name``. name: which of its scorers; None
    takes the only one. token: the server's bearer token; None takes the environment's GUERDON_TOKEN, if that is set.
    timeout: seconds for one try, of a request of up to batch_size samples and batch_bytes bytes (a group is never
    divided). retries, backoff, concurrency: see ``_caller.Caller``; with the defaults a server may be away for half a
    minute on average, and eight requests are in flight.

    Raises OutageError when the last try failed or the answer is malformed, never a number in their place; UsageError
    when the server refuses the token or the request; UnknownNameError for a scorer it does not have; ScaleError if the
    scale changes. Thread-safe; usable after a fork; picklable (a token given here travels along, one of the environment
    does not).

    >>> scorer = RemoteScorer("http://127.0.0.1:8008", "numeric")
    >>> scorer
    RemoteScorer('http://127.0.0.1:8008', 'numeric')
    """

    remote = True  # its server remembers, so that nobody in between needs to

    def __init__(
        self,
        url: str,
        name: str | None = None,
        *,
        token: str | None = None,
        timeout: float = 180.0,
        retries: int = 5,
        backoff: float = 2.0,
        batch_size: int = 64,
        batch_bytes: int = 1_000_000,
        concurrency: int = 8,
    ) -> None:
        self.url, self._name = _caller.address(url, name)
        _caller.check_least(batch_size=(batch_size, 1), batch_bytes=(batch_bytes, 1))
        self._caller = Caller(
            self.url,
            token=token,
            token_variable=TOKEN_VARIABLE,
            timeout=timeout,
            retries=retries,
            backoff=backoff,
            concurrency=concurrency,
        )
        self.batch_size, self.batch_bytes = batch_size, batch_bytes
        self._about: About | None = None
        self._versions: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        return self._name or self._known().name

    @property
    def version(self) -> str:
        """The version seen last; it follows the server when that changes its model."""
        return self._known().version

    @property
    def scale(self) -> Scale:
        return self._known().scale

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """One score a sample, in order. Blocks; in an event loop use ``ascore``."""
        return _caller.wait(self._start(samples))

    async def ascore(self, samples: Sequence[Sample]) -> list[Score]:
        """``score`` for async callers; cancelling it cancels its requests."""
        return await asyncio.wrap_future(self._start(samples))

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        self._caller.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_about": None, "_versions": frozenset()}

    def __repr__(self) -> str:
        return f"RemoteScorer({self.url!r}, {self._name!r})"

    # Everything below runs on the background loop, except _start and _known, which wait for it.

    def _start(self, samples: Sequence[Sample]) -> Future[list[Score]]:
        parts, unsent = _wire.encode(samples, batch_size=self.batch_size, batch_bytes=self.batch_bytes)
        return _caller.start(self._score(parts, unsent))

    def _known(self) -> About:
        if self._about is None:
            return _caller.wait(_caller.start(self._ask()))
        return self._about

    async def _score(self, parts: list[Part], scores: dict[int, Score]) -> list[Score]:
        if parts:
            name = self._name or (self._about or await self._ask()).name
            answers = await _caller.together([self._post(part, name) for part in parts])
            for part, answer in zip(parts, answers, strict=True):
                scores.update(zip(part.positions, answer, strict=True))
        return [scores[position] for position in range(len(scores))]

    async def _post(self, part: Part, name: str) -> list[Score]:
        where = f"{self.url}/v1/score"
        response = await self._caller.request("POST", where, _wire.native_body(part, name))
        if response.status_code == 413 and len(part.positions) == 1:  # its own size, so it costs no other sample
            message = _wire.error_message(response.content)
            return [Score.unscored(f"too large for the server: {message}", status="refused")]
        if response.status_code != 200:
            raise await self._refusal(response, where, name, len(part.positions))
        about, scores = _wire.read_answer(response.content, part, name, where)
        self._follow(about)
        return scores

    async def _ask(self) -> About:
        """What the server says of our scorer."""
        scorers = await self._listing()
        if self._name is None and len(scorers) != 1:
            names = ", ".join(sorted(scorers)) or "(none)"
            raise UsageError(f"{self.url} serves {len(scorers)} scorers, so name one: {names}")
        name = self._name or next(iter(scorers))
        if name not in scorers:
            raise UnknownNameError(f"scorer at {self.url}", name, scorers)
        self._follow(scorers[name])
        return scorers[name]

    async def _listing(self) -> dict[str, About]:
        where = f"{self.url}/v1/scorers"
        response = await self._caller.request("GET", where)
        if response.status_code != 200:
            raise await self._refusal(response, where)
        return _wire.read_listing(response.content, where)

    def _follow(self, about: About) -> None:
        before = self._about
        if before is not None and before.scale != about.scale:  # what was known stays, so that every later call fails
            raise ScaleError(
                f"scorer {about.name!r} at {self.url} changed its scale from {before.scale!r} to {about.scale!r} while "
                "in use; its scores cannot be mixed: start again with the new one"
            )
        if before is not None and about.version not in self._versions:
            _logger.warning(
                "scorer %r at %s changed from version %s to %s while in use; scores before and after may differ",
                about.name,
                self.url,
                before.version,
                about.version,
            )
        self._about, self._versions = about, self._versions | {about.version}

    async def _refusal(
        self, response: httpx.Response, where: str, name: str | None = None, n_samples: int = 0
    ) -> Exception:
        """The exception for an answer that is neither scores nor worth another try."""
        if response.status_code == 404:
            if name is None:
                return UsageError(f"{where} is not there (404): is {self.url} the address of a guerdon server?")
            if name not in (scorers := await self._listing()):
                return UnknownNameError(f"scorer at {self.url}", name, scorers)
        if response.status_code == 413:
            return UsageError(
                f"{where} refused a request of {n_samples} samples as too large: "
                f"{_wire.error_message(response.content)}; lower batch_size or batch_bytes (a group always travels "
                "whole), or raise the server's limits"
            )
        return self._caller.refusal(response, where)
