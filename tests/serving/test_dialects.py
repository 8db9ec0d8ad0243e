"""Each dialect as its clients speak it: what they send is scored as they mean it, what they read is where they look.

The model scores a text by the number of its characters, the verifier by whether the response holds the reference, so
every number here is known by hand.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards import Prepared, Sample, Scale, Score, pointwise
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig, Tenant
from guerdon.serving.dialects.registry import DIALECTS

STATUSES = ("timeout", "error", "refused", "abstained", "not_applicable")


class Length:
    """A reward model whose template is ``<prompt>response``, and whose tokens are characters."""

    name, version = "length", "length-1"
    scale: Scale = "logit"

    def prepare(self, sample: Sample) -> Prepared | Score:
        for status in STATUSES:
            if status in sample.response_text:
                return Score.unscored("a reason", status=status)  # type: ignore[arg-type]
        return Prepared(sample, tuple(map(ord, f"<{sample.prompt_text}>{sample.response_text}")))

    def prepare_text(self, sample: Sample, text: str, *, special_tokens: bool, keep: Any) -> Prepared | Score:
        for status in STATUSES:
            if status in text:
                return Score.unscored("a reason", status=status)  # type: ignore[arg-type]
        if len(text) > 100:
            if keep is None:
                return Score.unscored("too long", status="refused")
            text = text[:100] if keep == "start" else text[-100:]
        return Prepared(sample, tuple(map(ord, f"^{text}$" if special_tokens else text)))

    def prepare_ids(self, sample: Sample, ids: Sequence[int], *, keep: Any) -> Prepared | Score:
        return Prepared(sample, tuple(ids))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        return [Score(float(len(each.ids)), "length", {"tokens": len(each.ids)}) for each in batch]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        ready = [self.prepare(sample) for sample in samples]
        scores = iter(self.run([each for each in ready if isinstance(each, Prepared)]))
        return [each if isinstance(each, Score) else next(scores) for each in ready]


def holds(sample: Sample) -> Score:
    if sample.reference is None:
        return Score.unscored("no reference", status="not_applicable")
    found = str(sample.reference) in sample.response_text
    return Score(float(found), "looked", {"answer": sample.response_text})


def make(**options: Any) -> FastAPI:
    verifier = pointwise(holds, scale="verdict", name="holds", version="holds-1")
    return create_app(ServeConfig(**options), {"model": Length(), "check": verifier})


def post(path: str, body: Any, app: FastAPI | None = None, **options: Any) -> httpx.Response:
    async def main() -> httpx.Response:
        transport = httpx.ASGITransport(app or make(), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            headers = {"Content-Type": "application/json", **options.pop("headers", {})}
            return await client.post(path, content=json.dumps(body), headers=headers, **options)

    return asyncio.run(main())


def ok(path: str, body: Any, **options: Any) -> Any:
    answer = post(path, body, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


# --- OpenRLHF ---


@pytest.mark.parametrize("count", [1, 3])
def test_openrlhf_sends_templated_queries_and_reads_lists_of_numbers(count: int) -> None:
    queries = [f"<p>{'r' * n}" for n in range(1, count + 1)]
    answer = ok("/get_reward", {"query": queries, "prompts": ["<p>"] * count, "labels": [None] * count})
    rewards = [3.0 + n for n in range(1, count + 1)]
    assert answer == {"rewards": rewards, "extra_logs": {"tokens": [int(r) for r in rewards]}}


def test_openrlhf_with_a_verifier_gives_the_response_and_the_label_and_scores_for_its_filter() -> None:
    body = {"query": ["What? 42", "What? 41"], "prompts": ["What?", "What?"], "labels": ["42", "42"]}
    assert ok("/s/check/get_reward", body) == {"rewards": [1.0, 0.0], "scores": [1.0, 0.0], "extra_logs": {}}


@pytest.mark.parametrize(
    ("said", "reads"),
    [
        ("42<|im_end|>", "42"),
        ("42<|eot_id|><|end_of_text|>\n<pad><pad>", "42"),
        ("42</s>", "42"),
        ("42<｜end▁of▁sentence｜>", "42"),
        ("<|im_end|> is a token", "<|im_end|> is a token"),
        ("42" + "<|im_end|>" * 5000, "42"),
        ("a < b |> c", "a < b |> c"),
        ("", ""),
    ],
)
def test_openrlhf_with_a_verifier_leaves_out_what_ends_the_response(said: str, reads: str) -> None:
    exact = pointwise(lambda sample: float(sample.response_text == reads), scale="verdict", name="exact")
    app = create_app(ServeConfig(), {"exact": exact})
    body = {"query": ["<s>What?" + said], "prompts": ["<s>What?"], "labels": [reads]}
    assert ok("/get_reward", body, app=app)["rewards"] == [1.0]


def test_openrlhf_finds_the_response_though_decoding_has_moved_spaces_and_never_guesses_where_it_begins() -> None:
    body = {"query": ["<s> [INST] Is it 42? [/INST]It is 41"], "prompts": ["<s>[INST] Is it 42? [/INST]"]}
    assert ok("/s/check/get_reward", {**body, "labels": ["42"]})["rewards"] == [0.0]
    cut = {"query": ["it 42? [/INST]It is 41"], "prompts": body["prompts"], "labels": ["42"]}
    answer = post("/s/check/get_reward", cut)
    assert (answer.status_code, "does not begin with its prompt" in answer.text) == (422, True)
    assert ok("/s/model/get_reward", cut)["rewards"] == [float(len(cut["query"][0]))]  # a model reads it as it is


def test_openrlhf_without_a_label_key_hands_over_no_reference() -> None:
    answer = post("/s/check/get_reward", {"query": ["What? 42"], "prompts": ["What?"], "labels": [""]})
    assert (answer.status_code, "not_applicable" in answer.text) == (422, True)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ([], "must be an object"),
        ({}, "query is missing"),
        ({"query": "text"}, "query must be a list"),
        ({"query": [1]}, r"query[0] must be a string"),
        ({"query": ["a"], "labels": []}, "labels holds 0 items where 1 are wanted"),
        ({"query": ["a"], "prompts": [None, None]}, "prompts holds 2 items"),
    ],
)
def test_a_malformed_body_is_a_422_that_names_the_place(body: Any, field: str) -> None:
    answer = post("/get_reward", body)
    assert answer.status_code == 422
    assert field in answer.json()["error"]["message"]


# --- verl, vLLM, SGLang ---


def test_verl_with_vllm_reads_the_raw_logit_of_a_text_with_special_tokens() -> None:
    answer = ok("/classify", {"model": "/some/path", "input": "abc", "use_activation": False})
    assert answer["data"][-1]["probs"][-1] == 5.0


def test_verl_with_sglang_reads_an_embedding() -> None:
    assert ok("/v1/embeddings", {"model": "/some/path", "input": "abc"})["data"][-1]["embedding"][-1] == 5.0


def test_vllm_classify_takes_texts_ids_and_messages() -> None:
    def probs(**body: Any) -> list[float]:
        return [row["probs"][0] for row in ok("/classify", {"model": "model", **body})["data"]]

    assert probs(input=["a", "bb"]) == [3.0, 4.0]
    assert probs(input="a", add_special_tokens=False) == [1.0]
    assert probs(input=[5, 6, 7]) == [3.0]
    assert probs(input=[[5, 6, 7], [8]]) == [3.0, 1.0]
    messages = [{"role": "user", "content": "ask"}, {"role": "assistant", "content": "reply"}]
    assert probs(messages=messages) == [len("<ask>reply")]
    assert probs(input="a", use_activation=True) == [1 / (1 + math.exp(-3))]


def test_vllm_refuses_what_is_too_long_unless_told_which_end_to_keep() -> None:
    body = {"input": "a" * 101}
    assert post("/classify", body).status_code == 413
    assert ok("/classify", {**body, "truncate_prompt_tokens": -1})["data"][0]["probs"] == [102.0]


def test_vllm_scores_pairs_and_ranks_documents() -> None:
    scores = ok("/v1/score", {"model": "model", "text_1": "q", "text_2": ["a", "bbb"]})
    assert [row["score"] for row in scores["data"]] == [4.0, 6.0]
    for path in ("/rerank", "/v1/rerank", "/v2/rerank"):
        answer = ok(path, {"model": "model", "query": "q", "documents": ["a", "bbb", "cc"], "top_n": 2})
        assert [(row["index"], row["relevance_score"]) for row in answer["results"]] == [(1, 6.0), (2, 5.0)]
        assert answer["results"][0]["document"] == {"text": "bbb"}


def test_sglang_classify_answers_one_with_one_and_a_list_with_a_list() -> None:
    assert ok("/classify", {"text": "abc"})["embedding"] == [5.0]
    assert [row["embedding"] for row in ok("/classify", {"text": ["a", "bb"]})] == [[3.0], [4.0]]
    assert ok("/classify", {"input_ids": [1, 2]})["meta_info"]["weight_version"] == "length-1"


def test_sglang_scores_items_and_reranks_under_its_own_mount() -> None:
    assert ok("/v1/score", {"query": "q", "items": ["a", "bbb"]})["scores"] == [[4.0], [6.0]]
    answer = ok("/compat/sglang/v1/rerank", {"query": "q", "documents": ["a", "bbb"]})
    assert answer == [{"score": 6.0, "document": "bbb", "index": 1}, {"score": 4.0, "document": "a", "index": 0}]


# --- slime, NeMo Gym ---


def test_slime_reads_a_bare_number_or_one_under_a_key() -> None:
    body = {"prompt": "q", "response": "it is 42", "label": "42"}
    assert ok("/s/check/slime", body) == 1.0
    assert ok("/s/check/", body) == 1.0
    assert ok("/s/check/slime/score", body) == {"score": 1.0}
    assert ok("/slime", {**body, "prompt": [{"role": "user", "content": "q"}]}) == len("<q>it is 42")


def nemo(said: str, **more: Any) -> dict[str, Any]:
    output = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]},
        {"type": "function_call", "name": "f", "arguments": "{}"},
    ]
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "q"}]},
        "response": {"output": output},
    } | more


def test_nemo_gym_has_its_request_echoed_with_the_reward() -> None:
    body = nemo("it is 42", expected_answer="42", question="q")
    answer = ok("/s/check/verify", body)
    assert {key: answer[key] for key in body} == body
    assert (answer["reward"], answer["extracted_answer"]) == (1.0, "it is 42")
    assert ok("/s/check/verify", nemo("41", expected_answer="42"))["reward"] == 0.0


def test_nemo_gym_hears_of_a_sample_without_a_score_by_status() -> None:
    assert post("/s/check/verify", nemo("it is 42")).status_code == 422


def test_nemo_gym_compares_seeds_and_aggregates() -> None:
    responses = [nemo("a")["response"], nemo("bbb")["response"]]
    body = {"conversation_history": [{"role": "user", "content": "q"}], "response_objs": responses}
    assert ok("/compare", body)["rewards"] == [4.0, 6.0]
    assert ok("/seed_session", {}) == {}
    assert ok("/aggregate_metrics", {"verify_responses": [{"reward": 1.0}, {"reward": 0}]}) == {
        "reward": 0.5,
        "count": 2,
    }


# --- text-embeddings-inference, infinity ---


def test_tei_reads_a_pair_where_a_batch_needs_brackets() -> None:
    def predict(inputs: Any, **more: Any) -> Any:
        return ok("/predict", {"inputs": inputs, "raw_scores": True, **more})

    assert predict("a") == [{"score": 3.0, "label": "LABEL_0"}]
    assert predict(["a", "b"]) == [{"score": 4.0, "label": "LABEL_0"}]
    assert [row[0]["score"] for row in predict([["a"], ["a", "b"]])] == [3.0, 4.0]
    assert predict("a" * 101, truncate=True)[0]["score"] == 102.0
    assert ok("/predict", {"inputs": "a"})[0]["score"] == 1 / (1 + math.exp(-3))


def test_tei_and_infinity_rerank_are_told_apart_by_their_fields() -> None:
    assert ok("/rerank", {"query": "q", "texts": ["a", "bbb"], "raw_scores": True, "return_text": True}) == [
        {"index": 1, "score": 6.0, "text": "bbb"}, {"index": 0, "score": 4.0, "text": "a"},
    ]  # fmt: skip
    answer = ok("/rerank", {"query": "q", "documents": ["a", "bbb"], "raw_scores": True, "return_documents": True})
    assert (answer["object"], answer["results"][0]) == (
        "rerank", {"relevance_score": 6.0, "index": 1, "document": "bbb"},
    )  # fmt: skip


def test_infinity_classify_is_told_by_raw_scores() -> None:
    answer = ok("/classify", {"input": ["a"], "model": "model", "raw_scores": True})
    assert (answer["object"], answer["data"]) == ("classify", [[{"score": 3.0, "label": "LABEL_0"}]])
    assert ok("/compat/infinity/classify", {"input": ["a"]})["data"][0][0]["score"] == 1 / (1 + math.exp(-3))


# --- what all have in common ---

REQUESTS: dict[str, tuple[str, Any]] = {
    "openrlhf": ("/get_reward", lambda text: {"query": [text]}),
    "vllm": ("/classify", lambda text: {"input": text}),
    "sglang": ("/v1/embeddings", lambda text: {"input": text}),
    "slime": ("/slime", lambda text: {"prompt": "q", "response": text}),
    "nemo_gym": ("/verify", nemo),
    "tei": ("/predict", lambda text: {"inputs": text}),
    "infinity": ("/classify", lambda text: {"input": [text], "raw_scores": True}),
}


def test_every_dialect_but_our_own_is_here() -> None:
    assert {dialect.NAME for dialect in DIALECTS} == {*REQUESTS, "guerdon"}


@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize(
    ("status", "code"),
    [("timeout", 503), ("error", 503), ("refused", 413), ("abstained", 422), ("not_applicable", 422)],
)
def test_a_sample_without_a_score_is_a_status_and_never_a_number(name: str, status: str, code: int) -> None:
    path, make_body = REQUESTS[name]
    answer = post(path, make_body(f"say {status}"))
    assert answer.status_code == code
    assert status in answer.text
    assert "a reason" in answer.text
    assert ("retry-after" in answer.headers) == (code == 503)


@pytest.mark.parametrize("name", REQUESTS)
def test_the_model_version_is_in_a_header_and_may_be_pinned(name: str) -> None:
    path, make_body = REQUESTS[name]
    answer = post(path, make_body("hello"), headers={"X-Model-Version": "length-1"})
    assert (answer.status_code, answer.headers["x-model-version"]) == (200, "length-1")
    assert post(path, make_body("hello"), headers={"X-Model-Version": "length-0"}).status_code == 409


@pytest.mark.parametrize("name", REQUESTS)
def test_a_scorer_is_named_by_the_url_and_one_that_is_not_there_is_a_404(name: str) -> None:
    path, make_body = REQUESTS[name]
    answer = post(f"/s/modle{path}", make_body("hello"))
    assert answer.status_code == 404
    assert "Did you mean 'model'?" in answer.text
    assert post(f"/s/model/compat/{name}{path}", make_body("hello")).status_code == 200


@pytest.mark.parametrize("name", REQUESTS)
def test_refusals_are_503_so_that_clients_who_take_429_for_final_come_back(name: str) -> None:
    path, make_body = REQUESTS[name]
    app = make(tenants={"a": Tenant("ta", 0.5)}, max_queue_tokens=1)
    app.state.engine.drain()
    answer = post(path, make_body("hello"), app, headers={"Authorization": "Bearer ta"})
    assert answer.status_code == 503
    assert int(answer.headers["retry-after"]) >= 1


def test_every_route_is_in_the_document_with_an_example_that_works() -> None:
    app = make()
    paths = app.openapi()["paths"]
    for dialect in DIALECTS:
        for path, about in dialect.PATHS.items():
            assert "post" in paths[path]
            if "example" in about:
                answer = post(f"/s/model/compat/{dialect.NAME}{path}", about["example"], app)
                assert answer.status_code == 200, (path, answer.text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["query", "prompts", "labels", "input", "messages", "model", "text", "input_ids", "documents", "texts", "items",
     "inputs", "prompt", "response", "label", "text_1", "text_2", "top_n", "raw_scores", "use_activation", "truncate",
     "responses_create_params", "response_objs", "conversation_history", "verify_responses"]
)  # fmt: skip
PATHS = sorted({f"/compat/{dialect.NAME}{path}" for dialect in DIALECTS for path in dialect.PATHS})


@settings(max_examples=150)
@given(st.sampled_from(PATHS), st.dictionaries(FIELDS, JSON, max_size=6) | JSON)
def test_no_body_of_any_dialect_makes_the_server_stumble(path: str, body: Any) -> None:
    answer = post(path, body)
    assert answer.status_code in (200, 400, 404, 413, 422), answer.text
    json.loads(answer.text)
