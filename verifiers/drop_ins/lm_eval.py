"""For tasks of lm-evaluation-harness: in the task's ``utils.py``

    from guerdon.verifiers.drop_ins.lm_eval import extract_answers, math_equal, process_results

and in its YAML one of

    process_results: !function utils.process_results

    metric_list:
      - metric: !function utils.math_equal
        aggregation: mean
        higher_is_better: true

    filter_list:
      - name: final-answer
        filter:
          - function: custom
            filter_fn: !function utils.extract_answers
          - function: take_first

``process_results`` is the one that can leave a sample out: without a verdict it gives no ``exact_match``, so that the
mean is one of verdicts only, and counts it under ``unscored``. A metric must give a number, so ``math_equal`` raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.rewards.errors import UnknownNameError
from guerdon.verifiers._answer import find_answer
from guerdon.verifiers.drop_ins._judge import judged, value_of

REFERENCE_KEYS = ("answer", "solution", "target", "reference", "ground_truth", "gold", "expected_answer")
"""Fields of a document in which public data sets keep the known answer; the first that is there counts."""


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
    """The metrics ``exact_match`` (left out if nobody can tell) and ``unscored`` of one document.

    results: what the model said; several samples give the mean of those that have a verdict.

    >>> process_results({"answer": "1/2"}, ["So it is 0.5."])
    {'exact_match': 1.0, 'unscored': 0.0}
    >>> process_results({"answer": ""}, ["So it is 0.5."])
    {'unscored': 1.0}
    """
    scores = judged(results, [_reference(doc)] * len(results), {})
    values = [score.value for score in scores if score.value is not None]
    unscored = {"unscored": 1 - len(values) / len(scores)} if scores else {}
    return {"exact_match": sum(values) / len(values), **unscored} if values else unscored


def math_equal(references: Sequence[Any], predictions: Sequence[str], **options: Any) -> float:
    """The share of predictions whose final answer is one of the references, as a metric of a task.

    options: those of ``guerdon.verifiers.math``, from the metric's entry in the YAML. Raises UnscoredError if a
    prediction has no verdict.
    """
    scores = judged(predictions, [tuple(references)] * len(predictions), options)
    remedy = "mend the reference, or use process_results, which leaves such samples out"
    return sum(value_of(score, remedy) for score in scores) / len(scores)


def extract_answers(resps: Sequence[Sequence[str]], docs: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """The final answers instead of the responses, as a filter; "" where there is none."""
    return [[find_answer(response).text or "" for response in responses] for responses in resps]


def _reference(doc: Mapping[str, Any]) -> Any:
    for key in REFERENCE_KEYS:
        if key in doc:
            return doc[key]
    raise UnknownNameError("field with the known answer", REFERENCE_KEYS[0], doc)
