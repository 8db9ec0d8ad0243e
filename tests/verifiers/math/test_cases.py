"""Our own pairs of answers, equal and unequal, of every kind: each row is judged as it says, both ways round."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guerdon.verifiers._math.compare import compare
from guerdon.verifiers._math.errors import UnreadError
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.policies import Policy
from guerdon.verifiers.math import verify

ROWS = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['kind']}: {row['reference'][:30]} | {row['response'][:40]}"
)
def test_a_row_is_judged_as_it_says(row: dict[str, object]) -> None:
    score = verify(str(row["response"]), row["reference"])
    assert score.status == "ok", score.reason
    assert score.value == float(bool(row["equal"])), f"{row['why']}: {score.reason} ({score.details})"


def test_half_of_the_rows_are_near_misses() -> None:
    assert len(ROWS) > 400
    assert 0.45 < sum(row["equal"] for row in ROWS) / len(ROWS) < 0.55


@pytest.mark.parametrize(
    "row", ROWS, ids=lambda row: f"{row['kind']}: {row['reference'][:30]} | {row['response'][:40]}"
)
def test_the_verdict_is_the_same_with_the_sides_changed(row: dict[str, str]) -> None:
    """Except under the one default policy that tells the sides apart, that of a rounded reference."""
    if not row["response"].startswith("\\boxed{"):
        pytest.skip("not an answer alone")
    answer = row["response"][len("\\boxed{") : -1]
    try:
        a, b = parse(answer), parse(row["reference"])
    except UnreadError:
        return
    policy = Policy(rounding="exact")
    assert compare(a, b, policy).equal == compare(b, a, policy).equal
