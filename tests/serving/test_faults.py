"""Faults under load: nothing is lost, nothing is invented, and nobody else's score changes.

A storm of clients asks a live server for scores that are known beforehand, and while they ask something breaks. Each
answer must be the known score, or say that there is none; what may have none is named by the test.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from guerdon.rewards import Prepared, Sample, Scale, Score
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig
from guerdon.serving.server import serving
from guerdon.serving.store import Store
from guerdon.serving.workers import WorkerScorer

SECONDS = 60.0  # never waited for in a passing run

WORKER = """
import os, time, zlib

def check(sample):
    time.sleep(0.002)
    if sample.response_text.startswith("poison"):
        os._exit(1)
    return float(zlib.crc32(sample.response_text.encode()))
"""


def right(text: str, version: str = "1") -> float:
    """The known score of a text."""
    return float(zlib.crc32(text.encode()) + (version != "1"))


class Model:
    """A reward model whose tokens are characters. Some words break it."""

    name, scale, max_batch_tokens = "model", "real", 4096
    scale: Scale

    def __init__(self, version: str = "1") -> None:
        self.version = version
        self.room = 10**9  # characters of a batch that memory holds
        self.entered, self.go = threading.Event(), threading.Event()

    def prepare(self, sample: Sample) -> Prepared | Score:
        return Prepared(sample, tuple(sample.response_text.encode()))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        time.sleep(0.001)
        texts = [bytes(prepared.ids).decode() for prepared in batch]
        if sum(map(len, texts)) > self.room:
            raise OutOfMemoryError("out of memory")
        if any(text.startswith("bad") for text in texts):
            raise ValueError("one of these is bad")
        if "hang" in texts:
            self.entered.set()
            assert self.go.wait(SECONDS)
        return [Score(right(text, self.version), "checksum") for text in texts]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self.run([self.prepare(sample) for sample in samples])  # type: ignore[misc]


class OutOfMemoryError(RuntimeError):
    """Named as torch names its own."""


@dataclass
class Storm:
    """What many clients asked and were told. answers: (text, item, version) of status 200. others: other statuses."""

    answers: list[tuple[str, dict[str, Any], str]] = field(default_factory=list)
    others: list[tuple[str, int]] = field(default_factory=list)

    def statuses(self, text: str = "") -> set[str]:
        return {item["status"] for asked, item, _ in self.answers if asked.startswith(text)}

    def check(self, n: int) -> None:
        """Every request was answered, and every number is the known one."""
        assert len(self.answers) + len(self.others) == n
        for text, item, version in self.answers:
            assert item["value"] == (right(text, version) if item["status"] == "ok" else None)


def texts(n: int, *special: str, seed: int = 0) -> list[str]:
    """n different texts of 1 to 400 characters, the special ones among them."""
    draw = random.Random(seed)
    plain = [f"{i} " + "x" * round(draw.lognormvariate(3.5, 1)) for i in range(n - len(special))]
    for each in special:
        plain.insert(draw.randrange(len(plain)), each)
    return [text[:400] for text in plain]


async def storm(
    url: str, asked: Sequence[str], *, clients: int = 16, meanwhile: Callable[[Storm], Awaitable[None]] | None = None
) -> Storm:
    """Clients that ask one text a request until all have been asked; meanwhile something breaks."""
    found, waiting = Storm(), iter(asked)

    async def client(http: httpx.AsyncClient) -> None:
        for text in waiting:
            body = {"scorer": "s", "items": [{"prompt": "p", "response": text}]}
            answer = await http.post(f"{url}/v1/score", json=body)
            if answer.status_code == 200:
                told = answer.json()
                assert answer.headers["X-Model-Version"] == told["version"]
                found.answers.append((text, told["items"][0], told["version"]))
            else:
                found.others.append((text, answer.status_code))

    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(timeout=SECONDS, limits=limits) as http:
        asking = asyncio.gather(*(client(http) for _ in range(clients)))
        if meanwhile is not None:
            await meanwhile(found)
        await asking
    return found


def run(coroutine: Any) -> Storm:
    found: Storm = asyncio.run(asyncio.wait_for(coroutine, SECONDS))
    return found


async def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        await asyncio.sleep(0.002)


def metric(url: str, line: str) -> float:
    found = re.search(rf"^{re.escape(line)} (\S+)$", httpx.get(f"{url}/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_killed_workers_lose_nothing_and_poison_costs_itself_alone(tmp_path: Path) -> None:
    (tmp_path / "rewards.py").write_text(WORKER)
    asked = texts(400, "poison a", "poison b")
    with closing(WorkerScorer(f"{tmp_path}/rewards.py:check", workers=3)) as scorer:
        killed: set[int] = set()

        async def kill(found: Storm) -> None:
            draw = random.Random(1)
            for turn in range(5):
                await until(lambda turn=turn: len(found.answers) > 60 * (turn + 1) and len(scorer.pids) == 3)
                # one that idles is still listed when it has been killed, until it is next needed
                killed.add(victim := draw.choice(sorted({*scorer.pids} - killed)))
                os.kill(victim, signal.SIGKILL)

        with serving(ServeConfig(port=0), {"s": scorer}) as url:
            found = run(storm(url, asked, meanwhile=kill))
            assert len(killed) == 5
            end = time.monotonic() + 60
            while metric(url, 'guerdon_workers_total{event="crashed",scorer="s"}') < 4 + 5 and time.monotonic() < end:
                scorer.score([Sample("p", f"more {n} {time.monotonic()}") for n in range(30)])
            assert metric(url, 'guerdon_workers_total{event="crashed",scorer="s"}') >= 4 + 5
    # The version of a file's scorer is a hash, and its score the plain checksum.
    found.answers = [(text, item, "1") for text, item, _ in found.answers]
    found.check(len(asked))
    assert [text for text, item, _ in found.answers if item["status"] == "error"] in (
        ["poison a", "poison b"],
        ["poison b", "poison a"],
    )
    assert found.statuses() == {"ok", "error"}
    assert not found.others


def test_an_exception_in_one_items_forward_costs_that_item_alone() -> None:
    asked = texts(300, *(f"bad {n}" for n in range(6)))
    with serving(ServeConfig(port=0), {"s": Model()}) as url:
        found = run(storm(url, asked, clients=32))
    found.check(len(asked))
    assert {text for text, item, _ in found.answers if item["status"] != "ok"} == {f"bad {n}" for n in range(6)}
    assert found.statuses("bad") == {"error"}
    assert not found.others


def test_memory_that_runs_out_in_a_batch_costs_no_score() -> None:
    model = Model()
    asked = texts(300)

    async def shrink(found: Storm) -> None:
        for turn, room in enumerate((1000, 500, 401)):  # the longest text has 400
            await until(lambda turn=turn: len(found.answers) > 50 * (turn + 1))
            model.room = room

    with serving(ServeConfig(port=0), {"s": model}) as url:
        found = run(storm(url, asked, clients=32, meanwhile=shrink))
    found.check(len(asked))
    assert found.statuses() == {"ok"}
    assert not found.others


def test_clients_that_hang_up_take_nobody_with_them() -> None:
    model = Model()

    async def hang_up(found: Storm) -> None:
        """Some amid their request, some while they wait for its score."""
        await asyncio.to_thread(model.entered.wait, SECONDS)
        draw = random.Random(2)
        for n in range(20):
            body = json.dumps({"scorer": "s", "items": [{"prompt": "p", "response": f"gone {n}"}]}).encode()
            head = (
                f"POST /v1/score HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
            )
            whole = head.encode() + b"\r\n\r\n" + body
            with socket.create_connection(address, SECONDS) as connection:
                connection.sendall(whole if n % 2 else whole[: draw.randrange(1, len(whole))])
                await asyncio.sleep(0.07 if n == 19 else 0)  # long enough for the server to listen for it
        await asyncio.sleep(0.07)
        model.go.set()

    with serving(ServeConfig(port=0), {"s": model}) as url:
        host, _, port = url.removeprefix("http://").rpartition(":")
        address = (host, int(port))
        asked = texts(200, "hang")
        asked.insert(0, asked.pop(asked.index("hang")))
        found = run(storm(url, asked, clients=24, meanwhile=hang_up))
        assert metric(url, 'guerdon_dropped_total{reason="gone",scorer="s"}') > 0
        assert metric(url, 'guerdon_queue_tokens{scorer="s"}') == 0
    found.check(len(asked))
    assert found.statuses() == {"ok"}
    assert not found.others


def test_a_swap_under_load_gives_each_answer_one_version() -> None:
    app = create_app(ServeConfig(), {"s": Model()})
    asked = texts(400)

    async def main() -> Storm:
        transport = httpx.ASGITransport(app)
        found, waiting = Storm(), iter(asked)

        async def client() -> None:
            async with httpx.AsyncClient(transport=transport, base_url="http://t", timeout=SECONDS) as http:
                for text in waiting:
                    body = {"scorer": "s", "items": [{"prompt": "p", "response": text}] * 2}
                    told = (await http.post("/v1/score", json=body)).json()
                    assert told["items"][0] == told["items"][1]
                    found.answers.append((text, told["items"][0], told["version"]))

        clients = [asyncio.ensure_future(client()) for _ in range(16)]
        for turn in range(6):
            await until(lambda turn=turn: len(found.answers) > 50 * (turn + 1))
            app.state.engine.lanes["s"].swap(Model("12"[turn % 2 - 1]))
        await asyncio.gather(*clients)
        return found

    found = run(main())
    app.state.engine.close()
    found.check(len(asked))
    assert {version for _, _, version in found.answers} == {"1", "2"}
    assert found.statuses() == {"ok"}


def test_a_full_disk_under_load_costs_no_answer(tmp_path: Path) -> None:
    where = str(tmp_path / "scores.db")
    app = create_app(ServeConfig(store=where, store_text=True), {"s": Model()})
    asked = texts(300)

    async def main() -> Storm:
        transport = httpx.ASGITransport(app)
        found, waiting = Storm(), iter(asked)

        async def client() -> None:
            async with httpx.AsyncClient(transport=transport, base_url="http://t", timeout=SECONDS) as http:
                for text in waiting:
                    body = {"scorer": "s", "items": [{"prompt": "p" * 500, "response": text}]}
                    answer = await http.post("/v1/score", json=body)
                    if answer.status_code == 200:
                        found.answers.append((text, answer.json()["items"][0], "1"))
                    else:
                        found.others.append((text, answer.status_code))

        store = app.state.store
        clients = [asyncio.ensure_future(client()) for _ in range(8)]
        pages = store._database.query("PRAGMA page_count")[0][0]
        store._database.query(f"PRAGMA max_page_count = {pages}")  # SQLite's own "database or disk is full"
        await until(lambda: store._failing)
        await asyncio.gather(*clients)
        store._database.query("PRAGMA max_page_count = 1000000")
        await until(lambda: not store.waiting)
        return found

    found = run(main())
    app.state.engine.close()
    app.state.store.close()
    found.check(len(asked))
    assert found.statuses() == {"ok"}
    assert not found.others
    with Store.open(where) as store:
        assert store.count() == len(asked)


def test_a_scorer_that_hangs_holds_up_neither_deadlines_nor_other_scorers_nor_the_status() -> None:
    model = Model()
    try:
        with (
            serving(ServeConfig(port=0, drain_seconds=0), {"s": model, "other": Model()}) as url,
            httpx.Client() as http,
        ):
            body = {"scorer": "s", "items": [{"prompt": "p", "response": r} for r in ("a", "hang")], "deadline_ms": 300}
            answers = [http.post(f"{url}/v1/score", json=body, timeout=SECONDS).json()["items"] for _ in range(3)]
            assert [item["status"] for item in answers[0]] in (["ok", "timeout"], ["timeout", "timeout"])
            assert [item["value"] for items in answers for item in items if item["status"] == "timeout"] == [
                None
            ] * 5 + ([None] if answers[0][0]["status"] == "timeout" else [])
            # Still hanging: nothing below waits for it.
            assert not model.go.is_set()
            for path in ("health", "live", "ready", "metrics", "v1/scorers"):
                assert http.get(f"{url}/{path}").status_code == 200
            other = {"scorer": "other", "items": [{"prompt": "p", "response": "b"}]}
            assert http.post(f"{url}/v1/score", json=other).json()["items"][0]["value"] == right("b")
    finally:
        model.go.set()


SLOW = """
import time
from pathlib import Path

def slow(sample):
    if not (Path(__file__).parent / "go").exists():
        (Path(__file__).parent / "held").touch()
        while not (Path(__file__).parent / "go").exists():
            time.sleep(0.005)
    time.sleep(0.005)
    return float(len(sample.response_text))
"""


@pytest.mark.parametrize(("drain_seconds", "workers"), [(30, 0), (0.3, 0), (30, 2)])
def test_a_signal_while_two_hundred_requests_wait_leaves_none_unanswered(
    tmp_path: Path, drain_seconds: float, workers: int
) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    spec = {"spec": f"{tmp_path}/slow.py:slow", **({"workers": workers} if workers else {})}
    flags = {"port": 0, "scorers": {"s": spec}, "drain_seconds": drain_seconds}
    program = (
        "import json, sys; from guerdon.serving.config import read_config; "
        "from guerdon.serving.server import serve; serve(read_config(None, json.loads(sys.argv[1])))"
    )
    server = subprocess.Popen([sys.executable, "-c", program, json.dumps(flags)], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        url = server.stderr.readline().split()[-1]

        def ask(n: int) -> tuple[int, Any]:
            body = {"scorer": "s", "items": [{"prompt": "p", "response": "x" * n}]}
            answer = http.post(f"{url}/v1/score", json=body)
            return answer.status_code, answer.json()

        limits = httpx.Limits(max_connections=200)
        with httpx.Client(timeout=SECONDS, limits=limits) as http, ThreadPoolExecutor(200) as pool:
            asked = [pool.submit(ask, n) for n in range(200)]
            end = time.monotonic() + SECONDS
            # Two tokens or more each.
            while metric(url, 'guerdon_queue_tokens{scorer="s"}') < sum(1 + (1 + n) // 4 for n in range(200)):
                assert time.monotonic() < end
                time.sleep(0.01)
            server.send_signal(signal.SIGTERM)
            (tmp_path / "go").touch()
            told = [each.result(SECONDS) for each in asked]
        assert server.wait(SECONDS) == 0
        assert "Traceback" not in server.stderr.read()
    finally:
        server.kill()
        server.wait()
        assert server.stderr is not None
        server.stderr.close()
    for n, (status, body) in enumerate(told):
        assert status in (200, 503)
        if status == 200:
            assert body["items"][0]["value"] == float(n)
        else:
            assert body["error"]["type"] == "draining"
    if drain_seconds == 30:
        assert {status for status, _ in told} == {200}
