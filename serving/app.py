"""The HTTP side: an ASGI app over the engine. Bodies in, samples to the engine, scores out, and every error as JSON.

``create_app(config, scorers)`` makes a complete app for any ASGI server; ``guerdon.serving.server`` runs it with
uvicorn and a clean shutdown. Requests for scores are answered by the Front (``front.py``) before FastAPI sees them;
here are the status routes and the document that describes all.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
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
    from pydantic import BaseModel
    from starlette.exceptions import HTTPException
except ImportError as error:
    raise MissingExtraError("the server", "serve") from error

from guerdon.serving.admin import admin_routes
from guerdon.serving.dialects import native
from guerdon.serving.dialects.registry import DIALECTS
from guerdon.serving.engine import Engine, Scored
from guerdon.serving.front import Front
from guerdon.serving.jobs import Job
from guerdon.serving.metrics import Metrics
from guerdon.serving.schemas import ScorerInfo, ScorerList, to_json
from guerdon.serving.storing.writer import StoreWriter


def create_app(config: ServeConfig, scorers: Mapping[str, Scorer]) -> FastAPI:
    """The app that serves these scorers under these names (the names in config.scorers are not read).

    ``app.state.engine`` is the Engine, ``app.state.store`` what writes the store, or None. Raises UsageError for a
    scorer without a version or scale and for a store that cannot be written, OutageError for a remote scorer that does
    not answer.
    """
    if config.default_scorer is not None and config.default_scorer not in scorers:
        raise UnknownNameError("scorer (default_scorer)", config.default_scorer, scorers)
    metrics = Metrics(scorers)
    engine = Engine(scorers, config, metrics)
    store = None if config.store is None else StoreWriter(config.store, metrics, texts=config.store_text)
    if store is not None:
        engine.observers.append(store.note if not config.ui else _but_for_the_ui(store))

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.loop = asyncio.get_running_loop()
        yield
        engine.close()
        if store is not None:
            await asyncio.to_thread(store.close)

    app = _App(
        title="guerdon",
        version=__version__,
        summary="Scores of reward models and verifiers.",
        description=__doc__,
        lifespan=lifespan,
        redoc_url=None,
    )
    app.state.engine, app.state.store = engine, store
    if config.admin_token is not None:
        app.include_router(admin_routes(engine, config))
    _add_routes(app, engine, metrics)
    _add_error_handlers(app)
    _describe(app)
    if config.ui:
        from guerdon.serving.ui.app import mount  # Gradio takes seconds to import

        mount(app, config, engine, metrics)
    app.front = Front(super(_App, app).__call__, engine, config, metrics)
    return app


def _but_for_the_ui(store: StoreWriter) -> Callable[[Job, Scored], None]:
    """What a person tries in the UI is not recorded: it would be in the next audit's sample."""
    from guerdon.serving.ui.bench import ROUTE

    def note(job: Job, scored: Scored) -> None:
        if job.request is None or job.request.route != ROUTE:
            store.note(job, scored)

    return note


class _App(FastAPI):
    """FastAPI behind the Front: what the Front answers passes through none of the layers of middleware."""

    front: Front

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.front(scope, receive, send)


def _add_routes(app: FastAPI, engine: Engine, metrics: Metrics) -> None:
    @app.get("/", tags=["status"])
    async def root() -> Response:
        """That this is guerdon, and where to read on."""
        return _json({"name": "guerdon", "version": __version__, "docs": "/docs", "openapi": "/openapi.json"})

    @app.get("/live", tags=["status"])
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

    @app.get("/v1/models", tags=["scoring"])
    async def models() -> Response:
        """The scorers as OpenAI's list of models, which clients of engines ask for."""
        data = [{"id": name, "object": "model", "owned_by": "guerdon"} for name in engine.lanes]
        return _json({"object": "list", "data": data})

    @app.get("/reverify_mode", tags=["NeMo Gym"])
    async def reverify_mode() -> Response:
        """NeMo Gym asks whether an answer depends on anything but the request."""
        return _json("stateless")

    @app.get("/v1/scorers", tags=["scoring"], responses={200: {"model": ScorerList}})
    async def scorers() -> Response:
        """The scorers there are."""
        infos = [
            ScorerInfo(
                name=name,
                version=lane.version,
                scale=lane.scale,
                kind="model" if lane.prepares else "plain",
                provenance=dict(lane.current.provenance),
            )
            for name, lane in engine.lanes.items()
        ]
        return _json(ScorerList(scorers=infos).model_dump())


# --- errors ---


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        """What the router raises: 404 and 405."""
        kind = "not_found" if error.status_code == 404 else "method_not_allowed"
        message = f"no route {request.method} {request.url.path!r:.100}; /openapi.json lists those there are"
        return _json(native.error(error.status_code, kind, message, []), error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> Response:
        # The traceback goes to the server's log (Starlette raises it again behind this answer), never to a caller.
        return _json(native.error(500, "internal_error", "the server made a mistake; its log says which", []), 500)


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(to_json(value), status, dict(headers or {}), "application/json")


# --- the OpenAPI document ---


def _describe(app: FastAPI) -> None:
    """Put the dialects' operations into the document: they are answered before FastAPI sees them."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        document = generate()
        schemas: dict[str, Any] = document["components"]["schemas"]
        for dialect in DIALECTS:
            for path, operation in dialect.PATHS.items():
                document["paths"].setdefault(path, {})["post"] = _operation(operation, schemas)
        document["components"]["securitySchemes"] = {"bearer": {"type": "http", "scheme": "bearer"}}
        document["security"] = [{"bearer": []}]
        return document

    app.openapi = openapi  # type: ignore[method-assign]


def _operation(about: Mapping[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """An operation as the document has it. request, response: a model, or else an example of an object."""
    answers = {"200": {"description": "The scores.", **_content(about.get("response"), about.get("answer"), schemas)}}
    for status, (model, text) in about.get("errors", {}).items():
        answers[str(status)] = {"description": text, **_content(model, None, schemas)}
    return {
        "summary": about["summary"],
        "description": about.get("description", ""),
        "tags": about["tags"],
        "requestBody": {"required": True, **_content(about.get("request"), about.get("example"), schemas)},
        "responses": answers,
    }


def _content(model: type[BaseModel] | None, example: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    if model is None:
        return {"content": {"application/json": {"schema": {"type": "object"}, "example": example}}}
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema
    return {"content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}}
