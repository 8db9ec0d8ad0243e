"""Running an app with uvicorn, from the first line it prints to a shutdown that loses nothing.

On SIGTERM or SIGINT the server stops taking work (``/ready`` and new work get 503) but goes on listening, until
everything it accepted is answered or ``drain_seconds`` are over; what is left then gets 503. A second signal ends
that wait at once.
"""

from __future__ import annotations

import contextlib
import gc
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING

from guerdon import __version__
from guerdon.rewards import Scorer
from guerdon.rewards.errors import MissingExtraError, OutageError, UsageError
from guerdon.serving.config import ADMIN_VARIABLE, TOKEN_VARIABLE, ServeConfig
from guerdon.serving.workers import load_served

try:
    import uvicorn
except ImportError as error:
    raise MissingExtraError("the server", "serve") from error

from guerdon.serving.app import create_app

if TYPE_CHECKING:
    from guerdon.serving.engine import Engine
    from guerdon.serving.storing.writer import StoreWriter

# For connections that will not close after everything is answered: half-sent requests, slow readers.
_GRACE_SECONDS = 5
# Connections that may wait to be accepted. Trainers open thousands at once, and some systems reset what is beyond.
_BACKLOG = 16_384


def serve(config: ServeConfig, *, ready: Callable[[str], None] | None = None) -> None:
    """Load the scorers, listen, and answer until a signal comes. Prints what it serves to stderr.

    ready: called once it listens, with its URL; it must not block.
    Raises UsageError for a port that is taken or a spec that names nothing, before anything listens.
    """
    if not config.scorers and not config.ui:
        raise UsageError("nothing to serve; name a scorer, for example --scorer math=numeric")
    # Tokens for this server. Left in the environment, a scorer on another server would send it there.
    for variable in (TOKEN_VARIABLE, ADMIN_VARIABLE):
        os.environ.pop(variable, None)
    with contextlib.ExitStack() as opened:
        bound = opened.enter_context(contextlib.closing(_bind(config.host, config.port)))
        scorers: dict[str, Scorer] = {}
        for name, source in config.scorers.items():
            scorers[name] = scorer = load_served(source)
            if hasattr(scorer, "close"):  # worker processes, connections
                opened.callback(scorer.close)
        server = _Server(config, scorers)
        server.greeting = _greeting(config, server, _url(bound))
        if ready is not None:
            server.ready = partial(ready, _url(bound))
        # What is loaded stays. A full collection would look at all of it (with torch 400,000 objects), and hold up the
        # event loop for 0.2 s or more in the middle of a load.
        gc.collect()
        gc.freeze()
        server.run(sockets=[bound])


@contextlib.contextmanager
def serving(config: ServeConfig, scorers: Mapping[str, Scorer]) -> Iterator[str]:
    """A server in a thread of this process, for as long as the block lasts; gives its URL.

    For demos, notebooks and tests. Port 0 takes a free port. Leaving the block drains it like a signal would.
    """
    with contextlib.closing(_bind(config.host, config.port)) as bound:
        server = _Server(config, scorers)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, name="guerdon-server")
        thread.start()
        try:
            # uvicorn has no event to wait on; it sets a flag.
            while thread.is_alive() and not server.started:
                time.sleep(0.005)
            if not server.started:
                raise OutageError("the server did not start; its log says why")
            yield _url(bound)
        finally:
            server.stop()
            thread.join()


class _Server(uvicorn.Server):
    """uvicorn's server, with a drain between the signal and the end. greeting: printed once it listens."""

    greeting = ""
    ready: Callable[[], None] | None = None

    def __init__(self, config: ServeConfig, scorers: Mapping[str, Scorer]) -> None:
        app = create_app(config, scorers)
        self.engine: Engine = app.state.engine
        self.store: StoreWriter | None = app.state.store
        self._drain_seconds, self._deadline = config.drain_seconds, float("inf")
        super().__init__(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=_GRACE_SECONDS,
                backlog=_BACKLOG,
            )
        )

    def stop(self) -> None:
        """Begin to drain."""
        self.engine.drain()
        self._deadline = time.monotonic() + self._drain_seconds

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.greeting:
            print(self.greeting, file=sys.stderr, flush=True)
        if self.ready is not None:
            self.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Called by uvicorn on a signal. uvicorn's own version would stop listening at once."""
        if self.engine.draining:
            self.should_exit = self.force_exit = True
        else:
            self.stop()

    async def on_tick(self, counter: int) -> bool:
        """Called by uvicorn ten times a second; True ends the server."""
        if self.engine.draining and self.engine.idle:
            return True
        if time.monotonic() > self._deadline:
            return True
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Called by uvicorn after the last tick; it then waits for the answers to be sent."""
        self.engine.abandon()
        await super().shutdown(sockets)


def _bind(host: str, port: int) -> socket.socket:
    """A socket that holds the address but does not listen yet, so that nobody connects while models load."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise UsageError(f"cannot listen on host {host!r}: {error.strerror or error}") from error
    try:
        if sys.platform != "win32":  # there the option lets two servers share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        reason = error.strerror or str(error)
        raise UsageError(f"cannot listen on {host} port {port}: {reason}; choose another port (0: any)") from error
    return bound


def _url(bound: socket.socket) -> str:
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _greeting(config: ServeConfig, server: _Server, url: str) -> str:
    engine, lines = server.engine, [f"guerdon {__version__} listening on {url}"]
    lines += [f"  {name}  {lane.scale}  {lane.version}" for name, lane in engine.lanes.items()]
    lines += [f"  tenant {name}: up to {share:.0%} of every queue" for name, share in config.shares.items()]
    if server.store is not None:
        lines.append(f"  recorded in {server.store.name} {'with' if config.store_text else 'without'} texts")
    if config.admin_token is not None:
        lines.append(f"  new weights from {', '.join(config.swap_dirs) or 'nowhere: swap_dirs is empty'}")
    if config.ui:
        lines.append(f"  look at it in a browser: {url}/ui/")
    if not engine.lanes:
        return "\n".join(lines)
    token = f' -H "Authorization: Bearer ${TOKEN_VARIABLE}"' if config.token or config.tenants else ""
    name = next(iter(engine.lanes))
    item = '{"prompt": "What is 6 times 7?", "response": "The answer is 42.", "reference": "42"}'
    lines.append(
        f"try: curl {url}/v1/score -H 'Content-Type: application/json'{token} "
        f'-d \'{{"scorer": "{name}", "items": [{item}]}}\''
    )
    return "\n".join(lines)
