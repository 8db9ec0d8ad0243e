"""TRL's reward functions: same call, same answers on its own examples, and a trainer that runs on them."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import pytest

from guerdon.verifiers.drop_ins.trl import accuracy_reward, reasoning_accuracy_reward


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def test_right_wrong_and_no_verdict_are_three_answers() -> None:
    completions = [said(r"My answer is \boxed{\frac{1}{3}}"), said(r"My answer is \boxed{\frac{1}{2}}"), said("So 3.")]
    rewards = accuracy_reward(completions, [r"\frac{1}{3}", r"\frac{1}{3}", r"\frac{1}{"])
    assert rewards == [1.0, 0.0, None]
    assert accuracy_reward(completions=["so 7", "", []], solution=["7", "7", "7"], prompts=["?"] * 3) == [1.0, 0.0, 0.0]


def test_reasoning_that_does_not_end_is_wrong() -> None:
    done = said(r"<think> hm </think> The final answer is \boxed{\frac{1}{3}}")
    wrong = said(r"<think> \boxed{\frac{1}{3}} </think> The final answer is \boxed{\frac{1}{2}}")
    open_end = said(r"<think> maybe \boxed{\frac{1}{3}}")
    assert reasoning_accuracy_reward([done, wrong, open_end], [r"\frac{1}{3}"] * 3) == [1.0, 0.0, 0.0]
    custom = said(r"hm [DONE] \boxed{7}")
    assert reasoning_accuracy_reward([custom], ["7"], reasoning_delimiters=["[DONE]"]) == [1.0]


def test_the_log_columns_have_one_text_for_each_sample() -> None:
    logged: dict[str, list[Any]] = {}
    accuracy_reward([said("so 7"), said("hm")], ["7", "8"], log_extra=logged.__setitem__)
    assert logged["solution"] == ["7", "8"]
    assert logged["answer"] == ["7", ""]
    assert all(isinstance(reason, str) for reason in logged["reason"])


def test_they_pickle_for_asynchronous_trainers() -> None:
    assert pickle.loads(pickle.dumps(accuracy_reward))(["so 7"], ["7"]) == [1.0]


@pytest.mark.slow
def test_a_trainer_masks_the_sample_without_a_verdict(tiny_llama_dir: Path, tmp_path: Path) -> None:
    pytest.importorskip("trl")
    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    config = GRPOConfig(
        output_dir=str(tmp_path),
        per_device_train_batch_size=4,
        num_generations=2,
        max_completion_length=8,
        max_steps=1,
        save_strategy="no",
        report_to="none",
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
        seed=0,
    )
    rows = [{"prompt": "hi", "solution": "7"}, {"prompt": "hello", "solution": r"\frac{1}{"}]
    trainer = GRPOTrainer(
        model=str(tiny_llama_dir), reward_funcs=accuracy_reward, args=config, train_dataset=Dataset.from_list(rows)
    )
    trainer.train()
    torch.set_num_threads(threads)
    rewards = trainer._logs["rewards"]["accuracy_reward"]
    solutions = trainer._logs["extra"]["solution"]
    assert sorted(solutions) == sorted(["7", r"\frac{1}{"] * 2)
    assert [math.isnan(reward) for reward in rewards] == [solution != "7" for solution in solutions]
