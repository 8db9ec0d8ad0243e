"""Ten times more than a server can do: what is not refused is scored, a retry costs nothing, and nothing piles up."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

import httpx

from guerdon.rewards import Prepared, Sample, Scale, Score
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig

SECONDS = 60.0  # never waited for in a passing run
LENGTH = 40


class Gated:
    """A reward model of so many characters a turn of the test's hand. It counts what it computes."""

    name, version, max_batch_tokens = "gated", "1", 10 * LENGTH
    scale: Scale = "real"

    def __init__(self) -> None:
        self.computed: Counter[str] = Counter()
        self.turns = threading.Semaphore(0)

    def prepare(self, sample: Sample) -> Prepared | Score:
        return Prepared(sample, tuple(sample.response_text.encode()))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        assert self.turns.acquire(timeout=SECONDS)
        texts = [bytes(prepared.ids).decode() for prepared in batch]
        self.computed.update(texts)
        return [Score(float(text.split()[0]), "its number") for text in texts]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self.run([self.prepare(sample) for sample in samples])  # type: ignore[misc]


def text(n: int) -> str:
    return f"{n} ".ljust(LENGTH, "x")


def test_an_overloaded_server_answers_everyone_and_bounds_what_waits() -> None:
    """A thousand requests arrive in bursts of a hundred, ten of which can be done meanwhile."""
    model = Gated()
    app = create_app(ServeConfig(max_queue_tokens=1500, cache_entries=0), {"s": model})
    engine = app.state.engine

    async def main() -> list[tuple[int, httpx.Response]]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t", timeout=SECONDS) as http:

            async def ask(n: int) -> tuple[int, httpx.Response]:
                body = {"scorer": "s", "items": [{"prompt": "p", "response": text(n)}]}
                return n, await http.post("/v1/score", json=body)

            asked: list[asyncio.Task[tuple[int, httpx.Response]]] = []
            for burst in range(10):
                before = sum(task.done() for task in asked)
                asked += [asyncio.ensure_future(ask(100 * burst + n)) for n in range(100)]
                model.turns.release()
                # Refusals come without waiting for the model: far more are answered than it could score.
                while sum(task.done() for task in asked) < before + (40 if burst else 1):
                    await asyncio.sleep(0.001)
                assert engine.lanes["s"].waiting <= 1500
            model.turns.release(1000)
            return list(await asyncio.gather(*asked))

    answers = asyncio.run(asyncio.wait_for(main(), SECONDS))
    engine.close()
    statuses = Counter(answer.status_code for _, answer in answers)
    assert set(statuses) == {200, 503}
    for n, answer in answers:
        if answer.status_code == 200:
            assert answer.json()["items"][0]["value"] == float(n)
        else:
            assert int(answer.headers["Retry-After"]) >= 1
    # Nothing is computed for those who were refused, and nothing twice.
    assert sum(model.computed.values()) == len(model.computed) == statuses[200]
    assert engine.lanes["s"].waiting == 0
    assert engine.idle


def test_each_request_sent_five_times_is_computed_once() -> None:
    model = Gated()
    model.turns.release(10_000)
    app = create_app(ServeConfig(), {"s": model})
    draw = random.Random(0)
    copies = [n for n in range(100) for _ in range(5)]
    draw.shuffle(copies)

    async def main() -> list[Any]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://t", timeout=SECONDS) as http:

            async def ask(n: int) -> tuple[int, Any]:
                await asyncio.sleep(draw.random() / 10)
                body = {"scorer": "s", "items": [{"prompt": "p", "response": text(n)}]}
                return n, (await http.post("/v1/score", json=body)).json()

            return list(await asyncio.gather(*map(ask, copies)))

    answers = asyncio.run(asyncio.wait_for(main(), SECONDS))
    app.state.engine.close()
    assert all(answer["items"][0]["value"] == float(n) for n, answer in answers)
    assert model.computed == Counter({text(n): 1 for n in range(100)})
