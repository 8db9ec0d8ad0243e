"""A real server: a process with uvicorn, signals, sockets and clients that hang up. Nothing accepted is lost."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from guerdon.rewards import Sample, check_scorer, pointwise
from guerdon.rewards.errors import UsageError
from guerdon.serving.client import RemoteScorer
from guerdon.serving.config import ScorerSpec, ServeConfig
from guerdon.serving.server import serve, serving

SECONDS = 60.0  # never waited for in a passing run

REWARDS = '''
import time
from pathlib import Path

HERE = Path(__file__).parent

def length(sample):
    """Notes what it scored; the response "hold" waits until the test makes a file."""
    if sample.response_text == "hold":
        (HERE / "held").touch()
        while not (HERE / "go").exists():
            time.sleep(0.005)
    with (HERE / "scored").open("a") as file:
        file.write(sample.response_text + "\\n")
    return len(sample.response_text)
'''


class Process:
    """``serve`` in a process of its own."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        (folder / "rewards.py").write_text(REWARDS)
        flags = {"port": 0, "scorers": {"len": f"{folder / 'rewards.py'}:length"}, **options}
        program = (
            "import json, sys; from guerdon.serving.config import read_config; "
            "from guerdon.serving.server import serve; serve(read_config(None, json.loads(sys.argv[1])))"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, json.dumps(flags)], stderr=subprocess.PIPE, text=True
        )
        assert self.process.stderr is not None
        self.lines = []
        while not self.lines or not self.lines[-1].startswith("try: "):
            line = self.process.stderr.readline()
            assert line, f"the server ended with {self.process.wait()}: {self.lines}"
            self.lines.append(line.rstrip("\n"))
        found = re.search(r"listening on (\S+)", self.lines[0])
        assert found
        self.url = found[1]

    def post(self, response: str, **options: Any) -> httpx.Response:
        body = {"scorer": "len", "items": [{"id": response, "prompt": "p", "response": response}]}
        return httpx.post(f"{self.url}/v1/score", json=body, timeout=SECONDS, **options)

    def wait_for(self, name: str) -> None:
        wait_until((self.folder / name).exists)

    def signal(self, which: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(which)

    def end(self) -> tuple[int, str]:
        _, errors = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, errors


@contextlib.contextmanager
def process(folder: Path, **options: Any) -> Iterator[Process]:
    server = Process(folder, **options)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()
        assert server.process.stderr is not None
        server.process.stderr.close()


def wait_until(condition: Any) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def status(url: str) -> int:
    return httpx.get(url, timeout=SECONDS).status_code


@pytest.mark.parametrize("which", [signal.SIGTERM, signal.SIGINT])
def test_a_stopping_server_refuses_new_work_and_answers_what_it_accepted(tmp_path: Path, which: signal.Signals) -> None:
    with process(tmp_path) as server, ThreadPoolExecutor(2) as pool:
        accepted = pool.submit(server.post, "hold")
        server.wait_for("held")
        server.signal(which)
        wait_until(lambda: status(f"{server.url}/ready") == 503)
        refused = server.post("new")
        assert (refused.status_code, refused.json()["error"]["type"]) == (503, "draining")
        assert int(refused.headers["Retry-After"]) >= 1
        assert status(f"{server.url}/health") == 200
        (tmp_path / "go").touch()
        assert accepted.result(SECONDS).json()["items"][0]["value"] == 4.0
        code, errors = server.end()
        assert code == 0
        assert "Traceback" not in errors
        assert (tmp_path / "scored").read_text() == "hold\n"


def test_no_accepted_request_is_lost_when_a_busy_server_is_stopped(tmp_path: Path) -> None:
    """Sixteen clients ask without a pause. Whatever the scorer scored must have reached its client."""
    answered: list[str] = []
    others: list[object] = []

    def client(number: int) -> None:
        with httpx.Client(timeout=SECONDS) as http:
            for turn in range(100_000):
                name = f"{number}-{turn}"
                body = {"scorer": "len", "items": [{"id": name, "prompt": "p", "response": name}]}
                try:
                    answer = http.post(f"{server.url}/v1/score", json=body)
                except httpx.TransportError as error:
                    others.append(error)
                    return
                if answer.status_code != 200:
                    others.append(answer.status_code)
                    return
                assert answer.json()["items"][0]["value"] == float(len(name))
                answered.append(name)

    with process(tmp_path) as server, ThreadPoolExecutor(16) as pool:
        clients = [pool.submit(client, number) for number in range(16)]
        wait_until(lambda: len(answered) > 200)
        server.signal()
        for future in clients:
            future.result(SECONDS)
        assert server.end()[0] == 0
    scored = (tmp_path / "scored").read_text().split()
    assert sorted(scored) == sorted(answered)
    assert all(other == 503 or isinstance(other, httpx.TransportError) for other in others)


def test_what_is_not_done_when_draining_ends_is_told_503(tmp_path: Path) -> None:
    with process(tmp_path, drain_seconds=0.2) as server, ThreadPoolExecutor(1) as pool:
        accepted = pool.submit(server.post, "hold")
        server.wait_for("held")
        server.signal()
        answer = accepted.result(SECONDS)
        assert (answer.status_code, answer.json()["error"]["type"]) == (503, "draining")
        assert server.end()[0] == 0  # although the scorer still hangs


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with process(tmp_path, drain_seconds=3600) as server, ThreadPoolExecutor(1) as pool:
        accepted = pool.submit(server.post, "hold")
        server.wait_for("held")
        server.signal()
        wait_until(lambda: status(f"{server.url}/ready") == 503)
        server.signal()
        assert accepted.result(SECONDS).status_code == 503
        assert server.end()[0] == 0


def test_greeting_has_address_scorers_and_a_command_that_works(tmp_path: Path) -> None:
    with process(tmp_path) as server:
        assert server.lines[1].split()[:2] == ["len", "real"]
        command = server.lines[2].removeprefix("try: ")
        done = subprocess.run(["sh", "-c", f"{command} --silent"], capture_output=True, text=True, check=True)
        assert json.loads(done.stdout)["items"][0]["value"] == len("The answer is 42.")


def test_token_is_asked_for_and_never_printed(tmp_path: Path) -> None:
    with process(tmp_path, token="s3cret") as server:
        assert server.post("a").status_code == 401
        assert server.post("a", headers={"Authorization": "Bearer s3cret"}).status_code == 200
        assert "$GUERDON_TOKEN" in server.lines[2]
        server.signal()
        assert "s3cret" not in "\n".join(server.lines) + server.end()[1]


def test_prompts_are_not_logged_when_a_scorer_fails(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("def fails(sample):\n    raise ValueError('no')\n")
    with process(tmp_path, scorers={"fails": f"{tmp_path / 'fails.py'}:fails"}) as server:
        body = {"scorer": "fails", "items": [{"prompt": "private words", "response": "private answer"}]}
        assert httpx.post(f"{server.url}/v1/score", json=body).json()["items"][0]["status"] == "error"
        server.signal()
        _, errors = server.end()
    assert "ValueError: no" in errors
    assert "private" not in errors


# --- in this process ---


class Gate:
    """A function of a sample that waits at "hold" until the test opens it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.entered, self.go = threading.Event(), threading.Event()

    def __call__(self, sample: Sample) -> float:
        self.seen.append(sample.response_text)
        if sample.response_text == "hold":
            self.entered.set()
            assert self.go.wait(SECONDS)
        return float(len(sample.response_text))


def score_request(url: str, response: str) -> bytes:
    body = json.dumps({"scorer": "gate", "items": [{"prompt": "p", "response": response}]}).encode()
    host = url.removeprefix("http://")
    head = f"POST /v1/score HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def connect(url: str) -> socket.socket:
    host, _, port = url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), timeout=SECONDS)


def metric(url: str, line: str) -> float:
    text = httpx.get(f"{url}/metrics").text
    found = re.search(rf"^{re.escape(line)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_work_of_a_client_that_hung_up_is_never_run() -> None:
    gate = Gate()
    with serving(ServeConfig(port=0), {"gate": pointwise(gate, scale="real", name="gate")}) as url:
        held = connect(url)
        held.sendall(score_request(url, "hold"))
        assert gate.entered.wait(SECONDS)
        gone = connect(url)
        gone.sendall(score_request(url, "gone"))
        wait_until(lambda: metric(url, 'guerdon_queue_tokens{scorer="gate"}') == 4)  # 2 a request
        gone.close()
        wait_until(lambda: metric(url, 'guerdon_dropped_total{reason="gone",scorer="gate"}') == 1)
        gate.go.set()
        assert RemoteScorer(url, "gate").score([Sample("p", "after")])[0].value == 5.0
        held.close()
    assert gate.seen == ["hold", "after"]


def test_a_client_that_hangs_up_amid_its_body_leaves_no_trace_in_the_log(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with serving(ServeConfig(port=0), {"gate": pointwise(Gate(), scale="real", name="gate")}) as url:
        with connect(url) as half:
            half.sendall(score_request(url, "half")[:-5])
        wait_until(lambda: metric(url, 'guerdon_responses_total{code="499",route="/v1/score"}') == 1)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("token", [None, "t"])
def test_a_client_that_hangs_up_with_many_requests_under_way_leaves_no_tracebacks(
    capfd: pytest.CaptureFixture[str], token: str | None
) -> None:
    with serving(ServeConfig(port=0, token=token), {"gate": pointwise(Gate(), scale="real", name="gate")}) as url:
        for _ in range(20):
            with connect(url) as pipelined:
                pipelined.sendall(score_request(url, "x") * 20)
                pipelined.recv(1)
        assert status(f"{url}/health") == 200
    assert "Traceback" not in capfd.readouterr().err


def test_remote_scorer_keeps_the_laws_against_a_live_server() -> None:
    with serving(ServeConfig(port=0), {"gate": pointwise(Gate(), scale="real", name="gate")}) as url:
        check_scorer(RemoteScorer(url), tolerance=0)


def test_two_hundred_connections_at_once_are_all_answered_right() -> None:
    with serving(ServeConfig(port=0), {"gate": pointwise(Gate(), scale="real", name="gate")}) as url:
        scorer = RemoteScorer(url, concurrency=200, batch_size=1)
        scores = scorer.score([Sample("p", "x" * n) for n in range(200)])
        scorer.close()
    assert [score.value for score in scores] == [float(n) for n in range(200)]


def test_leaving_the_block_closes_the_port() -> None:
    with serving(ServeConfig(port=0), {"gate": pointwise(Gate(), scale="real", name="gate")}) as url:
        assert status(f"{url}/ready") == 200
    with pytest.raises(httpx.TransportError):
        status(f"{url}/ready")


def test_a_taken_port_is_said_before_anything_is_loaded() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = ServeConfig(port=port, scorers={"x": ScorerSpec("absent.py:never_loaded")})
        with pytest.raises(UsageError, match=rf"cannot listen on 127\.0\.0\.1 port {port}: .*choose another port"):
            serve(config)


def test_a_host_that_is_not_ours_is_named() -> None:
    with pytest.raises(UsageError, match="cannot listen on"):
        serve(ServeConfig(host="203.0.113.7", token="t", scorers={"x": ScorerSpec("absent.py:never_loaded")}))


def test_the_callers_token_is_not_left_for_scorers_on_other_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    def load(spec: str, **options: Any) -> Any:
        seen.append(os.environ.get("GUERDON_TOKEN"))
        raise UsageError("far enough")

    monkeypatch.setenv("GUERDON_TOKEN", "s3cret")
    monkeypatch.setattr("guerdon.serving.workers.load_scorer", load)
    config = ServeConfig(port=0, token="s3cret", scorers={"other": ScorerSpec("http://127.0.0.1:1#a")})
    with pytest.raises(UsageError, match="far enough"):
        serve(config)
    assert seen == [None]


def test_nothing_to_serve_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="name a scorer, for example --scorer math=numeric"):
        serve(ServeConfig())
