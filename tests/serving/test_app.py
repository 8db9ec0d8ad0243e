"""The HTTP side: what comes back for good requests, for bad ones and for hostile ones, and who is let in.

Requests go to the app in process (no sockets); tests/serving/test_server.py has a real server.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError

from guerdon.rewards import Prepared, Sample, Scale, Score, Scorer, pointwise
from guerdon.rewards.errors import OutageError
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig
from guerdon.serving.dialects.registry import DIALECTS
from guerdon.serving.front import OPEN
from guerdon.serving.schemas import ErrorResponse, Item, ScoreRequest, ScoreResponse, ScorerList
from guerdon.serving.specs import load_scorer

SECONDS = 60.0  # never waited for in a passing run
TOKEN = "correct-horse"


def length(sample: Sample) -> float:
    return float(len(sample.response_text))


def fails(sample: Sample) -> float:
    raise ValueError("cannot read this")


class Model:
    """A reward model that scores the number of its tokens, one a character, and notes its batches."""

    name, version = "model", "m-1"
    scale: Scale = "logit"

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.entered, self.go = threading.Event(), threading.Event()

    def prepare(self, sample: Sample) -> Prepared | Score:
        return Prepared(sample, tuple(range(len(sample.response_text))))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        self.batches.append(len(batch))
        self.entered.set()
        assert self.go.wait(SECONDS)
        return [Score(float(prepared.cost), "tokens", {"tokens": prepared.cost}) for prepared in batch]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        prepared = [p for p in map(self.prepare, samples) if isinstance(p, Prepared)]
        return self.run(prepared)


def make(scorers: Mapping[str, Scorer] | None = None, **options: Any) -> FastAPI:
    return create_app(ServeConfig(**options), scorers or {"len": pointwise(length, scale="real", version="7")})


def client(app: FastAPI) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://test")


def ask(app: FastAPI, method: str, path: str, **request: Any) -> httpx.Response:
    async def main() -> httpx.Response:
        async with client(app) as http:
            return await http.request(method, path, **request)

    return asyncio.run(main())


def body(*responses: Any, scorer: str = "len", **fields: Any) -> dict[str, Any]:
    return {"scorer": scorer, "items": [{"prompt": "p", "response": r} for r in responses], **fields}


def error_of(answer: httpx.Response) -> Any:
    return ErrorResponse.model_validate_json(answer.content).error


# --- good requests ---


def test_scores_come_back_in_order_with_their_ids() -> None:
    items = [{"id": f"i{n}", "prompt": "p", "response": "x" * n} for n in (3, 1, 2)]
    answer = ask(make(), "POST", "/v1/score", json={"scorer": "len", "items": items})
    assert answer.status_code == 200
    assert answer.headers["X-Model-Version"] == "7"
    parsed = ScoreResponse.model_validate_json(answer.content)
    assert (parsed.scorer, parsed.version, parsed.scale) == ("len", "7", "real")
    assert [(item.id, item.value, item.status) for item in parsed.items] == [
        ("i3", 3.0, "ok"), ("i1", 1.0, "ok"), ("i2", 2.0, "ok"),
    ]  # fmt: skip


def test_no_items_give_no_scores() -> None:
    assert ask(make(), "POST", "/v1/score", json=body()).json()["items"] == []


def test_served_score_equals_the_direct_one() -> None:
    texts = ["", "a", "é🏴‍☠️", "x" * 5000, "<|im_end|>", "a\u0000b"]
    direct = pointwise(length, scale="real").score([Sample("p", text) for text in texts])
    answer = ask(make(), "POST", "/v1/score", json=body(*texts))
    assert [item["value"] for item in answer.json()["items"]] == [score.value for score in direct]


def test_unscored_is_null_with_status_and_reason_never_nan_or_zero() -> None:
    def half(sample: Sample) -> Score:
        if sample.response_text == "?":
            return Score.unscored("no answer found", {"looked": float("nan")})
        return Score(0.0, "wrong")

    answer = ask(
        make({"half": pointwise(half, scale="verdict")}), "POST", "/v1/score", json=body("?", "0", scorer="half")
    )
    unscored, wrong = json.loads(answer.content, parse_constant=pytest.fail)["items"]
    assert (unscored["value"], unscored["status"], unscored["reason"]) == (None, "abstained", "no answer found")
    assert (wrong["value"], wrong["status"]) == (0.0, "ok")


def test_a_scorer_that_raises_gives_null_and_no_stack_trace() -> None:
    answer = ask(make({"bad": pointwise(fails, scale="real")}), "POST", "/v1/score", json=body("a", scorer="bad"))
    assert answer.status_code == 200
    (item,) = answer.json()["items"]
    assert (item["value"], item["status"], item["reason"]) == (None, "error", "ValueError: cannot read this")
    assert "Traceback" not in answer.text


def test_a_deadline_gives_null_with_status_timeout() -> None:
    model = Model()
    answer = ask(make({"m": model}), "POST", "/v1/score", json=body("a", scorer="m", deadline_ms=20))
    model.go.set()
    assert [item["status"] for item in answer.json()["items"]] == ["timeout"]


def test_concurrent_requests_share_forwards_and_each_gets_its_own_scores() -> None:
    model = Model()
    app = make({"m": model})

    async def main() -> list[httpx.Response]:
        async with client(app) as http:
            first = asyncio.ensure_future(http.post("/v1/score", json=body("x" * 300, scorer="m")))
            assert await asyncio.to_thread(model.entered.wait, SECONDS)
            rest = [asyncio.ensure_future(http.post("/v1/score", json=body("x" * n, scorer="m"))) for n in range(200)]
            engine = app.state.engine
            while len(engine._jobs) < 1 + len(rest) or not all(job.queued for job in engine._jobs):
                await asyncio.sleep(0.001)
            model.go.set()
            return await asyncio.gather(first, *rest)

    answers = asyncio.run(main())
    assert [a.json()["items"][0]["value"] for a in answers] == [300.0, *map(float, range(200))]
    assert sum(model.batches) == 201
    assert max(model.batches) > 1
    assert len(model.batches) < 50


def test_health_answers_while_a_scorer_is_busy() -> None:
    """The scorer is let go only after the answers have come, so a blocked event loop would never pass."""
    model = Model()
    app = make({"m": model})

    async def main() -> list[int]:
        async with client(app) as http:
            scoring = asyncio.ensure_future(http.post("/v1/score", json=body("abc", scorer="m")))
            assert await asyncio.to_thread(model.entered.wait, SECONDS)
            seen = [
                (await http.get(path)).status_code for path in ("/health", "/ready", "/", "/metrics", "/v1/scorers")
            ]
            assert not scoring.done()
            model.go.set()
            return [*seen, (await scoring).status_code]

    assert asyncio.run(asyncio.wait_for(main(), SECONDS)) == [200] * 6


def test_groups_of_two_requests_are_never_joined() -> None:
    seen: list[str | None] = []

    def note(sample: Sample) -> float:
        seen.append(sample.group)
        return 0.0

    app = make({"note": pointwise(note, scale="real")})
    items = [{"prompt": "p", "response": "r", "group": "g"}] * 2
    for _ in range(2):
        ask(app, "POST", "/v1/score", json={"scorer": "note", "items": items})
    assert seen[0] == seen[1] != seen[2] == seen[3]
    assert all(group is not None and group.endswith("/g") for group in seen)


def test_listing_shows_every_scorer() -> None:
    app = make({"len": pointwise(length, scale="real", version="7"), "m": Model()})
    listing = ScorerList.model_validate_json(ask(app, "GET", "/v1/scorers").content)
    assert [info.model_dump(exclude={"provenance"}) for info in listing.scorers] == [
        {"name": "len", "version": "7", "scale": "real", "kind": "plain"},
        {"name": "m", "version": "m-1", "scale": "logit", "kind": "model"},
    ]


def test_a_version_that_no_header_can_hold_is_escaped() -> None:
    app = make({"len": pointwise(length, scale="real", version="v1\r\nSet-Cookie: ü")})
    answer = ask(app, "POST", "/v1/score", json=body("a"))
    assert answer.headers["X-Model-Version"] == "v1\\r\\nSet-Cookie: \\xfc"
    assert answer.json()["version"] == "v1\r\nSet-Cookie: ü"


def test_metrics_count_scores_by_status_and_requests_by_route() -> None:
    app = make({"bad": pointwise(fails, scale="real"), "len": pointwise(length, scale="real")})
    ask(app, "POST", "/v1/score", json=body("a", "b", scorer="bad"))
    ask(app, "POST", "/v1/score", json=body("a", scorer="len"))
    ask(app, "POST", "/v1/score", json=body("a", scorer="nothing"))
    ask(app, "GET", "/invented/path")
    text = ask(app, "GET", "/metrics").text
    assert 'guerdon_scores_total{scorer="bad",status="error"} 2.0' in text
    assert 'guerdon_scores_total{scorer="len",status="ok"} 1.0' in text
    assert 'guerdon_responses_total{code="200",route="/v1/score"} 2.0' in text
    assert 'guerdon_responses_total{code="404",route="/v1/score"} 1.0' in text
    assert 'guerdon_failures_total{scorer="bad"} 1.0' in text
    assert 'guerdon_queue_tokens{scorer="len"} 0.0' in text
    assert "invented" not in text
    assert "nothing" not in text


def test_two_apps_do_not_share_their_metrics() -> None:
    first, second = make(), make()
    ask(first, "POST", "/v1/score", json=body("a"))
    assert 'guerdon_scores_total{scorer="len",status="ok"} 0.0' in ask(second, "GET", "/metrics").text


# --- bad requests ---


def test_unknown_scorer_is_a_404_with_the_nearest_and_the_names_there_are() -> None:
    answer = ask(make(), "POST", "/v1/score", json=body("a", scorer="lem"))
    assert answer.status_code == 404
    assert error_of(answer).message == "no scorer named 'lem'. Did you mean 'len'? There are: len"


def test_huge_name_of_a_scorer_is_refused_and_not_repeated() -> None:
    answer = ask(make(), "POST", "/v1/score", json=body("a", scorer="x" * 1_000_000))
    assert answer.status_code == 404
    assert len(answer.content) < 1000


def test_bad_field_is_a_422_with_its_place() -> None:
    answer = ask(make(), "POST", "/v1/score", json=body("a", 5))
    assert answer.status_code == 422
    error = error_of(answer)
    assert error.param == "items[1].response"
    assert error.message == "items[1].response must be a string or a list of messages, got int: 5"


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{", b"null", b"[]", b"5", b'"x"', b"NaN", b"\xff\xfe\xfd", b"\x00",
        b"[" * 200_000, b'{"a":' * 50_000, b"9" * 200_000,
        b'{"scorer": "len", "items": [{"prompt": "p", "response": "r", "meta": {"x": NaN}}]}',
        b'{"scorer": "len", "items": [{"prompt": "\\ud800", "response": "r"}]}',
        b'{"scorer": "len", "items": [{"prompt": "p", "response": "r", "reference": 1e999}]}',
        b'{"scorer": "len", "items": [' + b"1," * 300_000 + b"1]}",
        b'{"scorer": "len", "items": [{' + b",".join(b'"k%d":1' % n for n in range(100_000)) + b"}]}",
        b'{"scorer": "len", "deadline_ms": 1e400, "items": []}',
    ],
)  # fmt: skip
def test_hostile_json_is_refused_and_never_a_5xx(raw: bytes) -> None:
    answer = ask(make(), "POST", "/v1/score", content=raw, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 413, 422)
    assert len(answer.content) < 20_000
    assert error_of(answer).message


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonx"])
def test_other_content_types_are_a_415_so_that_no_web_form_gets_in(kind: str) -> None:
    answer = ask(make(), "POST", "/v1/score", content=json.dumps(body("a")), headers={"Content-Type": kind})
    assert answer.status_code == 415
    assert "application/json" in error_of(answer).message


def test_content_type_with_a_charset_is_taken() -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert ask(make(), "POST", "/v1/score", content=json.dumps(body("a")), headers=headers).status_code == 200


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_over_the_limit_is_a_413_declared_or_not(declared: bool) -> None:
    async def chunks() -> Any:
        for _ in range(100):
            yield b" " * 100

    content: Any = b" " * 10_000 if declared else chunks()
    headers = {"Content-Type": "application/json"}
    answer = ask(make(max_body_bytes=5000), "POST", "/v1/score", content=content, headers=headers)
    assert answer.status_code == 413
    assert "5000 bytes" in error_of(answer).message


def test_too_many_items_are_a_413() -> None:
    answer = ask(make(max_items=2), "POST", "/v1/score", json=body("a", "b", "c"))
    assert answer.status_code == 413
    assert error_of(answer).type == "too_large"


def test_unknown_route_and_method_are_json_errors() -> None:
    assert error_of(ask(make(), "GET", "/v2/score")).type == "not_found"
    answer = ask(make(), "GET", "/v1/score")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert error_of(answer).type == "method_not_allowed"


def test_a_full_queue_is_a_503_with_retry_after() -> None:
    model = Model()
    app = make({"m": model}, max_queue_tokens=10)

    async def main() -> httpx.Response:
        async with client(app) as http:
            first = asyncio.ensure_future(http.post("/v1/score", json=body("x" * 100, scorer="m")))
            assert await asyncio.to_thread(model.entered.wait, SECONDS)
            refused = await http.post("/v1/score", json=body("y", scorer="m"))
            model.go.set()
            assert (await first).status_code == 200
            return refused

    answer = asyncio.run(main())
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert error_of(answer).type == "full"
    assert 'guerdon_refused_total{reason="full"} 1.0' in ask(app, "GET", "/metrics").text


def test_a_stopping_server_says_so() -> None:
    app = make()
    app.state.engine.drain()
    answer = ask(app, "POST", "/v1/score", json=body("a"))
    assert (answer.status_code, error_of(answer).type) == (503, "draining")
    assert "Retry-After" in answer.headers
    assert ask(app, "GET", "/ready").status_code == 503
    assert ask(app, "GET", "/health").status_code == 200


def test_a_mistake_of_our_own_is_a_500_without_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("secret path /etc/x")

    monkeypatch.setattr("guerdon.serving.dialects.native.read_request", broken)
    app = make()
    answer = ask(app, "POST", "/v1/score", json=body("a"))
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert error_of(answer).type == "internal_error"
    assert 'guerdon_responses_total{code="500",route="/v1/score"} 1.0' in ask(app, "GET", "/metrics").text


def test_an_outage_of_a_remote_scorer_is_null_and_counted() -> None:
    def out(sample: Sample) -> float:
        raise OutageError("http://elsewhere did not answer in 6 tries")

    app = make({"far": pointwise(out, scale="real")})
    (item,) = ask(app, "POST", "/v1/score", json=body("a", scorer="far")).json()["items"]
    assert (item["value"], item["status"]) == (None, "error")
    assert 'guerdon_outages_total{scorer="far"} 1.0' in ask(app, "GET", "/metrics").text


# --- who is let in ---


def every_path(app: FastAPI) -> list[str]:
    scoring = [path for dialect in DIALECTS for path in dialect.PATHS]
    return [*(str(getattr(route, "path", "/")) for route in app.routes), *scoring]


def test_without_the_token_every_path_but_the_open_ones_is_closed() -> None:
    """Those that exist and those that do not: what nobody thought of is closed too."""
    app = make(token=TOKEN)
    paths = [*every_path(app), "/openapi.json", "/nothing", "/v1/score/", "//health", "/health/", "/metrics/x"]
    assert {"/v1/score", "/v1/scorers", "/metrics", "/docs"} <= set(paths)
    for path in paths:
        for method in ("GET", "POST"):
            answer = ask(app, method, f"http://test{path}", content=b"{")
            is_open = path in OPEN and not (path == "/" and method == "POST")  # slime posts samples to the root
            expected = {200, 405} if is_open else {401}
            assert answer.status_code in expected, (method, path)
    assert error_of(answer).type == "unauthorized"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Bearer ", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"Basic {TOKEN}", TOKEN,
     f"Bearer {TOKEN.upper()}", "Bearer \xff\xfe", f"Bearer {TOKEN} {TOKEN}"],
)  # fmt: skip
def test_a_wrong_token_is_a_401(header: str) -> None:
    headers = {b"Authorization": header.encode("latin-1")}
    assert ask(make(token=TOKEN), "GET", "/v1/scorers", headers=headers).status_code == 401


def test_two_authorization_headers_are_a_401() -> None:
    headers = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", "Bearer other")]
    assert ask(make(token=TOKEN), "GET", "/v1/scorers", headers=headers).status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer"])
def test_the_token_opens_every_route(scheme: str) -> None:
    app, headers = make(token=TOKEN), {"Authorization": f"{scheme} {TOKEN}"}
    assert ask(app, "POST", "/v1/score", json=body("a"), headers=headers).status_code == 200
    for path in ("/v1/scorers", "/metrics", "/openapi.json", "/docs"):
        assert ask(app, "GET", path, headers=headers).status_code == 200


def test_open_paths_tell_nothing_about_the_scorers() -> None:
    app = make({"secret-model": pointwise(length, scale="real")}, token=TOKEN)
    for path in OPEN:
        assert "secret-model" not in ask(app, "GET", path).text


# --- what is written about it ---


def test_documented_request_gets_the_documented_answer() -> None:
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    request, expected = (json.loads(part.partition("```")[0]) for part in page.split("```json\n")[1:])
    answer = ask(make({"math": load_scorer("numeric")}), "POST", "/v1/score", json=request).json()
    assert answer.keys() == expected.keys()
    assert answer["timing_ms"].keys() == expected["timing_ms"].keys()
    assert (answer["scorer"], answer["scale"]) == (expected["scorer"], expected["scale"])
    for got, shown in zip(answer["items"], expected["items"], strict=True):
        assert got.keys() == shown.keys()
        assert [got[key] for key in ("id", "value", "status")] == [shown[key] for key in ("id", "value", "status")]


def test_openapi_describes_the_request_with_examples_that_validate() -> None:
    document = ask(make(), "GET", "/openapi.json").json()
    post = document["paths"]["/v1/score"]["post"]
    assert post["requestBody"]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ScoreRequest"}
    schemas = document["components"]["schemas"]
    assert set(schemas["Item"]["properties"]) == set(Item.model_fields)
    for example in schemas["ScoreRequest"]["examples"]:
        ScoreRequest.model_validate(example)
    with pytest.raises(ValidationError):
        ScoreRequest.model_validate({"scorer": "s", "items": [], "more": 1})
    assert {"200", "400", "401", "404", "413", "415", "422", "503"} <= set(post["responses"])


def test_openapi_has_no_dangling_reference() -> None:
    document = ask(make(), "GET", "/openapi.json")
    names = set(document.json()["components"]["schemas"])
    for part in document.text.split('"$ref":"')[1:]:
        assert part.partition('"')[0].rpartition("/")[2] in names


@pytest.mark.parametrize(
    ("package", "module"), [("fastapi", "app"), ("orjson", "app"), ("prometheus_client", "app"), ("uvicorn", "server")]
)
def test_a_missing_package_is_an_error_with_the_pip_line(package: str, module: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import guerdon.serving.{module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "MissingExtraError: the server needs packages that are not installed" in done.stderr
    assert "pip install 'guerdon[serve]'" in done.stderr
