"""slime's call of a remote reward model (``--rm-type remote_rm --rm-url``), rebuilt from its description.

    pip install aiohttp
    GUERDON_PYTHON=/path/to/python/with/guerdon python benchmarks/clients/slime_call.py

slime needs CUDA to be imported. What it does is a few lines: post prompt, response and label, ten tries with growing
waits (cut short here), and the body of the answer is the reward, or ``--reward-key`` of it.
"""

from __future__ import annotations

import asyncio
import random
from typing import Any

import aiohttp
from _live import TOO_LONG, Live, live

TRIES = 10
CONNECTIONS = 64


async def call(session: aiohttp.ClientSession, url: str, sample: dict[str, Any]) -> Any:
    for attempt in range(TRIES):
        try:
            async with session.post(url, json=sample) as answer:
                answer.raise_for_status()
                return await answer.json()
        except Exception:
            if attempt == TRIES - 1:
                raise
            await asyncio.sleep(min(2**attempt, 30) / 1000 + random.random() / 1000)
    return None


async def rewarded(url: str, samples: list[dict[str, Any]], key: str | None = None) -> list[Any]:
    connector, timeout = aiohttp.TCPConnector(limit=CONNECTIONS), aiohttp.ClientTimeout(total=120)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        answers = await asyncio.gather(*[call(session, url, sample) for sample in samples], return_exceptions=True)
    return [answer[key] if key is not None and isinstance(answer, dict) else answer for answer in answers]


async def main(guerdon: Live) -> None:
    said = "the answer is 42"
    samples = [{"prompt": f"what is {i} times 7?", "response": said, "label": str(7 * i)} for i in range(20)]
    plain = [{"prompt": s["prompt"], "response": said} for s in samples]
    chats = [{**s, "prompt": [{"role": "user", "content": s["prompt"]}]} for s in samples]
    with guerdon.proxy(fails=2) as server:
        expected = guerdon.scores(plain)
        guerdon.equal(
            "a model's rewards, the first two tries refused",
            await rewarded(f"{server.url}/s/helpful/slime", samples),
            expected,
        )
        guerdon.equal("prompts as messages", await rewarded(f"{server.url}/s/helpful/slime", chats), expected)
        verdicts = guerdon.scores([{**p, "reference": s["label"]} for p, s in zip(plain, samples, strict=True)])
        guerdon.equal(
            "a verifier's, with --reward-key score",
            await rewarded(f"{server.url}/s/math/slime/score", samples, "score"),
            verdicts,
        )
        (error,) = await rewarded(f"{server.url}/s/math/slime", [{**samples[0], "label": None}])
        guerdon.check("without a label it raises", getattr(error, "status", None) == 422, error)
        (error,) = await rewarded(f"{server.url}/s/helpful/slime", [{**samples[0], "response": TOO_LONG}])
        guerdon.check("an over-long one raises", getattr(error, "status", None) == 413, error)


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        asyncio.run(main(guerdon))
        guerdon.finish("slime's call of 2026-08-21")
