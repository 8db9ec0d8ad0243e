"""A spec that ends in a file of calibration is that scorer with what was measured of it, wherever specs are read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from guerdon.calibration.rates import Channel, NoiseRates
from guerdon.calibration.wrap import Corrected
from guerdon.rewards import Sample
from guerdon.rewards.errors import UsageError
from guerdon.serving.cli import app
from guerdon.serving.config import ServeConfig, read_config
from guerdon.serving.specs import load_scorer

CODE = """
from guerdon.rewards import Score

def logit(sample, *, times=1.0):
    return times * len(sample.response_text)
logit.scale = "logit"
"""


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    file = tmp_path / "rates.json"
    NoiseRates("numeric", "", "", {"": Channel(0.1, 0.2)}).save(file)
    return file


@pytest.fixture
def probabilities(tmp_path: Path) -> Path:
    from guerdon.calibration.probabilities import ProbabilityMap

    file = tmp_path / "map.json"
    ProbabilityMap("temperature", "logit", {"slope": 1.0}).save(file)
    return file


def test_verifier_with_its_rates_gives_corrected_verdicts(rates: Path) -> None:
    scorer = load_scorer(f"numeric@{rates}")
    assert isinstance(scorer, Corrected)
    found = scorer.score([Sample("p", "It is 42.", "42"), Sample("p", "It is 41.", "42"), Sample("p", "x")])
    assert [score.value for score in found] == pytest.approx([0.9 / 0.7, -0.1 / 0.7, None])


def test_options_go_to_the_scorer_in_front(rates: Path, probabilities: Path, tmp_path: Path) -> None:
    near = load_scorer(f"numeric@{rates}", tolerance=1.0)
    assert near.score([Sample("p", "It is 41.", "42")])[0].value == pytest.approx(0.9 / 0.7)
    (tmp_path / "mine.py").write_text(CODE)
    scorer = load_scorer(f"{tmp_path / 'mine.py'}:logit@{probabilities}", times=0.0)
    assert (scorer.scale, scorer.score([Sample("p", "abc")])[0].value) == ("probability", 0.5)


def test_several_files_are_applied_from_left_to_right(rates: Path, probabilities: Path) -> None:
    with pytest.raises(UsageError, match="'numeric-corrected' gives 'real'"):
        load_scorer(f"numeric@{rates}@{probabilities}")


def test_mistakes_in_either_part_are_named(rates: Path) -> None:
    with pytest.raises(UsageError, match="Did you mean 'numeric'"):
        load_scorer(f"numerc@{rates}")
    with pytest.raises(UsageError, match=r"cannot read 'nowhere.json'"):
        load_scorer("numeric@nowhere.json")
    with pytest.raises(UsageError, match="these rates are of the scorer 'numeric', not of 'exact'"):
        load_scorer(f"exact@{rates}")
    with pytest.raises(UsageError, match=r"no scorer named '@x\.txt'"):
        load_scorer("@x.txt")


def test_score_command_takes_it(rates: Path, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text(json.dumps({"prompt": "6*7?", "response": "It is 42.", "reference": "42"}) + "\n")
    done = CliRunner().invoke(app, ["score", str(samples), "--scorer", f"numeric@{rates}"], catch_exceptions=False)
    row = json.loads(done.stdout)
    assert row["value"] == pytest.approx(0.9 / 0.7)
    assert row["details"]["corrected"]["raw"] == 1.0


def test_server_takes_it_from_its_configuration(rates: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn")
    from guerdon.serving.client import RemoteScorer
    from guerdon.serving.server import serving

    file = tmp_path / "serve.toml"
    file.write_text(f'port = 0\n[scorers]\nchecked = "numeric@{rates}"\n')
    config = read_config(file, environ={})
    scorers = {name: load_scorer(spec.spec, **spec.options) for name, spec in config.scorers.items()}
    with serving(ServeConfig(port=0), scorers) as url:
        remote = RemoteScorer(f"{url}#checked")
        score = remote.score([Sample("p", "It is 42.", "42")])[0]
    assert (remote.scale, score.value) == ("real", pytest.approx(0.9 / 0.7))
    assert score.details["corrected"]["false_negative"] == 0.2
