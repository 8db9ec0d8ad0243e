"""guerdon on Ray, as far as it can be told without a cluster; ``benchmarks/serving/ray_two_replicas.py`` has one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.serving.config import ScorerSpec, ServeConfig

pytest.importorskip("ray", reason="no Ray Serve: pip install 'guerdon[ray]'")

from guerdon.serving import ray_app

SCOPE = {
    "type": "http", "method": "POST", "path": "/v1/score", "raw_path": b"/v1/score", "query_string": b"",
    "headers": [(b"content-type", b"application/json")], "http_version": "1.1", "scheme": "http",
}  # fmt: skip


def rewards(folder: Path, plus: int) -> str:
    path = folder / f"plus_{plus}.py"
    path.write_text(f"def length(sample):\n    return float(len(sample.response_text) + {plus})\n")
    return f"{path}:length"


async def ask(replica: ray_app.Scorers, response: str) -> tuple[int, Any]:
    body = json.dumps({"scorer": "s", "items": [{"prompt": "p", "response": response}]}).encode()
    status, headers, answer = await replica.answer(b"key", SCOPE, body)
    assert dict(headers)[b"content-type"] == b"application/json"
    return status, json.loads(answer)


def test_a_replica_answers_as_the_app_and_takes_new_weights(tmp_path: Path) -> None:
    async def main() -> list[Any]:
        replica = ray_app.Scorers(ServeConfig(scorers={"s": ScorerSpec(rewards(tmp_path, 0))}))
        before = await ask(replica, "abc")
        await replica.reconfigure({"scorers": {}})
        await replica.reconfigure({"scorers": {"s": rewards(tmp_path, 10)}})
        after = await ask(replica, "abc")
        with pytest.raises(UnknownNameError, match="no scorer named 'x'"):
            await replica.reconfigure({"scorers": {"x": "numeric"}})
        with pytest.raises(UsageError):
            await replica.reconfigure({"scorers": {"s": "absent.py:f"}})
        assert replica.record_autoscaling_stats() == {"wait": 0.0}
        return [before, after, await ask(replica, "abc")]

    answers = asyncio.run(main())
    assert [(status, told["items"][0]["value"]) for status, told in answers] == [(200, 3.0), (200, 13.0), (200, 13.0)]
    assert answers[0][1]["version"] != answers[1][1]["version"]


def test_the_router_ranks_by_prompt_and_spares_whoever_is_far_behind() -> None:
    replicas = [SimpleNamespace(replica_id=SimpleNamespace(unique_id=name)) for name in "abc"]
    busy: dict[str, int] = {}
    router = SimpleNamespace(replica_queue_len_cache=SimpleNamespace(get=lambda found: busy.get(found.unique_id)))

    def order(*args: Any) -> list[str]:
        chosen = asyncio.run(ray_app.PrefixRouter.choose_replicas(router, replicas, SimpleNamespace(args=[*args])))
        return [replica.replica_id.unique_id for rank in chosen for replica in rank]

    orders = {key: order(key) for key in (b"%d" % n for n in range(40))}
    assert {found[0] for found in orders.values()} == {"a", "b", "c"}
    busy[orders[b"1"][0]] = 500
    assert order(b"1") == [*orders[b"1"][1:], orders[b"1"][0]]
    assert sorted(order(None)) == ["a", "b", "c"]


def test_scaling_goes_by_the_work_that_waits() -> None:
    context = SimpleNamespace(
        aggregated_metrics={"wait": {"a": 2.2, "b": 0.3}},
        capacity_adjusted_min_replicas=1,
        capacity_adjusted_max_replicas=8,
    )
    assert ray_app.scale_by_wait(context) == (3, {})
    context.aggregated_metrics = {}
    assert ray_app.scale_by_wait(context) == (1, {})


def test_a_wrong_argument_is_named() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'replicas'"):
        ray_app.app({"replica": 2, "scorers": {"s": "numeric"}})
    with pytest.raises(UsageError, match="nothing to serve"):
        ray_app.app({})
