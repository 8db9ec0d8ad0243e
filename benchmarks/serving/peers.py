"""The servers that guerdon is measured against, each started by ``python peers.py NAME MODEL PORT``.

    naive      FastAPI as OpenRLHF's example server: a request is one padded forward, inside ``async def``
    litserve   LitServe: batches of up to 32, waiting 10 ms for them
    ray        Ray Serve with @serve.batch, 32 and 10 ms
    infinity   infinity-emb as shipped, on /rerank (its /classify refuses one-label models)

All use one torch thread (OMP_NUM_THREADS=1), float32 and the same weights. One that is not installed is skipped.
"""

from __future__ import annotations

import os
import sys
from typing import Any

try:
    import litserve
except ImportError:
    litserve = None

LONGEST = 2048


class Model:
    """transformers, as anybody would write it."""

    def __init__(self, folder: str) -> None:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        torch.set_num_threads(1)
        self.torch = torch
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()

    def score(self, texts: list[str]) -> list[float]:
        batch = self.tokenizer(texts, padding=True, add_special_tokens=False, return_tensors="pt")
        batch.pop("token_type_ids", None)
        with self.torch.inference_mode():
            scores: list[float] = self.model(**batch).logits[:, 0].tolist()
        return scores


def naive(folder: str, port: int) -> None:
    import uvicorn
    from fastapi import FastAPI

    app, model = FastAPI(), Model(folder)

    @app.post("/get_reward")
    async def get_reward(body: dict[str, Any]) -> dict[str, Any]:
        rewards = model.score(body["query"])
        return {"rewards": rewards, "scores": rewards, "extra_logs": {}}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


if litserve is not None:

    class Api(litserve.LitAPI):  # type: ignore[misc]
        """At the top of the module, because LitServe's workers import it."""

        def setup(self, device: Any) -> None:
            self.model = Model(os.environ["PEER_MODEL"])

        def decode_request(self, request, **_):  # LitServe reads the annotations, as text too
            return request["query"][0]

        def batch(self, inputs: Any) -> Any:
            return list(inputs)

        def predict(self, texts: Any, **_: Any) -> Any:
            return self.model.score(texts)

        def unbatch(self, output: Any) -> Any:
            return output

        def encode_response(self, output: Any, **_: Any) -> Any:
            return {"rewards": [output]}


def lit(folder: str, port: int) -> None:
    os.environ["PEER_MODEL"] = folder
    api = Api(max_batch_size=32, batch_timeout=0.01, api_path="/get_reward")
    litserve.LitServer(api, accelerator="cpu", timeout=600).run(
        port=port, log_level="error", generate_client_file=False
    )


def ray(folder: str, port: int) -> None:
    import time

    import ray as ray_
    from ray import serve

    ray_.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    serve.start(http_options={"host": "127.0.0.1", "port": port})

    @serve.deployment(ray_actor_options={"num_cpus": 1}, max_ongoing_requests=2000)
    class Scores:
        def __init__(self) -> None:
            self.model = Model(folder)

        @serve.batch(max_batch_size=32, batch_wait_timeout_s=0.01)
        async def score(self, texts: list[str]) -> list[float]:
            return self.model.score(texts)

        async def __call__(self, request: Any) -> dict[str, Any]:
            return {"rewards": [await self.score((await request.json())["query"][0])]}

    serve.run(Scores.bind(), route_prefix="/get_reward")
    while True:
        time.sleep(60)


if __name__ == "__main__":
    name, model_folder, number = sys.argv[1:4]
    {"naive": naive, "litserve": lit, "ray": ray}[name](model_folder, int(number))
