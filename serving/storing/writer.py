"""Who writes to the store: a thread of its own, fed by the engine, that never makes scoring wait.

The engine appends what it answered to a bounded list; four times a second the thread takes all of it, makes rows and
adds them in one transaction. Nobody is woken and nothing is computed on the event loop.

While the database cannot be written to (a full disk, a lock, a server that is away), the list grows to its bound, and
what comes on top is dropped and counted. When the database is back, what was kept is written. The server answers all
the while, and says once a minute in its log that something is wrong.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING

from guerdon.rewards.errors import GuerdonError, OutageError
from guerdon.serving.storing.database import Database, connect
from guerdon.serving.storing.records import Answered, Batch, Versions

if TYPE_CHECKING:
    from guerdon.serving.engine import Scored
    from guerdon.serving.jobs import Job
    from guerdon.serving.metrics import Metrics

logger = logging.getLogger("guerdon.serving")

QUEUE_SAMPLES, QUEUE_TOKENS = 50_000, 8_000_000
"""The most that waits to be written: about 32 MB of texts, and as much again of everything else."""
_EVERY = 0.25  # seconds between transactions: shorter ones cost the event loop more for taking turns
_AT_ONCE = 1_000  # requests of one transaction
_AGAIN = 1.0  # seconds until a transaction that failed is tried again
_WARN_EVERY = 60.0
_PATIENCE = 5.0  # seconds that a server which stops waits for the last transaction


class StoreWriter:
    """Writes an engine's answers to a store. ``note`` is an observer of the engine.

    where: a file, or a URL of SQLAlchemy. texts: whether prompts, responses and references are kept. Raises at once
    what ``connect`` raises: a server should not start with a store that it cannot write to.
    """

    def __init__(self, where: str, metrics: Metrics, *, texts: bool = False) -> None:
        self._database: Database = connect(where, create=True)
        self.name, self._metrics, self._texts = self._database.name, metrics, texts
        self._queue: deque[Answered] = deque()
        self._in = self._out = 0  # samples so far; each is written by one thread
        self._tokens_in = self._tokens_out = 0
        self._versions = Versions()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._warned, self._failing = float("-inf"), False

    @property
    def waiting(self) -> int:
        """Samples that are not written yet."""
        return self._in - self._out

    def note(self, job: Job, scored: Scored) -> None:
        """Take an answered request, or drop it if too much waits. Called on the event loop; costs a microsecond."""
        samples = len(job.items)
        if not samples:
            return
        if self.waiting + samples > QUEUE_SAMPLES or self._tokens_in - self._tokens_out + job.tokens > QUEUE_TOKENS:
            self._metrics.store_dropped("full", samples)
            self._warn(f"more than it can write has come; {samples} scores are not stored")
            return
        self._in += samples
        self._tokens_in += job.tokens
        self._queue.append(Answered(job, scored, time.time()))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="guerdon-store", daemon=True)
            self._thread.start()

    def close(self, seconds: float = _PATIENCE) -> None:
        """Write what still waits, for at most so long, and let go of the database."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(seconds)
            if self._thread.is_alive():
                logger.warning("store %s: it hangs; %d scores are lost with it", self.name, self.waiting)
                return
        self._database.close()

    # --- the thread ---

    def _work(self) -> None:
        while not self._stop.wait(_AGAIN if self._failing else _EVERY):
            self._flush()
        self._flush()
        if lost := self.waiting:
            self._metrics.store_dropped("failed", lost)
            logger.warning("store %s: %d scores could not be written before the server ended", self.name, lost)

    def _flush(self) -> None:
        """Write all that waits, unless the database fails; what it fails on stays."""
        while self._queue:
            # Taken from the list only when written, so that a failure loses nothing.
            answered = [self._queue[index] for index in range(min(len(self._queue), _AT_ONCE))]
            lost = 0
            try:
                batch = Batch(self._versions, texts=self._texts)
                lost = sum(self._add(batch, each) for each in answered)
                self._database.write(batch.rows())
                self._failing = False
            except OutageError as error:
                self._failing = True
                self._warn(str(error))
                return
            except Exception as error:  # rows that no try would get in; the thread must outlive them
                lost = sum(len(each.job.items) for each in answered)
                self._warn(f"{type(error).__name__}: {error}", traceback=not isinstance(error, GuerdonError))
            self._forget(answered, lost)

    def _add(self, batch: Batch, answered: Answered) -> int:
        """Make a request's rows; gives how many could not be made."""
        try:
            batch.add(answered)
        except Exception as error:  # details may hold objects of code that we do not own
            self._warn(f"{type(error).__name__}: {error}", traceback=True)
            return len(answered.job.items)
        return 0

    def _forget(self, answered: list[Answered], lost: int) -> None:
        for _ in answered:
            self._queue.popleft()
        samples = sum(len(each.job.items) for each in answered)
        self._out += samples
        self._tokens_out += sum(each.job.tokens for each in answered)
        if lost:
            self._metrics.store_dropped("failed", lost)
        self._metrics.stored(samples - lost, self.waiting)

    def _warn(self, message: str, *, traceback: bool = False) -> None:
        """In the log, once a minute. Called by both threads; a warning too many does no harm."""
        now = time.monotonic()
        if now - self._warned >= _WARN_EVERY:
            self._warned = now
            logger.warning("store %s: %s (said once a minute)", self.name, message, exc_info=traceback)
