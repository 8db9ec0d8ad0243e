"""Starts an engine of others on a free port, and reports what was found about it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from typing import Any


@contextlib.contextmanager
def served(command: Sequence[str], ready: str, *, seconds: float = 300.0) -> Iterator[str]:
    """The address of a server that a command starts; its port is put behind the command. ready: a path of it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen([*command, str(port)], stdout=log, stderr=subprocess.STDOUT, env=environment)
        url = f"http://127.0.0.1:{port}"
        try:
            deadline = time.monotonic() + seconds
            while not _answers(url + ready):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    sys.exit(f"{command[0]} did not start:\n{log.read()[-3000:]}")
                time.sleep(0.2)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


class Report:
    """Prints a line for each check; ``finish`` ends the program with a fault if one differed."""

    def __init__(self) -> None:
        self._n_checks, self._wrong = 0, 0

    def check(self, what: str, right: bool, seen: Any) -> None:
        self._n_checks += 1
        self._wrong += not right
        print(f"  {'ok  ' if right else 'DIFFERS'} {what}" + ("" if right else f": {seen!r:.400}"), flush=True)

    def equal(self, what: str, got: Sequence[float | None], expected: Sequence[float], tolerance: float) -> None:
        gaps = [abs(g - e) if g is not None else float("inf") for g, e in zip(got, expected, strict=True)]
        self.check(f"{what} (largest difference {max(gaps):.1e} of {len(gaps)})", max(gaps) <= tolerance, got)

    def raises(self, what: str, kind: type[Exception], function: Callable[..., Any], *arguments: Any) -> None:
        try:
            seen: Any = function(*arguments)
        except Exception as error:
            seen = error
        self.check(f"{what}: {kind.__name__}", isinstance(seen, kind), seen)

    def finish(self, engine: str) -> None:
        if self._wrong:
            sys.exit(f"DIFFERS {engine}: {self._wrong} of {self._n_checks}")
        print(f"OK {engine}: {self._n_checks} checks")
