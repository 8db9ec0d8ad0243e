"""One scorer with its queue and its threads.

    job -> (prepare thread: token ids) -> batcher -> worker thread: batch, score -> event loop

Only a BatchScorer has a prepare thread, so that text is tokenised while the model computes. The worker alone touches
the batcher. It never waits for a timer: a batch is what happens to wait when the scorer is free. A scorer that has
processes of its own (WorkerScorer) is handed work unit by unit and gives each score when it has it.

A batch that raises is split until the sample at fault stands alone, which comes back unscored with status ``error``;
its neighbours keep their scores. An outage (OutageError) makes the whole batch ``error`` at once, since asking a dead
server sample by sample would only take longer.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from guerdon.rewards import BatchScorer, Prepared, Sample, Scale, Score, Scorer
from guerdon.rewards.errors import ContractError, OutageError, UsageError
from guerdon.rewards.prefixes import groups, tree_length
from guerdon.rewards.types import SCALES, in_scale
from guerdon.serving.batcher import Batcher, ByLength, InOrder
from guerdon.serving.jobs import Item, Job, Origin, ReadyMade, Settled, Unit
from guerdon.serving.memory import Memory, key_of_ids, key_of_sample
from guerdon.serving.processes.pool import Outcome, Task
from guerdon.serving.provenance import about
from guerdon.serving.sweep import sweep
from guerdon.serving.workers import WorkerScorer

if TYPE_CHECKING:
    from guerdon.serving.config import ScorerSpec, ServeConfig
    from guerdon.serving.metrics import Metrics

logger = logging.getLogger("guerdon.serving")

# Samples of one call to a scorer that is not a BatchScorer. Large enough for one round trip to another server to
# carry many callers, small enough that a caller who comes late does not wait for thousands of others.
MERGED_SAMPLES = 256
# Padded tokens of a batch for a BatchScorer without a ``max_batch_tokens`` of its own. Measured on CPU, the knee of
# tokens a second lies between 1,024 and 4,096.
BATCH_TOKENS = 2048
# Samples tokenised in one call: many enough for the tokenizer's own loop, few enough that the model starts at once.
_TOKENISED = 64
# How long an idle model waits for the rest of a burst whose first request has come: trainers send the responses to a
# prompt one by one, at once, and the first of them alone would be a poor batch. Only where it has paid of late.
_BURST_SECONDS = 0.001
_PAYS = 0.1
_TRIES_AGAIN = 16
_REASON_CHARACTERS = 200
_RUN = os.urandom(6).hex()
"""This process in the names of its batches."""


class Generation:
    """One version of a lane's scorer, with the work that was admitted to it.

    A request is answered by one generation from beginning to end, so a group never spans two versions. number: 0 for
    the first of its lane. source: what it was loaded by, if that is known. began: seconds since 1970.
    """

    def __init__(
        self, name: str, scorer: Scorer, config: ServeConfig, *, number: int = 0, source: ScorerSpec | None = None
    ) -> None:
        self.name, self.scorer, self.number, self.source = name, scorer, number, source
        self.began = time.time()
        self.version, self.scale = _declared(name, scorer)
        self.provenance: Mapping[str, Any] = about(scorer, config.scores, source)
        self.prepares = isinstance(scorer, BatchScorer)
        self.takes_tasks = isinstance(scorer, WorkerScorer)
        self.packs = bool(getattr(scorer, "packs", False))
        self.shares = bool(getattr(scorer, "share_prompts", False)) and config.scores == "fast"
        # A server behind us remembers for itself, and may change its version unasked.
        self._entries = 0 if getattr(scorer, "remote", False) else config.cache_entries
        self.memory = Memory(self._entries)
        self.jobs = 0  # requests admitted and not yet released; changed on the event loop only
        self.batcher: Batcher[Unit] = InOrder(MERGED_SAMPLES)
        if self.prepares:
            own: int = getattr(scorer, "max_batch_tokens", BATCH_TOKENS)
            budget = config.max_batch_tokens or own
            # One sequence a forward gives the same bits in any company; on a CPU it costs nothing from 128 tokens on.
            budget = 1 if config.scores == "exact" else budget
            self.batcher = ByLength(budget, join=_trees if self.shares else None, padded=not self.packs)
            if (
                config.sweep_seconds
                and config.scores == "fast"
                and (found := sweep(scorer, seconds=config.sweep_seconds))
            ):
                logger.info("scorer %r: batches of %d tokens, overhead %d", name, found.budget, found.overhead)
                self.batcher.overhead = found.overhead
                # A group is computed at once even where larger batches gain nothing, so there is room for one.
                room = max(found.budget, own) if self.shares else found.budget
                self.batcher.budget = config.max_batch_tokens or room

    def follow(self) -> None:
        """Take over the scorer's version, which for a remote one is its server's."""
        if self.version != self.scorer.version:
            self.version = self.scorer.version
            self.provenance = {**self.provenance, "version": self.version}
            self.memory = Memory(self._entries)


class Lane:
    """A name that requests use, the scorer behind it and the threads that ask it; they start with the first work."""

    def __init__(self, name: str, scorer: Scorer, config: ServeConfig, metrics: Metrics) -> None:
        self.name, self._config, self._metrics = name, config, metrics
        # Oldest first, the last one takes new work. A tuple, replaced as a whole: the worker reads it as it is.
        first = Generation(name, scorer, config, source=config.scorers.get(name))
        self._generations: tuple[Generation, ...] = (first,)
        self._batches = 0  # so far; counted by the worker only
        self._pushed: list[Job] = []
        self._unprepared: SimpleQueue[list[Job] | None] = SimpleQueue()
        self._inbox: SimpleQueue[list[Unit] | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._burst = _Burst()
        self._pace = _Pace()
        self.waiting = 0  # estimated tokens accepted and not yet answered; changed on the event loop only
        self.seconds_a_token = 0.0  # of late, estimated tokens; 0 before the first batch; written by the worker only

    @property
    def current(self) -> Generation:
        """The generation that new work is admitted to."""
        return self._generations[-1]

    @property
    def generations(self) -> Sequence[Generation]:
        """Those that still have requests to answer, oldest first, and last the current one."""
        return self._generations

    @property
    def version(self) -> str:
        return self.current.version

    @property
    def scale(self) -> Scale:
        return self.current.scale

    @property
    def prepares(self) -> bool:
        return self.current.prepares

    def swap(self, scorer: Scorer, *, source: ScorerSpec | None = None) -> str:
        """From now on new work goes to this scorer; what was admitted is still answered by the old one.

        source: what it was loaded by. Called on the event loop. Returns the new version. Raises UsageError if the
        scale is another: callers were promised this one.
        """
        number = self.current.number + 1
        generation = Generation(self.name, scorer, self._config, number=number, source=source)
        if generation.scale != self.scale:
            raise UsageError(
                f"scorer {self.name!r} has the scale {self.scale!r} and its successor {generation.scale!r}; "
                "serve that one under another name"
            )
        self._generations = (*self._generations, generation)
        self._retire()
        return generation.version

    def _retire(self) -> None:
        """Let go of old generations whose requests have all been answered, and so of their weights."""
        *old, current = self._generations
        self._generations = (*(generation for generation in old if generation.jobs), current)

    def admit(self, job: Job) -> None:
        """Count a job's work. Called on the event loop."""
        job.generation = self.current
        job.generation.jobs += 1
        self.waiting += job.tokens

    def release(self, job: Job) -> None:
        """A job has been answered, one way or another. Called on the event loop."""
        self.waiting -= job.tokens
        job.generation.jobs -= 1
        if job.generation is not self.current:
            self._retire()

    def push(self, job: Job) -> None:
        """Take an admitted job. Called on the event loop."""
        if not self._threads:
            self._start()
        # What arrives in one turn of the loop goes over together: to wake a thread costs more than a quick score.
        if not self._pushed:
            job.loop.call_soon(self._flush)
        self._pushed.append(job)

    def _flush(self) -> None:
        jobs, self._pushed = self._pushed, []
        if unprepared := [job for job in jobs if job.generation.prepares]:
            self._unprepared.put(unprepared)
        if units := [unit for job in jobs if not job.generation.prepares for unit in self._plain_units(job)]:
            self._inbox.put(units)
            for unit in units:
                unit.waiters[0][0][0].queued = time.monotonic()

    def _start(self) -> None:
        for target in (self._work, self._prepare):
            # Daemons, because a scorer that hangs must not keep a stopped server's process alive.
            thread = threading.Thread(target=target, name=f"guerdon-{self.name}{target.__name__}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def close(self) -> None:
        self._unprepared.put(None)
        self._inbox.put(None)

    # --- making work ready ---

    def _plain_units(self, job: Job) -> list[Unit]:
        """The job's samples, those of one group together: only they may be compared, so no batch cuts between them."""
        generation, units = job.generation, []
        members: dict[str, list[int]] = {}
        samples = [item.sample if isinstance(item, ReadyMade) else item for item in job.items]
        for index, sample in enumerate(samples):
            if sample.group is not None:
                members.setdefault(sample.group, []).append(index)
            elif unit := self._unit(generation, (sample,), 1, job, index, key=key_of_sample(sample)):
                units.append(unit)
        for indices in members.values():
            waiters = [[(job, index)] for index in indices]
            units.append(Unit(generation, tuple(samples[i] for i in indices), len(indices), waiters))
        return units

    def _unit(
        self, generation: Generation, work: Any, cost: int, job: Job, index: int, *, key: Hashable, prompt: Any = None
    ) -> Unit | None:
        """New work, or None if the same has been done or is on its way."""
        memory = generation.memory
        if known := memory.recall(key):
            self._metrics.repeated(self.name, "remembered")
            _deliver([(job, index, *known)])
            return None
        if memory.join(key, job, index):
            self._metrics.repeated(self.name, "joined")
            return None
        unit = Unit(generation, work, cost, [[(job, index)]], prompt=prompt, key=key)
        memory.begin(unit)
        return unit

    def _prepare(self) -> None:
        """The prepare thread: text becomes token ids while the model computes."""
        while (jobs := self._unprepared.get()) is not None:
            wanted = [(job, index) for job in jobs for index in range(len(job.items))]
            units: list[Unit] = []
            for start in range(0, len(wanted), _TOKENISED):
                units += self._tokenised(wanted[start : start + _TOKENISED])
            self._inbox.put(units)
            for job in jobs:
                job.queued = time.monotonic()

    def _tokenised(self, wanted: Sequence[tuple[Job, int]]) -> list[Unit]:
        """Units of the samples at these places. Those that cannot be prepared are answered here."""
        units: list[Unit] = []
        settled: list[Settled] = []
        wanted = [(job, index) for job, index in wanted if not job.closed]
        # Nearly always one: the jobs of one turn of the loop have different generations only in the turn of a swap.
        for generation in dict.fromkeys(job.generation for job, _ in wanted):
            mine = [(job, index) for job, index in wanted if job.generation is generation]
            results = self._prepared(generation.scorer, [job.items[index] for job, index in mine])
            for (job, index), result in zip(mine, results, strict=True):
                if not isinstance(result, Prepared):
                    settled.append((job, index, result, None))
                    continue
                key, prompt = (key_of_ids(result.ids), result.details), result.sample.prompt or None
                if unit := self._unit(generation, result, result.cost, job, index, key=key, prompt=prompt):
                    units.append(unit)
        _deliver(settled)
        return units

    def _prepared(self, scorer: Any, items: Sequence[Item]) -> list[Prepared | Score]:
        many = getattr(scorer, "prepare_many", None)
        if many is not None and all(isinstance(item, Sample) for item in items):
            with contextlib.suppress(Exception):  # one sample's fault is found sample by sample, below
                return _checked_prepared(many(items), len(items))
        return [self._prepared_one(scorer, item) for item in items]

    def _prepared_one(self, scorer: Any, item: Item) -> Prepared | Score:
        try:
            if isinstance(item, Sample):
                prepared = scorer.prepare(item)
            elif not hasattr(scorer, "prepare_text"):
                message = f"scorer {self.name!r} takes prompts and responses, no ready-made text or token ids"
                return Score.unscored(message, status="not_applicable")
            elif item.ids is not None:
                prepared = scorer.prepare_ids(item.sample, item.ids, keep=item.keep)
            else:
                prepared = scorer.prepare_text(
                    item.sample, item.text, special_tokens=item.special_tokens, keep=item.keep
                )
            return _checked_prepared([prepared], 1)[0]
        except (Exception, SystemExit) as error:  # code we do not own, on one sample
            logger.exception("scorer %r could not prepare a sample", self.name)
            return _failed(error)

    # --- scoring ---

    def _work(self) -> None:
        """The worker thread. It alone touches the batchers, so there is no lock for the event loop to wait on."""
        while True:
            for units in self._arrived():
                if units is None:
                    return
                for unit in units:
                    unit.generation.batcher.add((unit,))
            for generation in self._generations:
                if batch := generation.batcher.take():
                    (self._hand_out if generation.takes_tasks else self._answer)(batch)
                    break

    def _arrived(self) -> Iterator[list[Unit] | None]:
        """What has come since the last batch. Waits for it if there is nothing else to do."""
        if not any(generation.batcher for generation in self._generations):
            units = self._inbox.get()
            yield units
            if units and units[0].generation.prepares and self._burst.expected:
                time.sleep(_BURST_SECONDS)
                self._burst.note(came=not self._inbox.empty())
        with contextlib.suppress(Empty):
            while True:
                yield self._inbox.get_nowait()

    def _answer(self, batch: list[Unit]) -> None:
        start, generation = time.monotonic(), batch[0].generation
        name, size = self._begin(batch)
        if generation.prepares:
            self._note_forward(batch, shares=generation.shares)
        scores = iter(self._score(batch))
        settled: list[Settled] = []
        for unit in batch:
            settled += _settled(unit, [next(scores) for _ in unit.waiters], _origin(unit, name, size))
        self._note_rate(sum(map(_tokens, batch)), time.monotonic() - start)
        _deliver(settled)

    def _begin(self, batch: list[Unit]) -> tuple[str, int]:
        """Note that a batch begins now; its name and its samples."""
        start, size = time.monotonic(), sum(len(unit.waiters) for unit in batch)
        for unit in batch:
            for waiters in unit.waiters:
                for job, _ in waiters:
                    job.started = job.started or start
        self._metrics.batch(self.name, size)
        self._batches += 1
        return f"{_RUN}-{self._batches}", size

    def _hand_out(self, batch: list[Unit]) -> None:
        """Give units to a scorer's own processes, which waits while they have enough."""
        name, size = self._begin(batch)
        self._pace.begin(len(batch))
        scorer: Any = batch[0].generation.scorer
        tasks = [
            Task(unit.work, partial(self._came, unit, _origin(unit, name, size)), partial(_wanted, unit))
            for unit in batch
        ]
        try:
            scorer.submit(tasks)
        except Exception as error:  # no more processes, say
            logger.exception("scorer %r took no work", self.name)
            for task in tasks:
                task.done([_failed(error)] * len(task.samples))

    def _came(self, unit: Unit, origin: Origin, outcome: Outcome) -> None:
        """What became of a unit that was handed out. Called once for each, on a thread of the scorer."""
        if elapsed := self._pace.end(_tokens(unit)):
            self._note_rate(*elapsed)
        if outcome is None:
            return
        if isinstance(outcome, OutageError):
            logger.warning("scorer %r: an outage: %s", self.name, outcome)
            self._metrics.outage(self.name)
            outcome = [_failed(outcome)] * len(unit.waiters)
        scale = unit.generation.scale
        _deliver(_settled(unit, [_on_scale(score, scale) for score in outcome], origin))

    def _note_forward(self, batch: list[Unit], *, shares: bool) -> None:
        costs = [unit.cost for unit in batch]
        if shares:
            costs = [cost for _, cost in _trees(batch, 1 << 60)]
        padded = sum(costs) if batch[0].generation.packs else max(costs) * len(costs)
        self._metrics.forward(self.name, sum(unit.cost for unit in batch), sum(costs), padded)

    def _note_rate(self, tokens: float, seconds: float) -> None:
        """How fast work goes of late, in the estimated tokens that admission counts."""
        rate = seconds / max(tokens, 1.0)
        self.seconds_a_token = rate if not self.seconds_a_token else 0.9 * self.seconds_a_token + 0.1 * rate

    def _score(self, units: list[Unit], *, reported: bool = False) -> list[Score]:
        """The scores of all units' samples, in order. What the scorer raises becomes a status, never an exception."""
        count = sum(len(unit.waiters) for unit in units)
        generation = units[0].generation
        try:
            scores = _checked(_call(generation, units), count)
            generation.follow()
            return [_on_scale(score, generation.scale) for score in scores]
        except OutageError as error:
            logger.warning("scorer %r: %d samples lost to an outage: %s", self.name, count, error)
            self._metrics.outage(self.name)
            return [_failed(error)] * count
        except BaseException as error:  # code we do not own; a thread that dies would leave its callers waiting
            if _out_of_memory(error):
                self._smaller(generation)
            if not reported:
                logger.exception("scorer %r raised on a batch of %d; looking for the sample", self.name, count)
                self._metrics.failed(self.name)
            if len(units) == 1:
                return [_failed(error)] * count
        middle = len(units) // 2
        return self._score(units[:middle], reported=True) + self._score(units[middle:], reported=True)

    def _smaller(self, generation: Generation) -> None:
        """After memory ran out: half the batch from now on. One sequence always goes, however long."""
        batcher = generation.batcher
        batcher.budget = max(1, batcher.budget // 2)
        logger.warning("scorer %r ran out of memory; batches are of %d tokens now", self.name, batcher.budget)


class _Burst:
    """Whether requests come in bursts of late, so that an idle model should wait a moment after the first."""

    def __init__(self) -> None:
        self._pays, self._asked = 1.0, 0

    @property
    def expected(self) -> bool:
        self._asked += 1
        return self._pays > _PAYS or self._asked % _TRIES_AGAIN == 0

    def note(self, *, came: bool) -> None:
        self._pays += 0.2 * (came - self._pays)


class _Pace:
    """How fast work goes that many processes do at once: what is done in a stretch of time in which some is under way.

    Several threads tell it.
    """

    _STRETCH = 0.2  # seconds

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way, self._since, self._tokens = 0, 0.0, 0.0

    def begin(self, units: int) -> None:
        with self._lock:
            if not self._under_way:
                self._since = time.monotonic()
            self._under_way += units

    def end(self, tokens: float) -> tuple[float, float] | None:
        """A unit is done. Tokens and seconds of a stretch, once that is over."""
        with self._lock:
            now = time.monotonic()
            self._under_way -= 1
            self._tokens += tokens
            seconds = now - self._since
            if self._under_way and seconds < self._STRETCH:
                return None
            stretch, self._tokens, self._since = (self._tokens, seconds), 0.0, now
            return stretch


def _call(generation: Generation, units: list[Unit]) -> list[Score]:
    scorer: Any = generation.scorer
    if generation.prepares:
        scores = scorer.run([unit.work for unit in units])
    else:
        scores = scorer.score([sample for unit in units for sample in unit.work])
    return scores  # type: ignore[no-any-return]  # checked by _checked


def _trees(units: Sequence[Unit], budget: int) -> list[tuple[list[int], int]]:
    """Units that share a beginning as one row each, with the tokens of that row."""
    sequences = [unit.work.ids for unit in units]
    rows = groups(sequences, [unit.prompt for unit in units], budget)
    return [(row, tree_length([sequences[i] for i in row])) for row in rows]


def _origin(unit: Unit, batch: str, size: int) -> Origin:
    if not unit.generation.prepares:
        return Origin(unit.key, None, batch, size)  # type: ignore[arg-type]  # bytes or None, see _plain_units
    ids, _ = unit.key  # type: ignore[misc]  # see _tokenised
    return Origin(ids, unit.cost, batch, size)


def _settled(unit: Unit, scores: list[Score], origin: Origin) -> list[Settled]:
    if unit.key is None:
        return unit.settled(scores, origin)
    return unit.generation.memory.end(unit, scores[0], origin)


def _tokens(unit: Unit) -> float:
    """Estimated, as admission counts them; of those who have joined, nothing."""
    return sum(job.tokens / len(job.items) for (job, _), *_ in unit.waiters)


def _wanted(unit: Unit) -> bool:
    return not unit.dropped


def _deliver(settled: list[Settled]) -> None:
    """Hand scores to the event loop, all of them at once."""
    if settled:
        # A loop that is closed has nobody left who waits.
        with contextlib.suppress(RuntimeError):
            settled[0][0].loop.call_soon_threadsafe(partial(_settle, settled))


def _settle(settled: list[Settled]) -> None:
    for job, index, score, origin in settled:
        job.settle(index, score, origin)


def _failed(error: BaseException) -> Score:
    return Score.unscored(f"{type(error).__name__}: {error}"[:_REASON_CHARACTERS], status="error")


def _out_of_memory(error: BaseException) -> bool:
    """torch's error is told by its name, so that a server of verifiers needs no torch."""
    return type(error).__name__ == "OutOfMemoryError"


def _checked(scores: Any, count: int) -> list[Score]:
    if not isinstance(scores, list) or len(scores) != count or not all(isinstance(s, Score) for s in scores):
        got = f"{len(scores)} values" if isinstance(scores, list) else type(scores).__name__
        raise ContractError(f"a scorer must give a list of {count} Scores for {count} samples, got {got}")
    return scores


def _checked_prepared(results: Any, count: int) -> list[Prepared | Score]:
    if len(results) != count:
        raise ContractError(f"prepare_many gave {len(results)} results for {count} samples")
    for result in results:
        if not isinstance(result, (Prepared, Score)):
            raise ContractError(f"prepare must give a Prepared or a Score, got {type(result).__name__}")
    return list(results)


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
