"""The code of docs/trainers.md runs as it stands, against a real server in place of the address it names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "trainers.md"


def test_the_code_of_the_page_runs_and_gives_what_its_comments_say() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("uvicorn")
    from guerdon import verifiers
    from guerdon.serving.config import ServeConfig
    from guerdon.serving.server import serving

    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    names: dict[str, Any] = {}
    with serving(ServeConfig(port=0), {"numeric": verifiers.load("numeric")}) as url:
        for block in blocks:
            exec(compile(block.replace("http://127.0.0.1:8008", url), str(PAGE), "exec"), names)
        assert names["reward"](["6*7="] * 2, ["42", "41"], answer=["42", "42"]) == [1.0, 0.0]
        row = {"solution_str": "42", "ground_truth": "42", "extra_info": {"question": "6*7="}}
        assert names["compute_score"](data_source="sums", **row) == {"score": 1.0, "unscored": 0.0}
        answer = names["reward_func"](["6*7=42<|im_end|>"], ["6*7="], ["42"])
        assert answer["rewards"].tolist() == answer["scores"].tolist() == [1.0]
