"""verl's own reward loop with a guerdon server where its vLLM or SGLang would be, with and without its router.

    pip install --no-deps verl==0.9.1
    pip install torch transformers 'tensordict<=0.10' 'pyvers<0.2' ray aiohttp omegaconf hydra-core codetiming \
        dill pandas cloudpickle fastapi uvicorn
    python benchmarks/clients/verl_reward_loop.py

``RewardLoopWorker.compute_score`` (a reward model, both engines), the same through ``NaiveRouter``, and
``NaiveRewardManager.run_single`` with guerdon's adapter, if guerdon is installed beside verl. The worker's waits are
cut short.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import uvicorn
from _live import TOO_LONG, Live, live
from omegaconf import OmegaConf
from tensordict import TensorDict
from transformers import AutoTokenizer
from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager
from verl.experimental.reward_loop.router.naive_router import NaiveRouter
from verl.protocol import DataProto

N = 6
ENGINES = {"vllm": "classify", "sglang": "v1/embeddings"}


class Data:
    """Rollouts as verl holds them: a question, and a response that ends with EOS and padding."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, question: str, said: str, truth: str = "42") -> DataProto:
        ids = self._tokenizer(said + self._tokenizer.eos_token, add_special_tokens=False)["input_ids"]
        padding, asked = 4, 3
        batch = {
            "prompts": torch.ones(1, asked, dtype=torch.long),
            "responses": torch.tensor([ids + [self._tokenizer.pad_token_id] * padding]),
            "attention_mask": torch.tensor([[1] * (asked + len(ids)) + [0] * padding]),
        }
        rest = {
            "raw_prompt": [[{"role": "user", "content": question}]],
            "data_source": ["sums"],
            "reward_model": [{"ground_truth": truth}],
            "extra_info": [{"question": question}],
        }
        arrays = {name: np.array(value, dtype=object) for name, value in rest.items()}
        return DataProto(batch=TensorDict(batch, batch_size=1), non_tensor_batch=arrays)


def worker(engine: str, address: str, tokenizer: Any) -> RewardLoopWorker:
    """A worker as its constructor leaves it, whose model is a path that no scorer has."""
    made = RewardLoopWorker.__new__(RewardLoopWorker)
    model = {"enable": True, "model_path": "/models/helpful", "rollout": {"name": engine}}
    made.config = OmegaConf.create({"reward": {"reward_model": model, "custom_reward_function": {"path": None}}})
    made.reward_router_address = address
    made.input_tokenizer = made.reward_model_tokenizer = tokenizer
    return made


def scored(engine: str, address: str, tokenizer: Any, data: list[DataProto]) -> list[Any]:
    async def main() -> list[Any]:
        loop = worker(engine, address, tokenizer)
        return await asyncio.gather(*map(loop.compute_score, data), return_exceptions=True)

    return asyncio.run(main())


@contextlib.contextmanager
def router(url: str) -> Iterator[str]:
    """verl's router in front of a server, as an address."""
    config = uvicorn.Config(NaiveRouter(worker_urls=[url]).app, host="127.0.0.1", port=0, log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"127.0.0.1:{port}"
    server.should_exit = True
    thread.join(30)


def reward_model(guerdon: Live, tokenizer: Any, data: Callable[..., DataProto]) -> None:
    questions = [f"what is {i} times 7?" for i in range(N)]
    said = "the answer is 42"
    expected = guerdon.scores([{"prompt": question, "response": said} for question in questions])
    samples = [data(question, said) for question in questions]
    for engine, path in ENGINES.items():
        with guerdon.proxy(fails=2) as server:
            done = scored(engine, server.host, tokenizer, samples)
            rewards = [one.get("reward_score") if isinstance(one, dict) else repr(one) for one in done]
            guerdon.equal(f"{engine}: rewards, the first two tries refused", rewards, expected)
            guerdon.check("two tries were refused", server.statuses(path).count(503) == 2, server.seen)
            (refused,) = scored(engine, server.host, tokenizer, [data("6*7?", TOO_LONG)])
            guerdon.check("an over-long one raises", getattr(refused, "status", None) == 413, refused)
            guerdon.check("after one try", server.statuses(path).count(413) == 1, server.seen)
        with guerdon.proxy(fails=1) as server, router(server.url) as address:
            done = scored(engine, address, tokenizer, samples)
            rewards = [one.get("reward_score") if isinstance(one, dict) else repr(one) for one in done]
            guerdon.equal(f"{engine} behind verl's router, the first try refused", rewards, expected)
            (refused,) = scored(engine, address, tokenizer, [data("6*7?", TOO_LONG)])
            guerdon.check(
                "an over-long one raises, as the router's 500", getattr(refused, "status", None) == 500, refused
            )
            guerdon.check("after sixteen tries", server.statuses(path).count(413) == 16, server.seen)


def verifier(guerdon: Live, tokenizer: Any, data: Callable[..., DataProto]) -> None:
    try:
        from guerdon.rewards.trainers import for_verl
        from guerdon.serving.client import RemoteScorer
    except ImportError:
        print("  skipped: the naive manager with guerdon's adapter, since guerdon is not installed here")
        return
    with guerdon.proxy(fails=2) as server:
        there = RemoteScorer(server.url, "math", backoff=0.05)
        compute_score = for_verl(there, prompt_key="question")

        async def main() -> list[Any]:
            manager = NaiveRewardManager(OmegaConf.create({"reward": {}}), tokenizer, compute_score)
            asked = [data("6*7?", "the answer is 42", truth) for truth in ("42", "41", "no number")]
            return list(await asyncio.gather(*map(manager.run_single, asked)))

        right, wrong, unscored = asyncio.run(main())
        expected = [(1.0, 0.0), (0.0, 0.0), (0.0, 1.0)]
        got = [(one["reward_score"], one["reward_extra_info"]["unscored"]) for one in (right, wrong, unscored)]
        guerdon.check("the naive manager: (reward, unscored), the first two tries refused", got == expected, got)
        keys = [sorted(one["reward_extra_info"]) for one in (right, wrong, unscored)]
        guerdon.check("every sample has the same keys", keys == [["score", "unscored"]] * 3, keys)


def main(guerdon: Live) -> None:
    tokenizer = AutoTokenizer.from_pretrained(guerdon.folder)
    data = Data(tokenizer)
    reward_model(guerdon, tokenizer, data)
    verifier(guerdon, tokenizer, data)


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        wait = asyncio.sleep
        asyncio.sleep = lambda seconds, *rest: wait(min(seconds, 0.05), *rest)
        main(guerdon)
        guerdon.finish(f"verl {importlib.metadata.version('verl')}")
