"""Killable workers: what overruns is killed and replaced, whoever asks, from wherever."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from fractions import Fraction as Q

import pytest

from guerdon.verifiers._math import workers
from guerdon.verifiers._math.identity import same_value
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import Binder, Constant, Number, Power, Product, Symbol
from guerdon.verifiers._math.workers import Pool

pytest.importorskip("sympy")

LONG = 30.0  # seconds that no question here needs; a busy machine may take ten for a short one
HARMONIC = parse(r"\sum_{k=1}^{\infty} \frac{1}{k^2}")
BASEL = parse(r"\frac{\pi^2}{6}")
# sympy writes out every digit of it before it can be stopped
ENDLESS = Power(Number(Q(3)), Power(Number(Q(7)), Number(Q(12))))


@pytest.fixture(scope="module")
def pool():
    pool = Pool(2)
    yield pool
    pool.close()


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") as stat:  # a zombie is as good as gone
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


def test_no_process_is_started_before_the_first_question():
    assert Pool(2).processes() == []
    code = "from guerdon.verifiers._math import workers; print(workers.pool.processes())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_worker_answers_and_is_kept(pool):
    assert pool.ask(HARMONIC, BASEL, LONG).equal is True
    before = pool.processes()
    assert pool.ask(HARMONIC, parse(r"\frac{\pi^2}{5}"), LONG).equal is False
    assert pool.processes() == before
    assert len(before) == 1


def test_a_worker_that_overruns_is_killed_and_replaced(pool):
    pool.ask(HARMONIC, BASEL, LONG)
    before = pool.processes()
    began = time.monotonic()
    found = pool.ask(ENDLESS, Number(Q(1)), 0.3)
    assert time.monotonic() - began < LONG
    assert (found.equal, found.status) == (None, "timeout")
    assert found.reason == "the symbolic stage took more than 0.3 s"
    assert not set(before) & set(pool.processes())
    if sys.platform == "linux":
        assert not any(map(alive, before))
    assert pool.ask(HARMONIC, BASEL, LONG).equal is True  # the next question is none the worse


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill here")
def test_a_worker_that_died_while_idle_is_replaced(pool):
    pool.ask(HARMONIC, BASEL, LONG)
    for process in pool.processes():
        os.kill(process, signal.SIGKILL)
    time.sleep(0.2)
    assert pool.ask(HARMONIC, BASEL, LONG).equal is True


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the address space of a process")
def test_a_worker_without_memory_loses_its_own_sample_only(monkeypatch):
    hungry = (
        "import guerdon.verifiers._math.symbolic as s; settle = s.settle;"
        " s.settle = lambda a, b: bytearray(2**40) if a == b else settle(a, b); from guerdon"
    )
    monkeypatch.setattr(workers, "_PROGRAM", workers._PROGRAM.replace("from guerdon", hungry, 1))
    small = Pool(1)
    try:
        small.ask(HARMONIC, BASEL, LONG)
        before = small.processes()
        found = small.ask(BASEL, BASEL, LONG)
        assert (found.equal, found.reason, found.status) == (None, "out of memory", "refused")
        assert small.ask(HARMONIC, BASEL, LONG).equal is True
        assert small.processes() != before
    finally:
        small.close()


def test_many_threads_share_few_workers(pool):
    found = []
    threads = [threading.Thread(target=lambda: found.append(pool.ask(HARMONIC, BASEL, LONG).equal)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 8
    assert len(pool.processes()) <= 2


def test_a_question_that_is_too_large_is_refused(pool):
    huge = Number(Q(7**2_000_000))
    assert pool.ask(huge, huge, LONG).status == "refused"


def test_waiting_for_a_worker_is_not_counted():
    fresh = Pool(1)
    try:  # sympy's import alone takes longer than this limit on most machines, and must not count
        answers = [fresh.ask(HARMONIC, BASEL, LONG), fresh.ask(parse("x"), parse("x"), 2.0)]
    finally:
        fresh.close()
    assert [answer.equal for answer in answers] == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_daemonic_processes_may_ask_and_leave_their_parents_workers_alone(method, tmp_path):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    script = tmp_path / "daemons.py"
    script.write_text(
        "import multiprocessing\n"
        "from guerdon.verifiers._math.parser import parse\n"
        "from guerdon.verifiers._math.workers import pool\n"
        "def ask():\n"
        r"    return pool.ask(parse(r'\sum_{k=1}^{\infty} \frac{1}{k^2}'), parse(r'\frac{\pi^2}{6}'), 30.0).equal"
        "\n"
        "def child(connection):\n"
        "    assert multiprocessing.current_process().daemon and not pool.processes()\n"
        "    connection.send(ask())\n"
        "if __name__ == '__main__':\n"
        "    ask(); before = pool.processes()\n"
        f"    context = multiprocessing.get_context({method!r})\n"
        "    ours, theirs = context.Pipe()\n"
        "    process = context.Process(target=child, args=(theirs,), daemon=True)\n"
        "    process.start(); print(ours.recv()); process.join()\n"
        "    print(ask(), pool.processes() == before)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("True\nTrue True\n", "")


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_ends_the_caller_and_the_worker():
    code = (
        "import sys; from guerdon.verifiers._math.workers import pool;"
        "from guerdon.verifiers._math.parser import parse;"
        "from guerdon.verifiers._math.tree import Number, Power; from fractions import Fraction as Q;"
        "pool.ask(parse('x'), parse('x'), 30.0); print(*pool.processes(), flush=True);"
        "pool.ask(Power(Number(Q(3)), Power(Number(Q(7)), Number(Q(12)))), Number(Q(1)), 60.0)"
    )
    caller = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert caller.stdout is not None
    process = int(caller.stdout.readline())
    time.sleep(0.3)
    os.killpg(caller.pid, signal.SIGINT)
    _, errors = caller.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    if sys.platform == "linux":
        deadline = time.monotonic() + 10
        while alive(process) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not alive(process)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_no_worker_outlives_its_process():
    code = (
        "import os; from guerdon.verifiers._math.workers import pool; from guerdon.verifiers._math.parser import parse;"
        "pool.ask(parse('x'), parse('x'), 30.0); print(*pool.processes(), flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    deadline = time.monotonic() + 10
    while alive(int(done.stdout)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(int(done.stdout))


def test_without_sympy_the_reason_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = workers.settle(HARMONIC, BASEL, 1.0)
    assert found.equal is None
    assert "guerdon[math]" in found.reason


def test_what_only_a_worker_can_tell_is_told_by_same_value(monkeypatch):
    asked = []

    def settle(a, b, seconds):
        asked.append(seconds)
        return workers.Decision(True, "symbolic")

    monkeypatch.setattr(workers, "settle", settle)
    assert same_value(HARMONIC, BASEL).stage == "symbolic"
    assert same_value(HARMONIC, BASEL, deadline=time.monotonic() + 0.3).equal is True
    assert asked[0] == 0.5
    assert asked[1] <= 0.3
    late = Binder("integral", Product((Symbol("x"), Constant("infinity"))), "x", None, None)
    assert same_value(late, Symbol("y"), deadline=time.monotonic() - 1).status == "timeout"
    assert len(asked) == 2
