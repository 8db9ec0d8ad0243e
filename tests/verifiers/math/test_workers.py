"""Killable workers: what overruns is killed and replaced, whoever asks, from wherever.

Most tests put a stand-in for sympy into the workers, which takes a second less to load: it works for ever on equal
sides, takes too much memory for two zeros, and finds everything else equal.
"""

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

LONG = 30.0  # seconds that no question here needs; a busy machine may take ten for a short one
HARMONIC = parse(r"\sum_{k=1}^{\infty} \frac{1}{k^2}")
BASEL = parse(r"\frac{\pi^2}{6}")
ZERO, ONE = Number(Q(0)), Number(Q(1))

STAND_IN = """
import sys, json, types
sys.path[:] = json.loads(sys.argv[1])
from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.identity import ZERO
def settle(a, b):
    if a == b == ZERO:
        bytearray(2**50)
    while a == b:
        pass
    return Decision(True, "symbolic")
module = types.ModuleType("guerdon.verifiers._math.symbolic")
module.settle = settle
sys.modules[module.__name__] = module
from guerdon.verifiers._math.worker import main
main()
"""
SETUP = f"from guerdon.verifiers._math import workers; workers._PROGRAM = {STAND_IN!r}; pool = workers.pool\n"
SETUP += "from guerdon.verifiers._math.identity import ZERO, ONE\n"


@pytest.fixture
def pool(monkeypatch):
    monkeypatch.setattr(workers, "_PROGRAM", STAND_IN)
    pool = Pool(2)
    yield pool
    pool.close()


def alive(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as stat:  # a zombie is as good as gone
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone_soon(process: int) -> bool:
    deadline = time.monotonic() + 10
    while alive(process) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not alive(process)


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc, or limits memory")


def test_sympy_answers_and_is_killed_when_it_overruns():
    pytest.importorskip("sympy")
    pool = Pool(1)
    endless = Power(Number(Q(3)), Power(Number(Q(7)), Number(Q(12))))  # sympy would write out every digit
    try:
        assert pool.ask(HARMONIC, BASEL, LONG).equal is True
        assert pool.ask(HARMONIC, parse(r"\frac{\pi^2}{5}"), LONG).equal is False
        found = pool.ask(endless, ONE, 0.3)
        assert (found.equal, found.status) == (None, "timeout")
        assert found.reason == "the symbolic stage took more than 0.3 s"
        assert pool.processes() == []
    finally:
        pool.close()


def test_no_process_is_started_before_the_first_question():
    assert Pool(2).processes() == []
    code = "from guerdon.verifiers._math import workers; print(workers.pool.processes())"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_worker_is_kept(pool):
    assert pool.ask(ZERO, ONE, LONG).equal is True
    before = pool.processes()
    assert pool.ask(ONE, ZERO, LONG).equal is True
    assert pool.processes() == before
    assert len(before) == 1


@linux_only
def test_a_worker_that_overruns_is_killed_and_replaced(pool):
    pool.ask(ZERO, ONE, LONG)
    (before,) = pool.processes()
    began = time.monotonic()
    assert pool.ask(ONE, ONE, 0.3).status == "timeout"
    assert 0.3 <= time.monotonic() - began < LONG
    assert not alive(before)
    assert pool.processes() == []
    assert pool.ask(ZERO, ONE, LONG).equal is True  # the next question is none the worse


@linux_only
def test_a_worker_that_died_while_idle_is_replaced(pool):
    pool.ask(ZERO, ONE, LONG)
    (before,) = pool.processes()
    os.kill(before, signal.SIGKILL)
    assert gone_soon(before)
    assert pool.ask(ZERO, ONE, LONG).equal is True


@linux_only
def test_a_worker_without_memory_loses_its_own_sample_only(pool):
    found = pool.ask(ZERO, ZERO, LONG)
    assert (found.equal, found.reason, found.status) == (None, "out of memory", "refused")
    assert pool.processes() == []
    assert pool.ask(ZERO, ONE, LONG).equal is True


def test_many_threads_share_few_workers_and_one_that_overruns_costs_the_others_nothing(pool):
    found = {}

    def ask(index):
        found[index] = pool.ask(ONE, ONE, 0.3) if index == 3 else pool.ask(ZERO, ONE, LONG)

    threads = [threading.Thread(target=ask, args=(index,)) for index in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.pop(3).status == "timeout"
    assert [answer.equal for answer in found.values()] == [True] * 11
    assert len(pool.processes()) <= 2


def test_a_question_that_is_too_large_is_refused(pool):
    assert pool.ask(Number(Q(1 << 5_000_000)), ONE, LONG).status == "refused"
    assert pool.processes() == []


def test_neither_the_start_nor_the_wait_for_a_worker_is_counted(monkeypatch):
    slow = STAND_IN.replace("import sys", "import time; time.sleep(1.5)\nimport sys", 1)
    monkeypatch.setattr(workers, "_PROGRAM", slow)
    pool = Pool(1)
    answers = []
    try:
        threads = [threading.Thread(target=lambda: answers.append(pool.ask(ZERO, ONE, 1.0))) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        pool.close()
    assert [answer.equal for answer in answers] == [True] * 3


def test_a_worker_that_cannot_start_says_so(monkeypatch):
    monkeypatch.setattr(workers, "_PROGRAM", "raise SystemExit(1)")
    found = Pool(1).ask(ZERO, ONE, LONG)
    assert (found.equal, found.status, found.reason) == (None, "error", "a symbolic worker did not start")
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    found = Pool(1).ask(ZERO, ONE, LONG)
    assert found.status == "error"
    assert "no symbolic worker could be started" in found.reason


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_daemonic_processes_may_ask_and_leave_their_parents_workers_alone(method, tmp_path):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    script = tmp_path / "daemons.py"
    script.write_text(
        SETUP + "import multiprocessing\n"
        "def child(connection):\n"
        "    assert multiprocessing.current_process().daemon and not pool.processes()\n"
        "    connection.send(pool.ask(ZERO, ONE, 30.0).equal)\n"
        "if __name__ == '__main__':\n"
        "    pool.ask(ZERO, ONE, 30.0); before = pool.processes()\n"
        f"    context = multiprocessing.get_context({method!r})\n"
        "    ours, theirs = context.Pipe()\n"
        "    process = context.Process(target=child, args=(theirs,), daemon=True)\n"
        "    process.start(); print(ours.recv()); process.join()\n"
        "    print(pool.ask(ZERO, ONE, 30.0).equal, pool.processes() == before)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("True\nTrue True\n", "")


@linux_only
def test_ctrl_c_ends_the_caller_and_the_worker():
    # a job in the background is started with SIGINT ignored, and hands that on
    heeds = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code = heeds + SETUP
    code += "pool.ask(ZERO, ONE, 30.0); print(*pool.processes(), flush=True); pool.ask(ONE, ONE, 60.0)"
    caller = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert caller.stdout is not None
    process = int(caller.stdout.readline())
    time.sleep(0.3)
    os.kill(caller.pid, signal.SIGINT)
    _, errors = caller.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert gone_soon(process)


@linux_only
@pytest.mark.parametrize("end", ["os._exit(0)", "sys.exit(0)", "os.kill(os.getpid(), 9)"])
def test_no_worker_outlives_its_process(end):
    code = f"import os, sys\n{SETUP}pool.ask(ZERO, ONE, 30.0); print(*pool.processes(), flush=True); {end}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert gone_soon(int(done.stdout))


def test_without_sympy_the_reason_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = workers.settle(HARMONIC, BASEL, 1.0)
    assert found.equal is None
    assert "guerdon[math]" in found.reason


def test_what_only_a_worker_can_tell_is_asked_of_one_within_the_time_left(monkeypatch):
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
    tower = parse("9^{9^{9^{9^{9}}}}")
    assert same_value(tower, parse("9^{9^{9^{9^{9}}}}+8^{8^{8^{8^{8}}}}")).equal in (False, None)
    assert len(asked) == 2  # giants are not sent to sympy, which would write them out
