"""The way in: who may call, which dialect a body is of, and the answer to it, in plain ASGI.

Trainers send one sample a request, thousands at once, so what a request costs besides its score matters: no routing
table, no validation layer and no background task between the socket and the engine. Everything that is not scoring
(status, documentation) goes on to the application behind.

    token -> route -> body (limits, JSON) -> dialect.read -> engine -> dialect.write

With a token set, every path is behind it but those in OPEN: what is not listed there is closed, including paths that
do not exist.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from functools import partial
from typing import Any

from guerdon.rewards.errors import UnknownNameError
from guerdon.serving.config import ServeConfig
from guerdon.serving.dialects import Context, Dialect
from guerdon.serving.dialects._forms import UnscoredError
from guerdon.serving.dialects.registry import DIALECTS
from guerdon.serving.engine import Engine, LeftError, RefusedError
from guerdon.serving.jobs import Request
from guerdon.serving.metrics import Metrics
from guerdon.serving.schemas import BodyError, Problem, parse, to_json

logger = logging.getLogger("guerdon.serving")

OPEN = frozenset({"/", "/health", "/live", "/ready"})
"""The paths that need no token: they say that the server runs, and nothing about it."""

ADMIN = "/v1/admin/"
"""What an administrator's token opens, and no other token."""

UI = "/ui"
"""The inspection UI, whose own gate lets in by the same tokens, and a browser by its cookie."""

# Bytes of a body that are read on the event loop: a millisecond's work at most, or 20 in the worst case known (a
# hundred thousand tiny lists). A larger one is read in a thread.
_READ_AT_ONCE = 64 * 1024
_GONE = 499
"""nginx's number for a caller who has left. Only the metrics see it."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_METHODS = frozenset({"POST", "PUT"})  # SGLang's routes take either
_JSON = (b"content-type", b"application/json")


class Front:
    """ASGI middleware: lets in whoever has a token, answers scoring requests, counts every answer."""

    def __init__(self, app: App, engine: Engine, config: ServeConfig, metrics: Metrics) -> None:
        self._app, self._engine, self._config, self._metrics = app, engine, config, metrics
        self._tokens = {tenant.token.encode(): name for name, tenant in config.tenants.items()}
        if config.token is not None:
            self._tokens[config.token.encode()] = ""
        self._admin = None if config.admin_token is None else config.admin_token.encode()
        self._routes: dict[str, tuple[str, list[Dialect]]] = {}  # the path as its dialects know it, and they
        for dialect in DIALECTS:
            for path in dialect.PATHS:
                self._routes.setdefault(path, (path, []))[1].append(dialect)
                self._routes[f"/compat/{dialect.NAME}{path}"] = (path, [dialect])
        self._scales = {name: lane.scale for name, lane in engine.lanes.items()}  # which never change
        self._default = config.default_scorer or next(iter(engine.lanes), "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:  # there are no websockets here
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._admin is not None and scope["path"].startswith(ADMIN):
            if hmac.compare_digest(_bearer(scope), self._admin):
                await self._pass_on(scope, receive, send)
            else:
                message = "the routes below /v1/admin/ want the header 'Authorization: Bearer TOKEN' with admin_token"
                body = DIALECTS[-1].error(401, "unauthorized", message, [])
                await self._send(send, "other", 401, body, {"WWW-Authenticate": "Bearer"})
            return
        if self._config.ui and (scope["path"] == UI or scope["path"].startswith(f"{UI}/")):
            await self._pass_on(scope, receive, send)
            return
        path, scorer = _split(scope["path"])
        path, dialects = self._routes.get(path, (path, None))
        tenant = self._tenant(scope) if self._tokens else ""
        scores = dialects is not None and scope["method"] in _METHODS
        if tenant is None and (scores or scope["path"] not in OPEN):
            message = "this server wants the header 'Authorization: Bearer TOKEN' with its token"
            body = (dialects or DIALECTS)[-1].error(401, "unauthorized", message, [])
            await self._send(send, "other", 401, body, {"WWW-Authenticate": "Bearer"})
        elif dialects is None or (path in OPEN and not scores):
            await self._pass_on(scope, receive, send)
        elif not scores:
            message = f"{path} takes POST, not {scope['method']}; /openapi.json says what with"
            body = dialects[-1].error(405, "method_not_allowed", message, [])
            await self._send(send, path, 405, body, {"Allow": "POST"})
        else:
            await self._score(_Asked(scope, receive, send, path, scorer, tenant or None), dialects)

    def _tenant(self, scope: Scope) -> str | None:
        """Whose token the request carries: a tenant's name, "" for the server's own, None for no right one."""
        token, owner = _bearer(scope), None
        # In constant time, and against all, so that the time of an answer does not tell how much of a guess was right.
        for known, name in self._tokens.items():
            if hmac.compare_digest(token, known):
                owner = name
        return owner

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        status = 500  # what the layer around this one answers if the app raises

        async def noting_status(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await _send(send, message)

        try:
            await self._app(scope, receive, noting_status)
        finally:
            # Only paths of known routes become labels: anyone can invent others without end.
            self._metrics.responded(getattr(scope.get("route"), "path", "other"), status)

    # --- scoring ---

    async def _score(self, asked: _Asked, dialects: Sequence[Dialect]) -> None:
        dialect, kind, problems = dialects[-1], "", []
        headers: dict[str, str] = {}
        try:
            self._engine.check_room()  # under overload reading a body costs more than refusing it
            data = await self._read(asked)
            dialect = next((each for each in dialects if each.claims(asked.path, data)), dialects[-1])
            status, body, headers = await self._answer(dialect, asked, data)
            await self._send(asked.send, asked.path, status, body, headers)
            return
        except LeftError:
            self._metrics.responded(asked.path, _GONE)
            return
        except BodyError as error:
            status, kind, message, problems = error.status, error.kind, str(error), error.problems
        except UnknownNameError as error:
            status, kind, message = 404, "unknown_scorer", str(error)
            problems = [Problem(field="scorer", message=message)]
        except UnscoredError as error:
            status, kind, message = error.status, error.kind, str(error)
            headers = {"Retry-After": "1"} if status == 503 else {}
        except RefusedError as error:
            # Some clients take 429 for final, so only our own says it, and only of a caller's share.
            own = dialect.NAME == "guerdon" and error.reason == "share"
            status, kind, message = 429 if own else 503, error.reason, str(error)
            headers = {"Retry-After": str(error.retry_after)}
            self._metrics.refused(error.reason)
        except Exception:
            # The traceback goes to the server's log, never to a caller.
            logger.exception("a request to %s failed", asked.path)
            status, kind, message = 500, "internal_error", "the server made a mistake; its log says which"
        await self._send(asked.send, asked.path, status, dialect.error(status, kind, message, problems), headers)

    async def _answer(self, dialect: Dialect, asked: _Asked, data: Any) -> tuple[int, Any, dict[str, str]]:
        engine, config = self._engine, self._config
        context = Context(
            path=asked.path,
            scorer=asked.scorer,
            scorers=self._scales,
            default=self._default,
            request_id=os.urandom(16).hex(),
            max_items=config.max_items,
        )
        call = dialect.read(data, context)
        if wanted := _value(asked.scope, b"x-model-version"):
            lane = engine.lanes.get(call.scorer)
            if lane is not None and lane.version != wanted:
                message = f"is {wanted!r:.100}, and scorer {call.scorer!r} is served in version {lane.version!r}"
                raise BodyError(409, "version", [Problem(field="X-Model-Version", message=message)])
        seconds = config.timeout_seconds if call.seconds is None else min(call.seconds, config.timeout_seconds)
        watch = _Watch(asked.receive)
        request = Request(context.request_id, asked.path, call.names)
        job = engine.submit(
            call.scorer, call.items, seconds=seconds, tenant=asked.tenant, slow=watch.begin, request=request
        )
        watch.leave = partial(engine.leave, job)
        try:
            scored = await engine.result(job)
        finally:
            watch.end()
        headers = {"X-Model-Version": _header(scored.version), "X-Request-Id": context.request_id}
        return 200, call.write(scored), headers

    async def _read(self, asked: _Asked) -> Any:
        """The request's JSON, if it says that it is JSON and keeps to the limit, which is checked while it arrives.

        Asking for the content type also keeps out pages that a browser has open: a form may be posted to any address,
        JSON only after a preflight request, which is not answered here. Raises BodyError, LeftError.
        """
        content_type = _value(asked.scope, b"content-type").partition(";")[0].strip().lower()
        if content_type != "application/json":
            wanted = "must have the content type application/json; with curl add -H 'Content-Type: application/json'"
            raise _unreadable(415, "content_type", f"{wanted}; got {content_type!r:.80}")
        limit, body = self._config.max_body_bytes, b""
        too_large = f"has more than {limit} bytes, the most that this server takes in one request; send parts"
        length = _value(asked.scope, b"content-length")
        if length.isdigit() and (len(length) > 18 or int(length) > limit):
            raise _unreadable(413, "too_large", too_large)
        message = await asked.receive()
        if message.get("more_body"):
            try:
                async with asyncio.timeout(self._config.timeout_seconds):
                    body = await _rest(message, asked.receive, limit)
            except TimeoutError:
                raise _unreadable(408, "slow", f"did not arrive within {self._config.timeout_seconds:g} s") from None
        else:
            body = message.get("body", b"")
        if message["type"] == "http.disconnect":
            raise LeftError
        if len(body) > limit:
            raise _unreadable(413, "too_large", too_large)
        return parse(body) if len(body) <= _READ_AT_ONCE else await asyncio.to_thread(parse, body)

    async def _send(self, send: Send, route: str, status: int, body: Any, headers: Mapping[str, str]) -> None:
        payload = body if isinstance(body, bytes) else to_json(body)
        fields = [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        start = {
            "type": "http.response.start",
            "status": status,
            "headers": [_JSON, (b"content-length", str(len(payload)).encode()), *fields],
        }
        await _send(send, start)
        await _send(send, {"type": "http.response.body", "body": payload})
        self._metrics.responded(route, status)


class _Asked:
    """A scoring request. path: without what names the scorer. scorer: named by the URL. tenant: whose it is."""

    __slots__ = ("path", "receive", "scope", "scorer", "send", "tenant")

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, path: str, scorer: str | None, tenant: str | None
    ) -> None:
        self.scope, self.receive, self.send = scope, receive, send
        self.path, self.scorer, self.tenant = path, scorer, tenant


class _Watch:
    """Listens for a caller who hangs up, from when it is told to begin. leave: called if that happens."""

    __slots__ = ("_receive", "_task", "leave")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._task: asyncio.Task[None] | None = None
        self.leave: Callable[[], None]

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._listen())

    def end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _listen(self) -> None:
        # The body has been read, so the only message still to come is http.disconnect.
        await self._receive()
        self.leave()


def _bearer(scope: Scope) -> bytes:
    """The token of a request; empty, which is nobody's, if it has none or several."""
    given: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def _split(path: str) -> tuple[str, str | None]:
    """``/s/math/get_reward`` is ``/get_reward`` asked of ``math``."""
    if not path.startswith("/s/"):
        return path, None
    scorer, slash, rest = path[3:].partition("/")
    return slash + rest, scorer


def _value(scope: Scope, name: bytes) -> str:
    """A header's value, or nothing."""
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return ""


async def _rest(message: MutableMapping[str, Any], receive: Receive, limit: int) -> bytes:
    """A body that comes in parts, or a little more than the limit of it."""
    body = bytearray(message.get("body", b""))
    while message.get("more_body") and len(body) <= limit:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise LeftError
        body += message.get("body", b"")
    return bytes(body)


async def _send(send: Send, message: MutableMapping[str, Any]) -> None:
    try:
        await send(message)
    except RuntimeError as error:
        # A client that sent several requests and hung up: uvicorn (0.54) goes on to the next one, and uvloop refuses
        # to write. Without a token, too, such clients could fill the log with tracebacks.
        if "closed" not in str(error):
            raise


def _unreadable(status: int, kind: str, message: str) -> BodyError:
    return BodyError(status, kind, [Problem(field="", message=message)])


def _header(value: str) -> str:
    """A version as a header can bear it: visible ASCII, everything else escaped."""
    return value if value.isascii() and value.isprintable() else value.encode("unicode_escape").decode("ascii")
