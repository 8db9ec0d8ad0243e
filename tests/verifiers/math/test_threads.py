"""Many threads at once give the verdicts that one gives, with stores that forget all the time."""

from __future__ import annotations

import json
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from guerdon.verifiers._math import compiled, decide
from guerdon.verifiers.math import verify

THREADS = 16
VERDICTS = int(os.environ.get("GUERDON_THREAD_VERDICTS", "600"))
"""Of each thread. Set it to 10000 for the whole study; a busy machine has other things to do."""

ROWS = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text().splitlines()]


@pytest.fixture
def small_stores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores that hold a few entries only, so that threads write and forget all the time."""
    monkeypatch.setattr(compiled, "_READ", compiled.Store(20_000))
    store = compiled.Store[decide.Decision](20_000)
    monkeypatch.setattr(compiled, "DECIDED", store)
    monkeypatch.setattr(decide, "DECIDED", store)


def judged(row: dict[str, str]) -> tuple[float | None, str]:
    # sixteen threads on a busy machine wait for each other for longer than half a second
    score = verify(row["response"], row["reference"], time_limit=30.0)
    return score.value, score.status


@pytest.mark.usefixtures("small_stores")
def test_sixteen_threads_agree_with_one() -> None:
    expected = [judged(row) for row in ROWS]

    def run(seed: int) -> list[int]:
        order = random.Random(seed).choices(range(len(ROWS)), k=VERDICTS)
        return [index for index in order if judged(ROWS[index]) != expected[index]]

    with ThreadPoolExecutor(THREADS) as pool:
        wrong = [index for indices in pool.map(run, range(THREADS)) for index in indices]
    assert not wrong, [(ROWS[index], expected[index]) for index in wrong[:3]]
