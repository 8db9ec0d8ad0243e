"""``guerdon calibrate`` as people meet it: samples and pairs, the files it writes, the server's spec, the mistakes."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from guerdon.calibration.probabilities import ProbabilityMap
from guerdon.rewards import Sample
from guerdon.rewards.errors import UsageError
from guerdon.serving.cli import app
from guerdon.serving.specs import load_scorer

runner = CliRunner()

REWARDS = """
def length(sample):
    assert "label" not in sample.meta
    return len(sample.response_text) / 10 - 5 if sample.response_text else None

def nothing(sample):
    return None

length.scale = "logit"
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "rewards.py").write_text(REWARDS)
    rng = random.Random(0)
    samples, pairs = [], []
    for i in range(300):
        n = rng.randint(1, 100)
        right = rng.random() < 1 / (1 + math.exp(-(n - 60) / 25))
        samples.append({"prompt": f"q{i // 3}", "response": "x" * n, "label": right, "human": int(not right)})
        a, b = rng.randint(1, 100), rng.randint(1, 100)
        first = rng.random() < 1 / (1 + math.exp(-(a - b) / 30))
        sides = (a, b) if first else (b, a)
        pairs.append({"prompt": f"q{i}", "chosen": "x" * sides[0], "rejected": "y" * sides[1]})
    samples.append({"prompt": "q", "response": "", "label": True, "human": 0})
    for name, rows in (("samples", samples), ("pairs", pairs)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


def run(here: Path, *arguments: str) -> Any:
    return runner.invoke(app, ["calibrate", *[a.replace("HERE", str(here)) for a in arguments]])


SAMPLES = ("HERE/samples.jsonl", "--scorer", "HERE/rewards.py:length")
PAIRS = ("HERE/pairs.jsonl", "--scorer", "HERE/rewards.py:length")


def test_it_says_what_each_map_mends_and_which_is_chosen(here: Path) -> None:
    result = run(here, *SAMPLES, "--out", "HERE/out/map.json")
    assert result.exit_code == 0, result.stderr
    for word in ("300 samples", "as it is", "temperature", "platt", "beta", "histogram", "isotonic", "chosen"):
        assert word in result.stdout
    assert "left out: 1 abstained: length returned None" in result.stderr
    assert "a server loads it as" in result.stderr
    fitted = ProbabilityMap.load(here / "out" / "map.json")
    assert (fitted.scorer.name, fitted.n, fitted.pairs) == ("length", 300, False)


def test_the_plot_is_an_svg_file_of_its_own(here: Path) -> None:
    run(here, *SAMPLES, "--out", "HERE/map.json")
    text = (here / "map.svg").read_text()
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert "as it is" in text
    assert "out of sample" in text


def test_what_it_writes_is_served_by_its_spec(here: Path) -> None:
    run(here, *SAMPLES, "--method", "platt", "--out", "HERE/map.json")
    scorer = load_scorer(f"{here}/rewards.py:length@{here}/map.json")
    assert scorer.scale == "probability"
    short, long = (scorer.score([Sample("q", "x" * n)])[0].value for n in (10, 90))
    assert short == pytest.approx(1 / (1 + math.exp(50 / 25)), abs=0.1)
    assert long == pytest.approx(1 / (1 + math.exp(-30 / 25)), abs=0.1)


def test_json_holds_the_figures_before_and_after(here: Path) -> None:
    result = run(here, *SAMPLES, "--json")
    found = json.loads(result.stdout)
    chosen = found["candidates"][found["map"]["method"]]
    assert chosen["log_loss"]["value"] < found["raw"]["log_loss"]["value"] - 0.1
    assert chosen["ece"] < found["raw"]["ece"]
    assert found["used"] == 300
    assert found["unscored"] == [{"status": "abstained", "reason": "length returned None", "samples": 1}]
    assert found["written"] is None


def test_pairs_are_calibrated_by_their_margins(here: Path) -> None:
    found = json.loads(run(here, *PAIRS, "--json").stdout)
    assert found["map"]["pairs"] is True
    assert found["map"]["method"] == "temperature"
    assert 1 / found["map"]["parameters"]["slope"] == pytest.approx(3, rel=0.3)
    result = run(here, *PAIRS, "--out", "HERE/map.json")
    assert "300 pairs" in result.stdout
    assert "a server loads" not in result.stderr
    with pytest.raises(UsageError, match="margins"):
        load_scorer(f"{here}/rewards.py:length@{here}/map.json")


def test_a_label_column_is_the_one_that_is_named_and_a_reversed_scorer_is_told(here: Path) -> None:
    result = run(here, *SAMPLES, "--label-column", "human", "--method", "temperature")
    assert result.exit_code == 0
    assert "Higher values are not more often right here" in result.stdout


def test_a_real_scale_has_no_figures_as_it_is(here: Path) -> None:
    result = run(here, *SAMPLES, "--option", "scale=real", "--json")
    found = json.loads(result.stdout)
    assert found["raw"] is None
    assert set(found["candidates"]) == {"platt", "histogram", "isotonic"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((*SAMPLES, "--method", "isotone"), "Did you mean 'isotonic'"),
        ((*SAMPLES, "--label-column", "truth"), "needs a number or true/false in 'truth'"),
        ((*SAMPLES, "--clusters", "prompts"), "Did you mean 'prompt'"),
        ((*PAIRS, "--label-column", "label"), "whose order is the label"),
        (
            (*SAMPLES, "--method", "temperature", "--option", "scale=real"),
            "a temperature map takes probability or logit",
        ),
        ((*SAMPLES, "--limit", "9"), "9 rows are too few|too few to fit"),
        (("HERE/absent.jsonl", "--scorer", "exact"), "absent.jsonl"),
        (("HERE/samples.jsonl", "--scorer", "HERE/rewards.py:nothing"), "scored none of 301 rows"),
        ((*SAMPLES, "--out", "HERE"), "is a folder"),
    ],
)
def test_a_mistake_is_one_message(here: Path, arguments: tuple[str, ...], told: str) -> None:
    result = run(here, *arguments)
    assert result.exit_code == 2
    assert any(part in result.stderr for part in told.split("|")), result.stderr
    assert "Traceback" not in result.stderr


def test_its_help_has_examples() -> None:
    result = runner.invoke(app, ["calibrate", "--help"])
    assert "$ guerdon calibrate" in result.stdout
    assert "--json" in result.stdout
