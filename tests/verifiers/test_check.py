"""Every verifier in the folder keeps the rules, and a verifier that breaks one is caught."""

from __future__ import annotations

import sys
import types
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from guerdon import verifiers
from guerdon.rewards import Score
from guerdon.rewards.errors import ContractError


@pytest.mark.parametrize("name", verifiers.names())
def test_every_verifier_holds_its_examples_and_keeps_the_laws(name: str) -> None:
    if name == "regex":
        pytest.importorskip("re2")
    verifiers.check_verifier(name)


def check(monkeypatch: pytest.MonkeyPatch, **content: Any) -> None:
    def verify(response: str, reference: object, *, prompt: str = "") -> Score:
        """Whether the response is the reference."""
        return Score(float(response == reference), "compared")

    module = types.ModuleType("theirs", "Equality.")
    module.__dict__.update(
        {"verify": verify, "EXAMPLES": (("a", "a", 1), ("a", "b", 0)), "__file__": __file__} | content
    )
    monkeypatch.setitem(sys.modules, "theirs", module)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: [EntryPoint("theirs", "theirs", "x")])
    verifiers.check_verifier("theirs")


def test_a_sound_verifier_of_others_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    check(monkeypatch)
    check(monkeypatch, EXAMPLES=(("a", "a", 1, {"prompt": "p"}), ("a", "b", 0), ("a", None, None)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"EXAMPLES": ()}, "must hold a response that is accepted and one that is rejected"),
        ({"EXAMPLES": (("a", "a", 1), ("b", "b", 1))}, "one that is rejected"),
        ({"EXAMPLES": (("a", "a", 1), ("b", "b", 0))}, r"example \('b', 'b', 0\) scored 1.0 \(compared\)"),
        ({"__doc__": None}, "need docstrings"),
        ({"SCALE": "verdict", "EXAMPLES": (("a", "a", 1), ("a", "b", 0), ("", "b", None))}, "scored 0.0"),
    ],
)
def test_a_verifier_that_breaks_a_rule_is_named(
    monkeypatch: pytest.MonkeyPatch, content: dict[str, Any], message: str
) -> None:
    with pytest.raises(ContractError, match=message):
        check(monkeypatch, **content)


def test_a_verifier_that_breaks_a_law_of_scorers_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def verify(response: str, reference: object) -> Score:
        """Half right, on a scale of verdicts."""
        return Score(1.0 if response == "a" else 0.0 if response == "b" else 0.5, "half")

    with pytest.raises(ContractError, match="not 0 or 1"):
        check(monkeypatch, verify=verify, EXAMPLES=(("a", "a", 1), ("b", "a", 0)))
