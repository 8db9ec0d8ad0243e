"""Every exception is ours and a standard one, tells the nearest name, lists every problem, and crosses processes."""

import pickle

import pytest

from guerdon.rewards import errors

ALL = [
    (errors.UsageError("x"), ValueError),
    (errors.UnknownNameError("verifier", "maths", ["math", "exact"]), ValueError),
    (errors.RenderError("x"), ValueError),
    (errors.TooLongError("x"), ValueError),
    (errors.FingerprintError("x"), ValueError),
    (errors.CheckpointError("x"), ValueError),
    (errors.ScaleError("x"), ValueError),
    (errors.UnscoredError("x"), ValueError),
    (errors.DataError("f.jsonl", ["f.jsonl:1: bad"]), ValueError),
    (errors.MissingExtraError("training", "train"), ImportError),
    (errors.OutageError("x"), ConnectionError),
    (errors.ContractError("x"), AssertionError),
]


@pytest.mark.parametrize(("error", "standard"), ALL, ids=lambda value: type(value).__name__)
def test_both_kinds_of_except_catch_it_and_it_pickles(error, standard):
    assert isinstance(error, errors.GuerdonError)
    assert isinstance(error, standard)
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is type(error)
    assert str(twin) == str(error)


def test_a_wrong_name_is_told_the_nearest():
    message = str(errors.UnknownNameError("verifier", "maths", ["math", "exact"]))
    assert message == "no verifier named 'maths'. Did you mean 'math'? There are: exact, math"


def test_a_name_like_no_other_gets_no_guess():
    assert "Did you mean" not in str(errors.UnknownNameError("verifier", "zzz", ["math"]))


def test_many_problems_are_counted_and_the_first_twenty_shown():
    message = str(errors.DataError("f", [f"line {i}" for i in range(50)]))
    assert "50 problem(s)" in message
    assert "line 19" in message
    assert "line 20" not in message
    assert "30 more" in message


def test_a_missing_extra_prints_the_pip_line():
    assert "pip install 'guerdon[train]'" in str(errors.MissingExtraError("training", "train"))
