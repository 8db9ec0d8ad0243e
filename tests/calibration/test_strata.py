"""Stratum specs: which samples share their error rates, and keys that nobody can fake."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.calibration.rates import prefixes
from guerdon.calibration.strata import escaped, stratum
from guerdon.rewards import Sample, Score
from guerdon.rewards.errors import UsageError

SAMPLE = Sample("?", "the answer is 3+4", "7", meta={"source": "gsm8k", "n": 3, "none": None})
SCORE = Score(1.0, "equal", {"kind": "integer", "stage": "exact", "flags": ["odd", "long"]})


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        ("", ""),
        ("kind", "integer"),
        ("stage", "exact"),
        ("details:stage", "exact"),
        ("meta:source", "gsm8k"),
        ("meta:n", "3"),
        ("meta:none", "?"),
        ("meta:nowhere", "?"),
        ("details:flags", '["odd", "long"]'),
        ("meta:source+kind", "gsm8k/integer"),
        (" meta:source + kind ", "gsm8k/integer"),
        ("kind+meta:source", "integer/gsm8k"),
    ],
)
def test_a_spec_names_the_stratum(spec: str, key: str) -> None:
    assert stratum(spec)(SAMPLE, SCORE) == key


@pytest.mark.parametrize(
    ("spec", "key"),
    [
        (r"pattern:\d\+\d", "in"),
        ("pattern:x+", "out"),
        (r"meta:source+pattern:\d\+\d", "gsm8k/in"),
        ("kind+pattern:a+kind", "integer/out"),
    ],
)
def test_a_pattern_may_hold_plus_signs_because_it_comes_last(spec: str, key: str) -> None:
    pytest.importorskip("re2")
    assert stratum(spec)(SAMPLE, SCORE) == key


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("kindd", "'kindd'.*nothing that is known.*meta:KEY"),
        ("meta:", "names nothing"),
        ("meta:a+", "ends in"),
        ("+kind", "nothing that is known"),
        ("kind+details:kind", "twice"),
        (3, "must be a string"),
    ],
)
def test_a_spec_that_is_none_says_what_there_is(spec: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        stratum(spec)


def test_a_pattern_that_needs_backtracking_is_refused_when_it_is_named() -> None:
    pytest.importorskip("re2")
    with pytest.raises(UsageError, match="look-around"):
        stratum(r"pattern:(a)\1")


def test_a_pattern_on_hostile_text_ends() -> None:
    """With a backtracking engine it would not, within years."""
    pytest.importorskip("re2")
    assert stratum("pattern:(a+)+b")(Sample("?", "a" * 200_000 + "\ud800"), SCORE) == "out"


def test_a_text_too_long_for_its_pattern_is_missing_rather_than_slow() -> None:
    pytest.importorskip("re2")
    assert stratum("pattern:(a?){900}")(Sample("?", "b" * 2_000_000), SCORE) == "?"


@given(st.one_of(st.text(), st.integers(), st.none(), st.booleans()))
def test_a_value_is_one_component_of_the_path(value: Any) -> None:
    key = escaped(value)
    assert key
    assert "/" not in key
    assert list(prefixes(key)) == [key, ""]


@given(st.text(max_size=80), st.text(max_size=80))
def test_two_values_never_share_a_component(one: str, other: str) -> None:
    assert (escaped(one) == escaped(other)) == (one == other)
    assert escaped(one) != escaped(None)


def test_a_value_of_a_megabyte_makes_a_short_key_and_not_the_key_of_its_beginning() -> None:
    long = "x" * 1_000_000
    assert len(escaped(long)) < 100
    assert escaped(long) != escaped(long + "x")


def test_a_stratum_pickles() -> None:
    of = pickle.loads(pickle.dumps(stratum("meta:source+kind")))
    assert of(SAMPLE, SCORE) == "gsm8k/integer"
