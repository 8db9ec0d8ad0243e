"""Every example of docs/data.md is read as what the page says it is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from guerdon.rewards.errors import DataError
from guerdon.rewards.preferences import kind_of, read_preferences, read_rankings, read_samples, read_ties
from guerdon.rewards.reading.conversations import ANSWER_MARKS
from guerdon.rewards.reading.formats import ALIASES
from guerdon.rewards.types import text_of

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```json (\w+)\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
READERS: dict[str, Any] = {
    "preferences": read_preferences,
    "rankings": read_rankings,
    "ties": read_ties,
    "samples": read_samples,
}


def test_the_page_has_an_example_of_every_kind() -> None:
    assert {kind for kind, _ in EXAMPLES} == set(READERS)


@pytest.mark.parametrize(("kind", "example"), EXAMPLES)
def test_an_example_is_read_as_the_kind_it_stands_under(tmp_path: Path, kind: str, example: str) -> None:
    path = tmp_path / "example.jsonl"
    path.write_text(example, encoding="utf-8")
    assert kind_of(path) == kind
    (record,) = READERS[kind](path)
    assert text_of(record.prompt)


def test_the_page_names_every_alias_and_mark() -> None:
    for field in ("prompt", "response", "reference", "group"):
        assert all(f"`{name}`" in PAGE for name in ALIASES[field])
    named = [mark for mark in ANSWER_MARKS if "header" not in mark]  # Llama's are called by name
    assert all("`" + mark.replace("\n", "\\n") + "`" in PAGE for mark in named)


def test_the_error_on_the_page_is_the_one_that_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good = json.dumps({"prompt": "q", "chosen": "a", "rejected": "b"})
    lines = [good, "{oops", good, '{"prompt": "q", "chosen": "a"}', *[good] * 4, good.replace('"b"', '"a"')]
    Path("pairs.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_preferences("pairs.jsonl")
    assert f"```text\n{caught.value}\n```" in PAGE
