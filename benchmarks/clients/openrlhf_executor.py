"""OpenRLHF's own rollout executor, whose ``--reward.remote_url`` is a guerdon server.

    pip install --no-deps openrlhf==0.11.2
    pip install torch transformers aiohttp sympy pylatexenc
    python benchmarks/clients/openrlhf_executor.py

``SingleTurnAgentExecutor.execute`` runs with an engine that always generates the same tokens; what it brings home is
read as OpenRLHF's sample generator reads it. Its waits between tries are cut short.
"""

from __future__ import annotations

import asyncio
import copy
import importlib.metadata
from types import SimpleNamespace
from typing import Any

import torch
from _live import TOO_LONG, Live, live
from openrlhf.utils.agent import SingleTurnAgentExecutor
from transformers import AutoTokenizer

N = 12
PARAMS = SimpleNamespace(max_tokens=32, logprobs=None)


class Generating:
    """OpenRLHF's engine, which says this."""

    def __init__(self, tokenizer: Any, text: str) -> None:
        self._ids = tokenizer(text, add_special_tokens=False)["input_ids"]

    async def generate(self, ids: Any, params: Any, multi_modal_data: Any = None) -> Any:
        output = SimpleNamespace(token_ids=self._ids, text="", finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


async def rollouts(url: str, tokenizer: Any, said: str, asked: list[tuple[str, str]]) -> list[dict[str, Any]]:
    executor, engine = SingleTurnAgentExecutor([url]), Generating(tokenizer, said)
    tasks = [executor.execute(prompt, label, copy.copy(PARAMS), 10_000, tokenizer, engine) for prompt, label in asked]
    return list(await asyncio.gather(*tasks))


def main(guerdon: Live) -> None:
    tokenizer = AutoTokenizer.from_pretrained(guerdon.folder)

    def templated(question: str) -> str:
        messages = [{"role": "user", "content": question}]
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)

    questions = [f"what is {i} times 7?" for i in range(N)]
    said = "the answer is 42<|eot_id|>"
    expected = guerdon.scores([{"prompt": question, "response": "the answer is 42"} for question in questions])

    with guerdon.proxy(fails=2) as server:
        url = f"{server.url}/s/helpful/get_reward"
        done = asyncio.run(rollouts(url, tokenizer, said, [(templated(q), "") for q in questions]))
        rewards = [one["reward"] for one in done]
        guerdon.check(
            "rewards are lists of one number", all(isinstance(r, list) and len(r) == 1 for r in rewards), rewards
        )
        guerdon.equal("a model's rewards, the first two tries refused", [r[0] for r in rewards], expected)
        guerdon.check("two tries were refused", server.statuses().count(503) == 2, server.statuses())
        tensors = [torch.tensor([r]) for r in rewards] + [torch.tensor([v]) for v in done[0]["extra_logs"].values()]
        guerdon.check("tensors have the shape (1, 1)", all(t.shape == (1, 1) for t in tensors), tensors)

    with guerdon.proxy() as server:
        url = f"{server.url}/s/math/get_reward"
        labels = ["42", "41", ""]
        done = asyncio.run(rollouts(url, tokenizer, said, [(templated("6*7?"), label) for label in labels]))
        right = guerdon.scores([{"prompt": "6*7?", "response": "the answer is 42", "reference": x} for x in labels[:2]])
        guerdon.equal("a verifier's rewards, end token and all", [one["reward"][0] for one in done[:2]], right)
        guerdon.equal("and its scores, from 0 to 1", [one["scores"][0] for one in done[:2]], right)
        none = (done[2]["reward"], done[2]["scores"])
        guerdon.check("without a label there is no number", none == (None, None), none)

    with guerdon.proxy() as server:
        url = f"{server.url}/s/helpful/get_reward"
        (done,) = asyncio.run(rollouts(url, tokenizer, TOO_LONG, [(templated("6*7?"), "")]))
        guerdon.check(
            "an over-long query has no number", (done["reward"], done["scores"]) == (None, None), done["reward"]
        )
        guerdon.check("it was a 413 each time", set(server.statuses()) == {413}, server.statuses())


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        wait = asyncio.sleep
        asyncio.sleep = lambda seconds, *rest: wait(min(seconds, 0.05), *rest)
        main(guerdon)
        guerdon.finish(f"openrlhf {importlib.metadata.version('openrlhf')}")
