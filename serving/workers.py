"""A scorer scored by processes of its own: ``workers = 4`` in the configuration.

For verifiers and functions whose time nobody can promise. A thread that hangs cannot be stopped, and one that computes
in Python shares one interpreter with the server; a process can be killed and has a core to itself.

    [scorers.math]
    spec = "math"
    workers = 4              # processes
    worker_seconds = 30      # of one sample; then its process is killed and the sample is a timeout
    worker_memory = 2048     # MiB beyond what loading took; more raises MemoryError, a sample's error

Nothing is lost with a process that dies: the sample it was at is tried once more on another. What a crash or a deadline
leaves without a score is unscored (``error``, ``timeout``), never 0. Processes are spawned, told what to load by spec
and options, and spoken to in JSON. They end with their server, however that ends.
"""

from __future__ import annotations

import json
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from guerdon.rewards import Sample, Scale, Score, Scorer
from guerdon.rewards.errors import OutageError, UsageError
from guerdon.serving.processes.pool import Outcome, Pool, Task
from guerdon.serving.processes.process import Program
from guerdon.serving.specs import load_scorer

if TYPE_CHECKING:
    from guerdon.serving.config import ScorerSpec

SECONDS = 30.0
MEMORY = 2048
# Samples after which a process is replaced: many enough that starting costs a verifier of microseconds under 3 %.
RECYCLE_AFTER = 500_000


def load_served(source: ScorerSpec) -> Scorer:
    """The scorer that a configuration names, in processes of its own if it has ``workers``. Raises as load_scorer."""
    if not source.workers:
        return load_scorer(source.spec, **source.options)
    return WorkerScorer(
        source.spec,
        source.options,
        workers=source.workers,
        seconds=source.worker_seconds,
        memory=source.worker_memory,
    )


class WorkerScorer:
    """What ``spec`` names, scored by some processes. Thread-safe; pickles as what it was made of.

    One sample is one call of the scorer, and so are the samples of one group in one ``score``. A sample that JSON
    cannot carry (a reference that is an object, a key that is no string) is unscored with status ``error``.
    """

    name: str
    version: str
    scale: Scale

    def __init__(
        self,
        spec: str,
        options: Mapping[str, Any] | None = None,
        *,
        workers: int,
        seconds: float = SECONDS,
        memory: int = MEMORY,
        recycle_after: int = RECYCLE_AFTER,
    ) -> None:
        """Returns when the first process has loaded the scorer.

        workers: processes. seconds: of one sample. memory: MiB that one may take beyond what loading took; at half of
        that a process is replaced when it is done. recycle_after: samples after which it is replaced.
        Raises what loading raises, and UsageError for options that are no JSON values.
        """
        if os.name != "posix":
            raise UsageError("workers need a POSIX system (Linux, macOS); leave the option out")
        try:
            options = json.loads(json.dumps(dict(options or {}), allow_nan=False))
        except (TypeError, ValueError) as error:
            raise UsageError(f"the options of a scorer with workers must be JSON values: {error}") from error
        self._made_of = {
            "spec": spec, "options": options, "workers": workers, "seconds": seconds, "memory": memory,
            "recycle_after": recycle_after,
        }  # fmt: skip
        self._program = Program(spec, options, seconds, memory * 2**20, os.getcwd())
        self._size, self._recycle_after = workers, recycle_after
        self._lock = threading.Lock()
        self._open()
        about = self._pool.about
        self.name, self.version, self.scale = about["name"], about["version"], about["scale"]

    def _open(self) -> None:
        self._pool = Pool(self._program, self._size, recycle_after=self._recycle_after)
        self._owner = os.getpid()
        # Also when the interpreter ends. It holds the pool, not the scorer, which may go before.
        self._close = weakref.finalize(self, self._pool.close)

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        """Raises OutageError if the scorer did, in any of the processes."""
        if not samples:
            return []
        places = _places(samples)
        gathered = _Gathered(places, len(samples))
        self.submit([Task([samples[i] for i in place], gathered.taker(place)) for place in places])
        return gathered.scores()

    def submit(self, tasks: Sequence[Task]) -> None:
        """Have tasks scored, each ``done`` as it is finished. Waits while many others wait."""
        self._own_pool().put(tasks)

    def _own_pool(self) -> Pool:
        if self._owner != os.getpid():  # a forked child has none of its parent's threads
            with self._lock:
                if self._owner != os.getpid():
                    self._close.detach()
                    self._pool.forget()
                    self._open()
        return self._pool

    @property
    def counts(self) -> Mapping[str, int]:
        """Of worker processes: started, crashed, killed, recycled, failed (to start)."""
        return dict(self._pool.counts)

    @property
    def pids(self) -> Sequence[int]:
        """The processes there are."""
        return self._pool.pids

    def provenance(self) -> Mapping[str, Any]:
        """What the scorer itself says of how it scores."""
        return dict(self._pool.about["provenance"])

    def close(self) -> None:
        """End the processes. What is asked from now on is unscored, with status ``error``."""
        self._close()

    def __reduce__(self) -> tuple[Any, ...]:
        return _remade, (self._made_of,)

    def __repr__(self) -> str:
        return f"WorkerScorer({self._made_of['spec']!r}, workers={self._size})"


def _remade(made_of: dict[str, Any]) -> WorkerScorer:
    return WorkerScorer(**made_of)


def _places(samples: Sequence[Sample]) -> list[list[int]]:
    """The indices of each call: those of a group together, others alone."""
    groups: dict[str | int, list[int]] = {}
    for index, sample in enumerate(samples):
        groups.setdefault(index if sample.group is None else sample.group, []).append(index)
    return list(groups.values())


class _Gathered:
    """The scores of one batch, as they come."""

    def __init__(self, places: Sequence[Sequence[int]], count: int) -> None:
        self._scores: list[Score | None] = [None] * count
        self._left = len(places)
        self._outage: OutageError | None = None
        self._lock, self._all = threading.Lock(), threading.Event()

    def taker(self, place: Sequence[int]) -> Any:
        def take(outcome: Outcome) -> None:
            if isinstance(outcome, OutageError):
                self._outage = outcome
            elif outcome is not None:
                for index, score in zip(place, outcome, strict=True):
                    self._scores[index] = score
            with self._lock:
                self._left -= 1
                if not self._left:
                    self._all.set()

        return take

    def scores(self) -> list[Score]:
        self._all.wait()
        if self._outage is not None:
            raise self._outage
        return [score for score in self._scores if score is not None]
