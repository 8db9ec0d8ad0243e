"""The pages on verifiers are true: their examples run, and they name every option with its default."""

from __future__ import annotations

import doctest
import importlib.metadata
import inspect
import pkgutil
import re
import sys
import types
from pathlib import Path

import pytest

from guerdon import verifiers
from guerdon.verifiers._scorer import FROM_THE_SAMPLE, verifier_module

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "verifiers"
MODULES = ["guerdon.verifiers", *(f"guerdon.verifiers.{m.name}" for m in pkgutil.iter_modules(verifiers.__path__))]


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page: Path) -> None:
    if page.stem == "regex":
        pytest.importorskip("re2")
    result = doctest.testfile(str(page), module_relative=False)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_of_docstrings_run(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


@pytest.mark.parametrize("name", verifiers.names())
def test_a_page_names_every_option_with_its_default(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*?) \|", page, re.MULTILINE))
    parameters = inspect.signature(verifier_module(name).verify).parameters.values()
    options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in FROM_THE_SAMPLE}
    assert list(rows) == list(options)
    for option, default in options.items():
        said = rows[option].replace('"', "'").strip("`")
        assert option == "styles" or said == ("required" if default is inspect.Parameter.empty else repr(default)), (
            option
        )
    assert f"[`{name}`]({name}.md)" in (PAGES / "README.md").read_text()


def test_the_verifier_of_the_contributing_page_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.DOTALL)[0]
    module = types.ModuleType("palindrome")
    module.__file__ = str(tmp_path / "palindrome.py")
    Path(module.__file__).write_text(code)
    exec(compile(code, module.__file__, "exec"), module.__dict__)  # our own page
    monkeypatch.setitem(sys.modules, "palindrome", module)
    entry = importlib.metadata.EntryPoint("palindrome", "palindrome", "guerdon.verifiers")
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [entry])
    verifiers.check_verifier("palindrome")
    assert module.__doc__ is not None
