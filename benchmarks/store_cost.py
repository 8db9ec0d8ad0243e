"""What the store costs: CPU of a request with no store, with one, and with one that keeps texts.

    python benchmarks/store_cost.py [--requests 20000] [--url postgresql+psycopg://...]

Requests go to the app in this process, without sockets: native, one sample each, texts of RL length (a prompt of 400
and a response of 1,000 characters), 64 at once, a scorer that costs nothing. CPU is of the whole process (the store's
thread included), and of the event loop's thread alone, which is what a caller can notice. The cases take turns and each
counts by its best round, since other work on the machine only ever adds.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from guerdon.rewards import Score, pointwise
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig
from guerdon.serving.store import Store

HEADERS = [(b"content-type", b"application/json")]


def bodies(count: int) -> list[bytes]:
    drawn = random.Random(0)
    words = ["reward", "model", "because", "the", "sum", "of", "therefore", "equals", "answer"]
    made = []
    for number in range(count):
        prompt = " ".join(drawn.choices(words, k=70))
        response = " ".join(drawn.choices(words, k=175)) + f" {number}"
        item = {"id": str(number), "prompt": prompt, "response": response, "meta": {"step": number // 512}}
        made.append(json.dumps({"scorer": "s", "items": [item]}).encode())
    return made


async def answer(app: Any, body: bytes) -> None:
    scope = {"type": "http", "method": "POST", "path": "/v1/score", "headers": HEADERS}

    parts = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive() -> dict[str, Any]:
        for part in parts:
            return part
        await asyncio.Event().wait()  # a client that stays
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        assert message.get("status", 200) == 200

    await app(scope, receive, send)


async def load(app: Any, requests: list[bytes]) -> float:
    """Answers all, 64 at once; gives the CPU seconds of this thread."""
    waiting = iter(requests)

    async def caller() -> None:
        for body in waiting:
            await answer(app, body)

    start = time.thread_time()
    await asyncio.gather(*(caller() for _ in range(64)))
    return time.thread_time() - start


def measure(requests: list[bytes], where: str | None, *, texts: bool) -> tuple[float, float, int]:
    """CPU microseconds a request of the process and of the event loop, and rows stored."""
    score = pointwise(lambda sample: Score(0.5, "half", {"tokens": 349, "cut": 0}), scale="real", name="half")
    app = create_app(ServeConfig(store=where, store_text=texts, cache_entries=0), {"s": score})
    start = time.process_time()
    loop = asyncio.run(load(app, requests))
    rows = 0
    if app.state.store is not None:
        app.state.store.close(seconds=600)
    spent = time.process_time() - start
    if where is not None:
        with Store.open(where) as store:
            rows = store.count()
    return 1e6 * spent / len(requests), 1e6 * loop / len(requests), rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--url", help="an empty database, measured beside the file")
    options = parser.parse_args()
    requests = bodies(options.requests)
    cases: dict[str, tuple[str | None, bool]] = {"no store": (None, False), "store": ("file", False)}
    cases["store with texts"] = ("file", True)
    if options.url:
        cases["store with texts, by URL"] = (options.url, True)
    best: dict[str, tuple[float, float]] = {}
    stored: dict[str, tuple[int, float]] = {}
    for _ in range(options.rounds):
        for name, (place, texts) in cases.items():
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "scores.db"
                where = str(file) if place == "file" else place
                process, loop, rows = measure(requests, where, texts=texts)
                size = file.stat().st_size / rows if place == "file" else 0.0
            before = best.get(name, (process, loop))
            best[name] = (min(before[0], process), min(before[1], loop))
            stored[name] = (rows, size)
    print(f"{'CPU us a request':26} process  event loop    rows  bytes a row")
    for name, (process, loop) in best.items():
        rows, size = stored[name]
        print(f"{name:26} {process:7.1f} {loop:11.1f} {rows:7} {size:12.0f}")


if __name__ == "__main__":
    main()
