"""NeMo Gym's own ServerClient with a guerdon server as its resources server. Needs Python 3.12.

    pip install --no-deps nemo-gym==0.4.0
    pip install aiohttp fastapi gprof2dot hydra-core itsdangerous 'mcp<2' omegaconf 'openai>=2.9' orjson pandas \
        pydantic pydot ray requests rich uvicorn wandb yappi
    GUERDON_PYTHON=/path/to/python/with/guerdon python benchmarks/clients/nemo_gym_client.py

``/seed_session`` and ``/verify`` with cookies carried, the answers read by NeMo Gym's own models. The client never
tries a status again, so a 503 has to reach its caller as an error.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
from typing import Any
from urllib.parse import urlsplit

from _live import TOO_LONG, Live, live
from nemo_gym.base_resources_server import BaseVerifyRequest, BaseVerifyResponse
from nemo_gym.config_types import BaseServerConfig
from nemo_gym.server_utils import (
    GlobalAIOHTTPAsyncClientConfig,
    ServerClient,
    get_response_json,
    raise_for_status,
    set_global_aiohttp_client,
)
from omegaconf import OmegaConf

N = 16


def row(question: str, said: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": said, "annotations": []}]
    message = {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": content}
    reasoning = {"id": "rs", "type": "reasoning", "summary": [{"type": "summary_text", "text": "is it 41?"}]}
    response = {
        "id": "resp", "created_at": 0.0, "model": "m", "object": "response", "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [], "output": [reasoning, message],
    }  # fmt: skip
    asked = {"input": [{"role": "user", "content": question}]}
    return {"responses_create_params": asked, "response": response, "question": question, **more}


async def verified(client: ServerClient, scorer: str, body: dict[str, Any]) -> dict[str, Any]:
    BaseVerifyRequest.model_validate(body)  # as a server of NeMo Gym's own would check it
    seeded = await client.post("guerdon", f"/s/{scorer}/seed_session", json={})
    await raise_for_status(seeded)
    answer = await client.post("guerdon", f"/s/{scorer}/verify", json=body, cookies=seeded.cookies)
    await raise_for_status(answer)
    return await get_response_json(answer)


async def many(url: str, scorer: str, bodies: list[dict[str, Any]]) -> list[Any]:
    parts = urlsplit(url)
    server = {"host": parts.hostname, "port": parts.port, "entrypoint": "app.py"}
    config = OmegaConf.create({"guerdon": {"resources_servers": {"guerdon": server}}})
    head = BaseServerConfig(host="127.0.0.1", port=11000)
    client = ServerClient(head_server_config=head, global_config_dict=config)
    assert client.poll_for_status("guerdon") == "success"
    return await asyncio.gather(*[verified(client, scorer, body) for body in bodies], return_exceptions=True)


async def main(guerdon: Live) -> None:
    set_global_aiohttp_client(GlobalAIOHTTPAsyncClientConfig())  # else it reads the command line
    questions = [f"what is {i} times 7?" for i in range(N)]
    said = "the answer is 42"
    bodies = [row(question, said, expected_answer=str(7 * i)) for i, question in enumerate(questions)]
    with guerdon.proxy() as server:
        answers = await many(server.url, "helpful", bodies)
        rewards = [one.get("reward") if isinstance(one, dict) else repr(one) for one in answers]
        guerdon.equal(
            "a model's rewards", rewards, guerdon.scores([{"prompt": q, "response": said} for q in questions])
        )
        answers = await many(server.url, "math", bodies)
        asked = [{"prompt": q, "response": said, "reference": str(7 * i)} for i, q in enumerate(questions)]
        rewards = [BaseVerifyResponse.model_validate(one).reward for one in answers]
        guerdon.equal("a verifier's rewards, as NeMo Gym's models read them", rewards, guerdon.scores(asked))
        echoed = all({key: one[key] for key in body} == body for one, body in zip(answers, bodies, strict=True))
        guerdon.check("the request is echoed", echoed, answers[0])
        for what, body, scorer, status in (
            ("one without a reference", row("6*7?", said), "math", 422),
            ("an over-long one", row("6*7?", TOO_LONG), "helpful", 413),
        ):
            (error,) = await many(server.url, scorer, [body])
            guerdon.check(f"{what} raises", getattr(error, "status", None) == status, error)
    with guerdon.proxy(fails=10) as server:
        errors = await many(server.url, "math", bodies[:2])
        guerdon.check(
            "a 503 raises, and no reward is read", all(getattr(e, "status", 0) == 503 for e in errors), errors
        )


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        asyncio.run(main(guerdon))
        guerdon.finish(f"nemo-gym {importlib.metadata.version('nemo-gym')}")
