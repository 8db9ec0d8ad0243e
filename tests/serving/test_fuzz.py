"""Bodies that are nearly right, in every dialect: each is answered, and never by a fault of the server's own."""

from __future__ import annotations

import asyncio
import copy
import json
import random
import string
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest

from guerdon.rewards import Prepared, Sample, Scale, Score, pointwise
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig
from guerdon.serving.dialects import Dialect
from guerdon.serving.dialects.registry import DIALECTS

ODD: Sequence[Any] = (
    None, True, False, 0, -1, 2**31, 2**64, -(2**63) - 1, 1e308, -0.0, 0.5, "", " ", "\x00", "\ud800", "é🏴‍☠️",
    "x" * 5000, "NaN", [], [None], [[]], [[[]]], {}, {"": ""}, {"a": {"b": []}}, [0], ["a"], [["a", "b"]],
    [{"role": "user"}], [{"role": "user", "content": None}], [{"role": 5}], {"role": "user", "content": "x"}, "none",
)  # fmt: skip
ABSENT = object()


class Ids:
    """Reads texts and ids, as a reward model does."""

    name, version = "ids", "1"
    scale: Scale = "logit"

    def prepare(self, sample: Sample) -> Prepared | Score:
        return self.prepare_text(sample, sample.response_text)

    def prepare_text(self, sample: Sample, text: str, **_: Any) -> Prepared | Score:
        return Prepared(sample, tuple(text.encode("utf-8", "replace")))

    def prepare_ids(self, sample: Sample, ids: Sequence[int], **_: Any) -> Prepared | Score:
        return Prepared(sample, tuple(ids))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        return [Score(float(len(prepared.ids)), "length") for prepared in batch]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self.run([self.prepare(sample) for sample in samples])  # type: ignore[misc]


def verdict(sample: Sample) -> float | None:
    return None if "y" in sample.response_text else 1.0


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to a value and to all parts of it."""
    yield at
    items: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*at, key))


def put(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """The value with another part at that place, or without it."""
    if not place:
        return new
    made = copy.deepcopy(value)
    inside = made
    for key in place[:-1]:
        inside = inside[key]
    if new is ABSENT:
        del inside[place[-1]]
    else:
        inside[place[-1]] = new
    return made


def mutations(value: Any, draw: random.Random, n: int) -> Iterator[Any]:
    for place in places(value):
        for odd in (*draw.sample(ODD, n), "".join(draw.choices(string.printable, k=20))):
            yield put(value, place, odd)
        if place:
            yield put(value, place, ABSENT)
    if isinstance(value, dict):
        yield {**value, "unknown": 1}


def examples(dialect: Dialect) -> Iterator[tuple[str, Any]]:
    for path, about in dialect.PATHS.items():
        if about.get("example") is not None:
            yield path, about["example"]
        elif (model := about.get("request")) is not None:
            for example in model.model_config["json_schema_extra"]["examples"]:
                yield path, example


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.NAME)
def test_no_body_is_answered_by_a_fault_of_the_server(dialect: Dialect) -> None:
    draw = random.Random(0)
    app = create_app(ServeConfig(max_items=64), {"ids": Ids(), "verdict": pointwise(verdict, scale="verdict")})
    asked = [
        (f"{prefix}{path}", json.dumps(body))
        for path, example in examples(dialect)
        for body in mutations(example, draw, 8)
        for prefix in (f"/compat/{dialect.NAME}", "/s/verdict")
    ]

    async def main() -> Counter[int]:
        statuses: Counter[int] = Counter()
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            for path, body in asked:
                answer = await client.post(path, content=body, headers={"Content-Type": "application/json"})
                statuses[answer.status_code] += 1
                # 503 is how forms without a word for it say that a sample has no score.
                unscored = answer.status_code == 503 and "has no score" in answer.text
                assert answer.status_code < 500 or unscored, (path, body, answer.text)
                json.loads(answer.text, parse_constant=pytest.fail)  # nor by NaN
        return statuses

    statuses = asyncio.run(main())
    app.state.engine.close()
    assert statuses[200]  # or nothing was read at all
    assert statuses[422]
