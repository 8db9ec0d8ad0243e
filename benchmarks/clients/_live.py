"""A live ``guerdon serve`` for a client to talk to, a proxy that fails its first tries, and the right scores.

Only the standard library, so that a client may live in an environment of its own: the server and the scores come from
the interpreter that GUERDON_PYTHON names (else this one), which has guerdon with its extras ``rm`` and ``serve``.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import math
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

HERE = Path(__file__).parent
PYTHON = os.environ.get("GUERDON_PYTHON", sys.executable)
TOO_LONG = "word " * 1000
"""More tokens than the model reads."""


class Live:
    """url: a guerdon server with the scorers ``helpful`` (the reward model in folder) and ``math`` (numeric)."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url.rstrip("/"), folder
        self.wrong: list[str] = []
        self._n_checks = 0

    def scores(self, asked: list[dict[str, Any]]) -> list[float | None]:
        """What guerdon says in process, each alone (see _in_process.py)."""
        return json.loads(_in_process("score", str(self.folder), json.dumps(asked)).splitlines()[-1])

    def check(self, what: str, right: object, seen: object = "") -> None:
        """One line: whether it is as it should be, and what was seen if not."""
        self._n_checks += 1
        print(f"  {'ok  ' if right else 'DIFFERS'} {what}" + ("" if right else f": {seen!r:.400}"), flush=True)
        if not right:
            self.wrong.append(what)

    def equal(self, what: str, got: Any, expected: list[float | None]) -> None:
        """Numbers as the client reads them, against those in process, to 1e-6."""
        got = list(got)
        right = len(got) == len(expected) and all(
            isinstance(g, (int, float)) and e is not None and math.isclose(g, e, rel_tol=1e-6, abs_tol=1e-6)
            for g, e in zip(got, expected, strict=True)
        )
        self.check(what, right, {"client": got, "in process": expected})

    def finish(self, client: str) -> None:
        if self.wrong:
            sys.exit(f"DIFFERS {client}: {len(self.wrong)} of {self._n_checks}")
        print(f"OK {client}: {self._n_checks} checks")

    def proxy(self, *, fails: int = 0) -> contextlib.AbstractContextManager[Proxy]:
        """The same server behind a proxy that answers the first POSTs to each path with 503 and Retry-After."""
        return proxy(self.url, fails=fails)


def _in_process(what: str, folder: str, asked: str = "") -> str:
    command = [PYTHON, str(HERE / "_in_process.py"), what, folder]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stderr}\nGUERDON_PYTHON must name a Python with guerdon and its extras rm and serve: {PYTHON}")
    return done.stdout


def raised(function: Any, *arguments: Any) -> BaseException | None:
    """What a call raises, or None if it returns."""
    try:
        function(*arguments)
    except Exception as error:
        return error
    return None


@contextlib.contextmanager
def live(description: str | None) -> Iterator[Live]:
    """The server that ``--url`` and ``--model`` name, or one of our own."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="a guerdon server with the scorers helpful=MODEL and math=numeric")
    parser.add_argument("--model", type=Path, help="the folder of its reward model, as _in_process.py makes it")
    options = parser.parse_args()
    if (options.url is None) != (options.model is None):
        parser.error("--url and --model belong together")
    if options.url is not None:
        yield Live(options.url, options.model)
        return
    with tempfile.TemporaryDirectory() as folder:
        _in_process("make", folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        scorers = ["--scorer", f"helpful={folder}", "--scorer", "math=numeric"]
        command = [PYTHON, "-c", "from guerdon.serving.cli import main; main()", "serve", *scorers, "--port", str(port)]
        log = Path(folder) / "serve.log"
        with log.open("w") as out:
            server = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
        try:
            _wait(port, server, log)
            yield Live(f"http://127.0.0.1:{port}", Path(folder))
        finally:
            server.terminate()
            server.wait(60)


def _wait(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if server.poll() is not None:
            sys.exit(f"guerdon serve ended:\n{log.read_text()}")
        with contextlib.suppress(OSError):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            connection.request("GET", "/ready")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    sys.exit("guerdon serve was not ready within a minute")


# --- the proxy ---


class Proxy(ThreadingHTTPServer):
    """seen: the status of every answer, with its path."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, target: str, fails: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        parts = urlsplit(target)
        self.target = (parts.hostname or "", parts.port or 80, parts.path)
        self.fails, self.seen = fails, []
        self._posts: Counter[str] = Counter()
        self._lock = threading.Lock()

    seen: list[tuple[str, int]]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server_port}"

    def statuses(self, path: str = "") -> list[int]:
        return [status for seen, status in self.seen if seen.endswith(path)]

    def next_fails(self, path: str) -> bool:
        with self._lock:
            self._posts[path] += 1
            return self._posts[path] <= self.fails

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that hung up


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._forward(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.next_fails(self.path):
            self._answer(503, [("Retry-After", "1"), ("Content-Type", "application/json")], b'{"error": "busy"}')
        else:
            self._forward(body)

    def _forward(self, body: bytes) -> None:
        host, port, prefix = self.server.target
        connection = http.client.HTTPConnection(host, port, timeout=120)
        kept = {k: v for k, v in self.headers.items() if k.lower() in ("content-type", "cookie", "authorization")}
        connection.request(self.command, prefix + self.path, body or None, kept)
        answer = connection.getresponse()
        data = answer.read()
        dropped = ("connection", "content-length", "transfer-encoding")
        self._answer(answer.status, [(k, v) for k, v in answer.getheaders() if k.lower() not in dropped], data)

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.server.seen.append((self.path, status))
        self.send_response(status)
        for name, value in [*headers, ("Content-Length", str(len(body)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def proxy(target: str, *, fails: int) -> Iterator[Proxy]:
    server = Proxy(target, fails)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
