"""What a server is told: files and flags, and the mistakes that must not pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.serving.config import ScorerSpec, ServeConfig, is_loopback, parse_scorer_flag, read_config


def write(folder: Path, text: str) -> Path:
    file = folder / "serve.toml"
    file.write_text(text)
    return file


def test_defaults_are_loopback_without_a_token() -> None:
    config = read_config(environ={})
    assert (config.host, config.port, config.token, config.scorers) == ("127.0.0.1", 8008, None, {})


def test_file_gives_scorers_as_specs_or_as_tables_with_options(tmp_path: Path) -> None:
    file = write(tmp_path, 'port = 9\n[scorers]\nmath = "numeric"\n[scorers.rm]\nspec = "runs/rm"\noverlong = "drop"\n')
    config = read_config(file, environ={})
    assert config.port == 9
    assert config.scorers == {"math": ScorerSpec("numeric"), "rm": ScorerSpec("runs/rm", {"overlong": "drop"})}


def test_documented_file_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "serving.md").read_text()
    block = page.partition("```toml\n")[2].partition("```")[0]
    config = read_config(write(tmp_path, block), environ={})
    assert config.scorers["close"] == ScorerSpec("numeric", {"tolerance": "0.01"})
    defaults = ServeConfig()
    for key in ("host", "port", "max_body_bytes", "max_items", "max_queue_tokens", "timeout_seconds", "drain_seconds"):
        assert getattr(config, key) == getattr(defaults, key)


def test_flags_win_over_the_file_and_scorers_add_up(tmp_path: Path) -> None:
    file = write(tmp_path, 'port = 9\ndrain_seconds = 1\n[scorers]\na = "exact"\nb = "numeric"\n')
    flags = {"port": 10, "host": None, "scorers": {"b": ScorerSpec("choice"), "c": ScorerSpec("regex")}}
    config = read_config(file, flags, environ={})
    assert (config.port, config.drain_seconds, config.host) == (10, 1, "127.0.0.1")
    assert {name: spec.spec for name, spec in config.scorers.items()} == {"a": "exact", "b": "choice", "c": "regex"}


def test_unknown_key_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no server option named 'prot'. Did you mean 'port'\?"):
        read_config(write(tmp_path, "prot = 9\n"), environ={})


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("port", 70000, "port must be an integer from 0 to 65535; got 70000"),
        ("port", "8008", "port must be an integer from 0 to 65535; got '8008'"),
        ("port", True, "port must be an integer"),
        ("max_items", 0, "max_items must be an integer >= 1; got 0"),
        ("drain_seconds", float("nan"), "drain_seconds must be seconds, from 0 to 86400; got nan"),
        ("timeout_seconds", -1, "timeout_seconds must be seconds"),
        ("host", "", "host must be an address"),
        ("scorers", {"a b": "exact"}, "'a b' cannot name a scorer"),
        ("scorers", {"a": 5}, "scorers.a must be a spec"),
        ("scorers", {"a": {"option": 1}}, "scorers.a must be a spec, or a table with a 'spec'"),
        ("scorers", ["a"], "scorers must be a table"),
        ("token", "", "a token must be one or more visible ASCII characters"),
        ("token", "two words", "visible ASCII characters without spaces"),
    ],
)
def test_wrong_value_is_named_with_what_would_be_right(key: str, value: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_config(None, {key: value}, environ={})


def test_host_that_others_reach_needs_a_token() -> None:
    with pytest.raises(UsageError, match=r"'0\.0\.0\.0' lets other machines in, and no token is set"):
        ServeConfig(host="0.0.0.0")
    assert ServeConfig(host="0.0.0.0", token="secret").host == "0.0.0.0"


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False),
     ("192.168.0.7", False), ("example.org", False), ("127.0.0.1.example.org", False)],
)  # fmt: skip
def test_loopback_is_what_only_this_machine_reaches(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_token_comes_from_flag_then_file_then_environment(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-file\n")
    file = write(tmp_path, f'token_file = "{tmp_path / "token"}"\n')
    environ = {"GUERDON_TOKEN": "from-environment"}
    assert read_config(file, {"token": "from-flag"}, environ=environ).token == "from-flag"
    assert read_config(file, environ=environ).token == "from-file"
    assert read_config(environ=environ).token == "from-environment"
    assert read_config(environ={"GUERDON_TOKEN": ""}).token is None


def test_empty_token_file_does_not_open_the_server(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("\n")
    with pytest.raises(UsageError, match="a token must be one or more"):
        read_config(None, {"token_file": tmp_path / "token"}, environ={})


def test_token_is_never_shown() -> None:
    config = ServeConfig(token="s3cret-value")
    assert "s3cret-value" not in repr(config)
    with pytest.raises(UsageError) as caught:
        ServeConfig(token="s3cret value")
    assert "s3cret" not in str(caught.value)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the configuration"):
        read_config(tmp_path / "absent.toml", environ={})
    with pytest.raises(UsageError, match="is not valid TOML"):
        read_config(write(tmp_path, "port = = 1"), environ={})
    with pytest.raises(UsageError, match="cannot read token_file"):
        read_config(None, {"token_file": tmp_path / "absent"}, environ={})


def test_scorer_flag_is_split_at_its_first_equals_sign() -> None:
    assert parse_scorer_flag("a=http://h:1/x?y=z#n") == ("a", ScorerSpec("http://h:1/x?y=z#n"))


@pytest.mark.parametrize("text", ["numeric", "=numeric", "math=", ""])
def test_scorer_flag_without_name_or_spec_shows_the_right_form(text: str) -> None:
    with pytest.raises(UsageError, match="--scorer takes NAME=SPEC"):
        parse_scorer_flag(text)
