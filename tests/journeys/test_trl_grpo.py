"""The import journey for real: one step of TRL's GRPOTrainer, on a tiny random model, rewarded by a scorer.

The expected rewards are computed here from the completions that the trainer itself logged.
"""

from __future__ import annotations

import math
import runpy
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon.rewards import Sample, Score, pointwise
from guerdon.rewards.errors import OutageError
from guerdon.rewards.trainers import for_trl

pytest.importorskip("trl", reason="TRL is not installed (pip install trl)")

PROMPTS = ["hello", "what is 6 times 7"]


def vowel_share(sample: Sample) -> Score:
    """The share of vowels and digits; a response with neither letters nor digits cannot be judged."""
    letters = [character for character in sample.response_text.lower() if character.isalnum()]
    if not letters:
        return Score.unscored("no letters")
    return Score(sum(character in "aeiou0123456789" for character in letters) / len(letters), details={"answer": "x"})


def second_only(sample: Sample) -> Score:
    """Judges only the samples whose reference is 42, whatever the response."""
    return Score(2.0) if sample.reference == "42" else Score.unscored("not mine", status="not_applicable")


def down(sample: Sample) -> Score:
    raise OutageError("the reward server is down")


@pytest.fixture(scope="module")
def grpo(tiny_llama_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A function that runs one GRPO step with the reward functions given and returns the trainer."""
    import torch
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def run(rewards: list[Any], *, chat: bool = False) -> Any:
        prompts: list[Any] = [[{"role": "user", "content": text}] for text in PROMPTS] if chat else PROMPTS
        rows = [{"prompt": prompt, "answer": answer} for prompt, answer in zip(prompts, ["hi", "42"], strict=True)]
        config = GRPOConfig(
            output_dir=str(tmp_path_factory.mktemp("grpo")),
            per_device_train_batch_size=4,
            num_generations=2,
            max_completion_length=8,
            max_steps=1,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
            gradient_checkpointing=False,
            disable_tqdm=True,
            seed=0,
        )
        trainer = GRPOTrainer(
            model=str(tiny_llama_dir), reward_funcs=rewards, args=config, train_dataset=Dataset.from_list(rows)
        )
        trainer.train()
        return trainer

    yield run
    torch.set_num_threads(threads)


def logged(trainer: Any) -> dict[str, float]:
    return next(entry for entry in trainer.state.log_history if "reward" in entry)


@pytest.mark.parametrize("chat", [False, True])
def test_the_rewards_of_a_scorer_reach_the_trainer(grpo: Any, chat: bool) -> None:
    trainer = grpo([for_trl(pointwise(vowel_share, scale="probability"))], chat=chat)
    texts = [text if isinstance(text, str) else text[0]["content"] for text in trainer._logs["completion"]]
    expected = [vowel_share(Sample("p", text)).value for text in texts]
    assert len(expected) == 4
    assert trainer._logs["rewards"]["vowel_share"] == pytest.approx(
        [math.nan if value is None else value for value in expected], nan_ok=True
    )
    mean = statistics.fmean(value for value in expected if value is not None)
    assert mean > 0
    assert logged(trainer)["rewards/vowel_share/mean"] == pytest.approx(mean)
    assert logged(trainer)["reward"] == pytest.approx(mean)
    assert logged(trainer)["rewards/vowel_share/unscored"] == pytest.approx(expected.count(None) / 4)
    assert set(trainer._logs["extra"]) == {"vowel_share_answer", "vowel_share_reason"}


def test_the_rewards_of_a_server_reach_the_trainer(grpo: Any) -> None:
    pytest.importorskip("uvicorn")
    from guerdon.serving.client import RemoteScorer
    from guerdon.serving.config import ServeConfig
    from guerdon.serving.server import serving

    with serving(ServeConfig(port=0), {"vowels": pointwise(vowel_share, scale="probability")}) as url:
        trainer = grpo([for_trl(RemoteScorer(url))])
    expected = [vowel_share(Sample("p", text)).value for text in trainer._logs["completion"]]
    assert trainer._logs["rewards"]["vowels"] == pytest.approx(
        [math.nan if value is None else value for value in expected], nan_ok=True
    )


def test_samples_without_a_score_are_left_out_and_move_nothing(grpo: Any) -> None:
    trainer = grpo([for_trl(pointwise(second_only, scale="real"), name="mine")])
    mine = [prompt == PROMPTS[1] for prompt in trainer._logs["prompt"]]
    assert sorted(mine) == [False, False, True, True]
    rewards = trainer._logs["rewards"]["mine"]
    assert [None if math.isnan(reward) else reward for reward in rewards] == [2.0 if own else None for own in mine]
    assert logged(trainer)["rewards/mine/mean"] == 2.0  # the mean of those that have one, not 1.0
    assert logged(trainer)["rewards/mine/unscored"] == 0.5
    assert list(trainer._logs["advantages"]) == [0.0] * 4
    assert math.isfinite(logged(trainer)["loss"])


def test_an_outage_ends_the_run(grpo: Any) -> None:
    with pytest.raises(OutageError, match="the reward server is down"):
        grpo([for_trl(pointwise(down, scale="real"))])


def test_the_example_learns_what_it_is_rewarded_for(capsys: pytest.CaptureFixture[str]) -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "grpo_trl.py"))
    example["main"]()
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line[:4].strip().isdigit()]
    first, last = float(rows[0][1]), float(rows[-1][1])
    assert (rows[0][0], rows[-1][0]) == ("4", "24")
    assert first < 0.7
    assert last > 0.9
