"""The command line as people and scripts meet it: exit codes, what goes to which stream, and what a mistake is told."""

from __future__ import annotations

import functools
import json
import operator
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from guerdon import __version__
from guerdon.rewards import Score
from guerdon.rewards.errors import ContractError, DataError, OutageError, UsageError
from guerdon.rewards.training.config import TrainConfig
from guerdon.serving.cli import app
from guerdon.serving.commands import console, score, train

COMMANDS = [
    "train", "evaluate", "score", "serve", "replay", "verify", "calibrate", "debias", "demo", "doctor",
]  # fmt: skip
GROUPS = ["audit"]  # commands of commands
PAGES = ["ui"]  # for eyes, without --json
runner = CliRunner()

REWARDS = """
def brevity(sample):
    if "crash" in sample.response_text:
        raise ValueError("no idea")
    if not sample.response_text:
        return None
    return 1.0 if len(sample.response_text) < 10 else 0.0

def verify(response, reference):
    return 1.0 if response == reference else 0.0
"""

SAMPLES = [
    {"prompt": "hi", "response": "short", "reference": "short", "id": "a"},
    {"prompt": "hi", "response": "rather longer than ten", "reference": "short", "id": "b"},
    {"prompt": "hi", "response": "", "reference": "", "id": "c"},
]


@pytest.fixture
def rewards(tmp_path: Path) -> str:
    """A scorer of the user's own, as ``file.py:``."""
    (tmp_path / "my_rewards.py").write_text(REWARDS)
    return f"{tmp_path / 'my_rewards.py'}:"


@pytest.fixture
def samples(tmp_path: Path) -> str:
    (tmp_path / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SAMPLES))
    return str(tmp_path / "samples.jsonl")


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def shell(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    code = "from guerdon.serving.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60, **options
    )


# --- the whole ------------------------------------------------------------------------------------------------------


def test_version_is_the_packages() -> None:
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"guerdon {__version__}\n"


def test_help_names_every_command() -> None:
    text = runner.invoke(app, ["--help"]).stdout
    assert all(re.search(rf"\b{name}\b", text) for name in [*COMMANDS, *GROUPS, *PAGES])


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples_and_speaks_json(name: str) -> None:
    result = runner.invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert f"$ guerdon {name}" in result.stdout
    assert "--json" in result.stdout


def test_a_mistyped_command_is_told_the_nearest() -> None:
    result = runner.invoke(app, ["trian"])
    assert result.exit_code == 2
    assert "Did you mean 'train'" in result.stderr
    assert result.stdout == ""


def test_a_mistyped_option_is_told_the_nearest() -> None:
    result = runner.invoke(app, ["doctor", "--jsn"])
    assert result.exit_code == 2
    assert "--json" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["--help"], ["verify", "--list"], ["verify", "exact", "a", "--reference", "a"], ["train", "--help"]]
)
def test_light_commands_load_neither_torch_nor_a_web_framework(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom guerdon.serving.cli import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit as end:\n    assert end.code == 0, end.code\n"
        "heavy = {'torch', 'transformers', 'numpy', 'fastapi', 'uvicorn', 'datasets'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


# --- what a mistake is told -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("the value 7 must be below 5"), 2),
        (DataError("x.jsonl", ["x.jsonl:3: no 'prompt'"]), 2),
        (ContractError("it breaks a law"), 2),
        (OutageError("http://127.0.0.1:1 did not answer"), 3),
        (PermissionError(13, "Permission denied", "/root/x"), 2),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("division by zero"), 70),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def fail() -> None:
        raise error

    # a fault must not come from a line of this file, which is no part of guerdon
    broken = functools.partial(operator.truediv, 1, 0) if code == 70 else fail
    monkeypatch.setattr("guerdon.serving.doctor.examine", broken)
    result = runner.invoke(app, ["doctor", "--json"])
    assert result.exit_code == code
    assert result.stdout == ""
    expected = "Interrupted." if isinstance(error, KeyboardInterrupt) else str(error)
    assert expected in result.stderr
    # only a fault of ours shows where it happened
    assert ("Traceback" in result.stderr) == (code == 70)


@pytest.mark.parametrize("command", ["score", "evaluate", "verify"])
def test_what_the_users_own_code_raises_is_not_called_a_fault_of_guerdon(
    rewards: str, tmp_path: Path, command: str
) -> None:
    (tmp_path / "x.jsonl").write_text('{"prompt": "hi", "response": "crash", "correct": 1}\n')
    (tmp_path / "p.jsonl").write_text('{"prompt": "hi", "chosen": "crash", "rejected": "x"}\n')
    arguments = {
        "score": [str(tmp_path / "x.jsonl"), "--scorer", f"{rewards}brevity"],
        "evaluate": [f"{rewards}brevity", "--data", str(tmp_path / "p.jsonl")],
        "verify": [f"{rewards}brevity", "crash"],
    }
    result = runner.invoke(app, [command, *arguments[command]])
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "my_rewards.py:4 raised ValueError: no idea" in result.stderr.splitlines()[-1]
    assert "Traceback" in result.stderr
    assert "fault of guerdon" not in result.stderr


def test_debug_shows_where_an_error_was_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUERDON_DEBUG", "1")
    result = runner.invoke(app, ["score", "nowhere.jsonl", "--scorer", "exact"])
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


def test_without_debug_an_error_is_its_message_alone() -> None:
    result = runner.invoke(app, ["score", "nowhere.jsonl", "--scorer", "exact"])
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert "nowhere.jsonl" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_reader_that_leaves_the_pipe_is_no_error(rewards: str, samples: str) -> None:
    command = f"{sys.executable} -c 'from guerdon.serving.cli import main; main()' score {samples} -s {rewards}verify"
    done = subprocess.run(
        f"({command}; echo code $? >&2) | true", shell=True, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr


def test_a_base_install_gives_the_pip_line_of_what_a_command_needs(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text('{"prompt": "hi", "chosen": "a", "rejected": "b"}\n')
    code = """
import sys
for name in ("torch", "transformers", "numpy", "fastapi", "uvicorn", "accelerate", "datasets", "safetensors"):
    sys.modules[name] = None
from typer.testing import CliRunner
from guerdon.serving.cli import app
for extra, arguments in {
    "train": ["train", "-b", "x", "-d", "p.jsonl", "-o", "out"],
    "calibration": ["evaluate", "exact", "--data", "p.jsonl"],
    "serve": ["serve", "--scorer", "a=exact"],
    "demo": ["demo", "--quick"],
}.items():
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert f"pip install 'guerdon[{extra}]'" in result.stderr, (arguments, result.output)
assert CliRunner().invoke(app, ["doctor"]).exit_code == 0
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# --- verify ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("response", "code", "word"), [("yes", 0, "RIGHT"), ("no", 1, "WRONG")])
def test_verify_exits_with_its_verdict(rewards: str, response: str, code: int, word: str) -> None:
    result = runner.invoke(app, ["verify", f"{rewards}verify", response, "--reference", "yes"])
    assert result.exit_code == code
    assert word in result.stdout


def test_what_cannot_be_judged_is_neither_right_nor_wrong(rewards: str) -> None:
    result = runner.invoke(app, ["verify", f"{rewards}brevity", "", "--json"])
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert (found["verdict"], found["value"], found["status"]) == ("unscored", None, "abstained")
    assert found["reason"]


def test_verify_reads_the_response_from_standard_input(rewards: str) -> None:
    for arguments in ([], ["-"]):
        result = runner.invoke(app, ["verify", f"{rewards}verify", *arguments, "-r", "a\nb"], input="a\nb\n")
        assert result.exit_code == 0, result.output


def test_verifiers_are_listed_with_their_options() -> None:
    result = runner.invoke(app, ["verify", "--list", "--json"])
    found = {about["name"]: about for about in json.loads(result.stdout)}
    assert found["numeric"]["options"]["tolerance"] == "0"
    assert found["regex"]["options"]["pattern"] == "..."
    text = runner.invoke(app, ["verify", "--list"]).stdout
    assert all(f"--option {option}=" in text for about in found.values() for option in about["options"])


def test_a_broken_verifier_of_another_package_does_not_hide_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guerdon.verifiers.names", lambda: ["exact", "no_such_verifier"])
    result = runner.invoke(app, ["verify", "--list"])
    assert result.exit_code == 0
    assert "cannot be loaded" in result.stdout


def test_verify_takes_a_response_that_starts_with_a_dash(rewards: str) -> None:
    result = runner.invoke(app, ["verify", f"{rewards}verify", "--reference", "-5", "--", "-5"])
    assert result.exit_code == 0


def test_verify_judges_a_file_and_counts(rewards: str, samples: str) -> None:
    result = runner.invoke(app, ["verify", f"{rewards}verify", "--file", samples, "--json"])
    assert result.exit_code == 1
    assert [(row["id"], row["verdict"]) for row in lines(result.stdout)] == [
        ("a", "right"),
        ("b", "wrong"),
        ("c", "right"),
    ]
    assert "3 samples: 2 right, 1 wrong, 0 unscored" in result.stderr
    plain = runner.invoke(app, ["verify", f"{rewards}verify", "--file", samples])
    assert plain.stdout.splitlines()[1].startswith("wrong")
    assert "samples.jsonl:2" in plain.stdout


def test_verify_will_not_guess_between_a_file_and_a_response(rewards: str, samples: str) -> None:
    result = runner.invoke(app, ["verify", f"{rewards}verify", "yes", "--file", samples])
    assert result.exit_code == 2


def test_explain_shows_how_the_math_verifier_read_both_sides() -> None:
    command = ["verify", "math", r"\boxed{x > \frac{6}{2}}", "--reference", r"(3, \infty)", "--explain"]
    result = runner.invoke(app, command)
    assert result.exit_code == 0
    assert "read as     inequality: x > 3" in result.stdout
    assert "expected    tuple: (3, " in result.stdout
    assert re.search(r"kind +tuple", result.stdout)


def test_escape_sequences_of_a_response_do_not_reach_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "echo.py").write_text(
        "from guerdon.rewards import Score\n"
        "def verify(response, reference):\n    return Score(0.0, response, {'answer': response})\n"
    )
    hostile = "\x1b[2J\x1b]0;owned\x07[bold]x[/nope] \u202e"
    result = runner.invoke(app, ["verify", f"{tmp_path / 'echo.py'}:verify", hostile, "-r", "1", "--explain"])
    assert result.exit_code == 1
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", result.stdout)
    assert r"\x1b[2J" in result.stdout
    assert "[bold]x[/nope]" in result.stdout


# --- score ----------------------------------------------------------------------------------------------------------


def test_score_writes_a_line_a_sample_in_order(rewards: str, samples: str) -> None:
    result = runner.invoke(app, ["score", samples, "--scorer", f"{rewards}brevity"])
    assert result.exit_code == 0, result.output
    rows = lines(result.stdout)
    assert [row["id"] for row in rows] == ["a", "b", "c"]
    assert [row["value"] for row in rows] == [1.0, 0.0, None]
    assert rows[2]["status"] == "abstained"
    assert set(rows[0]) == {"id", "value", "status", "reason", "details"}
    assert "2 of 3 scored" in result.stderr


def test_score_reads_standard_input_and_numbers_rows_without_an_id(rewards: str) -> None:
    text = '{"prompt": "hi", "response": "x"}\n' * 2
    result = runner.invoke(app, ["score", "-", "--scorer", f"{rewards}brevity"], input=text)
    assert [row["id"] for row in lines(result.stdout)] == [0, 1]


def test_score_puts_its_summary_where_the_scores_are_not(rewards: str, samples: str, tmp_path: Path) -> None:
    both = runner.invoke(app, ["score", samples, "-s", f"{rewards}brevity", "--json"])
    assert len(lines(both.stdout)) == 3
    assert json.loads(both.stderr)["scored"] == 2
    out = tmp_path / "new" / "scores.jsonl"
    filed = runner.invoke(app, ["score", samples, "-s", f"{rewards}brevity", "--json", "-o", str(out)])
    summary = json.loads(filed.stdout)
    assert (summary["samples"], summary["unscored"], summary["mean"]) == (3, 1, 0.5)
    assert lines(out.read_text()) == lines(both.stdout)


def test_score_renames_columns(rewards: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text('{"q": "hi", "a": "yes"}\n')
    arguments = ["score", str(tmp_path / "x.jsonl"), "-s", f"{rewards}brevity"]
    result = runner.invoke(app, [*arguments, "--column", "prompt=q", "--column", "response=a"])
    assert lines(result.stdout)[0]["value"] == 1.0


def test_a_failing_scorer_leaves_the_old_file_and_no_half_one(rewards: str, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"prompt": "hi", "response": "crash"}\n')
    out = tmp_path / "out" / "scores.jsonl"
    out.parent.mkdir()
    out.write_text("yesterday's")
    result = runner.invoke(app, ["score", str(tmp_path / "in.jsonl"), "-s", f"{rewards}brevity", "-o", str(out)])
    assert result.exit_code != 0
    assert out.read_text() == "yesterday's"
    assert os.listdir(out.parent) == ["scores.jsonl"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "empty"),
        (b"{}\n", "prompt"),
        (b"not json\n", "x.jsonl:1"),
        (b"\xff\xfe\x00", "UTF-8"),
        (b"[1, 2]", "x.jsonl"),
    ],
)
def test_a_file_that_is_wrong_is_named_with_what_is_wrong(
    rewards: str, tmp_path: Path, content: bytes, told: str
) -> None:
    (tmp_path / "x.jsonl").write_bytes(content)
    result = runner.invoke(app, ["score", str(tmp_path / "x.jsonl"), "-s", f"{rewards}brevity"])
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""


def test_a_missing_file_is_told_the_nearest(rewards: str, samples: str) -> None:
    result = runner.invoke(app, ["score", samples.replace("samples", "sampels"), "-s", f"{rewards}brevity"])
    assert result.exit_code == 2
    assert "Did you mean" in result.stderr
    assert "samples.jsonl" in result.stderr


def test_a_huge_line_is_scored(rewards: str, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps({"prompt": "hi", "response": "x" * 5_000_000}) + "\n")
    result = runner.invoke(app, ["score", str(tmp_path / "x.jsonl"), "-s", f"{rewards}brevity"])
    assert lines(result.stdout)[0]["value"] == 0.0


@pytest.mark.parametrize("out", ["/dev/null/scores.jsonl", "."])
def test_an_output_that_cannot_be_written_is_found_before_anything_is_scored(
    rewards: str, samples: str, out: str
) -> None:
    result = runner.invoke(app, ["score", samples, "-s", f"{rewards}nothing_there", "-o", out])
    assert result.exit_code == 2
    assert out in result.stderr
    assert "nothing_there" not in result.stderr


def test_an_unknown_scorer_and_an_unknown_option_are_named(samples: str) -> None:
    result = runner.invoke(app, ["score", samples, "--scorer", "exat"])
    assert result.exit_code == 2
    assert "Did you mean 'exact'" in result.stderr
    result = runner.invoke(app, ["score", samples, "--scorer", "exact", "--option", "tolerence=1"])
    assert result.exit_code == 2
    assert "tolerence" in result.stderr


def test_a_server_that_is_not_there_is_an_outage(samples: str) -> None:
    arguments = ["score", samples, "--scorer", "http://127.0.0.1:9#x", "--option", "retries=0"]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 3
    assert "did not answer" in result.stderr


def test_portions_hold_every_sample_once_and_never_part_a_group() -> None:
    from guerdon.rewards import Sample

    groups = [None, "a", "b", None, "a", "a", "b", None, "c", "a"]
    found = list(score.chunks([Sample("p", "r", group=g) for g in groups], 3))
    assert sorted(i for portion in found for i in portion) == list(range(10))
    for name in ("a", "b", "c"):
        members = {i for i, g in enumerate(groups) if g == name}
        assert sum(bool(members & set(portion)) for portion in found) == 1
    assert all(len(portion) >= 3 for portion in found[:-1])


# --- evaluate -------------------------------------------------------------------------------------------------------


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    """Twenty pairs; ``brevity`` is right about fifteen of them."""
    rows = [{"prompt": f"p{i}", "chosen": "ok", "rejected": "a long way round"} for i in range(15)]
    rows += [{"prompt": f"q{i}", "chosen": "a long way round", "rejected": "ok"} for i in range(5)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(tmp_path / "pairs.jsonl")


def test_evaluate_prints_the_accuracy_and_saves_the_report(rewards: str, pairs: str, tmp_path: Path) -> None:
    out = tmp_path / "report"
    result = runner.invoke(app, ["evaluate", f"{rewards}brevity", "--data", pairs, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "0.750" in result.stdout
    assert sorted(os.listdir(out)) == ["report.html", "report.json", "report.md"]
    assert str(out / "report.html") in result.stderr


def test_evaluate_as_json_is_the_report(rewards: str, pairs: str) -> None:
    result = runner.invoke(app, ["evaluate", f"{rewards}brevity", "--data", pairs, "--json"])
    report = json.loads(result.stdout)
    assert report["sections"][0]["headline"]["value"] == 0.75


@pytest.mark.parametrize(("least", "code"), [("0.75", 0), ("0.76", 1)])
def test_an_accuracy_below_the_wanted_one_is_a_finding(rewards: str, pairs: str, least: str, code: int) -> None:
    arguments = ["evaluate", f"{rewards}brevity", "--data", pairs, "--min-accuracy", least]
    result = runner.invoke(app, arguments)
    assert result.exit_code == code
    assert ("is below 0.76" in result.stderr) == bool(code)


def test_evaluate_finds_a_missing_file_before_it_loads_the_scorer(rewards: str) -> None:
    result = runner.invoke(app, ["evaluate", f"{rewards}not_there", "--data", "no.jsonl"])
    assert result.exit_code == 2
    assert "no.jsonl" in result.stderr


# --- train ----------------------------------------------------------------------------------------------------------


def test_every_training_option_is_a_flag_with_help() -> None:
    assert set(train.HELP) == {field.name for field in fields(TrainConfig)}
    text = re.sub(r"[│\s]+", " ", runner.invoke(app, ["train", "--help"], env={"COLUMNS": "200"}).stdout)
    for name in train.HELP:
        assert f"--{name.replace('_', '-')} " in text
        assert train.HELP[name][1] in text


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[TrainConfig]:
    """The configurations that would have been trained."""
    configs: list[TrainConfig] = []
    monkeypatch.setattr(train, "run", lambda config, json_: configs.append(config))
    return configs


def test_flags_become_the_configuration(trained: list[TrainConfig]) -> None:
    arguments = ["-b", "base", "-d", "a.jsonl", "-d", "b.jsonl", "-o", "out", "--epochs", "3", "--lora-rank", "8"]
    result = runner.invoke(app, ["train", *arguments, "--resume", "--batch-pairs", "4"])
    assert result.exit_code == 0, result.output
    assert trained == [
        TrainConfig(
            base="base", data=("a.jsonl", "b.jsonl"), output="out", epochs=3.0, lora_rank=8, resume=True, batch_pairs=4
        )
    ]


def test_flags_win_over_the_file(trained: list[TrainConfig], tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(
        'base = "b"\ndata = ["a.jsonl"]\noutput = "o"\nseed = 3\nepochs = 2\nresume = true'
    )
    result = runner.invoke(app, ["train", "--config", str(tmp_path / "t.toml"), "--seed", "0", "--no-resume"])
    assert result.exit_code == 0, result.output
    assert trained == [TrainConfig(base="b", data=("a.jsonl",), output="o", seed=0, epochs=2, resume=False)]


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        ("epoch = 2", "Did you mean 'epochs'"),
        ('epochs = "2"', "epochs must be a number, got '2'"),
        ("batch_pairs = 1.5", "batch_pairs must be a whole number"),
        ("batch_pairs = true", "batch_pairs must be a whole number"),
        ('data = "a.jsonl"', "data must be a list of texts"),
        ("epochs = ", "not valid TOML"),
        ("epochs = -1", "epochs must be above 0"),
        ("seed = 1", "training needs base, data, output"),
    ],
)
def test_a_wrong_file_is_told_what_is_wrong(trained: list[TrainConfig], tmp_path: Path, toml: str, told: str) -> None:
    needed = 'base = "b"\ndata = ["a.jsonl"]\noutput = "o"\n'
    whole = toml if toml.startswith(("seed", "data")) else needed + toml
    (tmp_path / "t.toml").write_text(whole)
    result = runner.invoke(app, ["train", "--config", str(tmp_path / "t.toml")])
    assert result.exit_code == 2
    assert told in result.stderr
    assert not trained


def test_a_missing_file_of_options_is_named(trained: list[TrainConfig]) -> None:
    result = runner.invoke(app, ["train", "--config", "nowhere.toml"])
    assert result.exit_code == 2
    assert "nowhere.toml" in result.stderr


def test_a_model_is_trained_evaluated_and_scored_with_from_the_command_line(
    tiny_llama_dir: Path, pairs: str, samples: str, tmp_path: Path
) -> None:
    folder = str(tmp_path / "model")
    arguments = ["train", "-b", str(tiny_llama_dir), "-d", pairs, "-o", folder, "--held-out", "0.3", "--epochs", "1"]
    result = runner.invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["steps"] == found["steps_planned"] > 0
    assert found["counts"]["pairs"] + found["held_out"]["held_out_pairs"] == 20
    assert "held-out accuracy" in result.stderr

    again = runner.invoke(app, arguments)
    assert again.exit_code == 2
    assert "overwrite" in again.stderr

    report = json.loads(runner.invoke(app, ["evaluate", folder, "--data", pairs, "--json"]).stdout)
    assert report["scale"] == "logit"
    scores = lines(runner.invoke(app, ["score", samples, "--scorer", folder]).stdout)
    assert [row["status"] for row in scores] == ["ok"] * 3
    assert scores[0]["details"]["tokens"] > 0


# --- serve ----------------------------------------------------------------------------------------------------------


def test_serve_says_what_it_needs() -> None:
    result = runner.invoke(app, ["serve"])
    assert result.exit_code == 2
    assert "--scorer math=numeric" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--scorer", "numeric"], "NAME=SPEC"),
        (["--scorer", "a=exact", "--scorer", "a=numeric"], "more than once"),
        (["--scorer", "a=exat", "--port", "0"], "Did you mean 'exact'"),
        (["--scorer", "a=exact", "--host", "0.0.0.0"], "token"),
        (["--scorer", "a=exact", "--port", "99999"], "65535"),
    ],
)
def test_serve_refuses_what_cannot_be_right(monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str) -> None:
    monkeypatch.delenv("GUERDON_TOKEN", raising=False)
    result = runner.invoke(app, ["serve", *arguments])
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_served_verifier_answers_and_ends_on_a_signal() -> None:
    """The command as a process: it says where it listens, scores over HTTP, and Ctrl-C, its normal end, gives 0."""
    code = "from guerdon.serving.cli import main; main()"
    arguments = [sys.executable, "-c", code, "serve", "--scorer", "same=exact", "--port", "0", "--json"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["scorers"] == {"same": "exact"}
        url = re.search(r"http://[\d.:]+", process.stderr.readline())
        assert url is not None
        from guerdon.rewards import Sample
        from guerdon.serving.client import RemoteScorer

        assert RemoteScorer(url[0], "same").score([Sample("hi", "yes", "yes")])[0].value == 1.0
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
        assert process.returncode == 0
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.wait()


# --- Ctrl-C, and the shared parts -----------------------------------------------------------------------------------


def test_ctrl_c_ends_with_one_line_and_130(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\ndef reward(sample):\n    open('started', 'w').close()\n    time.sleep(60)\n    return 0.0\n"
    )
    (tmp_path / "x.jsonl").write_text('{"prompt": "hi", "response": "x"}\n')
    # a shell's background job starts its children with SIGINT ignored
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code += "from guerdon.serving.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "score", "x.jsonl", "-s", "slow.py:reward", "-o", "out.jsonl"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "started").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    assert process.returncode == 130
    assert (out, errors) == ("", "Interrupted.\n")
    assert not list(tmp_path.glob("*.part")) + list(tmp_path.glob(".out*"))


@pytest.mark.parametrize("pair", ["tolerance", "=1", "a b=1", "1a=2"])
def test_options_that_are_no_pairs_are_refused(pair: str) -> None:
    with pytest.raises(UsageError, match="KEY=VALUE"):
        console.parse_options([pair])


def test_options_are_json_or_text() -> None:
    assert console.parse_options(["a=1", "b=true", "c=x=y", "d=[1, 2]", "e=", 'f="1"']) == {
        "a": 1,
        "b": True,
        "c": "x=y",
        "d": [1, 2],
        "e": "",
        "f": "1",
    }
    with pytest.raises(UsageError, match="twice"):
        console.parse_options(["a=1", "a=2"])


def test_deeply_nested_option_values_are_text_not_a_crash() -> None:
    assert console.parse_options(["a=" + "[" * 100_000])["a"].startswith("[")


def test_a_whole_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    with console.whole_file(tmp_path / "a") as write:
        write("x")
    (tmp_path / "b").write_text("x\n")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
    assert (tmp_path / "a").read_text() == "x\n"


def test_json_survives_lone_surrogates() -> None:
    assert json.loads(console.to_json({"text": "\ud800é"})) == {"text": "\ud800é"}


def test_json_takes_whatever_a_scorer_puts_into_its_details() -> None:
    np = pytest.importorskip("numpy")
    details = {"p": float("nan"), "n": np.int64(3), "x": np.float32(0.5), (1, 2): {"path": Path("a")}, "flag": np.True_}
    assert json.loads(console.to_json(Score(1.0, "", details).details)) == {
        "p": "nan",
        "n": 3,
        "x": 0.5,
        "(1, 2)": {"path": "a"},
        "flag": "True",
    }


def test_no_flag_is_given_twice() -> None:
    command = typer.main.get_command(app)
    every = {name: command.commands[name] for name in COMMANDS}  # type: ignore[attr-defined]
    for group in GROUPS:
        every |= command.commands[group].commands  # type: ignore[attr-defined]
    for name in every:
        flags = [flag for parameter in every[name].params for flag in parameter.opts]  # type: ignore[attr-defined]
        assert len(flags) == len(set(flags)), name


def test_every_flag_and_command_in_the_documentation_exists() -> None:
    command = typer.main.get_command(app)
    text = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    lines = re.findall(r"guerdon ([a-z]+)((?: [^\n|`]*)?)", text)
    used = [(name, flag) for name, rest in lines if name in COMMANDS for flag in re.findall(r"(?<=\s)--[a-z-]+", rest)]
    assert len(used) > 15
    for name, flag in used:
        flags = {flag for parameter in command.commands[name].params for flag in parameter.opts}  # type: ignore[attr-defined]
        assert flag in flags | {"--help"}, (name, flag)
    assert {name for name, _ in lines if name in COMMANDS} == set(COMMANDS)
