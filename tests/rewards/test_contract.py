"""The contract names each law that is broken, by a scorer that breaks just that one, and passes an honest one."""

import time

import pytest

from guerdon.rewards import Sample, Score, check_scorer, pointwise
from guerdon.rewards.errors import ContractError


def by_length(sample):
    return float(len(sample.response_text))


class Honest:
    name, version, scale = "honest", "1", "real"

    def score(self, samples):
        return [Score(float(len(sample.response_text)), "characters") for sample in samples]


class Nameless(Honest):
    name = ""


class UnknownScale(Honest):
    scale = "points"


class TooFew(Honest):
    def score(self, samples):
        return super().score(samples)[:1]


class NotAList(Honest):
    def score(self, samples):
        return tuple(super().score(samples))


class BareNumbers(Honest):
    def score(self, samples):
        return [score.value for score in super().score(samples)]


class OffScale(Honest):
    scale = "verdict"


class LooksAtTheFirst(Honest):
    """Depends on the batch's order."""

    def score(self, samples):
        first = len(samples[0].response_text) if samples else 0
        return [Score(float(first + len(sample.response_text)), "") for sample in samples]


class LooksAtOtherGroups(Honest):
    def score(self, samples):
        return [Score(float(len(samples)), "") for _ in samples]


class Drifts(Honest):
    def __init__(self):
        self.calls = 0

    def score(self, samples):
        self.calls += 1
        return [Score(float(self.calls), "") for _ in samples]


class Slow(Honest):
    def score(self, samples):
        if any(len(sample.response_text) > 15_000 for sample in samples):
            time.sleep(0.2)
        return super().score(samples)


class Fragile(Honest):
    def score(self, samples):
        if any("\x00" in sample.response_text for sample in samples):
            raise ZeroDivisionError("boom")
        return super().score(samples)


class Holds(Honest):
    def __init__(self):
        self.function = lambda: 1


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (Nameless(), "name must be a non-empty string"),
        (UnknownScale(), "scale must be one of"),
        (TooFew(), "must give a list of"),
        (NotAList(), "must give a list of"),
        (BareNumbers(), "every element must be a Score"),
        (OffScale(), "is not 0 or 1"),
        (LooksAtTheFirst(), "reversing the batch changed"),
        (LooksAtOtherGroups(), "scoring group .* alone changed"),
        (Drifts(), "scoring twice changed"),
        (Slow(), r"took 0\.\d s, more than 0\.1 s"),
        (Fragile(), "raised ZeroDivisionError: boom"),
        (Holds(), "pickle"),
    ],
)
def test_each_broken_law_is_named(scorer, message):
    with pytest.raises(ContractError, match=message):
        check_scorer(scorer, seconds=0.1)


def test_a_scorer_that_keeps_the_laws_passes():
    check_scorer(Honest(), tolerance=0)
    check_scorer(pointwise(by_length, scale="real"), tolerance=0)


def test_a_function_that_returns_none_leaves_the_sample_unscored():
    scorer = pointwise(lambda sample: None, scale="real", name="silent")
    score = scorer.score([Sample("p", "r")])[0]
    assert score.value is None
    assert "silent" in score.reason


def test_the_exceptions_of_a_function_are_not_swallowed():
    scorer = pointwise(lambda sample: 1 / 0, scale="real", name="broken")
    with pytest.raises(ZeroDivisionError):
        scorer.score([Sample("p", "r")])
