"""The code of docs/calibration/corrections.md runs in order and gives what its comments say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "calibration" / "corrections.md"


def test_code_of_the_page_runs_and_gives_what_its_comments_say(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["backward"]([1, 0], 0.1, 0.2).tolist() == pytest.approx([1.286, -0.143], abs=1e-3)
    assert names["found"].change == "changed"
    assert capsys.readouterr().out.startswith("The correction changes the update")
    found = names["to_advantages"](names["batch"], baseline="leave_one_out", scale=1.0)
    assert found == pytest.approx([2 / 3 / 0.93, -2 / 3 / 0.93, 2 / 3 / 0.93, -2 / 3 / 0.93])
