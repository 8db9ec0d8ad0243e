"""The one result that a sentence gives, and that a sentence which may mean several gives none."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from guerdon.verifiers import _answer, drop_ins
from guerdon.verifiers._answer.sentences import mathematics_in


@pytest.mark.parametrize(
    ("sentence", "result"),
    [
        ("The largest $n$ is 34", "34"),
        ("Jane started growing Sphere 3 hours ago", "3 hours"),
        ("The robe takes 3 bolts", "3"),
        ("She has 3 apples and 4 pears, so a total of 7", "7"),
        (r"The area is $\frac{3}{4}$", r"\frac{3}{4}"),
        (r"For $n = 3$ the value equals $\frac{3}{4}$", r"\frac{3}{4}"),
    ],
)
def test_the_result_of_a_sentence(sentence: str, result: str) -> None:
    assert mathematics_in(sentence) == result


@pytest.mark.parametrize(
    "sentence",
    [
        "12 divided by 4",
        "2 apples and 3 pears",
        "no solution",
        "Monday",
        "34",
        "x + 1",
        r"\frac{1}{2}",
        "it cannot be determined from these 3 facts",
        "the value is not 12",
        "word " * 200 + "is 3",
    ],
)
def test_no_sentence_or_no_single_result(sentence: str) -> None:
    assert mathematics_in(sentence) is None


@pytest.mark.parametrize(
    "module",
    [f"{package.__name__}.{m.name}" for package in (_answer, drop_ins) for m in pkgutil.iter_modules(package.__path__)],
)
def test_the_examples_of_docstrings_run(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0
