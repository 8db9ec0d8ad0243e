"""What a policy might try instead of an answer: none of it is right, and next to nothing leaves the batch.

Lists of many values, hedges in several languages, the form of the reference with other letters, tautologies, undefined
values, sums that ignore their index, expressions that take for ever.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guerdon.verifiers.math import verify

ROWS = [json.loads(line) for line in (Path(__file__).parent / "gaming.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize("group", sorted({row["group"] for row in ROWS}))
def test_no_trick_is_an_answer(group: str) -> None:
    rows = [row for row in ROWS if row["group"] == group]
    scores = [(row["reference"], row["response"], verify(row["response"], row["reference"])) for row in rows]
    assert [found for found in scores if (found[2].value, found[2].status) != (0, "ok")] == []


HUGE = {
    "tower": "9^{9^{9^{9}}}",
    "nearly 7": "7+10^{-10^{10}}",
    "nearly 7, by a factorial": r"7+\frac{1}{(10^6)!}",
    "exponent": "1e999999999",
    "negative exponent": "7e-999999999",
    "factorials": "((((10!)!)!)!)",
    "binomial": r"\binom{10^{9}}{5\cdot10^8}",
    "product": r"\prod_{k=1}^{10^{9}}k",
    "fractions": r"\frac{1}{" * 80 + "1" + "}" * 80,
    "roots": r"\sqrt{" * 80 + "7" + "}" * 80,
    "brackets": "(" * 300 + "7.5" + ")" * 300,
    "polynomial": r"\left(x+y+z\right)^{500}",
    "products of sums": "*".join(["(a+b+c+d)"] * 60),
    "digits": "1" * 100_000,
    "letters": "x" * 50_000,
    "commands": r"\frac" * 5_000,
    "factorial signs": "7" + "!" * 2_000,
    "list": "7," * 20_000,
    "braces": r"\{" * 1_000,
    "bars": "|" * 3_001,
    "carets": "^" * 1_000,
    "minus signs": "-" * 1_001 + "7",
    "signs": r"\pm" * 25 + "7",
    "columns": r"\begin{pmatrix}" + "1&" * 3_000 + r"1\end{pmatrix}",
    "sines": r"\sin(" * 60 + "7" + ")" * 60,
    "exponents": "e^{" * 50 + "7" + "}" * 50,
}


@pytest.mark.parametrize("name", HUGE)
def test_what_is_too_large_is_wrong_and_stays_in_the_batch(name: str) -> None:
    score = verify(f"\\boxed{{{HUGE[name]}}}", "7")
    assert (score.value, score.status) == (0, "ok"), score.reason


@pytest.mark.parametrize(
    "answer",
    [r"\sum_{k=1}^{10^{15}} \sin k", r"\int_0^1 x^{x^{x}}\,dx", r"\int_0^{\infty} x^{x}\,dx", r"7^{10^{100}} \bmod 13"],
)
def test_what_takes_too_long_is_never_right(answer: str) -> None:
    score = verify(rf"\boxed{{{answer}}}", "7")
    assert score.value == 0 or (score.value is None and score.status in ("timeout", "abstained"))
