"""The examples of docs/rendering.md give what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "rendering.md"


def test_the_page_tells_the_truth(minilm_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "all-MiniLM-L6-v2").symlink_to(minilm_dir)
    monkeypatch.chdir(tmp_path)
    page = doctest.DocTestParser().get_doctest(
        PAGE.read_text(encoding="utf-8").replace("```", ""), {}, PAGE.name, None, 0
    )
    results = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(page)
    assert results.attempted > 10
    assert results.failed == 0
