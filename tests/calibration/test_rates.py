"""Noise rates: what an audit found out, looked up by stratum, kept as JSON that refuses what it does not know."""

from __future__ import annotations

import json
import math
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.calibration.rates import Channel, Interval, NoiseRates, prefixes
from guerdon.rewards.errors import UsageError

ROOT = Channel(0.02, 0.30, Interval(0.0, 0.05), Interval(0.2, 0.4), Interval(0.5, 0.8), 200)
RATES = NoiseRates(
    "exact", "1.2", "meta:source+kind", {"": ROOT, "gsm8k": Channel(0.0, 0.1), "gsm8k/set": Channel(0.1, 0.5)}
)


@pytest.mark.parametrize(
    ("key", "expected"),
    [("gsm8k/set", 0.5), ("gsm8k/integer", 0.1), ("gsm8k", 0.1), ("math/set", 0.30), ("", 0.30), ("gsm8kx", 0.30)],
)
def test_a_stratum_takes_the_rates_of_its_longest_audited_prefix(key: str, expected: float) -> None:
    assert RATES.channel(key).false_negative == expected


def test_without_a_root_a_strange_stratum_is_an_error_that_names_the_keys() -> None:
    rates = NoiseRates("exact", "1", "kind", {"integer": ROOT})
    with pytest.raises(UsageError, match=r"no rates for the stratum 'set'.*'integer'.*under the key ''"):
        rates.channel("set")


def test_arrays_follow_the_keys() -> None:
    fp, fn = RATES.arrays(["gsm8k/set", "other", "gsm8k/set"])
    assert fp.tolist() == [0.1, 0.02, 0.1]
    assert fn.tolist() == [0.5, 0.3, 0.5]
    assert RATES.arrays([])[0].shape == (0,)


def test_strength_is_youdens_j() -> None:
    assert ROOT.strength == pytest.approx(0.68)


def test_rates_survive_a_file_and_a_pickle(tmp_path: Any) -> None:
    RATES.save(tmp_path / "rates.json")
    assert NoiseRates.load(tmp_path / "rates.json") == RATES
    assert pickle.loads(pickle.dumps(RATES)) == RATES


@given(st.dictionaries(st.text(), st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1))
def test_any_rates_survive_json(channels: dict[str, tuple[float, float]]) -> None:
    rates = NoiseRates("s", "", "", {key: Channel(*pair) for key, pair in channels.items()})
    assert NoiseRates.from_json(json.loads(json.dumps(rates.to_json()))) == rates


def _changed(**changes: Any) -> dict[str, Any]:
    return {**RATES.to_json(), **changes}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "'kind' must be 'noise_rates' here, got 'list'"),
        (_changed(kind="curve"), "got 'curve'"),
        (_changed(version=2), "version 2"),
        (_changed(extra=1), "unknown: 'extra'"),
        ({k: v for k, v in RATES.to_json().items() if k != "stratum"}, "lacking: 'stratum'"),
        (_changed(channels={}), "at least one"),
        (_changed(channels={"a": {"false_positive": 0.1}}), r"channels\['a'\].*lacking"),
        (_changed(confidence=1.0), "between 0 and 1"),
        (_changed(scorer={"name": 3, "version": ""}), "scorer must be a string"),
    ],
)
def test_json_that_is_something_else_is_refused(data: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        NoiseRates.from_json(data)


@pytest.mark.parametrize("rate", [math.nan, -0.01, 1.01, "0.1", None, True, 10**400])
def test_a_rate_that_is_none_is_refused_from_json_and_from_code(rate: Any) -> None:
    data = RATES.to_json()
    data["channels"]["gsm8k"]["false_negative"] = rate
    with pytest.raises(UsageError, match=r"channels\['gsm8k'\].*false_negative must be a number in \[0, 1\]"):
        NoiseRates.from_json(data)
    with pytest.raises(UsageError, match="false_positive must be a number"):
        Channel(rate, 0.0)


@pytest.mark.parametrize("interval", [[0.3, 0.1], [0.1], [-0.1, 0.5], [0, math.inf], "0.1"])
def test_a_rates_interval_that_is_none_is_refused(interval: Any) -> None:
    data = RATES.to_json()
    data["channels"][""]["false_positive_interval"] = interval
    with pytest.raises(UsageError):
        NoiseRates.from_json(data)


@pytest.mark.parametrize(
    "text", ["", "{", '{"kind": "noise_rates", "kind": "noise_rates"}', "[" * 100_000, '{"kind": NaN}']
)
def test_a_broken_file_is_an_error_with_its_name(tmp_path: Any, text: str) -> None:
    (tmp_path / "broken.json").write_text(text)
    with pytest.raises(UsageError, match=r"broken\.json"):
        NoiseRates.load(tmp_path / "broken.json")


def test_a_file_that_is_not_there_is_an_error_with_its_name(tmp_path: Any) -> None:
    with pytest.raises(UsageError, match=r"none\.json"):
        NoiseRates.load(tmp_path / "none.json")


def test_the_table_has_a_line_a_stratum() -> None:
    lines = str(RATES).splitlines()
    assert len(lines) == 4
    assert "(all)" in lines[1]
    assert "0.300 [0.200, 0.400]" in lines[1]


def test_prefixes_end_at_the_root() -> None:
    assert list(prefixes("a/b/c")) == ["a/b/c", "a/b", "a", ""]
