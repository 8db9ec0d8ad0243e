"""How often verifiers are wrong on real answers to math questions, and whether the intervals of audits tell the truth.

    python benchmarks/audit_math.py --data FOLDER                 # or GUERDON_DATA=FOLDER; minutes on one core
    python benchmarks/audit_math.py --data FOLDER --runs 0        # the rates alone, seconds

FOLDER holds math_labelled_dev.jsonl (question, gold, response, label, source). Audited are guerdon's rules (exact,
numeric, math), math-verify as anybody's function would be (skipped where it is not installed: pip install
'math-verify[antlr4_13_2]'), and ``contains``, a careless rule that has false positives too. Every answer has a label,
so that the rates of all of them are known, with the interval that they have as a sample of such answers. Then batches
of 2,000 answers are drawn, audits of 50 to 400 labels planned and drawn in two rounds, and the intervals compared with
the rates of all answers: the share that holds them, by size and method. Prints tables in markdown.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from guerdon import verifiers
from guerdon.calibration.audit import choose, estimate
from guerdon.calibration.intervals import METHODS
from guerdon.calibration.strata import escaped
from guerdon.rewards import Sample
from guerdon.rewards.preferences import read_samples
from guerdon.serving.specs import load_scorer

SIZES = (50, 100, 200, 400)
BATCH = 2000
LEAST_LABELS = 20
"""Strata with fewer answers are not printed."""


def math_verify(response: str, reference: str) -> bool:
    """Hugging Face's Math-Verify, called as its page says."""
    from math_verify import parse, verify

    gold = reference if "$" in reference else f"${reference}$"
    return bool(verify(parse(gold), parse(response)))


math_verify.scale = "verdict"  # type: ignore[attr-defined]


def contains(response: str, reference: str) -> bool:
    """The reference stands somewhere in the response: what a first reward function often is."""
    return reference.strip("$") in response


contains.scale = "verdict"  # type: ignore[attr-defined]


def source_of(name: str) -> str:
    """A short name: all GSM8K solutions of one model are one source."""
    owner, _, rest = name.partition("/")
    return f"gsm8k-{rest.partition('(')[2].rstrip(')')}" if owner == "openai" else rest.split()[0]


def kinds_of(samples: Sequence[Sample]) -> list[str]:
    """The kind of each reference, as the math verifier reads it."""
    boxed = [Sample(s.prompt, rf"\boxed{{{str(s.reference).strip('$')}}}", s.reference) for s in samples]
    return [escaped(score.details.get("kind")) for score in verifiers.load("math").score(boxed)]


def verdicts_of(spec: str, samples: Sequence[Sample]) -> np.ndarray:
    shown = [Sample(s.prompt, s.response, s.reference) for s in samples]
    return np.array([np.nan if s.value is None else s.value for s in load_scorer(spec).score(shown)])


def print_rates(name: str, verdicts: np.ndarray, truths: np.ndarray, sources: list[str], kinds: list[str]) -> None:
    both = [f"{source}/{kind}" for source, kind in zip(sources, kinds, strict=True)]
    found = dict(estimate(verdicts, truths, both).found)
    found |= {f"*/{key}": item for key, item in estimate(verdicts, truths, kinds).found.items() if key}
    for key in sorted(found, key=lambda key: (key.count("/") + key.startswith("*"), key)):
        item = found[key]
        if item.n < LEAST_LABELS:
            continue
        cells = [item.reason or "–"] * 2
        if (channel := item.channel) is not None:
            rates = (
                (channel.false_positive, channel.false_positive_interval),
                (channel.false_negative, channel.false_negative_interval),
            )
            cells = [f"{100 * v:.1f} [{100 * i.low:.1f}, {100 * i.high:.1f}]" for v, i in rates if i is not None]
        print(f"| {name} | {key or 'all'} | {item.n} | {item.unscored} | {' | '.join(cells)} |")


def audited(verdicts: np.ndarray, truths: np.ndarray, strata: list[str], budget: int, seed: int) -> np.ndarray:
    """The labels of an audit in two rounds, the first of which guides the second; NaN elsewhere."""
    labels = np.full(len(truths), np.nan)
    for size in (budget // 2, budget - budget // 2):
        chosen = choose(verdicts, strata, budget=size, truths=labels, seed=seed).indices
        labels[chosen] = truths[chosen]
    return labels


def coverage(found: dict[str, np.ndarray], truths: np.ndarray, sources: list[str], runs: int, seed: int) -> None:
    """How often intervals hold the rates of all answers. Rates of 0 or 1 are left out: every interval holds them."""
    hits: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    rng = np.random.default_rng(seed)
    names = np.array(sources)
    for name, verdicts in found.items():
        known = estimate(verdicts, truths, sources).found
        for run in range(runs):
            drawn = rng.integers(len(truths), size=BATCH)
            v, t = verdicts[drawn], truths[drawn]
            for strata_name, strata in (("all", [""] * BATCH), ("source", names[drawn].tolist())):
                for size in SIZES:
                    labels = audited(v, t, strata, size, run)
                    for method in METHODS:
                        for key, item in estimate(v, labels, strata, method=method, seed=run).found.items():
                            if item.channel is None or (truth := known[key].channel) is None:
                                continue
                            level = strata_name if key == "" else "one source"
                            for rate in ("false_positive", "false_negative"):
                                value, interval = getattr(truth, rate), getattr(item.channel, f"{rate}_interval")
                                if 0 < value < 1:
                                    for who in (name, "together"):
                                        cell = hits[who, level, rate, size, method]
                                        cell[0] += 1
                                        cell[1] += value in interval
                                        cell[2] += interval.width
    print("\n| verifier | strata | rate | labels |", " | ".join(METHODS), "|")
    print("|---|---|---|---|" + "---|" * len(METHODS))
    for who, level, rate, size in sorted({key[:4] for key in hits}, key=lambda k: (k[0] != "together", *k)):
        cells = [hits[who, level, rate, size, method] for method in METHODS]
        shown = " | ".join(f"{100 * hit / n:.1f} % (± {50 * width / n:.1f})" for n, hit, width in cells)
        print(f"| {who} | {level} | {rate.replace('_', ' ')} | {size} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("GUERDON_DATA"), help="the folder of the data")
    parser.add_argument("--runs", type=int, default=200, help="batches drawn for the coverage")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.data is None:
        raise SystemExit("say where the data are: --data FOLDER or GUERDON_DATA=FOLDER")
    logging.disable(logging.WARNING)  # math-verify tells of every text it cannot read
    file = Path(options.data) / "math_labelled_dev.jsonl"
    samples = read_samples(str(file), columns={"prompt": "question", "reference": "gold"})
    truths = np.array([float(sample.meta["label"]) for sample in samples])
    sources = [source_of(str(sample.meta["source"])) for sample in samples]
    specs = {name: name for name in ("exact", "numeric", "math")}
    specs |= {name: f"{Path(__file__).resolve()}:{name}" for name in ("contains", "math_verify")}
    found = {}
    for name, spec in specs.items():
        try:
            found[name] = verdicts_of(spec, samples)
        except ImportError as error:
            print(f"{name} is skipped: {error}")
    print(f"{len(samples)} answers, {truths.mean():.1%} right\n")
    print(
        "| verifier | stratum | scored | unscored | false positives % | false negatives % |\n|---|---|---|---|---|---|"
    )
    kinds = kinds_of(samples)
    for name, verdicts in found.items():
        print_rates(name, verdicts, truths, sources, kinds)
    if options.runs:
        coverage(found, truths, sources, options.runs, options.seed)


if __name__ == "__main__":
    main()
