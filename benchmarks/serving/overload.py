"""A server that is asked for ten times what it can do, the same requests again and again, and a scorer that hangs.

    python benchmarks/serving/overload.py                       # all three, about two minutes
    python benchmarks/serving/overload.py --only overload --seconds 60 --times 10

overload    open loop: requests of one response each arrive at ten times the rate that 64 clients in a closed loop get,
            whatever is answered. Bars: no 500, nothing without an answer, refusals in 20 ms (p99), throughput at least
            90 % of the closed loop's, memory bounded.
storm       every request is sent five times, at once and again later. Bar: at most 1.05 times the compute.
held        /health is asked 50 times a second while a scorer is at one sample for ten seconds, in the server's process
            and in a worker. Bar: 50 ms.

On a machine with other work wall clocks mean little: throughput is also given for each processor second of the server.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import random
import re
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import load as loading  # noqa: E402
import psutil  # noqa: E402
import workload  # noqa: E402
from run import started  # noqa: E402

GUERDON = [str(Path(sys.executable).parent / "guerdon"), "serve"]

HOLD = '''
import time
from pathlib import Path

def sleeps(sample):
    end = time.monotonic() + float(sample.response_text)
    while time.monotonic() < end:
        time.sleep(0.05)
    return 1.0

def computes(sample):
    """In Python, so that it wants the interpreter all the time."""
    end = time.monotonic() + float(sample.response_text)
    while time.monotonic() < end:
        sum(range(1000))
    return 1.0
'''


def quantile(values: Sequence[float], q: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))] if ordered else float("nan")


def bodies(n: int, seed: int) -> list[bytes]:
    """Requests of one response each, all different."""
    groups = workload.make_groups(workload.SHORT, n, 1, seed)
    return [body for group in groups for body in loading.one_query(group)]


def metrics(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return {m[1]: float(m[2]) for line in lines if (m := re.fullmatch(r"([^#]\S*) (\S+)", line))}


def memory(pid: int) -> float:
    """MB that the server's process holds."""
    return float(psutil.Process(pid).memory_info().rss / 1e6)


def overload(folder: Path, seconds: float, times: float, max_wait: float) -> dict[str, Any]:
    command = [*GUERDON, "--scorer", f"m={folder}", "--cache-entries", "0", "--max-wait", str(max_wait), "--port"]
    with started(command) as (port, pid):
        groups = workload.make_groups(workload.SHORT, 200, 1, seed=1)
        loading.run(port, "/get_reward", loading.one_query, groups, clients=64, pid=pid)  # warms up
        groups = workload.make_groups(workload.SHORT, 1500, 1, seed=2)
        closed = loading.run(port, "/get_reward", loading.one_query, groups, clients=64, pid=pid)
        rate = times * closed.sequences / closed.seconds
        before, cpu = memory(pid), loading._cpu(pid)
        found = asyncio.run(_open_loop(port, pid, bodies(int(rate * seconds), 3), rate))
        cpu = found["cpu"] - cpu
        after, left = memory(pid), metrics(port)['guerdon_queue_tokens{scorer="m"}']
    statuses: Counter[Any] = Counter(status for status, _ in found["answers"])
    refusals = [took for status, took in found["answers"] if status == 503]
    done = found["answered while it lasted"]
    return {
        "asked": len(found["answers"]),
        "a second": round(rate, 1),
        "statuses": dict(statuses),
        "seconds without a refusal": round(found["first refusal"], 1),
        "lateness of the client ms p50/p99": [round(1000 * quantile(found["late"], q), 1) for q in (0.5, 0.99)],
        "refusal ms p50/p99/max": [round(1000 * quantile(refusals, q), 1) for q in (0.5, 0.99, 1)],
        "scored a second, closed loop": round(closed.sequences / closed.seconds, 1),
        "scored a second, overload": round(done / seconds, 1),
        "scored a CPU second, closed loop": round(closed.sequences / closed.cpu, 1),
        "scored a CPU second, overload": round(done / cpu, 1),
        "slowest answer s": round(max(took for _, took in found["answers"]), 1),
        "memory MB, before, in eighths, after": [round(each) for each in (before, *found["memory"], after)],
        "queue tokens at the end": left,
    }


async def _open_loop(port: int, pid: int, requests: Sequence[bytes], rate: float) -> dict[str, Any]:
    connections = loading.Connections(port, "/get_reward")
    answers: list[tuple[Any, float]] = []
    seconds, start = len(requests) / rate, time.perf_counter()
    done, first_refusal = 0, float("nan")
    held: list[float] = []
    late: list[float] = []
    draw = random.Random(0)

    async def one(body: bytes) -> None:
        nonlocal done, first_refusal
        begin = time.perf_counter()
        try:
            status, _ = await connections.post(body)
        except (OSError, asyncio.IncompleteReadError) as error:
            status = type(error).__name__
        end = time.perf_counter()
        answers.append((status, end - begin))
        done += status == 200 and end - start <= seconds
        if status == 503 and first_refusal != first_refusal:
            first_refusal = end - start

    tasks, due, cpu = [], start, 0.0
    gc.disable()  # of tens of thousands of tasks, in the process that measures
    for n, body in enumerate(requests):
        due += draw.expovariate(rate)
        while (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        late.append(-early)
        tasks.append(asyncio.ensure_future(one(body)))
        if (n + 1) % max(1, len(requests) // 8) == 0:
            held.append(memory(pid))
        if n % 20 == 0:
            await asyncio.sleep(0)
    cpu = loading._cpu(pid)
    gc.enable()
    await asyncio.gather(*tasks)
    connections.close()
    return {
        "answers": answers, "answered while it lasted": done, "cpu": cpu, "memory": held, "late": late,
        "first refusal": first_refusal,
    }  # fmt: skip


def storm(folder: Path, n: int = 400, copies: int = 5) -> dict[str, Any]:
    """Each request alone, then each five times: two at once, the others while those are waited for and after."""
    found: dict[str, Any] = {}
    for title, k in (("once", 1), (f"{copies} times", copies)):
        with started([*GUERDON, "--scorer", f"m={folder}", "--port"]) as (port, pid):
            loading.run(
                port,
                "/get_reward",
                loading.one_query,
                workload.make_groups(workload.SHORT, 50, 1, 1),
                clients=8,
                pid=pid,
            )
            before, cpu = metrics(port), loading._cpu(pid)
            statuses = asyncio.run(_send_copies(port, bodies(n, 3), k))
            after = metrics(port)
            name = 'guerdon_batch_tokens_total{kind="real",scorer="m"}'
            found[title] = {
                "statuses": dict(statuses),
                "tokens computed": after[name] - before[name],
                "CPU seconds": round(loading._cpu(pid) - cpu, 2),
            }
    once, more = found.values()
    found["compute, ratio of tokens"] = round(more["tokens computed"] / once["tokens computed"], 3)
    found["compute, ratio of CPU seconds"] = round(more["CPU seconds"] / once["CPU seconds"], 3)
    return found


async def _send_copies(port: int, requests: Sequence[bytes], copies: int) -> Counter[int]:
    connections = loading.Connections(port, "/get_reward")
    statuses: Counter[int] = Counter()
    draw, room = random.Random(0), asyncio.Semaphore(64)

    async def one(body: bytes, delay: float) -> None:
        await asyncio.sleep(delay)
        statuses[(await connections.post(body))[0]] += 1

    async def all_of(body: bytes) -> None:
        async with room:
            await asyncio.gather(*(one(body, 0 if n < 2 else draw.uniform(0, 0.5)) for n in range(copies)))

    await asyncio.gather(*map(all_of, requests))
    connections.close()
    return statuses


def held(seconds: float = 10.0) -> dict[str, Any]:
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        (Path(temporary) / "hold.py").write_text(HOLD)
        for title, function, workers in (
            ("sleeps, in the server", "sleeps", 0),
            ("computes, in the server", "computes", 0),
            ("computes, in a worker", "computes", 1),
        ):
            file = Path(temporary) / "serve.toml"
            spec = json.dumps(f"{temporary}/hold.py:{function}")
            file.write_text(f"[scorers.s]\nspec = {spec}\n" + f"workers = {workers}\n" * bool(workers))
            with started([*GUERDON, "--config", str(file), "--port"]) as (port, _):
                found[title] = asyncio.run(_probe(port, seconds))
    return found


async def _probe(port: int, seconds: float) -> dict[str, Any]:
    health = loading.Connections(port, "/health")
    body = json.dumps({"scorer": "s", "items": [{"prompt": "p", "response": str(seconds)}]}).encode()
    holding = asyncio.ensure_future(loading.Connections(port, "/v1/score").post(body))
    await asyncio.sleep(0.2)
    took = []
    while not holding.done():
        begin = time.perf_counter()
        await health.get()
        took.append(time.perf_counter() - begin)
        await asyncio.sleep(0.02)
    health.close()
    return {"asked": len(took), "ms p50/p99/max": [round(1000 * quantile(took, q), 1) for q in (0.5, 0.99, 1)]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=["overload", "storm", "held"], default=["overload", "storm", "held"]
    )
    parser.add_argument("--model", choices=["encoder", "decoder"], default="encoder")
    parser.add_argument("--seconds", type=float, default=60, help="of the overload")
    parser.add_argument("--times", type=float, default=10, help="what the server can do")
    parser.add_argument("--max-wait", type=float, default=10, help="the server's")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        (workload.save_encoder if options.model == "encoder" else workload.save_decoder)(folder)
        if "held" in options.only:
            show("held", held())
        if "storm" in options.only:
            show("storm", storm(folder))
        if "overload" in options.only:
            show("overload", overload(folder, options.seconds, options.times, options.max_wait))


def show(title: str, found: dict[str, Any]) -> None:
    print(f"\n{title}")
    for name, value in found.items():
        print(f"  {name:36} {value}", flush=True)


if __name__ == "__main__":
    main()
