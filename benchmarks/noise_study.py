"""What correcting a noisy verifier buys, and when it buys nothing: a small policy, three trainers, seeded.

    python benchmarks/noise_study.py                        # all of it, 90 s of CPU
    python benchmarks/noise_study.py --runs 4 --steps 300   # a quick look
    python benchmarks/noise_study.py --figure docs/images/noise_study.svg

The task (noise_task.py) has a verifier that misses half of the right answers and passes a trick that answers nothing.
Audits are real ones: 4,000 responses of the untrained policy are judged, ``choose`` says which of them a person
labels, and ``estimate`` gives the rates. Prints tables in Markdown: true accuracy at the end, the mean over the runs
with its 95 % interval; what the effect audit says of each pair of correction and trainer; and the same task without
the trick, where noise alone only slows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from noise_figure import Curve, figure
from noise_task import GROUP, PASS_WRONG, PROMPTS, Batch, Reward, Task, softmax, train
from scipy import stats

from guerdon.calibration.appeals import Appeals, Judge, MovingRate, corrected, draw
from guerdon.calibration.audit import choose, estimate
from guerdon.calibration.correct import backward, is_uninformative
from guerdon.calibration.effect import effect
from guerdon.calibration.normalisations import Trainer

TRAINERS: Mapping[Trainer, str] = {"grpo": "GRPO", "dr_grpo": "Dr. GRPO", "none": "REINFORCE"}
POOL = 4_000
"""Judged responses that an audit draws its labels from."""


@dataclass(frozen=True)
class Rates:
    """Audited rates, arrays (runs, strata); a stratum whose verdicts are abstained is NaN. of: each response's stratum.

    refused: runs in which no stratum could be corrected. They train on the verdicts as they are.
    """

    false_positive: np.ndarray
    false_negative: np.ndarray
    of: np.ndarray
    refused: int = 0

    def __call__(self, batch: Batch) -> np.ndarray:
        run = np.arange(len(batch.responses))[:, None, None]
        p0, p1 = (rate[run, self.of[batch.responses]] for rate in (self.false_positive, self.false_negative))
        known = ~np.isnan(p0)
        verdicts = np.where(known, batch.verdicts, np.nan)
        return backward(verdicts, np.where(known, p0, 0.0), np.where(known, p1, 0.0))


def audited(task: Task, of: np.ndarray, labels: int, runs: int) -> Rates:
    """The rates that an audit of so many labels finds, another one for each run. of: the stratum of each response."""
    names = [str(stratum) for stratum in range(of.max() + 1)]
    rates = np.full((2, runs, len(names)), np.nan)
    for run in range(runs):
        rng = np.random.default_rng(1000 + run)
        topics, seen = task.prompts(rng, (1, POOL))
        pool = task.respond(rng, topics, softmax(seen @ task.start(1)), 1)
        verdicts, truths, strata = pool.verdicts.ravel(), pool.truths.ravel(), of[pool.responses.ravel()].astype(str)
        labelled = choose(verdicts, strata.tolist(), budget=labels, seed=run).indices
        known = np.full(POOL, np.nan)
        known[labelled] = truths[labelled]
        found = estimate(verdicts, known, strata.tolist()).rates
        for place, name in enumerate(names):
            channel = found.channel(name)
            if not is_uninformative(channel):
                rates[:, run, place] = channel.false_positive, channel.false_negative
    refused = np.isnan(rates[0]).all(axis=1)
    rates[:, refused] = 0.0
    return Rates(*rates, of, int(refused.sum()))


class Appealing:
    """No labels at all: a tenth of the rejected responses appeal, and each stratum's false negatives are followed.

    The judge errs (it flips 95 % of the right and 5 % of the wrong, which is known), and nothing is known of false
    positives. Counts of STEPS batches are added up for an estimate; until the first there is no correction.
    """

    SHARE, JUDGE, STEPS = 0.1, Judge(0.95, 0.05), 10

    def __init__(self, of: np.ndarray, runs: int) -> None:
        self._of, self._rng, self._step = of, np.random.default_rng(5), 0
        self._rates = [[MovingRate() for _ in range(of.max() + 1)] for _ in range(runs)]
        self._seen = [[Appeals(0, 0, 0, 0) for _ in row] for row in self._rates]
        self._false_negative = np.zeros((runs, of.max() + 1))

    def __call__(self, batch: Batch) -> np.ndarray:
        strata = self._of[batch.responses]
        appealed = draw(batch.verdicts, self.SHARE, self._rng)
        chance = np.where(batch.truths == 1.0, self.JUDGE.flips_right, self.JUDGE.flips_wrong)
        flipped = appealed & (self._rng.random(appealed.shape) < chance)
        self._step += 1
        for run, row in enumerate(self._seen):
            for place in range(len(row)):
                mine = strata[run] == place
                accepted = int((mine & (batch.verdicts[run] == 1.0)).sum())
                counts = (int((mine & what).sum()) for what in (appealed[run], flipped[run]))
                row[place] += Appeals(accepted, int(mine.sum()) - accepted, *counts)
                if self._step % self.STEPS == 0:
                    rate = self._rates[run][place].update(corrected(row[place], self.JUDGE))
                    self._false_negative[run, place] = rate or 0.0
                    row[place] = Appeals(0, 0, 0, 0)
        run_of = np.arange(len(strata))[:, None, None]
        return backward(batch.verdicts, 0.0, np.minimum(self._false_negative[run_of, strata], 0.99))


def rewards_of(task: Task, runs: int) -> dict[str, Callable[[], Reward]]:
    """The arms of the study by name; each is made anew for a training, because appeals remember."""
    by_trick, by_format, all_alike = task.is_trick.astype(int), task.format_of, np.zeros(len(task.is_trick), int)
    audits = {
        "strata, 200 labels": audited(task, by_trick, 200, runs),
        "strata, 50 labels": audited(task, by_trick, 50, runs),
        "strata, 20 labels": audited(task, by_trick, 20, runs),
        "wrong strata, 200 labels": audited(task, by_format, 200, runs),
        "one pair of rates, 200 labels": audited(task, all_alike, 200, runs),
    }
    return {
        "the truth": lambda: lambda batch: batch.truths,
        **{name: (lambda rates=rates: rates) for name, rates in audits.items()},
        "strata, appeals": lambda: Appealing(by_trick, runs),
        "observed": lambda: lambda batch: batch.verdicts,
    }


def interval(accuracies: np.ndarray) -> tuple[float, float, float]:
    """The mean over runs and its 95 % interval, Student's t, kept in [0, 1]."""
    mean, n = float(accuracies.mean()), len(accuracies)
    half = float(stats.t.ppf(0.975, n - 1) * accuracies.std(ddof=1) / np.sqrt(n))
    return mean, max(0.0, mean - half), min(1.0, mean + half)


def ending(accuracies: np.ndarray) -> str:
    return "{:.3f} [{:.3f}, {:.3f}], {}".format(*interval(accuracies), int((accuracies > 0.99).sum()))


def curve(name: str, marks: list[int], runs: np.ndarray) -> Curve:
    _, low, high = np.array([interval(at) for at in runs]).T
    return Curve(name, marks, runs.mean(axis=1), low, high)


def steps_until(marks: list[int], curves: np.ndarray, level: float = 0.9) -> str:
    """The first mark at which the mean accuracy reaches a level."""
    reached = np.flatnonzero(curves.mean(axis=1) >= level)
    return str(marks[reached[0]]) if len(reached) else f"> {marks[-1]}"


def found_effect(task: Task, reward: Reward, trainer: Trainer, runs: int) -> str:
    """What the effect audit says of the first batch of the first run."""
    rng = np.random.default_rng(0)
    topics, seen = task.prompts(rng, (runs, PROMPTS))
    batch = task.respond(rng, topics, softmax(seen @ task.start(runs)), GROUP)
    groups = np.repeat(np.arange(PROMPTS), GROUP)
    found = effect(batch.verdicts[0].ravel(), reward(batch)[0].ravel(), groups, trainer, warn=False)
    return found.change if found.cosine is None else f"{found.change}, {found.cosine:.3f}"


def table(rows: Mapping[str, list[str]], head: list[str]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join(lines + [f"| {' | '.join([name, *cells])} |" for name, cells in rows.items()])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=16, help="independent runs of each arm, each with its own audit")
    options.add_argument("--steps", type=int, default=2000)
    options.add_argument("--figure", type=Path, help="where the figure goes (SVG)")
    args = options.parse_args()
    marks = sorted({0, args.steps, *np.geomspace(5, args.steps, 28).astype(int).tolist()})
    head = ["reward", *TRAINERS.values()]
    start = time.process_time()

    task = Task()
    arms = rewards_of(task, args.runs)
    curves = {
        trainer: {name: train(task, made(), trainer, runs=args.runs, marks=marks) for name, made in arms.items()}
        for trainer in TRAINERS
    }
    print(f"True accuracy after {args.steps} steps: mean of {args.runs} runs [95 % interval], runs above 0.99\n")
    print(table({name: [ending(curves[trainer][name][-1]) for trainer in TRAINERS] for name in arms}, head))
    for name, made in arms.items():
        if isinstance(rates := made(), Rates) and rates.refused:
            print(
                f"\n{name}: {rates.refused} of {args.runs} audits tell no stratum from chance, so nothing is corrected"
            )

    fixed = {name: made() for name, made in arms.items() if isinstance(made(), Rates)}
    said = {n: [found_effect(task, rates, trainer, args.runs) for trainer in TRAINERS] for n, rates in fixed.items()}
    print("\nThe effect audit of the first batch (run 0): what changes, and the cosine with the uncorrected update\n")
    print(table(said, head))

    plain = Task(np.full(2, PASS_WRONG[0]))
    same = rewards_of(plain, args.runs)
    names = ("the truth", "strata, 200 labels", "one pair of rates, 200 labels", "observed")
    slowed = {
        name: [steps_until(marks, train(plain, same[name](), t, runs=args.runs, marks=marks)) for t in TRAINERS]
        for name in names
    }
    print("\nWithout the trick: steps until the mean accuracy is 0.9\n")
    print(table(slowed, head))
    if args.figure:
        panels = {
            title: [curve(name, marks, runs) for name, runs in curves[t].items()] for t, title in TRAINERS.items()
        }
        args.figure.write_text(figure(panels), encoding="utf-8")
    print(f"\n{time.process_time() - start:.0f} s of CPU")


if __name__ == "__main__":
    main()
