"""Tokens: every sign belongs to one, and a number is one with all its digits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.verifiers._math.signs import ascii_form
from guerdon.verifiers._math.tokens import tokens_of

ONE_NUMBER = [
    "42", "007", "0.5", ".75", "1,234", "1,234,567.5", "1{,}234", r"10\,000", "1 234 567", r"1\ 234", r"52,\!000",
    r"11,\! 111,\! 111,\! 100", r"0.\overline{3}", r"0.1\overline{6}", r"0.\bar 3", r"0.\dot{3}",
    r"0.\dot{1}4285\dot{7}",
    "0.(3)", "0.1(6)", "0.333...", r"0.333\ldots", "3.2e-4", "2.5E6", "1e9", "1e-9", "5e-05", "2e6", "5E6",
]  # fmt: skip
SEVERAL = [
    ("43,47,2021", ["43", ",", "47", ",", "2021"]),
    ("43,472,2021", ["43", ",", "472", ",", "2021"]),
    ("0,123", ["0", ",", "123"]),
    ("12,34,567", ["12", ",", "34", ",", "567"]),
    ("5 123/456", ["5", "123", "/", "456"]),
    ("3 1/2", ["3", "1", "/", "2"]),
    ("2e-3", ["2", "e", "-", "3"]),
    ("2ex", ["2", "ex"]),
    ("3.", ["3", "."]),
    (r"\frac12", ["\\frac", "12"]),
    (r"\left( x \right)", ["(", "x", ")"]),
    (r"\left|x\right|", ["\\left|", "x", "\\right|"]),
    (r"\bigl(x\bigr)\,", ["(", "x", ")"]),
    ("2E_{16}", ["2E", "_", "{", "16", "}"]),
    ("FF_{16}", ["FF", "_", "{", "16", "}"]),
    ("3 p.m.", ["3", "p.m."]),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", ["\\begin{pmatrix}", "1", "\\\\", "2", "\\end{pmatrix}"]),
    ("x<=y!=z", ["x", "<=", "y", "!=", "z"]),
    ("5 \\right", ["5"]),
    ("5\\,", ["5"]),
]  # fmt: skip
SIGNS = [
    ("2√5", "2\\sqrt 5"), ("x²", "x^{2}"), ("x₁₂", "x_{12}"), ("10⁻³", "10^{-3}"), ("½", "\\frac{1}{2}"), ("−3", "-3"),
    ("a×b", "a\\times b"), ("x ≤ 2", "x \\le  2"), ("∛8", "\\sqrt[3] 8"), ("60°", "60^\\circ "), ("１２", "12"),
    ("（1，2）", "(1,2)"), ("x\u200b+1", "x+1"), ("&lt;5", "<5"), ("𝑥", "x"), ("٣", "3"), ("αβ", "\\alpha \\beta "),
]  # fmt: skip


@pytest.mark.parametrize("text", ONE_NUMBER)
def test_a_number_is_one_token(text: str) -> None:
    assert tokens_of(text) == [text]


@pytest.mark.parametrize(("text", "tokens"), SEVERAL)
def test_what_is_several_tokens(text: str, tokens: list[str]) -> None:
    assert tokens_of(text) == tokens


@pytest.mark.parametrize(("text", "form"), SIGNS)
def test_unicode_signs_become_latex(text: str, form: str) -> None:
    assert ascii_form(text) == form


@given(st.text(alphabet=st.sampled_from(list("abx019.,(){}[]\\^_+-=<>|!&%$'\" ;:~\n")), max_size=40))
def test_no_character_but_space_is_lost(text: str) -> None:
    dress = ["\\,", "\\;", "\\:", "\\!", "\\ ", "~"]
    kept = "".join(tokens_of(text))
    rest = iter(kept)
    for sign in text:
        if not sign.isspace() and not any(sign in mark for mark in dress):
            assert sign in rest, f"{sign!r} of {text!r} is in no token"
