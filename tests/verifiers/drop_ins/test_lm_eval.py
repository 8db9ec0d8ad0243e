"""The call forms of lm-evaluation-harness, which is not installed: the calls are made as its ``task.py`` makes them."""

from __future__ import annotations

import pytest

from guerdon.rewards.errors import UnknownNameError, UnscoredError
from guerdon.verifiers.drop_ins.lm_eval import extract_answers, math_equal, process_results


def test_a_document_has_its_metrics_and_leaves_out_what_nobody_can_tell() -> None:
    assert process_results({"answer": "1/2"}, ["So 0.5."]) == {"exact_match": 1.0, "unscored": 0.0}
    assert process_results({"target": "1/2", "question": "?"}, ["So 5."]) == {"exact_match": 0.0, "unscored": 0.0}
    assert process_results({"solution": r"… so \boxed{2}"}, ["So 2.", "So 3."]) == {"exact_match": 0.5, "unscored": 0.0}
    assert process_results({"answer": r"\frac{1}{"}, ["So 5."]) == {"unscored": 1.0}
    assert process_results({"answer": "2"}, []) == {}


def test_a_document_without_a_known_answer_is_the_tasks_mistake() -> None:
    with pytest.raises(UnknownNameError, match="field with the known answer"):
        process_results({"question": "?"}, ["So 5."])


def test_the_metric_takes_references_and_predictions_by_name() -> None:
    assert math_equal(references=["1/2"], predictions=["So 0.5."]) == 1.0
    assert math_equal(references=["1/2", "3"], predictions=["So 3."]) == 1.0
    assert math_equal(references=["1/3"], predictions=["So 0.33."], tolerance="0.01", styles=["number"]) == 1.0
    with pytest.raises(UnscoredError, match="process_results"):
        math_equal(references=[r"\frac{1}{"], predictions=["So 0.5."])


def test_the_filter_keeps_the_shape_and_the_order() -> None:
    filtered = extract_answers([[r"So \boxed{7}.", "So 8."], ["I give up."]], [{"answer": "7"}, {"answer": "8"}])
    assert filtered == [["7", "8"], [""]]
