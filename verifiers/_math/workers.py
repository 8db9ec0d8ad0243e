"""A pool of processes that may be killed: the only place where work without a known end is done.

Works from any thread and from any process, daemons of ``multiprocessing`` included, because a worker is a plain
``subprocess`` with a pipe. None is started before the first question. A question has its time counted from when a
worker takes it up: neither waiting for a free worker nor its start (sympy takes a second to load) counts. A worker that
overruns is killed and forgotten, and the next question starts another; only the question that overran is lost.

A forked child forgets the workers of its parent and starts its own. Ctrl-C reaches the caller only, since workers live
in a session of their own; one that is interrupted at work is killed.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
from typing import Any

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.tree import Node
from guerdon.verifiers._math.wire import pack

START_LIMIT = 60.0
"""Seconds in which a worker must have loaded sympy; a loaded machine may take ten."""

MAX_MESSAGE = 1_000_000
"""Bytes of one question. A tree that is larger is no answer that anyone wrote."""


_PROGRAM = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from guerdon.verifiers._math.worker import main; main()"
)


class _GoneError(Exception):
    """The worker has ended, or never came to life."""


class Worker:
    """One process, and the thread that reads what it says. Pipes are bare descriptors: nothing of them is buffered, so
    nothing can be half done when the process forks."""

    def __init__(self) -> None:
        questions, self._asking = os.pipe()
        self._reading, answers = os.pipe()
        started = False
        try:
            self.process = subprocess.Popen(  # noqa: S603 - our own code, no shell
                [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
                stdin=questions,
                stdout=answers,
                stderr=subprocess.DEVNULL,
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
            started = True
        finally:
            for descriptor in (questions, answers) if started else (questions, answers, self._asking, self._reading):
                os.close(descriptor)
        self.ready = False
        self._said: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="guerdon symbolic worker", daemon=True).start()

    def _listen(self) -> None:
        rest = b""
        while chunk := os.read(self._reading, 65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                self._said.put(line)
        self._said.put(b"")
        reading, self._reading = self._reading, -1
        os.close(reading)

    def wait_ready(self) -> None:
        """Raises _GoneError if the worker does not come to life."""
        if not self.ready and not self._hear(START_LIMIT):
            raise _GoneError("a symbolic worker did not start")
        self.ready = True

    def ask(self, message: bytes, seconds: float) -> dict[str, Any] | None:
        """The answer, or None if there was none in time. Raises _GoneError if the worker has ended."""
        try:
            while message:
                message = message[os.write(self._asking, message) :]
        except OSError as error:
            raise _GoneError("a symbolic worker has ended") from error
        line = self._hear(seconds)
        if line == b"":
            raise _GoneError("a symbolic worker has ended")
        return json.loads(line) if line else None

    def _hear(self, seconds: float) -> bytes | None:
        """The next line; empty at the end of all lines, None if there was none in time."""
        try:
            return self._said.get(timeout=seconds)
        except queue.Empty:
            return None

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        self.process.kill()
        asking, self._asking = self._asking, -1
        if asking >= 0:
            os.close(asking)
        self.process.wait()

    def forget(self) -> None:
        """Let go of a worker that belongs to the parent of this forked process."""
        for descriptor in (self._asking, self._reading):
            if descriptor >= 0:
                os.close(descriptor)
        self._asking = self._reading = -1
        self.process.returncode = 0  # or Popen would wait for what is not its child


class Pool:
    """At most ``size`` workers, each for one question at a time."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._begin()

    def _begin(self) -> None:
        self._slots = threading.BoundedSemaphore(self.size)
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()

    def ask(self, a: Node, b: Node, seconds: float) -> Decision:
        """What a worker finds of two values within some seconds of work."""
        message = json.dumps({"a": pack(a), "b": pack(b), "seconds": seconds}).encode() + b"\n"
        if len(message) > MAX_MESSAGE:
            return Decision(None, "symbolic", "too large for the symbolic stage", "refused")
        with self._slots:
            try:
                worker = self._take()
            except (OSError, RuntimeError) as error:  # no more processes, or no more threads
                return Decision(None, "symbolic", f"no symbolic worker could be started: {error}", "error")
            kept = False
            try:
                worker.wait_ready()
                answer = worker.ask(message, seconds)
                kept = answer is not None and not answer.get("last") and worker.alive
            except _GoneError as reason:
                return Decision(None, "symbolic", str(reason), "error")
            finally:  # whatever happened, Ctrl-C included: a worker in an unknown state is no worker
                self._give_back(worker, kept)
        if answer is None:
            return Decision(None, "symbolic", f"the symbolic stage took more than {seconds:g} s", "timeout")
        return Decision(answer["equal"], answer["stage"], answer["reason"], answer["status"])

    def _take(self) -> Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.alive:
                    return worker
                self._all.discard(worker)
        worker = Worker()
        with self._lock:
            self._all.add(worker)
        return worker

    def _give_back(self, worker: Worker, kept: bool) -> None:
        with self._lock:
            if kept:
                self._idle.append(worker)
                return
            self._all.discard(worker)
        worker.kill()

    def processes(self) -> list[int]:
        """The ids of the processes there are."""
        with self._lock:
            return [worker.process.pid for worker in self._all]

    def close(self) -> None:
        """Kill all workers. The pool may be used again and starts new ones."""
        with self._lock:
            workers, self._all, self._idle = list(self._all), set(), []
        for worker in workers:
            worker.kill()

    def forget(self) -> None:
        """Let go of all workers without ending them."""
        for worker in self._all:
            worker.forget()
        self._begin()


def _cores() -> int:
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # not on macOS and Windows
        return max(1, os.cpu_count() or 1)


pool = Pool(_cores())
"""The pool of this process."""

atexit.register(pool.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.forget)


def settle(a: Node, b: Node, seconds: float) -> Decision:
    """What the symbolic stage finds of two values within some seconds of work; None where sympy is not installed."""
    if importlib.util.find_spec("sympy") is None:
        return Decision(None, "symbolic", "a symbolic comparison needs sympy: pip install 'guerdon[math]'")
    return pool.ask(a, b, seconds)
