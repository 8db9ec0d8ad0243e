"""Worker processes against the server's own thread: samples a second, and what they cost the server's process.

    python benchmarks/serving/workers.py

Verifiers of microseconds, and a function that computes in Python for some milliseconds. Own CPU is that of the server's
process; on a busy machine it says more than the wall clock.
"""

from __future__ import annotations

import resource
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from guerdon.rewards import Sample, Scorer
from guerdon.serving.specs import load_scorer
from guerdon.serving.workers import WorkerScorer

SLOW = """
def slow(sample):
    return float(sum(range(100_000)) > 0)
"""
BATCH = 256  # samples that a lane hands over at once


def cheap(n: int) -> list[Sample]:
    words = "First we add the numbers, then we halve the sum. " * 6
    return [
        Sample("p", f"{words}So the answer is \\boxed{{{i}}}.", reference=str(i if i % 3 else i + 1)) for i in range(n)
    ]


def measure(scorer: Scorer, samples: list[Sample], repeat: int = 3) -> dict[str, Any]:
    scorer.score(samples[:64])  # all processes are up, all modules loaded
    walls, own = [], []
    for _ in range(repeat):
        wall, cpu = time.perf_counter(), time.process_time()
        for start in range(0, len(samples), BATCH):
            scorer.score(samples[start : start + BATCH])
        walls.append(time.perf_counter() - wall)
        own.append(time.process_time() - cpu)
    return {
        "a second": round(len(samples) / min(walls)),
        "own CPU us a sample": round(1e6 * min(own) / len(samples), 1),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        slow = Path(folder) / "slow.py"
        slow.write_text(SLOW)
        for name, work in (("numeric", cheap(8000)), ("math", cheap(8000)), (f"{slow}:slow", cheap(400))):
            compare(name, work)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"CPU seconds of all workers: {used.ru_utime + used.ru_stime:.1f}")


def compare(name: str, work: list[Sample]) -> None:
    print(f"{name.rpartition('/')[2]}, {len(work)} samples")
    print(f"  {'in thread':12} {measure(load_scorer(name), work)}", flush=True)
    for workers in (1, 2):
        with closing(WorkerScorer(name, workers=workers)) as scorer:
            while len(scorer.pids) < workers:
                time.sleep(0.05)
            print(f"  {f'{workers} workers':12} {measure(scorer, work)}", flush=True)


if __name__ == "__main__":
    main()
