"""Whatever a model may write: LaTeX from a grammar, real answers mutated. No hang, no crash, no fault, and a text that
can be read is equal to itself.

``benchmarks/fuzz_math.py`` runs the same for as long as one likes, with atheris where it is installed.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from guerdon.rewards import Sample
from guerdon.verifiers import load
from guerdon.verifiers._answer import find_answer
from guerdon.verifiers._math.errors import UnreadError
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers.math import verify

SECONDS = 5.0
"""Ten times the limit of a verdict, for machines that are busy."""

ROWS = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text().splitlines()]
TEXTS = [row["reference"] for row in ROWS if isinstance(row["reference"], str)] + [row["response"] for row in ROWS]
VERIFIER = load("math")

atoms = st.sampled_from([
    "0", "1", "2", "-3", "10", "0.5", "1,234", "12.50", "x", "y", "n", "a_1", r"\alpha", r"\pi", "e", "i", r"\infty",
    "50\\%", r"60^\circ", r"5\text{ cm}", r"\$3", "½", "x²", "√2", "A", r"\text{yes}", "3:4", "2:30", r"\emptyset",
])  # fmt: skip
FORMS = [
    r"\frac{%s}{%s}", "%s+%s", "%s - %s", r"%s \cdot %s", "%s%s", "%s/%s", "%s^{%s}", "%s^%s", "%s_{%s}", "(%s, %s)",
    "[%s, %s)", r"\{%s, %s\}", "%s, %s", r"%s \text{ or } %s", "%s = %s", r"%s \leq %s", "%s < %s", r"%s \cup %s",
    r"\sqrt[%s]{%s}", r"\log_{%s} %s", r"\binom{%s}{%s}", r"\begin{pmatrix} %s & %s \end{pmatrix}", r"%s \pm %s",
    r"%s \equiv %s \pmod{7}", r"\{%s : %s > 0\}", r"\int_0^1 %s \, d%s", r"\sum_{k=1}^{%s} %s", r"%s \in %s",
    r"f(%s) = %s", r"%s \approx %s", r"%s \mid %s", r"%s \text{ and } %s", "%s : %s", r"%s \setminus %s",
]  # fmt: skip
WRAPS = [
    "(%s)", "-%s", r"\sqrt{%s}", "|%s|", "%s!", r"\sin(%s)", r"\ln %s", r"\left(%s\right)", "{%s}", "$%s$", "x = %s",
    r"\text{%s}", r"\lfloor %s \rfloor", r"\overline{%s}", r"%s\%%", r"%s^\circ", r"\boxed{%s}", r"\mathrm{%s}", "%s'",
    r"%s \text{ m}^2", r"\vec{%s}", r"\det(%s)", r"\begin{cases} %s & x > 0 \end{cases}", r"\exp(%s)", r"\bar{%s}",
]  # fmt: skip
formulas = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda form, a, b: form.replace("%s", "\0", 1).replace("%s", b).replace("\0", a),
                  st.sampled_from(FORMS), inner, inner),
        st.builds(lambda wrap, a: wrap.replace("%s", a).replace("%%", "%"), st.sampled_from(WRAPS), inner),
    ),
    max_leaves=9,
)  # fmt: skip

PIECES = [
    *"0123456789+-*/^_{}()[]|<>=,.;:!$%&'\"\\ \n",
    "\\frac",
    "\\text{",
    "\\left",
    "\\right",
    "\\boxed{",
    "\\begin{",
]
PIECES += [
    "\\end{",
    "pmatrix}",
    "½",
    "π",
    "∞",
    "≤",
    "∪",
    "−",
    "²",
    "\u200b",
    "\0",
    "  ",
    "and",
    " or ",
    "e9",
    "\\\\",
    "\\pm",
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A real answer with a few pieces cut out, doubled, swapped in from elsewhere or made up."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 6))):
        at, to = sorted((draw(st.integers(0, len(text))), draw(st.integers(0, len(text)))))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            text = text[:at] + text[to:]
        elif kind == 1:
            text = text[:to] + text[at:to] * draw(st.integers(1, 3)) + text[to:]
        elif kind == 2:
            text = text[:at] + draw(st.sampled_from(PIECES)) + text[at:]
        else:
            other = draw(st.sampled_from(TEXTS))
            text = text[:at] + other[: draw(st.integers(0, len(other)))] + text[to:]
        text = text[:2_000]
    return text


def checked(response: str, reference: str) -> float | None:
    start = time.monotonic()
    score = VERIFIER.score([Sample("", response, reference)])[0]
    assert time.monotonic() - start < SECONDS, "too slow"
    assert score.status != "error", score.reason
    assert score.value in (0.0, 1.0, None)
    return score.value


@settings(max_examples=250)
@given(formulas, formulas)
@example("1", r"\frac{1}{")
def test_formulas_of_a_grammar_end_in_a_verdict(answer: str, reference: str) -> None:
    checked(f"\\boxed{{{answer}}}", reference)
    checked(answer, reference)


@settings(max_examples=250)
@given(mutated(), mutated())
def test_mutated_answers_end_in_a_verdict(response: str, reference: str) -> None:
    checked(response, reference)
    checked(f"The answer is {response}", reference)


@settings(max_examples=200)
@given(st.one_of(formulas, mutated()))
def test_what_can_be_read_is_equal_to_itself(text: str) -> None:
    try:
        parse(text)
    except UnreadError:
        return
    response = f"<answer>{text}</answer>"
    if find_answer(response).text == text and "hedged" not in find_answer(response).flags:
        assert verify(response, text).value != 0.0


@settings(max_examples=200)
@given(formulas, formulas)
def test_the_two_sides_may_be_swapped(a: str, b: str) -> None:
    """Under the exact policies, since a rounded reference is a matter of sides."""
    options = {"rounding": "exact", "percent": "value", "bases": "match"}
    there, back = (_exact(*pair, options) for pair in ((a, b), (b, a)))
    if there is not None and back is not None:
        assert there == back, (a, b)


def _exact(answer: str, reference: str, options: dict[str, str]) -> float | None:
    response = f"<answer>{answer}</answer>"
    if find_answer(response).text != answer:
        return None
    try:
        parse(answer), parse(reference)
    except UnreadError:
        return None
    return verify(response, reference, **options).value  # type: ignore[arg-type]


@settings(max_examples=200)
@given(st.text(max_size=300) | st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_any_text_at_all_ends_in_a_verdict(text: str) -> None:
    checked(text, "7")
    checked("7", text)
    checked(f"\\boxed{{{text}}}", text)
