r"""The math verifier beside its peers, on the same rows, in turns, in one run: errors, time, throughput, import.

    python -m venv peers && peers/bin/pip install -c constraints.txt "math-verify[antlr4_13_2]" -e ".[math]"
    OMP_NUM_THREADS=1 peers/bin/python benchmarks/math_vs_peers.py --data FOLDER
    … --sample 2000 --peers math_verify trl --batch 10000 --processes 1 2 --errors --json result.json

FOLDER (or GUERDON_DATA) holds math_cases.jsonl, math_labelled_dev.jsonl and math_golds_dev.jsonl. FN: right responses
that are not accepted, those without a verdict among them; FP: wrong responses that are accepted. Time is CPU time of
one call with everything in it, extraction too, in a warm process of its own; the worker processes that a contestant
starts are in "per CPU s". Each row is asked once; the contestants take turns, so what disturbs one disturbs all.
``one_regex`` reads each response once with a regular expression and is no verifier: the floor below which none can go.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from math_contestants import CONTESTANTS, Answer, Contestant, cpu_seconds

FILES = {"cases": "math_cases.jsonl", "labelled": "math_labelled_dev.jsonl", "golds": "math_golds_dev.jsonl"}
OVER_LIMIT = 0.5
"""Seconds of wall time of one verdict that are too many."""
FLOOR = "one_regex"
TURN = 20
"""Rows of one turn: enough that a verifier finds its own data in the processor's caches, as it does in a batch."""


@dataclass(frozen=True)
class Row:
    reference: str
    response: str
    right: bool
    kind: str
    name: str


def read_rows(folder: Path, file: str, sample: int) -> list[Row]:
    with (folder / FILES[file]).open(encoding="utf-8") as stream:
        rows = [_row(json.loads(line), index, file) for index, line in enumerate(stream, 1)]
    if 0 < sample < len(rows):
        rows = random.Random(0).sample(rows, sample)
    return rows


def _row(data: dict[str, Any], index: int, file: str) -> Row:
    if file == "golds":  # a reference must be its own answer
        boxed = f"The answer is \\boxed{{{data['gold'].strip().strip('$')}}}."
        return Row(data["gold"], boxed, True, str(data.get("human_type") or "other"), f"golds:{index}")
    kind = data.get("kind") or data["source"].split(" ")[0].split("/")[-1]
    right = data["equal"] if "equal" in data else data["label"]
    return Row(data["gold"], data["response"], bool(right), kind, data.get("id") or f"{file}:{index}")


# --- one file ---------------------------------------------------------------------------------------------------------


def in_turns(
    rows: Sequence[Row], contestants: Sequence[Contestant]
) -> tuple[dict[str, list[Answer]], dict[str, float]]:
    """All answers, and the CPU seconds that each contestant's own worker processes spent on them."""
    answers: dict[str, list[Answer]] = {contestant.name: [] for contestant in contestants}
    others = dict.fromkeys(answers, 0.0)
    for turn, start in enumerate(range(0, len(rows), TURN)):
        pairs = [(row.reference, row.response) for row in rows[start : start + TURN]]
        first = turn % len(contestants)
        for contestant in (*contestants[first:], *contestants[:first]):
            given, spent = contestant.ask(pairs)
            answers[contestant.name] += given
            others[contestant.name] += spent
    return answers, others


def figures(rows: Sequence[Row], answers: Sequence[Answer], others: float) -> dict[str, Any]:
    pairs = list(zip(rows, answers, strict=True))
    missed = [row for row, answer in pairs if row.right and answer.verdict is not True]
    fooled = [row for row, answer in pairs if not row.right and answer.verdict is True]
    cpu = [answer.cpu for answer in answers]
    right = sum(row.right for row in rows)
    return {
        "n": len(rows),
        "fn": len(missed),
        "fn_rate": len(missed) / right if right else 0.0,
        "fp": len(fooled),
        "fp_rate": len(fooled) / (len(rows) - right) if right < len(rows) else 0.0,
        "unscored": sum(answer.verdict is None and not answer.fault for answer in answers),
        **{f"p{share}_ms": 1000 * _quantile(cpu, share / 100) for share in (50, 90, 99)},
        "max_ms": 1000 * max(cpu),
        "per_cpu_second": len(rows) / (sum(cpu) + others),
        "workers_s": others,
        "over_limit": sum(answer.wall > OVER_LIMIT for answer in answers),
        "killed": sum(answer.fault == "killed" for answer in answers),
        "crashes": sum(answer.fault.startswith("crash") for answer in answers),
        "by_kind": _by_kind(pairs),
    }


def _by_kind(pairs: Iterable[tuple[Row, Answer]]) -> dict[str, dict[str, int]]:
    kinds: dict[str, dict[str, int]] = defaultdict(lambda: {"n": 0, "fn": 0, "fp": 0})
    for row, answer in pairs:
        kinds[row.kind]["n"] += 1
        kinds[row.kind]["fn"] += row.right and answer.verdict is not True
        kinds[row.kind]["fp"] += not row.right and answer.verdict is True
    return dict(sorted(kinds.items()))


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _paired_ratio(theirs: Sequence[Answer], ours: Sequence[Answer]) -> float:
    return statistics.median(a.cpu / max(b.cpu, 1e-9) for a, b in zip(theirs, ours, strict=True))


def print_file(file: str, rows: Sequence[Row], answers: dict[str, list[Answer]], found: dict[str, Any]) -> None:
    print(f"\n## {file}: {len(rows)} rows\n")
    print(
        "| | FN | FP | unscored | p50 ms | p90 | p99 | max | per CPU s | over 0.5 s | killed | crashes | time ÷ ours |"
    )
    print("|---|" + "---|" * 12)
    for name, of in found.items():
        errors = f"{of['fn']} ({of['fn_rate']:.2%}) | {of['fp']} ({of['fp_rate']:.2%}) | {of['unscored']}"
        times = " | ".join(f"{of[key]:.3g}" for key in ("p50_ms", "p90_ms", "p99_ms", "max_ms", "per_cpu_second"))
        faults = f"{of['over_limit']} | {of['killed']} | {of['crashes']}"
        ratio = f"{_paired_ratio(answers[name], answers['guerdon']):.3g}"
        print(f"| {name} | {'– | – | –' if name == FLOOR else errors} | {times} | {faults} | {ratio} |")
    names = [name for name in found if name != FLOOR]
    print(f"\n| kind | n | {' | '.join(f'{name} FN/FP' for name in names)} |\n|---|---|{'---|' * len(names)}")
    for kind, counts in found[names[0]]["by_kind"].items():
        cells = [f"{found[name]['by_kind'][kind]['fn']}/{found[name]['by_kind'][kind]['fp']}" for name in names]
        print(f"| {kind} | {counts['n']} | {' | '.join('·' if cell == '0/0' else cell for cell in cells)} |")


def print_errors(rows: Sequence[Row], answers: Sequence[Answer]) -> None:
    print("\nOur remaining errors:\n")
    for row, answer in zip(rows, answers, strict=True):
        if (answer.verdict is True) != row.right:
            what = "FP" if not row.right else "unscored" if answer.verdict is None else "FN"
            print(f"- {what} {row.name} ({row.kind}): reference {row.reference!r:.80}, … {row.response[-80:]!r}")


# --- throughput and import --------------------------------------------------------------------------------------------


def throughput(name: str, rows: Sequence[Row], processes: int) -> dict[str, float]:
    """A batch cut into equal parts, one for each process; no process sees a row twice."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    parts = [list(rows[index::processes]) for index in range(processes)]
    workers = [context.Process(target=_batch, args=(name, part, queue)) for part in parts]
    for worker in workers:
        worker.start()
    spent = [queue.get() for _ in workers]
    for worker in workers:
        worker.join()
    slowest = max(wall for _, wall in spent)
    return {"per_second": len(rows) / slowest, "per_cpu_second": len(rows) / sum(cpu for cpu, _ in spent)}


def _batch(name: str, rows: list[Row], queue: Any) -> None:
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    judge = CONTESTANTS[name]()
    judge("2", r"\boxed{2}")
    cpu, wall = cpu_seconds(), time.perf_counter()
    for row in rows:
        judge(row.reference, row.response)
    queue.put((cpu_seconds() - cpu, time.perf_counter() - wall))


def import_seconds(statement: str) -> float:
    """CPU seconds of an import in a new process, less those of Python itself; its bytecode lies on the disk, as it does
    from the second import of an installed package on."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def spent(code: str) -> float:
            before = cpu_seconds()
            subprocess.run([sys.executable, "-c", code], check=True, env=environment)
            return cpu_seconds() - before

        spent(statement)
        return min(spent(statement) for _ in range(5)) - min(spent("pass") for _ in range(5))


def unique_batch(rows: Sequence[Row], size: int) -> list[Row]:
    """As many rows as wanted, none equal to another: copies are told apart by a number at the start."""
    return [
        Row(row.reference, f"({index // len(rows)})\n{row.response}", row.right, row.kind, row.name)
        for index, row in ((index, rows[index % len(rows)]) for index in range(size))
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("GUERDON_DATA"), help="the folder with the files")
    parser.add_argument("--files", nargs="+", choices=FILES, default=list(FILES))
    parser.add_argument("--peers", nargs="*", choices=CONTESTANTS, default=["math_verify", "math_verify_boxed"])
    parser.add_argument("--sample", type=int, default=0, help="rows of each file, drawn with seed 0 (default: all)")
    parser.add_argument("--kill-after", type=float, default=12.0, help="seconds after which a call is killed")
    parser.add_argument("--batch", type=int, default=10_000, help="responses in the throughput batch; 0 leaves it out")
    parser.add_argument("--processes", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--errors", action="store_true", help="list our remaining errors")
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    if options.data is None:
        parser.error("give --data FOLDER or set GUERDON_DATA")
    options.data = Path(options.data)

    contestants = []
    for name in dict.fromkeys(["guerdon", *options.peers, FLOOR]):
        contestant = Contestant(name, options.kill_after)
        fault = contestant.start()
        if fault:
            print(f"left out: {name} ({fault})")
            contestant.stop()
        else:
            contestants.append(contestant)
    result: dict[str, Any] = {}
    for file in options.files:
        rows = read_rows(options.data, file, options.sample)
        answers, others = in_turns(rows, contestants)
        result[file] = {name: figures(rows, given, others[name]) for name, given in answers.items()}
        print_file(file, rows, answers, result[file])
        if options.errors:
            print_errors(rows, answers["guerdon"])
    for contestant in contestants:
        contestant.stop()
    if options.batch:
        rows = read_rows(options.data, "labelled", 0)
        result["batch"] = {}
        print("\n## Batches of real responses\n\n| | responses | processes | per second | per CPU second |")
        print("|---|---|---|---|---|")
        for name in [contestant.name for contestant in contestants if contestant.name != FLOOR]:
            size = options.batch if name == "guerdon" else min(options.batch, 1_000)
            batch = unique_batch(random.Random(0).sample(rows, len(rows)), size)
            for processes in options.processes:
                of = throughput(name, batch, processes)
                result["batch"][f"{name}, {processes}"] = of
                print(f"| {name} | {size} | {processes} | {of['per_second']:.0f} | {of['per_cpu_second']:.0f} |")
    result["import_s"] = {
        "guerdon": import_seconds("from guerdon import verifiers; verifiers.load('math')"),
        **({"math_verify": import_seconds("import math_verify")} if "math_verify" in result.get("cases", {}) else {}),
    }
    print("\nImport, CPU seconds:", ", ".join(f"{name} {spent:.2f}" for name, spent in result["import_s"].items()))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
