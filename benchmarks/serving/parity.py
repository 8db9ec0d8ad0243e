"""Served scores against transformers' own, item by item of every set of labelled data, with the largest difference.

    python benchmarks/serving/parity.py --data ../shared/data                 # all items; hours on two cores
    python benchmarks/serving/parity.py --data ../shared/data --limit 40

Each text is scored by guerdon's engine in batches (``fast``, shared prompts) and in exact mode, and by transformers on
the same token ids in padded batches: on the right, and on the left where the model reads its last token. Bar: 1e-5 in
float32. transformers' classifier finds the end of a text by the pad id; the reference is read at the true end instead.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import torch
import workload

from guerdon.rewards import Prepared, Sample
from guerdon.rewards.model import RewardModel
from guerdon.serving.config import ServeConfig
from guerdon.serving.engine import Engine
from guerdon.serving.metrics import Metrics


def samples(file: Path, limit: int | None) -> Iterator[Sample]:
    """Every response of a set, with its prompt."""
    with gzip.open(file, "rt") as lines:
        for n, line in enumerate(lines):
            if limit is not None and n == limit:
                return
            record = json.loads(line)
            prompt = record.get("prompt", record.get("context"))
            for key in ("chosen", "rejected", "response_a", "response_b"):
                if key in record:
                    yield Sample(prompt, record[key])
            for completion in record.get("completions", []):
                found = completion.get("response", completion.get("messages", completion.get("completion")))
                if found:
                    yield Sample(prompt, found)


def served(model: RewardModel, asked: Sequence[Sample], scores: Any) -> list[float | None]:
    engine = Engine({"m": model}, ServeConfig(scores=scores, cache_entries=0), Metrics(["m"]))

    async def main() -> list[float | None]:
        jobs = [engine.submit("m", [sample], seconds=86_400) for sample in asked]
        return [(await engine.result(job)).scores[0].value for job in jobs]

    values = asyncio.run(main())
    engine.close()
    return values


def reference(net: Any, sequences: Sequence[Sequence[int]], side: str) -> list[float]:
    """transformers' forward of batches of eight of like length, padded on one side."""
    order = sorted(range(len(sequences)), key=lambda i: len(sequences[i]))
    found = [0.0] * len(sequences)
    for start in range(0, len(order), 8):
        chosen = order[start : start + 8]
        rows = [sequences[i] for i in chosen]
        longest, left = max(map(len, rows)), side == "left"
        gaps = [longest - len(row) for row in rows]
        pairs = list(zip(rows, gaps, strict=True))
        ids = torch.tensor([[net.pad_id] * (n * left) + [*r] + [net.pad_id] * (n * (not left)) for r, n in pairs])
        mask = torch.tensor([[0] * (n * left) + [1] * len(r) + [0] * (n * (not left)) for r, n in pairs])
        forward = net.model.base_model if net.causal else net.model
        with torch.no_grad():
            positions = (mask.cumsum(1) - 1).clamp(min=0)
            output = forward(input_ids=ids, attention_mask=mask, position_ids=positions)[0]
            if net.causal:
                ends = [-1 if left else len(row) - 1 for row in rows]
                values = [float(net.model.score(output[i, end])[0]) for i, end in enumerate(ends)]
            else:
                values = output[:, 0].tolist()
        for i, value in zip(chosen, values, strict=True):
            found[i] = value
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of eval_*.jsonl.gz")
    parser.add_argument("--limit", type=int, help="records of each set")
    parser.add_argument("--models", nargs="+", choices=["encoder", "decoder"], default=["encoder", "decoder"])
    options = parser.parse_args()
    torch.set_num_threads(1)
    worst = 0.0
    for name in options.models:
        with tempfile.TemporaryDirectory() as temporary:
            (workload.save_encoder if name == "encoder" else workload.save_decoder)(Path(temporary) / "m")
            model = RewardModel.load(Path(temporary) / "m", device="cpu", overlong="truncate")
            sides = ["right", "left"] if model.net.causal else ["right"]
            print(
                f"{name}: texts, cut, largest |difference| of fast and exact to transformers padded {', '.join(sides)}"
            )
            for file in sorted(options.data.glob("eval_*.jsonl.gz")):
                start = time.perf_counter()
                ready = [
                    (s, made) for s in samples(file, options.limit) if isinstance(made := model.prepare(s), Prepared)
                ]
                if not ready:
                    continue
                texts, ids = [s for s, _ in ready], [made.ids for _, made in ready]
                cut = sum(bool(dict(made.details).get("cut")) for _, made in ready)
                truth = {side: reference(model.net, ids, side) for side in sides}
                line = []
                for mode in ("fast", "exact"):
                    values = served(model, texts, mode)
                    assert None not in values
                    for side in sides:
                        far = max(abs(a - b) for a, b in zip(values, truth[side], strict=True) if a is not None)
                        worst = max(worst, far)
                        line.append(f"{far:.1e}")
                seconds = time.perf_counter() - start
                print(f"  {file.name:34} {len(texts):6} {cut:5}  {'  '.join(line)}  ({seconds:.0f} s)", flush=True)
    print(f"largest difference of all: {worst:.2e}")
    raise SystemExit(worst > 1e-5)


if __name__ == "__main__":
    main()
