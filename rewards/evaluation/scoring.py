"""Scoring for an evaluation: each distinct sample once, in chunks, with what became of the unscored ones.

A scorer sees prompt, response, reference and group, never the other columns of a preference row: they hold the label.
All responses to one prompt form a group and stay in one chunk, so that scorers which compare, and engines which share
prefixes, may do so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from guerdon.rewards.errors import ContractError
from guerdon.rewards.evaluation._numeric import Floats, np, npt
from guerdon.rewards.report import Unscored
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import Sample, Score, Text, thaw

Progress: TypeAlias = Callable[[int, int], None]
Flags: TypeAlias = npt.NDArray[np.bool_]

_REASONS_SHOWN = 10


def text_key(text: Text) -> Hashable:
    """A key that is equal for equal texts, cheap to hash, and never fails."""
    if isinstance(text, str):
        return text
    # a message always has a role, so a second key that is a text content leaves none out
    if all(len(message) == 2 and isinstance(message.get("content"), str) for message in text):
        return tuple([(message["role"], message["content"]) for message in text])
    return repr(thaw(text))


@dataclass(frozen=True, slots=True)
class Scores:
    """One value a sample of a table, NaN where unscored, and what the scorer said of it."""

    values: Floats
    unscored: Mapping[int, Score]
    truncated: Flags
    over_long: Flags

    def reasons(self, indices: Sequence[int]) -> tuple[Unscored, ...]:
        """The most frequent reasons among these samples; digits are masked so that equal reasons count as one."""
        found = [self.unscored[i] for i in indices if i in self.unscored]
        counts = Counter((score.status, re.sub(r"\d+", "#", score.reason[:160])) for score in found)
        return tuple(Unscored(*what, n) for what, n in counts.most_common(_REASONS_SHOWN))


class SampleTable:
    """The distinct samples of all records, in order of their prompts' first appearance."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._index: dict[Hashable, int] = {}
        self._groups: dict[Hashable, int] = {}

    def __len__(self) -> int:
        return len(self.samples)

    def add(self, prompt: Text, response: Text, reference: Any) -> int:
        """The index of this sample, which is added unless it is there."""
        prompt_key = text_key(prompt)
        key = (prompt_key, text_key(response), repr(reference))
        if key not in self._index:
            self._index[key] = len(self.samples)
            group = self._groups.setdefault(prompt_key, len(self._groups))
            self.samples.append(Sample(prompt, response, reference, group=f"prompt {group}"))
        return self._index[key]

    def add_sample(self, sample: Sample) -> int:
        """The index of a sample that is kept as it is, with its meta; never merged with another."""
        self.samples.append(sample)
        return len(self.samples) - 1

    def lengths(self) -> Floats:
        """Characters of each response."""
        return np.array([len(sample.response_text) for sample in self.samples], dtype=float)

    def score(self, scorer: Scorer, *, chunk_size: int, progress: Progress | None = None) -> Scores:
        """Score every sample. Raises ContractError when the scorer breaks its word; an outage passes through."""
        values = np.full(len(self), np.nan)
        unscored: dict[int, Score] = {}
        truncated, over_long = np.zeros(len(self), dtype=bool), np.zeros(len(self), dtype=bool)
        done = 0
        for chunk in self._chunks(chunk_size):
            for i, score in zip(chunk, ask(scorer, [self.samples[i] for i in chunk]), strict=True):
                if score.value is None:
                    unscored[i] = score
                    over_long[i] = bool(score.details.get("over_long"))
                else:
                    values[i] = score.value
                    truncated[i] = bool(score.details.get("cut"))
            done += len(chunk)
            if progress is not None:
                progress(done, len(self))
        return Scores(values, unscored, truncated, over_long)

    def _chunks(self, size: int) -> list[list[int]]:
        """Indices in chunks of about ``size``, never parting a group."""
        groups: dict[Hashable, list[int]] = {}
        for i, sample in enumerate(self.samples):
            groups.setdefault(i if sample.group is None else sample.group, []).append(i)
        chunks: list[list[int]] = [[]]
        for members in groups.values():
            if chunks[-1] and len(chunks[-1]) + len(members) > size:
                chunks.append([])
            chunks[-1] += members
        return [chunk for chunk in chunks if chunk]


def ask(scorer: Scorer, samples: Sequence[Sample]) -> list[Score]:
    """The scorer's scores, once they are as many as the samples and inside the scale that it declares."""
    scores = scorer.score(samples)
    if not isinstance(scores, list) or len(scores) != len(samples):
        got = f"{len(scores)}" if isinstance(scores, (list, tuple)) else type(scores).__name__
        raise ContractError(f"scorer {scorer.name!r} gave {got} instead of a list of {len(samples)} scores")
    for score in scores:
        if not isinstance(score, Score):
            raise ContractError(f"scorer {scorer.name!r} gave {score!r:.80} where a Score was due")
        value = score.value
        if value is not None and not _inside(scorer.scale, value):
            raise ContractError(f"scorer {scorer.name!r} gave {value!r}, outside its scale {scorer.scale!r}")
    return scores


def _inside(scale: str, value: float) -> bool:
    if scale == "verdict":
        return value in (0.0, 1.0)
    return scale != "probability" or 0.0 <= value <= 1.0
