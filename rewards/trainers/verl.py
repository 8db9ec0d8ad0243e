"""A scorer as verl's ``compute_score``, for ``reward.custom_reward_function`` with the naive manager.

verl hands over one sample a call, without its prompt, and cannot leave a sample out: every sample needs a number. So an
unscored one gets a fallback, and the key ``unscored`` tells it apart. All keys are in every answer and are floats,
because verl takes the list of keys from the first sample of a batch and makes one array of each.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.rewards.errors import UsageError
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.trainers._common import (
    OnOutage,
    UnscoredStreak,
    checked_on_outage,
    fallback_of,
    score_all,
)
from guerdon.rewards.types import Sample

_logger = logging.getLogger(__name__)

PROMPT_KEYS = ("prompt", "question", "problem")
"""Keys of extra_info under which verl's own data scripts keep the question, looked for when none is named."""


class VerlReward:
    """Made by ``for_verl``. Calling it is ``compute_score``; ``batch`` is the form of verl's batch manager."""

    def __init__(
        self,
        scorer: Scorer,
        *,
        unscored: float | None,
        prompt_key: str | None,
        group_key: str | None,
        on_outage: OnOutage,
    ) -> None:
        self.scorer = scorer
        self._scale = scorer.scale
        self._fallback = fallback_of(self._scale, unscored, "verl")
        self._prompt_key, self._group_key = prompt_key, group_key
        self._on_outage = checked_on_outage(on_outage)
        self._streak = UnscoredStreak("for_verl", _logger)
        self._warned = False

    def __call__(
        self,
        data_source: str,
        solution_str: str,
        ground_truth: Any,
        extra_info: Mapping[str, Any] | None = None,
        **ignored: Any,
    ) -> dict[str, float]:
        return self.batch([data_source], [solution_str], [ground_truth], [extra_info])[0]

    def batch(
        self,
        data_sources: Sequence[str],
        solution_strs: Sequence[str],
        ground_truths: Sequence[Any],
        extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
        **ignored: Any,
    ) -> list[dict[str, float]]:
        """``compute_score_batch``: the answers of many samples, in order."""
        infos = [None] * len(solution_strs) if extra_infos is None else extra_infos
        if not len(data_sources) == len(solution_strs) == len(ground_truths) == len(infos):
            raise UsageError(
                f"{len(solution_strs)} responses but {len(data_sources)} data sources, {len(ground_truths)} ground "
                f"truths and {len(infos)} extra infos"
            )
        rows = zip(data_sources, solution_strs, ground_truths, infos, strict=True)
        samples = [self._sample(source, text, truth, info or {}) for source, text, truth, info in rows]
        scores = score_all(self.scorer, samples, self._on_outage, _logger)
        self._streak.see(scores)
        return [
            {"score": self._fallback, "unscored": 1.0}
            if score.value is None
            else {"score": score.value, "unscored": 0.0}
            for score in scores
        ]

    def __repr__(self) -> str:
        return f"for_verl({self.scorer!r}, unscored={self._fallback!r})"

    def _sample(self, source: str, text: str, truth: Any, info: Mapping[str, Any]) -> Sample:
        group = None
        if self._group_key is not None:
            group = f"{source}/{_named(self._group_key, info)}"
        return Sample(self._prompt(info), text, truth, group, {**info, "data_source": source})

    def _prompt(self, info: Mapping[str, Any]) -> Any:
        if self._prompt_key is not None:
            return _named(self._prompt_key, info)
        for key in PROMPT_KEYS:
            if info.get(key):
                return info[key]
        if self._scale == "logit":
            raise UsageError(
                f"verl hands no prompt to reward functions, and extra_info has none of {', '.join(PROMPT_KEYS)}, but a "
                "reward model needs it: keep the prompt in extra_info of your data, and name its key with prompt_key"
            )
        if not self._warned:
            self._warned = True
            _logger.warning(
                "verl hands no prompt to reward functions, and extra_info has none of %s: the scorer sees an empty "
                "prompt; if it reads the prompt, keep it in extra_info and name its key with prompt_key",
                ", ".join(PROMPT_KEYS),
            )
        return ""


def _named(key: str, info: Mapping[str, Any]) -> Any:
    if key not in info:
        raise UsageError(f"extra_info has no {key!r}; its keys are {sorted(info)}")
    return info[key]


def for_verl(
    scorer: Scorer,
    *,
    unscored: float | None = None,
    prompt_key: str | None = None,
    group_key: str | None = None,
    on_outage: OnOutage = "raise",
) -> VerlReward:
    """The scorer as verl's ``compute_score``. In the file that ``reward.custom_reward_function.path`` names:

        compute_score = for_verl(verifiers.load("numeric"))
        compute_score_batch = compute_score.batch        # for the batch manager

    unscored: the score of a sample that has none. Default: 0.0 on the scales verdict and probability; on logit and real
    it must be given. Why the bottom of the scale: whatever lies above what a wrong response gets would pay the policy
    for responses that cannot be judged. The price is that a right response which the scorer could not judge counts
    as wrong, so watch the mean of ``unscored`` and mend the scorer.
    prompt_key: where in extra_info the prompt is; None looks for one of PROMPT_KEYS, and without one the prompt is
    empty (a warning, once) or, if the scale is logit, an error. group_key: the key of extra_info that is the same for
    all responses to one prompt (``index`` in verl's data scripts), for scorers that compare within a batch.
    on_outage: ``raise`` ends the run, ``unscored`` goes on with fallbacks.

    ``Sample.meta`` holds extra_info and ``data_source``. Do not use verl's rate_limited manager: it turns errors into
    the reward 0.0; a RemoteScorer limits its own requests.

    >>> from guerdon.rewards import pointwise
    >>> exact = pointwise(lambda s: float(s.response_text == s.reference), scale="verdict")
    >>> for_verl(exact)(data_source="sums", solution_str="4", ground_truth="4", extra_info={"question": "2+2?"})
    {'score': 1.0, 'unscored': 0.0}
    """
    return VerlReward(scorer, unscored=unscored, prompt_key=prompt_key, group_key=group_key, on_outage=on_outage)
