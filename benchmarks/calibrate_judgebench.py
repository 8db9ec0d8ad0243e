"""Five published reward models on JudgeBench: are their margins log-odds, and does one temperature mend it?

    python benchmarks/calibrate_judgebench.py [scores_judgebench.jsonl.gz]

For each model: the cross-fitted log-loss of sigma(r_chosen - r_rejected) as it is, after each map of
``guerdon.calibration``, and how much one temperature loses against the best map. Bar: 5 %.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import sys
from pathlib import Path

import numpy as np

from guerdon.calibration.choice import Choice, choose_map

BAR = 1.05
REPEATS = 20
"""Draws of the folds: one draw of 192 pairs into ten folds moves the log-loss by about 0.003."""


def main(path: Path) -> None:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    for name in sorted(rows[0]["scores"]):
        margins = np.array([row["scores"][name]["chosen"] - row["scores"][name]["rejected"] for row in rows])
        report(name, margins)


def report(name: str, margins: np.ndarray) -> None:
    choices = [choose_map(margins, 1.0, pairs=True, seed=seed) for seed in range(REPEATS)]
    print(f"\n{name}: {len(margins)} pairs, {np.mean(margins > 0):.3f} right, T = {temperature(margins):.3f}")
    raw = choices[0].raw
    assert raw is not None
    print(f"  {'raw':<12} {raw.log_loss.value:.4f}  ECE {raw.ece:.3f}")
    means = {m: float(np.mean([loss(choice, m) for choice in choices])) for m in names(choices[0])}
    for method, value in means.items():
        ece = np.mean(
            [c.quality.ece for choice in choices for c in choice.candidates if c.method == method and c.quality]
        )
        print(f"  {method:<12} {value:.4f}  ECE {ece:.3f}")
    ratio = means["temperature"] / min(*means.values(), raw.log_loss.value or math.inf)
    print(f"  one temperature / best map = {ratio:.4f} ({'within' if ratio <= BAR else 'beyond'} {BAR:g})")


def names(choice: Choice) -> list[str]:
    return [c.method for c in choice.candidates if c.quality is not None]


def loss(choice: Choice, method: str) -> float:
    found = next(c.quality for c in choice.candidates if c.method == method)
    assert found is not None
    assert found.log_loss.value is not None
    return found.log_loss.value


def temperature(margins: np.ndarray) -> float:
    return choose_map(margins, 1.0, pairs=True, methods=["temperature"]).map.temperature or float("inf")


if __name__ == "__main__":
    default = Path(os.environ.get("GUERDON_DATA", Path(__file__).parents[2] / "shared" / "data"))
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default / "scores_judgebench.jsonl.gz")
