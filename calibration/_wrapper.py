"""What the scorers that improve a scorer share: they hold one, and change its scores each by itself."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from guerdon.rewards.scorer import BatchScorer, Prepared, Scorer
from guerdon.rewards.types import Sample, Scale, Score


class Wrapper(ABC):
    """A scorer around a scorer. word: what is done to a score; it ends the name and heads the details.

    record: what it is done with, for the version; settings: what else decides the values. reads_samples: whether a new
    value depends on the sample (its stratum, its length) and not only on the old value.
    """

    scale: Scale
    word: ClassVar[str]
    reads_samples: ClassVar[bool] = True
    prepare: Callable[[Sample], Prepared | Score]
    run: Callable[[Sequence[Prepared]], list[Score]]

    def __init__(self, scorer: Scorer, record: Any, **settings: Any) -> None:
        self._scorer = scorer
        content = json.dumps([record.to_json(), settings], sort_keys=True, default=str)
        self._fingerprint = hashlib.sha256(content.encode()).hexdigest()[:12]
        if isinstance(scorer, BatchScorer):  # attributes, so that only these are BatchScorers
            self.prepare, self.run = scorer.prepare, self._run
            # What an engine asks of a reward model: its batches, its shared prompts, and ready-made text and ids. These
            # last name no response, so a wrapper that reads one cannot take them.
            passed_on = ["max_batch_tokens", "share_prompts", "packs", "prepare_many"]
            passed_on += [] if self.reads_samples else ["prepare_text", "prepare_ids"]
            for each in passed_on:
                if hasattr(scorer, each):
                    setattr(self, each, getattr(scorer, each))
        self.remote = bool(getattr(scorer, "remote", False))

    @property
    def name(self) -> str:
        return f"{self._scorer.name}-{self.word}"

    @property
    def version(self) -> str:
        """The held scorer's, and a hash of the record and the settings."""
        return f"{self._scorer.version}+{self.word}.{self._fingerprint}"

    def provenance(self) -> dict[str, Any]:
        """The held scorer's, and in ``calibrators`` what was done to its scores, first to last, with its hash."""
        inner = getattr(self._scorer, "provenance", None)
        known = dict(inner()) if callable(inner) else {}
        done = [*known.get("calibrators", ()), {"kind": self.word, "hash": self._fingerprint}]
        return {**known, "calibrators": done}

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self._improved(samples, self._scorer.score(samples))

    def _run(self, batch: Sequence[Prepared]) -> list[Score]:
        assert isinstance(self._scorer, BatchScorer)
        return self._improved([prepared.sample for prepared in batch], self._scorer.run(batch))

    def _improved(self, samples: Sequence[Sample], scores: Sequence[Score]) -> list[Score]:
        """The scores with new values, in order; one without a value stays as it is."""
        rows = [row for row, score in enumerate(scores) if score.value is not None]
        result = list(scores)
        if rows:
            new = self._values([samples[row] for row in rows], [scores[row] for row in rows])
            for row, score in zip(rows, new, strict=True):
                result[row] = score
        return result

    @abstractmethod
    def _values(self, samples: Sequence[Sample], scores: Sequence[Score]) -> list[Score]:
        """The new scores of samples that all have one."""

    def _new(self, score: Score, value: float, **said: Any) -> Score:
        if self.word in score.details:  # two curves one after the other
            said["before"] = score.details[self.word]
        return Score(value, score.reason, {**score.details, self.word: {"raw": score.value, **said}})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._scorer!r})"
