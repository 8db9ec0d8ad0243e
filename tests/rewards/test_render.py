"""The renderer as its users hold it: golden ids, over-long texts, many at once, threads, pickles."""

from __future__ import annotations

import functools
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guerdon.rewards.contract import EXAMPLES, HOSTILE
from guerdon.rewards.errors import RenderError, TooLongError, UnknownNameError, UsageError
from guerdon.rewards.render import Rendered, Renderer

GOLDEN = json.loads((Path(__file__).parent / "golden_ids.json").read_text(encoding="utf-8"))
STRICT = (  # refuses roles that do not alternate, as Gemma's and Mistral's templates do
    "{% set m = messages %}{% if m[0]['role'] == 'system' %}<s>{{ m[0]['content'] }}{% set m = m[1:] %}{% endif %}"
    "{% for x in m %}{% if (x['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate!') }}"
    "{% endif %}"
    "<|start_header_id|>{{ x['role'] }}<|end_header_id|>{{ x['content'] }}<|eot_id|>{% endfor %}"
)


@pytest.fixture(scope="module")
def strict(byte_tokenizer: Callable[..., Any]) -> Any:
    return byte_tokenizer(template=STRICT)


def pairs() -> list[tuple[Any, Any]]:
    return [(s.prompt, s.response) for s in EXAMPLES] + [("q", text) for text in HOSTILE] + [(t, "a") for t in HOSTILE]


# -- golden ids


@pytest.mark.parametrize("row", [row for row in GOLDEN if row["tokenizer"] != "smollm2"])
def test_golden_ids(row: dict[str, Any], minilm: Any, byte_tokenizer: Any) -> None:
    """Each row says where its ids come from."""
    renderer = Renderer.for_training(minilm if row["tokenizer"] == "minilm" else byte_tokenizer())
    assert list(renderer.render(row["prompt"], row["response"]).ids) == row["ids"]


@pytest.mark.slow
def test_golden_ids_of_smollm2(smollm2: Any) -> None:
    renderer = Renderer.for_training(smollm2)
    for row in GOLDEN:
        if row["tokenizer"] == "smollm2":
            assert list(renderer.render(row["prompt"], row["response"]).ids) == row["ids"], row["prompt"]


# -- over-long texts


def test_a_text_that_fits_is_never_cut(strict: Any) -> None:
    size = len(Renderer.for_training(strict).render("prompt", "response").ids)
    for rule in ("error", "drop", "truncate_prompt", "truncate"):
        renderer = Renderer.for_training(strict, max_length=size, overlong=rule)
        assert renderer.render("prompt", "response").cut == 0
        assert len(renderer.render("prompt", "response").ids) == size


@pytest.mark.parametrize("rule", ["error", "drop"])
def test_too_long_says_how_long_how_much_is_read_and_what_to_do(strict: Any, rule: Any) -> None:
    renderer = Renderer.for_training(strict, max_length=20, overlong=rule)
    with pytest.raises(TooLongError) as caught:
        renderer.render("p" * 10, "r" * 10)
    assert str(caught.value) == (
        "the rendered text has 39 tokens and this renderer reads at most 20; shorten it, or use a renderer with "
        "overlong='drop' (left out and counted), 'truncate_prompt' (prompt cut from its left) or 'truncate' (prompt "
        "first, then the response)"
    )


@pytest.mark.parametrize(
    ("prompt", "response"), [("p" * 1_000_000, "r"), ("p", "r" * 1_000_000), ("<s>" * 300_000, "r")]
)
def test_megabytes_are_refused_by_their_beginning(strict: Any, prompt: str, response: str) -> None:
    renderer = Renderer.for_training(strict, max_length=512)
    with pytest.raises(TooLongError, match="has more than 2048 tokens"):
        renderer.render(prompt, response)


def test_megabytes_of_nothing_are_not_too_long(minilm: Any) -> None:
    """BERT drops white space: many characters are not many tokens."""
    assert Renderer.for_training(minilm).render(" \n" * 100_000 + "q", "a").ids == (101, 1053, 102, 1037, 102)


text = st.text("ab é<|>", max_size=40)
turns = st.lists(st.tuples(text, text), max_size=3)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns, text, text, st.booleans(), st.sampled_from([20, 35, 50, 80, 120]))
def test_truncate_prompt_fits_keeps_the_response_and_counts(
    strict: Any, history: list[tuple[str, str]], question: str, response: str, system: bool, limit: int
) -> None:
    whole, cutting = _renderers(strict, limit, "truncate_prompt")
    prompt = _prompt(history, question, system)
    full = whole.render(prompt, response).ids
    tail = full[len(full) - _last_turn(full) :]
    result = cutting.render_many([(prompt, response)])[0]
    if isinstance(result, TooLongError):
        smallest = whole.render(_prompt([], "", system), response).ids
        assert len(smallest) > limit
        return
    assert isinstance(result, Rendered)
    assert len(result.ids) <= limit
    assert result.cut == len(full) - len(result.ids)
    assert (result.cut > 0) == (len(full) > limit)
    assert result.ids[-len(tail) :] == tail
    if system:
        assert whole.tokenizer().decode(result.ids).startswith("<s>be kind")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns, text, text, st.sampled_from([20, 35, 50, 80, 120]))
def test_truncate_fits_keeps_the_end_token_and_counts(
    strict: Any, history: list[tuple[str, str]], question: str, response: str, limit: int
) -> None:
    whole, cutting = _renderers(strict, limit, "truncate")
    prompt = _prompt(history, question, False)
    full = whole.render(prompt, response).ids
    result = cutting.render(prompt, response)
    assert len(result.ids) <= limit
    assert result.cut == len(full) - len(result.ids)
    assert (result.cut > 0) == (len(full) > limit)
    assert result.ids[-1] == 1
    kept = whole.tokenizer().decode(result.ids).rpartition("<|end_header_id|>")[2].removesuffix("<|eot_id|>")
    assert response.startswith(kept)
    if result.cut == 0:
        assert kept == response


def test_truncate_leaves_a_quarter_to_the_prompt_and_cuts_the_response_from_its_right(strict: Any) -> None:
    renderer = Renderer.for_training(strict, max_length=60, overlong="truncate")
    prompt, response = "".join(map(chr, range(33, 93))), "".join(map(chr, range(97, 123))) * 4
    result = renderer.render(prompt, response)
    read = renderer.tokenizer().decode(result.ids)
    assert read == (
        f"<|start_header_id|>user<|end_header_id|>{prompt[-6:]}<|eot_id|>"
        f"<|start_header_id|>assistant<|end_header_id|>{response[:35]}<|eot_id|>"
    )
    assert (len(result.ids), result.cut) == (60, 54 + 69)


def test_a_megabyte_is_cut_as_its_last_part_is(strict: Any) -> None:
    """The prompt's last part decides; the count is of everything."""
    renderer = Renderer.for_training(strict, max_length=100, overlong="truncate_prompt")
    end = "".join(chr(33 + i % 90) for i in range(5000))
    short, long = renderer.render(end, "r"), renderer.render("<|eot_id|>" * 100_000 + end, "r")
    assert long.ids == short.ids
    assert long.cut - short.cut == 10 * 100_000


def test_a_response_that_alone_is_too_long_is_an_error_under_truncate_prompt(strict: Any) -> None:
    renderer = Renderer.for_training(strict, max_length=40, overlong="truncate_prompt")
    with pytest.raises(TooLongError, match="in parts that overlong='truncate_prompt' never cuts"):
        renderer.render("p", "r" * 40)
    with pytest.raises(TooLongError, match="in parts that overlong='truncate_prompt' never cuts"):
        renderer.render("p", "r" * 1_000_000)


@functools.cache
def _renderers(tokenizer: Any, limit: int, rule: Any) -> tuple[Renderer, Renderer]:
    """Without a limit, and with."""
    whole = Renderer.for_training(tokenizer, max_length=10**6)
    return whole, Renderer.for_training(tokenizer, max_length=limit, overlong=rule)


def _prompt(history: list[tuple[str, str]], question: str, system: bool) -> list[dict[str, str]]:
    messages = [{"role": "system", "content": "be kind"}] if system else []
    for asked, answered in history:
        messages += [{"role": "user", "content": asked}, {"role": "assistant", "content": answered}]
    return [*messages, {"role": "user", "content": question}]


def _last_turn(ids: tuple[int, ...]) -> int:
    """How many ids from the last <|start_header_id|> on."""
    return ids[::-1].index(2) + 1


# -- many, threads, pickles


@pytest.mark.parametrize("which", ["toy", "minilm"])
@pytest.mark.parametrize("rule", ["error", "truncate"])
def test_many_at_once_equal_one_by_one(which: str, rule: Any, request: pytest.FixtureRequest) -> None:
    renderer = Renderer.for_training(request.getfixturevalue(which), max_length=128, overlong=rule)
    texts = [*pairs(), ("q", "\ud800"), ("q", []), ([{"role": "user", "content": 3}], "a")] * 2

    def one(pair: tuple[Any, Any]) -> Rendered | RenderError:
        try:
            return renderer.render(*pair)
        except RenderError as error:
            return error

    many, single = renderer.render_many(texts), [one(pair) for pair in texts]
    assert [(type(r), r if isinstance(r, Rendered) else str(r)) for r in many] == [
        (type(r), r if isinstance(r, Rendered) else str(r)) for r in single
    ]
    assert {type(r) for r in many} == (
        {Rendered, RenderError, TooLongError} if rule == "error" else {Rendered, RenderError}
    )


def test_none_at_once_is_none(toy: Any) -> None:
    assert Renderer.for_training(toy).render_many([]) == []


def test_four_threads_agree(toy: Any) -> None:
    renderer = Renderer.for_training(toy, max_length=128, overlong="truncate")
    expected = renderer.render_many(pairs())
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: renderer.render_many(pairs()), range(8)))
    assert all(result == expected for result in results)


def test_it_pickles(toy: Any) -> None:
    renderer = Renderer.for_training(toy, max_length=128, overlong="truncate")
    twin = pickle.loads(pickle.dumps(renderer))
    assert twin.describe() == renderer.describe()
    assert (twin.needs_resize, twin.pad_id, twin.notes) == (renderer.needs_resize, renderer.pad_id, renderer.notes)
    assert twin.render_many(pairs()) == renderer.render_many(pairs())


def test_nobody_can_change_a_renderer_from_outside(byte_tokenizer: Any) -> None:
    own = byte_tokenizer()
    renderer = Renderer.for_training(own)
    before = renderer.render("q", "a <|eot_id|>"), renderer.fingerprint
    for tokenizer in (own, renderer.tokenizer()):
        tokenizer.backend_tokenizer.enable_padding(length=100)
        tokenizer.backend_tokenizer.enable_truncation(3)
        tokenizer.backend_tokenizer.encode_special_tokens = True
        tokenizer.chat_template = "{{ 'other' }}"
        tokenizer.add_tokens(["q"])
    assert (renderer.render("q", "a <|eot_id|>"), renderer.fingerprint) == before


# -- arguments


def test_the_limit_is_the_tokenizers_own_by_default(minilm: Any, byte_tokenizer: Any) -> None:
    assert Renderer.for_training(minilm).max_length == 512
    unknown = byte_tokenizer()
    unknown.model_max_length = int(1e30)
    assert Renderer.for_training(unknown).max_length is None
    assert len(Renderer.for_training(unknown).render("q", "a" * 5000).ids) > 5000


def test_a_misspelt_rule_is_an_error_with_the_nearest_one(toy: Any) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'truncate_prompt'"):
        Renderer.for_training(toy, overlong="trunkate_prompt")  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0, -1, 1.5, "512", True])
def test_a_limit_that_is_no_number_of_tokens_is_an_error(toy: Any, limit: Any) -> None:
    with pytest.raises(UsageError, match="max_length must be a number of tokens >= 1"):
        Renderer.for_training(toy, max_length=limit)


def test_a_slow_tokenizer_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(RenderError, match="a fast tokenizer is needed"):
        Renderer.for_training(object())


def test_a_conversation_that_the_template_refuses_is_an_error_with_its_roles(strict: Any) -> None:
    user = {"role": "user", "content": "q"}
    with pytest.raises(RenderError, match=r"refused a conversation with roles \[user, user, assistant\].*alternate!"):
        Renderer.for_training(strict).render([user, user], "a")


def test_a_template_that_cannot_run_is_an_error_when_the_renderer_is_made(byte_tokenizer: Any) -> None:
    with pytest.raises(RenderError, match="the chat template refused"):
        Renderer.for_training(byte_tokenizer(template="{% for %}"))


def test_importing_the_renderer_loads_neither_torch_nor_transformers() -> None:
    heavy = ("torch", "transformers", "tokenizers")
    code = f"import sys, guerdon.rewards.render; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
