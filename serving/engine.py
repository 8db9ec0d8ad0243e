"""Many callers, one model: an asyncio front that merges samples across requests into batches.

Every scorer has a lane: a queue and threads of its own (``lane.py``). Nothing on the event loop blocks; results come
back to it with ``call_soon_threadsafe``, so a request's state is written by one thread.

    request -> admit (or RefusedError) -> lane: prepare, queue, batch, score -> answer

What was accepted is answered. A request whose caller left or whose time is up is closed, and what it still had waiting
is skipped. Work that cannot be done in time is refused at once: trainers send again what is refused, and give up on
what is late.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from guerdon.rewards import Score, Scorer
from guerdon.rewards.errors import OutageError, UnknownNameError
from guerdon.serving.jobs import Item, Job, Origin, Request
from guerdon.serving.lane import Lane
from guerdon.serving.workers import WorkerScorer

if TYPE_CHECKING:
    from guerdon.serving.config import ServeConfig
    from guerdon.serving.metrics import Metrics


class RefusedError(OutageError):
    """Work that the server will not take now. reason: ``full``, ``late``, ``share`` or ``draining``.

    full: too much waits. late: it could not be done by the deadline. share: this caller has too much waiting.
    retry_after: seconds, at least 1.
    """

    def __init__(self, message: str, reason: str, retry_after: int) -> None:
        super().__init__(message)
        self.reason, self.retry_after = reason, retry_after

    def __reduce__(self) -> tuple[type[RefusedError], tuple[str, str, int]]:
        return type(self), (str(self), self.reason, self.retry_after)


class LeftError(Exception):
    """Nobody waits for the answer any more."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A request's answer. version: of the scorer that gave it, the same for all its samples.

    timing_ms: prepare, queue, score and their sum, total. origins: where each score comes from, None where no batch
    gave it. provenance: what is known of that version (guerdon.serving.provenance).
    """

    scores: list[Score]
    version: str
    timing_ms: Mapping[str, float]
    origins: Sequence[Origin | None] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)


class Engine:
    """The lanes of all scorers. Everything is called on one event loop; ``drain`` also from a signal handler.

    observers: called with every answered Job and its Scored, on the event loop; they must not block.
    """

    def __init__(self, scorers: Mapping[str, Scorer], config: ServeConfig, metrics: Metrics) -> None:
        """Reads name, version and scale of every scorer, which for a remote one may ask its server."""
        self._config, self._metrics = config, metrics
        self._jobs: set[Job] = set()
        self._waiting_of: dict[str, int] = {}  # estimated tokens by tenant
        self.draining = False
        self.observers: list[Callable[[Job, Scored], None]] = []
        self.lanes = {name: Lane(name, scorer, config, metrics) for name, scorer in scorers.items()}
        metrics.watch_workers(self._workers)

    @property
    def idle(self) -> bool:
        """Whether everything that was accepted has been answered."""
        return not self._jobs

    async def score(self, name: str, items: Sequence[Item], *, seconds: float, tenant: str | None = None) -> Scored:
        """One score a sample, in order, from the lane ``name``.

        seconds: how long to wait; samples without a score by then are unscored with status ``timeout``.
        Raises RefusedError if the work cannot be taken. Cancelling drops what still waits.
        """
        return await self.result(self.submit(name, items, seconds=seconds, tenant=tenant))

    def submit(
        self,
        name: str,
        items: Sequence[Item],
        *,
        seconds: float,
        tenant: str | None = None,
        slow: Callable[[], None] | None = None,
        request: Request | None = None,
    ) -> Job:
        """Take work; ``result`` waits for it, and must be called. Raises RefusedError, UnknownNameError.

        slow: called once if the answer is not there within ``PATIENCE``. request: what observers may want to know.
        """
        lane = self.lanes.get(name)
        if lane is None:
            raise UnknownNameError("scorer", name[:100], self.lanes)
        if self.draining:
            raise _stopping()
        job = Job(items, asyncio.get_running_loop(), seconds, tenant, slow, request)
        self._admit(lane, job)
        if items:
            lane.push(job)
        return job

    async def result(self, job: Job) -> Scored:
        """The scores of submitted work. Cancelling drops what still waits. Raises LeftError after ``leave``."""
        lane = self.lanes[job.generation.name]
        job.start_clock()
        try:
            await job.done
        except (LeftError, asyncio.CancelledError):
            self._metrics.dropped(lane.name, "gone", job.left)
            raise
        finally:
            job.stop_clock()
            self._release(lane, job)
        if job.left:
            self._metrics.dropped(lane.name, "timeout", job.left)
        late = Score.unscored(f"no score within {job.seconds:g} s", status="timeout")
        # A copy: a score that comes too late still arrives in the job's own list.
        scores = [late if score is None else score for score in job.scores]
        generation = job.generation
        timing = self._timing(lane.name, job)
        scored = Scored(scores, generation.version, timing, [*job.origins], generation.provenance)
        self._metrics.scored(lane.name, scored.scores)
        for observe in self.observers:
            observe(job, scored)
        return scored

    def leave(self, job: Job) -> None:
        """The job's caller has hung up."""
        job.fail(LeftError())

    def check_room(self) -> None:
        """Raise RefusedError if no scorer can take any work now: then a request need not even be read."""
        config, ahead, reason = self._config, 0.0, ""
        for lane in self.lanes.values():
            seconds = lane.waiting * lane.seconds_a_token
            if lane.waiting >= config.max_queue_tokens:
                reason = "full"
            elif lane.waiting and seconds > config.max_wait_seconds:
                reason = reason or "late"
            else:
                return
            ahead = max(ahead, seconds)
        if reason:
            seconds_to_wait = min(60, max(1, round(ahead)))
            message = f"the server has about {ahead:.0f} s of work waiting; try again in {seconds_to_wait} s"
            raise RefusedError(message, reason, seconds_to_wait)

    def _admit(self, lane: Lane, job: Job) -> None:
        """Count the job's work, or raise RefusedError. An idle lane takes a job of any size."""
        waiting, config = lane.waiting, self._config
        if waiting:
            ahead = waiting * lane.seconds_a_token
            patience = min(job.seconds, config.max_wait_seconds)
            if waiting + job.tokens > config.max_queue_tokens:
                raise _refused(lane, job, "full", f"over its limit of {config.max_queue_tokens}", ahead)
            if ahead > patience:
                raise _refused(lane, job, "late", f"that takes about {ahead:.0f} s, longer than {patience:g} s", ahead)
        if job.tenant is not None and (share := config.shares.get(job.tenant)) is not None:
            mine = self._waiting_of.get(job.tenant, 0)
            if mine and mine + job.tokens > share * config.max_queue_tokens:
                raise _refused(lane, job, "share", f"{mine} of them yours, of which {share:.0%} of the queue may be", 1)
        if job.tenant is not None:
            self._waiting_of[job.tenant] = self._waiting_of.get(job.tenant, 0) + job.tokens
        lane.admit(job)
        self._jobs.add(job)
        self._metrics.waiting(lane.name, lane.waiting)

    def _release(self, lane: Lane, job: Job) -> None:
        job.closed = True
        self._jobs.discard(job)
        lane.release(job)
        if job.tenant is not None:
            self._waiting_of[job.tenant] -= job.tokens
        self._metrics.waiting(lane.name, lane.waiting)

    def _workers(self) -> dict[str, Mapping[str, int]]:
        """What became of worker processes, by scorer."""
        scorers = {name: lane.current.scorer for name, lane in self.lanes.items()}
        return {name: scorer.counts for name, scorer in scorers.items() if isinstance(scorer, WorkerScorer)}

    def _timing(self, name: str, job: Job) -> dict[str, float]:
        end = time.monotonic()
        queued = job.queued or end
        started = job.started or end
        stages = {"prepare": queued - job.admitted, "queue": started - queued, "score": end - started}
        self._metrics.took(name, stages)
        timing = {stage: round(1000 * max(0.0, seconds), 3) for stage, seconds in stages.items()}
        timing["total"] = round(1000 * (end - job.admitted), 3)
        return timing

    def drain(self) -> None:
        """Take no new work from now on; what was accepted is still answered."""
        self.draining = True

    def abandon(self) -> None:
        """Refuse what is still unanswered, so that its callers hear 503 rather than a broken connection."""
        self.draining = True
        for job in self._jobs:
            job.fail(_stopping())

    def close(self) -> None:
        """Let the threads end. A call that a scorer is still busy with ends in its own time."""
        self.abandon()
        for lane in self.lanes.values():
            lane.close()


def _refused(lane: Lane, job: Job, reason: str, why: str, ahead: float) -> RefusedError:
    seconds = min(60, max(1, round(ahead)))
    return RefusedError(
        f"scorer {lane.name!r} has about {lane.waiting} tokens waiting, and {job.tokens} more cannot be taken: {why}; "
        f"try again in {seconds} s",
        reason,
        seconds,
    )


def _stopping() -> RefusedError:
    return RefusedError("the server is stopping and takes no new work", "draining", 5)
