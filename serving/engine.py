"""Many callers, one model: an asyncio front that merges samples across requests into batches.

Every scorer has a lane: a queue and one worker thread that takes the next batch whenever it is free. Nothing on the
event loop blocks; results come back to it with ``call_soon_threadsafe``, so a request's state is written by one thread.

    request -> admit (or RefusedError) -> prepare (thread pool, reward models) -> queue -> batch -> score -> answer

Three things that go wrong are kept apart. A batch that raises is split until the sample at fault stands alone, which
comes back unscored with status ``error``; its neighbours keep their scores. An outage (OutageError) makes the whole
batch ``error`` at once, since asking a dead server sample by sample would only take longer. A request whose caller
left or whose time is up is closed, and what it still had waiting is skipped.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from guerdon.rewards import BatchScorer, Prepared, Sample, Scale, Score, Scorer
from guerdon.rewards.errors import ContractError, OutageError, UsageError
from guerdon.rewards.types import SCALES, in_scale
from guerdon.serving.batcher import Batcher, ByLength, InOrder

if TYPE_CHECKING:
    from guerdon.serving.config import ServeConfig
    from guerdon.serving.metrics import Metrics

logger = logging.getLogger("guerdon.serving")

# Samples of one call to a scorer that is not a BatchScorer. Large enough for one round trip to another server to
# carry many callers, small enough that a caller who comes late does not wait for thousands of others.
MERGED_SAMPLES = 256
# Padded tokens of a batch for a BatchScorer without a ``max_batch_tokens`` of its own. Measured on CPU, the knee of
# tokens a second lies between 1,024 and 4,096.
BATCH_TOKENS = 2048
# Threads that turn text into token ids. Fast tokenizers release the GIL, but more than a few only fight over it.
PREPARE_THREADS = 4
_REASON_CHARACTERS = 200


class RefusedError(OutageError):
    """Work that the server will not take now. reason: ``full`` or ``draining``. retry_after: seconds, at least 1."""

    def __init__(self, message: str, reason: str, retry_after: int) -> None:
        super().__init__(message)
        self.reason, self.retry_after = reason, retry_after

    def __reduce__(self) -> tuple[type[RefusedError], tuple[str, str, int]]:
        return type(self), (str(self), self.reason, self.retry_after)


@dataclass(frozen=True, slots=True)
class Scored:
    """A request's answer. timing_ms: prepare, queue, score and their sum, total."""

    scores: list[Score]
    timing_ms: Mapping[str, float]


class Engine:
    """The lanes of all scorers. Everything is called on one event loop; ``drain`` also from a signal handler."""

    def __init__(self, scorers: Mapping[str, Scorer], config: ServeConfig, metrics: Metrics) -> None:
        """Reads name, version and scale of every scorer, which for a remote one may ask its server."""
        self._metrics = metrics
        self._jobs: set[_Job] = set()
        self.draining = False
        self._pool = ThreadPoolExecutor(PREPARE_THREADS, thread_name_prefix="guerdon-prepare")
        self.lanes = {name: Lane(name, scorer, config, metrics) for name, scorer in scorers.items()}

    @property
    def idle(self) -> bool:
        """Whether everything that was accepted has been answered."""
        return not self._jobs

    async def score(self, name: str, samples: Sequence[Sample], *, seconds: float) -> Scored:
        """One score a sample, in order, from the lane ``name``.

        seconds: how long to wait; samples without a score by then are unscored with status ``timeout``.
        Raises RefusedError if the lane is full or the server is stopping. Cancelling drops what still waits.
        """
        lane = self.lanes[name]
        if self.draining:
            raise _stopping()
        job = _Job(samples, asyncio.get_running_loop())
        lane.admit(job)
        self._jobs.add(job)
        try:
            async with asyncio.timeout(seconds):
                await self._run(lane, job)
        except TimeoutError:
            self._metrics.dropped(name, "timeout", job.left)
        except asyncio.CancelledError:
            self._metrics.dropped(name, "gone", job.left)
            raise
        finally:
            job.closed = True
            self._jobs.discard(job)
            lane.release(job)
        late = Score.unscored(f"no score within {seconds:g} s", status="timeout")
        scores = [late if score is None else score for score in job.scores]
        self._metrics.scored(name, scores)
        return Scored(scores, self._timing(name, job))

    async def _run(self, lane: Lane, job: _Job) -> None:
        if lane.prepares:
            units = await job.loop.run_in_executor(self._pool, lane.prepare, job)
        else:
            units = _groups(job)
        job.queued = time.monotonic()
        lane.push(units)
        await job.done

    def _timing(self, name: str, job: _Job) -> dict[str, float]:
        end = time.monotonic()
        queued = job.queued or end
        started = job.started or end
        stages = [("prepare", queued - job.admitted), ("queue", started - queued), ("score", end - started)]
        self._metrics.took(name, stages)
        return {stage: round(1000 * s, 3) for stage, s in (*stages, ("total", end - job.admitted))}

    def drain(self) -> None:
        """Take no new work from now on; what was accepted is still answered."""
        self.draining = True

    def abandon(self) -> None:
        """Refuse what is still unanswered, so that its callers hear 503 rather than a broken connection."""
        self.draining = True
        for job in self._jobs:
            job.fail(_stopping())

    def close(self) -> None:
        """Let the worker threads end. A call that a scorer is still busy with ends in its own time."""
        self.abandon()
        for lane in self.lanes.values():
            lane.close()
        self._pool.shutdown(wait=False, cancel_futures=True)


class Lane:
    """One scorer with its queue and its worker thread, which starts with the first work."""

    def __init__(self, name: str, scorer: Scorer, config: ServeConfig, metrics: Metrics) -> None:
        self.name, self._scorer, self._metrics = name, scorer, metrics
        self.version, self.scale = _declared(name, scorer)
        self.prepares = isinstance(scorer, BatchScorer)
        self._limit = config.max_queue_tokens
        self._batcher: Batcher[_Unit] = InOrder(MERGED_SAMPLES)
        if self.prepares:
            own = getattr(scorer, "max_batch_tokens", BATCH_TOKENS)
            self._batcher = ByLength(config.max_batch_tokens or own)
        self._inbox: SimpleQueue[list[_Unit] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._waiting = 0  # estimated tokens accepted and not yet answered; changed on the event loop only
        self._done_tokens, self._done_seconds = 0, 0.0  # written by the worker only

    def admit(self, job: _Job) -> None:
        """Count the job's work, or raise RefusedError. An idle lane takes a job of any size."""
        if self._waiting and self._waiting + job.tokens > self._limit:
            seconds = min(60, max(1, round(self._waiting * self._done_seconds / max(1, self._done_tokens))))
            raise RefusedError(
                f"scorer {self.name!r} has about {self._waiting} tokens waiting, and {job.tokens} more are over its "
                f"limit of {self._limit}; try again in {seconds} s",
                "full",
                seconds,
            )
        self._waiting += job.tokens
        self._metrics.waiting(self.name, self._waiting)

    def release(self, job: _Job) -> None:
        self._waiting -= job.tokens
        self._metrics.waiting(self.name, self._waiting)

    def prepare(self, job: _Job) -> list[_Unit]:
        """The job's samples as rows for a forward. Those that cannot be prepared are answered here."""
        assert isinstance(self._scorer, BatchScorer)
        units: list[_Unit] = []
        settled: list[tuple[int, Score]] = []
        for index, sample in enumerate(job.samples):
            if job.closed:
                break
            try:
                prepared = self._scorer.prepare(sample)
                if not isinstance(prepared, (Prepared, Score)):
                    raise ContractError(f"prepare must give a Prepared or a Score, got {type(prepared).__name__}")
            except (Exception, SystemExit) as error:  # code we do not own, on one sample
                logger.exception("scorer %r could not prepare a sample", self.name)
                prepared = _failed(error)
            if isinstance(prepared, Prepared):
                units.append(_Unit(job, (index,), prepared, prepared.cost))
            else:
                settled.append((index, prepared))
        _deliver(job, settled)
        return units

    def push(self, units: list[_Unit]) -> None:
        if self._thread is None:
            # A daemon, because a scorer that hangs must not keep a stopped server's process alive.
            self._thread = threading.Thread(target=self._work, name=f"guerdon-{self.name}", daemon=True)
            self._thread.start()
        self._inbox.put(units)

    def close(self) -> None:
        self._inbox.put(None)

    def _work(self) -> None:
        """The worker thread. It alone touches the batcher, so there is no lock for the event loop to wait on."""
        while True:
            for units in self._arrived(wait=not self._batcher):
                if units is None:
                    return
                self._batcher.add(units)
            if batch := self._batcher.take():
                self._answer(batch)

    def _arrived(self, *, wait: bool) -> Iterator[list[_Unit] | None]:
        if wait:
            yield self._inbox.get()
        with contextlib.suppress(Empty):
            while True:
                yield self._inbox.get_nowait()

    def _answer(self, batch: list[_Unit]) -> None:
        start = time.monotonic()
        for unit in batch:
            unit.job.started = unit.job.started or start
        self._metrics.batch(self.name, sum(len(unit.indices) for unit in batch))
        if self.prepares:
            costs = [unit.cost for unit in batch]
            self._metrics.forward(self.name, sum(costs), max(costs) * len(costs))
        scores = iter(self._score(batch))
        settled: dict[_Job, list[tuple[int, Score]]] = defaultdict(list)
        for unit in batch:
            # The indices come first: when they end, zip has not yet taken a score of the next unit.
            settled[unit.job] += zip(unit.indices, scores, strict=False)
        self._done_tokens += sum(unit.job.tokens * len(unit.indices) // len(unit.job.samples) for unit in batch)
        self._done_seconds += time.monotonic() - start
        for job, pairs in settled.items():
            _deliver(job, pairs)

    def _score(self, units: list[_Unit], *, reported: bool = False) -> list[Score]:
        """The scores of all units' samples, in order. What the scorer raises becomes a status, never an exception."""
        count = sum(len(unit.indices) for unit in units)
        try:
            scores = _checked(self._call(units), count)
            self.version = self._scorer.version  # a remote scorer's follows its server
            return [_on_scale(score, self.scale) for score in scores]
        except OutageError as error:
            logger.warning("scorer %r: %d samples lost to an outage: %s", self.name, count, error)
            self._metrics.outage(self.name)
            return [_failed(error)] * count
        except BaseException as error:  # code we do not own; a thread that dies would leave its callers waiting
            if not reported:
                logger.exception("scorer %r raised on a batch of %d; looking for the sample", self.name, count)
                self._metrics.failed(self.name)
            if len(units) == 1:
                return [_failed(error)] * count
        middle = len(units) // 2
        return self._score(units[:middle], reported=True) + self._score(units[middle:], reported=True)

    def _call(self, units: list[_Unit]) -> list[Score]:
        if isinstance(self._scorer, BatchScorer):
            return self._scorer.run([unit.work for unit in units])
        return self._scorer.score([sample for unit in units for sample in unit.work])


class _Job:
    """One request on its way. Changed on the event loop only, but for ``started``, which the worker sets."""

    def __init__(self, samples: Sequence[Sample], loop: asyncio.AbstractEventLoop) -> None:
        self.samples, self.loop = samples, loop
        self.scores: list[Score | None] = [None] * len(samples)
        self.left = len(samples)
        self.done: asyncio.Future[None] = loop.create_future()
        self.closed = False
        # Known before tokenising: four characters a token, at least one token a sample.
        self.tokens = sum(1 + (len(s.prompt_text) + len(s.response_text)) // 4 for s in samples)
        self.admitted = time.monotonic()
        self.queued: float | None = None
        self.started: float | None = None
        self._finish()

    def settle(self, pairs: Iterable[tuple[int, Score]]) -> None:
        """Take scores by index."""
        for index, score in pairs:
            self.scores[index] = score
            self.left -= 1
        self._finish()

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)

    def _finish(self) -> None:
        if not self.left and not self.done.done():
            self.done.set_result(None)


@dataclass(frozen=True, slots=True)
class _Unit:
    """What a batch is made of: one prepared sample, or the samples of one group. indices: their places in the job."""

    job: _Job
    indices: tuple[int, ...]
    work: Any
    cost: int

    @property
    def dropped(self) -> bool:
        return self.job.closed


def _groups(job: _Job) -> list[_Unit]:
    """The job's samples, those of one group together: only they may be compared, so no batch cuts between them."""
    members: dict[object, list[int]] = {}
    for index, sample in enumerate(job.samples):
        members.setdefault(index if sample.group is None else sample.group, []).append(index)
    return [_Unit(job, tuple(m), tuple(job.samples[i] for i in m), len(m)) for m in members.values()]


def _deliver(job: _Job, pairs: list[tuple[int, Score]]) -> None:
    # A loop that is closed has nobody left who waits.
    with contextlib.suppress(RuntimeError):
        job.loop.call_soon_threadsafe(job.settle, pairs)


def _failed(error: BaseException) -> Score:
    return Score.unscored(f"{type(error).__name__}: {error}"[:_REASON_CHARACTERS], status="error")


def _checked(scores: Any, count: int) -> list[Score]:
    if not isinstance(scores, list) or len(scores) != count or not all(isinstance(s, Score) for s in scores):
        got = f"{len(scores)} values" if isinstance(scores, list) else type(scores).__name__
        raise ContractError(f"a scorer must give a list of {count} Scores for {count} samples, got {got}")
    return scores


def _on_scale(score: Score, scale: Scale) -> Score:
    if score.value is None or in_scale(score.value, scale):
        return score
    return Score.unscored(f"the scorer gave {score.value!r}, which is not on its scale {scale!r}", status="error")


def _declared(name: str, scorer: Scorer) -> tuple[str, Scale]:
    version, scale = scorer.version, scorer.scale
    if not isinstance(version, str) or not version:
        raise UsageError(f"scorer {name!r} must have a version, a non-empty string; got {version!r}")
    if scale not in SCALES:
        raise UsageError(f"scorer {name!r} must have a scale among {', '.join(SCALES)}; got {scale!r}")
    return version, scale


def _stopping() -> RefusedError:
    return RefusedError("the server is stopping and takes no new work", "draining", 5)
