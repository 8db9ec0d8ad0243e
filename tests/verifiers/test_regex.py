"""Patterns are matched in linear time, and those that cannot be are refused at load."""

from __future__ import annotations

import importlib
import re
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon import verifiers
from guerdon.rewards import Sample, Score, patterns
from guerdon.rewards.errors import MissingExtraError, UsageError
from guerdon.verifiers import regex

pytest.importorskip("re2", reason="the regex verifier needs google-re2: pip install 'guerdon[regex]'")


def judge(response: str, pattern: str, **options: Any) -> Score:
    return verifiers.load("regex", pattern=pattern, **options).score([Sample("", response)])[0]


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(a|aa)+$x", "(.*)*b", "(a?){500}a{500}b", r"(\w+\s?)*!"])
def test_patterns_that_backtrack_for_ever_elsewhere_are_linear(pattern: str) -> None:
    start = time.thread_time()
    assert judge("a" * 50_000, pattern).value == 0.0
    assert time.thread_time() - start < 10  # milliseconds in truth; a backtracking engine needs years


def test_a_long_text_for_a_huge_pattern_is_refused() -> None:
    score = judge("a" * 3_000_000, "(a?){500}a{500}b")
    assert (score.value, score.status) == (None, "refused")
    assert "3,000,000 characters are too many for a pattern of 2,505 instructions" in score.reason
    assert judge("a" * 3_000_000, "(a+)+b").value == 0.0


@pytest.mark.parametrize("pattern", [r"(a)\1", "(?=a)", "(?<!a)b", "(", "[", "a{1001}", "*", "\ud800("])
def test_a_pattern_that_cannot_be_used_is_refused_at_load(pattern: str) -> None:
    with pytest.raises(UsageError, match=r"cannot be used: .*no look-around, no back-references"):
        verifiers.load("regex", pattern=pattern)


def test_a_missing_engine_is_answered_with_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    patterns.compiled.cache_clear()
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'guerdon[regex]'")):
        regex.check_options(pattern="a")


@pytest.mark.parametrize(
    ("response", "within", "value"),
    [
        ("<think>yes</think>no", "said", 0.0),
        ("<think>yes</think>no", "response", 1.0),
        ("<think>no</think>yes", "said", 1.0),
        (r"yes \boxed{no}", "answer", 0.0),
        (r"no \boxed{yes}", "answer", 1.0),
        ("", "answer", 0.0),
    ],
)
def test_where_to_look_is_an_option(response: str, within: str, value: float) -> None:
    assert judge(response, "yes", within=within).value == value


def test_the_span_counts_characters_of_the_response() -> None:
    response = "<think>ü</think>né 🏴 été"
    start, end = judge(response, "é[^ ]é").details["span"]
    assert response[start:end] == "été"


def test_lone_surrogates_are_no_outage() -> None:
    score = judge("\ud800 yes \udfff", "yes")
    assert (score.value, score.details["span"]) == (1.0, (2, 5))


@given(
    st.text(alphabet="ab\né "),
    st.sampled_from(["a+b", "^a", "b$", "(?i)A", "(?m)^b", "(?s)a.b", "[^a]b", "é|a", "", r"\bab\b"]),
)
def test_verdicts_are_those_of_python_where_the_syntax_is_shared(response: str, pattern: str) -> None:
    python = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    assert judge(response, pattern).value == float(python.search(response) is not None)
