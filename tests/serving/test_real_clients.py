"""Other people's client packages against our server. Each proof is a script in benchmarks/clients, which CI runs here
where the package is installed and light; the heavy ones (OpenRLHF, verl, NeMo Gym, verifiers) are run by hand."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from guerdon.serving.config import ServeConfig
from guerdon.serving.server import serving
from guerdon.serving.specs import load_scorer

CLIENTS = Path(__file__).parents[2] / "benchmarks" / "clients"
if not CLIENTS.is_dir():
    pytest.skip(f"the clients' scripts are not at {CLIENTS}", allow_module_level=True)


@pytest.fixture(scope="module")
def scripts() -> Iterator[Path]:
    """The folder of the scripts, importable."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(CLIENTS)
        yield CLIENTS


@pytest.fixture(scope="module")
def guerdon(scripts: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A live server as the scripts know it, in this process."""
    in_process, live = importlib.import_module("_in_process"), importlib.import_module("_live")
    folder = tmp_path_factory.mktemp("helpful")
    in_process.make(folder)
    scorers = {"helpful": load_scorer(str(folder), device="cpu"), "math": load_scorer("numeric")}

    class Here(live.Live):  # type: ignore[name-defined, misc]
        def scores(self, asked: list[dict[str, Any]]) -> list[float | None]:
            return list(in_process.score(self.folder, asked))

    with serving(ServeConfig(port=0), scorers) as url:
        yield Here(url, folder)


@pytest.mark.parametrize(
    ("script", "package"),
    [
        ("openai_embeddings", "openai"),
        ("cohere_rerank", "cohere"),
        ("tei_huggingface", "huggingface_hub"),
        ("infinity_calls", "infinity_client"),
        ("slime_call", "aiohttp"),
        ("trl_grpo", "trl"),
    ],
)
def test_a_real_client_reads_the_rewards_that_were_computed_in_process(
    script: str, package: str, guerdon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(package, reason=f"the client package {package} is not installed")
    # Tests run offline, and then its client refuses to call even this machine.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    main = importlib.import_module(script).main
    guerdon.wrong.clear()
    asyncio.run(main(guerdon)) if inspect.iscoroutinefunction(main) else main(guerdon)
    assert guerdon.wrong == []
