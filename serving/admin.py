"""The routes of an administrator, behind a token of their own (the Front asks for it before it lets anyone here).

POST /v1/admin/swap {"scorer", "source"}    new weights for a scorer that serves (guerdon.serving.swap)
GET  /v1/admin/versions                     what serves, what still answers older requests, and where it came from
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from guerdon.rewards.errors import UnknownNameError
from guerdon.serving.config import ServeConfig
from guerdon.serving.dialects import native
from guerdon.serving.engine import Engine
from guerdon.serving.lane import Lane
from guerdon.serving.schemas import BodyError, Problem, parse, shown, to_json
from guerdon.serving.swap import ForbiddenError, SwapError, Swapper

_LIMIT = 64 * 1024  # bytes of a body; a scorer and a path


def admin_routes(engine: Engine, config: ServeConfig) -> APIRouter:
    """The router. Whoever mounts it sees to it that only administrators come in."""
    router, swapper = APIRouter(prefix="/v1/admin", tags=["administration"]), Swapper(engine, config)

    @router.post("/swap")
    async def swap(request: Request) -> Response:
        """Load the reward model at ``source`` beside the one that serves, check it, and serve it from then on.

        Answers when it serves, with its version, or when it cannot, with the reason (409); then the old one still does.
        """
        if engine.draining:
            return _error(503, "draining", "the server is stopping and loads nothing new")
        try:
            scorer, source = await _read(request)
            return _json(await swapper.swap(scorer, source))
        except BodyError as error:
            return _error(error.status, error.kind, str(error), error.problems)
        except UnknownNameError as error:
            return _error(404, "unknown_scorer", str(error))
        except ForbiddenError as error:
            return _error(403, "forbidden", str(error))
        except SwapError as error:
            return _error(409, "swap_failed", str(error))

    @router.get("/versions")
    async def versions() -> Response:
        """For every scorer its generations, oldest first: version, source, provenance, requests not answered yet."""
        listed = [_about(lane, loading=name in swapper.loading) for name, lane in engine.lanes.items()]
        return _json({"scorers": listed})

    return router


def _about(lane: Lane, *, loading: bool) -> dict[str, Any]:
    return {
        "name": lane.name,
        "loading": loading,
        "generations": [
            {
                "generation": each.number,
                "version": each.version,
                "current": each is lane.current,
                "requests": each.jobs,
                "source": None if each.source is None else each.source.spec,
                "began": each.began,
                "provenance": each.provenance,
            }
            for each in lane.generations
        ],
    }


async def _read(request: Request) -> tuple[str, str]:
    """Scorer and source of a body. Raises BodyError."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise _wrong("", f"must have the content type application/json, got {kind!r:.80}", 415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _LIMIT:
            raise _wrong("", f"has more than {_LIMIT} bytes", 413)
    data = parse(body)
    if not isinstance(data, dict):
        raise _wrong("", f"must be an object with scorer and source, got {shown(data)}")
    for key in data:
        if key not in ("scorer", "source"):
            raise _wrong(key[:100], "is not a field. There are: scorer, source")
    for key in ("scorer", "source"):
        if not isinstance(data.get(key), str) or not data[key]:
            raise _wrong(key, f"must be a string, got {shown(data.get(key))}" if key in data else "is missing")
    return data["scorer"], data["source"]


def _wrong(field: str, message: str, status: int = 422) -> BodyError:
    return BodyError(status, "invalid_request", [Problem(field=field, message=message)])


def _error(status: int, kind: str, message: str, problems: list[Problem] | None = None) -> Response:
    return _json(native.error(status, kind, message, problems or []), status)


def _json(value: Any, status: int = 200) -> Response:
    return Response(to_json(value), status, media_type="application/json")
