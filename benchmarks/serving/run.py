"""guerdon's server beside others, and beside the bare model, in one run.

    python benchmarks/serving/run.py --model encoder --clients 1 8 64 --rounds 3
    python benchmarks/serving/run.py --model decoder --workloads shared --peers naive

Every round visits all servers in turn, so that a busy moment of the machine meets all of them; the medians of the
rounds are printed. What decides is the server's processor seconds for 1,000 sequences: wall clocks of a shared machine
say little. ``bound`` is the bare model in process, on the same texts, sorted by length and cut into the best of several
budgets, tokenising included: no server can be below it, unless it computes shared prompts once (``shared`` workload).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import load as loading  # noqa: E402
import workload  # noqa: E402

ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}
SHAPES = {shape.name: shape for shape in (workload.LONG, workload.SHORT, workload.SHARED)}
# clients -> how many groups of how many responses
AMOUNTS = {1: (3, 8), 8: (8, 8), 64: (64, 2)}
MORE_WHEN_SHORT = 6


def commands(python: str, peers_python: str, folder: Path) -> dict[str, tuple[list[str], str, Any]]:
    """Name -> what starts it (the port comes last), its path, how a group is sent."""
    guerdon = [
        str(Path(python).parent / "guerdon"),
        "serve",
        "--scorer",
        f"m={folder}",
        "--cache-entries",
        "0",
        "--port",
    ]
    peer = [peers_python, str(HERE / "peers.py")]
    infinity = [
        str(Path(peers_python).parent / "infinity_emb"), "v2", "--model-id", str(folder), "--served-model-name", "m",
        "--device", "cpu", "--dtype", "float32", "--no-bettertransformer", "--no-model-warmup", "--batch-size", "32",
        "--lengths-via-tokenize", "--port",
    ]  # fmt: skip
    return {
        "guerdon": (guerdon, "/get_reward", loading.one_query),
        "guerdon exact": ([*guerdon[:-1], "--scores", "exact", "--port"], "/get_reward", loading.one_query),
        "guerdon unshared": (
            [python, str(HERE / "unshared.py"), str(folder)], "/get_reward", loading.one_query
        ),
        "naive, one query": ([python, *peer[1:], "naive", str(folder)], "/get_reward", loading.one_query),
        "naive, a group": ([python, *peer[1:], "naive", str(folder)], "/get_reward", loading.one_group),
        "litserve": ([*peer, "litserve", str(folder)], "/get_reward", loading.one_query),
        "ray serve": ([*peer, "ray", str(folder)], "/get_reward", loading.one_query),
        "infinity": (infinity, "/rerank", loading.rerank),
    }  # fmt: skip


@contextmanager
def started(command: Sequence[str]) -> Iterator[tuple[int, int]]:
    """A server that answers: its port and process id."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed below)
    process = subprocess.Popen([*command, str(port)], env=ENVIRONMENT, stdout=log, stderr=log, start_new_session=True)
    try:
        deadline = time.monotonic() + 180
        while True:
            if process.poll() is not None or time.monotonic() > deadline:
                log.seek(0)
                raise RuntimeError(f"{command[0]} did not start: {log.read()[-600:]}")
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.2)
        time.sleep(1)
        yield port, process.pid
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with suppress(ProcessLookupError):  # its workers too: LitServe's outlive it
            os.killpg(process.pid, signal.SIGKILL)
        log.close()


def bound(python: str, folder: Path, groups: Sequence[loading.Group]) -> float:
    """Processor seconds for 1,000 sequences of the bare model, the best of several budgets."""
    done = subprocess.run(
        [python, str(HERE / "bound.py"), str(folder)], input=json.dumps(groups), env=ENVIRONMENT, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    return float(json.loads(done.stdout)["cpu_of_1000"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["encoder", "decoder"], default="encoder")
    parser.add_argument("--workloads", nargs="+", choices=list(SHAPES), default=["long", "short"])
    parser.add_argument("--clients", nargs="+", type=int, choices=list(AMOUNTS), default=[1, 8, 64])
    parser.add_argument("--peers", nargs="*", default=["naive, one query", "naive, a group", "litserve", "infinity"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--peers-python", default=sys.executable, help="a Python in whose environment the peers are")
    parser.add_argument("--json", help="write the figures here")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "model"
        (workload.save_encoder if options.model == "encoder" else workload.save_decoder)(folder)
        table = commands(sys.executable, options.peers_python, folder)
        figures: dict[str, dict[str, list[dict[str, float]]]] = {}
        for _ in range(options.rounds):
            for shape, clients in ((s, c) for s in options.workloads for c in options.clients):
                count, responses = AMOUNTS[clients]
                count *= MORE_WHEN_SHORT if shape == "short" else 1
                groups = workload.make_groups(SHAPES[shape], count, responses)
                rows = figures.setdefault(f"{shape}, {clients} clients", {})
                rows.setdefault("bound", []).append({"cpu": bound(sys.executable, folder, groups)})
                for name in options.peers:
                    try:
                        rows.setdefault(name, []).append(measure(table[name], groups, clients))
                    except (RuntimeError, OSError) as error:
                        print(f"skipped {name}: {error}"[:400], file=sys.stderr)
                        rows.pop(name, None)
        show(figures)
        if options.json:
            Path(options.json).write_text(json.dumps(figures, indent=1), "utf-8")


def measure(server: tuple[list[str], str, Any], groups: Sequence[loading.Group], clients: int) -> dict[str, float]:
    command, path, form = server
    with started(command) as (port, pid):
        warm = [(prompt[:200], [each[:100] for each in responses]) for prompt, responses in groups[:1]]
        loading.run(port, path, form, warm, clients=1, pid=pid)
        load = loading.run(port, path, form, groups, clients=clients, pid=pid)
    if load.errors:
        raise RuntimeError(f"{len(load.errors)} errors, the first: {load.errors[0]}")
    return {
        "cpu": load.cpu_of_1000,
        "per_second": load.sequences / load.seconds,
        "p50": load.quantile(0.5),
        "p99": load.quantile(0.99),
    }


def show(figures: dict[str, dict[str, list[dict[str, float]]]]) -> None:
    for title, rows in figures.items():
        floor = statistics.median(row["cpu"] for row in rows["bound"])
        print(f"\n{title}\n{'':20} CPU s / 1,000   of the bound   seq/s   p50 s   p99 s")
        for name, found in rows.items():
            cpu = statistics.median(row["cpu"] for row in found)
            line = f"{name:20} {cpu:13.1f} {floor / cpu:14.0%}"
            if name != "bound":
                middle = {key: statistics.median(row[key] for row in found) for key in ("per_second", "p50", "p99")}
                line += f" {middle['per_second']:7.2f} {middle['p50']:7.2f} {middle['p99']:7.2f}"
            print(line)


if __name__ == "__main__":
    main()
