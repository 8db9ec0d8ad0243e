"""verifiers' own client of NeMo Gym servers (what prime-rl reaches), with a guerdon server behind it.

    pip install verifiers==0.4.0
    GUERDON_PYTHON=/path/to/python/with/guerdon python benchmarks/clients/verifiers_task.py

``NeMoGymTask.setup`` and its ``@reward``. It never tries again, so a 503 has to reach its caller as an error.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
from typing import Any

from _live import TOO_LONG, Live, live
from verifiers.v1.tasksets.nemo_gym import taskset
from verifiers.v1.tasksets.nemo_gym.taskset import NeMoGymData, NeMoGymState, NeMoGymTask, NeMoGymTaskConfig

N = 6


class Trace:
    """What the reward reads and writes of a trace; said: what the model said, converted below."""

    def __init__(self, said: str) -> None:
        self.state, self.said = NeMoGymState(), said
        self.info: dict[str, Any] = {}
        self.metrics: dict[str, float] = {}

    def record_metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


def response_of(trace: Trace, params: Any, names: Any) -> dict[str, Any]:
    """In place of verifiers' conversion of a whole trace."""
    content = [{"type": "output_text", "text": trace.said, "annotations": []}]
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": content}
    return {
        "id": "r", "created_at": 0.0, "model": "m", "object": "response", "tools": [], "parallel_tool_calls": True,
        "tool_choice": "auto", "status": "completed", "output": [message],
    }  # fmt: skip


async def rewarded(url: str, question: str, said: str, **more: Any) -> tuple[float, Trace]:
    row = {"responses_create_params": {"input": [{"role": "user", "content": question}]}, **more}
    task = NeMoGymTask(NeMoGymData(name="task", prompt=question, row=row), NeMoGymTaskConfig(resources_url=url))
    trace = Trace(said)
    await task.setup(trace, None)
    return await task.nemo_gym(trace), trace


async def failed(url: str, question: str, said: str) -> int | None:
    """The status that the reward raises with; None if it returns a number."""
    try:
        await rewarded(url, question, said)
    except Exception as error:
        return getattr(getattr(error, "response", None), "status_code", 0)
    return None


async def main(guerdon: Live) -> None:
    taskset.trace_to_nemo_response = response_of
    questions, said = [f"what is {i} times 7?" for i in range(N)], "the answer is 42"
    with guerdon.proxy() as server:
        helpful, math = f"{server.url}/s/helpful", f"{server.url}/s/math"
        done = await asyncio.gather(*[rewarded(helpful, question, said) for question in questions])
        expected = guerdon.scores([{"prompt": question, "response": said} for question in questions])
        guerdon.equal("a model's rewards", [reward for reward, _ in done], expected)
        labels = [str(7 * i) for i in range(N)]
        done = await asyncio.gather(
            *[rewarded(math, q, said, expected_answer=label) for q, label in zip(questions, labels, strict=True)]
        )
        asked = [
            {"prompt": q, "response": said, "reference": label} for q, label in zip(questions, labels, strict=True)
        ]
        guerdon.equal("a verifier's rewards", [reward for reward, _ in done], guerdon.scores(asked))
        info = done[0][1].info["nemo_gym"]
        guerdon.check("what it extracted is in the trace", info.get("extracted_answer") == "42", info)
        status = await failed(math, "6*7?", said)
        guerdon.check("without a reference it raises", status == 422, status)
        status = await failed(helpful, "6*7?", TOO_LONG)
        guerdon.check("an over-long one raises", status == 413, status)
    with guerdon.proxy(fails=1) as server:
        status = await failed(f"{server.url}/s/math", "6*7?", said)
        guerdon.check("a 503 raises, and no reward is read", status == 503, status)


if __name__ == "__main__":
    with live(__doc__) as guerdon:
        asyncio.run(main(guerdon))
        guerdon.finish(f"verifiers {importlib.metadata.version('verifiers')}")
