"""RemoteScorer: a scorer that lives on a guerdon server, as an ordinary Scorer.

All requests of a process run on one event loop in one daemon thread. So there is one code path for sync and async
callers, any thread and any event loop may call, and a scorer holds one connection pool however many of them do. Nothing
is opened before the first call, and nothing open is pickled.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import weakref
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from guerdon import __version__
from guerdon.rewards.errors import OutageError, ScaleError, UnknownNameError, UsageError
from guerdon.rewards.types import Sample, Scale, Score
from guerdon.serving import _wire
from guerdon.serving._wire import About, Part
from guerdon.serving.config import TOKEN_VARIABLE, is_loopback

_T = TypeVar("_T")
_logger = logging.getLogger(__name__)

RETRIED = frozenset({408, 425, 429})
"""Statuses that are tried again, beside all of 5xx. Every other refusal would be the same the next time."""

CONNECT_TIMEOUT = 10.0
"""Seconds; a host that does not take a connection by then is down, however long scoring may take."""

KEEPALIVE = 2.0
"""Seconds an idle connection is kept: less than uvicorn's 5, so that a server does not close one as it is used."""


class RemoteScorer:
    """A scorer of a guerdon server, over ``POST {url}/v1/score``.

    url: the server's address, ``http://host:port``, or ``http://host:port#name``. name: which of its scorers; None
    takes the only one. token: the server's bearer token; None takes the environment's GUERDON_TOKEN, if that is set.
    timeout: seconds for one try, of a request of up to batch_size samples and batch_bytes bytes (a group is never
    divided). retries: how often a request is tried again after a failed connection, a timeout, 408, 429 or 5xx; before
    the nth retry it waits a random time of up to ``backoff * 2**(n-1)`` seconds, or what Retry-After asks if that is
    longer, at most a minute. With the defaults a server may be away for half a minute on average. concurrency: requests
    in flight at once, over all threads and event loops.

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
        self.url, self._name = _address(url, name)
        for option, value, least in (
            ("timeout", timeout, 0.001),
            ("backoff", backoff, 0.0),
            ("retries", retries, 0),
            ("batch_size", batch_size, 1),
            ("batch_bytes", batch_bytes, 1),
            ("concurrency", concurrency, 1),
        ):
            if not value >= least:
                raise UsageError(f"{option} must be at least {least}, got {value!r}")
        self._token = None if token is None else _checked_token(token)
        self.timeout, self.retries, self.backoff = timeout, retries, backoff
        self.batch_size, self.batch_bytes, self.concurrency = batch_size, batch_bytes, concurrency
        self._about: About | None = None
        self._versions: frozenset[str] = frozenset()
        self._session: _Session | None = None

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
        return _wait(self._start(samples))

    async def ascore(self, samples: Sequence[Sample]) -> list[Score]:
        """``score`` for async callers; cancelling it cancels its requests."""
        return await asyncio.wrap_future(self._start(samples))

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_about": None, "_versions": frozenset(), "_session": None}

    def __repr__(self) -> str:
        return f"RemoteScorer({self.url!r}, {self._name!r})"

    # Everything below runs on the background loop, except _start and _known, which wait for it.

    def _start(self, samples: Sequence[Sample]) -> Future[list[Score]]:
        parts, unsent = _wire.encode(samples, batch_size=self.batch_size, batch_bytes=self.batch_bytes)
        return asyncio.run_coroutine_threadsafe(self._score(parts, unsent), _background_loop())

    def _known(self) -> About:
        if self._about is None:
            return _wait(asyncio.run_coroutine_threadsafe(self._ask(), _background_loop()))
        return self._about

    async def _score(self, parts: list[Part], scores: dict[int, Score]) -> list[Score]:
        if parts:
            name = self._name or (self._about or await self._ask()).name
            for part, answer in zip(parts, await _all([self._post(part, name) for part in parts]), strict=True):
                scores.update(zip(part.positions, answer, strict=True))
        return [scores[position] for position in range(len(scores))]

    async def _post(self, part: Part, name: str) -> list[Score]:
        where = f"{self.url}/v1/score"
        response = await self._request("POST", where, part.body(name))
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
        response = await self._request("GET", where)
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

    async def _request(self, method: str, where: str, body: bytes | None = None) -> httpx.Response:
        """The answer with a status that would not change; OutageError after the last try."""
        session = self._open()
        started = time.monotonic()
        async with session.slots:  # held while waiting too: a server in trouble gets fewer requests, not more
            for attempt in range(1, self.retries + 2):
                asked = None
                try:
                    async with asyncio.timeout(self.timeout):
                        response = await session.client.request(method, where, content=body)
                except TimeoutError:
                    failure = f"no answer within {self.timeout:g} s"
                except httpx.RequestError as error:
                    failure = f"{type(error).__name__}: {error}"
                else:
                    if response.status_code not in RETRIED and response.status_code < 500:
                        return response
                    failure = f"status {response.status_code}: {_wire.error_message(response.content)}"
                    asked = _wire.retry_after(response.headers.get("Retry-After"))
                if attempt <= self.retries:
                    wait = _wire.wait_before(attempt, self.backoff, asked)
                    _logger.warning("%s: %s; retry %d of %d in %.1f s", where, failure, attempt, self.retries, wait)
                    await asyncio.sleep(wait)
        raise OutageError(
            f"{where} did not answer in {self.retries + 1} tries over {time.monotonic() - started:.0f} s; "
            f"the last failed with {failure}; is the server up? (curl {self.url}/health)"
        )

    async def _refusal(
        self, response: httpx.Response, where: str, name: str | None = None, n_samples: int = 0
    ) -> Exception:
        """The exception for an answer that is neither scores nor worth another try."""
        status, message = response.status_code, _wire.error_message(response.content)
        if status in (401, 403):
            given = "the token given was not accepted" if self._bearer() else "it wants a bearer token"
            given += f"; pass token=... or set {TOKEN_VARIABLE}"
            return UsageError(f"{where} answered {status}: {given} ({message})")
        if status == 404:
            if name is None:
                return UsageError(f"{where} is not there (404): is {self.url} the address of a guerdon server?")
            if name not in (scorers := await self._listing()):
                return UnknownNameError(f"scorer at {self.url}", name, scorers)
        if status == 413:
            return UsageError(
                f"{where} refused a request of {n_samples} samples as too large: {message}; lower batch_size or "
                "batch_bytes (a group always travels whole), or raise the server's limits"
            )
        if response.has_redirect_location:
            return UsageError(f"{where} redirects to {response.headers['Location']}; use that address")
        if 400 <= status < 500:
            return UsageError(f"{where} refused the request with {status}: {message}")
        return OutageError(f"{where} answered wrongly: status {status}, 200 was expected")

    def _bearer(self) -> str | None:
        token = self._token or os.environ.get(TOKEN_VARIABLE, "").strip()
        return _checked_token(token) if token else None

    def _open(self) -> _Session:
        loop = asyncio.get_running_loop()
        if self._session is None or self._session.loop is not loop:  # another loop: we are in a forked child
            headers = {"User-Agent": f"guerdon/{__version__}", "Content-Type": "application/json"}
            if token := self._bearer():
                headers["Authorization"] = f"Bearer {token}"
            client = httpx.AsyncClient(
                headers=headers,
                timeout=httpx.Timeout(self.timeout, connect=min(self.timeout, CONNECT_TIMEOUT), pool=None),
                # the slots limit how many there are, since waiting for one must not count as time on the wire
                limits=httpx.Limits(max_connections=None, keepalive_expiry=KEEPALIVE),
                # a proxy named in the environment cannot reach this machine's own loopback
                trust_env=not is_loopback(urlsplit(self.url).hostname or ""),
            )
            self._session = _Session(loop, client, asyncio.Semaphore(self.concurrency))
            weakref.finalize(self, self._session.close).atexit = False
        return self._session


@dataclass(frozen=True, slots=True)
class _Session:
    """What is open: a connection pool and the slots for requests in flight, both bound to one event loop."""

    loop: asyncio.AbstractEventLoop
    client: httpx.AsyncClient
    slots: asyncio.Semaphore

    def close(self) -> None:
        # After a fork it is the parent's to close. No lock is taken here: the garbage collector may call this while
        # this very thread holds it.
        if self.loop is _loop:
            asyncio.run_coroutine_threadsafe(self.client.aclose(), self.loop)


async def _all(coroutines: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Their results in order; as soon as one fails the others are cancelled and its error is raised."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


def _wait(future: Future[_T]) -> _T:
    try:
        return future.result()
    except BaseException:  # Ctrl-C too: what nobody waits for should not go on
        future.cancel()
        raise


def _address(url: str, name: str | None) -> tuple[str, str | None]:
    """The base address without a trailing slash, and the scorer's name, which may stand behind ``#``."""
    if name is not None and not (isinstance(name, str) and name):
        raise UsageError(f"name must be the name of a scorer or None, got {name!r}")
    try:
        parts = urlsplit(str(url))
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket that is not closed, a port that is none
        known = False
    if not known:
        raise UsageError(f"url must look like http://127.0.0.1:8008, got {url!r}")
    if parts.username or parts.password or parts.query:
        raise UsageError("url must hold neither a password nor a query; pass token=... for a server that wants one")
    if parts.fragment and name not in (None, parts.fragment):
        raise UsageError(f"url names the scorer {parts.fragment!r} and name is {name!r}; give one of them")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", name or parts.fragment or None


def _checked_token(token: str) -> str:
    if not (token.isascii() and token.isprintable() and token and " " not in token):
        raise UsageError("the token must be visible ASCII characters without spaces; it is not shown here, for safety")
    return token


_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _background_loop() -> asyncio.AbstractEventLoop:
    """The process's event loop for requests, started at the first use."""
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="guerdon-client", daemon=True).start()
        return _loop


def _forget_loop() -> None:
    """A forked child has the loop's memory but not its thread, so it starts its own."""
    global _lock, _loop
    _lock, _loop = threading.Lock(), None


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_loop)
