"""Fuzz the math verifier for as long as you like: no fault, no verdict over the limit, no text unequal to itself.

    python benchmarks/fuzz_math.py --data FOLDER --seconds 600               # real answers, mutated at random
    python benchmarks/fuzz_math.py --data FOLDER --seconds 600 --atheris     # guided by coverage (pip install atheris)
    python benchmarks/fuzz_math.py --data FOLDER --threads 10000             # 16 threads × 10,000 verdicts against one

FOLDER (or GUERDON_DATA) holds math_cases.jsonl, math_labelled_dev.jsonl and math_golds_dev.jsonl. Prints how much was
tried, the slowest verdict, the memory, and every finding with what to paste into a test; exits with 1 if there is one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FILES = ("math_cases.jsonl", "math_labelled_dev.jsonl", "math_golds_dev.jsonl")
LIMIT = 2.0
"""Seconds of wall time of one verdict: four times the verifier's limit, for a machine that is busy."""

PIECES = [
    *"0123456789+-*/^_{}()[]|<>=,.;:!$%&'\"\\ \n",
    "\\frac",
    "\\frac{",
    "\\text{",
    "\\left(",
    "\\right)",
    "\\boxed{",
]
PIECES += [
    "\\begin{pmatrix}",
    "\\end{pmatrix}",
    "\\sqrt",
    "\\pm",
    "\\cup",
    "\\infty",
    "\\in",
    "\\leq",
    "\\%",
    "^\\circ",
]
PIECES += [
    "½",
    "π",
    "∞",
    "≤",
    "∪",
    "−",
    "²",
    "\u200b",
    "\0",
    "  ",
    " and ",
    " or ",
    "e9",
    "\\\\",
    "9999999999",
    "1e999",
]


def texts_of(folder: Path) -> tuple[list[str], list[str]]:
    """References and responses."""
    rows = [json.loads(line) for name in FILES for line in (folder / name).read_text(encoding="utf-8").splitlines()]
    return [row["gold"] for row in rows], [row["response"][-300:] for row in rows if "response" in row]


def mutated(text: str, others: list[str], draw: random.Random) -> str:
    for _ in range(draw.randint(1, 6)):
        at, to = sorted((draw.randint(0, len(text)), draw.randint(0, len(text))))
        kind = draw.randrange(5)
        if kind == 0:
            text = text[:at] + text[to:]
        elif kind == 1:
            text = text[:to] + text[at:to] * draw.randint(1, 4) + text[to:]
        elif kind == 2:
            text = text[:at] + draw.choice(PIECES) + text[at:]
        elif kind == 3:
            text = text[:at] + draw.choice(others)[: draw.randint(0, 60)] + text[to:]
        else:
            text = text[:at] + draw.choice(PIECES) * draw.choice((2, 3, 50)) + text[at:]
    return text[:3_000]


class Findings:
    def __init__(self) -> None:
        from guerdon import verifiers

        self._verifier = verifiers.load("math")
        self.tried, self.slowest, self.found = 0, (0.0, "", ""), dict[str, str]()

    def try_one(self, response: str, reference: str) -> float | None:
        from guerdon.rewards import Sample

        start = time.perf_counter()
        score = self._verifier.score([Sample("", response, reference)])[0]
        spent = time.perf_counter() - start
        self.tried += 1
        self.slowest = max(self.slowest, (spent, response, reference))
        if score.status == "error":
            self.note(f"fault: {score.reason}", response, reference)
        if spent > LIMIT:
            self.note("too slow", response, reference)
        return score.value

    def try_itself(self, text: str) -> None:
        from guerdon.verifiers._answer import find_answer

        response = f"<answer>{text}</answer>"
        answer = find_answer(response)
        if answer.text == text and not answer.flags and self.try_one(response, text) == 0.0:
            self.note("unequal to itself", response, text)

    def note(self, what: str, response: str, reference: str) -> None:
        if what not in self.found:
            print(f"{what}: verify({response!r}, {reference!r})", flush=True)
        self.found.setdefault(what, response)

    def report(self) -> None:
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{self.tried:,} verdicts, {len(self.found)} kinds of findings, at most {megabytes} MB")
        spent, response, reference = self.slowest
        print(f"slowest: {spent:.3f} s, verify({response[-200:]!r}, {reference[-200:]!r})")


def at_random(findings: Findings, references: list[str], responses: list[str], seconds: float, seed: int) -> None:
    draw = random.Random(seed)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        reference = draw.choice(references)
        changed = mutated(reference, references, draw)
        findings.try_one(f"\\boxed{{{changed}}}", reference)
        findings.try_one(f"The answer is {changed}", reference)
        findings.try_one(mutated(draw.choice(responses), references, draw), changed)
        findings.try_itself(changed)


def guided(references: list[str], seconds: float) -> None:
    try:
        import atheris  # type: ignore[import-not-found]
    except ImportError:
        raise SystemExit("atheris is not installed: pip install atheris, or leave --atheris out") from None
    with atheris.instrument_imports(include=["guerdon.verifiers"]):  # before anything else imports them
        import guerdon.verifiers.math  # noqa: F401
    findings = Findings()

    def one(data: bytes) -> None:
        reference, _, answer = data.decode("utf-8", "replace").partition("\x01")
        findings.try_one(f"\\boxed{{{answer}}}", reference)
        if findings.found:
            raise AssertionError(findings.found)

    with tempfile.TemporaryDirectory() as corpus:
        for index, text in enumerate(references[:2_000]):
            (Path(corpus) / str(index)).write_text(f"{text}\x01{references[-index]}", encoding="utf-8")
        arguments = [
            f"-max_total_time={int(seconds)}",
            f"-timeout={int(3 * LIMIT)}",
            "-rss_limit_mb=3000",
            "-max_len=600",
        ]
        atheris.Setup([sys.argv[0], *arguments, corpus], one)
        atheris.Fuzz()  # it ends the process


def in_threads(references: list[str], responses: list[str], verdicts: int) -> None:
    from guerdon.verifiers import math

    draw = random.Random(0)
    pairs = [(response, draw.choice(references)) for response in responses]
    pairs += [(f"\\boxed{{{mutated(text, references, draw)}}}", text) for text in references]

    def judged(pair: tuple[str, str]) -> tuple[float | None, str]:
        score = math.verify(*pair)
        return score.value, score.status

    expected = [judged(pair) for pair in pairs]

    def run(seed: int) -> int:
        order = random.Random(seed).choices(range(len(pairs)), k=verdicts)
        return sum(judged(pairs[index]) != expected[index] for index in order)

    start = time.perf_counter()
    with ThreadPoolExecutor(16) as pool:
        wrong = sum(pool.map(run, range(16)))
    print(f"16 threads × {verdicts:,} verdicts: {wrong} differ from one thread ({time.perf_counter() - start:.0f} s)")
    raise SystemExit(int(wrong > 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("GUERDON_DATA"), help="the folder with the files")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--atheris", action="store_true", help="guided by coverage")
    parser.add_argument("--threads", type=int, metavar="VERDICTS", help="compare 16 threads with one instead")
    options = parser.parse_args()
    if options.data is None:
        parser.error("give --data FOLDER or set GUERDON_DATA")
    references, responses = texts_of(Path(options.data))
    if options.threads:
        in_threads(references, responses, options.threads)
    if options.atheris:
        guided(references, options.seconds)
    findings = Findings()
    at_random(findings, references, responses, options.seconds, options.seed)
    findings.report()
    raise SystemExit(int(bool(findings.found)))


if __name__ == "__main__":
    main()
