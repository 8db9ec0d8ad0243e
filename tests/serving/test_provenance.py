"""Every score can say how it was made, by hashes that anyone can compute again."""

from __future__ import annotations

import asyncio
import hashlib
import struct
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from guerdon.calibration.rates import Channel, NoiseRates
from guerdon.calibration.wrap import Corrected
from guerdon.rewards import Prepared, Sample, Scale, Score, pointwise
from guerdon.serving.app import create_app
from guerdon.serving.config import ScorerSpec, ServeConfig
from guerdon.serving.schemas import ScoreResponse, ScorerList
from guerdon.serving.specs import load_scorer

SECONDS = 60.0  # never waited for in a passing run


class Model:
    """A reward model whose tokens are characters, of which it reads four. Its first batch waits until it may go."""

    name, version = "model", "m-1"
    scale: Scale = "logit"

    def __init__(self) -> None:
        self.entered, self.go = threading.Event(), threading.Event()

    def prepare(self, sample: Sample) -> Prepared | Score:
        if "refuse" in sample.response_text:
            return Score.unscored("too long", status="refused")
        ids = tuple(map(ord, sample.response_text))
        return Prepared(sample, ids[:4], (("cut", max(0, len(ids) - 4)),))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        self.entered.set()
        assert self.go.wait(SECONDS)
        return [Score(float(sum(each.ids)), "sum", dict(each.details)) for each in batch]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self.run([each for each in map(self.prepare, samples) if isinstance(each, Prepared)])


def app_of(scorer: Any, **options: Any) -> FastAPI:
    if isinstance(scorer, Model):
        scorer.go.set()
    return create_app(ServeConfig(**options), {"s": scorer})


def client(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test", timeout=SECONDS)


def ask(app: FastAPI, *responses: str, provenance: Any = True, method: str = "POST", path: str = "/v1/score") -> Any:
    async def main() -> httpx.Response:
        async with client(app) as http:
            items = [{"prompt": "p", "response": response} for response in responses]
            body = {"scorer": "s", "items": items, "provenance": provenance} if method == "POST" else None
            return await http.request(method, path, json=body)

    return asyncio.run(main()).json()


def hash_of(text: str) -> str:
    """By hand: BLAKE2b, 16 bytes, over 64-bit little-endian integers."""
    return hashlib.blake2b(struct.pack(f"<{len(text)}q", *map(ord, text)), digest_size=16).hexdigest()


def test_an_item_tells_the_hash_and_number_of_its_ids_what_was_cut_and_its_batch() -> None:
    answer = ask(app_of(Model()), "ab", "abcdef")
    first, second = (item["provenance"] for item in answer["items"])
    assert (first["input"], first["tokens"], first["cut"]) == (hash_of("ab"), 2, 0)
    assert (second["input"], second["tokens"], second["cut"]) == (hash_of("abcd"), 4, 2)
    assert first["batch"] == second["batch"]
    assert (first["batch_size"], first["how"]) == (2, "computed")
    assert [item["truncated"] for item in answer["items"]] == [False, True]
    assert ScoreResponse.model_validate(answer).provenance == answer["provenance"]


def test_nothing_is_told_unless_asked() -> None:
    answer = ask(app_of(Model()), "ab", "abcdef", provenance=False)
    assert "provenance" not in answer
    assert all("provenance" not in item for item in answer["items"])
    assert [item["truncated"] for item in answer["items"]] == [False, True]


def test_what_asks_otherwise_than_by_true_or_false_is_refused() -> None:
    assert ask(app_of(Model()), "a", provenance="yes")["error"]["param"] == "provenance"


def test_samples_that_were_cut_are_counted() -> None:
    app = app_of(Model())
    ask(app, "ab", "abcdef", "ghijkl")
    assert 'guerdon_truncated_total{scorer="s"} 2.0' in app.state.engine._metrics.text().decode()


def test_a_sample_that_reached_no_batch_has_no_origin() -> None:
    answer = ask(app_of(Model()), "refuse", "ab")
    assert [item["provenance"] is None for item in answer["items"]] == [True, False]


def test_repeated_work_says_so_and_names_the_batch_that_did_it() -> None:
    model = Model()
    app = create_app(ServeConfig(), {"s": model})
    body = {"scorer": "s", "items": [{"prompt": "p", "response": "ab"}], "provenance": True}

    async def main() -> list[Any]:
        async with client(app) as http:
            first = asyncio.ensure_future(http.post("/v1/score", json=body))
            assert await asyncio.to_thread(model.entered.wait, SECONDS)
            second = asyncio.ensure_future(http.post("/v1/score", json=body))
            while not any(job.queued for job in app.state.engine._jobs if not job.started):
                await asyncio.sleep(0.001)
            model.go.set()
            answers = [await first, await second, await http.post("/v1/score", json=body)]
            return [answer.json()["items"][0]["provenance"] for answer in answers]

    told = asyncio.run(main())
    assert [each["how"] for each in told] == ["computed", "joined", "remembered"]
    assert len({(each["batch"], each["input"]) for each in told}) == 1


def test_batches_have_names_of_their_own() -> None:
    app = app_of(Model(), cache_entries=0)
    names = [ask(app, "ab")["items"][0]["provenance"]["batch"] for _ in range(5)]
    assert len(set(names)) == 5


def test_a_scorer_without_ids_is_told_by_what_it_may_read_and_a_group_by_nothing() -> None:
    app = app_of(pointwise(lambda sample: 1.0, scale="verdict", name="one"))

    async def main(group: str | None) -> Any:
        async with client(app) as http:
            items = [{"prompt": "p", "response": r, "group": group} for r in ("a", "b", "a")]
            answer = await http.post("/v1/score", json={"scorer": "s", "items": items, "provenance": True})
            return [item["provenance"]["input"] for item in answer.json()["items"]]

    first, second, again = asyncio.run(main(None))
    assert first == again != second
    assert asyncio.run(main("g")) == [None, None, None]


# --- what is told once a version ---


def test_a_reward_model_tells_its_weights_renderer_dtype_and_device(runs: Path) -> None:
    model = load_scorer(str(runs / "a"), device="cpu", overlong="truncate_prompt")
    config = ServeConfig(scorers={"s": ScorerSpec(str(runs / "a"), {"overlong": "truncate_prompt"})}, scores="exact")
    app = create_app(config, {"s": model})
    told = ask(app, "42")["provenance"]
    digest = hashlib.sha256(b"model.safetensors" + (runs / "a" / "model.safetensors").read_bytes())
    assert told["weights"] == digest.hexdigest()
    assert told["weights_hash"] == "sha256"
    assert told["version"].startswith(told["weights"][:12])
    assert (told["dtype"], told["device"], told["scores"], told["golden"]) == ("float32", "cpu", "exact", 1)
    assert (told["overlong"], told["options"]) == ("truncate_prompt", {"overlong": "truncate_prompt"})
    assert told["renderer"] == model.renderer.fingerprint  # type: ignore[attr-defined]
    assert {"torch", "transformers", "guerdon"} <= told.keys()
    listed = ScorerList.model_validate(ask(app, method="GET", path="/v1/scorers"))
    assert listed.scorers[0].provenance == told
    ids = model.renderer.render("p", "42").ids  # type: ignore[attr-defined]
    expected = hashlib.blake2b(struct.pack(f"<{len(ids)}q", *ids), digest_size=16).hexdigest()
    assert ask(app, "42")["items"][0]["provenance"]["input"] == expected


def test_weights_without_a_card_say_that_only_their_ends_were_read(runs: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(runs / "a", tmp_path / "a")
    (tmp_path / "a" / "guerdon.json").unlink()
    told = load_scorer(str(tmp_path / "a"), device="cpu").provenance()  # type: ignore[attr-defined]
    assert (told["weights_hash"], told["golden"]) == ("sha256 of config, sizes and ends", 0)


def test_what_was_done_to_the_scores_is_told_with_its_hash() -> None:
    def verdict(sample: Sample) -> float:
        return float("42" in sample.response_text)

    scorer = pointwise(verdict, scale="verdict", name="math", version="1")
    rates = [NoiseRates("math", "1", "", {"": Channel(0.1, miss)}) for miss in (0.2, 0.3)]
    first, second = (ask(app_of(Corrected(scorer, each)), "42")["provenance"] for each in rates)
    assert [each["kind"] for each in first["calibrators"]] == ["corrected"]
    assert first["calibrators"][0]["hash"] in first["version"]
    assert first["calibrators"] != second["calibrators"]


@pytest.mark.parametrize("spec", ["http://elsewhere:8008#x", "my_rewards:judge", "judge.py:judge"])
def test_options_of_code_and_of_other_servers_are_not_told(spec: str) -> None:
    config = ServeConfig(scorers={"s": ScorerSpec(spec, {"key": "s3cret"})})
    app = create_app(config, {"s": pointwise(lambda sample: 1.0, scale="real", name="one")})
    assert "s3cret" not in str(ask(app, "a"))
    assert "s3cret" not in str(ask(app, method="GET", path="/v1/scorers"))
