"""The code of docs/calibration/noise.md runs in order and gives what its comments and its text say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "calibration" / "noise.md"


def test_code_of_the_page_runs_and_gives_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 3
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert 0.4 in names["audit"].rates.channel("set").false_negative_interval
    assert names["audit"].needed(0.05)["set"]["false_negative"].labels > 0
    seen, judge = names["seen"], names["judge"]
    assert names["published"](seen.accepted, seen.flipped, 0.1) == pytest.approx(0.241, abs=5e-4)
    found = names["corrected"](seen, judge, false_positive=0.02)
    assert found.false_negative == pytest.approx(0.200, abs=5e-4)
    assert 0.2 in found.interval
    assert names["alarm"].step > 200
    out = capsys.readouterr().out
    assert "false negative" in out
    assert "audit again" in out


def test_the_page_shows_the_commands_that_there_are() -> None:
    from typer.testing import CliRunner

    from guerdon.serving.cli import app

    for command, options in re.findall(r"^\$ guerdon audit (\w+)(.*)$", PAGE.read_text("utf-8"), re.MULTILINE):
        shown = CliRunner().invoke(app, ["audit", command, "--help"], env={"COLUMNS": "200"}).stdout
        assert all(option in shown for option in re.findall(r" (--?[a-z-]+)", options))
