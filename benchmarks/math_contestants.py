"""The verifiers that math_vs_peers.py compares, each in a process of its own that can be killed.

A contestant is a function of (reference, response) that gives True, False or None ("no verdict"). A peer that is not
installed is left out with a message. Every peer is called as its own documentation advises for mixed data.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

Judge = Callable[[str, str], "bool | None"]

WARM_UP = (("2", r"\boxed{2}"), (r"\frac{1}{2}", r"The answer is \boxed{0.5}"), ("x+1", r"\boxed{1+x}"))
MEMORY = 4 * 2**30


def guerdon() -> Judge:
    from guerdon import verifiers
    from guerdon.rewards import Sample

    verifier = verifiers.load("math")

    def judge(reference: str, response: str) -> bool | None:
        value = verifier.score([Sample("", response, reference)])[0].value
        return None if value is None else value == 1.0

    return judge


def math_verify() -> Judge:
    """Its defaults, the reference as a formula."""
    from math_verify import parse, verify  # type: ignore[import-not-found]

    return lambda reference, response: bool(verify(parse(_as_formula(reference)), parse(response)))


def math_verify_boxed() -> Judge:
    """Boxes first, and letters of options, as its README advises for mixed data."""
    from math_verify import (  # type: ignore[import-not-found]
        ExprExtractionConfig,
        LatexExtractionConfig,
        StringExtractionConfig,
        parse,
        verify,
    )

    usual = [LatexExtractionConfig(boxed_match_priority=0), ExprExtractionConfig()]
    letters = [StringExtractionConfig(strings=tuple("ABCDE"))]

    def judge(reference: str, response: str) -> bool:
        if re.fullmatch(r"[A-E]", reference.strip()):
            return bool(verify(parse(reference, letters), parse(response, letters + usual)))
        boxed = reference if "\\boxed" in reference else f"\\boxed{{{reference.strip().strip('$')}}}"
        return bool(verify(parse(boxed, usual), parse(response, usual)))

    return judge


def trl() -> Judge:
    """accuracy_reward of TRL, which calls math-verify and wants a box."""
    from trl.rewards import accuracy_reward

    def judge(reference: str, response: str) -> bool | None:
        reward = accuracy_reward([[{"role": "assistant", "content": response}]], [_as_formula(reference)])[0]
        return None if reward is None else reward == 1.0

    return judge


def inspect_ai() -> Judge:
    """The scorer ``math()`` without its thread, whose timeout abandons the work."""
    from inspect_ai.scorer import _math  # type: ignore[import-not-found]

    def judge(reference: str, response: str) -> bool:
        targets, fault = _math._parse_targets_worker((reference,))
        return fault is None and _math._score_answer_worker(response, targets).status == "correct"

    return judge


def one_regex() -> Judge:
    """No verifier: every character of the response is read once by a regular expression. The floor for any of them."""
    every = re.compile(r"\d+|\D+")
    return lambda reference, response: bool(every.findall(response)) and None


CONTESTANTS: dict[str, Callable[[], Judge]] = {
    function.__name__: function for function in (guerdon, math_verify, math_verify_boxed, trl, inspect_ai, one_regex)
}


def _as_formula(reference: str) -> str:
    return reference if "$" in reference or "\\boxed" in reference else f"${reference}$"


# --- a process that can be killed -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """One call: the verdict, CPU and wall seconds, and what went wrong ("" , "crash" or "killed")."""

    verdict: bool | None
    cpu: float
    wall: float
    fault: str = ""


class Contestant:
    """A verifier in its own process. A call over the kill limit costs that call, and a new process is started."""

    def __init__(self, name: str, kill_after: float) -> None:
        self.name, self._kill_after = name, kill_after
        self._process: Any = None
        self._pipe: Any = None

    def start(self) -> str:
        """ "", or why it cannot run here."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.name), daemon=False)
        self._process.start()
        theirs.close()
        try:
            return str(self._pipe.recv()) if self._pipe.poll(180) else "it did not start within 180 s"
        except EOFError:
            return "its process died at the start"

    def ask(self, pairs: Sequence[tuple[str, str]]) -> tuple[list[Answer], float]:
        """The answers to pairs of reference and response, and the CPU seconds of processes that it started."""
        if self._process is None:
            self.start()
        started = time.perf_counter()
        self._pipe.send(pairs)
        fault = "killed"
        try:
            if self._pipe.poll(self._kill_after * (1 if len(pairs) == 1 else 3)):
                answers, others = self._pipe.recv()
                return [Answer(*answer) for answer in answers], others
        except (EOFError, ConnectionError):
            fault = "crash"
        self.stop()
        if len(pairs) == 1:
            spent = time.perf_counter() - started
            return [Answer(None, spent, spent, fault)], 0.0
        # one of them did it: find out which, alone
        alone = [self.ask([pair]) for pair in pairs]
        return [answers[0] for answers, _ in alone], sum(others for _, others in alone)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def cpu_seconds() -> float:
    """Of this process and of its children that have ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def cpu_of_children() -> float:
    """Of the processes below this one that are still running, where the system tells (Linux)."""
    seconds, waiting = 0.0, [os.getpid()]
    while waiting:
        for listed in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
            for pid in listed.read_text().split():
                waiting.append(int(pid))
                with suppress(OSError):
                    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                    seconds += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def _serve(pipe: Connection, name: str) -> None:
    sys.setrecursionlimit(3000)
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    try:
        judge = CONTESTANTS[name]()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for pair in WARM_UP:
            judge(*pair)
    except BaseException as fault:
        pipe.send(f"{type(fault).__name__}: {fault}")
        return
    pipe.send("")
    while True:
        pairs = pipe.recv()
        judge(*WARM_UP[0])  # what the caches of the processor hold after a turn of another is no merit of anybody
        others = cpu_seconds() - time.process_time() + cpu_of_children()
        answers = [_judged(judge, *pair) for pair in pairs]
        pipe.send((answers, cpu_seconds() - time.process_time() + cpu_of_children() - others))


def _judged(judge: Judge, reference: str, response: str) -> tuple[bool | None, float, float, str]:
    wall, cpu = time.perf_counter(), time.process_time()
    verdict, fault = None, ""
    try:
        verdict = judge(reference, response)
    except BaseException as error:  # peers raise anything, and their signals too
        fault = f"crash: {type(error).__name__}"
    return verdict, time.process_time() - cpu, time.perf_counter() - wall, fault
