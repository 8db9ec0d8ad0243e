"""``guerdon serve``: what its flags and its file become, and what it says of itself when it listens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.serving import server
from guerdon.serving.cli import app
from guerdon.serving.config import ServeConfig, Tenant, read_config
from guerdon.serving.specs import load_scorer

runner = CliRunner()


def settings(monkeypatch: pytest.MonkeyPatch, *flags: str) -> tuple[ServeConfig, Any]:
    """What ``serve`` would be called with, and what ``--json`` printed."""
    seen: list[ServeConfig] = []
    monkeypatch.setattr(server, "serve", seen.append)
    result = runner.invoke(app, ["serve", "--scorer", "math=numeric", "--json", *flags])
    assert result.exit_code == 0, result.output
    return seen[0], json.loads(result.stdout)


def test_flags_for_the_store_and_for_new_weights_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GUERDON_ADMIN_TOKEN", "open-sesame")
    flags = ["--store", "scores.db", "--store-text", "--swap-dir", "runs", "--swap-dir", "more"]
    config, said = settings(monkeypatch, *flags)
    assert (config.store, config.store_text, config.swap_dirs) == ("scores.db", True, ["runs", "more"])
    assert config.admin_token == "open-sesame"
    assert (said["store"], said["admin"], said["tenants"]) == (True, True, {})
    assert "open-sesame" not in str(said)


def test_without_them_nothing_is_stored_and_there_is_no_administrator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GUERDON_ADMIN_TOKEN", raising=False)
    config, said = settings(monkeypatch)
    assert (config.store, config.store_text, config.admin_token, list(config.swap_dirs)) == (None, False, None, [])
    assert (said["store"], said["admin"]) == (False, False)


def test_tenants_of_the_file_are_shown_without_their_tokens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    documented = page.partition("### Tenants")[2].partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "team-a.txt").write_text("s3cret-a\n")
    (tmp_path / "serve.toml").write_text(documented + '[tenants.team-b]\ntoken = "s3cret-b"\n')
    monkeypatch.chdir(tmp_path)
    config, said = settings(monkeypatch, "--config", "serve.toml")
    assert said["tenants"] == {"team-a": 0.5, "team-b": 1.0}
    assert config.tenants == {"team-a": Tenant("s3cret-a", 0.5), "team-b": Tenant("s3cret-b")}
    listening = server._Server(config, {"math": load_scorer("numeric")})
    greeting = server._greeting(config, listening, "http://127.0.0.1:8008")
    assert "  tenant team-a: up to 50% of every queue" in greeting
    assert "Authorization: Bearer $GUERDON_TOKEN" in greeting  # nobody comes in without one
    assert "s3cret" not in greeting + str(said)


def test_it_says_where_it_records_and_whence_it_loads(tmp_path: Path) -> None:
    where = str(tmp_path / "scores.db")
    config = ServeConfig(store=where, store_text=True, admin_token="a", swap_dirs=["runs"])
    listening = server._Server(config, {"math": load_scorer("numeric")})
    greeting = server._greeting(config, listening, "http://127.0.0.1:8008")
    assert f"  recorded in {where} with texts" in greeting
    assert "  new weights from runs" in greeting
    assert listening.store is not None
    listening.store.close()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store_text": True}, r"there is none; name one with store \(--store\)"),
        ({"store": ""}, "store must be a file, or a URL; got ''"),
        ({"store": "s.db", "store_text": "yes"}, "store_text must be true or false; got 'yes'"),
        ({"swap_dirs": ["runs"]}, "set GUERDON_ADMIN_TOKEN or a file"),
        ({"swap_dirs": "runs", "admin_token": "a"}, "swap_dirs must be a list of folders"),
        ({"admin_token": "a b"}, "a token must be one or more visible ASCII characters"),
        ({"token": "a", "admin_token": "a"}, "are the same; give each one of its own"),
        ({"admin_token": "a", "tenants": {"t": Tenant("a")}}, "are the same; give each one of its own"),
    ],
)
def test_what_cannot_be_right_is_told(options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ServeConfig(**options)


def test_the_admin_token_comes_from_value_file_or_environment(tmp_path: Path) -> None:
    file = tmp_path / "admin.txt"
    file.write_text("from-file\n")
    environ = {"GUERDON_ADMIN_TOKEN": "from-environment"}
    assert read_config(None, {}, environ=environ).admin_token == "from-environment"
    assert read_config(None, {"admin_token_file": str(file)}, environ=environ).admin_token == "from-file"
    assert read_config(None, {"admin_token": "given"}, environ={}).admin_token == "given"
    toml = tmp_path / "serve.toml"
    toml.write_text(f'admin_token_file = "{file}"\n')
    assert read_config(toml, {"admin_token": "given"}, environ={}).admin_token == "given"
    with pytest.raises(UsageError, match="give either admin_token or admin_token_file, not both"):
        read_config(None, {"admin_token": "given", "admin_token_file": str(file)}, environ={})
    with pytest.raises(UnknownNameError, match="Did you mean 'admin_token_file'"):
        read_config(None, {"admin_token_fil": "x"}, environ={})
