"""Two replicas on a local Ray, one of them killed under load, and new weights while they serve.

    python benchmarks/serving/ray_two_replicas.py        (in an environment with guerdon[ray])

Claims: every request is answered with its right score; the responses to one prompt meet in one replica; what a full
cluster refuses is a 503 with Retry-After. The scorer is a function, so that what is measured is the way to it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import tempfile
import time
import zlib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
sys.path.insert(0, str(Path(__file__).parent))

import load as loading
import ray
from ray import serve

from guerdon.serving import ray_app

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    PORT = free.getsockname()[1]
REWARDS = '''
import os, time, zlib
from guerdon.rewards import Score

def check(sample):
    """A checksum, after some milliseconds of work; which process it was is in the details."""
    time.sleep(SECONDS)
    return Score(float(zlib.crc32(sample.response_text.encode()) + PLUS), "checksum", {"pid": os.getpid()})
'''


def body(group: int, n: int) -> bytes:
    prompt = f"prompt {group} " * 30
    return json.dumps({"scorer": "s", "items": [{"prompt": prompt, "response": f"{group} {n}"}]}).encode()


def right(group: int, n: int) -> float:
    return float(zlib.crc32(f"{group} {n}".encode()))


async def ask(connections: loading.Connections, group: int, n: int) -> tuple[int, int, int, Any]:
    status, answer = await connections.post(body(group, n))
    return group, n, status, json.loads(answer)


async def storm(groups: range, k: int, *, clients: int, kill: bool = False) -> list[tuple[int, int, int, Any]]:
    connections = loading.Connections(PORT, "/v1/score")
    waiting = iter([(group, n) for group in groups for n in range(k)])
    answers: list[tuple[int, int, int, Any]] = []

    async def client() -> None:
        for group, n in waiting:
            answers.append(await ask(connections, group, n))

    asking = asyncio.gather(*(client() for _ in range(clients)))
    if kill:
        while len(answers) < len(groups) * k // 4:
            await asyncio.sleep(0.01)
        pid = next(item["details"]["pid"] for *_, told in answers for item in told["items"])
        os.kill(pid, 9)
        print(f"  killed replica {pid} after {len(answers)} answers", flush=True)
    await asking
    connections.close()
    return answers


def check(answers: list[tuple[int, int, int, Any]], asked: int, plus: int = 0) -> None:
    statuses = Counter(status for *_, status, _ in answers)
    wrong = [
        (g, n) for g, n, status, told in answers if status == 200 and told["items"][0]["value"] != right(g, n) + plus
    ]
    print(f"  asked {asked}, answered {len(answers)}: {dict(statuses)}, wrong {len(wrong)}", flush=True)
    assert len(answers) == asked
    assert not wrong
    assert set(statuses) == {200}


def together(answers: list[tuple[int, int, int, Any]]) -> tuple[int, dict[int, int]]:
    """How many groups were scored by one replica alone, and how many samples each replica had."""
    pids: dict[int, set[int]] = defaultdict(set)
    share: Counter[int] = Counter()
    for group, _, _, told in answers:
        pids[group].add(told["items"][0]["details"]["pid"])
        share[told["items"][0]["details"]["pid"]] += 1
    return sum(len(found) == 1 for found in pids.values()), dict(share)


def new_only(answers: list[tuple[int, int, int, Any]]) -> bool:
    return all(told["items"][0]["value"] == right(group, n) + 1 for group, n, _, told in answers)


def write(folder: Path, name: str, *, seconds: float = 0.002, plus: int = 0) -> str:
    (folder / f"{name}.py").write_text(REWARDS.replace("SECONDS", str(seconds)).replace("PLUS", str(plus)))
    return f"{folder / name}.py:check"


def main() -> None:
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="error")
    serve.start(http_options={"host": "127.0.0.1", "port": PORT})
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        old, new = write(folder, "old"), write(folder, "new", plus=1)
        application = ray_app.app({"scorers": {"s": old}, "replicas": 2})
        serve.run(application, name="guerdon")

        print("load on two replicas: 100 groups of 8, 32 clients")
        start = time.perf_counter()
        answers = asyncio.run(storm(range(100), 8, clients=32))
        seconds = time.perf_counter() - start
        check(answers, 800)
        whole, share = together(answers)
        print(
            f"  {800 / seconds:.0f} requests a second; {whole} of 100 groups on one replica; samples a replica {share}"
        )

        print("one replica killed under load: 150 groups of 8, 32 clients")
        check(asyncio.run(storm(range(1000, 1150), 8, clients=32, kill=True)), 1200)

        print("new weights by user_config, under load")
        wait_for(lambda: replicas_running() == 2)

        async def swapped() -> list[tuple[int, int, int, Any]]:
            asking = asyncio.ensure_future(storm(range(2000, 2100), 8, clients=16))
            await asyncio.sleep(0.3)
            application = ray_app.app({"scorers": {"s": old}, "replicas": 2, "weights": {"s": new}})
            await asyncio.to_thread(serve.run, application, name="guerdon")
            return await asking

        answers = asyncio.run(swapped())
        versions = dict(Counter(told["version"] for *_, told in answers))
        print(f"  versions while it changed {versions}; statuses {dict(Counter(s for *_, s, _ in answers))}")
        for group, n, status, told in answers:
            assert status == 200
            assert told["items"][0]["value"] - right(group, n) in (0.0, 1.0)
        wait_for(lambda: new_only(asyncio.run(storm(range(3000, 3020), 1, clients=4))))
        check(asyncio.run(storm(range(4000, 4050), 4, clients=8)), 200, plus=1)

        print("a cluster that is full: one request at a time, two may wait")
        flags = {"scorers": {"s": write(folder, "slow", seconds=1.0)}, "replicas": 1, "ongoing": 1, "queued": 2}
        slow = ray_app.app(flags)
        serve.run(slow, name="guerdon")
        answers = asyncio.run(storm(range(20), 1, clients=20))
        statuses = Counter(status for *_, status, _ in answers)
        print(f"  {dict(statuses)}; {next(told['error'] for *_, s, told in answers if s == 503)}")
        assert set(statuses) == {200, 503}
    serve.shutdown()
    ray.shutdown()


def replicas_running() -> int:
    deployment = serve.status().applications["guerdon"].deployments["Scorers"]
    return sum(n for state, n in deployment.replica_states.items() if str(getattr(state, "value", state)) == "RUNNING")


def wait_for(condition: Any, seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.2)


if __name__ == "__main__":
    main()
