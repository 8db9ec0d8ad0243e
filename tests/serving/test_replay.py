"""Stored scores come back: bit for bit where that was promised, closely elsewhere; and what does not is found."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from guerdon.rewards import Prepared, Sample, Scale, Score, pointwise
from guerdon.rewards.errors import UsageError
from guerdon.serving.app import create_app
from guerdon.serving.cli import app as command
from guerdon.serving.config import ScorerSpec, ServeConfig
from guerdon.serving.replay import replay
from guerdon.serving.specs import load_scorer
from guerdon.serving.store import Store

runner = CliRunner()
WORDS = ["six", "times", "seven", "is", "forty-two", "hello", "world", "what"]


class Fast:
    """A model whose scores depend a little on their batch, as floating point does. Tokens are characters."""

    name, scale = "fast", "logit"

    def __init__(self, version: str = "1", noise: float = 1e-7, offset: int = 0) -> None:
        self.version, self.noise, self.offset = version, noise, offset

    def prepare(self, sample: Sample) -> Prepared | Score:
        return Prepared(sample, tuple(ord(c) + self.offset for c in sample.prompt_text + sample.response_text))

    def prepare_text(self, sample: Sample, text: str, *, special_tokens: bool, keep: Any) -> Prepared | Score:
        return Prepared(sample, tuple(map(ord, f"^{text}" if special_tokens else text)))

    def prepare_ids(self, sample: Sample, ids: Sequence[int], *, keep: Any) -> Prepared | Score:
        return Prepared(sample, tuple(ids))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        return [Score(len(each.ids) + self.noise * len(batch), "length") for each in batch]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self.run([each for each in map(self.prepare, samples) if isinstance(each, Prepared)])


def grouped_rank(samples: Sequence[Sample]) -> list[Score]:
    longest = max(len(sample.response_text) for sample in samples)
    return [Score(float(len(sample.response_text) == longest), "longest") for sample in samples]


class Longest:
    """A verdict that exists only inside a group."""

    name, version = "longest", "1"
    scale: Scale = "verdict"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        groups: dict[Any, list[int]] = {}
        for index, sample in enumerate(samples):
            groups.setdefault(sample.group, []).append(index)
        found: dict[int, Score] = {}
        for members in groups.values():
            found.update(zip(members, grouped_rank([samples[i] for i in members]), strict=True))
        return [found[index] for index in range(len(samples))]


def length(sample: Sample) -> Score:
    if "?" in sample.response_text:
        return Score.unscored("could not tell")
    return Score(float(len(sample.response_text)), "length")


LENGTH = pointwise(length, scale="real", name="len", version="7")


def serve(where: Path, served: dict[str, Any], *requests: tuple[str, Any], **options: Any) -> None:
    """Answer the requests (path, body), half of them at a time, and store what was answered."""
    app = create_app(ServeConfig(store=str(where), **{"store_text": True, **options}), served)

    async def main() -> None:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
            half = len(requests) // 2
            for part in (requests[:half], requests[half:]):
                answers = await asyncio.gather(*(http.post(path, json=body, timeout=60) for path, body in part))
                assert {answer.status_code for answer in answers} <= {200}

    asyncio.run(main())
    app.state.store.close()


def asked(scorer: str, *responses: str, **fields: Any) -> tuple[str, Any]:
    return "/v1/score", {"scorer": scorer, "items": [{"prompt": "p", "response": r, **fields} for r in responses]}


def texts(number: int) -> list[str]:
    return [" ".join(WORDS[(n * k) % len(WORDS)] for k in range(1 + n % 40)) for n in range(number)]


def again(where: Path, scorers: dict[str, Any], **options: Any) -> list[Any]:
    with Store.open(where) as store:
        return replay(store, scorers, **options)


def run(*arguments: str) -> Any:
    return runner.invoke(command, ["replay", *arguments])


@pytest.mark.parametrize("mode", ["exact", "fast"])
def test_scores_of_a_reward_model_come_back(runs: Path, tmp_path: Path, mode: str) -> None:
    where = tmp_path / "scores.db"
    model = load_scorer(str(runs / "a"), device="cpu")
    config = {"scorers": {"rm": ScorerSpec(str(runs / "a"), {"device": "cpu"})}, "scores": mode}
    serve(where, {"rm": model}, *(asked("rm", text, f"{text} and more") for text in texts(30)), **config)
    result = run(str(where), "--json")  # the store names the folder itself
    assert result.exit_code == 0, result.output
    (replayed,) = json.loads(result.stdout)["replayed"]
    assert (replayed["scorer"], replayed["version"], replayed["exact"]) == ("rm", model.version, mode == "exact")
    assert (replayed["scores"], replayed["mismatches"], replayed["changed"]) == (60, 0, {})
    assert replayed["equal"] + replayed["close"] == 60
    assert replayed["largest_difference"] <= 1e-5
    if mode == "exact":
        assert replayed["equal"] == 60


def test_a_score_that_was_another_is_found_and_named(tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    (tmp_path / "own.py").write_text("def length(sample):\n    return float(len(sample.response_text))\n")
    spec = f"{tmp_path / 'own.py'}:length"
    serve(where, {"len": load_scorer(spec)}, *(asked("len", text) for text in texts(9)))
    assert run(str(where), "--scorer", f"len={spec}").exit_code == 0
    store = sqlite3.connect(where)
    store.execute("UPDATE scores SET value = value + 1e-9 WHERE id = 4")
    store.commit()
    (request,) = store.execute("SELECT request FROM scores WHERE id = 4").fetchone()
    result = run(str(where), "--scorer", f"len={spec}")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].split()[:4] == ["9", "8", "0", "1"]
    assert f"item 0 of request {request}" in result.stderr
    assert "another value" in result.stderr


def test_fast_scores_may_differ_within_the_tolerance_and_exact_ones_not_at_all(tmp_path: Path) -> None:
    for mode in ("fast", "exact"):
        where = tmp_path / f"{mode}.db"
        serve(where, {"m": Fast()}, *(asked("m", *texts(5)) for _ in range(4)), scores=mode, cache_entries=0)
        (result,) = again(where, {"m": Fast(noise=3e-7)})
        assert result.scores == 20
        assert (result.close, result.mismatches) == ((20, 0) if mode == "fast" else (0, 20))
        (strict,) = again(where, {"m": Fast(noise=3e-7)}, tolerance=1e-12)
        assert strict.mismatches == 20
        assert strict.largest == max(each.size for each in strict.worst)
        assert len(strict.worst) == 10


def test_other_token_ids_are_a_mismatch_even_where_the_score_is_the_same(tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    serve(where, {"m": Fast(noise=0.0)}, *(asked("m", text) for text in texts(4)))
    (result,) = again(where, {"m": Fast(noise=0.0, offset=1)})
    assert (result.mismatches, result.largest) == (4, 0.0)
    assert {each.why for each in result.worst} == {"the sample becomes other token ids"}


def test_ready_made_texts_and_ids_are_replayed_as_they_came(tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    requests = [
        ("/get_reward", {"query": ["<p>one", "<p>three"], "prompts": ["<p>", "<p>"], "labels": ["1", None]}),
        ("/compat/vllm/classify", {"model": "m", "input": [[1, 2, 3], [4]], "use_activation": False}),
        ("/compat/vllm/classify", {"model": "m", "input": "a text", "use_activation": False}),
    ]
    serve(where, {"m": Fast(noise=0.0)}, *requests)
    (result,) = again(where, {"m": Fast(noise=0.0)})
    assert (result.scores, result.equal) == (5, 5)


def test_a_group_is_replayed_as_a_whole(tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    serve(where, {"s": Longest()}, *(asked("s", "a", "abc", "ab", group=f"g{n}") for n in range(5)))
    (result,) = again(where, {"s": Longest()})
    assert (result.scores, result.equal) == (15, 15)


def test_what_was_unscored_must_be_unscored_again_but_failures_are_left_out(tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    serve(where, {"len": LENGTH}, asked("len", "a?", "b"), asked("len", "c"))
    store = sqlite3.connect(where)
    store.execute("UPDATE scores SET status = 'timeout', value = NULL WHERE id = 3")
    store.commit()
    (result,) = again(where, {"len": LENGTH})
    assert (result.scores, result.equal, dict(result.skipped)) == (2, 2, {"status was timeout": 1})
    always = pointwise(lambda sample: 1.0, scale="real", name="len", version="7")
    (other,) = again(where, {"len": always})
    assert (other.equal, other.mismatches) == (1, 1)
    assert other.worst[0].why == "abstained then, ok now: len returned 1.0"


def test_another_version_is_refused_unless_told(tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    serve(where, {"m": Fast("1")}, asked("m", "a"), asked("m", "b"))
    with pytest.raises(UsageError, match=r"are of version 1, and this is 2; .*--any-version"):
        again(where, {"m": Fast("2")})
    (result,) = again(where, {"m": Fast("2", noise=1.0)}, any_version=True)
    assert result.mismatches == 2
    assert result.changed["version"] == ("1", "2")
    serve(where, {"m": Fast("2")}, asked("m", "c"))
    (own,) = again(where, {"m": Fast("2")})
    assert (own.version.version, own.scores) == ("2", 1)
    assert [each.scores for each in again(where, {"m": Fast("2")}, any_version=True)] == [2, 1]


def test_every_version_is_replayed_by_what_the_store_says_of_it(runs: Path, tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    versions = []
    for name in "ab":
        model, spec = load_scorer(str(runs / name), device="cpu"), ScorerSpec(str(runs / name), {"device": "cpu"})
        versions.append(model.version)
        serve(where, {"rm": model}, asked("rm", "one"), asked("rm", "two"), scorers={"rm": spec})
    result = run(str(where), "--json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert [(each["version"], each["now"], each["scores"]) for each in told["replayed"]] == [
        (v, v, 2) for v in versions
    ]
    assert told["left_out"] == {}
    one = run(str(where), "--scorer", f"rm={runs / 'b'}")
    assert one.exit_code == 0
    assert f"rm: 2 scores of version {versions[0]} left out; --any-version compares them, too" in one.stderr


def test_the_limit_counts_scores_and_cuts_no_request(tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    serve(where, {"len": LENGTH}, *(asked("len", "a", "b") for _ in range(200)), cache_entries=0)
    assert [again(where, {"len": LENGTH}, limit=limit)[0].scores for limit in (1, 2, 3, 399)] == [2, 2, 4, 400]


def test_a_store_without_texts_says_what_to_do(tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    serve(where, {"len": LENGTH}, asked("len", "a"), asked("len", "b"), store_text=False)
    with pytest.raises(UsageError, match=r"no texts kept \(serve with --store-text\): 2"):
        again(where, {"len": LENGTH})


def test_a_scorer_of_which_there_is_nothing_is_told(tmp_path: Path) -> None:
    where = tmp_path / "scores.db"
    serve(where, {"len": LENGTH}, asked("len", "a"), asked("len", "b"))
    with pytest.raises(UsageError, match="holds no scores of 'other'; it has those of len"):
        again(where, {"other": LENGTH})


def test_code_that_a_store_names_is_not_run(tmp_path: Path) -> None:
    """A store is data and may come from anywhere; what it names is loaded only where that runs nobody's code."""
    where, evil = tmp_path / "scores.db", tmp_path / "evil.py"
    evil.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndef score(sample): return 1.0\n")
    serve(where, {"s": LENGTH}, asked("s", "a"), asked("s", "b"), scorers={"s": ScorerSpec(f"{evil}:score")})
    for spec in (f"{evil}:score", "http://127.0.0.1:9#x", "owner/name", None):
        store = sqlite3.connect(where)
        store.execute("UPDATE versions SET source = ?", (spec,))
        store.commit()
        store.close()
        result = run(str(where))
        assert result.exit_code == 2
        assert "name it yourself: --scorer s=SPEC" in result.output
    assert not (tmp_path / "ran").exists()


def test_the_servers_own_file_names_the_scorers_with_their_options(tmp_path: Path) -> None:
    where, file = tmp_path / "scores.db", tmp_path / "serve.toml"
    file.write_text('[scorers]\nother = "exact"\n[scorers.close]\nspec = "numeric"\ntolerance = "0.5"\n')
    close = load_scorer("numeric", tolerance="0.5")
    serve(where, {"close": close}, asked("close", "41.8", "7", reference="42"), asked("close", "x", reference="42"))
    result = run(str(where), "--config", str(file))
    assert result.exit_code == 0, result.output
    assert run(str(where), "--scorer", "close=numeric").exit_code == 2  # without its option it is another version


def test_a_verifier_with_options_is_found_by_what_the_store_says(tmp_path: Path) -> None:
    where, spec = tmp_path / "scores.db", ScorerSpec("numeric", {"tolerance": "0.5"})
    close = load_scorer(spec.spec, **spec.options)
    body = asked("close", "41.8", "7", reference="42")
    serve(where, {"close": close}, body, body, scorers={"close": spec}, cache_entries=0)
    result = run(str(where), "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["replayed"][0]["equal"] == 4


def test_an_empty_store_says_so(tmp_path: Path) -> None:
    create_app(ServeConfig(store=str(tmp_path / "scores.db")), {"len": LENGTH}).state.store.close()
    result = run(str(tmp_path / "scores.db"))
    assert result.exit_code == 2
    assert "holds no scores" in result.output
