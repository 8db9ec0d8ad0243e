"""Loading: names, options, versions, and what a verifier makes of a sample."""

from __future__ import annotations

import pickle
import subprocess
import sys
import types
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import guerdon
from guerdon import verifiers
from guerdon.rewards import Sample, Score, Scorer
from guerdon.rewards.errors import ContractError, OutageError, UnknownNameError, UsageError
from guerdon.verifiers import _limits, _scorer

Add = Callable[..., None]


@pytest.fixture
def add(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Add:
    """Adds a verifier as another package would: a module and an entry point."""
    added: dict[str, types.ModuleType] = {}

    def entry_points(*, group: str, name: str | None = None) -> list[EntryPoint]:
        assert group == "guerdon.verifiers"
        return [EntryPoint(key, f"theirs_{key}", group) for key in added if name in (None, key)]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)

    def add_one(name: str, **content: Any) -> None:
        module = types.ModuleType(f"theirs_{name}")
        module.__file__ = str(tmp_path / f"{name}.py")
        Path(module.__file__).write_text(repr(sorted(content)))
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        added[name] = module

    return add_one


def one(scorer: Scorer, response: Any, reference: Any = "42", **more: Any) -> Score:
    return scorer.score([Sample("", response, reference, **more)])[0]


def test_the_folder_is_the_registry() -> None:
    files = {path.stem for path in Path(_scorer.__file__).parent.glob("[!_]*.py")}
    assert {"choice", "exact", "format", "numeric", "regex"} <= files
    assert files <= set(verifiers.names())
    assert verifiers.names() == sorted(verifiers.names())


def test_a_misspelt_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match=r"no verifier named 'numric'. Did you mean 'numeric'\? There are: choice"
    ):
        verifiers.load("numric")


@pytest.mark.parametrize("name", ["", "_answer", "__init__", "numeric.py", "../numeric", 7, None])
def test_what_is_no_verifier_is_not_loaded(name: Any) -> None:
    with pytest.raises(UsageError):
        verifiers.load(name)


def test_a_misspelt_option_is_answered_with_the_options_there_are() -> None:
    with pytest.raises(
        UnknownNameError, match=r"option of verifier 'numeric' named 'tolerence'\. Did you mean 'tolerance'"
    ):
        verifiers.load("numeric", tolerence=1)


@pytest.mark.parametrize("reserved", ["prompt", "meta", "response", "reference"])
def test_what_comes_from_the_sample_is_no_option(reserved: str) -> None:
    with pytest.raises(UnknownNameError):
        verifiers.load("choice", **{reserved: "x"})


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("regex", {}, "needs the option 'pattern'"),
        ("exact", {"extract": "all"}, "must be one of 'answer', 'whole', got 'all'"),
        ("exact", {"ignore_case": "yes"}, "must be True or False"),
        ("exact", {"ignore_case": 1}, "must be True or False"),
        ("numeric", {"tolerance": True}, "must be a number or text"),
        ("numeric", {"styles": "boxed"}, "must be a list, each one of 'boxed'"),
        ("numeric", {"styles": ["box"]}, "must be a list, each one of 'boxed'"),
        ("format", {"max_characters": 1.5}, "must be a whole number or None"),
        ("choice", {"choices": ["yes", 3]}, "must be a list, each text or None"),
    ],
)
def test_an_option_that_does_not_fit_is_refused_at_load(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        verifiers.load(name, **options)


def test_a_verifier_is_a_scorer_that_pickles_with_its_options() -> None:
    scorer = verifiers.load("numeric", tolerance="0.5", styles=["boxed", "tag"])
    twin = pickle.loads(pickle.dumps(scorer))
    assert isinstance(twin, Scorer)
    assert (twin.name, twin.scale, twin.version) == ("numeric", "verdict", scorer.version)
    assert twin.options == scorer.options == {"tolerance": "0.5", "styles": ("boxed", "tag")}
    assert repr(twin) == "verifiers.load('numeric', tolerance='0.5', styles=('boxed', 'tag'))"
    assert one(twin, r"\boxed{42.4}").value == 1.0


def test_the_version_changes_with_options_and_source_and_nothing_else(add: Add, tmp_path: Path) -> None:
    assert verifiers.load("numeric").version == verifiers.load("numeric").version
    assert verifiers.load("numeric").version.startswith(guerdon.__version__ + "+")
    assert verifiers.load("numeric").version != verifiers.load("numeric", tolerance=1).version
    assert verifiers.load("numeric").version != verifiers.load("exact").version

    add("theirs", verify=lambda response, reference: Score(1.0))
    before = verifiers.load("theirs").version
    (tmp_path / "theirs.py").write_text("changed")
    assert verifiers.load("theirs").version != before


def test_the_last_thing_that_the_assistant_said_is_judged() -> None:
    numeric = verifiers.load("numeric")
    said = [
        {"role": "assistant", "content": "41"},
        {"role": "tool", "content": "43"},
        {"role": "assistant", "content": [{"type": "text", "text": "It is 42."}, {"type": "image"}]},
        {"role": "user", "content": "Not 44?"},
    ]
    assert one(numeric, said).value == 1.0
    assert one(numeric, [{"role": "model", "content": "42"}]).value == 1.0
    assert one(numeric, [{"role": "assistant", "content": None}]).reason == "the response is empty"


@pytest.mark.parametrize("name", ["exact", "numeric", "choice"])
def test_a_missing_reference_leaves_the_sample_unscored(name: str) -> None:
    score = one(verifiers.load(name), "42", None)
    assert (score.value, score.status) == (None, "not_applicable")
    assert score.reason == f"{name} needs a reference and the sample has none"


@pytest.mark.parametrize("name", ["exact", "numeric", "choice"])
def test_an_empty_response_is_wrong_and_not_unscored(name: str) -> None:
    score = one(verifiers.load(name), "", "A" if name == "choice" else "42")
    assert (score.value, score.status) == (0.0, "ok")


def test_a_response_over_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_scorer, "MAX_CHARACTERS", 1_000)
    score = one(verifiers.load("numeric"), "4" * 1_001)
    assert (score.value, score.status) == (None, "refused")
    assert "1,001 characters, more than the 1,000" in score.reason
    assert _limits.MAX_CHARACTERS > 1_000_000


def test_others_add_verifiers_through_an_entry_point(add: Add) -> None:
    def verify(response: str, reference: object, *, least: int = 1) -> Score:
        """At least so many words."""
        return Score(len(response.split()) - least, "words")

    add("words", verify=verify, SCALE="real")
    assert "words" in verifiers.names()
    words = verifiers.load("words", least=2)
    assert (words.scale, one(words, "a b c").value) == ("real", 1.0)


def test_nothing_installed_changes_what_our_own_names_mean(add: Add) -> None:
    add("numeric", verify=lambda response, reference: Score(1.0))
    assert one(verifiers.load("numeric"), "41").value == 0.0


def test_a_fault_of_the_verifier_is_an_error_with_its_name_and_no_zero(add: Add) -> None:
    def verify(response: str, reference: object) -> Score:
        raise KeyError("boom")

    add("broken", verify=verify)
    score = one(verifiers.load("broken"), "42")
    assert (score.value, score.status, score.reason) == (None, "error", "broken raised KeyError: 'boom'")


def test_an_outage_inside_a_verifier_is_raised(add: Add) -> None:
    def verify(response: str, reference: object) -> Score:
        raise OutageError("no sandbox")

    add("remote", verify=verify)
    with pytest.raises(OutageError):
        one(verifiers.load("remote"), "42")


@pytest.mark.parametrize(
    "content",
    [
        {"verify": 3},
        {},
        {"verify": lambda response, reference: Score(1.0), "SCALE": "percent"},
        {"verify": lambda response, answer: Score(1.0)},
        {"verify": lambda response, reference: 1.0},
    ],
)
def test_a_module_that_keeps_no_contract_is_named(add: Add, content: dict[str, Any]) -> None:
    add("odd", **content)
    with pytest.raises(ContractError, match="'odd'"):
        one(verifiers.load("odd"), "42")


def test_importing_the_package_imports_no_verifier_and_nothing_heavy() -> None:
    code = (
        "import sys, time, guerdon.verifiers as v\n"
        "heavy = {'numpy', 'torch', 'sympy', 're2', 'fastapi', 'transformers'} & set(sys.modules)\n"
        "ours = {f'guerdon.verifiers.{n}' for n in v.names()} & set(sys.modules)\n"
        "sys.exit(f'{heavy} {ours} {time.process_time()}' if heavy or ours or time.process_time() > 0.6 else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
