"""The pad token can never be part of a text, so every engine pools the same token."""

from __future__ import annotations

import functools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from guerdon.rewards.render import Renderer
from guerdon.rewards.rendering.padding import safe_pad

LLAMA = ("<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>")


def pooled_by_transformers(ids: list[int], pad: int) -> int:
    """Where transformers' sequence classifiers read a right- or left-padded row: the right-most id that is not pad."""
    return max(index for index, token in enumerate(ids) if token != pad)


def test_with_pad_equal_eos_transformers_reads_the_wrong_token_and_with_ours_the_last(toy: Any) -> None:
    """RLHFlow 49, TRL 6952: with pad = eos the last token of a chat is skipped."""
    renderer = Renderer.for_training(toy)
    ids = list(renderer.render("a <|eot_id|>", "b").ids)
    assert pooled_by_transformers([*ids, *[toy.pad_token_id] * 3], toy.pad_token_id) == len(ids) - 2
    assert pooled_by_transformers([*ids, *[renderer.pad_id] * 3], renderer.pad_id) == len(ids) - 1
    assert pooled_by_transformers([*[renderer.pad_id] * 3, *ids], renderer.pad_id) == len(ids) + 2


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(["<|pad|>", "[PAD]", "<|eot_id|>", "é", "x "]), max_size=6).map("".join))
def test_no_text_holds_the_pad_id(toy: Any, minilm: Any, text: str) -> None:
    for tokenizer in (toy, minilm):
        renderer = _renderer(tokenizer)
        assert renderer.pad_id not in renderer.render(text, text).ids


@functools.cache
def _renderer(tokenizer: Any) -> Renderer:
    return Renderer.for_training(tokenizer)


def test_a_new_token_is_added_where_none_is_to_spare(toy: Any) -> None:
    renderer = Renderer.for_training(toy)
    assert renderer.needs_resize
    assert renderer.vocab_size == len(toy) + 1
    assert renderer.pad_id == len(toy)
    assert renderer.tokenizer().pad_token == "<|pad|>"
    assert toy.pad_token == "<|eot_id|>", "the caller's tokenizer must stay as it is"


def test_a_pad_token_that_is_safe_is_kept(minilm: Any) -> None:
    pad = safe_pad(minilm, Renderer.for_training(minilm).tokenizer().chat_template)
    assert (pad.token, pad.id, pad.needs_resize, pad.why) == ("[PAD]", 0, False, "")


@pytest.mark.parametrize(
    ("spare", "chosen"),
    [
        (("<|reserved_special_token_0|>", "<|finetune_right_pad_id|>"), "<|finetune_right_pad_id|>"),
        (("<|image_pad|>", "<pad>"), "<pad>"),
        (("<|reserved_special_token_0|>",), "<|reserved_special_token_0|>"),
        (("<unused7>",), "<unused7>"),
        (("<repo_name>", "<|image_pad|>", "<|python_tag|>"), "<|pad|>"),
    ],
)
def test_a_spare_token_is_taken_only_if_its_name_says_so(
    byte_tokenizer: Any, spare: tuple[str, ...], chosen: str
) -> None:
    pad = safe_pad(byte_tokenizer((*LLAMA, *spare)))
    assert pad.token == chosen
    assert pad.needs_resize == (chosen == "<|pad|>")


def test_a_pad_token_that_the_template_writes_is_not_safe(byte_tokenizer: Any) -> None:
    template = (
        "{% for m in messages %}{{ m['content'] }}{% if m['role'] == 'x' %}<pad>{% endif %}<|eot_id|>{% endfor %}"
    )
    assert safe_pad(byte_tokenizer((*LLAMA, "<pad>"), template=template, pad="<pad>")).token == "<|pad|>"


def test_unk_is_taken_only_if_the_model_never_writes_it(byte_tokenizer: Any) -> None:
    from tokenizers import models

    tokenizer = byte_tokenizer((*LLAMA, "<unk>"))
    tokenizer.unk_token = "<unk>"
    assert safe_pad(tokenizer).token == "<unk>"
    vocabulary = tokenizer.backend_tokenizer.get_vocab()
    tokenizer.backend_tokenizer.model = models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>")
    assert safe_pad(tokenizer).token == "<|pad|>"


def test_a_tokenizer_without_pad_token_gets_one(byte_tokenizer: Any) -> None:
    pad = safe_pad(byte_tokenizer(pad=None))
    assert (pad.token, pad.needs_resize) == ("<|pad|>", True)
    assert pad.why == "it has no pad token, and none to spare, so a new one is added"


@pytest.mark.slow
def test_smollm2_pads_with_its_end_of_document_and_not_with_its_end_of_turn(smollm2: Any) -> None:
    assert smollm2.pad_token == smollm2.eos_token == "<|im_end|>"
    pad = safe_pad(smollm2)
    assert (pad.token, pad.id, pad.needs_resize) == ("<|endoftext|>", 0, False)
