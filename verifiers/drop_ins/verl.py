"""verl's ``compute_score`` for mathematics. In the file that ``reward.custom_reward_function.path`` names:

    from guerdon.verifiers.drop_ins.verl import compute_score

verl adds up whatever it is given and has no word for "no reward": a NaN would spoil the advantages of the whole batch,
and a 0 would punish a response for a reference that nobody can read. So a sample without a verdict raises, unless
``reward_kwargs`` holds a number for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.rewards.errors import UsageError
from guerdon.verifiers.drop_ins._judge import judged, value_of

_REMEDY = "mend the reference, or give such samples a number of your choice: reward_kwargs: {unscored: 0.0}"


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    unscored: float | None = None,
    reward_router_address: Any = None,
    reward_model_tokenizer: Any = None,
    **options: Any,
) -> dict[str, float]:
    r"""1.0 if the response's final answer is the ground truth, else 0.0, as verl's naive manager asks for it.

    unscored: the score of a sample without a verdict; None raises UnscoredError. options: those of
    ``guerdon.verifiers.math``, from ``reward_kwargs``. The keys are the same in every answer, which verl relies on.

    >>> compute_score("math", r"So it is \boxed{\frac{1}{2}}.", "0.5")
    {'score': 1.0, 'acc': 1.0, 'unscored': 0.0}
    """
    return compute_scores([data_source], [solution_str], [ground_truth], [extra_info], unscored=unscored, **options)[0]


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    *,
    unscored: float | None = None,
    reward_router_address: Any = None,
    reward_model_tokenizer: Any = None,
    **options: Any,
) -> list[dict[str, float]]:
    """The same for a batch, as verl's batch manager asks for it."""
    if not len(data_sources) == len(solution_strs) == len(ground_truths):
        raise UsageError(
            f"{len(solution_strs)} responses, {len(data_sources)} data sources, {len(ground_truths)} ground truths"
        )
    answers = []
    for score in judged(solution_strs, ground_truths, options):
        is_unscored = score.value is None
        value = unscored if is_unscored and unscored is not None else value_of(score, _REMEDY)
        answers.append({"score": float(value), "acc": score.value or 0.0, "unscored": float(is_unscored)})
    return answers
