r"""What changes only how an answer looks changes no verdict; what changes what it says always does.

Looks: spaces, ``\left`` and ``\right``, dollar signs, ``\,``, ``\dfrac``, ``\text``, the order of a sum or a set, the
scale of an equation. Says: one digit, one sign, the kind of one bracket, one exponent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.verifiers.math import verify

ROWS = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text().splitlines()]
BOXED = [row for row in ROWS if re.fullmatch(r"[^{}]*\\boxed\{.*\}[^{}]*", row["response"], re.DOTALL)]


def judged(answer: str, reference: str) -> float | None:
    return verify(f"The answer is \\boxed{{{answer}}}.", reference).value


# --- looks, on our own cases ------------------------------------------------------------------------------------------


def _spaced(text: str) -> str:
    """Spaces around operators, but not inside words, numbers or commands."""
    return re.sub(r"(?<=[\w)}\]])([+=])(?=[\w({\[\\])", r" \1 ", text)


def _sized(text: str) -> str:
    if "\\left" in text or text.count("(") != text.count(")") or re.search(r"[\[\]]", text):
        return text
    return text.replace("(", "\\left(").replace(")", "\\right)")


LOOKS: dict[str, Callable[[str], str]] = {
    "space around": lambda text: f"  {text} \t",
    "space around operators": _spaced,
    "dollars": lambda text: text if "$" in text else f"${text}$",
    "math brackets": lambda text: text if "$" in text or "\\(" in text else f"\\({text}\\)",
    "sizes": _sized,
    "large fractions": lambda text: text.replace("\\frac", "\\dfrac"),
    "thin space at the end": lambda text: text + "\\,",
    "thin space after plus": lambda text: text.replace(" + ", " +\\, "),
    "full stop": lambda text: text + ".",
    "braces": lambda text: (
        text if re.search(r"[,;:]|\\text|(?<![A-Za-z\\])[A-Za-z]{2}|[A-J]\)", text) else f"{{{text}}}"
    ),
    "display style": lambda text: text if "text" in text else "\\displaystyle " + text,
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_look_changes_no_verdict(look: str) -> None:
    changed = []
    for row in BOXED:
        answer = row["response"][row["response"].index("\\boxed{") + 7 : row["response"].rindex("}")]
        # words are not set in dollars, and text of several lines or answers is not one formula
        if "\\boxed" in answer or "\n" in answer or not re.search(r"\d|\\|[=<>^]", answer):
            continue
        before, after = judged(answer, row["reference"]), judged(LOOKS[look](answer), row["reference"])
        if before != after:
            changed.append((answer, LOOKS[look](answer), row["reference"], before, after))
    assert not changed, changed[:5]


@pytest.mark.parametrize("look", ["space around", "space around operators", "dollars", "sizes", "large fractions"])
def test_a_look_of_the_reference_changes_no_verdict(look: str) -> None:
    changed = []
    for row in ROWS:
        reference = row["reference"]
        if not isinstance(reference, str) or "\\boxed" in reference or not re.search(r"\d|\\|[=<>^]", reference):
            continue
        before = verify(row["response"], reference).value
        after = verify(row["response"], LOOKS[look](reference)).value
        if before != after:
            changed.append((row["response"], reference, LOOKS[look](reference), before, after))
    assert not changed, changed[:5]


# --- order and scale, on answers made up ------------------------------------------------------------------------------

nonzero = st.integers(1, 99).flatmap(lambda n: st.sampled_from([n, -n]))
letters = st.lists(st.sampled_from("abcnpqtxyz"), min_size=2, max_size=4, unique=True)


@st.composite
def terms(draw: st.DrawFn) -> list[str]:
    """The terms of a polynomial, no two of one kind, each with its sign."""
    names = draw(letters)
    powers = draw(st.lists(st.integers(2, 9), min_size=len(names), max_size=len(names)))
    made = [f"{draw(nonzero):+d}{name}^{power}" for name, power in zip(names, powers, strict=True)]
    return [*made, f"{draw(nonzero):+d}"]


def _sum(parts: list[str]) -> str:
    return "".join(parts).removeprefix("+")


@given(terms(), st.randoms(use_true_random=False))
def test_sums_commute(parts: list[str], order: object) -> None:
    shuffled = list(parts)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert judged(_sum(shuffled), _sum(parts)) == 1.0


@given(st.lists(st.fractions(-50, 50, max_denominator=9), min_size=1, max_size=6, unique=True), st.randoms())
def test_sets_have_no_order_and_tuples_do(values: list[object], order: object) -> None:
    items = [str(value) for value in values]
    shuffled = list(items)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    assert judged(f"\\{{{', '.join(shuffled)}\\}}", f"\\{{{', '.join(items)}\\}}") == 1.0
    if len(items) > 1:
        assert judged(f"({', '.join(shuffled)})", f"({', '.join(items)})") == float(shuffled == items)


@given(nonzero, nonzero, nonzero, nonzero)
def test_the_scale_of_an_equation_is_free(a: int, b: int, c: int, scale: int) -> None:
    reference = f"{a}x {b:+d}y = {c}"
    assert judged(f"{scale * a}x {scale * b:+d}y = {scale * c}", reference) == 1.0
    assert judged(f"{scale * c} = {scale * b}y {scale * a:+d}x", reference) == 1.0
    assert judged(f"{scale * a}x {scale * b:+d}y = {scale * c + 1}", reference) == 0.0


@given(nonzero, nonzero, st.integers(1, 9))
def test_the_scale_of_an_inequality_is_free_but_for_its_sign(a: int, b: int, scale: int) -> None:
    assert judged(f"{scale * a}x > {scale * b}", f"{a}x > {b}") == 1.0
    assert judged(f"{-scale * a}x < {-scale * b}", f"{a}x > {b}") == 1.0
    assert judged(f"{-scale * a}x > {-scale * b}", f"{a}x > {b}") == 0.0


# --- what is said -----------------------------------------------------------------------------------------------------

proper = st.integers(2, 9).flatmap(lambda b: st.integers(1, b - 1).map(lambda a: (a, b)))
ANSWERS = st.one_of(
    st.integers(10, 10**9).map(str),
    st.integers(1_000, 10**7).map(lambda n: f"{n:,}"),
    st.decimals(1, 1000, places=2).map(str),
    st.builds("\\frac{{{}}}{{{}}}".format, st.integers(11, 99), st.sampled_from([7, 13, 17, 101])),
    st.builds("{}\\sqrt{{{}}}".format, st.integers(2, 9), st.sampled_from([2, 3, 5, 7, 11, 13])),
    st.builds("{}\\pi + {}".format, st.integers(2, 99), st.integers(1, 99)),
    st.builds("({}, {})".format, st.integers(-9, 4), st.integers(5, 99)),
    st.builds("[{}, {})".format, st.integers(-9, 4), st.integers(5, 99)),
    st.builds("\\{{{}, {}\\}}".format, st.integers(-9, 4), st.integers(5, 99)),
    st.builds("x = {}".format, st.integers(2, 999)),
    st.builds("y = {}x + {}".format, st.integers(2, 99), st.integers(1, 99)),
    st.builds("e^{{{}}} - {}".format, st.integers(2, 9), st.integers(1, 99)),
    st.builds("\\begin{{pmatrix}} {} & {} \\\\ 1 & 2 \\end{{pmatrix}}".format, st.integers(2, 9), st.integers(2, 9)),
    terms().map(_sum),
)


@given(ANSWERS, st.data())
def test_one_digit_more_or_less_always_counts(answer: str, data: st.DataObject) -> None:
    digits = [match.start() for match in re.finditer(r"\d", answer)]
    at = data.draw(st.sampled_from(digits))
    other = data.draw(st.sampled_from([digit for digit in "123456789" if digit != answer[at]]))
    changed = answer[:at] + other + answer[at + 1 :]
    assert judged(answer, answer) == 1.0
    if re.sub(r"\b1(?=[a-z])", "", changed) != re.sub(r"\b1(?=[a-z])", "", answer):
        assert judged(changed, answer) == 0.0, changed


@given(ANSWERS.filter(lambda answer: re.search(r"[1-9]", answer) is not None))
def test_one_sign_always_counts(answer: str) -> None:
    """The sign of the first number, or of the first term after a plus or minus."""
    if match := re.search(r"(?<=[\w}] )[+-](?= )|(?<=\w)[+-](?=\d)", answer):
        changed = answer[: match.start()] + "-+"[match.group() == "-"] + answer[match.end() :]
    elif "," in answer and answer[0].isdigit():
        changed = "-" + answer
    else:
        first = re.search(r"-?[1-9]", answer)
        assert first is not None
        sign = "" if first.group().startswith("-") else "-"
        changed = answer[: first.start()] + sign + answer[first.start() :].removeprefix("-")
    assert judged(changed, answer) == 0.0, changed


@given(st.integers(-9, 4), st.integers(5, 99))
def test_the_kind_of_one_bracket_always_counts(a: int, b: int) -> None:
    forms = [f"({a}, {b})", f"[{a}, {b}]", f"[{a}, {b})", f"({a}, {b}]", f"\\{{{a}, {b}\\}}"]
    for answer in forms:
        for reference in forms:
            assert judged(answer, reference) == float(answer == reference), (answer, reference)


@given(terms(), st.integers(0, 1), st.sampled_from([1, -1]))
def test_one_exponent_always_counts(parts: list[str], which: int, step: int) -> None:
    changed = list(parts)
    changed[which] = re.sub(r"\^(\d)", lambda match: f"^{{{int(match[1]) + step}}}", changed[which])
    assert judged(_sum(changed), _sum(parts)) == 0.0
