"""RemoteScorer against a server of the standard library whose faults are scripted, and against the real one."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards import Sample, Score, check_scorer, pointwise
from guerdon.rewards.errors import OutageError, ScaleError, UnknownNameError, UsageError
from guerdon.serving import _wire
from guerdon.serving.client import RemoteScorer


def rule(sample: Sample) -> Score:
    """What the stub serves: the length of the response, or nothing for an empty one."""
    if not sample.response_text:
        return Score.unscored("the response is empty", {"seen": 0})
    return Score(float(len(sample.response_text)), "length", {"seen": len(sample.response_text)})


LOCAL = pointwise(rule, scale="real", name="length", version="v1")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Stub

    def log_message(self, *args: object) -> None:
        pass

    def answer(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for key, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        self.answer(200, {"scorers": self.server.scorers})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = json.loads(body, parse_constant=lambda name: pytest.fail(f"{name} on the wire"))
        with self.server.lock:
            self.server.seen.append(self.path)
            self.server.requests.append(request)
            self.server.headers.append(dict(self.headers))
            fault = self.server.faults.pop(0) if self.server.faults else None
        if fault is not None and fault(self, request):
            return
        self.answer(200, scored(request, self.server.version, self.server.scale))


class Stub(ThreadingHTTPServer):
    """faults: functions of (handler, request), one taken by each POST; a true result means it has answered."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.version, self.scale = "v1", "real"
        self.scorers: list[dict[str, Any]] = [{"name": "length", "version": "v1", "scale": "real", "kind": "function"}]
        self.faults: list[Callable[[Handler, Any], bool]] = []
        self.requests: list[Any] = []
        self.seen: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that went away


def scored(request: Any, version: str = "v1", scale: str = "real") -> dict[str, Any]:
    items = []
    for item in request["items"]:
        score = rule(Sample(item["prompt"], item["response"]))
        items.append(
            {
                "id": item["id"],
                "value": score.value,
                "status": score.status,
                "reason": score.reason,
                "details": dict(score.details),
            }
        )
    return {"scorer": request["scorer"], "version": version, "scale": scale, "items": items, "timing_ms": {}}


def status(code: int, body: Any = None, **headers: str) -> Callable[[Handler, Any], bool]:
    def fault(handler: Handler, request: Any) -> bool:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        handler.answer(code, body if body is not None else {"error": {"type": "busy", "message": "full"}}, named)
        return True

    return fault


def dropped(handler: Handler, request: Any) -> bool:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)
    return True


def cut_short(handler: Handler, request: Any) -> bool:
    handler.answer(200, b'{"scorer":', {"Content-Length": "500"})
    return dropped(handler, request)


def changed(**changes: Any) -> Callable[[Handler, Any], bool]:
    """The right answer with some fields replaced; items_* replaces a field of the first item."""

    def fault(handler: Handler, request: Any) -> bool:
        answer = scored(request)
        for key, value in changes.items():
            target, field = (answer["items"][0], key[5:]) if key.startswith("item_") else (answer, key)
            target[field] = value
        handler.answer(200, answer)
        return True

    return fault


@pytest.fixture
def stub() -> Iterator[Stub]:
    server = Stub()
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def remote(stub: Stub, name: str | None = "length", **options: Any) -> RemoteScorer:
    return RemoteScorer(stub.url, name, **{"backoff": 0.01, "timeout": 5.0, **options})


def samples(n: int, group_size: int = 1) -> list[Sample]:
    return [Sample("p", "x" * (i % 7), group=str(i // group_size) if group_size > 1 else None) for i in range(n)]


# --- it is a scorer ---


def test_keeps_the_laws_of_scorers(stub: Stub) -> None:
    check_scorer(remote(stub), tolerance=0.0)


def test_gives_what_the_scorer_behind_it_gives_in_order_and_in_full(stub: Stub) -> None:
    many = samples(101, group_size=3)
    assert remote(stub, batch_size=7, concurrency=4).score(many) == LOCAL.score(many)
    assert len(stub.requests) > 10


def test_no_samples_need_no_server() -> None:
    assert RemoteScorer("http://127.0.0.1:9", "length").score([]) == []


def test_messages_references_groups_and_meta_arrive_as_they_are(stub: Stub) -> None:
    prompt, response = [{"role": "user", "content": "Zwölf?"}], [{"role": "assistant", "content": "12 🐢"}]
    meta = {"source": "a", "tests": [{"in": 1, "out": None}], "share": 0.5, "ok": True}
    remote(stub).score([Sample(prompt, response, ["12", 12], "g", meta)])
    assert stub.requests == [
        {
            "scorer": "length",
            "items": [
                {
                    "id": "0",
                    "prompt": prompt,
                    "response": response,
                    "reference": ["12", 12],
                    "group": "g",
                    "meta": meta,
                }
            ],
        }
    ]


def test_numpy_values_that_trainers_hand_over_travel_as_numbers_and_lists(stub: Stub) -> None:
    np = pytest.importorskip("numpy")
    meta = {"index": np.int64(3), "share": np.float32(0.5), "row": np.array([1, 2]), "ok": np.bool_(True)}
    remote(stub).score([Sample("p", "r", np.str_("12"), meta=meta)])
    assert stub.requests[0]["items"][0]["meta"] == {"index": 3, "share": 0.5, "row": [1, 2], "ok": True}


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (Sample("p", "r", meta={"a": {"b": float("nan")}}), r"samples\[1\]\.meta\.a\.b is nan"),
        (Sample("p", "r", [1.0, float("inf")]), r"samples\[1\]\.reference\[1\] is inf"),
        (Sample("p", "r", object()), r"samples\[1\]\.reference is of type object"),
        (Sample("p", "r", b"12"), r"samples\[1\]\.reference is of type bytes"),
        (Sample("p", "r", 10**30), r"samples\[1\]\.reference is an integer of more than 64 bits"),
        (Sample("p", "r", {1: "a"}), r"samples\[1\]\.reference has the key 1"),
    ],
)
def test_what_json_cannot_carry_is_the_callers_mistake_and_nothing_is_sent(
    stub: Stub, sample: Sample, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        remote(stub).score([Sample("p", "r"), sample])
    assert stub.requests == []


def test_what_is_no_sample_is_refused_with_its_place(stub: Stub) -> None:
    with pytest.raises(UsageError, match=r"samples\[1\] must be a Sample, got str: '42'"):
        remote(stub).score([Sample("p", "r"), "42"])  # type: ignore[list-item]


def test_a_lone_surrogate_leaves_only_its_own_sample_unscored(stub: Stub) -> None:
    scores = remote(stub).score([Sample("p", "ab"), Sample("p", "a\ud800b"), Sample("p", "abc")])
    assert [score.value for score in scores] == [2.0, None, 3.0]
    assert scores[1].status == "refused"
    assert "surrogate" in scores[1].reason
    assert remote(stub).score([Sample("p", "\udfff")])[0].value is None  # nothing is left to send


# --- splitting ---


@given(
    groups=st.lists(st.sampled_from([None, "a", "b", "c", "d"]), max_size=40),
    lengths=st.lists(st.integers(0, 60), min_size=40, max_size=40),
    batch_size=st.integers(1, 10),
    batch_bytes=st.integers(1, 1500),
)
def test_requests_hold_every_sample_once_and_whole_groups_within_the_limits(
    groups: list[str | None], lengths: list[int], batch_size: int, batch_bytes: int
) -> None:
    batch = [Sample("p", "é" * n, group=group) for group, n in zip(groups, lengths, strict=False)]
    parts, unsent = _wire.encode(batch, batch_size=batch_size, batch_bytes=batch_bytes)
    assert not unsent
    assert sorted(position for part in parts for position in part.positions) == list(range(len(batch)))
    homes: dict[str, set[int]] = {}
    for index, part in enumerate(parts):
        items = json.loads(_wire.native_body(part, "s"))["items"]
        assert [item["id"] for item in items] == [str(position) for position in part.positions]
        for position in part.positions:
            if batch[position].group is not None:
                homes.setdefault(str(batch[position].group), set()).add(index)
        units = {batch[p].group or p for p in part.positions}
        assert len(units) == 1 or (len(items) <= batch_size and len(part.json) <= batch_bytes + 2)
    assert all(len(home) == 1 for home in homes.values())


def test_several_requests_are_in_flight_but_never_more_than_allowed(stub: Stub) -> None:
    two_are_here = threading.Barrier(2)
    inside, peak = 0, 0

    def meet(handler: Handler, request: Any) -> bool:
        nonlocal inside, peak
        with stub.lock:
            inside += 1
            peak = max(peak, inside)
        two_are_here.wait(20)  # passes only if a second request is here at the same time
        time.sleep(0.05)  # room for a third, if one were allowed
        with stub.lock:
            inside -= 1
        return False

    stub.faults = [meet] * 8
    scorer = remote(stub, batch_size=1, concurrency=2, timeout=30.0)
    with ThreadPoolExecutor(4) as pool:  # the limit holds over all threads
        list(pool.map(scorer.score, [samples(2)] * 4))
    assert peak == 2


# --- retries ---


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_two_refusals_that_may_pass_cost_no_score(stub: Stub, code: int) -> None:
    stub.faults = [status(code)] * 2
    assert remote(stub).score(samples(5)) == LOCAL.score(samples(5))
    assert len(stub.requests) == 3


@pytest.mark.parametrize("fault", [dropped, cut_short, status(200, b"no gzip", Content_Encoding="gzip")])
def test_broken_connections_cost_no_score(stub: Stub, fault: Callable[[Handler, Any], bool]) -> None:
    stub.faults = [fault] * 3
    assert remote(stub, batch_size=2).score(samples(9)) == LOCAL.score(samples(9))


def test_a_server_that_stalls_is_asked_again(stub: Stub) -> None:
    release = threading.Event()
    stub.faults = [lambda handler, request: release.wait(10) and dropped(handler, request)]
    assert remote(stub, timeout=0.3).score(samples(3)) == LOCAL.score(samples(3))
    release.set()


def test_a_server_that_drips_its_answer_is_bounded_by_the_timeout(stub: Stub) -> None:
    def drip(handler: Handler, request: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(40):  # every byte comes in time; the whole never does
            handler.wfile.write(b" ")
            time.sleep(0.05)
        return dropped(handler, request)

    stub.faults = [drip]
    with pytest.raises(OutageError, match=r"no answer within 0.3 s"):
        remote(stub, timeout=0.3, retries=0).score(samples(1))


def test_retry_after_is_waited_for(stub: Stub) -> None:
    stub.faults = [status(503, Retry_After="0.4")]
    started = time.monotonic()
    remote(stub, backoff=0.0).score(samples(1))
    assert time.monotonic() - started >= 0.4


NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        (" 0 ", 0.0),
        (format_datetime(NOW + timedelta(seconds=9), usegmt=True), 9.0),
        (format_datetime(NOW - timedelta(seconds=9), usegmt=True), 0.0),
        ("Thu, 01 Jan 2026 12:00:05 -0000", 5.0),
        ("-3", 0.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, seconds: float | None) -> None:
    assert _wire.retry_after(header, NOW) == seconds


def test_waits_grow_are_jittered_and_capped() -> None:
    for attempt, most in ((1, 2.0), (2, 4.0), (3, 8.0), (10, 60.0), (10_000, 60.0)):
        waits = [_wire.wait_before(attempt, 2.0, None) for _ in range(300)]
        assert 0.0 <= min(waits) < 0.1 * most  # full jitter: 300 draws miss the lowest tenth with probability 2e-14
        assert 0.9 * most < max(waits) <= most
    assert 30.0 <= _wire.wait_before(1, 2.0, 30.0) <= 32.0
    assert _wire.wait_before(1, 2.0, 86_400.0) == _wire.MAX_WAIT


def test_an_outage_is_an_error_and_never_a_score(stub: Stub) -> None:
    stub.faults = [status(503)] * 3
    with pytest.raises(OutageError, match=r"in 3 tries .* status 503: full; is the server up\?"):
        remote(stub, retries=2).score(samples(4))


def test_a_server_that_is_not_there_is_an_outage() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    scorer = RemoteScorer(f"http://127.0.0.1:{port}", "length", retries=1, backoff=0.0)
    with pytest.raises(OutageError, match=r"in 2 tries .*ConnectError"):
        scorer.score(samples(1))
    with pytest.raises(OutageError):
        _ = scorer.version


def test_one_failed_request_stops_the_others(stub: Stub) -> None:
    stub.faults = [status(422, {"error": {"message": "no", "param": None}})] + [status(503)] * 40
    with pytest.raises(UsageError):
        remote(stub, batch_size=1, concurrency=1, retries=9).score(samples(5))
    time.sleep(0.1)
    assert len(stub.requests) <= 2  # at most one more was on its way


# --- answers that are wrong ---


def _items(request: Any) -> list[dict[str, Any]]:
    return scored(request)["items"]  # type: ignore[no-any-return]


def fewer(handler: Handler, request: Any) -> bool:
    return changed(items=_items(request)[:-1])(handler, request)


def swapped(handler: Handler, request: Any) -> bool:
    return changed(items=_items(request)[::-1])(handler, request)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (fewer, "3 samples were sent and 2 scores came back"),
        (swapped, "the score of sample id '0' was expected, and '2' came"),
        (changed(items=None), "'items' must be a list"),
        (changed(items=[1, 2, 3]), "'items' must be a list of objects"),
        (changed(item_value=float("nan")), "NaN is not JSON"),
        (changed(item_value=float("-inf")), "-Infinity is not JSON"),
        (status(200, b'{"scorer":"length","version":"v1","scale":"real","items":[{"value":1e999}]}'), "3 samples"),
        (changed(item_value=10**400), "too large"),
        (changed(item_value="1.0"), "must have a number or null as 'value', got '1.0'"),
        (changed(item_value=True), "must have a number or null as 'value', got True"),
        (changed(item_value=None), "status 'ok' does not fit value None"),
        (changed(item_value=None, item_status="abstained", item_reason=""), "needs a reason"),
        (changed(item_value=1.0, item_status="timeout"), "status 'timeout' does not fit"),
        (changed(item_status="great"), "status must be one of"),
        (changed(item_status=None), "status must be one of"),
        (changed(item_status=["ok"]), "status must be one of"),
        (changed(item_reason=3), "must have text as 'reason'"),
        (changed(scale="verdict", item_value=0.5), "0.5, which is outside the scale 'verdict'"),
        (changed(scale="probability", item_value=1.5), "1.5, which is outside the scale 'probability'"),
        (changed(scale="stars"), "scale 'stars'"),
        (changed(version=None), "version None"),
        (changed(scorer="width"), "scorer 'length' was asked, and 'width' answered"),
        (status(200, b"<html>log in</html>"), "no strict JSON"),
        (status(200, b"[" * 100_000), "no strict JSON"),
        (status(200, b"\xff\xfe\xfd"), "no strict JSON"),
        (status(200, []), "a JSON object was expected"),
        (status(204, b""), "status 204, 200 was expected"),
    ],
)
def test_a_malformed_answer_is_an_outage_that_says_what_is_wrong(
    stub: Stub, fault: Callable[[Handler, Any], bool], message: str
) -> None:
    stub.faults = [fault]
    with pytest.raises(OutageError, match="answered wrongly") as caught:
        remote(stub).score([Sample("p", "abc"), Sample("p", "de"), Sample("p", "f")])
    assert message in str(caught.value)
    assert len(stub.requests) == 1  # it would be as wrong the next time


def test_an_infinite_value_that_json_can_spell_is_caught(stub: Stub) -> None:
    def huge(handler: Handler, request: Any) -> bool:
        handler.answer(200, json.dumps(scored(request)).encode().replace(b'"value": 3.0', b'"value": 1e999'))
        return True

    stub.faults = [huge]
    with pytest.raises(OutageError, match="a score must be finite, got inf"):
        remote(stub).score([Sample("p", "abc")])


# --- refusals ---


def test_a_missing_token_is_said_so(stub: Stub) -> None:
    stub.faults = [status(401, {"error": {"type": "unauthorized", "message": "no token"}})] * 2
    with pytest.raises(UsageError, match=r"wants a bearer token; pass token=\.\.\. or set GUERDON_TOKEN"):
        remote(stub).score(samples(1))
    with pytest.raises(UsageError, match="the token given was not accepted"):
        remote(stub, token="secret").score(samples(1))
    assert len(stub.requests) == 2  # neither was tried again


def test_the_token_is_sent_and_never_shown(stub: Stub) -> None:
    scorer = remote(stub, token="secret")
    scorer.score(samples(1))
    assert stub.headers[0]["Authorization"] == "Bearer secret"
    assert "secret" not in repr(scorer)


def test_without_a_token_that_of_the_environment_is_sent(stub: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUERDON_TOKEN", "of-the-environment")
    scorer = remote(stub)
    scorer.score(samples(1))
    remote(stub, token="given").score(samples(1))
    assert [headers["Authorization"] for headers in stub.headers] == ["Bearer of-the-environment", "Bearer given"]
    assert b"of-the-environment" not in pickle.dumps(scorer)
    monkeypatch.setenv("GUERDON_TOKEN", "pass word")
    with pytest.raises(UsageError, match="token must be visible ASCII"):
        remote(stub).score(samples(1))


def test_an_unknown_scorer_is_answered_with_the_names_there_are(stub: Stub) -> None:
    stub.faults = [status(404)]
    with pytest.raises(UnknownNameError, match=r"no scorer at .* named 'lenght'. Did you mean 'length'\?"):
        remote(stub, "lenght").score(samples(1))
    with pytest.raises(UnknownNameError, match="Did you mean 'length'"):
        _ = remote(stub, "lenght").scale


def test_a_refused_request_carries_the_servers_words_and_is_not_repeated(stub: Stub) -> None:
    stub.faults = [status(422, {"error": {"type": "bad", "message": "prompt is empty", "param": "items[0].prompt"}})]
    with pytest.raises(UsageError, match=r"with 422: prompt is empty \(at items\[0\].prompt\)"):
        remote(stub).score(samples(1))
    stub.faults = [status(413)]
    with pytest.raises(UsageError, match="2 samples as too large: full; lower batch_size or batch_bytes"):
        remote(stub).score(samples(2))
    stub.faults = [status(307, Location="http://elsewhere/v1/score")]
    with pytest.raises(UsageError, match="redirects to http://elsewhere/v1/score; use that address"):
        remote(stub).score(samples(1))
    assert len(stub.requests) == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "m", "param": "p"}}', "m (at p)"),
        (b'{"error": "plain"}', "plain"),
        (b'{"detail": "Not Found"}', "Not Found"),
        (b"<h1>Bad Gateway</h1>", "<h1>Bad Gateway</h1>"),
        (b"\xff" * 9_000, "�" * 500),
        (b"", ""),
    ],
)
def test_the_words_of_an_error_are_found_in_any_usual_form(body: bytes, message: str) -> None:
    assert _wire.error_message(body) == message


# --- name, version, scale ---


def test_name_version_and_scale_come_from_the_server_when_first_needed(stub: Stub) -> None:
    scorer = remote(stub, None)
    assert stub.seen == []
    assert (scorer.name, scorer.version, scorer.scale) == ("length", "v1", "real")
    assert stub.seen == ["/v1/scorers"]


def test_a_server_with_several_scorers_wants_a_name(stub: Stub) -> None:
    stub.scorers.append({"name": "exact", "version": "1", "scale": "verdict", "kind": "verifier"})
    with pytest.raises(UsageError, match="serves 2 scorers, so name one: exact, length"):
        remote(stub, None).score(samples(1))
    assert remote(stub, "exact").scale == "verdict"
    stub.scorers.clear()
    with pytest.raises(UsageError, match=r"serves 0 scorers, so name one: \(none\)"):
        remote(stub, None).score(samples(1))


def test_a_new_version_is_followed_with_one_warning(stub: Stub, caplog: pytest.LogCaptureFixture) -> None:
    scorer = remote(stub)
    scorer.score(samples(1))
    stub.version = "v2"
    for _ in range(3):
        scorer.score(samples(1))
    stub.version = "v1"  # the last request of the old one may come late
    scorer.score(samples(1))
    assert scorer.version == "v1"
    warnings = [record.getMessage() for record in caplog.records if "changed from version" in record.getMessage()]
    assert len(warnings) == 1
    assert "from version v1 to v2" in warnings[0]


def test_scores_of_another_scale_are_refused(stub: Stub) -> None:
    scorer = remote(stub)
    scorer.score(samples(1))
    stub.scale = "logit"
    for _ in range(2):  # not only once
        with pytest.raises(ScaleError, match="changed its scale from 'real' to 'logit'"):
            scorer.score(samples(1))
    assert scorer.scale == "real"


@pytest.mark.parametrize(
    ("url", "name", "message"),
    [
        ("127.0.0.1:8008", None, "must look like http://127.0.0.1:8008"),
        ("ftp://host", None, "must look like"),
        ("", None, "must look like"),
        ("http://host:99999", None, "must look like"),
        ("http://host:port", None, "must look like"),
        ("http://[::1", None, "must look like"),
        ("http://user:pass@host", None, "neither a password nor a query"),
        ("http://host?scorer=a", None, "neither a password nor a query"),
        ("http://host#a", "b", "names the scorer 'a' and name is 'b'"),
        ("http://host", "", "name must be the name of a scorer or None, got ''"),
        ("http://host", 3, "name must be the name of a scorer or None, got 3"),
        (None, None, "must look like .*, got None"),
    ],
)
def test_an_address_that_cannot_be_right_is_refused_at_once(url: Any, name: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        RemoteScorer(url, name)
    assert "pass@" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": float("nan")},
        {"retries": -1},
        {"batch_size": 0},
        {"concurrency": 0},
        {"token": ""},
        {"token": "a b"},
    ],
)
def test_an_option_that_cannot_be_right_is_refused_at_once(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=next(iter(options))):
        RemoteScorer("http://host", **options)


def test_the_scorers_name_may_stand_in_the_address(stub: Stub) -> None:
    scorer = RemoteScorer(f"{stub.url}/#length")
    assert (scorer.url, scorer.name) == (stub.url, "length")
    assert stub.seen == []


# --- threads, loops, processes ---


def test_several_event_loops_and_threads_share_one_scorer(stub: Stub) -> None:
    scorer = remote(stub, batch_size=2)
    expected = LOCAL.score(samples(9))

    async def both() -> list[list[Score]]:
        return await asyncio.gather(*[scorer.ascore(samples(9)) for _ in range(4)])

    for _ in range(2):  # a new loop each time
        assert asyncio.run(both()) == [expected] * 4
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: asyncio.run(both()), range(4))) == [[expected] * 4] * 4
    assert scorer.score(samples(9)) == expected


def test_cancelling_the_caller_cancels_the_request(stub: Stub) -> None:
    entered, release = threading.Event(), threading.Event()

    def hold(handler: Handler, request: Any) -> bool:
        entered.set()
        release.wait(20)
        return False

    stub.faults = [hold]
    scorer = remote(stub, concurrency=1, timeout=30.0)

    async def give_up() -> None:
        task = asyncio.create_task(scorer.ascore(samples(1)))
        await asyncio.to_thread(entered.wait, 10)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    asyncio.run(give_up())
    assert scorer.score(samples(2)) == LOCAL.score(samples(2))  # its slot is free, though the server still holds it
    release.set()


def test_a_pickled_scorer_takes_its_options_along_and_nothing_open(stub: Stub) -> None:
    scorer = remote(stub, token="secret", batch_size=3)
    scorer.score(samples(4))
    twin = pickle.loads(pickle.dumps(scorer))
    assert (twin.url, twin.batch_size) == (stub.url, 3)
    twin.score(samples(1))
    assert stub.headers[-1]["Authorization"] == "Bearer secret"


def _score_in_child(scorer: RemoteScorer, sender: Any) -> None:
    sender.send([score.value for score in scorer.score(samples(5))])


def test_a_scorer_in_use_goes_on_working_in_a_forked_child(stub: Stub) -> None:
    """Trainers fork their data and reward workers after the first use; a copied connection would mix answers."""
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this platform cannot fork")
    context = multiprocessing.get_context("fork")
    scorer = remote(stub)
    expected = [score.value for score in scorer.score(samples(5))]
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_score_in_child, args=(scorer, sender), daemon=True)
    child.start()
    try:
        assert [score.value for score in scorer.score(samples(5))] == expected
        assert receiver.poll(30), "the child did not answer"
        assert receiver.recv() == expected
    finally:
        child.kill()


def test_closing_is_not_the_end(stub: Stub) -> None:
    scorer = remote(stub)
    for _ in range(2):
        assert scorer.score(samples(2)) == LOCAL.score(samples(2))
        scorer.close()
    scorer.close()


# --- against the real server ---


class Rank:
    """A scorer that must see whole groups: how many responses of its group are shorter."""

    name, version, scale = "rank", "1", "real"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [
            Score(
                float(sum(o.group == s.group and len(o.response_text) < len(s.response_text) for o in samples))
                if s.group is not None
                else 0.0
            )
            for s in samples
        ]


SERVED = {"length": LOCAL, "rank": Rank()}


class Flaky:
    """ASGI middleware that fails the first requests: it answers 503 with Retry-After, then breaks connections."""

    def __init__(self, app: Any, *, refused: int, broken: int) -> None:
        self.app, self.refused, self.broken = app, refused, broken

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            if self.refused:
                self.refused -= 1
                start = {"type": "http.response.start", "status": 503, "headers": [(b"retry-after", b"0")]}
                await send(start)
                await send({"type": "http.response.body", "body": b""})
                return
            if self.broken:
                self.broken -= 1
                start = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"900")]}
                await send(start)
                raise ConnectionAbortedError("the answer ends here")
        await self.app(scope, receive, send)


@pytest.fixture
def flaky_url() -> Iterator[str]:
    uvicorn = pytest.importorskip("uvicorn")
    from guerdon.serving.app import create_app
    from guerdon.serving.config import ServeConfig

    app = Flaky(create_app(ServeConfig(), SERVED), refused=2, broken=2)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="critical"))
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
        thread.start()
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def live_url() -> Iterator[str]:
    pytest.importorskip("uvicorn")
    from guerdon.serving.config import ServeConfig
    from guerdon.serving.server import serving

    with serving(ServeConfig(port=0, token="secret", max_items=50, max_body_bytes=100_000), SERVED) as url:
        yield url


def test_real_server_keeps_the_laws_of_scorers_behind_the_client(live_url: str) -> None:
    check_scorer(RemoteScorer(live_url, "length", token="secret"), tolerance=0.0)
    check_scorer(RemoteScorer(live_url, "rank", token="secret", batch_size=1), tolerance=0.0)


def test_real_server_gives_what_the_scorer_gives(live_url: str) -> None:
    many = samples(203, group_size=7)
    for name, scorer in SERVED.items():
        client = RemoteScorer(live_url, name, token="secret", batch_size=10, concurrency=3)
        assert client.score(many) == scorer.score(many)
        assert (client.version, client.scale) == (scorer.version, scorer.scale)


def test_real_server_that_fails_at_first_costs_no_score(flaky_url: str) -> None:
    client = RemoteScorer(flaky_url, "rank", backoff=0.01, batch_size=4, concurrency=2)
    many = samples(40, group_size=4)
    assert client.score(many) == Rank().score(many)


def test_real_server_refuses_in_words_that_help(live_url: str) -> None:
    with pytest.raises(UsageError, match="401: it wants a bearer token"):
        RemoteScorer(live_url, "length").score(samples(1))
    with pytest.raises(UnknownNameError, match="Did you mean 'length'"):
        RemoteScorer(live_url, "lenght", token="secret").score(samples(1))
    with pytest.raises(UsageError, match="serves 2 scorers, so name one: length, rank"):
        _ = RemoteScorer(live_url, token="secret").name
    with pytest.raises(UsageError, match=r"60 samples as too large: .*at most 50"):
        RemoteScorer(live_url, "length", token="secret").score(samples(60, group_size=60))
    with pytest.raises(UsageError, match=r"is not there .404.: is .* the address of a guerdon server"):
        RemoteScorer(f"{live_url}/v1", "length", token="secret").score(samples(1))


def test_real_server_on_a_sample_it_may_not_take_costs_no_other_score(live_url: str) -> None:
    hostile = [Sample("p", text) for text in ("a", "\x00\ufffe", "b\ud800", "{}" * 9_000, "x" * 200_000, "ab")]
    scores = RemoteScorer(live_url, "length", token="secret", batch_bytes=50_000).score(hostile)
    assert [score.value for score in scores] == [1.0, 2.0, None, 18_000.0, None, 2.0]
    assert [scores[index].status for index in (2, 4)] == ["refused", "refused"]
    assert "too large for the server" in scores[4].reason


def test_importing_the_client_loads_no_torch_and_no_web_framework() -> None:
    code = (
        "import sys, guerdon.serving.client\n"
        "heavy = {'torch', 'numpy', 'fastapi', 'starlette', 'uvicorn', 'pydantic', 'transformers'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
