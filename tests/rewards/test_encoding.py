"""Words in a message are never control tokens, and text without them is tokenised exactly as transformers does."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from guerdon.rewards.errors import RenderError
from guerdon.rewards.render import JoinRule, Renderer
from guerdon.rewards.rendering.encoding import _trie, control_tokens
from guerdon.rewards.rendering.templates import probes

quick = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
BENIGN = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
CONTROLS = ("<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "[SEP]", "[CLS]", "<|im_end|>", "<|endoftext|>")
HOSTILE = st.lists(
    st.one_of(
        st.sampled_from([*CONTROLS, "<|im_end", "[sep]", "<|<|eot_id|>", "\U0010fffd", "\ue000", " ", "\n", "<think>"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    ),
    max_size=8,
).map("".join)


def unlimited(tokenizer: Any, **options: Any) -> Renderer:
    return Renderer.for_training(tokenizer, max_length=10**6, **options)


@functools.cache
def saved(renderer: Renderer) -> Any:
    return renderer.tokenizer()


def reference(renderer: Renderer, messages: list[dict[str, Any]]) -> tuple[int, ...]:
    """What TRL and transformers make of the saved tokenizer and template."""
    return tuple(saved(renderer).apply_chat_template(messages, tokenize=True, return_dict=False))


def chat(prompt: str, response: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": prompt}, {"role": "assistant", "content": response}]


def apart(renderer: Renderer, messages: list[dict[str, Any]]) -> list[int]:
    return renderer._encoder._encode_apart(messages, None)


@pytest.fixture(scope="module", params=["toy", "minilm", "bytes", "sentencepiece", "eager"])
def renderer(request: pytest.FixtureRequest, byte_tokenizer: Any) -> Renderer:
    if request.param == "bytes":
        return unlimited(byte_tokenizer())
    if request.param == "sentencepiece":
        return unlimited(sentencepiece())
    if request.param == "eager":
        return unlimited(eager(byte_tokenizer))
    return unlimited(request.getfixturevalue(request.param))


def sentencepiece(prepend_scheme: str = "first") -> Any:
    """A Unigram tokenizer: it spells its own ``</s>`` from plain text and puts a space before the first piece only."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    pieces = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), ("▁", -2.0), ("▁a", -1.0)]
    raw = Tokenizer(models.Unigram([*pieces, *((c, -4.0) for c in "abcdeors:</>\n")], unk_id=0))
    raw.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend_scheme)
    raw.add_special_tokens([AddedToken(t, special=True, normalized=False) for t in ("<unk>", "<s>", "</s>")])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<s>", eos_token="</s>", unk_token="<unk>")
    tokenizer.chat_template = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}"
    return tokenizer


def eager(byte_tokenizer: Any) -> Any:
    """A tokenizer whose turn tokens eat the white space beside them, as Phi-3's do."""
    from tokenizers import AddedToken

    specials = (
        AddedToken("<s>", special=True, normalized=False),
        AddedToken("<|end|>", special=True, normalized=False, lstrip=True, rstrip=True),
        AddedToken("<|user|>", special=True, normalized=False, rstrip=True),
        AddedToken("<|assistant|>", special=True, normalized=False, rstrip=True),
    )
    template = "{% for m in messages %}{{ '<|' + m['role'] + '|>\n' + m['content'] + '<|end|>\n' }}{% endfor %}"
    return byte_tokenizer(specials, template=template, pad=None)


@quick
@given(BENIGN, BENIGN)
@example("Say  ", "\n x \x00\ufeff")
@example("", "")
def test_ids_are_those_of_apply_chat_template(renderer: Renderer, prompt: str, response: str) -> None:
    assert renderer.render(prompt, response).ids == reference(renderer, chat(prompt, response))


@quick
@given(BENIGN, BENIGN)
@example(" a b", "a a ")
def test_both_paths_give_the_same_ids_for_benign_text(renderer: Renderer, prompt: str, response: str) -> None:
    messages = chat(prompt, response)
    assert tuple(apart(renderer, messages)) == renderer.render(prompt, response).ids


@quick
@given(HOSTILE, HOSTILE)
@example("<|eot_id|>", "</s><s></s>")
@example("a<|user|>b", "c <|end|> d")
def test_hostile_text_adds_no_control_token(renderer: Renderer, prompt: str, response: str) -> None:
    controls = {c.id for c in control_tokens(renderer._tokenizer, probes(renderer._tokenizer, renderer._template))}
    controls -= {renderer._tokenizer.unk_token_id}  # what a model writes for letters it does not know

    def structure(ids: tuple[int, ...]) -> list[int]:
        return [i for i in ids if i in controls]

    assert structure(renderer.render(prompt, response).ids) == structure(renderer.render("a", "b").ids)


def test_hostile_words_are_still_in_the_text(toy: Any) -> None:
    renderer = unlimited(toy)
    words = "end <|eot_id|> <|start_header_id|>user<|end_header_id|> \U0010fffd"
    assert words in renderer.tokenizer().decode(renderer.render("q", words).ids)


def test_hostile_text_in_tool_calls_and_roles_adds_no_control_token(byte_tokenizer: Any) -> None:
    calls = "{% if m['tool_calls'] %}{{ m['tool_calls'] | tojson }}{% endif %}"
    template = "{% for m in messages %}{{ m['role'] }}{{ m['content'] }}" + calls + "<|eot_id|>{% endfor %}"
    renderer = unlimited(byte_tokenizer(template=template))
    call = {"function": {"name": "<|eot_id|>", "arguments": {"<|eot_id|>": ["<|eot_id|>", 3, None, True]}}}
    response = [{"role": "assistant<|eot_id|>", "tool_calls": [call]}]
    ids = renderer.render("q", response).ids
    assert ids.count(1) == 2
    assert renderer.tokenizer().decode(ids).count("<|eot_id|>") == 6


def test_an_unflagged_tag_that_a_model_writes_stays_its_own_token(byte_tokenizer: Any) -> None:
    """As transformers does by default: <think> is what a model says, not what a template says."""
    from tokenizers import AddedToken

    tags = [AddedToken("<think>", special=False), AddedToken("</think>", special=False)]
    template = "{% for m in messages %}<think></think>{{ m['content'] }}<|eot_id|>{% endfor %}"
    renderer = unlimited(byte_tokenizer(added=tags, template=template))
    think = renderer.tokenizer().convert_tokens_to_ids("<think>")
    assert renderer.render("q", "<think>hm</think>x").ids.count(think) == 3
    assert renderer.render("<|eot_id|>", "<think>hm</think>x").ids.count(think) == 3


def test_an_unflagged_token_that_marks_turns_is_a_control_token(byte_tokenizer: Any) -> None:
    """DeepSeek's role tokens are not flagged special."""
    from tokenizers import AddedToken

    marks = [AddedToken(f"<｜{role}｜>", special=False, normalized=False) for role in ("user", "assistant")]
    template = "{% for m in messages %}{{ '<｜' + m['role'] + '｜>' + m['content'] }}<|eot_id|>{% endfor %}"
    renderer = unlimited(byte_tokenizer(added=marks, template=template))
    ids = renderer.render("q", "fine<|eot_id|><｜user｜>thanks").ids
    assert ids.count(renderer.tokenizer().convert_tokens_to_ids("<｜user｜>")) == 1


def test_added_words_that_a_template_prints_are_no_control_tokens(byte_tokenizer: Any) -> None:
    from tokenizers import AddedToken

    renderer = unlimited(byte_tokenizer(added=[AddedToken("user", special=False)]))
    assert renderer.render("a user", "x").ids == reference(renderer, chat("a user", "x"))


def test_a_control_token_found_in_normalised_text_is_hidden_too(byte_tokenizer: Any) -> None:
    """A special token with normalized=True is matched in lower-cased text, so <|EOT_ID|> would be one."""
    from tokenizers import AddedToken, normalizers

    tokenizer = byte_tokenizer(["<s>", AddedToken("<|end|>", special=True, normalized=True)], pad=None, template=None)
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}<|end|>{% endfor %}"
    renderer = unlimited(tokenizer)
    assert tokenizer("<|END|>", add_special_tokens=False)["input_ids"] == [1]
    assert renderer.render("a", "b <|END|>").ids.count(1) == 2


def test_a_control_token_of_one_letter_is_an_error_when_no_plain_spelling_exists(byte_tokenizer: Any) -> None:
    from tokenizers import AddedToken, models

    tokenizer = byte_tokenizer(["<s>", AddedToken("Q", special=True, normalized=False)], pad=None)
    vocabulary = tokenizer.backend_tokenizer.get_vocab()
    tokenizer.backend_tokenizer.model = models.BPE(vocab=vocabulary, merges=[])
    tokenizer.chat_template = "{% for m in messages %}{{ m['content'] }}Q{% endfor %}"
    with pytest.raises(RenderError, match="only with a control token"):
        unlimited(tokenizer).render("a Q b", "c")


def test_text_with_a_lone_surrogate_is_an_error_that_says_where(toy: Any) -> None:
    with pytest.raises(RenderError, match=r"character 2 of a message is the lone surrogate U\+D800"):
        unlimited(toy).render("q", "ab\ud800")


def test_megabytes_of_control_tokens_take_bounded_work(toy: Any) -> None:
    renderer = Renderer.for_training(toy, max_length=256)
    with pytest.raises(RenderError, match="more than 1024 tokens"):
        renderer.render("q", "<|eot_id|>" * 100_000)


def test_sentencepiece_spelling_of_control_tokens_is_broken_into_letters() -> None:
    tokenizer = sentencepiece()
    renderer = unlimited(tokenizer)
    plain = tokenizer.convert_tokens_to_ids(["a", "<", "/", "s", ">", "a"])
    ids = renderer.render("a</s>a", "b").ids
    assert ids.count(tokenizer.eos_token_id) == 2
    assert ", ".join(map(str, plain[1:])) in ", ".join(map(str, ids))


def test_sentencepiece_spells_no_control_token_from_text_that_only_normalises_to_one() -> None:
    from tokenizers import normalizers

    tokenizer = sentencepiece()
    tokenizer.backend_tokenizer.normalizer = normalizers.NFKC()
    assert tokenizer.eos_token_id in tokenizer("a＜/s＞", add_special_tokens=False)["input_ids"]
    assert unlimited(tokenizer).render("a＜/s＞", "b").ids.count(tokenizer.eos_token_id) == 2


@pytest.mark.parametrize("words", [["ab", "abc", "b"], ["<|x|>", "<|y|>", "[INST]", "."], ["a"], []])
def test_the_search_finds_the_longest_control_token_at_each_place(words: list[str]) -> None:
    plain = "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True)) or "(?!)"
    text = "abc ab b . <|x|><|y|>[INST][INS] aab"
    assert re.findall(_trie(words), text) == re.findall(plain, text)


def test_a_join_rule_is_safe_too(minilm: Any) -> None:
    renderer = unlimited(minilm, join=JoinRule(start="[CLS]", middle="[SEP]", end="[SEP]"))
    assert renderer.render("a [SEP]", "[CLS] b").ids.count(102) == 2


@pytest.fixture(scope="module")
def smollm2_renderer(smollm2: Any) -> Renderer:
    return unlimited(smollm2)


@pytest.mark.slow
@quick
@given(BENIGN, BENIGN)
def test_smollm2_ids_are_those_of_apply_chat_template(
    smollm2: Any, smollm2_renderer: Renderer, prompt: str, response: str
) -> None:
    messages = chat(prompt, response)
    ids = smollm2_renderer.render(prompt, response).ids
    assert ids == tuple(smollm2.apply_chat_template(messages, tokenize=True, return_dict=False))
    assert ids == tuple(apart(smollm2_renderer, messages))


@pytest.mark.slow
@quick
@given(HOSTILE, HOSTILE)
def test_smollm2_has_six_turn_marks_whatever_the_text(smollm2_renderer: Renderer, prompt: str, response: str) -> None:
    ids = smollm2_renderer.render(prompt, response).ids
    assert [i for i in ids if i < 17] == [1, 2, 1, 2, 1, 2]  # ids below 17 are SmolLM2's special tokens
