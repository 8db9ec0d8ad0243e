"""Reward functions in a training loop, without a server: TRL's GRPOTrainer with scorers of guerdon.

    pip install 'guerdon[train]' trl
    python examples/grpo_trl.py

It needs no download and no GPU: a tiny random model is made on the spot and learns within seconds to answer in digits.
The right sums stay out of its reach. With a real model only the lines that make the tokenizer and the model change.
"""

import tempfile

import torch
from datasets import Dataset
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, PrinterCallback
from trl import GRPOConfig, GRPOTrainer

from guerdon import verifiers
from guerdon.rewards import Sample, Score, pointwise
from guerdon.rewards.trainers import for_trl

ROWS = [{"prompt": f"{a}+{b}=", "answer": str(a + b)} for a in range(2, 10) for b in range(2, 10)]


def digits(sample: Sample) -> Score:
    """The share of characters that are digits. An empty response cannot be judged, and TRL leaves it out."""
    text = sample.response_text
    if not text:
        return Score.unscored("empty response")
    return Score(sum(character.isdigit() for character in text) / len(text))


def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """One token a character."""
    characters = ["<pad>", "<eos>", "<unk>", *"0123456789+-= abcdefgh"]
    raw = Tokenizer(models.WordLevel({token: i for i, token in enumerate(characters)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    raw.decoder = decoders.Fuse()  # else decoding puts spaces between the characters
    return PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        clean_up_tokenization_spaces=False,
    )


def tiny_model(tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )


def main() -> None:
    tokenizer = tiny_tokenizer()
    model = tiny_model(tokenizer)
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        # a verifier and a function of our own: both are scorers, and both reach the trainer the same way
        reward_funcs=[for_trl(verifiers.load("numeric")), for_trl(pointwise(digits, scale="probability"))],
        train_dataset=Dataset.from_list(ROWS),
        args=GRPOConfig(
            output_dir=tempfile.mkdtemp(),
            per_device_train_batch_size=32,
            num_generations=8,
            max_completion_length=6,
            max_steps=24,
            learning_rate=1e-2,
            logging_steps=4,
            save_strategy="no",
            report_to="none",
            use_cpu=not torch.cuda.is_available(),
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
        ),
    )
    trainer.remove_callback(PrinterCallback)  # the table below says it shorter
    trainer.train()
    print("step   digits  numeric  unscored by digits")
    for entry in trainer.state.log_history:
        if "reward" in entry:
            print(
                f"{entry['step']:4}   {entry['rewards/digits/mean']:6.2f}  {entry['rewards/numeric/mean']:7.2f}"
                f"  {entry['rewards/digits/unscored']:18.2f}"
            )


if __name__ == "__main__":
    main()
