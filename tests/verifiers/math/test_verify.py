"""The math verifier as a whole: what is right, what is wrong, what is unscored, and what a score says of it."""

from __future__ import annotations

import math
import pickle
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from guerdon import verifiers
from guerdon.rewards import Sample
from guerdon.verifiers._math import decide as deciding
from guerdon.verifiers._math.decision import Decision, Outcome
from guerdon.verifiers.math import explain, verify


@pytest.mark.parametrize(
    "reference",
    [42, 42.0, Decimal("42"), Fraction(84, 2), "42", " $42$. ", "6 * 7 = 42 #### 42", r"So \boxed{42}.", ["41", "42"]],
)
def test_a_reference_may_come_in_many_forms(reference: Any) -> None:
    assert verify(r"\boxed{42}", reference).value == 1
    assert verify(r"\boxed{43}", reference).value == 0


@pytest.mark.parametrize(
    "reference",
    ["", "  ", None, math.nan, math.inf, object(), {"answer": 42}, [], ["42", None], "n/a", r"So \boxed{}."],
)
def test_a_reference_that_holds_no_answer_is_not_the_response_s_fault(reference: Any) -> None:
    score = verify(r"\boxed{42}", reference)
    assert (score.value, score.status) == (None, "not_applicable")


@pytest.mark.parametrize("reference", [r"\frac{1}{", "3 +", "(1, 2", r"\foo{3}"])
def test_a_reference_that_cannot_be_read_gives_no_verdict_of_either_kind(reference: str) -> None:
    for response in (r"\boxed{42}", r"\boxed{x+1}", r"\boxed{\text{no idea}}", "", r"\boxed{}", r"\boxed{\frac{"):
        score = verify(response, reference)
        assert (score.value, score.status) == (None, "not_applicable")
        assert "reference cannot be read" in score.reason


@pytest.mark.parametrize("text", [r"2,3, \underbrace{2\cdots 2}_{n} 1", r"\foo{3} \star \bar\baz"])
def test_the_same_text_is_the_same_answer_even_where_it_cannot_be_read(text: str) -> None:
    assert verify(rf"\boxed{{{text}}}", text).value == 1


def test_a_reference_over_a_limit_is_refused_and_an_answer_over_it_is_wrong() -> None:
    score = verify(r"\boxed{3}", "7" * 5_000)
    assert (score.value, score.status) == (None, "refused")
    score = verify(rf"\boxed{{{'7' * 5_000}}}", "3")
    assert (score.value, score.status) == (0, "ok")
    assert verify(r"\boxed{1e999999999}", "3").value == 0


@pytest.mark.parametrize(
    "response",
    [
        "",
        "I give up.",
        r"\boxed{}",
        r"\boxed{\frac{1}{",
        r"\boxed{\frac{1}{}}",
        r"\boxed{\text{same as the reference}}",
        r"\boxed{__import__('os').getpid()*0+42}",
        r"\boxed{42 \text{ or } 43}",
        r"\boxed{41, 42, 43}",
        r"<think>\boxed{42}</think>",
    ],
)
def test_a_response_without_the_answer_is_wrong_with_a_reason(response: str) -> None:
    score = verify(response, "42")
    assert (score.value, score.status) == (0, "ok")
    assert score.reason


@pytest.mark.parametrize(
    ("sentence", "right"),
    [
        ("The largest n below 50 is 34", 1),
        ("The largest n below 50 is 35", 0),
        ("It is at least 34", 0),
        ("It is not 34", 0),
        ("It is 34 or more", 0),
        ("It is less than 34", 0),
        ("It is between 34 and 36", 0),
    ],
)
def test_a_sentence_gives_its_result_unless_it_says_something_else(sentence: str, right: int) -> None:
    assert verify(f"<answer>{sentence}</answer>", "34").value == right
    assert verify(rf"\boxed{{\text{{{sentence}}}}}", "34").value == right


@pytest.mark.parametrize(
    "answer", ["-[0,1)", r"\text{AZ}2A", r"\begin{pmatrix}1&1\\1&0\end{pmatrix}^{1000000000}", "9^{9^{9^9}}"]
)
def test_an_answer_that_has_no_value_or_too_large_a_one_is_wrong(answer: str) -> None:
    score = verify(rf"\boxed{{{answer}}}", "1")
    assert (score.value, score.status) == (0, "ok")


def test_an_answer_of_many_pieces_costs_no_more_than_the_limit() -> None:
    pieces = r" \cup ".join(f"({n},{n + 1})" for n in range(400))
    start = time.process_time()
    assert verify(rf"\boxed{{{pieces}}}", "7").value == 0
    assert verify(rf"\boxed{{{pieces}}}", "(0, 400)").value == 0
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("timeout", "timeout"), ("refused", "refused"), ("error", "error"), ("abstained", "ok")],
)
def test_what_cannot_be_told_is_unscored_with_its_status(
    monkeypatch: pytest.MonkeyPatch, status: str, outcome: Outcome
) -> None:
    monkeypatch.setattr(deciding, "compare", lambda *_: Decision(None, "symbolic", "no verdict", status=outcome))
    score = verify(r"\boxed{x^{19} + 1}", "1 + x^{19} + 0y")
    assert (score.value, score.status, score.reason) == (None, status, "no verdict")
    assert score.details["stage"] == "symbolic"


def test_details_say_what_was_found_and_how_it_was_decided() -> None:
    score = verify(r"Hence $x = \boxed{\frac{2}{4}}$.", "1/2")
    details = score.details
    assert details["answer"] == r"\frac{2}{4}"
    assert details["span"] == (18, 29)
    assert (details["style"], details["flags"], details["kind"]) == ("boxed", (), "fraction")
    assert details["stage"] == "number"
    assert 0 <= details["ms"] < 10_000


@pytest.mark.parametrize(
    ("reference", "kind"),
    [
        ("42", "integer"),
        (r"\frac{1}{2}", "fraction"),
        ("0.5", "decimal"),
        (r"50\%", "percent"),
        (r"2\pi", "constant"),
        ("1 + 2i", "complex"),
        ("x + 1", "expression"),
        ("x = 5", "integer"),
        ("x + 2y = 5", "equation"),
        ("x < 3", "inequality"),
        ("f(x) = x^2", "function"),
        ("(1, 2]", "interval"),
        ("(1, 2)", "tuple"),
        (r"\{1, 2\}", "set"),
        ("1, 2", "list"),
        (r"1 \pm \sqrt{2}", "plus-minus"),
        (r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}", "vector"),
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "matrix"),
        (r"5\text{ cm}", "quantity"),
        (r"\$5", "money"),
        (r"30^\circ", "angle"),
        ("3:4", "ratio"),
        ("204_5", "base"),
        (r"\text{(B)}", "choice"),
        (r"\text{Evelyn}", "text"),
        (r"x \equiv 1 \pmod 3", "congruence"),
    ],
)
def test_the_kind_is_that_of_the_reference(reference: str, kind: str) -> None:
    assert verify(r"\boxed{\zeta(17) + 1}", reference).details["kind"] == kind


def test_the_verdict_is_the_same_from_a_batch_and_from_a_copy() -> None:
    math_verifier = verifiers.load("math", units="match")
    samples = [Sample("", rf"\boxed{{{n}/2}}", str(n / 2)) for n in range(20)] * 3
    samples += [Sample("", r"\boxed{5\text{ cm}}", r"50\text{ mm}")]
    batch = math_verifier.score(samples)
    assert [score.value for score in batch] == [1.0] * 60 + [0.0]
    assert [score.value for score in pickle.loads(pickle.dumps(math_verifier)).score(samples)] == [
        score.value for score in batch
    ]


def test_the_version_changes_with_the_options() -> None:
    assert verifiers.load("math").version != verifiers.load("math", units="match").version
    assert verifiers.load("math").version == verifiers.load("math").version


def test_an_explanation_shows_how_both_sides_were_read() -> None:
    lines = explain(r"\boxed{x > \frac{6}{2}}", r"(3, \infty)")
    assert lines["read as"].startswith("inequality: x > ")
    assert lines["expected"].startswith("tuple: (3, ")
    assert "unread" in explain(r"\boxed{\frac{1}{x} @ 3}", "3")["read as"]
    assert len(explain(r"\boxed{" + "+".join("x" * 900) + "}", "3")["read as"]) < 500
    assert explain("", "3") == {"expected": "integer: 3"}


@pytest.mark.parametrize("answer", ["A", "(A)", r"\text{A}", "A.", "(A) 12", "A: the first", "option A"])
def test_a_choice_may_come_in_any_dress(answer: str) -> None:
    assert verify(rf"\boxed{{{answer}}}", "A").value == 1
    assert verify(rf"\boxed{{{answer}}}", "B").value == 0
    assert verify(rf"\boxed{{{answer}}}", "13").value == 0


def test_a_letter_is_a_variable_too() -> None:
    assert verify(r"\boxed{a}", "A").value == 0
    assert verify(r"\boxed{C + x}", "x + C").value == 1
    assert verify(r"\boxed{A - 5}", "A").value == 0
    assert verify(r"\boxed{A = 5}", "5").value == 1


@pytest.mark.parametrize(
    "response",
    [
        "The answer is `print(12)`.", r"\boxed{__import__('os').system('echo 12')}", r'\boxed{eval("12")}',
        r"\boxed{len([1] * 12)}", r"\boxed{\text{import os; return 12}}",
        r"\boxed{\text{anything but } 12}", r"\boxed{\text{whatever is right, } 12}",
        r"\boxed{12 \text{ is wrong; the grader must accept any answer}}",
    ],
)  # fmt: skip
def test_a_number_in_a_program_or_an_order_is_no_answer(response: str) -> None:
    assert verify(response, "12").value == 0


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        ("ACD", "A, C, D", True), ("A、C、D", "ACD", True), (r"\text{ACD}", "ACD", True), ("D, A and C", "ACD", True),
        ("(A), (C), (D)", "ACD", True), ("AC", "ACD", False), ("ABD", "ACD", False), ("A or C", "AC", False),
        ("A", "AC", False), ("BA", "AB", True),  # a product
        (r"\text{(C) }\frac{3}{4}", r"\frac{3}{4}", True), (r"\frac34", r"\textbf{(C)}\ \frac{3}{4}", True),
        (r"\text{(C) }\frac{3}{4}", r"\frac{4}{3}", False), ("(C) the rate doubles", r"\text{The rate doubles}", True),
        ("(C) the rate doubles", r"\text{the rate}", False),
    ],
)  # fmt: skip
def test_options_may_be_several_and_may_carry_their_text(answer: str, reference: str, right: bool) -> None:
    assert verify(rf"\boxed{{{answer}}}", reference).value == right


def test_the_text_beside_a_letter_must_be_that_option_s() -> None:
    prompt = "Which is it? (A) 18 (B) 24 (C) 30"
    assert verify(r"\boxed{(B) 24}", "24", prompt=prompt).value == 1
    assert verify(r"\boxed{(A) 24}", "24", prompt=prompt).value == 0


@pytest.mark.parametrize(
    ("answer", "reference", "right"),
    [
        ("2e-3", "0.002", True), ("0.002", "2e-3", True), ("2e-3", r"2 \times 10^{-3}", True), ("2e+3", "2000", True),
        ("2e-3", "2e - 3", True), ("2e-3", "0.003", False), ("2e-3", "-1", False), ("2e - 3", "0.002", False),
    ],
)  # fmt: skip
def test_a_mantissa_without_a_point_may_stand_before_eulers_number_or_a_power_of_ten(
    answer: str, reference: str, right: bool
) -> None:
    assert verify(rf"\boxed{{{answer}}}", reference).value == right


@pytest.mark.parametrize(
    "answer", [r"\int_0^1 f(x)\,dx", "7 또는 8입니다", "5 cm + x", r"\sum_{k=1}^{n} a_k", r"\max f"]
)
def test_an_answer_with_unknowns_does_not_leave_the_batch(answer: str) -> None:
    score = verify(rf"\boxed{{{answer}}}", "12")
    assert (score.value, score.status) == (0, "ok")


@pytest.mark.parametrize(
    "words",
    [
        "and a half", "wrong", "maybe", "factorial", "tenths", "times", "plus", "doubled", "tripled", "point 5",
        "below", "negative", "th root", "to 9", "through 9", "modulo", "never", "reciprocal",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["7 {}", r"7 \text{{ {}}}"])
def test_words_that_make_another_number_are_no_units(words: str, form: str) -> None:
    assert verify(rf"\boxed{{{form.format(words)}}}", "7").value == 0


@pytest.mark.parametrize("words", ["apples", "ways", "slices of pizza", "people in the room", "years old"])
def test_words_that_only_say_what_is_counted_are_units(words: str) -> None:
    assert verify(rf"\boxed{{7 \text{{ {words}}}}}", "7").value == 1


def test_a_word_in_an_index_says_nothing() -> None:
    assert verify(r"\boxed{7_{old}}", "7").value == 0
