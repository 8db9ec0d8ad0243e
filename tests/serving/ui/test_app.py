"""The UI on a server: never imported unless it is asked for, behind the API's token, and the same for programs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from guerdon import verifiers
from guerdon.rewards import Sample
from guerdon.serving.cli import app as command_line
from guerdon.serving.client import RemoteScorer
from guerdon.serving.config import ServeConfig
from guerdon.serving.server import serving
from guerdon.serving.store import Filter, Store

runner = CliRunner()
NO_GRADIO = "no Gradio: pip install 'guerdon[ui]'"


def test_a_server_without_the_ui_imports_no_gradio() -> None:
    code = (
        "import sys\n"
        "from guerdon import verifiers\n"
        "from guerdon.serving.app import create_app\n"
        "from guerdon.serving.config import ServeConfig\n"
        "create_app(ServeConfig(), {'n': verifiers.load('numeric')})\n"
        "import guerdon.serving.cli, guerdon.serving.ui\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('gradio', 'gradio_client', 'pandas')])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_without_the_ui_there_is_no_such_route() -> None:
    with serving(ServeConfig(port=0), {"n": verifiers.load("numeric")}) as url:
        assert httpx.get(f"{url}/ui/").status_code == 404


def test_the_ui_and_the_api_share_one_token(database: Path, tmp_path: Path) -> None:
    pytest.importorskip("gradio", reason=NO_GRADIO)
    config = ServeConfig(port=0, token="secret", ui=True, ui_store=str(database), ui_labels=str(tmp_path / "l"))
    with serving(config, {"n": verifiers.load("numeric")}) as url:
        paths = ("/ui/", "/ui/config", "/ui/gradio_api/info", "/ui/gradio_api/queue/data?session_hash=x", "/v1/scorers")
        for path in paths:
            assert httpx.get(f"{url}{path}").status_code == 401, path
        right = {"Authorization": "Bearer secret"}
        assert httpx.get(f"{url}/ui/config", headers=right).status_code == 200
        page = httpx.get(f"{url}/ui/", headers=right)
        assert "guerdon" in page.text
        assert "content-security-policy" in page.headers


def test_programs_page_and_open(ui_url: str) -> None:
    client = pytest.importorskip("gradio_client", reason=NO_GRADIO).Client(f"{ui_url}/ui/", verbose=False)
    page = client.predict("sums", "any", 1, api_name="/scores")
    assert (page["total"], page["first"], len(page["rows"])) == (74, 50, 24)
    assert "sum-0" in {row["sample"] for row in page["rows"]}
    html = client.predict(page["rows"][0]["id"], api_name="/sample")
    assert 'class="detail"' in html


def test_tries_go_through_the_engine_and_are_not_recorded(tmp_path: Path) -> None:
    pytest.importorskip("gradio", reason=NO_GRADIO)
    from guerdon.serving.ui import tab_try
    from guerdon.serving.ui.bench import Bench

    seen: list[Any] = []
    where = str(tmp_path / "scores.db")
    config = ServeConfig(port=0, store=where, store_text=True, ui=True)
    import guerdon.serving.ui.app as ui

    make = ui.shared
    try:
        ui.shared = lambda *a: seen.append(make(*a)) or seen[-1]  # type: ignore[assignment,func-returns-value]
        with serving(config, {"checked": verifiers.load("numeric")}) as url:
            RemoteScorer(url, "checked").score([Sample("p", "It is 42.", "42")])
            bench: Bench = seen[0].bench
            assert bench.score("checked", [Sample("p", "It is 41.", "42")])[0].value == 0.0
            assert "checked" in tab_try.judge(seen[0], "p", "It is 40.", "", "42")
    finally:
        ui.shared = make
    with Store.open(where) as store:
        assert [row.response for row in store.rows(Filter())] == ["It is 42."]


# --- the command ---------------------------------------------------------------------------------------------------


def test_a_store_is_told_from_a_file_of_samples(database: Path, file: Path) -> None:
    from guerdon.serving.commands.ui import is_samples

    assert not is_samples(str(database))
    assert is_samples(str(file))
    assert not is_samples("postgresql+psycopg://reader@db/scores")
    assert not is_samples("not-there.db")


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    pytest.importorskip("gradio", reason=NO_GRADIO)
    for name in ("nothing.db", "nothing.jsonl"):
        result = runner.invoke(command_line, ["ui", str(tmp_path / name), "--no-open"])
        assert result.exit_code == 2
        assert name in result.output


def test_options_of_a_file_are_refused_for_a_store(database: Path) -> None:
    pytest.importorskip("gradio", reason=NO_GRADIO)
    result = runner.invoke(command_line, ["ui", str(database), "--limit", "3"])
    assert result.exit_code == 2
    assert "a store has its own" in result.output


def test_without_gradio_the_pip_line_is_given(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    result = runner.invoke(command_line, ["ui", str(database)])
    assert result.exit_code == 2
    assert "guerdon[ui]" in result.output


def test_the_command_serves_a_file_that_it_scores(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gradio", reason=NO_GRADIO)
    seen: dict[str, Any] = {}

    def serve(config: ServeConfig, **_: Any) -> None:
        with Store.open(str(config.ui_store)) as store:
            seen.update(config=config, scorers={version.scorer for version in store.versions()})

    monkeypatch.setattr("guerdon.serving.server.serve", serve)
    result = runner.invoke(command_line, ["ui", str(file), "--scorer", "numeric", "-s", "m=math", "--limit", "5"])
    assert result.exit_code == 0, result.output
    assert seen["scorers"] == {"numeric", "m", "helpful", "slow"}
    config = seen["config"]
    assert (config.ui_name, config.ui_labels) == (str(file), f"{file}.labels.jsonl")
    assert not Path(config.ui_store).exists()  # made for the time it runs
    assert (
        json.dumps({name: spec.spec for name, spec in config.scorers.items()}) == '{"numeric": "numeric", "m": "math"}'
    )
