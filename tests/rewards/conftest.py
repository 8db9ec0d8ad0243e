"""Tokenizers for the renderer's tests: one small enough to know every id by hand, and the real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

Build = Callable[..., Any]


@pytest.fixture(scope="session")
def byte_tokenizer(tiny_tokenizer_dir: Path) -> Build:
    """Makes a tokenizer without merges: its special tokens are ids 0, 1, …, then comes one id for each byte.

    Arguments: specials (the first two are bos and eos), added (tokens that are not special), template (Llama-3-like by
    default, None for none), pad (the eos by default), adds_bos (before plain text, as Llama's tokenizer does).
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    llama3 = AutoTokenizer.from_pretrained(tiny_tokenizer_dir).chat_template

    def build(
        specials: Sequence[str | AddedToken] = (
            "<|begin_of_text|>",
            "<|eot_id|>",
            "<|start_header_id|>",
            "<|end_header_id|>",
        ),
        *,
        added: Sequence[AddedToken] = (),
        template: str | None = llama3,
        pad: str | None = "<|eot_id|>",
        adds_bos: bool = False,
    ) -> Any:
        tokens = [AddedToken(s, special=True, normalized=False) if isinstance(s, str) else s for s in specials]
        names = [token.content for token in tokens]
        vocabulary = {name: i for i, name in enumerate([*names, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
        raw = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
        raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        raw.decoder = decoders.ByteLevel()
        raw.add_special_tokens(tokens)
        raw.add_tokens(list(added))
        if adds_bos:
            raw.post_processor = processors.TemplateProcessing(
                single=f"{names[0]} $A", special_tokens=[(names[0], vocabulary[names[0]])]
            )
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=raw, bos_token=names[0], eos_token=names[1], pad_token=pad, model_max_length=256
        )
        tokenizer.chat_template = template
        return tokenizer

    return build


@pytest.fixture(scope="session")
def toy(tiny_tokenizer_dir: Path) -> Any:
    """The trained toy tokenizer with a Llama-3-like template, pad = eos."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(tiny_tokenizer_dir)


@pytest.fixture(scope="session")
def minilm(minilm_dir: Path) -> Any:
    """MiniLM's real tokenizer: WordPiece, lower case, no chat template."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(minilm_dir)


@pytest.fixture(scope="session")
def smollm2(smollm2_gguf: Path) -> Any:
    """SmolLM2's real tokenizer from GGUF: ChatML, pad = eos = ``<|im_end|>``. Loads in ten seconds: slow tests only."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(smollm2_gguf.parent, gguf_file=smollm2_gguf.name)
