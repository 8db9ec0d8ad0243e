"""``guerdon audit`` as people and scripts meet it: choose, label, estimate, and what a mistake is told."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from guerdon.calibration.rates import NoiseRates
from guerdon.serving.cli import app
from guerdon.serving.commands import audit_data

runner = CliRunner()

RULE = """
def check(response, reference):
    if response == "silence":
        return None
    return 1.0 if response == reference else 0.0

def graded(sample):
    assert "label" not in sample.meta and "truth" not in sample.meta, "the scorer sees the truth"
    return len(sample.response_text) / 10
"""


def invoke(*arguments: str, **options: Any) -> Any:
    return runner.invoke(app, ["audit", *arguments], **options)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def rule(tmp_path: Path) -> str:
    (tmp_path / "rule.py").write_text(RULE)
    return f"{tmp_path / 'rule.py'}:check"


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    """400 samples of two sources: a rule that compares texts rejects a third of the right answers of "b" ("1.0").

    Every tenth of "b" gets no verdict; no wrong answer is accepted.
    """
    rows = []
    for i in range(400):
        source, right = ("a", "b")[i % 2], i % 4 < 2
        response = ("1.0" if source == "b" and i % 3 == 0 else "1") if right else "2"
        if source == "b" and i % 20 == 5:
            response = "silence"
        rows.append(
            {"id": f"s{i}", "prompt": f"{i}?", "response": response, "reference": "1", "source": source, "label": right}
        )
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def true_rates(path: Path, source: str | None = None) -> tuple[float, float]:
    """(false_positive, false_negative) counted by hand."""
    rows = [r for r in lines(path) if r["response"] != "silence" and source in (None, r["source"])]
    right, wrong = [r for r in rows if r["label"]], [r for r in rows if not r["label"]]
    accepted = [r["response"] == r["reference"] for r in wrong], [r["response"] == r["reference"] for r in right]
    return sum(accepted[0]) / len(wrong), 1 - sum(accepted[1]) / len(right)


# --- the three steps ------------------------------------------------------------------------------------------------


def test_choose_label_estimate_gives_rates_that_hold_the_truth(tmp_path: Path, answers: Path, rule: str) -> None:
    queue, labels, rates = (tmp_path / name for name in ("queue.jsonl", "labels.jsonl", "rates.json"))
    common = ["--scorer", rule, "--stratum", "meta:source"]
    result = invoke("choose", str(answers), *common, "--budget", "120", "-o", str(queue))
    assert result.exit_code == 0, result.output
    assert len(lines(queue)) == 120
    assert "20 samples are unscored" in result.stderr
    result = invoke("label", str(queue), "-o", str(labels), "--label-column", "label")
    assert result.exit_code == 0, result.output
    plot = tmp_path / "rates.svg"
    result = invoke("estimate", str(answers), *common, "--labels", str(labels), "-o", str(rates), "--plot", str(plot))
    assert result.exit_code == 0, result.output
    found = NoiseRates.load(rates)
    assert (found.scorer, found.stratum) == ("check", "meta:source")
    assert set(found.channels) == {"", "a", "b"}
    for key in ("", "a", "b"):
        channel, (fp, fn) = found.channel(key), true_rates(answers, key or None)
        assert channel.false_positive_interval is not None
        assert channel.false_negative_interval is not None
        assert fp in channel.false_positive_interval
        assert fn in channel.false_negative_interval
    assert plot.read_text().startswith("<svg xmlns")
    assert "false neg. %" in result.stdout
    assert all(name in result.stdout for name in ("(all)", "a\n", "b\n"))


def test_a_column_of_labels_needs_no_queue_and_speaks_json(answers: Path, rule: str) -> None:
    result = invoke(
        "estimate", str(answers), "--scorer", rule, "--label-column", "label", "--stratum", "meta:source", "--json"
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    for key in ("", "a", "b"):
        channel, (fp, fn) = found["rates"]["channels"][key], true_rates(answers, key or None)
        assert channel["false_positive"] == pytest.approx(fp)
        assert channel["false_negative"] == pytest.approx(fn)
        assert set(found["strata"][key]["more_labels"]) == {"false_positive", "false_negative"}
    assert found["strata"]["b"]["unscored"] == 20
    assert NoiseRates.from_json(found["rates"]).scorer == "check"


def test_the_plan_as_json_and_a_second_round_that_asks_nothing_twice(tmp_path: Path, answers: Path, rule: str) -> None:
    queue, labels, more = (tmp_path / name for name in ("queue.jsonl", "labels.jsonl", "more.jsonl"))
    result = invoke("choose", str(answers), "--scorer", rule, "--budget", "40", "-o", str(queue), "--json")
    plan = json.loads(result.stdout)
    assert plan["chosen"] == 40
    assert sum(cell["wanted"] for cell in plan["cells"]) == 40
    assert plan["unscored"] == 20
    invoke("label", str(queue), "-o", str(labels), "--label-column", "label")
    result = invoke(
        "choose", str(answers), "--scorer", rule, "--half-width", "0.1", "--labels", str(labels), "-o", str(more)
    )
    assert result.exit_code == 0, result.output
    assert "more labels" in result.stderr
    assert not {row["id"] for row in lines(more)} & {row["id"] for row in lines(queue)}


def test_the_queue_keeps_the_files_columns_and_the_scores_in_their_layout(
    tmp_path: Path, answers: Path, rule: str
) -> None:
    queue = tmp_path / "queue.jsonl"
    invoke("choose", str(answers), "--scorer", rule, "--budget", "40", "-o", str(queue))
    row = lines(queue)[0]
    assert {"id", "prompt", "response", "reference", "source", "scores", "drawn_by"} <= set(row)
    assert set(row["scores"]["check"]) == {"value", "status", "reason", "details"}
    again = invoke("choose", str(queue), "--scores", "check", "--budget", "5", "-o", str(tmp_path / "again.jsonl"))
    assert again.exit_code == 0, again.output


def test_scores_that_guerdon_score_wrote_are_taken_as_they_are(tmp_path: Path, answers: Path, rule: str) -> None:
    scores = tmp_path / "scores.jsonl"
    assert runner.invoke(app, ["score", str(answers), "--scorer", rule, "-o", str(scores)]).exit_code == 0
    result = invoke("estimate", str(answers), "--scores", str(scores), "--label-column", "label", "--json")
    assert result.exit_code == 0, result.output
    channel = json.loads(result.stdout)["rates"]["channels"][""]
    assert channel["false_negative"] == pytest.approx(true_rates(answers)[1])
    lines_of = scores.read_text().splitlines()
    (tmp_path / "swapped.jsonl").write_text("\n".join([lines_of[1], lines_of[0], *lines_of[2:]]) + "\n")
    result = invoke("estimate", str(answers), "--scores", str(tmp_path / "swapped.jsonl"), "--label-column", "label")
    assert result.exit_code == 2
    assert "the score is of 's1' but the sample here is 's0'" in result.stderr


def test_a_graded_scorer_needs_a_threshold_and_never_sees_the_truth(tmp_path: Path, answers: Path, rule: str) -> None:
    graded = rule.replace(":check", ":graded")
    result = invoke("estimate", str(answers), "--scorer", graded, "--label-column", "label")
    assert result.exit_code == 2
    assert "--threshold" in result.stderr
    result = invoke("estimate", str(answers), "--scorer", graded, "--label-column", "label", "--threshold", "0.2")
    assert result.exit_code == 0, result.output


def test_labels_drawn_for_another_scorer_are_left_out_and_told(tmp_path: Path, answers: Path, rule: str) -> None:
    queue, labels = tmp_path / "queue.jsonl", tmp_path / "labels.jsonl"
    invoke("choose", str(answers), "--scorer", "exact", "--budget", "40", "-o", str(queue))
    invoke("label", str(queue), "-o", str(labels), "--label-column", "label")
    result = invoke("estimate", str(answers), "--scorer", rule, "--labels", str(labels))
    assert result.exit_code == 2
    assert "40 labels were drawn by the verdicts of exact and are left out" in result.stderr


def test_labels_drawn_by_strata_may_be_read_for_all_samples_at_once(tmp_path: Path, answers: Path, rule: str) -> None:
    """Most labels are of "b"; without the strata the rate of all samples still weighs "a" as what it is."""
    queue, labels = tmp_path / "queue.jsonl", tmp_path / "labels.jsonl"
    common = ["--scorer", rule]
    invoke("choose", str(answers), *common, "--stratum", "meta:source", "--budget", "60", "-o", str(queue))
    invoke("label", str(queue), "-o", str(labels), "--label-column", "label")
    one = invoke("estimate", str(answers), *common, "--labels", str(labels), "--json")
    two = invoke("estimate", str(answers), *common, "--stratum", "meta:source", "--labels", str(labels), "--json")
    root = [json.loads(result.stdout)["rates"]["channels"][""]["false_negative"] for result in (one, two)]
    assert root[0] == pytest.approx(root[1])


# --- labelling by hand ----------------------------------------------------------------------------------------------


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    path = tmp_path / "queue.jsonl"
    rows = [{"id": str(i), "prompt": f"ask {i}", "response": f"say {i}", "reference": "[red]7[/red]"} for i in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def kept(path: Path) -> dict[str, bool]:
    return {name: label.right for name, label in audit_data.read_labels(path).items()}


def test_one_keystroke_a_label_with_skip_and_undo(tmp_path: Path, queue: Path) -> None:
    out = tmp_path / "labels.jsonl"
    result = invoke("label", str(queue), "-o", str(out), input="ynsuuy?1q")
    assert result.exit_code == 0, result.output
    # y, n, skip; undo the skip, undo n; y, an unknown key does nothing, 1 is y; stop
    assert kept(out) == {"0": True, "1": True, "2": True}
    assert "3 labels" in result.stderr
    assert "[red]7[/red]" in result.stderr


def test_what_is_labelled_is_not_asked_again(tmp_path: Path, queue: Path) -> None:
    out = tmp_path / "labels.jsonl"
    invoke("label", str(queue), "-o", str(out), input="yn")
    result = invoke("label", str(queue), "-o", str(out), input="nnnn")
    assert "1 of 2" in result.stderr
    assert kept(out) == {"0": True, "1": False, "2": False, "3": False}


def test_a_line_that_a_crash_cut_off_is_mended_and_nothing_else_is_lost(tmp_path: Path, queue: Path) -> None:
    out = tmp_path / "labels.jsonl"
    out.write_text('{"id": "0", "label": true}\n{"id": "1", "lab')
    result = invoke("label", str(queue), "-o", str(out), input="n")
    assert "cut off" in result.stderr
    assert kept(out) == {"0": True, "1": False}
    out.write_text('{"id": "0", "label": true}')  # whole, only without its line end
    invoke("label", str(queue), "-o", str(out), input="n")
    assert kept(out) == {"0": True, "1": False}


def test_a_response_cannot_move_the_cursor_and_long_ones_show_their_end(tmp_path: Path) -> None:
    path = tmp_path / "queue.jsonl"
    response = "begin" + "x" * 10_000 + "\x1b[2J the end"
    path.write_text(json.dumps({"prompt": "p", "response": response}) + "\n")
    result = invoke("label", str(path), "-o", str(tmp_path / "l.jsonl"), input="q")
    assert "\x1b[2J" not in result.stderr
    assert "\\x1b[2J the end" in result.stderr
    assert "begin" not in result.stderr
    assert "begin" in invoke("label", str(path), "-o", str(tmp_path / "l.jsonl"), input="fq").stderr


def test_the_labeller_does_not_see_the_verdict(tmp_path: Path, answers: Path, rule: str) -> None:
    queue = tmp_path / "queue.jsonl"
    invoke("choose", str(answers), "--scorer", rule, "--budget", "10", "-o", str(queue))
    shown = invoke("label", str(queue), "-o", str(tmp_path / "l.jsonl"), input="q").stderr
    assert "check" not in shown
    assert "returned" not in shown


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a terminal of its own (pty)")
def test_ctrl_c_at_a_terminal_keeps_the_labels_and_the_terminal(tmp_path: Path, queue: Path) -> None:
    import pty
    import termios

    out = tmp_path / "labels.jsonl"
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from guerdon.serving.cli import main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "audit", "label", str(queue), "-o", str(out)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr is not None
    while b"q quit" not in (line := process.stderr.readline()):  # what is typed before the question is dropped
        assert line, "ended without a question"
    os.write(ours, b"y")
    deadline = time.monotonic() + 60
    while not (out.exists() and out.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert kept(out) == {"0": True}
    assert b"1 labels" in err
    assert termios.tcgetattr(theirs)[3] == before[3]
    os.close(ours)
    os.close(theirs)


# --- mistakes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["choose", "FILE", "--scorer", "exact", "-o", "q.jsonl"], "how many labels"),
        (["choose", "FILE", "--budget", "5", "-o", "q.jsonl"], "either --scorer SPEC, or --scores"),
        (["choose", "FILE", "--scorer", "exct", "--budget", "5", "-o", "q.jsonl"], "Did you mean 'exact'"),
        (["choose", "FILE", "--scorer", "exact", "--stratum", "sorce", "--budget", "5", "-o", "q.jsonl"], "meta:KEY"),
        (["choose", "FILE", "--scores", "none", "--budget", "5", "-o", "q.jsonl"], "no file, and no sample has scores"),
        (["choose", "nofile.jsonl", "--scorer", "exact", "--budget", "5", "-o", "q.jsonl"], "no file or folder"),
        (["estimate", "FILE", "--scorer", "exact"], "either as a file"),
        (
            ["estimate", "FILE", "--scorer", "exact", "--label-column", "source"],
            "source must be true or false, got 'a'",
        ),
        (["estimate", "FILE", "--scorer", "exact", "--label-column", "labl"], "the columns are id, label, source"),
        (
            ["estimate", "FILE", "--scorer", "exact", "--label-column", "label", "--method", "exat"],
            "Did you mean 'exact'",
        ),
        (["estimate", "FILE", "--scorer", "exact", "--labels", "nolabels.jsonl"], "cannot read nolabels.jsonl"),
        (["label", "-", "-o", "l.jsonl"], "cannot come from standard input"),
    ],
)
def test_a_mistake_is_told_with_what_would_be_right(answers: Path, arguments: list[str], message: str) -> None:
    result = invoke(*(str(answers) if argument == "FILE" else argument for argument in arguments))
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert not Path("q.jsonl").exists()


def test_labels_of_another_file_are_an_error(tmp_path: Path, answers: Path, rule: str) -> None:
    (tmp_path / "labels.jsonl").write_text('{"id": "elsewhere", "label": true}\n')
    result = invoke("estimate", str(answers), "--scorer", rule, "--labels", str(tmp_path / "labels.jsonl"))
    assert result.exit_code == 2
    assert "none of the 1 labels" in result.stderr


def test_lines_that_are_no_labels_are_listed_with_their_numbers(tmp_path: Path, answers: Path, rule: str) -> None:
    (tmp_path / "labels.jsonl").write_text('{"id": "s1", "label": true}\n{"id": "s2", "label": "yes"}\n3\n')
    result = invoke("estimate", str(answers), "--scorer", rule, "--labels", str(tmp_path / "labels.jsonl"))
    assert result.exit_code == 2
    assert "line 2" in result.stderr
    assert "line 3" in result.stderr


def test_samples_without_ids_are_known_by_their_texts_and_doubles_by_number() -> None:
    from guerdon.rewards import Sample

    one, other = Sample("p", "r", "1"), Sample("p", "r", "2")
    names = audit_data.identities([one, other, one])
    assert names[2] == f"{names[0]}#2"
    assert len(set(names)) == 3
    assert audit_data.identities([other, one]) == [names[1], names[0]]
    assert audit_data.identities([Sample("p", "r", meta={"id": 7})]) == ["7"]


@pytest.mark.parametrize("command", ["choose", "label", "estimate"])
def test_every_step_has_help_with_examples_and_speaks_json(command: str) -> None:
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert f"$ guerdon audit {command}" in result.stdout
    assert "--json" in result.stdout


def test_help_and_labelling_load_no_numpy(tmp_path: Path, queue: Path) -> None:
    label = ["audit", "label", str(queue), "-o", str(tmp_path / "l.jsonl")]
    code = (
        "import sys\nfrom guerdon.serving.cli import app\n"
        f"for arguments in (['audit', '--help'], ['audit', 'choose', '--help'], {label!r}):\n"
        "    try:\n        app(arguments)\n    except SystemExit as end:\n        assert end.code == 0, end.code\n"
        "heavy = {'torch', 'numpy', 'scipy', 'sklearn', 'fastapi'} & set(sys.modules)\nassert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, input="yq", check=False)
    assert done.returncode == 0, done.stderr
