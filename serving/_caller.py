"""Requests to one server, tried again where that may help: what the clients of our own and of others' servers share.

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
from collections.abc import Collection, Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from guerdon import __version__
from guerdon.rewards.errors import OutageError, UsageError
from guerdon.serving import _wire
from guerdon.serving.config import is_loopback

_T = TypeVar("_T")
_logger = logging.getLogger("guerdon.serving.client")

RETRIED = frozenset({408, 425, 429})
"""Statuses that are tried again, beside all of 5xx. Every other refusal would be the same the next time."""

CONNECT_TIMEOUT = 10.0
"""Seconds; a host that does not take a connection by then is down, however long scoring may take."""

KEEPALIVE = 2.0
"""Seconds an idle connection is kept: less than uvicorn's 5, so that a server does not close one as it is used."""


class Caller:
    """Calls one server. Thread-safe, usable after a fork, picklable.

    timeout: seconds for one try. retries: how often a request is tried again after a failed connection, a timeout, 408,
    425, 429 or 5xx; before the nth retry it waits a random time of up to ``backoff * 2**(n-1)`` seconds, or what
    Retry-After asks if that is longer, at most a minute. concurrency: requests in flight at once, over all threads and
    event loops. token: sent as a bearer token; None takes the environment's token_variable, if that is named and set
    (which is not pickled).
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None,
        token_variable: str | None = None,
        timeout: float,
        retries: int,
        backoff: float,
        concurrency: int,
    ) -> None:
        check_least(
            timeout=(timeout, 0.001), backoff=(backoff, 0.0), retries=(retries, 0), concurrency=(concurrency, 1)
        )
        self.url = url
        self._token = None if token is None else _checked_token(token)
        self._token_variable = token_variable
        self.timeout, self.retries, self.backoff, self.concurrency = timeout, retries, backoff, concurrency
        self._session: _Session | None = None

    async def request(
        self, method: str, where: str, body: bytes | None = None, *, final: Collection[int] = ()
    ) -> httpx.Response:
        """The answer with a status that would not change; OutageError after the last try. On the background loop.

        final: statuses that are not tried again here, though they usually are.
        """
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
                    status = response.status_code
                    if status in final or (status not in RETRIED and status < 500):
                        return response
                    failure = f"status {status}: {_wire.error_message(response.content)}"
                    asked = _wire.retry_after(response.headers.get("Retry-After"))
                if attempt <= self.retries:
                    wait = _wire.wait_before(attempt, self.backoff, asked)
                    _logger.warning("%s: %s; retry %d of %d in %.1f s", where, failure, attempt, self.retries, wait)
                    await asyncio.sleep(wait)
        raise OutageError(
            f"{where} did not answer in {self.retries + 1} tries over {time.monotonic() - started:.0f} s; "
            f"the last failed with {failure}; is the server up? (curl {self.url}/health)"
        )

    def refusal(self, response: httpx.Response, where: str) -> Exception:
        """The exception for an answer that is neither of use nor worth another try."""
        status, message = response.status_code, _wire.error_message(response.content)
        if status in (401, 403):
            given = "the token given was not accepted" if self._bearer() else "it wants a bearer token"
            given += "; pass token=..." + (f" or set {self._token_variable}" if self._token_variable else "")
            return UsageError(f"{where} answered {status}: {given} ({message})")
        if response.has_redirect_location:
            return UsageError(f"{where} redirects to {response.headers['Location']}; use that address")
        if 400 <= status < 500:
            return UsageError(f"{where} refused the request with {status}: {message}")
        return OutageError(f"{where} answered wrongly: status {status}, 200 was expected")

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_session": None}

    def _bearer(self) -> str | None:
        if self._token is not None or self._token_variable is None:
            return self._token
        token = os.environ.get(self._token_variable, "").strip()
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


def check_least(**options: tuple[float, float]) -> None:
    """Raise UsageError for an option, given as (value, least), that is below its least."""
    for name, (value, least) in options.items():
        if not value >= least:
            raise UsageError(f"{name} must be at least {least}, got {value!r}")


def address(url: str, name: str | None, *, like: str = "http://127.0.0.1:8008") -> tuple[str, str | None]:
    """The base address without a trailing slash, and the name, which may stand behind ``#``. like: an example."""
    if name is not None and not (isinstance(name, str) and name):
        raise UsageError(f"name must be the name of a scorer or None, got {name!r}")
    try:
        parts = urlsplit(str(url))
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a bracket that is not closed, a port that is none
        known = False
    if not known:
        raise UsageError(f"url must look like {like}, got {url!r}")
    if parts.username or parts.password or parts.query:
        raise UsageError("url must hold neither a password nor a query; pass token=... for a server that wants one")
    if parts.fragment and name not in (None, parts.fragment):
        raise UsageError(f"url names the scorer {parts.fragment!r} and name is {name!r}; give one of them")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", name or parts.fragment or None


def _checked_token(token: str) -> str:
    if not (token.isascii() and token.isprintable() and token and " " not in token):
        raise UsageError("the token must be visible ASCII characters without spaces; it is not shown here, for safety")
    return token


# --- the background loop ---


def start(coroutine: Coroutine[Any, Any, _T]) -> Future[_T]:
    """Run it on the background loop."""
    return asyncio.run_coroutine_threadsafe(coroutine, _background_loop())


def wait(future: Future[_T]) -> _T:
    """Its result; an interrupted wait cancels it."""
    try:
        return future.result()
    except BaseException:  # Ctrl-C too: what nobody waits for should not go on
        future.cancel()
        raise


async def together(coroutines: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """Their results in order; as soon as one fails the others are cancelled and its error is raised."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in coroutines]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()


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
