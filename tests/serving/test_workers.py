"""Worker processes: a sample that kills, hangs or swells costs itself alone, and never becomes a number."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from guerdon.rewards import Sample, Score, check_scorer
from guerdon.rewards.errors import OutageError, UsageError
from guerdon.serving.config import ScorerSpec, ServeConfig, read_config
from guerdon.serving.engine import Engine
from guerdon.serving.metrics import Metrics
from guerdon.serving.processes.wire import UnsayableError, pack_samples, pack_scores, unpack_samples, unpack_scores
from guerdon.serving.workers import WorkerScorer, load_served

SECONDS = 60.0  # never waited for in a passing run

REWARDS = '''
import os, signal, sys, time
from pathlib import Path
from guerdon.rewards import Sample, Score
from guerdon.rewards.errors import OutageError

HERE = Path(__file__).parent

def note(name):
    with (HERE / "seen").open("a") as file:
        file.write(f"{name} {os.getpid()}\\n")

def behaves(sample):
    """Its length, but for some words."""
    word = sample.response_text
    note(word)
    time.sleep(0.001 if word.startswith("xx") else 0)
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "die once" and not (HERE / "died").exists():
        (HERE / "died").touch()
        os._exit(3)
    if word == "hang":
        while True:
            pass
    if word == "sleep":
        time.sleep(3600)
    if word == "hold":
        while not (HERE / "go").exists():
            time.sleep(0.005)
    if word == "exit":
        sys.exit("bye")
    if word == "raise":
        raise ValueError("no such thing")
    if word == "nan":
        return float("nan")
    if word == "swell":
        return float(len(bytearray(1 << 30)))
    if word == "grow":
        kept.append(b"x" * (60 << 20))
    if word == "away":
        raise OutageError("the judge is away")
    if word == "print":
        print("words of a scorer", flush=True)
    if word == "child":
        os.fork() or time.sleep(3600)
    if word == "alarm":
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(0.02)
    return float(len(word))

kept = []

class Spread:
    """Of a group: how many there are."""
    name, version, scale = "spread", "1", "real"
    def score(self, samples):
        return [Score(float(len(samples)), "how many") for _ in samples]

class Model(Spread):
    def prepare(self, sample): ...
    def run(self, batch): ...
'''


@pytest.fixture
def rewards(tmp_path: Path) -> Path:
    path = tmp_path / "rewards.py"
    path.write_text(REWARDS)
    return path


@pytest.fixture
def start(rewards: Path) -> Iterator[Callable[..., WorkerScorer]]:
    started: list[WorkerScorer] = []

    def make(what: str = "behaves", *, workers: int = 2, **options: Any) -> WorkerScorer:
        started.append(WorkerScorer(f"{rewards}:{what}", workers=workers, **options))
        return started[-1]

    yield make
    for scorer in started:
        scorer.close()


def samples(*words: str) -> list[Sample]:
    return [Sample("p", word) for word in words]


def told(scores: list[Score]) -> list[float | str]:
    """Values, and the status of what has none."""
    return [score.status if score.value is None else score.value for score in scores]


def seen(rewards: Path) -> list[tuple[str, int]]:
    lines = (rewards.parent / "seen").read_text().splitlines()
    return [(line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in lines]


def wait_until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


# --- it is a scorer ---


@pytest.mark.parametrize("name", ["numeric", "choice"])
def test_a_verifier_in_processes_keeps_the_laws_and_gives_the_same_scores(name: str) -> None:
    from guerdon import verifiers

    with closing(WorkerScorer(name, workers=2)) as scorer:
        check_scorer(scorer, tolerance=0)
        plain = verifiers.load(name)
        asked = [Sample("p", f"It is \\boxed{{{i}}}, or (B).", reference=str(i % 3)) for i in range(100)]
        assert scorer.score(asked) == plain.score(asked)
        assert (scorer.name, scorer.version, scorer.scale) == (plain.name, plain.version, plain.scale)


def test_options_reach_the_scorer() -> None:
    with closing(WorkerScorer("numeric", {"tolerance": "0.5"}, workers=1)) as scorer:
        assert told(scorer.score([Sample("p", "The answer is 41.7", reference="42")])) == [1.0]


def test_order_is_kept_whichever_process_is_faster(start: Callable[..., WorkerScorer], rewards: Path) -> None:
    scorer = start(workers=3)
    wait_until(lambda: len(scorer.pids) == 3)
    assert told(scorer.score(samples(*("x" * n for n in range(500))))) == [float(n) for n in range(500)]
    assert len({pid for _, pid in seen(rewards)}) == 3  # all had work


def test_members_of_a_group_are_scored_in_one_call(start: Callable[..., WorkerScorer]) -> None:
    asked = [Sample("p", str(i), group=["a", "b", None][i % 3]) for i in range(11)]
    assert told(start("Spread").score(asked)) == [[4.0, 4.0, 1.0][i % 3] for i in range(11)]


def test_many_threads_share_the_processes(start: Callable[..., WorkerScorer]) -> None:
    scorer = start()

    def ask(number: int) -> list[float | str]:
        return told(scorer.score(samples(*("x" * number for _ in range(50)))))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(32))) == [[float(number)] * 50 for number in range(32)]


def test_the_main_thread_of_a_process_is_the_scorers(start: Callable[..., WorkerScorer]) -> None:
    assert told(start().score(samples("alarm"))) == [5.0]


def test_what_a_scorer_prints_is_not_the_servers_output(
    start: Callable[..., WorkerScorer], capfd: pytest.CaptureFixture[str]
) -> None:
    assert told(start(workers=1).score(samples("print", "a"))) == [5.0, 1.0]
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "words of a scorer\n")


# --- what goes wrong stays with its sample ---


def test_a_sample_that_kills_its_process_is_tried_once_more_and_is_then_an_error(
    start: Callable[..., WorkerScorer], rewards: Path
) -> None:
    scorer = start()
    scores = scorer.score(samples(*"abc", "die", *"defgh"))
    assert told(scores) == [1.0, 1.0, 1.0, "error", *[1.0] * 5]
    assert scores[3].reason == "a worker was ended by SIGKILL; tried 2 times"
    tries = [pid for word, pid in seen(rewards) if word == "die"]
    assert len(tries) == len(set(tries)) == 2
    assert scorer.counts["crashed"] == 2


def test_a_sample_whose_process_dies_by_accident_gets_its_score(start: Callable[..., WorkerScorer]) -> None:
    assert told(start().score(samples("a", "die once", "b"))) == [1.0, 8.0, 1.0]


def test_a_process_killed_from_outside_loses_nothing(start: Callable[..., WorkerScorer], rewards: Path) -> None:
    scorer = start()
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(scorer.score, samples(*["a"] * 20, "hold", *["b"] * 20))
        wait_until(lambda: (rewards.parent / "seen").exists() and "hold" in dict(seen(rewards)))
        os.kill(dict(seen(rewards))["hold"], signal.SIGKILL)
        (rewards.parent / "go").touch()
        assert told(asked.result(SECONDS)) == [*[1.0] * 20, 4.0, *[1.0] * 20]
    wait_until(lambda: len(scorer.pids) == 2)  # replaced


def test_processes_that_die_while_idle_are_replaced(start: Callable[..., WorkerScorer]) -> None:
    scorer = start()
    wait_until(lambda: len(scorer.pids) == 2)
    for pid in (first := scorer.pids):
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda pid=pid: gone(pid))
    assert told(scorer.score(samples(*"abcdef"))) == [1.0] * 6
    assert not set(first) & set(scorer.pids)


@pytest.mark.parametrize("word", ["hang", "sleep"])
def test_a_sample_that_takes_too_long_is_a_timeout_and_its_neighbours_are_scored(
    start: Callable[..., WorkerScorer], word: str
) -> None:
    scorer = start(seconds=0.3)
    scores = scorer.score(samples("a", word, *"bcde"))
    assert told(scores) == [1.0, "timeout", *[1.0] * 4]
    assert scores[1].reason == "took more than 0.3 s; its worker was killed"
    assert scorer.counts["killed"] == 1


def test_what_a_killed_process_has_started_ends_with_it(start: Callable[..., WorkerScorer], rewards: Path) -> None:
    scorer = start(workers=1, seconds=0.3)
    assert told(scorer.score(samples("child"))) in (["timeout"], [5.0])  # whichever of the two answers first
    wait_until(lambda: all(gone(pid) for word, pid in seen(rewards) if word == "child" and pid not in scorer.pids))


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("raise", "ValueError: no such thing"),
        ("exit", "SystemExit: bye"),
        ("nan", "UsageError: a score must be finite"),
    ],
)
def test_what_a_scorer_raises_is_an_error_of_that_sample(
    start: Callable[..., WorkerScorer], word: str, reason: str
) -> None:
    scorer = start()
    scores = scorer.score(samples("a", word, "b"))
    assert told(scores) == [1.0, "error", 1.0]
    assert scores[1].reason.startswith(reason)
    assert scorer.counts["crashed"] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits the memory of a process")
def test_a_sample_that_takes_too_much_memory_is_an_error(start: Callable[..., WorkerScorer]) -> None:
    scorer = start(memory=256)
    assert told(scorer.score(samples("a", "swell", "b"))) == [1.0, "error", 1.0]
    assert scorer.counts["recycled"] == 1


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only the peak of a process can be read")
def test_a_process_that_has_grown_is_replaced(start: Callable[..., WorkerScorer]) -> None:
    scorer = start(workers=1, memory=100)
    assert told(scorer.score(samples("grow"))) == [4.0]
    assert told(scorer.score(samples("a"))) == [1.0]
    assert scorer.counts["recycled"] == 1


def test_a_process_is_replaced_after_so_many_samples(start: Callable[..., WorkerScorer]) -> None:
    scorer = start(workers=1, recycle_after=10)
    for _ in range(3):
        assert told(scorer.score(samples(*["a"] * 10))) == [1.0] * 10
    wait_until(lambda: scorer.counts["recycled"] >= 2)


def test_an_outage_behind_the_scorer_is_raised(start: Callable[..., WorkerScorer]) -> None:
    with pytest.raises(OutageError, match="the judge is away"):
        start().score(samples("a", "away", "b"))


def test_code_that_changes_on_disk_gives_no_scores_under_the_old_version(
    start: Callable[..., WorkerScorer], rewards: Path
) -> None:
    scorer = start(workers=1)
    rewards.write_text(REWARDS.replace("float(len(word))", "float(-len(word))"))
    scores = scorer.score(samples("die once"))
    assert told(scores) == ["error"]
    assert "the scorer's version is" in scores[0].reason


def test_closed_workers_give_no_scores_and_leave_no_process(start: Callable[..., WorkerScorer]) -> None:
    scorer = start()
    wait_until(lambda: len(scorer.pids) == 2)
    pids = scorer.pids
    scorer.close()
    assert all(gone(pid) for pid in pids)
    assert told(scorer.score(samples("a"))) == ["error"]


def test_closing_answers_whoever_waits(start: Callable[..., WorkerScorer], rewards: Path) -> None:
    scorer = start(workers=1)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(scorer.score, samples("hold", *["a"] * 300))
        wait_until(lambda: (rewards.parent / "seen").exists())
        scorer.close()
        assert told(asked.result(SECONDS)) == ["error"] * 301


def test_workers_that_nobody_holds_any_more_end(start: Callable[..., WorkerScorer], rewards: Path) -> None:
    scorer = WorkerScorer(f"{rewards}:behaves", workers=1)
    (pid,) = scorer.pids
    del scorer
    wait_until(lambda: gone(pid))


def test_workers_end_with_a_server_that_is_killed(rewards: Path) -> None:
    """One of them computes, which it would do for ever."""
    program = f"""
    from guerdon.rewards import Sample
    from guerdon.serving.workers import WorkerScorer
    if __name__ == "__main__":
        scorer = WorkerScorer({str(rewards)!r} + ":behaves", workers=2)
        scorer.score([Sample("p", "a"), Sample("p", "hang")])
    """
    server = subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)])
    wait_until(lambda: (rewards.parent / "seen").exists() and "hang" in dict(seen(rewards)))
    server.kill()
    server.wait()
    wait_until(lambda: all(gone(pid) for _, pid in seen(rewards)))


def test_a_forked_child_starts_workers_of_its_own(start: Callable[..., WorkerScorer]) -> None:
    scorer = start(workers=1)
    pids = scorer.pids
    if (child := os.fork()) == 0:
        right = told(scorer.score(samples("abc"))) == [3.0] and scorer.pids != pids
        scorer.close()
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert told(scorer.score(samples("ab"))) == [2.0]
    assert scorer.pids == pids


# --- mistakes are said at the start ---


def test_a_spec_that_names_nothing_is_said_as_without_workers() -> None:
    with pytest.raises(UsageError, match="Did you mean 'numeric'"):
        WorkerScorer("numerc", workers=1)
    with pytest.raises(UsageError, match="tolerence"):
        WorkerScorer("numeric", {"tolerence": "1"}, workers=1)


def test_a_file_that_cannot_be_loaded_is_said(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(UsageError, match="ZeroDivisionError"):
        WorkerScorer(f"{tmp_path}/broken.py:f", workers=1)
    (tmp_path / "dies.py").write_text("import os; os._exit(7)\n")
    with pytest.raises(OutageError, match="ended with exit code 7"):
        WorkerScorer(f"{tmp_path}/dies.py:f", workers=1)


def test_a_scorer_that_makes_batches_takes_no_workers(rewards: Path) -> None:
    with pytest.raises(UsageError, match="makes batches of its own"):
        WorkerScorer(f"{rewards}:Model", workers=1)


def test_options_must_be_json() -> None:
    with pytest.raises(UsageError, match="must be JSON values"):
        WorkerScorer("numeric", {"tolerance": object()}, workers=1)


# --- the wire ---


def test_samples_and_scores_come_through_the_wire_unchanged() -> None:
    odd = [
        Sample("p\n\ud800", [{"role": "assistant", "content": "x", "n": 2**70}], {"a": [1.5, None]}, "g", {"k": "v"}),
        Sample("", "\x00"),
    ]
    assert unpack_samples(json.loads(pack_samples(odd))) == odd
    scores = [Score(0.1 + 0.2, "why", {"a": (1, (2,)), "b": {"c": None}}), Score.unscored("no", status="timeout")]
    assert unpack_scores(json.loads(pack_scores(scores))) == scores


@pytest.mark.parametrize("reference", [object(), {1: "a"}, {None: "a"}, {"a": {2}}])
def test_a_sample_that_json_would_change_is_refused(reference: Any) -> None:
    with pytest.raises(UnsayableError):
        pack_samples([Sample("p", "r", reference)])


def test_a_sample_that_cannot_be_sent_is_an_error_beside_scored_ones(start: Callable[..., WorkerScorer]) -> None:
    assert told(start().score([Sample("p", "a"), Sample("p", "b", {1: 2}), Sample("p", "c")])) == [1.0, "error", 1.0]


# --- in a server ---


def test_the_configuration_names_workers(tmp_path: Path) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('[scorers.math]\nspec = "numeric"\nworkers = 2\nworker_seconds = 5\ntolerance = "0.5"\n')
    source = read_config(file, environ={}).scorers["math"]
    assert source == ScorerSpec("numeric", {"tolerance": "0.5"}, workers=2, worker_seconds=5)
    scorer = load_served(source)
    assert isinstance(scorer, WorkerScorer)
    scorer.close()


@pytest.mark.parametrize("key", ["workers = -1", "workers = true", "worker_seconds = 0", "worker_memory = 1"])
def test_numbers_of_workers_that_cannot_be_right_are_named(tmp_path: Path, key: str) -> None:
    file = tmp_path / "serve.toml"
    file.write_text(f'[scorers.math]\nspec = "numeric"\n{key}\n')
    with pytest.raises(UsageError, match=f"{key.split()[0]} must be"):
        read_config(file, environ={})


def test_a_slow_sample_delays_no_other_request(start: Callable[..., WorkerScorer], rewards: Path) -> None:
    """Of one lane: the others are answered while a process is still at the first."""
    scorer = start()
    metrics = Metrics(["s"])
    engine = Engine({"s": scorer}, ServeConfig(), metrics)

    async def main() -> list[list[float | str]]:
        slow = asyncio.ensure_future(engine.score("s", samples("hold"), seconds=SECONDS))
        while not (rewards.parent / "seen").exists():
            await asyncio.sleep(0.005)
        others = await asyncio.gather(
            *(engine.score("s", samples("x" * n), seconds=SECONDS) for n in range(1, 100)),
        )
        assert not slow.done()
        (rewards.parent / "go").touch()
        return [told(scored.scores) for scored in (await slow, *others)]

    assert asyncio.run(asyncio.wait_for(main(), SECONDS)) == [[4.0], *([float(n)] for n in range(1, 100))]
    assert 'guerdon_workers_total{event="started",scorer="s"} 2.0' in metrics.text().decode()
    engine.close()


def test_a_lane_of_workers_gives_statuses_joins_and_remembers(
    start: Callable[..., WorkerScorer], rewards: Path
) -> None:
    engine = Engine({"s": start(seconds=0.5)}, ServeConfig(), Metrics(["s"]))
    words = ["a", "a", "die", "hang", "raise", "away", "bc", "bc"]

    async def main() -> list[float | str]:
        found = await asyncio.gather(*(engine.score("s", samples(word), seconds=SECONDS) for word in words))
        again = await engine.score("s", samples("a"), seconds=SECONDS)
        return [*(told(scored.scores)[0] for scored in found), *told(again.scores)]

    assert asyncio.run(asyncio.wait_for(main(), SECONDS)) == [
        1.0, 1.0, "error", "timeout", "error", "error", 2.0, 2.0, 1.0,
    ]  # fmt: skip
    asked = [word for word, _ in seen(rewards)]
    assert (asked.count("a"), asked.count("bc"), asked.count("die")) == (1, 1, 2)
    engine.close()
