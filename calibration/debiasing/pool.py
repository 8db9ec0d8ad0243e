"""Responses to be debiased: labelled pairs, rankings or single samples as one table, with the pairs as places in it.

A scorer sees prompt, response and reference alone. Pairs serve the report only; a curve is fitted on the responses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from guerdon.calibration._arrays import Codes, Floats, np
from guerdon.rewards.evaluation.intervals import codes_of
from guerdon.rewards.evaluation.scoring import Progress, SampleTable, Scores
from guerdon.rewards.preferences import pairs_of, prompt_key
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import Preference, Ranking, Sample

Record: TypeAlias = Preference | Ranking | Sample

CHUNK = 512


@dataclass(frozen=True, slots=True)
class Pool:
    """Distinct responses and the labelled pairs among them.

    table: the responses. prompts: (n,), the number of each response's first user message. better, worse: (m,), places
    of the two sides of each pair; none for samples. Pairs labelled a tie are no pairs.
    """

    table: SampleTable
    prompts: Codes
    better: Codes
    worse: Codes

    @classmethod
    def of(cls, records: Sequence[Record]) -> Pool:
        table = SampleTable()
        better, worse = [], []
        for record in records:
            if isinstance(record, Sample):
                table.add_sample(Sample(record.prompt, record.response, record.reference, record.group))
                continue
            for pair in pairs_of(record) if isinstance(record, Ranking) else [record]:
                reference = pair.meta.get("reference")
                sides = [table.add(pair.prompt, text, reference) for text in (pair.chosen, pair.rejected)]
                p = 1.0 if pair.probability is None else pair.probability
                if p != 0.5:
                    better.append(sides[p < 0.5])
                    worse.append(sides[p > 0.5])
        prompts = codes_of(prompt_key(sample.prompt) for sample in table.samples)
        return cls(table, prompts, np.array(better, dtype=np.intp), np.array(worse, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.table)

    def texts(self) -> list[str]:
        return [sample.response_text for sample in self.table.samples]

    def score(self, scorer: Scorer, progress: Progress | None = None) -> Scores:
        return self.table.score(scorer, chunk_size=CHUNK, progress=progress)

    def known(self, values: Floats) -> Codes:
        """The numbers of the pairs of which both sides have a value."""
        return np.flatnonzero(np.isfinite(values[self.better]) & np.isfinite(values[self.worse]))
