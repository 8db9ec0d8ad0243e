"""What is kept between verdicts: references that have been read, and pairs that have been decided.

A group of rollouts shares its reference and repeats its answers. Both stores forget what was used longest ago once they
hold more than a fixed number of bytes, as estimated from the texts; both may be used from any thread.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from guerdon.rewards.types import Status
from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.errors import TooLargeError, UnreadError
from guerdon.verifiers._math.kinds import kind_of
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import Node

_BYTES_A_CHARACTER = 150
"""Of a tree: measured on the references of MATH, 60 to 140 bytes."""
_BYTES_AN_ENTRY = 600
_MOST_BYTES = 32 * 2**20

_V = TypeVar("_V")


class Store(Generic[_V]):
    """A mapping that forgets: the least recently used entries go once the estimated bytes exceed the limit."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most, self._held = most_bytes, 0
        self._entries: OrderedDict[Hashable, tuple[_V, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> _V | None:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                return None
            self._entries.move_to_end(key)
            return entry[0]

    def put(self, key: Hashable, value: _V, size: int) -> None:
        """Keep a value that takes about ``size`` bytes. One that is larger than a quarter of the store is not kept."""
        if size > self._most // 4:
            return
        with self._lock:
            if (before := self._entries.pop(key, None)) is not None:
                self._held -= before[1]
            self._entries[key] = (value, size)
            self._held += size
            while self._held > self._most:
                self._held -= self._entries.popitem(last=False)[1][1]

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A text that was read: its tree, or the reason and the status why there is none. kind: of a reference's tree."""

    node: Node | None
    kind: str = "unread"
    reason: str = ""
    status: Status = "ok"


_READ: Store[Compiled] = Store()
DECIDED: Store[Decision] = Store()
"""The verdicts that were certain, by everything that they depend on."""


def read(text: str, *, keep: bool) -> Compiled:
    """The tree of a text. keep: for a reference, which other responses will be compared with."""
    if keep and (known := _READ.get(text)) is not None:
        return known
    try:
        node = parse(text)
        compiled = Compiled(node, kind_of(node) if keep else "")
    except TooLargeError as error:
        compiled = Compiled(None, reason=error.reason, status="refused")
    except UnreadError as error:
        compiled = Compiled(None, reason=error.reason, status="not_applicable")
    if keep:
        _READ.put(text, compiled, _BYTES_AN_ENTRY + _BYTES_A_CHARACTER * len(text))
    return compiled


def keep_decision(key: Hashable, decision: Decision, *texts: str) -> None:
    """Keep what was decided. What could not be told is tried anew: there may be more time then."""
    if decision.equal is not None:
        DECIDED.put(key, decision, _BYTES_AN_ENTRY + sum(map(sys.getsizeof, texts)))
