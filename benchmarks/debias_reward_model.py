"""What debiasing does to a reward model of real pairs, afterwards (line, window, LOWESS) and in training (FiMi, ODIN).

    python benchmarks/debias_reward_model.py FOLDER --train bt --train fimi --train odin --keep runs
    python benchmarks/debias_reward_model.py FOLDER --model bt=runs/bt --model fimi=runs/fimi

FOLDER holds preferences_{train,test}.jsonl.gz and eval_rmbench.jsonl.gz (GUERDON_DATA in the tests). Models in --keep
that are there already are not trained again; scores are kept beside them. Every curve is judged on test prompts that it
was not fitted on (five folds of prompts); on RM-Bench, whose prompts are others, with the curve of all test prompts.
Prints a line of JSON a model and method: Spearman(score, length), accuracies with intervals, RM-Bench on 100 prompts of
chat and safety.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np
from real_pairs import small_weights

from guerdon.calibration.debias import fit_curve
from guerdon.calibration.debiasing.pool import Pool
from guerdon.calibration.debiasing.report import compare
from guerdon.calibration.features import measure
from guerdon.rewards.evaluation.intervals import folds_of
from guerdon.rewards.evaluation.metrics import correctness
from guerdon.rewards.model import RewardModel
from guerdon.rewards.preferences import read_preferences
from guerdon.rewards.train import TrainConfig, train

TRAINED: dict[str, dict[str, Any]] = {
    "bt": {},
    "fimi": {"debias": "fimi"},
    "fimi-alternating": {"debias": "fimi-alternating"},
    "odin": {"debias": "odin"},
}
POST_HOC = ("raw", "linear", "window", "lowess")
FOLDS = 5


@dataclass(frozen=True)
class Set:
    """A pool of responses with their lengths, and what RM-Bench says of its pairs."""

    pool: Pool
    lengths: np.ndarray
    difficulty: np.ndarray


def sets(folder: Path) -> dict[str, Set]:
    test = read_preferences(str(folder / "preferences_test.jsonl.gz"))
    styles = read_preferences(str(folder / "eval_rmbench.jsonl.gz"))
    styles = [p for p in styles if p.meta["category"] in ("chat", "safety-refuse")]
    kept = set(sorted({p.meta["group"] for p in styles})[:100])
    styles = [p for p in styles if p.meta["group"] in kept]
    found = {}
    for name, pairs in (("test", test), ("rm_bench", styles)):
        pool = Pool.of(pairs)
        difficulty = np.array([p.meta.get("difficulty", "") for p in pairs if p.probability != 0.5])
        found[name] = Set(pool, measure(["length"], pool.texts())["length"], difficulty)
    return found


def trained(name: str, folder: Path, output: Path, changed: dict[str, Any], limit: int | None) -> Path:
    if (output / "guerdon.json").exists():
        return output
    with gzip.open(folder / "preferences_train.jsonl.gz", "rt", encoding="utf-8") as stream:
        lines = stream.readlines()
    random.Random(0).shuffle(lines)
    with tempfile.TemporaryDirectory() as work:
        rows = Path(work) / "train.jsonl"
        rows.write_text("".join(lines[:limit]), encoding="utf-8")
        settings = {"overlong": "truncate", **TRAINED[name], **changed}
        train(TrainConfig(base=small_weights(), data=(str(rows),), output=str(output), **settings))
    return output


def scores_of(model: Path, data: dict[str, Set]) -> dict[str, np.ndarray]:
    store = model / "debias_scores.npz"
    if not store.exists():
        scorer = RewardModel.load(model)
        np.savez(store, **{name: found.pool.score(scorer).values for name, found in data.items()})
    with np.load(store) as kept:
        return {name: kept[name] for name in data}


def debiased(method: str, raw: np.ndarray, found: Set) -> np.ndarray:
    """The test scores, each fold of prompts by a curve of the others."""
    if method == "raw":
        return raw
    folds = folds_of(found.pool.prompts, FOLDS, 0)
    after = np.empty_like(raw)
    for fold in range(FOLDS):
        out = folds == fold
        curve = fit_curve(raw[~out], found.lengths[~out], method=method)
        after[out] = curve.apply(raw[out], found.lengths[out])
    return after


def rm_bench(method: str, scores: dict[str, np.ndarray], data: dict[str, Set]) -> dict[str, float]:
    found, values = data["rm_bench"], scores["rm_bench"]
    if method != "raw":
        values = fit_curve(scores["test"], data["test"].lengths, method=method).apply(values, found.lengths)
    right = correctness(values[found.pool.better] - values[found.pool.worse])
    return {level: float(right[found.difficulty == level].mean()) for level in ("easy", "normal", "hard")}


def report(name: str, model: Path, data: dict[str, Set], show: Callable[[str], None]) -> None:
    scores = scores_of(model, data)
    test = data["test"]
    for method in POST_HOC:
        after = debiased(method, scores["test"], test)
        (found,) = compare(test.pool, scores["test"], after, {"length": test.lengths})
        row = {"model": name, "method": method, **found.to_dict(), "rm_bench": rm_bench(method, scores, data)}
        for unit in ("before", "after", "change"):
            row[unit] = {key: [figure["value"], figure["low"], figure["high"]] for key, figure in row[unit].items()}
        if method == "raw":
            del row["before"], row["change"]
        show(json.dumps(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--train", action="append", default=[], choices=sorted(TRAINED))
    parser.add_argument("--keep", type=Path, default=Path("runs"), help="where trained models are and go")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FOLDER", help="a model that is there")
    parser.add_argument("--pairs", type=int, help="train on so many pairs only")
    parser.add_argument("--set", action="append", default=[], metavar="OPTION=VALUE", help="an option of TrainConfig")
    options = parser.parse_args()
    changed = {key: json.loads(value) for key, value in (text.split("=", 1) for text in options.set)}
    models = {
        name: trained(name, options.folder, options.keep / name, changed, options.pairs) for name in options.train
    }
    models |= {name: Path(where) for name, where in (text.split("=", 1) for text in options.model)}
    data = sets(options.folder)
    for name, model in models.items():
        report(name, model, data, lambda line: print(line, flush=True))


if __name__ == "__main__":
    main()
