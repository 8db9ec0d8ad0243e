"""What goes through the engine: a request's job, and the units of work it is cut into.

A job is one request. A unit is what a batch is made of: one sample, or the samples of one group, which only together
mean something. Samples of several jobs may wait for one unit, when they are the same work.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from guerdon.rewards import Sample, Score

if TYPE_CHECKING:
    from guerdon.serving.lane import Generation


PATIENCE = 0.05
"""Seconds after which the server begins to listen for a caller who hangs up. Before, nobody has waited long enough to
give up, and listening costs more than a quick score."""


@dataclass(frozen=True, slots=True)
class Request:
    """How a request is called by others. id: hexadecimal, in its answer's header. route: the path it came by.

    names: the caller's own names of its items, in order, where it has any.
    """

    id: str
    route: str = ""
    names: Sequence[str | None] = ()


class Origin(NamedTuple):
    """Where one score comes from, besides the version of its scorer.

    input: 128 bits of the token ids, or of what a scorer without ids may read; None for a member of a group. tokens:
    how many ids, None without. batch: which one computed it, a name that no other has. size: sequences in that batch.
    how: ``computed`` for this request, ``joined`` (the same work was in flight) or ``remembered``.
    """

    input: bytes | None
    tokens: int | None
    batch: str
    size: int
    how: str = "computed"


@dataclass(frozen=True, slots=True)
class ReadyMade:
    """A sample whose text or token ids the caller has already made: a reward model must not template it again.

    sample: what it says, as far as known; a verifier reads only this. text: the templated conversation, or None when
    ``ids`` are given. special_tokens: whether the tokenizer adds its own around the text. keep: which end of what is
    too long stays; None refuses it.
    """

    sample: Sample
    text: str | None = None
    ids: tuple[int, ...] | None = None
    special_tokens: bool = False
    keep: Any = None

    @property
    def size(self) -> int:
        """Estimated tokens."""
        return len(self.ids) if self.ids is not None else 1 + len(self.text or "") // 4


Item = Sample | ReadyMade


def size_of(item: Item) -> int:
    """Estimated tokens, known before tokenising: four characters a token, at least one."""
    if isinstance(item, ReadyMade):
        return item.size
    prompt, response = item.prompt, item.response
    prompt = prompt if isinstance(prompt, str) else item.prompt_text
    response = response if isinstance(response, str) else item.response_text
    return 1 + (len(prompt) + len(response)) // 4


class Job:
    """One request on its way. Changed on the event loop only, but for ``started``, which the worker sets.

    tokens: its estimated size, which is what a queue's limit counts. tenant: whose it is, or None. origins: of the
    scores, in order; None for one that no batch gave (it was refused before, or came too late).
    done: resolves when every sample has a score, when time is up, or with what refuses the rest.
    """

    __slots__ = (
        "_clock", "_slow", "admitted", "closed", "done", "generation", "items", "left", "loop", "origins", "queued",
        "request", "scores", "seconds", "started", "tenant", "tokens",
    )  # fmt: skip

    generation: Generation
    _clock: asyncio.TimerHandle

    def __init__(
        self,
        items: Sequence[Item],
        loop: asyncio.AbstractEventLoop,
        seconds: float,
        tenant: str | None = None,
        slow: Callable[[], None] | None = None,
        request: Request | None = None,
    ) -> None:
        self.items, self.loop, self.seconds, self.tenant, self._slow = items, loop, seconds, tenant, slow
        self.request = request
        self.scores: list[Score | None] = [None] * len(items)
        self.origins: list[Origin | None] = [None] * len(items)
        self.left = len(items)
        self.done: asyncio.Future[None] = loop.create_future()
        self.closed = False
        self.tokens = sum(map(size_of, items))
        self.admitted = time.monotonic()
        self.queued: float | None = None
        self.started: float | None = None
        if not items:
            self.done.set_result(None)

    def settle(self, index: int, score: Score, origin: Origin | None) -> None:
        self.scores[index] = score
        self.origins[index] = origin
        self.left -= 1
        if not self.left and not self.done.done():
            self.done.set_result(None)

    def start_clock(self) -> None:
        """One timer: for a caller's patience first, and only if that runs out for the request's whole time."""
        if self._slow is not None and self.seconds > PATIENCE:
            self._clock = self.loop.call_later(PATIENCE, self._be_slow)
        else:
            self._clock = self.loop.call_later(self.seconds, self._expire)

    def stop_clock(self) -> None:
        self._clock.cancel()

    def _be_slow(self) -> None:
        assert self._slow is not None
        self._clock = self.loop.call_later(self.seconds - PATIENCE, self._expire)
        self._slow()

    def _expire(self) -> None:
        """Time is up: what has no score by now will have none."""
        if not self.done.done():
            self.done.set_result(None)

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)


class Unit:
    """A piece of work: one sample, made ready or not, or the samples of one group.

    work: a Prepared, or a tuple of samples. cost: tokens, or samples. prompt: whose beginning it may share; None if
    nobody has named it. key: what makes another sample the same work; None if nothing may. waiters: for each sample
    of the unit, the jobs that wait for its score and the sample's index in each.
    """

    __slots__ = ("__weakref__", "_dead", "cost", "generation", "key", "prompt", "waiters", "work")

    def __init__(
        self,
        generation: Generation,
        work: Any,
        cost: int,
        waiters: list[list[tuple[Job, int]]],
        *,
        prompt: Hashable | None = None,
        key: Hashable | None = None,
    ) -> None:
        self.generation, self.work, self.cost, self.waiters = generation, work, cost, waiters
        self.prompt, self.key = prompt, key
        self._dead = False

    @property
    def dropped(self) -> bool:
        """Whether nobody waits any more. Once that has been seen the unit stays dropped: a queue has let go of it."""
        if not self._dead:
            self._dead = all(job.closed for waiters in self.waiters for job, _ in waiters)
        return self._dead

    def settled(self, scores: Iterable[Score], origin: Origin) -> list[Settled]:
        """The unit's scores, each for everyone who waits for it; all but the first have joined."""
        found: list[Settled] = []
        for waiters, score in zip(self.waiters, scores, strict=True):
            (job, index), *joined = waiters
            found.append((job, index, score, origin))
            if joined:
                other = origin._replace(how="joined")
                found += [(job, index, score, other) for job, index in joined]
        return found


Settled: TypeAlias = tuple[Job, int, Score, Origin | None]
"""A score on its way to the sample of a job at this index."""
