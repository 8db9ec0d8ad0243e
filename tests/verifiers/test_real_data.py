"""Verdicts and extraction on labelled responses of real models, with what was measured as the bar.

Measured on the development split: of 3,505 responses whose reference is a number, none is accepted wrongly and one is
rejected wrongly (``f(x) = 1 for all x``). Of the 150 hand-written cases with a number, none is accepted wrongly and
nine are rejected wrongly, all of which must be computed (``12^2``, ``5!``, a logarithm): a matter for ``math``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon.verifiers import exact, numeric
from guerdon.verifiers._answer import find_answer
from guerdon.verifiers._text import normal


def rows(shared_data: Path, name: str) -> Iterator[dict[str, Any]]:
    if not (shared_data / name).exists():
        pytest.skip(f"{name} is not in {shared_data}")
    with (shared_data / name).open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def errors(judged: Iterator[tuple[float | None, bool]]) -> Counter[str]:
    words = {(1.0, True): "right", (0.0, False): "right", (1.0, False): "false positive", (0.0, True): "false negative"}
    return Counter(words[value, label] if value is not None else "unscored" for value, label in judged)


def test_numeric_agrees_with_the_labels_of_grade_school_responses(shared_data: Path) -> None:
    found = errors(
        (numeric.verify(row["response"], row["gold"]).value, row["label"])
        for row in rows(shared_data, "math_labelled_dev.jsonl")
        if "grade-school-math" in row["source"]
    )
    assert found["unscored"] == 0
    assert found["right"] > 2_000
    assert found["false positive"] <= 2
    assert found["false negative"] <= 5


def test_numeric_accepts_no_wrong_answer_of_any_source(shared_data: Path) -> None:
    found = errors(
        (numeric.verify(row["response"], row["gold"]).value, row["label"])
        for row in rows(shared_data, "math_labelled_dev.jsonl")
    )
    assert found["right"] > 3_000
    assert found["false positive"] <= 2
    assert found["false negative"] <= 10


def test_numeric_is_not_fooled_by_the_hand_written_cases(shared_data: Path) -> None:
    found = errors(
        (numeric.verify(row["response"], row["gold"]).value, row["equal"])
        for row in rows(shared_data, "math_cases.jsonl")
    )
    assert found["false positive"] == 0
    assert found["right"] >= 135
    assert found["false negative"] <= 15


def test_a_right_response_always_has_an_answer_and_it_holds_the_reference(shared_data: Path) -> None:
    """Where the reference stands in a right response letter by letter, it stands in the answer that is found, unless
    that gives the same number in another notation."""
    right = [(r["response"], r["gold"]) for r in rows(shared_data, "math_cases.jsonl") if r["equal"]]
    right += [(r["response"], r["gold"]) for r in rows(shared_data, "math_labelled_dev.jsonl") if r["label"]]
    missed = []
    for response, reference in right:
        answer = find_answer(response)
        assert answer.text is not None, response[-200:]
        stands = normal(reference) in normal(response) and normal(reference) not in normal(answer.text)
        if stands and numeric.verify(response, reference).value != 1.0:
            missed.append((reference, answer.text))
    assert len(missed) <= len(right) // 500, missed


@pytest.mark.parametrize("wrapper", [r"So \boxed{%s}.", "<answer>%s</answer>", "Answer: %s", "The answer is %s."])
def test_every_reference_of_real_data_accepts_itself(shared_data: Path, wrapper: str) -> None:
    one_line = [r["gold"] for r in rows(shared_data, "math_golds_dev.jsonl") if "\n" not in r["gold"].strip()]
    rejected = [gold for gold in one_line if exact.verify(wrapper % gold, gold).value == 0.0]
    rejected += [gold for gold in one_line if numeric.verify(wrapper % gold, gold).value == 0.0]
    assert len(rejected) <= (len(one_line) // 100 if "is %s" in wrapper else 0), rejected[:20]
