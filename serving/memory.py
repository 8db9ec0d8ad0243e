"""Work that need not be done twice: what is in flight already, and scores of a little while ago.

Trainers send again what they did not get an answer to in time, five or ten times over, and a policy repeats itself
within a group. The same work is joined while it waits and remembered when it is done.
"""

from __future__ import annotations

import sys
from array import array
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from hashlib import blake2b
from threading import Lock
from weakref import WeakValueDictionary

from guerdon.rewards import Sample, Score
from guerdon.serving.jobs import Job, Origin, Settled, Unit

REMEMBERED = frozenset({"ok", "abstained", "not_applicable", "refused"})
"""Statuses that the same work would get again. After a timeout or an error it deserves another try."""


class Memory:
    """Of one version of a scorer. Thread-safe. entries: scores kept, the least recently used go first; 0 keeps none."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._scores: OrderedDict[Hashable, tuple[Score, Origin]] = OrderedDict()
        # Weak, so that a unit that a queue has dropped is nobody's to join.
        self._in_flight: WeakValueDictionary[Hashable, Unit] = WeakValueDictionary()
        self._lock = Lock()

    def recall(self, key: Hashable) -> tuple[Score, Origin] | None:
        """The score of the same work and where it comes from, if that is still known."""
        with self._lock:
            known = self._scores.get(key)
            if known is not None:
                self._scores.move_to_end(key)
            return known

    def join(self, key: Hashable, job: Job, index: int) -> bool:
        """Wait for the same work, if somebody waits for it already."""
        with self._lock:
            unit = self._in_flight.get(key)
            if unit is None or unit.dropped:
                return False
            unit.waiters[0].append((job, index))
            return True

    def begin(self, unit: Unit) -> None:
        """From now on others may join the unit, which has a key."""
        with self._lock:
            self._in_flight[unit.key] = unit

    def end(self, unit: Unit, score: Score, origin: Origin) -> list[Settled]:
        """The unit's score for all who wait; nobody can join it any more."""
        with self._lock:
            if self._in_flight.get(unit.key) is unit:
                del self._in_flight[unit.key]
            if self._entries and score.status in REMEMBERED:
                self._scores[unit.key] = (score, origin._replace(how="remembered"))
                while len(self._scores) > self._entries:
                    self._scores.popitem(last=False)
            return unit.settled([score], origin)


def key_of_ids(ids: Sequence[int]) -> bytes:
    """128 bits of a sequence of token ids, so that a key does not keep the ids themselves alive.

    The same on every machine: stored scores are compared by it (guerdon.serving.replay).
    """
    numbers = array("q", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return blake2b(numbers.tobytes(), digest_size=16).digest()


def key_of_sample(sample: Sample) -> bytes:
    """128 bits of everything a scorer may read of a sample that stands alone."""
    prompt, response = sample.prompt, sample.response
    digest = blake2b(repr((sample.reference, sample.meta)).encode("utf-8", "surrogatepass"), digest_size=16)
    for text in (prompt, response):
        # A text and its length, so that no prompt and response run into each other; messages as they are printed.
        written = text if isinstance(text, str) else repr(text)
        digest.update(f"|{type(text).__name__}{len(written)}|".encode())
        digest.update(written.encode("utf-8", "surrogatepass"))
    return digest.digest()
