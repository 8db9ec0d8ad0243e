"""Which of several replicas a request goes to: the same one for the same prompt, so that a group meets in one batch.

Rendezvous hashing: every replica gets a mark for a prompt, and the highest has it. A replica that comes or goes moves
only the prompts that it gets or had. Loads are bounded: one prompt that everybody asks must not stop its replica.
Plain functions; ``guerdon.serving.ray_app`` uses them, and any proxy that can hash may do the same.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from hashlib import blake2b
from typing import Any, TypeVar

import orjson

Replica = TypeVar("Replica", bound=Hashable)

BEGINNING = 512
"""Characters that are looked at of a text that holds prompt and response. The response must begin after them, or its
group is spread."""

SLACK = 8
"""Requests that a replica may have beyond 1.25 times the mean before prompts that are its own go to another one."""

# Where the forms of trainers and engines have the prompt by itself, and where it is the beginning of a whole text.
_PROMPTS = ("prompts", "prompt", "text_1", "query", "items", "responses_create_params", "conversation_history")
_TEXTS = ("messages", "input", "inputs", "text", "texts", "input_ids", "queries")


def prompt_key(body: bytes) -> bytes | None:
    """64 bits of the first prompt in a request's JSON; None if there is none to be seen.

    A hint: a body that it misreads costs affinity, and nothing else.

    >>> a, b = (prompt_key(b'{"items": [{"prompt": "p", "response": "%d"}]}' % n) for n in (1, 2))
    >>> a == b, prompt_key(b"no json")
    (True, None)
    """
    try:
        found = _prompt(orjson.loads(body))
    except (ValueError, RecursionError):
        return None
    return None if not found else blake2b(found.encode("utf-8", "replace"), digest_size=8).digest()


def _prompt(body: Any) -> str | None:
    while isinstance(body, Mapping):
        name = next((name for name in (*_PROMPTS, *_TEXTS) if body.get(name)), None)
        if name is None:
            return None
        value = body[name]
        # OpenRLHF's own field ``query`` is a list of whole texts beside ``prompts``.
        whole = name in _TEXTS or (name == "query" and isinstance(value, list))
        while isinstance(value, list) and value and not (_is_messages(value) or isinstance(value[0], int)):
            value = value[0]
        if not isinstance(value, Mapping):
            text = value if isinstance(value, str) else repr(_without_answer(value))
            return text[:BEGINNING] if whole else text
        body = value
    return None


def _is_messages(value: list[Any]) -> bool:
    return isinstance(value[0], Mapping) and "role" in value[0]


def _without_answer(value: Any) -> Any:
    if isinstance(value, list) and _is_messages(value[-1:]) and value[-1]["role"] == "assistant":
        return value[:-1]
    return value


def ranked(key: bytes, replicas: Mapping[Replica, int]) -> list[Replica]:
    """The replicas in the order in which they are asked for this key. replicas: with the requests that each has.

    The one that has the key comes first, unless it has far more to do than the others; those come last.
    """
    most = 1.25 * sum(replicas.values()) / max(1, len(replicas)) + SLACK
    order = sorted(replicas, key=lambda replica: (_mark(key, replica), str(replica)), reverse=True)
    return sorted(order, key=lambda replica: replicas[replica] > most)


def _mark(key: bytes, replica: Hashable) -> bytes:
    return blake2b(str(replica).encode(), key=key, digest_size=8).digest()


def replicas_wanted(waits: Iterable[float], low: int, high: int) -> int:
    """How many replicas the work that waits is worth. waits: of each replica, in units of the wait that is aimed at.

    >>> replicas_wanted([2.5, 0.0], 1, 8), replicas_wanted([0.1, 0.1], 1, 8), replicas_wanted([90.0], 1, 8)
    (3, 1, 8)
    """
    return min(high, max(low, math.ceil(sum(waits))))
