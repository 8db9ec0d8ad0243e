"""The program of one worker: loads a scorer, then scores what it is sent until its server ends.

    server to worker    {"spec", "options", "seconds", "memory"}, then chunks: [[sample, ...], ...]
    worker to server    {"ready": {"name", "version", "scale", ...}} or {"failed": [kind, message]},
                        then for each task of a chunk [score, ...] or {"raised": text, "outage": bool, "last": bool},
                        and after the last one of a chunk {"resident": bytes}

Scorers run in the main thread, so that one with an alarm of its own (``signal.alarm``) works here. The process outlives
nobody: it ends with its socket, and a call that overruns ends it even while its server is gone.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import socket
import threading
import time
import traceback
from queue import SimpleQueue
from typing import Any, NoReturn

from guerdon.rewards import BatchScorer, Sample, Score, Scorer
from guerdon.rewards.errors import OutageError, UsageError
from guerdon.serving.processes.wire import pack_scores, unpack_samples

# Seconds beyond a call's time after which the process ends itself. Its server kills it before, if there is one.
_GRACE = 3.0
_REASON_CHARACTERS = 200


def main(descriptor: int) -> None:
    """descriptor: of a connected socket that this process has inherited."""
    link = socket.socket(fileno=descriptor)
    lines: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(link, lines), daemon=True).start()
    first = json.loads(lines.get())
    try:
        scorer = _load(first["spec"], first["options"])
        own = getattr(scorer, "provenance", None)
        about = {"name": scorer.name, "version": scorer.version, "scale": scorer.scale}
        ready = {**about, "provenance": own() if callable(own) else {}, "resident": resident()}
    except (Exception, SystemExit) as error:  # loading runs code we do not own
        _say(link, json.dumps({"failed": [type(error).__name__, str(error)]}))
        return
    _limit_memory(first["memory"])
    _say(link, json.dumps({"ready": ready}, default=str))
    watch = _Watch(first["seconds"])
    while True:
        for rows in json.loads(lines.get()):
            watch.begin(len(rows))
            _say(link, _answer(scorer, unpack_samples(rows)))
        watch.rest()
        _say(link, json.dumps({"resident": resident()}))


def _load(spec: str, options: dict[str, Any]) -> Scorer:
    from guerdon.serving.specs import load_scorer

    scorer = load_scorer(spec, **options)
    if isinstance(scorer, BatchScorer):
        raise UsageError(f"{spec!r} is a reward model, which makes batches of its own; workers are for other scorers")
    return scorer


def _answer(scorer: Scorer, samples: list[Sample]) -> str:
    last = False
    try:
        scores = scorer.score(samples)
        if len(scores) != len(samples) or not all(isinstance(score, Score) for score in scores):
            raise TypeError(f"a scorer must give a list of {len(samples)} Scores for {len(samples)} samples")
        return pack_scores(scores)
    except MemoryError as error:
        raised: BaseException = error
        last = True  # what is left of the heap is not worth keeping
    except (Exception, SystemExit) as error:
        raised = error
    text = f"{type(raised).__name__}: {raised}"[:_REASON_CHARACTERS]
    # Frames without values: a trace may be logged, and samples may not.
    trace = "".join(traceback.format_tb(raised.__traceback__)[1:])[-2000:]
    outage = isinstance(raised, OutageError)
    return json.dumps({"raised": text, "trace": trace, "outage": outage, "last": last})


def _listen(link: socket.socket, lines: SimpleQueue[bytes]) -> NoReturn:
    rest: list[bytes] = []
    with contextlib.suppress(OSError):
        while part := link.recv(1 << 18):
            *whole, tail = part.split(b"\n")
            for line in whole:
                lines.put(b"".join([*rest, line]))
                rest.clear()
            rest.append(tail)
    os._exit(0)  # the server has ended, or has no more use for this process; whatever runs, runs for nobody


def _say(link: socket.socket, line: str) -> None:
    try:
        link.sendall(line.encode("ascii") + b"\n")
    except OSError:
        os._exit(0)


class _Watch:
    """Ends the process when a call overruns, from a thread of C that needs no GIL."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._until = seconds, 0.0

    def begin(self, samples: int) -> None:
        """Set at most once a second: setting it starts a thread."""
        needed = time.monotonic() + self._seconds * samples
        if needed > self._until - _GRACE + 1:
            self._until = needed + _GRACE
            faulthandler.dump_traceback_later(self._until - time.monotonic(), exit=True, file=2)

    def rest(self) -> None:
        faulthandler.cancel_dump_traceback_later()
        self._until = 0.0


def _limit_memory(more: int) -> None:
    """Bytes of data beyond what loading took; asking for more raises MemoryError. Linux only: others ignore it."""
    with contextlib.suppress(ImportError, ValueError, OSError, StopIteration):
        import resource

        with open("/proc/self/status", encoding="ascii") as file:
            now = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmData:"))
        resource.setrlimit(resource.RLIMIT_DATA, (now + more, resource.getrlimit(resource.RLIMIT_DATA)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def resident() -> int:
    """Bytes of memory that this process holds; where that cannot be read, the most it has ever held."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
