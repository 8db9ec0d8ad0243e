"""The same app on Ray Serve: many replicas, on many machines, behind one address.

    serve run guerdon.serving.ray_app:app config=serve.toml replicas=8 gpus=1

    HTTP -> Ray's proxy -> Gate -> the replica that has the prompt (guerdon.serving.affinity) -> the app of app.py

A Gate reads a request's body and hands it on, so that the choice of a replica can look at the prompt: the responses to
one prompt meet in one replica's batches, where its computation is shared. A replica that is full or gone is passed over
for the next in that prompt's order. Scoring twice does no harm, so a request whose replica dies is sent to another.

Everything else (batching, limits, tokens, statuses, dialects) is the app's own. ``/metrics`` and ``/v1/scorers`` answer
for whichever replica they reach.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from guerdon.rewards.errors import MissingExtraError, UnknownNameError, UsageError
from guerdon.serving.affinity import prompt_key, ranked, replicas_wanted
from guerdon.serving.config import ScorerSpec, ServeConfig, read_config
from guerdon.serving.schemas import to_json
from guerdon.serving.workers import load_served

try:
    from ray import serve
    from ray.exceptions import RayActorError
    from ray.serve.config import AutoscalingConfig, AutoscalingPolicy, RequestRouterConfig
    from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
    from ray.serve.request_router import RequestRouter
    from starlette.requests import Request
    from starlette.responses import Response
except ImportError as error:
    raise MissingExtraError("guerdon on Ray Serve", "ray") from error

logger = logging.getLogger("guerdon.serving")

TRIES = 4
ONGOING = 2_000
"""Requests that a replica takes at once: many, since it is the replica that merges them and refuses what it must."""
TARGET_WAIT = 10.0
"""Seconds of waiting work a replica for which autoscaling aims."""
_RETRY_AFTER = 2

Answer = tuple[int, list[tuple[bytes, bytes]], bytes]


class PrefixRouter(RequestRouter):  # type: ignore[misc]  # Ray has no types
    """Ranks replicas for a request by the key that its first argument is; without one, the least busy first."""

    async def choose_replicas(self, candidate_replicas: list[Any], pending_request: Any = None) -> list[list[Any]]:
        key = pending_request.args[0] if pending_request is not None and pending_request.args else None
        if not isinstance(key, bytes):
            return [candidate_replicas]
        by_name = {replica.replica_id.unique_id: replica for replica in candidate_replicas}
        known = self.replica_queue_len_cache
        busy = {name: known.get(replica.replica_id) or 0 for name, replica in by_name.items()}
        # Each a rank of its own: the next is asked only if those before it take no more.
        return [[by_name[name]] for name in ranked(key, busy)]


def scale_by_wait(context: Any) -> tuple[int, dict[str, Any]]:
    """Ray's autoscaling policy: as many replicas as the work that waits is worth at the wait that is aimed at."""
    waits = (context.aggregated_metrics or {}).get("wait", {}).values()
    return replicas_wanted(waits, context.capacity_adjusted_min_replicas, context.capacity_adjusted_max_replicas), {}


class Scorers:
    """One replica: the app with its scorers, on the event loop of the replica."""

    def __init__(self, config: ServeConfig, target_wait: float = TARGET_WAIT) -> None:
        from guerdon.serving.app import create_app

        self._sources = dict(config.scorers)
        self._target_wait = target_wait
        self._app = create_app(config, {name: load_served(source) for name, source in config.scorers.items()})
        self._engine = self._app.state.engine

    async def answer(self, key: bytes | None, scope: dict[str, Any], body: bytes) -> Answer:
        """What the app answers. key: only for the router. Cancelling drops what still waits."""
        received = False

        async def receive() -> dict[str, Any]:
            nonlocal received
            if received:
                await asyncio.Event().wait()  # a caller who leaves cancels this call
            received = True
            return {"type": "http.request", "body": body, "more_body": False}

        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app({**scope, "app": self._app}, receive, send)
        parts = [message.get("body", b"") for message in sent if message["type"] == "http.response.body"]
        return sent[0]["status"], list(sent[0].get("headers", [])), b"".join(parts)

    async def reconfigure(self, user_config: Mapping[str, Any]) -> None:
        """New weights without a new deployment: ``{"scorers": {"rm": "runs/new"}}`` in Ray's ``user_config``.

        Called by Ray at the start and on every change. A scorer whose spec is another is loaded beside the one that
        serves, and takes all new requests when it is there. Raises if it cannot be loaded.
        """
        for name, spec in (user_config or {}).get("scorers", {}).items():
            known = self._sources.get(name)
            if known is None:
                raise UnknownNameError("scorer", name, self._sources)
            if spec != known.spec:
                source = replace(known, spec=spec)
                scorer = await asyncio.to_thread(load_served, source)
                version = self._engine.lanes[name].swap(scorer, source=source)
                self._sources[name] = source
                logger.warning("scorer %r serves %s, from %s", name, version, spec)

    def record_autoscaling_stats(self) -> dict[str, float]:
        """Asked by Ray now and then: seconds of waiting work, in units of the wait that is aimed at."""
        waits = [lane.waiting * lane.seconds_a_token for lane in self._engine.lanes.values()]
        return {"wait": max(waits, default=0.0) / self._target_wait}

    def __del__(self) -> None:
        # Ray calls it when a replica is stopped, after what it was at has been answered.
        if hasattr(self, "_engine"):
            self._engine.close()


class Gate:
    """Reads requests and hands them on to the replica that has their prompt."""

    def __init__(self, scorers: Any, max_body_bytes: int) -> None:
        self._scorers, self._limit = scorers, max_body_bytes

    async def __call__(self, request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > self._limit:
                return _error(413, "too_large", f"the body has more than {self._limit} bytes; send parts")
        scope = {key: request.scope[key] for key in _SCOPE if key in request.scope}
        scope["headers"] = [(bytes(name), bytes(value)) for name, value in request.scope["headers"]]
        return await self._handed_on(prompt_key(bytes(body)) if body else None, scope, bytes(body))

    async def _handed_on(self, key: bytes | None, scope: dict[str, Any], body: bytes) -> Response:
        for _ in range(TRIES):
            try:
                status, headers, answer = await self._scorers.answer.remote(key, scope, body)
            except BackPressureError:
                return _error(503, "full", "every replica has as many requests as it takes; try again")
            except (RayActorError, DeploymentUnavailableError) as error:  # it died; scoring again does no harm
                logger.warning("a replica is gone (%s); another is asked", type(error).__name__)
                await asyncio.sleep(0.1)
                continue
            response = Response(answer, status)
            response.raw_headers = [(name, value) for name, value in headers if name != b"transfer-encoding"]
            return response
        return _error(503, "outage", "no replica answered; try again")


_SCOPE = ("type", "asgi", "http_version", "method", "scheme", "path", "raw_path", "query_string", "client", "server")


def _error(status: int, kind: str, message: str) -> Response:
    from guerdon.serving.dialects import native

    headers = {"Retry-After": str(_RETRY_AFTER)} if status == 503 else {}
    return Response(to_json(native.error(status, kind, message, [])), status, headers, "application/json")


def app(args: Mapping[str, Any]) -> Any:
    """The application for ``serve run`` and for Ray's own configuration files.

    config: a file of ``guerdon serve``; or scorers: a mapping from names to specs. replicas: how many; with
    max_replicas, from that many to these, as the waiting work is worth. cpus, gpus: of each replica. gates: how many.
    ongoing: requests that a replica has at once, at most. queued: those that wait for one at each gate, at most; more
    are answered 503. target_wait: seconds. weights: from names to specs that are served instead of the configuration's;
    a deployment that differs in nothing else is not restarted but takes them while it serves.
    """
    known = {
        "config",
        "scorers",
        "replicas",
        "max_replicas",
        "cpus",
        "gpus",
        "gates",
        "queued",
        "ongoing",
        "target_wait",
        "weights",
    }
    for name in args:
        if name not in known:
            raise UnknownNameError("argument of guerdon on Ray", name, known)
    config = read_config(args.get("config"), {"scorers": _specs(args.get("scorers", {}))})
    if not config.scorers:
        raise UsageError("nothing to serve; name a configuration (config=serve.toml) or scorers")
    replicas = int(args.get("replicas", 1))
    count: dict[str, Any] = {"num_replicas": replicas}
    if "max_replicas" in args:
        policy = AutoscalingPolicy(policy_function=scale_by_wait)
        most = int(args["max_replicas"])
        count = {"autoscaling_config": AutoscalingConfig(min_replicas=replicas, max_replicas=most, policy=policy)}
    scorers = serve.deployment(
        Scorers,
        name="Scorers",
        max_ongoing_requests=int(args.get("ongoing", ONGOING)),
        max_queued_requests=int(args.get("queued", 10_000)),
        request_router_config=RequestRouterConfig(request_router_class=PrefixRouter),
        ray_actor_options={"num_cpus": float(args.get("cpus", 1)), "num_gpus": float(args.get("gpus", 0))},
        user_config={"scorers": dict(args.get("weights", {}))},
        health_check_period_s=2,
        graceful_shutdown_timeout_s=config.drain_seconds,
        **count,
    )
    gate = serve.deployment(
        Gate,
        name="Gate",
        num_replicas=int(args.get("gates", 1)),
        max_ongoing_requests=20_000,
        ray_actor_options={"num_cpus": 0},
    )
    handle = scorers.bind(config, float(args.get("target_wait", TARGET_WAIT)))
    return gate.bind(handle, config.max_body_bytes)


def _specs(scorers: Mapping[str, Any]) -> dict[str, Any]:
    return {name: ScorerSpec(spec) if isinstance(spec, str) else spec for name, spec in scorers.items()}
