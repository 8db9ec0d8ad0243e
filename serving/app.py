"""The HTTP side: an ASGI app over the engine. Bodies in, samples to the engine, scores out, and every error as JSON.

``create_app(config, scorers)`` makes a complete app for any ASGI server; ``guerdon.serving.server`` runs it with
uvicorn and a clean shutdown. Nothing here blocks: reading is bounded by the body limit, and scoring happens in the
engine's threads.

With a token set, every path is behind it but those in OPEN: what is not listed there is closed, including paths that
do not exist.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from guerdon import __version__
from guerdon.rewards import Scorer
from guerdon.rewards.errors import MissingExtraError, UnknownNameError
from guerdon.serving.config import ServeConfig

try:
    import orjson  # noqa: F401 (named here so that its absence is reported with the rest)
    import prometheus_client  # noqa: F401
    from fastapi import FastAPI, Request, Response
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
except ImportError as error:
    raise MissingExtraError("the server", "serve") from error

from guerdon.serving.engine import Engine, RefusedError, Scored
from guerdon.serving.metrics import Metrics
from guerdon.serving.schemas import (
    BodyError,
    ErrorBody,
    ErrorResponse,
    Problem,
    ScoreRequest,
    ScoreResponse,
    ScorerInfo,
    ScorerList,
    Work,
    read_request,
    response_body,
    to_json,
)

logger = logging.getLogger("guerdon.serving")

OPEN = frozenset({"/", "/health", "/ready"})
"""The paths that need no token: they say that the server runs, and nothing about it."""

# Bytes of a body that are read on the event loop: a millisecond's work at most, or 20 in the worst case known (a
# hundred thousand tiny lists). A larger one is read in a thread.
_READ_AT_ONCE = 64 * 1024

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


def create_app(config: ServeConfig, scorers: Mapping[str, Scorer]) -> FastAPI:
    """The app that serves these scorers under these names (the names in config.scorers are not read).

    ``app.state.engine`` is the Engine. Raises UsageError for a scorer without a version or scale, and OutageError for a
    remote one that does not answer.
    """
    metrics = Metrics(scorers)
    engine = Engine(scorers, config, metrics)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        engine.close()

    app = FastAPI(
        title="guerdon",
        version=__version__,
        summary="Scores of reward models and verifiers.",
        description=__doc__,
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.engine = engine
    _add_status_routes(app, engine, metrics)
    _add_score_routes(app, engine, metrics, config)
    _add_error_handlers(app, metrics)
    _describe_request(app)
    app.add_middleware(_Guard, token=config.token, metrics=metrics)
    return app


def _add_status_routes(app: FastAPI, engine: Engine, metrics: Metrics) -> None:
    @app.get("/", tags=["status"])
    async def root() -> Response:
        """That this is guerdon, and where to read on."""
        return _json({"name": "guerdon", "version": __version__, "docs": "/docs", "openapi": "/openapi.json"})

    @app.get("/health", tags=["status"])
    async def health() -> Response:
        """200 while the process can answer at all, whatever its scorers are busy with."""
        return _json({"status": "ok", "version": __version__})

    @app.get("/ready", tags=["status"])
    async def ready() -> Response:
        """200 while new work is taken, 503 once the server is stopping."""
        return _json({"status": "draining"}, 503) if engine.draining else _json({"status": "ready"})

    @app.get("/metrics", tags=["status"])
    async def prometheus() -> Response:
        """Counters in the Prometheus text format."""
        return Response(metrics.text(), media_type=metrics.content_type)


def _add_score_routes(app: FastAPI, engine: Engine, metrics: Metrics, config: ServeConfig) -> None:
    @app.get("/v1/scorers", tags=["scoring"], responses={200: {"model": ScorerList}})
    async def scorers() -> Response:
        """The scorers there are."""
        infos = [
            ScorerInfo(name=name, version=lane.version, scale=lane.scale, kind="model" if lane.prepares else "plain")
            for name, lane in engine.lanes.items()
        ]
        return _json(ScorerList(scorers=infos).model_dump())

    @app.post("/v1/score", tags=["scoring"], responses=_score_responses())
    async def score(request: Request) -> Response:
        """One score for each item, in order: a number on the scorer's scale, or null with a status and a reason.

        A scorer that fails on an item gives null with status `error`; so does another server that does not answer.
        """
        request_id = uuid.uuid4().hex
        try:
            body = await _read(request, config)
        except ClientDisconnect:
            return _NOBODY
        if len(body) <= _READ_AT_ONCE:
            work = read_request(body, request_id, max_items=config.max_items)
        else:
            work = await asyncio.to_thread(read_request, body, request_id, max_items=config.max_items)
        lane = engine.lanes.get(work.scorer)
        if lane is None:
            raise UnknownNameError("scorer", work.scorer[:100], engine.lanes)
        scored = await _unless_gone(request, _score(engine, work, config))
        if scored is None:
            return _NOBODY
        body = response_body(work.scorer, lane.version, lane.scale, work.ids, scored.scores, scored.timing_ms)
        headers = {"X-Model-Version": _header(lane.version), "X-Request-Id": request_id}
        return Response(body, media_type="application/json", headers=headers)


_NOBODY = Response(status_code=499)
"""The answer to a caller who has left: nginx's number for it. Only the metrics see it."""


async def _score(engine: Engine, work: Work, config: ServeConfig) -> Scored:
    seconds = config.timeout_seconds if work.seconds is None else min(work.seconds, config.timeout_seconds)
    return await engine.score(work.scorer, work.samples, seconds=seconds)


async def _read(request: Request, config: ServeConfig) -> bytes:
    """The request's body, if it says that it is JSON and keeps to the limit, which is checked while it arrives.

    Asking for the content type also keeps out pages that a browser has open: a form may be posted to any address, JSON
    only after a preflight request, which is not answered here. Raises BodyError.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        wanted = "must have the content type application/json; with curl add -H 'Content-Type: application/json'"
        raise _unreadable(415, "content_type", f"{wanted}; got {content_type!r:.80}")
    limit = config.max_body_bytes
    too_large = f"has more than {limit} bytes, the most that this server takes in one request; send parts"
    length = request.headers.get("content-length", "")
    if length.isdigit() and (len(length) > 18 or int(length) > limit):
        raise _unreadable(413, "too_large", too_large)
    body = bytearray()
    try:
        async with asyncio.timeout(config.timeout_seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > limit:
                    raise _unreadable(413, "too_large", too_large)
    except TimeoutError:
        raise _unreadable(408, "slow", f"did not arrive within {config.timeout_seconds:g} s") from None
    return bytes(body)


def _unreadable(status: int, kind: str, message: str) -> BodyError:
    return BodyError(status, kind, [Problem(field="", message=message)])


async def _unless_gone(request: Request, work: Awaitable[Scored]) -> Scored | None:
    """The result, or None if the caller closed the connection first; what was not yet scored is then dropped."""
    result = asyncio.ensure_future(work)
    # The body has been read, so the only message still to come is http.disconnect.
    gone = asyncio.ensure_future(request.receive())
    try:
        await asyncio.wait({result, gone}, return_when=asyncio.FIRST_COMPLETED)
        return result.result() if result.done() else None
    finally:
        result.cancel()
        gone.cancel()


# --- errors ---


def _add_error_handlers(app: FastAPI, metrics: Metrics) -> None:
    @app.exception_handler(BodyError)
    async def bad_body(request: Request, error: BodyError) -> Response:
        return _error(error.status, error.kind, str(error), error.problems)

    @app.exception_handler(UnknownNameError)
    async def unknown(request: Request, error: UnknownNameError) -> Response:
        problem = Problem(field="scorer", message=str(error))
        return _error(404, "unknown_scorer", str(error), [problem])

    @app.exception_handler(RefusedError)
    async def refused(request: Request, error: RefusedError) -> Response:
        metrics.refused(error.reason)
        return _error(503, error.reason, str(error), headers={"Retry-After": str(error.retry_after)})

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        """What the router raises: 404 and 405."""
        kind = "not_found" if error.status_code == 404 else "method_not_allowed"
        message = f"no route {request.method} {request.url.path!r:.100}; /openapi.json lists those there are"
        return _error(error.status_code, kind, message, headers=error.headers)

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> Response:
        # The traceback goes to the server's log (Starlette raises it again behind this answer), never to a caller.
        return _error(500, "internal_error", "the server made a mistake; its log says which")


def _error(
    status: int,
    kind: str,
    message: str,
    problems: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    param = problems[0].field or None if problems else None
    body = ErrorResponse(error=ErrorBody(type=kind, message=message, param=param, problems=list(problems)))
    return _json(body.model_dump(), status, headers)


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(to_json(value), status, dict(headers or {}), "application/json")


def _header(value: str) -> str:
    """A version as a header can bear it: visible ASCII, everything else escaped."""
    return value.encode("unicode_escape").decode("ascii")


# --- the token ---


class _Guard:
    """ASGI middleware: lets in whoever has the token, and counts every answer."""

    def __init__(self, app: _App, token: str | None, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:  # there are no websockets here
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        status = 500  # what the layer around this one answers if the app raises

        async def noting_status(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            try:
                await send(message)
            except RuntimeError as error:
                # A client that sent several requests and hung up: uvicorn (0.54) goes on to the next one, and uvloop
                # refuses to write. Without a token, too, such clients could fill the log with tracebacks.
                if "closed" not in str(error):
                    raise

        try:
            if scope["path"] in OPEN or self._lets_in(scope):
                await self._app(scope, receive, noting_status)
            else:
                message = "this server wants the header 'Authorization: Bearer TOKEN' with its token"
                answer = _error(401, "unauthorized", message, headers={"WWW-Authenticate": "Bearer"})
                await answer(scope, receive, noting_status)
        finally:
            # Only paths of known routes become labels: anyone can invent others without end.
            self._metrics.responded(getattr(scope.get("route"), "path", "other"), status)

    def _lets_in(self, scope: _Scope) -> bool:
        if self._token is None:
            return True
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        scheme, _, token = (given[0] if len(given) == 1 else b"").partition(b" ")
        # In constant time, so that the time of an answer does not tell how much of a guess was right.
        return hmac.compare_digest(token.strip(), self._token) and scheme.lower() == b"bearer"


# --- the OpenAPI document ---


def _score_responses() -> dict[int | str, dict[str, Any]]:
    errors = {
        400: "The body is not JSON.",
        401: "The token is missing or wrong.",
        404: "No such scorer; the message lists those there are.",
        413: "The body or the number of items is over the server's limit.",
        415: "The content type is not application/json.",
        422: "A field is missing, unknown or of the wrong kind; `param` names it.",
        503: "The queue is full or the server is stopping; try again after `Retry-After` seconds.",
    }
    described: dict[int | str, dict[str, Any]] = {
        status: {"model": ErrorResponse, "description": text} for status, text in errors.items()
    }
    return {200: {"model": ScoreResponse, "description": "One scored item for each item, in order."}, **described}


def _describe_request(app: FastAPI) -> None:
    """Put the request's schema into the document: the route reads its body itself, so FastAPI cannot know it."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schema = ScoreRequest.model_json_schema(ref_template="#/components/schemas/{model}")
        parts = schema.pop("$defs")
        document["components"]["schemas"] |= {**parts, "ScoreRequest": schema}
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"bearer": []}]
        reference = {"schema": {"$ref": "#/components/schemas/ScoreRequest"}}
        body = {"required": True, "content": {"application/json": reference}}
        document["paths"]["/v1/score"]["post"]["requestBody"] = body
        return document

    app.openapi = openapi  # type: ignore[method-assign]
