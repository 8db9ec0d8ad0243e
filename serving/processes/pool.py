"""Keeps worker processes busy, and replaces those that die, hang or grow.

Each process has a thread here (a seat) that takes a few tasks, sends them, and hands every score on as it comes: a slow
task delays nobody but those behind it in its own few. Which task a process is at is known, because it answers in order:

    it dies     that task is tried once more, on another process, and is an error if it dies again; those behind it
                go back to the front of the queue
    it hangs    the process is killed and that task is a timeout

A call that never returns, holds the GIL or takes gigabytes is therefore one sample's fault and no other's.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from guerdon.rewards import Sample, Score
from guerdon.rewards.errors import OutageError
from guerdon.rewards.types import Status
from guerdon.serving.processes.process import GoneError, LateError, Process, Program
from guerdon.serving.processes.wire import UnsayableError, pack_samples, unpack_scores

logger = logging.getLogger("guerdon.serving")

EVENTS = ("started", "crashed", "killed", "recycled", "failed")
"""What is counted of workers: begun, dead unasked, killed as too slow, replaced in time, not to be started."""

TRIES = 2
WAITING = 256
"""Tasks a worker that may wait here: enough for cheap ones. Others wait where work of callers who left is dropped."""

CLOSED = "the workers have been closed"
# What is sent at once: as many tasks as take so long, since a busy machine takes as long to wake a thread, and no more
# than that, since they wait for one another.
_CHUNK_SECONDS, _CHUNK = 0.02, 256
_BACK_OFF = 1.0  # seconds before a start is tried again


Outcome: TypeAlias = "list[Score] | OutageError | None"


class Task:
    """Samples that are scored in one call.

    done: given their scores, or the OutageError that the scorer raised, or None if nobody wants them any more, which
    ``wanted`` tells. It is called once, on a thread of the pool or of whoever puts tasks, and must be quick.
    """

    __slots__ = ("done", "packed", "samples", "tries", "wanted")

    def __init__(
        self,
        samples: Sequence[Sample],
        done: Callable[[Outcome], None],
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        self.samples, self.done, self.wanted = samples, done, wanted
        self.packed = ""
        self.tries = 0

    def unscored(self, reason: str, status: Status) -> list[Score]:
        return [Score.unscored(reason, status=status)] * len(self.samples)


class Pool:
    """Some processes of one program, each with its seat. recycle_after: samples after which a process is replaced."""

    def __init__(self, program: Program, size: int, *, recycle_after: int) -> None:
        """Starts the first process and waits until it has loaded; the others start when that one has.

        Raises what loading raises, and OutageError if the process does not come to life.
        """
        self._program, self.size, self._recycle_after = program, size, recycle_after
        self.counts: Counter[str] = Counter(dict.fromkeys(EVENTS, 0))
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)  # tasks came, or there is room again, or all is over
        self._tasks: deque[Task] = deque()
        self._processes: set[Process] = set()
        self.closed = False
        self._seconds_a_task = _CHUNK_SECONDS  # of late; written by all seats, and any of their views will do
        try:
            first = self._start()
        except (GoneError, LateError, OSError) as error:
            why = "did not load in time" if isinstance(error, LateError) else str(error)
            raise OutageError(f"a worker for the scorer {program.spec!r} {why}") from error
        self.about = first.about
        seats: list[Process | None] = [first, *[None] * (size - 1)]
        for number, process in enumerate(seats):
            label = f"guerdon-{self.about['name']}-seat-{number}"
            # Daemons: they end with the pool, and the pool at the latest with the interpreter.
            threading.Thread(target=self._seat, args=(process,), name=label, daemon=True).start()

    def put(self, tasks: Sequence[Task]) -> None:
        """Take tasks. Waits while too many wait. Each will be ``done``, whatever happens."""
        limit = WAITING * self.size
        for task in tasks:
            try:
                task.packed = pack_samples(task.samples)
            except UnsayableError as error:
                _tell(task, task.unscored(f"a worker cannot be sent this sample: {error}"[:200], "error"))
                continue
            with self._changed:
                while len(self._tasks) >= limit and not self.closed:
                    self._changed.wait()
                if not self.closed:
                    self._tasks.append(task)
                    self._changed.notify()
                    continue
            _tell(task, task.unscored(CLOSED, "error"))

    def close(self) -> None:
        """Kill all processes. What was under way or waits is an error."""
        with self._changed:
            self.closed = True
            tasks, processes = list(self._tasks), list(self._processes)
            self._tasks.clear()
            self._processes.clear()
            self._changed.notify_all()
        for process in processes:
            process.end()
        for task in tasks:
            _tell(task, task.unscored(CLOSED, "error"))

    def forget(self) -> None:
        """Let go of all processes without ending them, in a forked child, where the seats' threads are not."""
        for process in self._processes:
            process.forget()

    @property
    def pids(self) -> list[int]:
        with self._lock:
            return [process.pid for process in self._processes]

    # --- a seat ---

    def _seat(self, process: Process | None) -> None:
        try:
            while not self.closed:
                problem = ""
                if process is None:
                    process, problem = self._started()
                chunk = self._take()
                if not chunk:
                    return
                if process is not None and not process.alive:
                    self._lose(process, "crashed")  # while it was idle: no task's fault
                    process, problem = self._started()
                if process is None:
                    self._retry(chunk, f"no worker could be started: {problem}")
                    time.sleep(_BACK_OFF)
                    continue
                process = self._run(process, chunk)
        finally:
            if process is not None:
                self._lose(process, "")

    def _start(self) -> Process:
        process = Process(self._program)
        with self._lock:
            closed = self.closed
            if not closed:
                self._processes.add(process)
                self.counts["started"] += 1
        if closed:
            process.end()
        return process

    def _started(self) -> tuple[Process | None, str]:
        """A new process like the first, or None and the reason why not."""
        try:
            process = self._start()
        except LateError:
            problem = "it did not load in time"
        except Exception as error:  # loading runs code we do not own, and processes may run out
            problem = f"{type(error).__name__}: {error}"[:200]
        else:
            if process.about["version"] == self.about["version"]:
                return process, ""
            # A file was edited. Its scores must not pass for those of the version that was declared.
            problem = f"the scorer's version is {process.about['version']!r} now and was {self.about['version']!r}"
            self._lose(process, "")
        if not self.closed:
            self.counts["failed"] += 1
            logger.error("a worker of scorer %r could not be started: %s", self.about["name"], problem)
        return None, problem

    def _take(self) -> list[Task]:
        """The next few tasks; empty once all is over. Fewer the fewer wait, so that all seats end together."""
        while True:
            chunk: list[Task] = []
            unwanted: list[Task] = []
            with self._changed:
                while not self._tasks and not self.closed:
                    self._changed.wait()
                most = min(_CHUNK, int(_CHUNK_SECONDS / self._seconds_a_task))
                size = max(1, min(most, len(self._tasks) // self.size))
                # What has been tried before goes alone, so that nobody else waits for it.
                while self._tasks and len(chunk) < size and not (chunk and (self._tasks[0].tries or chunk[0].tries)):
                    task = self._tasks.popleft()
                    (chunk if task.wanted() else unwanted).append(task)
                self._changed.notify_all()
            for task in unwanted:
                _tell(task, None)
            if chunk or self.closed:
                return chunk

    def _run(self, process: Process, chunk: list[Task]) -> Process | None:
        """Have the tasks scored. Gives the process, or None if it is no more."""
        seconds, at, start = self._program.seconds, 0, time.monotonic()
        try:
            process.say(f"[{','.join(task.packed for task in chunk)}]", seconds)
            for task in chunk:
                said = process.hear(seconds * len(task.samples))
                at += 1
                _tell(task, self._outcome(task, said))
                if isinstance(said, dict) and said["last"]:
                    self._lose(process, "recycled")
                    self._put_back(chunk[at:])
                    return None
            process.samples += sum(len(task.samples) for task in chunk)
            took = max(1e-6, time.monotonic() - start) / len(chunk)
            self._seconds_a_task += 0.3 * (took - self._seconds_a_task)
            grown = process.hear(seconds)["resident"] - process.about["resident"]
            if process.samples < self._recycle_after and grown < self._program.memory // 2:
                return process
            self._lose(process, "recycled")
        except LateError:
            self._lose(process, "killed")
            self._put_back(chunk[at + 1 :])
            for task in chunk[at : at + 1]:
                limit = seconds * len(task.samples)
                _tell(task, task.unscored(f"took more than {limit:g} s; its worker was killed", "timeout"))
        except GoneError as reason:
            self._lose(process, "crashed")
            self._put_back(chunk[at + 1 :])
            self._retry(chunk[at : at + 1], f"a worker {reason}")
        return None

    def _outcome(self, task: Task, said: Any) -> Outcome:
        if isinstance(said, list):
            try:
                return unpack_scores(said)
            except (TypeError, ValueError) as error:
                return task.unscored(f"{type(error).__name__}: {error}"[:200], "error")
        if said["outage"]:
            return OutageError(said["raised"])
        # The kind of the exception and where it was raised; its text may hold a sample's.
        logger.error("scorer %r raised in a worker: %s\n%s", self.about["name"], said["raised"], said["trace"])
        return task.unscored(said["raised"], "error")

    def _lose(self, process: Process, event: str) -> None:
        with self._lock:
            self._processes.discard(process)
            if event and not self.closed:
                self.counts[event] += 1
        process.end()

    def _put_back(self, tasks: Sequence[Task]) -> None:
        """Tasks that no process has begun."""
        with self._changed:
            if not self.closed:
                self._tasks.extendleft(reversed(tasks))
                self._changed.notify_all()
                return
        for task in tasks:
            _tell(task, task.unscored(CLOSED, "error"))

    def _retry(self, tasks: Sequence[Task], why: str) -> None:
        again: list[Task] = []
        for task in tasks:
            task.tries += 1
            if task.tries < TRIES:
                again.append(task)
            else:
                _tell(task, task.unscored(f"{why}; tried {TRIES} times", "error"))
        self._put_back(again)


def _tell(task: Task, outcome: Outcome) -> None:
    try:
        task.done(outcome)
    except Exception:  # a seat that ended here would leave everyone waiting
        logger.exception("the scores of a worker could not be handed on")
