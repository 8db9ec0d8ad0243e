"""EngineScorer against stubs of the engines whose faults are scripted, and against our own server through its dialects.

A stub scores token ids by their sum, a pair by 1000 times the length of its prompt and once that of its response, and
messages the same way, so every number is known by hand.
"""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from guerdon.rewards import Sample, check_scorer
from guerdon.rewards.errors import OutageError, UnknownNameError, UsageError
from guerdon.rewards.render import Renderer
from guerdon.serving.config import ServeConfig
from guerdon.serving.external.rendering import ExactText
from guerdon.serving.external.scorer import FORMS, EngineScorer
from guerdon.serving.server import serving
from guerdon.serving.specs import load_scorer

QUESTION = "Is the response right?"


def pair(prompt: str, response: str) -> float:
    return 1000.0 * len(prompt) + len(response)


# --- the engines' answers, from their documentation ---


def vllm(body: Any) -> Any:
    assert body["use_activation"] is False
    if "messages" in body:
        assert body["add_generation_prompt"] is False
        values = [pair(*(message["content"] for message in body["messages"]))]
    else:
        values = [float(sum(ids)) for ids in body["input"]]
    data = [{"index": i, "label": "LABEL_0", "probs": [v], "num_classes": 1} for i, v in enumerate(values)]
    return {"id": "classify-1", "object": "list", "model": "m", "data": data[::-1]}


def sglang(body: Any) -> Any:
    return [
        {"embedding": [float(sum(ids))], "meta_info": {"prompt_tokens": len(ids), "weight_version": "w1"}}
        for ids in body["input_ids"]
    ]


def tei(body: Any) -> Any:
    assert (body["raw_scores"], body["truncate"]) == (True, False)
    texts = [("", each[0]) if len(each) == 1 else each for each in body["inputs"]]
    return [[{"score": pair(*each), "label": "LABEL_0"}] for each in texts]


def infinity(body: Any) -> Any:
    assert body["raw_scores"] is True
    scores = [pair(body["query"], document) for document in body["documents"]]
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    return {
        "object": "rerank",
        "results": [{"relevance_score": scores[i], "index": i, "document": None} for i in order],
    }


def transformers(body: Any) -> Any:
    asked = body["questions"]["score"]
    assert (asked["type"], asked["instructions"] in (QUESTION, "Is it wrong?")) == ("noul", True)
    right = body["state"]["response"] == body["state"].get("reference", "42")
    return {"model": "m", "answers": {"score": {"type": "noul", "noul": 0.75 if right else 0.25}}}


ANSWERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "vllm": ("/classify", vllm),
    "sglang": ("/classify", sglang),
    "tei": ("/predict", tei),
    "infinity": ("/rerank", infinity),
    "transformers": ("/v1/systemone", transformers),
}
ABOUT: dict[str, dict[str, Any]] = {
    "vllm": {"/v1/models": {"object": "list", "data": [{"id": "m"}]}, "/version": {"version": "0.33.0"}},
    "sglang": {"/model_info": {"model_path": "org/m", "weight_version": "w1"}},
    "tei": {"/info": {"model_id": "org/m", "model_sha": "abc", "version": "1.9.3"}},
    "infinity": {"/models": {"object": "list", "data": [{"id": "m", "stats": {}}]}},
    "transformers": {},
}


BROKEN = {"detail": "Internal Server Error"}


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
        about = self.server.about.get(self.path)
        self.answer(404 if about is None else 500 if about is BROKEN else 200, about or {"detail": "Not Found"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path, rule = ANSWERS[self.server.engine]
        if self.path != path:
            return self.answer(404, {"detail": "Not Found"})
        with self.server.lock:
            self.server.headers.append(dict(self.headers))
            self.server.bodies.append(body)
            fault = self.server.faults.pop(0) if self.server.faults else None
        fault = fault if fault is not None else self.server.always
        answer = None if fault is None else fault(body, rule)
        status, data, headers = answer if answer is not None else (200, rule(body), {})
        self.answer(status, data, headers)


Fault = Callable[[Any, Callable[[Any], Any]], tuple[int, Any, dict[str, str]] | None]


class Stub(ThreadingHTTPServer):
    """engine: whose form it speaks. faults: one taken by each POST, ``always`` by all others; None answers rightly."""

    daemon_threads = True

    def __init__(self, engine: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.engine, self.about = engine, dict(ABOUT[engine])
        self.faults: list[Fault | None] = []
        self.always: Fault | None = None
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@pytest.fixture
def start() -> Iterator[Callable[[str], Stub]]:
    stubs: list[Stub] = []

    def begin(engine: str) -> Stub:
        stubs.append(Stub(engine))
        threading.Thread(target=stubs[-1].serve_forever, args=(0.01,), daemon=True).start()
        return stubs[-1]

    yield begin
    for stub in stubs:
        stub.shutdown()
        stub.server_close()


@pytest.fixture(scope="module")
def renderer(tiny_tokenizer_dir: Path) -> Renderer:
    from transformers import AutoTokenizer

    return Renderer.for_training(AutoTokenizer.from_pretrained(tiny_tokenizer_dir))


def scorer_of(stub: Stub, needed: Renderer | None = None, /, model: str = "", **options: Any) -> EngineScorer:
    needs = {"sglang": {"renderer": needed}, "transformers": {"question": QUESTION}}.get(stub.engine, {})
    given = {**needs, "backoff": 0.0, **options}
    return EngineScorer(f"{stub.engine}+http://127.0.0.1:{stub.server_port}{model}", **given)


def status(code: int, body: Any = None, **headers: str) -> Fault:
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return lambda request, rule: (code, body if body is not None else {"error": "busy", "error_type": "x"}, named)


def samples(count: int, prompt: str = "ask") -> list[Sample]:
    return [Sample(prompt, "r" * n) for n in range(1, count + 1)]


def values(scorer: EngineScorer, given: list[Sample]) -> list[float | None]:
    return [score.value for score in scorer.score(given)]


def rule_of(engine: str, renderer: Renderer, sample: Sample) -> float:
    if engine == "transformers":
        return 0.25
    if engine == "sglang":
        return float(sum(renderer.render(sample.prompt, sample.response).ids))
    return pair(sample.prompt_text, sample.response_text)


# --- what is sent, what comes back ---


@pytest.mark.parametrize("engine", FORMS)
def test_every_engine_scores_in_order_whatever_the_size_of_a_request(
    engine: str, start: Callable[[str], Stub], renderer: Renderer
) -> None:
    stub = start(engine)
    one = engine in ("vllm", "transformers")  # which take one conversation a request
    scorer = scorer_of(stub, renderer, **({} if one else {"batch_size": 3}))
    given = [*samples(4), *samples(4, "why"), Sample("ask", "x")]
    assert values(scorer, given) == [rule_of(engine, renderer, sample) for sample in given]
    assert scorer.scale == ("probability" if engine == "transformers" else "logit")
    assert scorer.score([]) == []
    assert values(scorer, given[:1]) == asyncio.run(_ascore(scorer, given[:1]))


async def _ascore(scorer: EngineScorer, given: list[Sample]) -> list[float | None]:
    return [score.value for score in await scorer.ascore(given)]


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_with_a_renderer_the_engine_sees_the_very_ids_of_the_training(
    engine: str, start: Callable[[str], Stub], renderer: Renderer, tmp_path: Path
) -> None:
    stub = start(engine)
    renderer.save(tmp_path)
    scorer = scorer_of(stub, renderer=str(tmp_path))
    given = [Sample("What is 6 times 7?", "42"), Sample("hello", "<|eot_id|> is a token only where it is meant")]
    expected = [renderer.render(sample.prompt, sample.response).ids for sample in given]
    scores = scorer.score(given)
    body = stub.bodies[-1]
    assert [tuple(ids) for ids in body["input" if engine == "vllm" else "input_ids"]] == expected
    assert [score.value for score in scores] == [float(sum(ids)) for ids in expected]
    assert [score.details["tokens"] for score in scores] == [len(ids) for ids in expected]
    assert scorer.version.endswith(f"+{renderer.fingerprint[:8]}")


def test_vllm_without_a_renderer_gets_messages_and_a_beginning_is_continued(start: Callable[[str], Stub]) -> None:
    stub = start("vllm")
    scorer_of(stub).score([Sample([{"role": "user", "content": "q"}, {"role": "assistant", "content": "So "}], "42")])
    assert stub.bodies[-1]["messages"] == [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "So 42"},
    ]
    assert stub.bodies[-1]["model"] == "m"


def test_tei_gets_a_text_that_its_tokenizer_turns_into_the_ids_or_none(
    start: Callable[[str], Stub], renderer: Renderer
) -> None:
    stub = start("tei")
    good, spelled = Sample("What is 6 times 7?", " 42  \n"), Sample("hello", "I end here.<|eot_id|> Not yet.")
    first, second, third = scorer_of(stub, renderer=renderer).score([good, spelled, good])
    (text,), _ = stub.bodies[-1]["inputs"]
    assert renderer.encode_text(text, special_tokens=True).ids == renderer.render(good.prompt, good.response).ids
    assert (first.value, third.value) == (float(len(text)), float(len(text)))
    assert (second.value, second.status) == (None, "refused")
    assert "no text becomes the token ids" in second.reason


def test_ordinary_text_always_has_an_exact_form_with_a_wordpiece_tokenizer(minilm_dir: Path) -> None:
    from transformers import AutoTokenizer

    renderer = Renderer.for_training(AutoTokenizer.from_pretrained(minilm_dir))
    exact = ExactText(renderer)
    for response in ("42", "Don't  worry:\n\tit's 3.14 — naïve, i.e. (x+y)^2!", "日本語 and emoji 🙂", "a" * 200):
        ids = renderer.render("What is 6 times 7?", response).ids
        text = exact.text(ids)
        assert text is not None
        assert renderer.encode_text(text, special_tokens=True).ids == ids


def test_infinity_has_one_prompt_a_request_and_its_order_is_undone(start: Callable[[str], Stub]) -> None:
    stub = start("infinity")
    given = [Sample("a", "1"), Sample("bb", "22"), Sample("a", "333"), Sample("bb", "4")]
    scorer = scorer_of(stub)
    assert values(scorer, given) == [1001.0, 2002.0, 1003.0, 2001.0]
    sent = {body["query"]: body["documents"] for body in stub.bodies[1:]}
    assert sent == {"a": ["1", "333"], "bb": ["22", "4"]}


def test_a_pair_that_infinity_would_cut_is_refused_where_the_tokenizer_is_known(
    start: Callable[[str], Stub], tiny_tokenizer_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stub = start("infinity")
    with caplog.at_level(logging.WARNING):
        scorer = scorer_of(stub, tokenizer=str(tiny_tokenizer_dir))
        assert not caplog.records
        scorer_of(stub)
    assert "cuts texts that are too long" in caplog.text
    long, short = scorer.score([Sample("p", "word " * 400), Sample("p", "word")])
    assert (long.value, long.status) == (None, "refused")
    assert "the model reads 256" in long.reason
    assert short.value == 1004.0


def test_a_reference_reaches_the_one_who_is_asked_a_question(start: Callable[[str], Stub]) -> None:
    given = [Sample("q", "6", "6"), Sample("q", "6", "7"), Sample("q", "[6, 7]", [6, 7])]
    assert values(scorer_of(start("transformers")), given) == [0.75, 0.25, 0.75]


# --- failures are never numbers, and cost nobody else ---


@pytest.mark.parametrize("engine", ["sglang", "tei", "infinity"])
@pytest.mark.parametrize("code", [400, 413, 422, 424])
def test_what_an_engine_refuses_costs_only_the_sample_at_fault(
    engine: str, code: int, start: Callable[[str], Stub], renderer: Renderer
) -> None:
    stub = start(engine)
    scorer = scorer_of(stub, renderer)
    given = samples(9)
    given[5] = Sample("ask", "hello world " * 7)
    bad = json.dumps(renderer.render("ask", given[5].response_text).ids) if engine == "sglang" else "hello world"

    def refuse(body: Any, rule: Any) -> Any:
        return (code, {"error": "too long", "error_type": "Validation"}, {}) if bad in json.dumps(body) else None

    scorer.score(given[:1])
    stub.always = refuse
    scores = scorer.score(given)
    assert [score.value is None for score in scores] == [index == 5 for index in range(9)]
    assert scores[5].status == ("error" if code == 424 else "refused")
    assert "too long" in scores[5].reason
    assert [s.value for i, s in enumerate(scores) if i != 5] == [
        rule_of(engine, renderer, sample) for i, sample in enumerate(given) if i != 5
    ]


@pytest.mark.parametrize("engine", FORMS)
@pytest.mark.parametrize("number", ["NaN", "null", "Infinity", "1e999"])
def test_what_is_no_finite_number_leaves_its_sample_unscored(
    engine: str, number: str, start: Callable[[str], Stub], renderer: Renderer
) -> None:
    stub = start(engine)
    scorer = scorer_of(stub, renderer)
    scorer.score(samples(1))
    right = rule_of(engine, renderer, samples(1)[0])
    stub.always = lambda body, rule: (200, json.dumps(rule(body)).replace(str(right), number).encode(), {})
    scores = scorer.score(samples(1))
    assert (scores[0].value, scores[0].status) == (None, "error")


def changed(**changes: Any) -> Fault:
    """vLLM's right answer with fields of its first row replaced; ``rows`` replaces all of them."""

    def fault(body: Any, rule: Any) -> Any:
        answer = rule(body)
        if "rows" in changes:
            answer["data"] = changes["rows"]
        else:
            answer["data"][0] |= changes
        return 200, answer, {}

    return fault


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (changed(rows=[]), "2 samples were sent and 0 scores came back"),
        (changed(rows={}), "a list was expected"),
        (changed(index=0), "each once"),
        (changed(index="1"), "each once"),
        (changed(probs=["0.5"]), "a number was expected, got '0.5'"),
        (changed(probs=[True]), "a number was expected, got True"),
        (changed(probs=[0.1, 0.9]), "gives 2 numbers a text"),
        (changed(probs=0.1), "a list of numbers was expected"),
        (status(200, b"<html>"), "no JSON"),
        (status(200, b"[" * 100_000), "no JSON"),
        (status(200, [1, 2]), "an object with 'data' was expected"),
    ],
)
def test_a_malformed_answer_is_an_outage(
    fault: Fault, message: str, start: Callable[[str], Stub], renderer: Renderer
) -> None:
    stub = start("vllm")
    scorer = scorer_of(stub, renderer=renderer)
    scorer.score(samples(1))
    stub.always = fault
    with pytest.raises(OutageError, match=message):
        scorer.score(samples(2))


def test_an_engine_that_is_away_for_a_while_costs_nothing_and_one_that_stays_away_is_an_outage(
    start: Callable[[str], Stub],
) -> None:
    stub = start("tei")
    scorer = scorer_of(stub, retries=2, batch_size=2)
    stub.faults = [status(503, Retry_After="0"), status(429), None, status(500), status(503)]
    given = samples(4)
    assert values(scorer, given) == [pair("ask", sample.response_text) for sample in given]
    stub.always = status(503)
    with pytest.raises(OutageError, match="3 tries"):
        scorer.score(samples(1))


@pytest.mark.parametrize(("side", "text"), [("prompt", "\ud800"), ("response", "\udfff"), ("both", "\ud800")])
def test_text_that_cannot_be_sent_is_refused_alone(side: str, text: str, start: Callable[[str], Stub]) -> None:
    stub = start("infinity")
    bad = Sample(text if side != "response" else "ask", text if side != "prompt" else "r")
    scores = scorer_of(stub).score([bad, Sample("ask", "r")])
    assert [(score.value, score.status) for score in scores] == [(None, "refused"), (3001.0, "ok")]


# --- an engine that cannot score says so at once ---


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (status(404), "is this vllm, and does it serve a model that scores"),
        (status(400, {"error": {"message": "The model does not support Classification API"}}), "does not support"),
        (changed(probs=[0.1, 0.2, 0.7]), "gives 3 numbers a text; a reward model gives one"),
        (status(401), "pass token="),
        (changed(probs=[None]), "no finite number even for a short sample"),
    ],
)
def test_an_engine_that_cannot_score_is_found_out_before_the_first_sample(
    fault: Fault, message: str, start: Callable[[str], Stub]
) -> None:
    stub = start("vllm")
    stub.always = fault
    with pytest.raises(UsageError, match=message):
        _ = scorer_of(stub).version


def test_the_model_is_the_only_one_or_the_one_named(start: Callable[[str], Stub]) -> None:
    stub = start("vllm")
    assert scorer_of(stub).name == "m"
    with pytest.raises(UnknownNameError, match=r"no model at .* named 'n'"):
        scorer_of(stub, model="#n").score(samples(1))
    stub.about["/v1/models"] = {"data": [{"id": "m"}, {"id": "n"}]}
    with pytest.raises(UsageError, match="has 2 models, so name one: m, n"):
        scorer_of(stub).score(samples(1))
    scorer_of(stub, model="#n").score(samples(1))
    assert stub.bodies[-1]["model"] == "n"


def test_our_own_token_never_goes_to_another_engine(
    start: Callable[[str], Stub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GUERDON_TOKEN", "ours")
    stub = start("tei")
    scorer_of(stub).score(samples(1))
    scorer_of(stub, token="theirs").score(samples(1))
    given = [headers.get("Authorization") for headers in stub.headers]
    assert set(given) == {None, "Bearer theirs"}


# --- versions ---


def test_the_version_is_what_the_engine_tells_of_its_weights(start: Callable[[str], Stub], renderer: Renderer) -> None:
    mark = renderer.fingerprint[:8]
    stub = start("vllm")
    assert scorer_of(stub, renderer=renderer).version == f"vllm:m@0.33.0+{mark}"
    stub.about["/weight_info"] = {"weight_version": "step-7"}
    assert scorer_of(stub).version == "vllm:m@step-7+messages"
    assert scorer_of(start("sglang"), renderer).version == f"sglang:@w1+{mark}"
    assert scorer_of(start("tei")).version == "tei:@org/m abc+pairs"
    silent = start("infinity")
    assert scorer_of(silent).version == f"infinity:m@http://127.0.0.1:{silent.server_port}+pairs"
    asked = start("transformers")
    assert scorer_of(asked).version != scorer_of(asked, question="Is it wrong?").version


def test_an_engine_whose_list_of_models_is_broken_can_still_score(start: Callable[[str], Stub]) -> None:
    stub = start("vllm")
    stub.about["/v1/models"] = BROKEN
    assert values(scorer_of(stub, retries=0), samples(1)) == [3001.0]


def test_new_weights_are_followed_with_a_warning(
    start: Callable[[str], Stub], renderer: Renderer, caplog: pytest.LogCaptureFixture
) -> None:
    stub = start("sglang")
    scorer = scorer_of(stub, renderer)
    before = scorer.version

    def swapped(body: Any, rule: Any) -> Any:
        return 200, json.loads(json.dumps(rule(body)).replace('"w1"', '"w2"')), {}

    stub.always = swapped
    with caplog.at_level(logging.WARNING):
        scorer.score(samples(2))
        scorer.score(samples(2))
    assert (before, scorer.version) == (f"sglang:@w1+{before[-8:]}", f"sglang:@w2+{before[-8:]}")
    assert caplog.text.count("changed from version w1 to w2") == 1


# --- a scorer like any other ---


@pytest.mark.parametrize("engine", FORMS)
def test_an_engine_is_a_lawful_scorer(engine: str, start: Callable[[str], Stub], renderer: Renderer) -> None:
    stub = start(engine)
    stub.faults = []
    scorer = scorer_of(stub, renderer)
    check_scorer(scorer, samples(3), hostile=("", "a" * 3000, "<|eot_id|>", "\x00"), seconds=20.0)
    twin = pickle.loads(pickle.dumps(scorer))
    assert (repr(twin), twin.version) == (repr(scorer), scorer.version)


def test_a_spec_names_an_engine_and_a_typo_says_what_was_meant(start: Callable[[str], Stub]) -> None:
    stub = start("tei")
    scorer = load_scorer(f"tei+http://127.0.0.1:{stub.server_port}", batch_size=7)
    assert isinstance(scorer, EngineScorer)
    assert scorer.batch_size == 7
    with pytest.raises(UnknownNameError, match="Did you mean 'vllm'"):
        load_scorer("vlm+http://127.0.0.1:1")
    with pytest.raises(UnknownNameError, match="Did you mean 'renderer'"):
        load_scorer("vllm+http://127.0.0.1:1", rendrer="x")
    with pytest.raises(UnknownNameError, match="option of tei named 'question'"):
        load_scorer("tei+http://127.0.0.1:1", question="why?")
    with pytest.raises(UsageError, match="needs renderer=FOLDER"):
        load_scorer("sglang+http://127.0.0.1:1")
    with pytest.raises(UsageError, match="needs question="):
        load_scorer("transformers+http://127.0.0.1:1")
    with pytest.raises(UsageError, match="holds one sample in this form"):
        load_scorer("vllm+http://127.0.0.1:1", batch_size=2)
    with pytest.raises(UsageError, match=r"must look like vllm\+http://127"):
        load_scorer("vllm+http://:0")


# --- against our own server, through its dialects ---


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory, tiny_llama_dir: Path) -> Path:
    """A one-label classifier with seeded weights, as any trainer saves it."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(tiny_llama_dir)
    torch.manual_seed(1)
    model = AutoModelForSequenceClassification.from_pretrained(tiny_llama_dir, num_labels=1)
    folder = tmp_path_factory.mktemp("rm")
    model.save_pretrained(folder)
    Renderer.for_foreign(tokenizer).save(folder)
    return folder


def test_our_own_server_is_every_engine_and_scores_stay_what_the_model_says(model_dir: Path) -> None:
    model = load_scorer(str(model_dir), device="cpu")
    given = [Sample(f"What is {n} times 7?", "word " * (n % 5) + str(7 * n)) for n in range(12)]
    given.append(Sample("p", "word " * 1000))
    direct = [score.value for score in model.score(given)]
    assert direct[-1] is None
    with serving(ServeConfig(port=0), {"other": model, "rm": model}) as url:
        for engine, options in (
            ("vllm", {}),
            ("vllm", {"renderer": str(model_dir)}),
            ("sglang", {"renderer": str(model_dir)}),
            ("tei", {}),
            ("tei", {"renderer": str(model_dir)}),
            ("infinity", {}),
        ):
            scorer = load_scorer(f"{engine}+{url}/s/rm/compat/{engine}", **options)
            scores = scorer.score(given)
            assert [score.value for score in scores[:-1]] == pytest.approx(direct[:-1], abs=1e-6), engine
            assert (scores[-1].value, scores[-1].status) == (None, "refused")
            assert model.version in scorer.version
        named = load_scorer(f"vllm+{url}#rm")  # at the root, by the name in the body
        assert values(named, given[:2]) == pytest.approx(direct[:2], abs=1e-6)
