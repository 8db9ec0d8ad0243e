"""Requests made from the OpenAPI document, and broken ones: no 5xx, no answer that the document does not describe.

    python benchmarks/serving/fuzz_api.py --examples 200        (in an environment with schemathesis)

One app with a verifier, a function that fails now and then, and a model-like scorer that reads ids, in this process.
The document describes most dialects by an example alone; those are mutated in tests/serving/test_fuzz.py, at every run
of the tests.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, given, settings
from starlette.testclient import TestClient

from guerdon.rewards import Prepared, Sample, Scale, Score, pointwise
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig
from guerdon.serving.specs import load_scorer

ADMIN = "fuzz-admin"


class Ids:
    """Reads ids as a reward model does."""

    name, version = "ids", "1"
    scale: Scale = "logit"

    def prepare(self, sample: Sample) -> Prepared | Score:
        return Prepared(sample, tuple(sample.response_text.encode()))

    def prepare_text(self, sample: Sample, text: str, *, special_tokens: bool, keep: Any = None) -> Prepared | Score:
        return Prepared(sample, tuple(text.encode("utf-8", "replace")))

    def prepare_ids(self, sample: Sample, ids: Sequence[int], *, keep: Any = None) -> Prepared | Score:
        return Prepared(sample, tuple(ids))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        return [Score(float(len(prepared.ids)), "length") for prepared in batch]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self.run([self.prepare(sample) for sample in samples])  # type: ignore[misc]


def fails(sample: Sample) -> float | None:
    if "x" in sample.response_text:
        raise ValueError("an x")
    return None if "y" in sample.response_text else 1.0


def make() -> Any:
    scorers = {"ok": load_scorer("numeric"), "fails": pointwise(fails, scale="verdict"), "ids": Ids()}
    config = ServeConfig(max_items=64, admin_token=ADMIN, swap_dirs=["/nowhere"], max_body_bytes=1 << 20)
    return create_app(config, scorers)


def judge(found: Counter[str], faults: list[str], method: str, path: str, body: Any, answer: httpx.Response) -> None:
    found[f"{answer.status_code}"] += 1
    # 503 is how dialects without a word for it say that a sample has no score.
    known = answer.status_code == 503 and "no score" in answer.text
    if answer.status_code >= 500 and not known:
        faults.append(f"{method} {path} {answer.status_code}: {answer.text[:300]}\n    {body!r:.400}")


def from_document(
    client: TestClient, document: dict[str, Any], examples: int, found: Counter[str], faults: list[str]
) -> None:
    schema = schemathesis.openapi.from_dict(document)
    for operation in schema.get_all_operations():
        made = operation.ok()
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            try:
                strategy = made.as_strategy(generation_mode=mode)
            except Exception as error:  # nothing to break in a route without parameters
                print(f"skipped {mode.value} {made.label}: {type(error).__name__}")
                continue

            try:
                try_all(client, strategy, examples, found, faults)
            except Exception as error:
                if "Unsatisfiable" not in type(error).__name__:
                    faults.append(f"{made.label}: {type(error).__name__}: {error}"[:500])


def try_all(client: TestClient, strategy: Any, examples: int, found: Counter[str], faults: list[str]) -> None:
    @settings(
        max_examples=examples, database=None, derandomize=True, deadline=None, suppress_health_check=[*HealthCheck]
    )
    @given(case=strategy)
    def try_one(case: Any) -> None:
        body = None if type(case.body).__name__ == "NotSet" else case.body
        headers = {k: v for k, v in (case.headers or {}).items() if str(v).isascii() and str(v).isprintable()}
        path = case.formatted_path
        if path.startswith("/v1/admin"):
            headers["Authorization"] = f"Bearer {ADMIN}"
        content = body if isinstance(body, (bytes, str)) else None
        json_ = None if isinstance(body, (bytes, str)) else body
        answer = client.request(case.method, path, content=content, json=json_, headers=headers)
        judge(found, faults, case.method, path, body, answer)

    try_one()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=100, help="of each operation, right and wrong ones")
    options = parser.parse_args()
    app = make()
    found: Counter[str] = Counter()
    faults: list[str] = []
    with TestClient(app, raise_server_exceptions=False) as client:
        from_document(client, app.openapi(), options.examples, found, faults)
    print(f"{dict(found)}, {len(faults)} faults")
    for fault in faults[:40]:
        print(f"- {fault}")
    raise SystemExit(bool(faults))


if __name__ == "__main__":
    main()
