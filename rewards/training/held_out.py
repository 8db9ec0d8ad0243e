"""Held-out pairs: measured through the scorer's own path, and what the measurements decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from guerdon.rewards.evaluation.probabilities import fit_inverse_temperature
from guerdon.rewards.model import RewardModel
from guerdon.rewards.types import Preference, Sample


@dataclass(frozen=True, slots=True)
class Measurement:
    """The margins r(chosen) - r(rejected) of the held-out pairs that have a side and could be scored."""

    margins: tuple[float, ...]

    @property
    def right(self) -> tuple[float, ...]:
        """1 for a pair ordered as its label says, 0 for the reverse, 0.5 for a tie of the scorer."""
        return tuple(1.0 if m > 0 else 0.5 if m == 0 else 0.0 for m in self.margins)

    @property
    def temperature(self) -> float | None:
        """T of P(chosen wins) = sigmoid(margin / T) with the smallest log-loss; None where no finite T > 0 has it.

        That is so without margins, when all are 0, and when the scores are no better than a coin.
        """
        if not self.margins:
            return None
        inverse = fit_inverse_temperature(np.asarray(self.margins, dtype=np.float64))
        return 1.0 / inverse if inverse else None

    def figures(self) -> dict[str, float]:
        """Accuracy (ties half) and log-loss; empty without pairs."""
        if not self.margins:
            return {}
        loss = sum(math.log1p(math.exp(-abs(m))) + max(0.0, -m) for m in self.margins)
        return {
            "held_out_accuracy": sum(self.right) / len(self.margins),
            "held_out_loss": loss / len(self.margins),
            "held_out_pairs": float(len(self.margins)),
        }


def measure(scorer: RewardModel, preferences: Sequence[Preference]) -> Measurement:
    """Score both sides of every pair that is no tie; pairs with an unscored side are left out."""
    decided = [p for p in preferences if p.probability is None or p.probability != 0.5]
    scores = scorer.score([Sample(p.prompt, r) for p in decided for r in (p.chosen, p.rejected)])
    return Measurement(
        tuple(
            a.value - b.value
            for a, b in zip(scores[::2], scores[1::2], strict=True)
            if a.value is not None and b.value is not None
        )
    )


def keeps_up(new: Sequence[float], best: Sequence[float]) -> bool:
    """Whether newer weights should replace the best so far: unless they are worse by more than one standard error.

    new, best: which pairs each got right. The error is that of the mean paired difference. With a few hundred pairs an
    accuracy moves by two points between equally good weights; taking the maximum of such noise keeps early weights,
    while the schedule was made for the last ones.
    """
    difference = np.asarray(new) - np.asarray(best)
    error = float(difference.std(ddof=1)) / math.sqrt(len(difference)) if len(difference) > 1 else 0.0
    return float(difference.mean()) >= -error
