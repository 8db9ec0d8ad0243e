"""The stores of references and verdicts: what they keep, what they forget, and that they never change a verdict."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from guerdon.verifiers._math import decide as deciding
from guerdon.verifiers._math.compiled import DECIDED, Store, read
from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers.math import verify


def test_a_store_forgets_what_was_used_longest_ago() -> None:
    store: Store[int] = Store(most_bytes=100)
    for key in range(4):
        store.put(key, key, 25)
    assert store.get(0) == 0
    store.put(4, 4, 25)
    assert [store.get(key) for key in range(5)] == [0, None, 2, 3, 4]


def test_a_store_keeps_within_its_bytes_and_takes_no_giant() -> None:
    store: Store[str] = Store(most_bytes=1_000)
    for key in range(1_000):
        store.put(key, "x", 90)
    assert len(store) <= 11
    store.put("giant", "x", 251)
    assert store.get("giant") is None
    for _ in range(100):
        store.put("again", "x", 100)  # the same key is counted once
    assert store.get(999) == "x"


def test_a_store_serves_many_threads() -> None:
    store: Store[int] = Store(most_bytes=2_000)

    def work(seed: int) -> None:
        for n in range(2_000):
            key = (n * seed) % 50
            assert store.get(key) in (None, key)
            store.put(key, key, 50)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1, 9)))
    assert len(store) <= 40


def test_a_reference_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    from guerdon.verifiers._math import compiled

    real = compiled.parse
    monkeypatch.setattr(compiled, "parse", lambda text: (texts.append(text), real(text))[1])
    for answer in ("x + 97", "x + 98", "97 + x", "x + 97"):
        verify(rf"\boxed{{{answer}}}", r"x + 97 + \sin 0")
    assert texts.count(r"x + 97 + \sin 0") == 1


def test_equal_pairs_are_decided_once_and_other_policies_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    real = deciding.compare
    monkeypatch.setattr(deciding, "compare", lambda *args: (calls.append(args), real(*args))[1])
    for _ in range(3):
        assert verify(r"So \boxed{(y-41)^2}.", "y^2 - 82y + 1681").value == 1
        assert verify(r"Thus \boxed{(y-41)^2}", "y^2 - 82y + 1681", order="kept").value == 1
    assert len(calls) == 2


def test_what_could_not_be_told_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def out_of_time(*args: Any) -> Decision:
        calls.append(args)
        return Decision(None, "symbolic", "out of time", status="timeout")

    monkeypatch.setattr(deciding, "compare", out_of_time)
    for _ in range(2):
        score = verify(r"\boxed{z^{43}+1}", "1 + z^{43} + 0w")
        assert (score.value, score.status) == (None, "timeout")
    assert len(calls) == 2


def test_an_unread_text_keeps_its_reason() -> None:
    assert read(r"\frac{1}{", keep=False).node is None
    assert read(r"\frac{1}{", keep=False).reason
    assert read("7" * 5_000, keep=False).status == "refused"
    assert len(DECIDED) >= 0
