"""New weights while the server works: nothing is lost, no request sees two versions, and a bad one never serves."""

from __future__ import annotations

import asyncio
import gc
import json
import shutil
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from guerdon.rewards import Sample, Scorer
from guerdon.serving import swap
from guerdon.serving.app import create_app
from guerdon.serving.config import ScorerSpec, ServeConfig, Tenant
from guerdon.serving.specs import load_scorer
from guerdon.serving.store import Store

ADMIN = "open-sesame"
HEADERS = {"Authorization": f"Bearer {ADMIN}"}
SECONDS = 120.0  # never waited for in a passing run


def load(folder: Path) -> Any:
    return load_scorer(str(folder), device="cpu")


def make(runs: Path, scorer: Scorer | None = None, **options: Any) -> FastAPI:
    config = ServeConfig(
        **{
            "scorers": {"rm": ScorerSpec(str(runs / "a"), {"device": "cpu"})},
            "admin_token": ADMIN,
            "swap_dirs": [str(runs)],
            **options,
        }
    )
    return create_app(config, {"rm": scorer or load(runs / "a"), "math": load_scorer("exact")})


def client(app: FastAPI) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://test", timeout=SECONDS)


def run(main: Callable[[], Awaitable[Any]]) -> Any:
    async def within() -> Any:
        return await asyncio.wait_for(main(), SECONDS)

    return asyncio.run(within())


def ask(app: FastAPI, method: str, path: str, **request: Any) -> httpx.Response:
    async def main() -> httpx.Response:
        async with client(app) as http:
            return await http.request(method, path, **{"headers": HEADERS, **request})

    answer: httpx.Response = run(main)
    return answer


def swap_to(app: FastAPI, source: Path | str, scorer: str = "rm") -> httpx.Response:
    return ask(app, "POST", "/v1/admin/swap", json={"scorer": scorer, "source": str(source)})


def body(*responses: str) -> dict[str, Any]:
    return {"scorer": "rm", "items": [{"prompt": "p", "response": r, "group": "g"} for r in responses]}


def version(app: FastAPI) -> str:
    found: str = app.state.engine.lanes["rm"].version
    return found


# --- it works, under load ---


def test_under_load_nothing_is_lost_and_no_request_mixes_versions(runs: Path, tmp_path: Path) -> None:
    """Eight callers ask without a pause while the weights change six times; every answer is that of its version."""
    models = {name: load(runs / name) for name in "ab"}
    texts = [f"{n} " + "word " * (n % 7) for n in range(24)]
    expected = {
        model.version: {text: model.score([Sample("p", text)])[0].value for text in texts} for model in models.values()
    }
    app = make(runs, cache_entries=0, store=str(tmp_path / "scores.db"))
    answers: list[tuple[list[str], httpx.Response]] = []

    async def main() -> list[httpx.Response]:
        stop = asyncio.Event()

        async def caller(number: int) -> None:
            turn = number
            async with client(app) as http:
                while not stop.is_set():
                    chosen = [texts[(turn + 5 * k) % len(texts)] for k in range(4)]
                    answers.append((chosen, await http.post("/v1/score", json=body(*chosen))))
                    turn += 1

        callers = [asyncio.ensure_future(caller(number)) for number in range(8)]
        swaps = []
        async with client(app) as http:
            for name in "bababa":
                source = {"scorer": "rm", "source": str(runs / name)}
                swaps.append(await http.post("/v1/admin/swap", json=source, headers=HEADERS))
                seen = len(answers)
                while len(answers) < seen + 16:
                    await asyncio.sleep(0.001)
        stop.set()
        await asyncio.gather(*callers)
        return swaps

    swaps = run(main)
    assert [answer.status_code for answer in swaps] == [200] * 6
    assert [answer.json()["version"] for answer in swaps] == [models[name].version for name in "bababa"]
    assert {answer.status_code for _, answer in answers} == {200}
    seen = set()
    for chosen, answer in answers:
        told = answer.json()
        seen.add(told["version"])
        values = [item["value"] for item in told["items"]]
        assert values == pytest.approx([expected[told["version"]][text] for text in chosen], abs=1e-5)
        assert answer.headers["X-Model-Version"] == told["version"]
    assert seen == set(expected)
    difference = max(abs(x - y) for x, y in zip(*(each.values() for each in expected.values()), strict=True))
    assert difference > 1e-3  # or the comparison above could not tell them apart
    app.state.store.close()
    with Store.open(tmp_path / "scores.db") as store:
        assert store.count() == 4 * len(answers)
        assert {v.version for v in store.versions()} == set(expected)
        assert {v.source for v in store.versions()} == {str(runs / "a"), str(runs / "b")}


def test_requests_admitted_before_are_answered_by_the_old_weights(runs: Path) -> None:
    app, new = make(runs), load(runs / "b")
    lane, old = app.state.engine.lanes["rm"], version(app)

    async def main() -> tuple[Any, Any, Any]:
        async with client(app) as http:
            before = asyncio.ensure_future(http.post("/v1/score", json=body("a", "b")))
            while not app.state.engine._jobs:
                await asyncio.sleep(0)
            lane.swap(new)
            after = await http.post("/v1/score", json=body("a", "b"))
            listed = await http.get("/v1/admin/versions", headers=HEADERS)
            return (await before).json(), after.json(), listed.json()

    before, after, listed = run(main)
    assert (before["version"], after["version"]) == (old, new.version)
    assert {item["status"] for item in (*before["items"], *after["items"])} == {"ok"}
    assert [each["version"] for each in listed["scorers"][0]["generations"]][-1] == new.version


def test_an_answer_says_what_has_changed(runs: Path) -> None:
    app = make(runs)
    old = version(app)
    told = swap_to(app, runs / "b").json()
    assert (told["scorer"], told["before"], told["version"]) == ("rm", old, version(app))
    assert (told["generation"], told["golden"]) == (1, 1)
    assert version(app) != old
    listed = ask(app, "GET", "/v1/admin/versions").json()["scorers"]
    assert [each["name"] for each in listed] == ["rm", "math"]
    (generation,) = listed[0]["generations"]
    assert (generation["source"], generation["current"], generation["requests"]) == (str(runs / "b"), True, 0)
    assert generation["provenance"]["weights"][:12] == version(app)[:12]


def test_swaps_of_one_scorer_go_one_after_the_other(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = make(runs)
    at_once, most = 0, 0
    real = swap._loaded

    def counting(*arguments: Any) -> Any:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        loaded = real(*arguments)
        at_once -= 1
        return loaded

    monkeypatch.setattr(swap, "_loaded", counting)

    async def main() -> list[httpx.Response]:
        async with client(app) as http:
            sources = [str(runs / name) for name in "baba"]
            return await asyncio.gather(
                *(http.post("/v1/admin/swap", json={"scorer": "rm", "source": s}, headers=HEADERS) for s in sources)
            )

    answers = run(main)
    assert [answer.status_code for answer in answers] == [200] * 4
    assert sorted(answer.json()["generation"] for answer in answers) == [1, 2, 3, 4]
    assert most == 1


def test_old_weights_are_let_go_once_their_requests_are_answered(runs: Path) -> None:
    old = load(runs / "a")
    gone = weakref.ref(old)
    app = make(runs, old)
    del old
    assert ask(app, "POST", "/v1/score", json=body("a")).status_code == 200
    assert swap_to(app, runs / "b").status_code == 200
    assert ask(app, "POST", "/v1/score", json=body("a")).status_code == 200
    gc.collect()
    assert gone() is None


def test_what_was_measured_of_the_successor_comes_with_it(runs: Path) -> None:
    from guerdon.calibration.debias import DebiasCurve

    shutil.copytree(runs / "b", runs / "measured", dirs_exist_ok=True)
    curve = DebiasCurve("length", "linear", x=(0.0, 100.0), y=(0.0, 10.0), centre=3.0)
    (runs / "measured" / "curve.json").write_text(json.dumps(curve.to_json()))
    app = make(runs)
    told = swap_to(app, f"{runs / 'measured'}@{runs / 'measured' / 'curve.json'}")
    assert told.status_code == 200, told.text
    assert "+debiased." in told.json()["version"]
    (item,) = ask(app, "POST", "/v1/score", json=body("a")).json()["items"]
    assert "debiased" in item["details"]


# --- what does not come in ---


def damaged(runs: Path, name: str) -> Path:
    folder = runs / name
    shutil.copytree(runs / "b", folder, dirs_exist_ok=True)
    return folder


def other_weights(folder: Path) -> None:
    """The weights of ``a`` under the card of ``b``: the golden scores are not reproduced."""
    shutil.copy(folder.parent / "a" / "model.safetensors", folder / "model.safetensors")


def pickled(folder: Path) -> None:
    import torch
    from safetensors.torch import load_file

    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def own_code(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModelForSequenceClassification": "evil.Model"}
    config["model_type"] = "evil"
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text(f"open({str(folder / 'ran')!r}, 'w')\n")


def cut_short(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:1000])


def empty(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (other_weights, "a golden sample scores"),
        (pickled, "safetensors"),
        (own_code, ""),
        (cut_short, ""),
        (empty, "config.json"),
    ],
)
def test_a_bad_model_is_refused_with_the_reason_and_the_old_one_serves_on(
    runs: Path, damage: Callable[[Path], None], why: str
) -> None:
    app = make(runs)
    old, folder = version(app), damaged(runs, damage.__name__)
    damage(folder)
    answer = swap_to(app, folder)
    assert answer.status_code == 409
    error = answer.json()["error"]
    assert error["type"] == "swap_failed"
    assert error["message"].startswith(f"scorer 'rm' still serves {old}: ")
    assert why in error["message"]
    assert "Traceback" not in answer.text
    assert not (folder / "ran").exists()
    assert version(app) == old
    assert ask(app, "POST", "/v1/score", json=body("a")).json()["version"] == old
    assert swap_to(app, runs / "b").status_code == 200  # and the next, good one is taken


def test_a_model_that_cannot_score_is_refused(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from guerdon.rewards.model import RewardModel

    app = make(runs)
    monkeypatch.setattr(RewardModel, "score", lambda self, samples: 1 / 0)
    answer = swap_to(app, runs / "b")
    assert (answer.status_code, answer.json()["error"]["type"]) == (409, "swap_failed")


def test_another_scale_is_refused(runs: Path) -> None:
    answer = swap_to(make(runs), runs / "b", scorer="math")
    assert answer.status_code == 409
    assert "has the scale 'verdict' and its successor 'logit'" in answer.json()["error"]["message"]


def test_only_what_lies_below_the_folders_is_loaded(runs: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    shutil.copytree(runs / "b", outside)
    (runs / "link").symlink_to(outside)
    app = make(runs)
    sources = [
        outside,
        f"{runs}/../{outside.name}",
        runs / "link",
        f"{runs}-other/b",
        f"{runs / 'b'}@{outside / 'curve.json'}",
        "/etc/passwd",
        "a\0b",
        "owner/name",
        "numeric",
        "http://127.0.0.1:8008#x",
        f"{outside / 'evil.py'}:score",
    ]
    old = version(app)
    for source in sources:
        answer = swap_to(app, source)
        assert (answer.status_code, answer.json()["error"]["type"]) == (403, "forbidden"), source
    assert version(app) == old
    for source in (runs / "absent", f"{runs / 'evil.py'}:score", runs / "b" / "model.safetensors"):
        assert swap_to(app, source).status_code == 409


# --- who may ---


def test_without_an_admin_token_there_are_no_such_routes(runs: Path) -> None:
    app = make(runs, admin_token=None, swap_dirs=())
    for method, path in (("POST", "/v1/admin/swap"), ("GET", "/v1/admin/versions")):
        assert ask(app, method, path).status_code == 404
    assert "/v1/admin" not in ask(app, "GET", "/openapi.json").text


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer wrong", "Bearer everyone", "Bearer team", f"Basic {ADMIN}"])
def test_no_other_token_opens_them(runs: Path, header: str) -> None:
    app = make(runs, token="everyone", tenants={"team": Tenant("team")})
    headers = {"Authorization": header}
    for method, path in (("POST", "/v1/admin/swap"), ("GET", "/v1/admin/versions"), ("GET", "/v1/admin/nothing")):
        answer = ask(app, method, path, headers=headers, json={"scorer": "rm", "source": str(runs / "b")})
        assert (answer.status_code, answer.json()["error"]["type"]) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_the_admin_token_opens_nothing_else(runs: Path) -> None:
    app = make(runs, token="everyone")
    assert ask(app, "GET", "/v1/admin/versions").status_code == 200
    for method, path in (("GET", "/v1/scorers"), ("POST", "/v1/score"), ("GET", "/metrics"), ("GET", "/v1/adminx")):
        assert ask(app, method, path, json=body("a")).status_code == 401


@pytest.mark.parametrize(
    ("request_", "status", "param"),
    [
        ({"json": {"scorer": "rm"}}, 422, "source"),
        ({"json": {"scorer": 1, "source": "x"}}, 422, "scorer"),
        ({"json": {"scorer": "rm", "source": "x", "force": True}}, 422, "force"),
        ({"json": []}, 422, None),
        ({"content": b"{", "headers": {**HEADERS, "Content-Type": "application/json"}}, 400, None),
        ({"content": b"{}", "headers": {**HEADERS, "Content-Type": "text/plain"}}, 415, None),
        ({"json": {"scorer": "rm", "source": "x" * 100_000}}, 413, None),
        ({"json": {"scorer": "rn", "source": "x"}}, 404, None),
    ],
)
def test_a_wrong_request_is_told(runs: Path, request_: Any, status: int, param: str | None) -> None:
    answer = ask(make(runs), "POST", "/v1/admin/swap", **request_)
    assert (answer.status_code, answer.json()["error"]["param"]) == (status, param)


def test_a_stopping_server_loads_nothing(runs: Path) -> None:
    app = make(runs)
    app.state.engine.drain()
    answer = swap_to(app, runs / "b")
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "draining")
