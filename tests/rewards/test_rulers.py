"""The rulers are scorers like any other, and measure what they say."""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import stats

from guerdon.rewards import Sample, Scorer, check_scorer
from guerdon.rewards.rulers import rulers

LENGTH, MARKDOWN, RANDOM = rulers()


def value(ruler: Scorer, response: str, prompt: str = "p") -> float | None:
    return ruler.score([Sample(prompt, response)])[0].value


@pytest.mark.parametrize("ruler", rulers(), ids=lambda ruler: ruler.name)
def test_rulers_keep_the_laws_of_scorers(ruler: Scorer) -> None:
    check_scorer(ruler, tolerance=0)


def test_length_counts_characters_of_the_response_alone() -> None:
    assert value(LENGTH, "héllo 🎉", prompt="long " * 50) == 7
    messages = Sample("p", [{"role": "assistant", "content": "abc"}, {"role": "assistant", "content": "d"}])
    assert LENGTH.score([messages])[0].value == 5, "messages are joined by newlines"


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("plain words, 3 - 2 * 1 and a #tag", 0),
        ("# Title\n\n- one\n- two\n* three\n1. four\n2) five", 6),
        ("some **bold** and **more**", 2),
        ("```python\nx = 1\n```", 1),
        ("> quoted\n| a | b |", 2),
        ("    indented by four is code, not a list\n    - no", 0),
        ("-no space", 0),
    ],
)
def test_markdown_counts_marks_not_punctuation(text: str, marks: int) -> None:
    assert value(MARKDOWN, text) == marks


def test_random_is_uniform_independent_of_everything_and_follows_its_seed() -> None:
    values = [value(RANDOM, "x" * i) for i in range(2000)]
    assert stats.kstest(np.array(values), "uniform").pvalue > 0.01
    assert abs(stats.spearmanr(values, np.arange(2000)).statistic) < 0.06
    other = rulers(seed=1)[2]
    assert value(other, "x") != value(RANDOM, "x")
    assert other.version != RANDOM.version
    assert value(RANDOM, "x", "other prompt") != value(RANDOM, "x")


def test_a_megabyte_of_marks_is_counted_in_bounded_time() -> None:
    for hostile in ("*" * 1_000_000, "\n- " * 300_000, "#" * 1_000_000, " " * 1_000_000, "`" * 1_000_000):
        start = time.process_time()
        value(MARKDOWN, hostile)
        assert time.process_time() - start < 5
