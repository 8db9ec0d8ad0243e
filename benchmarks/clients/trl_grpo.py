"""TRL's GRPOTrainer with rewards from a guerdon server, beside the same reward model inside TRL.

    pip install 'guerdon[train,serve]' trl==1.16.0
    python benchmarks/clients/trl_grpo.py

``GRPOTrainer._calculate_rewards`` is called on conversations as the trainer calls it, with ``for_trl(RemoteScorer)``
and with the model's own folder as the reward function, which is TRL's own way to score.
"""

from __future__ import annotations

import importlib.metadata
import math
import tempfile
from typing import Any

import torch
from _live import TOO_LONG, Live, live, raised
from datasets import Dataset
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from trl import GRPOConfig, GRPOTrainer

from guerdon.rewards.trainers import for_trl
from guerdon.serving.client import RemoteScorer

QUESTIONS = ["what is 6 times 7?", "hello", "what is 6 times 7?", "the world"]
SAID = ["the answer is 42", "hello world", "it is 41", "no"]
ANSWERS = ["42", "none", "42", "none"]


def trainer_of(guerdon: Live, rewards: list[Any]) -> GRPOTrainer:
    tokenizer = AutoTokenizer.from_pretrained(guerdon.folder)
    policy = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer), hidden_size=16, intermediate_size=32, num_hidden_layers=1,
            num_attention_heads=2, num_key_value_heads=2, eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )  # fmt: skip
    config = GRPOConfig(
        output_dir=tempfile.mkdtemp(), per_device_train_batch_size=4, num_generations=2, report_to="none",
        use_cpu=True, bf16=False, gradient_checkpointing=False,
    )  # fmt: skip
    rows = [{"prompt": [{"role": "user", "content": q}], "answer": a} for q, a in zip(QUESTIONS, ANSWERS, strict=True)]
    return GRPOTrainer(
        model=policy,
        processing_class=tokenizer,
        reward_funcs=rewards,
        args=config,
        train_dataset=Dataset.from_list(rows),
    )


def calculated(trainer: GRPOTrainer, said: list[str]) -> torch.Tensor:
    """Rewards of shape (samples, functions)."""
    prompts = [[{"role": "user", "content": question}] for question in QUESTIONS]
    completions = [[{"role": "assistant", "content": text}] for text in said]
    inputs = [{"prompt": p, "answer": a} for p, a in zip(prompts, ANSWERS, strict=True)]
    return trainer._calculate_rewards(inputs, prompts, completions, [[1]] * len(said))


def main(guerdon: Live) -> None:
    asked = [{"prompt": q, "response": s} for q, s in zip(QUESTIONS, SAID, strict=True)]
    expected = guerdon.scores(asked)
    verdicts = guerdon.scores([{**ask, "reference": answer} for ask, answer in zip(asked, ANSWERS, strict=True)])
    with guerdon.proxy(fails=2) as server:
        helpful = for_trl(RemoteScorer(server.url, "helpful", backoff=0.05), name="helpful")
        math_reward = for_trl(RemoteScorer(server.url, "math", backoff=0.05), name="math")
        trainer = trainer_of(guerdon, [helpful, math_reward, str(guerdon.folder)])
        rewards = calculated(trainer, SAID)
        guerdon.equal("a model's rewards, the first two tries refused", rewards[:, 0].tolist(), expected)
        guerdon.equal("are those of TRL's own forward", rewards[:, 0].tolist(), rewards[:, 2].tolist())
        got = [None if math.isnan(value) else value for value in rewards[:, 1].tolist()]
        guerdon.check("a verifier's verdicts, NaN where there is none", got == verdicts == [1.0, None, 0.0, None], got)
        guerdon.check("two tries were refused", server.statuses("/v1/score").count(503) == 2, server.seen)
        rewards = calculated(trainer_of(guerdon, [helpful]), [*SAID[:3], TOO_LONG])
        guerdon.equal("beside an over-long one the others keep their rewards", rewards[:3, 0].tolist(), expected[:3])
        guerdon.check("and it is NaN, which TRL leaves out", math.isnan(rewards[3, 0]), rewards)
    gone = for_trl(RemoteScorer("http://127.0.0.1:9", "math", retries=1, backoff=0.05), name="math")
    error = raised(calculated, trainer_of(guerdon, [gone]), SAID)
    guerdon.check("a server that is away ends the run", type(error).__name__ == "OutageError", error)


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        main(guerdon)
        guerdon.finish(f"trl {importlib.metadata.version('trl')}")
