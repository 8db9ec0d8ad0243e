"""TRL scores a folder that guerdon trained, in its own process and by its own code, to the number guerdon gives."""

from __future__ import annotations

import pytest


def test_trl_scores_our_folder_as_we_do(tiny_llama_dir, tmp_path):
    pytest.importorskip("trl", reason="TRL is not installed: pip install trl")
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from guerdon.rewards import Sample
    from guerdon.rewards.model import RewardModel
    from guerdon.rewards.synthetic import make_preferences
    from guerdon.rewards.train import TrainConfig, train
    from guerdon.rewards.types import thaw

    pairs = make_preferences(24, seed=1)
    rows = tmp_path / "rows.jsonl"
    import json

    rows.write_text(
        "\n".join(json.dumps({k: thaw(getattr(p, k)) for k in ("prompt", "chosen", "rejected")}) for p in pairs)
    )
    config = TrainConfig(
        base=str(tiny_llama_dir),
        data=(str(rows),),
        output=str(tmp_path / "model"),
        epochs=1,
        held_out=0,
        precision="fp32",
        max_length=256,
        overlong="truncate",
    )
    folder = train(config).folder

    prompts = [[{"role": "user", "content": text}] for text in ("what is 6 times 7?", "hello", "is 42 the answer?")]
    completions = [[{"role": "assistant", "content": text}] for text in ("42", "hello world " * 5, "")]
    arguments = GRPOConfig(
        output_dir=str(tmp_path / "grpo"), use_cpu=True, bf16=False, report_to="none", num_generations=2,
        per_device_train_batch_size=2, max_completion_length=4,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=str(tiny_llama_dir),
        reward_funcs=str(folder),
        args=arguments,
        train_dataset=Dataset.from_list([{"prompt": prompt} for prompt in prompts]),
    )
    inputs = [{"prompt": prompt} for prompt in prompts]
    theirs = trainer._calculate_rewards(inputs, prompts, completions, [[0]] * 3)[:, 0].tolist()
    ours = RewardModel.load(folder).score([Sample(p, c) for p, c in zip(prompts, completions, strict=True)])
    assert theirs == pytest.approx([score.value for score in ours], abs=1e-5)
