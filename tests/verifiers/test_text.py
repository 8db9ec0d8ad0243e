"""Dress comes off and nothing else does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.verifiers._text import normal, plain, trim

PLAIN = [
    ("  a \n b ", "a b"),
    ("**73**", "73"),
    ("`x`.", "x"),
    ("$x$", "x"),
    ("$x$ and $y$", "x and y"),
    ("**a** or **b**", "**a** or **b**"),
    ("$HOME/bin", "$HOME/bin"),
    (r"\(x\)", "x"),
    (r"\text{a \textbf{b} c}", "a b c"),
    (r"\text {a}^{b}", "a^{b}"),
    (r"x_{\text{max}}", "x_{max}"),
    (r"15\text{cm}", "15 cm"),
    (r"\left( 3,\! 4 \right)", "( 3, 4 )"),
    (r"\dfrac{1}{2}", r"\frac{1}{2}"),
    (r"9{,}500", "9,500"),
    (r"10\,000", "10 000"),
    (r"\{1, 2\}", r"\{1, 2\}"),
    (r"\$5 and 5\%", "$5 and 5%"),
    (r"5\,", "5"),
    ("5!", "5!"),
    ("yes!", "yes"),
    ("1, 2, ...", "1, 2, ..."),
    ("1, 2.", "1, 2"),
    ("“quoted”", "quoted"),
    ("it's", "it's"),
    ("}{", "}{"),
    ("\\", "\\"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "expected"), PLAIN)
def test_plain_text_is_what_is_said(text: str, expected: str) -> None:
    assert plain(text) == expected


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Ｅvelyn", "evelyn", True),
        ("e\u0301", "é", True),
        ("a\u200bb", "ab", True),
        ("−4", "-4", True),
        ("don’t", "don't", True),
        ("STRASSE", "straße", True),
        ("x²", "x2", False),
        ("½", "12", False),
        ("3.5", "35", False),
        ("-5", "5", False),
    ],
)
def test_normal_forms_join_what_looks_alike_and_no_more(a: str, b: str, same: bool) -> None:
    assert (normal(a) == normal(b)) is same


def test_case_is_kept_when_asked() -> None:
    assert normal("Paris", ignore_case=False) == "Paris"


@given(st.text(alphabet=st.characters(exclude_characters="\\$")) | st.text(alphabet="ab1.,!*_`'\"{}() \n"))
def test_text_without_escapes_is_undressed_once_and_for_all(text: str) -> None:
    once = plain(text)
    assert plain(once) == once


@given(st.text(alphabet="ab $*_`\\{}().,!~\n"))
def test_trim_gives_a_part_of_the_span(text: str) -> None:
    start, end = trim(text, 0, len(text))
    assert 0 <= start <= end <= len(text)
    assert text[start:end].strip() == text[start:end]


@given(st.text(alphabet="abc 1²éÉ-", min_size=1).filter(lambda text: text.strip()))
def test_wrappers_change_no_normal_form(text: str) -> None:
    for wrapped in (
        f" {text}\n",
        f"**{text.strip()}**",
        f"\\text{{{text}}}",
        f"$\\mathrm{{{text}}}$",
        f"{text.strip()}.",
    ):
        assert normal(wrapped) == normal(text)


def test_the_star_of_a_set_is_no_mark() -> None:
    text = r"n \in \mathbb{N}^*"
    assert text[slice(*trim(text))] == text
    assert "7*"[slice(*trim("7*"))] == "7"
