"""A prompt goes to one replica, and only what must moves when replicas come and go."""

from __future__ import annotations

import importlib.util
import json
import random
from collections import Counter
from typing import Any

import pytest

from guerdon.rewards.errors import MissingExtraError
from guerdon.serving.affinity import BEGINNING, SLACK, prompt_key, ranked, replicas_wanted

LONG = "a question that is long enough to be told from others, again and again. " * 10
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": LONG}]


def answered(text: str) -> list[dict[str, str]]:
    return [*CHAT, {"role": "assistant", "content": text}]


# What each client sends for the responses to one prompt.
FORMS: dict[str, Any] = {
    "native": lambda r: {"scorer": "s", "items": [{"prompt": LONG, "response": r}]},
    "native, messages": lambda r: {"scorer": "s", "items": [{"prompt": CHAT, "response": answered(r)[2:]}]},
    "OpenRLHF": lambda r: {"query": [LONG + r], "prompts": [LONG], "labels": ["42"]},
    "OpenRLHF without prompts": lambda r: {"query": [LONG + r]},
    "slime": lambda r: {"prompt": LONG, "response": r, "label": "42"},
    "vLLM classify": lambda r: {"model": "m", "input": LONG + r, "use_activation": False},
    "vLLM classify, messages": lambda r: {"model": "m", "messages": answered(r)},
    "vLLM score": lambda r: {"text_1": LONG, "text_2": r},
    "rerank": lambda r: {"query": LONG, "documents": [r]},
    "TEI": lambda r: {"inputs": [[LONG + r]]},
    "SGLang": lambda r: {"text": [LONG + r]},
    "ids": lambda r: {"input_ids": [[*range(400), *map(ord, r)]]},
    "NeMo Gym": lambda r: {"responses_create_params": {"input": CHAT}, "response": {"output": r}},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_responses_to_one_prompt_have_one_key_and_other_prompts_others(form: str) -> None:
    def key(response: str, prompt: str = LONG) -> bytes | None:
        # Another prompt differs in its first words, or its first ids.
        return prompt_key(
            json.dumps(FORMS[form](response)).replace(LONG, prompt).replace("[[0, ", f"[[{len(prompt)}, ").encode()
        )

    assert key("42") is not None
    assert key("42") == key("another answer")
    assert key("42") != key("42", "Another question! " + LONG)


@pytest.mark.parametrize(
    "body", [b"", b"no json", b"[]", b"{}", b"7", b'{"items": []}', b'{"prompt": null}', b"\xff", b"[" * 10_000]
)
def test_a_body_without_a_prompt_has_no_key(body: bytes) -> None:
    assert prompt_key(body) is None


def test_only_the_beginning_of_a_whole_text_is_looked_at() -> None:
    text = "x" * BEGINNING
    assert prompt_key(json.dumps({"input": text + "a"}).encode()) == prompt_key(
        json.dumps({"input": text + "b"}).encode()
    )
    assert prompt_key(json.dumps({"prompt": text + "a"}).encode()) != prompt_key(
        json.dumps({"prompt": text + "b"}).encode()
    )


def keys(n: int) -> list[bytes]:
    draw = random.Random(0)
    return [draw.randbytes(8) for _ in range(n)]


def test_prompts_spread_evenly() -> None:
    counts = Counter(ranked(key, dict.fromkeys("abcd", 0))[0] for key in keys(4000))
    assert all(abs(count - 1000) < 120 for count in counts.values())  # four standard deviations


def test_a_replica_that_goes_moves_only_its_own_prompts() -> None:
    for key in keys(300):
        before = ranked(key, dict.fromkeys("abcd", 0))
        after = ranked(key, dict.fromkeys("abd", 0))
        assert after == [replica for replica in before if replica != "c"]


def test_a_replica_with_far_more_to_do_than_the_others_is_passed_over() -> None:
    for key in keys(50):
        first, *rest = ranked(key, dict.fromkeys("abc", 0))
        assert ranked(key, {first: SLACK, **dict.fromkeys(rest, 0)})[0] == first
        assert ranked(key, {first: 1000, **dict.fromkeys(rest, 10)}) == [*rest, first]
        assert ranked(key, dict.fromkeys("abc", 1000))[0] == first  # all are busy alike


@pytest.mark.parametrize(("waits", "wanted"), [([], 1), ([0, 0], 1), ([0.5, 0.4], 1), ([1.5, 1.2], 3), ([50, 50], 6)])
def test_as_many_replicas_are_wanted_as_the_waiting_work_is_worth(waits: list[float], wanted: int) -> None:
    assert replicas_wanted(waits, 1, 6) == wanted


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_extra_is_named() -> None:
    with pytest.raises(MissingExtraError, match=r"pip install 'guerdon\[ray\]'"):
        importlib.import_module("guerdon.serving.ray_app")
