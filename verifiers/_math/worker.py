"""The program of one symbolic worker: reads questions from standard input, writes answers to standard output.

Every message is one line of JSON. It says ``{"ready": true}`` once sympy is loaded, then answers each
``{"a": tree, "b": tree, "seconds": 0.5}`` with ``{"equal": ..., "stage": ..., "reason": ..., "status": ...}``, with
``"last": true`` if it ends itself after that. It ends with its standard input, and when a question takes too long, too
much memory or too much processor time, so that it outlives nobody.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

MAX_MEMORY = 2 * 2**30
"""Bytes of address space: sympy takes 200 MB of it before its first question."""

_GRACE = 1.0  # seconds after which a worker that nobody has killed ends itself


def _limit_memory() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):  # Windows has no limits, macOS refuses this one
        pass


def _limit_processor(seconds: float) -> None:
    try:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        soft = int(used.ru_utime + used.ru_stime + seconds + _GRACE) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        pass


def _answer(question: dict[str, Any]) -> dict[str, Any]:
    from guerdon.verifiers._math.decision import CannotTellError, Decision
    from guerdon.verifiers._math.symbolic import settle
    from guerdon.verifiers._math.wire import unpack

    try:
        decision = settle(unpack(question["a"]), unpack(question["b"]))
    except CannotTellError as reason:
        decision = reason.decision("symbolic")
    except MemoryError:
        raise
    except RecursionError:
        decision = Decision(None, "symbolic", "nested too deeply", "refused")
    except Exception as error:  # sympy raises anything; it says nothing about the values
        decision = Decision(None, "symbolic", f"sympy: {type(error).__name__}: {error}"[:200])
    return {name: getattr(decision, name) for name in ("equal", "stage", "reason", "status")}


def main() -> None:
    _limit_memory()
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb", buffering=0)
    sys.stdout = sys.stderr  # a print inside sympy is no answer
    _answer(json.loads(_FIRST))  # loads what a question needs
    answers.write(b'{"ready": true}\n')
    for line in questions:
        question = json.loads(line)
        _limit_processor(question["seconds"])
        alarm = threading.Timer(question["seconds"] + _GRACE, os._exit, (1,))
        alarm.daemon = True
        alarm.start()
        try:
            answer = _answer(question)
        except MemoryError:
            answer = {"equal": None, "stage": "symbolic", "reason": "out of memory", "status": "refused", "last": True}
            answers.write(json.dumps(answer).encode() + b"\n")
            os._exit(1)  # what is left of the heap is not worth keeping
        alarm.cancel()
        answers.write(json.dumps(answer).encode() + b"\n")


_FIRST = (
    '{"a": ["Power", ["Call", "sin", {"t": [["Symbol", "x"]]}], ["Number", {"q": "2/1"}, 0]],'
    ' "b": ["Call", "cos", {"t": [["Symbol", "x"]]}]}'
)


if __name__ == "__main__":
    main()
