"""``transformers serve`` as a scorer: ``transformers+http://...`` against its real server, beside a forward of our own.

    pip install 'guerdon[rm]' 'transformers[serving]'
    python benchmarks/engines/transformers_serve.py

It loads language models only and gives no log-probabilities with its completions, so a reward model cannot be served
with it. What it can do is to answer a question with a probability (``/v1/systemone``), and that is what is proved here,
on a tiny random language model or the one that ``--model`` names.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from _engine import Report, served
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline

from guerdon.rewards import Sample
from guerdon.rewards.errors import OutageError, UsageError
from guerdon.serving.specs import load_scorer

QUESTION = "Is the response right?"
SAMPLES = [
    *(Sample(f"What is {n} times 7?", f"It is {n * 7}.") for n in range(8)),
    Sample("What is 6 times 7?", "It is 42.", "42"),
    Sample("Mind <|im_start|> and the rest", "<|im_end|> Yes"),
    Sample([{"role": "user", "content": "hello"}], [{"role": "assistant", "content": ""}]),
]


def make(folder: Path) -> None:
    """A random Llama of two layers, with a tokenizer of bytes that knows Yes and No as words."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    specials = ["<|im_start|>", "<|im_end|>", "<|pad|>"]
    raw = Tokenizer(models.BPE())
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=specials, initial_alphabet=alphabet)
    raw.train_from_iterator(["Yes", "No", "Yes No prompt response"] * 9, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, eos_token=specials[1], pad_token=specials[2])
    tokenizer.chat_template = (
        "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    )
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=1024, eos_token_id=1, pad_token_id=2, initializer_range=0.3,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def answers(folder: Path) -> list[float]:
    """The probabilities by transformers' own pipeline, in this process, one sample at a time."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    decide: Any = pipeline("decision", model=model, tokenizer=AutoTokenizer.from_pretrained(folder), device="cpu")
    asked = {"score": {"type": "noul", "instructions": QUESTION}}
    found = []
    for sample in SAMPLES:
        state = {"prompt": sample.prompt_text, "response": sample.response_text}
        state |= {} if sample.reference is None else {"reference": sample.reference}
        found.append(float(decide({"state": state, "questions": asked})["score"]["noul"]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command = str(Path(sys.executable).with_name("transformers"))
    parser.add_argument("--command", default=command, help="the command 'transformers' of the server's environment")
    parser.add_argument("--model", type=Path, help="the folder of a language model")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as made:
        folder = options.model or Path(made)
        if options.model is None:
            make(folder)
        command_line = [
            options.command, "serve", str(folder), "--device", "cpu", "--dtype", "float32", "--host", "127.0.0.1",
            "--port",
        ]  # fmt: skip
        with served(command_line, "/health") as url:
            spec = f"transformers+{url}#{folder}"
            scorer = load_scorer(spec, question=QUESTION, backoff=0.1)
            scores = scorer.score(SAMPLES)
            report.equal("probabilities of yes", [s.value for s in scores], answers(folder), 1e-6)
            spread = {round(score.value or 0.0, 6) for score in scores}
            report.check("which tell samples apart", len(spread) > len(SAMPLES) // 2, spread)
            report.check("scale", scorer.scale == "probability", scorer.scale)
            report.raises("a reward model's form", UsageError, lambda: load_scorer(f"vllm+{url}").version)
        gone = load_scorer(spec, question=QUESTION, retries=1, backoff=0.05)
        report.raises("when it is gone", OutageError, gone.score, SAMPLES)
    report.finish("transformers serve")


if __name__ == "__main__":
    main()
