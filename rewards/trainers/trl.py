"""A scorer as a reward function of TRL (GRPOTrainer, RLOOTrainer, and the experimental asynchronous GRPO).

TRL calls it once a step with the whole local batch: lists of prompts and completions, the completions of one prompt
adjacent, and every other column of the data set as a list. It returns a list of floats, with None for a sample that has
no reward; TRL leaves those out of its sums and gives them no advantage.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.trainers._common import OnOutage, checked_on_outage, score_all
from guerdon.rewards.types import Sample, Score

_logger = logging.getLogger(__name__)

REFERENCE_COLUMNS = ("reference", "answer", "solution", "ground_truth", "target", "label")
"""Columns that hold the known answer in public data sets, looked for when none is named."""


class TRLReward:
    """Made by ``for_trl``. A module-level class, so that asynchronous trainers can pickle it into another process."""

    def __init__(
        self,
        scorer: Scorer,
        *,
        reference_column: str | None,
        meta_columns: Sequence[str] | None,
        name: str | None,
        unscored: float | None,
        on_outage: OnOutage,
    ) -> None:
        self.scorer = scorer
        self.__name__ = name or scorer.name  # TRL logs rewards/<__name__>/mean
        self._reference_column = reference_column
        self._meta_columns = None if meta_columns is None else tuple(meta_columns)
        self._unscored, self._on_outage = unscored, checked_on_outage(on_outage)

    def __call__(
        self,
        prompts: Sequence[Any],
        completions: Sequence[Any],
        completion_ids: Sequence[Sequence[int]] | None = None,
        *,
        trainer_state: Any = None,
        environments: Any = None,
        log_extra: Callable[[str, list[Any]], None] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Sequence[Any],
    ) -> list[float | None]:
        samples = self._samples(prompts, completions, columns)
        scores = score_all(self.scorer, samples, self._on_outage, _logger)
        self._report(scores, log_extra, log_metric)
        return [self._unscored if score.value is None else score.value for score in scores]

    def __repr__(self) -> str:
        return f"for_trl({self.scorer!r}, name={self.__name__!r})"

    def _samples(
        self, prompts: Sequence[Any], completions: Sequence[Any], columns: dict[str, Sequence[Any]]
    ) -> list[Sample]:
        for column, values in {"completions": completions, **columns}.items():
            if len(values) != len(prompts):
                raise UsageError(f"{len(prompts)} prompts but {len(values)} values in {column!r}")
        reference = self._choose_reference(columns)
        references = columns[reference] if reference else [None] * len(prompts)
        meta = [column for column in columns if column != reference]
        if self._meta_columns is not None:
            meta = [_known(column, columns) for column in self._meta_columns]
        return [
            Sample(
                prompt,
                completion or "",  # an empty list of messages: the model said nothing
                references[index],
                group,
                {column: columns[column][index] for column in meta},
            )
            for index, (prompt, completion, group) in enumerate(
                zip(prompts, completions, _groups(prompts), strict=True)
            )
        ]

    def _choose_reference(self, columns: dict[str, Sequence[Any]]) -> str | None:
        if self._reference_column is not None:
            return _known(self._reference_column, columns)
        found = [column for column in REFERENCE_COLUMNS if column in columns]
        if len(found) > 1:
            raise UsageError(
                f"the data set has {len(found)} columns that may hold the reference: {', '.join(found)}; name one, "
                f"as in for_trl(scorer, reference_column={found[0]!r})"
            )
        return found[0] if found else None

    def _report(
        self,
        scores: list[Score],
        log_extra: Callable[[str, list[Any]], None] | None,
        log_metric: Callable[[str, float], None] | None,
    ) -> None:
        name, unscored = self.__name__, [score for score in scores if score.value is None]
        if unscored and len(unscored) == len(scores):
            _logger.warning(
                "%s: none of the %d samples of this batch could be scored; the first because: %s",
                name,
                len(scores),
                unscored[0].reason,
            )
        if log_metric is not None and scores:
            log_metric(f"rewards/{name}/unscored", len(unscored) / len(scores))
        if log_extra is not None:
            log_extra(f"{name}_reason", [_explained(score) for score in scores])
            # text, since one column of TRL's table holds one type
            answers = [score.details.get("answer") for score in scores]
            log_extra(f"{name}_answer", [None if answer is None else str(answer) for answer in answers])


def _known(column: str, columns: dict[str, Sequence[Any]]) -> str:
    if column not in columns:
        raise UnknownNameError("data set column", column, columns)
    return column


def _groups(prompts: Sequence[Any]) -> list[str]:
    """One name for each run of equal prompts: TRL puts the completions of one prompt next to each other."""
    groups: list[str] = []
    run = -1
    for index, prompt in enumerate(prompts):
        if index == 0 or prompt != prompts[index - 1]:
            run += 1
        groups.append(str(run))
    return groups


def _explained(score: Score) -> str:
    return score.reason if score.status == "ok" else f"{score.status}: {score.reason}"


def for_trl(
    scorer: Scorer,
    *,
    reference_column: str | None = None,
    meta_columns: Sequence[str] | None = None,
    name: str | None = None,
    unscored: float | None = None,
    on_outage: OnOutage = "raise",
) -> TRLReward:
    """The scorer as a TRL reward function: ``GRPOTrainer(reward_funcs=for_trl(scorer), ...)``.

    reference_column: the column with the known answer; None looks for one of REFERENCE_COLUMNS (several are an error,
    none gives samples without a reference). meta_columns: the columns that go into ``Sample.meta``; None takes all the
    others. name: what TRL logs it as; None takes the scorer's. unscored: what a sample without a score gets; None, the
    default, leaves it out of the sums and of the gradient. on_outage: ``raise`` ends the run, ``unscored`` goes on
    without this call's scores.

    Logs the share of unscored samples (``rewards/<name>/unscored``) and, in TRL's table of completions, each sample's
    reason and extracted answer; warns when a whole batch is unscored.
    With several processes TRL may hand the completions of one prompt to different ones; a scorer that compares within
    a group then needs a per-device batch that is a multiple of num_generations.

    >>> from guerdon.rewards import pointwise
    >>> exact = pointwise(lambda s: float(s.response_text == s.reference), scale="verdict", name="exact")
    >>> for_trl(exact)(prompts=["2+2?", "2+2?"], completions=["4", "5"], answer=["4", "4"])
    [1.0, 0.0]
    """
    return TRLReward(
        scorer,
        reference_column=reference_column,
        meta_columns=meta_columns,
        name=name,
        unscored=unscored,
        on_outage=on_outage,
    )
