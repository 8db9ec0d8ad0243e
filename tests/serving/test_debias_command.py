"""guerdon debias: fits on some prompts, reports on others, saves what a server loads; mistakes are told."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from guerdon.calibration.debias import DebiasCurve
from guerdon.calibration.debiasing.pool import Pool
from guerdon.calibration.debiasing.report import compare, rank_correlation
from guerdon.calibration.wrap import wrapped
from guerdon.rewards import Preference, Ranking, Sample, pointwise
from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation.metrics import spearman
from guerdon.serving.cli import app

runner = CliRunner()

REWARD = """
scale = "real"
def follows_length(sample):
    text = sample.response_text
    return text.count("good") + len(text) / 100
def verdict(sample):
    return 1.0
verdict.scale = "verdict"
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """200 prompts with two answers; the better one says "good" more often and is longer in half of them."""
    generator = random.Random(0)
    (tmp_path / "reward.py").write_text(REWARD)
    with (tmp_path / "pairs.jsonl").open("w") as pairs, (tmp_path / "samples.jsonl").open("w") as samples:
        for i in range(200):
            words = [generator.randint(0, 120) for _ in range(2)]
            chosen, rejected = "good good" + " x" * words[0], "good" + " x" * words[1]
            print(json.dumps({"prompt": f"p{i}", "chosen": chosen, "rejected": rejected}), file=pairs)
            for text in (chosen, rejected):
                value = text.count("good") + len(text) / 100
                row = {"prompt": f"p{i}", "response": text, "scores": {"judge": {"value": value, "status": "ok"}}}
                print(json.dumps(row), file=samples)
    return tmp_path


def run(*arguments: object) -> object:
    return runner.invoke(app, ["debias", *map(str, arguments)])


def test_the_curve_takes_length_out_on_other_prompts_and_the_file_makes_a_scorer(files: Path) -> None:
    spec = f"{files / 'reward.py'}:follows_length"
    arguments = [files / "pairs.jsonl", "-s", spec, "-o", files / "c.json", "--report", files / "r.html", "--json"]
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    (length,) = found["features"]
    assert found["unscored"] == 0
    assert found["fitted_on"] + length["responses"] == 400
    assert length["before"]["pooled"]["value"] > 0.5
    assert abs(length["after"]["pooled"]["value"]) < 0.15
    assert length["after"]["less_right"]["value"] > length["before"]["less_right"]["value"] + 0.1
    assert length["change"]["balanced"]["value"] > 0.05
    curve = DebiasCurve.load(files / "c.json")
    assert (curve.feature, curve.n) == ("length", found["fitted_on"])
    # the very file, around the very scorer
    from guerdon.serving.specs import load_scorer

    scorer = wrapped(load_scorer(spec), files / "c.json")
    short, long = scorer.score([Sample("p", "good"), Sample("p", "good" + " x" * 100)])
    assert abs(short.value - long.value) < 0.3
    page = (files / "r.html").read_text()
    assert page.count("<svg") == 2
    assert "script" not in page
    assert "<td>balanced accuracy</td>" in page


def test_the_report_is_on_prompts_that_the_curve_has_not_seen(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from guerdon.serving.commands import debias

    kept, shown = debias._records(str(files / "pairs.jsonl"), None, 0.3, 0, None, None)
    prompts = [{record.prompt for record, _ in part} for part in (kept, shown)]
    assert not prompts[0] & prompts[1]
    assert len(prompts[0]) + len(prompts[1]) == 200
    assert len(prompts[1]) == pytest.approx(60, abs=15)


def test_a_test_file_s_prompts_leave_the_pool(files: Path) -> None:
    lines = (files / "pairs.jsonl").read_text().splitlines()
    (files / "test.jsonl").write_text("\n".join(lines[:50]))
    spec = f"{files / 'reward.py'}:follows_length"
    result = run(files / "pairs.jsonl", "--test", files / "test.jsonl", "-s", spec, "--json")
    assert json.loads(result.stdout)["fitted_on"] == 300
    assert "50 records" in result.stderr
    result = run(files / "test.jsonl", "--test", files / "test.jsonl", "-s", spec)
    assert result.exit_code == 2
    assert "every prompt of" in result.stderr


def test_stored_scores_of_samples_are_read(files: Path) -> None:
    result = run(files / "samples.jsonl", "--scores", "judge", "-o", files / "c.json")
    assert result.exit_code == 0, result.stderr
    assert "judge: fitted on" in result.stdout
    assert "no labelled pairs" in result.stdout
    assert DebiasCurve.load(files / "c.json").scorer.name == "judge"
    spec = f"{files / 'reward.py'}:follows_length"
    score = runner.invoke(app, ["score", str(files / "samples.jsonl"), "-s", spec, "-o", str(files / "s.jsonl")])
    assert score.exit_code == 0
    result = run(files / "samples.jsonl", "--scores", files / "s.jsonl", "--json")
    assert abs(json.loads(result.stdout)["features"][0]["after"]["pooled"]["value"]) < 0.15


def test_several_features_make_several_files_in_order(files: Path) -> None:
    spec = f"{files / 'reward.py'}:follows_length"
    features = ["--feature", "length", "--feature", "words", "--joint"]
    result = run(files / "pairs.jsonl", "-s", spec, *features, "-o", files / "c.json", "--method", "linear")
    assert result.exit_code == 0, result.stderr
    assert [DebiasCurve.load(files / f"c.{name}.json").method for name in ("length", "words")] == ["linear"] * 2
    assert not (files / "c.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-s", "{reward}:follows_length", "--feature", "lenght"], "Did you mean 'length'"),
        (["-s", "{reward}:follows_length", "--method", "loess"], "Did you mean 'lowess'"),
        (["-s", "{reward}:verdict"], "gives 'verdict'"),
        ([], "give either --scorer SPEC, or --scores"),
        (["--scores", "judge"], "--scores is for single samples"),
        (["-s", "{reward}:follows_length", "--limit", "5"], "a curve needs 20"),
    ],
)
def test_mistakes_are_told_with_what_would_be_right(files: Path, arguments: list[str], message: str) -> None:
    given = [argument.format(reward=files / "reward.py") for argument in arguments]
    result = run(files / "pairs.jsonl", *given)
    assert result.exit_code == 2
    assert message in result.stderr


# --- pool and report ---


def test_the_pool_holds_each_response_once_and_leaves_ties_out() -> None:
    records = [
        Preference("p", "a", "b"),
        Preference("p", "a", "c", probability=0.2),
        Preference("p", "a", "d", probability=0.5),
        Ranking("q", ["x", "y", "z"], [1, 0, 0]),
        Sample("r", "s"),
    ]
    pool = Pool.of(records)
    texts = pool.texts()
    assert texts == ["a", "b", "c", "d", "y", "x", "z", "s"]
    pairs = [(texts[i], texts[j]) for i, j in zip(pool.better, pool.worse, strict=True)]
    assert pairs == [("a", "b"), ("c", "a"), ("y", "x"), ("z", "x")]
    assert pool.prompts.tolist() == [0, 0, 0, 0, 1, 1, 1, 2]


def test_the_scorer_sees_no_label() -> None:
    seen: list[object] = []
    scorer = pointwise(lambda sample: seen.append(dict(sample.meta)) or 1.0, scale="real", name="spy")
    Pool.of([Preference("p", "a", "b", meta={"label": 1}), Sample("q", "c", meta={"label": True})]).score(scorer)
    assert seen == [{}, {}, {}]


def test_the_figures_of_a_comparison_are_those_by_hand() -> None:
    pairs = [("aaaa", "b", 2, 1), ("cccc", "d", 1, 2), ("e", "ffff", 1, 2), ("gg", "hh", 3, 3)]
    pool = Pool.of([Preference(f"p{i}", better, worse) for i, (better, worse, _, _) in enumerate(pairs)])
    before = np.array([float(value) for pair in pairs for value in pair[2:]])
    lengths = np.array([float(len(text)) for text in pool.texts()])
    after = before - 0.5 * lengths
    (found,) = compare(pool, before, after, {"length": lengths})
    assert (found.responses, found.pairs) == (8, 4)
    assert found.before.accuracy.value == pytest.approx((1 + 0 + 0 + 0.5) / 4)
    assert found.before.more_right.value == pytest.approx(0.5)
    assert found.before.less_right.value == 0.0
    assert found.before.balanced.value == pytest.approx(0.25)
    assert found.before.pooled.value == pytest.approx(spearman(before, lengths))
    assert found.after.more_right.value == 0.0  # 2 - 2 < 1 - 0.5, 1 - 2 < 2 - 0.5
    assert found.after.less_right.value == 1.0  # 1 - 0.5 > 2 - 2
    assert found.change.less_right.value == pytest.approx(1.0)
    assert json.dumps(found.to_dict(), allow_nan=False)


def test_a_rank_correlation_is_scipy_s_and_its_interval_covers() -> None:
    covered = 0
    for seed in range(40):
        r = np.random.default_rng(seed)
        shared = r.normal(size=60)[np.repeat(np.arange(60), 4)]  # rows of a prompt go together
        x = shared + r.normal(size=240)
        y = 0.5 * x + r.normal(size=240) * math.sqrt(2)
        found = rank_correlation(x, y, np.repeat(np.arange(60), 4), seed=seed)
        assert found.value == pytest.approx(spearman(x, y))
        # a normal pair with variances 2 and 0.5 + 2, covariance 1: rho = 1 / sqrt(5); Spearman's is 6/pi asin(rho/2)
        truth = 6 / math.pi * math.asin(1 / math.sqrt(5) / 2)
        covered += found.low <= truth <= found.high
    assert covered >= 34


def test_a_comparison_of_other_responses_is_refused() -> None:
    pool = Pool.of([Preference("p", "a", "b")])
    with pytest.raises(UsageError, match="after has 3 values for 2 responses"):
        compare(pool, np.zeros(2), np.zeros(3), {})
