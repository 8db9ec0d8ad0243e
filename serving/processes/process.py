"""A worker as its server sees it: a process that is started, asked, and killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from guerdon.rewards import errors
from guerdon.rewards.errors import GuerdonError, UsageError

START_SECONDS = 120.0
"""In which a worker must have loaded its scorer. Code of the user's own may load a model."""

_PROGRAM = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from guerdon.serving.processes.child import main; main(int(sys.argv[2]))"
)


class GoneError(Exception):
    """The worker has ended, or never came to life."""


class LateError(Exception):
    """The worker has said nothing in time."""


@dataclass(frozen=True, slots=True)
class Program:
    """What a worker runs. options: JSON values. seconds: of one sample. memory: bytes beyond what loading took.

    folder: where relative paths of the spec begin.
    """

    spec: str
    options: Mapping[str, Any]
    seconds: float
    memory: int
    folder: str


class Process:
    """One worker that has loaded its scorer. Used by one thread at a time; ``end`` may be called by any."""

    def __init__(self, program: Program) -> None:
        """Waits until it has loaded. Raises what loading raised, GoneError, LateError, OSError."""
        ours, theirs = socket.socketpair()
        try:
            environment = {**os.environ}
            # Several workers, each with a thread a core, would get in each other's way.
            environment.setdefault("OMP_NUM_THREADS", "1")
            self._process = subprocess.Popen(  # noqa: S603 - our own code, no shell
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a scorer prints is no output of the server's
                cwd=program.folder,
                env=environment,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the server, and whatever a worker starts is killed with it
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self._link, self._rest = ours, b""
        self._lines: Iterator[bytes] = iter(())
        self.samples = 0  # scored so far
        try:
            options = dict(program.options)
            first = {"spec": program.spec, "options": options, "seconds": program.seconds, "memory": program.memory}
            self.say(json.dumps(first))
            said = self.hear(START_SECONDS)
            if "failed" in said:
                raise _error(*said["failed"])
            self.about: Mapping[str, Any] = said["ready"]
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def say(self, line: str, seconds: float = START_SECONDS) -> None:
        """A line of JSON. Raises GoneError, LateError (a process that is stopped reads nothing)."""
        try:
            self._link.settimeout(seconds)
            self._link.sendall(line.encode("ascii") + b"\n")
        except TimeoutError as error:
            raise LateError from error
        except OSError as error:
            raise GoneError(self._ended()) from error

    def hear(self, seconds: float) -> Any:
        """The next line's value. Raises GoneError, LateError."""
        while (line := next(self._lines, None)) is None:
            try:
                self._link.settimeout(seconds)
                part = self._link.recv(1 << 18)
            except TimeoutError as error:
                raise LateError from error
            except OSError as error:
                raise GoneError(self._ended()) from error
            if not part:
                raise GoneError(self._ended())
            *lines, self._rest = (self._rest + part).split(b"\n")
            self._lines = iter(lines)
        try:
            return json.loads(line)
        except ValueError as error:
            raise GoneError("said what is no JSON") from error

    def _ended(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1)
            return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return "closed its connection"

    def end(self) -> None:
        """Kill the process and what it has started."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._link.close()

    def forget(self) -> None:
        """Let go of a worker that belongs to the parent of this forked process."""
        self._link.close()
        self._process.returncode = 0  # or Popen would wait for what is not its child


def _error(kind: str, message: str) -> Exception:
    """What loading raised in the worker, as an exception here: guerdon's own by its name, others as a UsageError."""
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, GuerdonError):
        error = known.__new__(known)  # some are made of other arguments than their message
        Exception.__init__(error, message)
        return error
    return UsageError(f"cannot load the scorer: {kind}: {message}")
