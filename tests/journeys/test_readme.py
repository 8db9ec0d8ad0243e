"""The README's code blocks run in order, on small weights and made-up pairs, and its commands are what CI looks for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("mark", "ends_with"), [("demo", "guerdon demo"), ("tests", "pytest -q")])
def test_each_of_the_two_commands_is_one_marked_line(mark, ends_with):
    found = re.findall(rf"<!-- command: {mark} -->\n```sh\n(.*?)\n```", README, re.DOTALL)
    assert len(found) == 1
    assert "\n" not in found[0]
    assert found[0].endswith(ends_with)
    assert "-c constraints.txt" in found[0]


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_code_blocks_run_in_order(tiny_llama_dir, tmp_path, monkeypatch, capsys):
    from guerdon.rewards.synthetic import make_preferences
    from guerdon.rewards.types import thaw
    from guerdon.serving.config import ServeConfig
    from guerdon.serving.server import serving
    from guerdon.serving.specs import load_scorer

    monkeypatch.chdir(tmp_path)
    pairs = make_preferences(60, seed=0)
    for name, some in (("pairs.jsonl", pairs[:40]), ("test.jsonl", pairs[40:])):
        rows = [{"prompt": thaw(p.prompt), "chosen": thaw(p.chosen), "rejected": thaw(p.rejected)} for p in some]
        Path(name).write_text("\n".join(map(json.dumps, rows)))
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 4
    train, evaluate, call, load = (
        block.replace("sentence-transformers/all-MiniLM-L6-v2", str(tiny_llama_dir)) for block in blocks
    )
    names: dict[str, Any] = {}
    for block in (train, evaluate):
        exec(compile(block, "README.md", "exec"), names)
    assert Path("runs/helpful/report/report.html").exists()
    with serving(ServeConfig(port=0), {"helpful": load_scorer("runs/helpful")}) as url:
        exec(compile(call.replace("http://127.0.0.1:8008", url), "README.md", "exec"), names)
    capsys.readouterr()
    exec(compile(load, "README.md", "exec"), names)
    assert capsys.readouterr().out.splitlines()[-1] == "[0.0]"
    assert names["score"].value == 1.0
