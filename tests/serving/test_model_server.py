"""A real reward model behind the real engine: served scores are the model's own, whoever shares the forward."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from guerdon.rewards import Sample
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig
from guerdon.serving.specs import load_scorer


@pytest.fixture(scope="module")
def model_dir(tmp_path_factory: pytest.TempPathFactory, tiny_llama_dir: Path) -> Path:
    """A one-label classifier with seeded weights, as any trainer saves it."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(tiny_llama_dir)
    torch.manual_seed(1)
    model = AutoModelForSequenceClassification.from_pretrained(tiny_llama_dir, num_labels=1)
    folder = tmp_path_factory.mktemp("rm")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_served_scores_equal_those_of_the_model_called_directly(model_dir: Path) -> None:
    model = load_scorer(str(model_dir), device="cpu")
    samples = [Sample(f"What is {n} times 7?", "word " * (n % 13) + str(7 * n)) for n in range(40)]
    too_long = Sample("p", "word " * 1000)
    direct = [score.value for score in model.score(samples)]
    app = create_app(ServeConfig(), {"rm": model})

    async def ask(http: httpx.AsyncClient, sample: Sample) -> Any:
        body = {"scorer": "rm", "items": [{"prompt": sample.prompt, "response": sample.response}]}
        return (await http.post("/v1/score", json=body, timeout=60)).json()

    async def main() -> list[Any]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
            return await asyncio.gather(*(ask(http, sample) for sample in [*samples, too_long]))

    *answers, refused = asyncio.run(main())
    assert [answer["items"][0]["value"] for answer in answers] == pytest.approx(direct, abs=1e-5)
    assert {(answer["scale"], answer["version"]) for answer in answers} == {("logit", model.version)}
    assert (refused["items"][0]["value"], refused["items"][0]["status"]) == (None, "refused")
    assert "tokens" in answers[0]["items"][0]["details"]
