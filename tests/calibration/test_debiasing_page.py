"""The code of docs/calibration/debiasing.md runs in order and gives what the page says; every name in it exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from guerdon.calibration.features import names

PAGE = Path(__file__).parents[2] / "docs" / "calibration" / "debiasing.md"


def test_code_of_the_page_runs_and_gives_what_it_says() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    found: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), found)
    assert (found["before"], found["after"]) == pytest.approx((0.88, 1.00), abs=0.005)
    assert found["found"].raw.value == pytest.approx(0.68, abs=0.005)
    assert found["found"].win_rate.value == pytest.approx(0.50, abs=0.005)


def test_the_page_lists_every_feature() -> None:
    listed = re.search(r"^`names\(\)` lists them: (.*?)Each is a function", PAGE.read_text("utf-8"), re.S | re.M)
    assert listed is not None
    assert set(names()) <= set(re.findall(r"[a-z]+", listed[1]))
