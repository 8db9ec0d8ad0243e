"""Rewards: the words, the one interface, and the models that reward (their training and their evaluation).

Importing this package loads neither torch nor transformers; ``guerdon.rewards.model`` and ``guerdon.rewards.train`` do.
"""

from guerdon.rewards.contract import check_scorer
from guerdon.rewards.errors import GuerdonError
from guerdon.rewards.scorer import BatchScorer, Prepared, Scorer, pointwise
from guerdon.rewards.types import Preference, Ranking, Sample, Scale, Score, Status, Text, text_of

__all__ = [
    "BatchScorer",
    "GuerdonError",
    "Preference",
    "Prepared",
    "Ranking",
    "Sample",
    "Scale",
    "Score",
    "Scorer",
    "Status",
    "Text",
    "check_scorer",
    "pointwise",
    "text_of",
]
