"""The native wire format: every fault has its place, and nothing that JSON readers disagree about gets through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards import Sample, Scale, Score
from guerdon.serving.dialects import Context, native
from guerdon.serving.engine import Scored
from guerdon.serving.schemas import (
    BodyError,
    Item,
    ScoreRequest,
    ScoreResponse,
    parse,
    read_request,
    to_json,
)


def read(body: Any, **limits: int) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_request(parse(raw), "req", max_items=limits.get("max_items", 100))


def refused(body: Any, **limits: int) -> BodyError:
    with pytest.raises(BodyError) as caught:
        read(body, **limits)
    return caught.value


def answered(scale: Scale, ids: list[str | None], scores: list[Score]) -> bytes:
    """The body of the native answer to one item for each of the ids."""
    items = [{"id": i, "prompt": "p", "response": "r"} for i in ids]
    context = Context("/v1/score", None, {"s": scale}, "s", "req", 100)
    call = native.read({"scorer": "s", "items": items}, context)
    timing = {"prepare": 0.0, "queue": 0.0, "score": 1.0, "total": 1.0}
    return to_json(call.write(Scored(scores, "v1", timing)))


def item(**fields: Any) -> dict[str, Any]:
    return {"scorer": "s", "items": [{"prompt": "p", "response": "r", **fields}]}


def test_items_become_samples_with_groups_of_this_request_only() -> None:
    messages = [{"role": "user", "content": "hi"}]
    work = read(
        {
            "scorer": "s",
            "items": [
                {"id": "a", "prompt": messages, "response": "r", "reference": [1, 2], "group": "g", "meta": {"k": 1}},
                {"prompt": "p", "response": [{"role": "assistant", "content": "x"}]},
            ],
            "deadline_ms": 1500,
        }
    )
    assert work.scorer == "s"
    assert work.seconds == 1.5
    assert work.ids == ["a", None]
    assert work.samples == [
        Sample(messages, "r", [1, 2], "req/g", {"k": 1}),
        Sample("p", [{"role": "assistant", "content": "x"}]),
    ]


def test_no_items_is_a_request_too() -> None:
    assert read({"scorer": "s", "items": []}).samples == []


@pytest.mark.parametrize("example", ScoreRequest.model_config["json_schema_extra"]["examples"])  # type: ignore[index,call-overload,typeddict-item]
def test_documented_examples_are_read(example: Any) -> None:
    assert read(example).samples


@pytest.mark.parametrize(
    ("body", "field", "message"),
    [
        ([], "", "must be an object with scorer, items, deadline_ms, provenance; got list: []"),
        ({}, "scorer", "is missing"),
        ({"scorer": "s"}, "items", "is missing"),
        ({"scorer": 5, "items": []}, "scorer", "must be a string, got int: 5"),
        ({"scorer": None, "items": []}, "scorer", "must be a string, got NoneType: None"),
        ({"scorer": "s", "items": {}}, "items", "must be a list of items, got dict: {}"),
        ({"scorer": "s", "item": [], "items": []}, "item", "is not a field. Did you mean 'items'?"),
        ({"scorer": "s", "items": ["x"]}, "items[0]", "must be an object with id, prompt"),
        ({"scorer": "s", "items": [{"prompt": "p"}]}, "items[0].response", "is missing"),
        (item(respones="r"), "items[0].respones", "is not a field. Did you mean 'response'?"),
        (item(response=5), "items[0].response", "must be a string or a list of messages, got int: 5"),
        (item(response=None), "items[0].response", "must be a string or a list of messages, got NoneType"),
        (item(prompt=[]), "items[0].prompt", "is an empty list of messages"),
        (item(prompt=[{"content": "x"}]), "items[0].prompt[0]", "must be a mapping with 'role'"),
        (item(prompt=[{"role": "user", "content": 5}]), "items[0].prompt[0]['content']", "must be text, got int: 5"),
        (item(id=5), "items[0].id", "must be a string or null, got int: 5"),
        (item(group=5), "items[0].group", "must be a string or null, got int: 5"),
        (item(meta=[1]), "items[0].meta", "must be a mapping, got list: [1]"),
        ({**item(), "deadline_ms": 0}, "deadline_ms", "must be a number of milliseconds above 0, got int: 0"),
        ({**item(), "deadline_ms": True}, "deadline_ms", "must be a number of milliseconds above 0, got bool"),
        ({**item(), "deadline_ms": "9"}, "deadline_ms", "must be a number of milliseconds above 0, got str: '9'"),
    ],
)
def test_fault_is_reported_with_its_place_and_what_stood_there(body: Any, field: str, message: str) -> None:
    error = refused(body)
    assert error.status == 422
    assert error.problems[0].field == field
    assert error.problems[0].message.startswith(message)


def test_all_faults_are_listed_up_to_twenty() -> None:
    assert len(refused({"scorer": 1, "items": [1, {"prompt": "p"}]}).problems) == 3
    assert len(refused({"scorer": "s", "items": [1] * 90}).problems) == 20


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b'{"scorer": "\xff", "items": []}',
        b'{"scorer": "s", "items": [{"prompt": "p", "response": "r", "reference": NaN}]}',
        b'{"scorer": "s", "items": [{"prompt": "p", "response": "r", "reference": -Infinity}]}',
        b'{"scorer": "s", "items": [{"prompt": "\\ud800", "response": "r"}]}',
        b'{"scorer": "s", "items": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"scorer": "s", "items": [{"prompt": "p", "response": "r", "reference": ' + b"9" * 100_000 + b"}]}",
        b"scorer=s",
    ],
)
def test_what_is_not_strict_json_is_a_400(body: bytes) -> None:
    assert refused(body).status == 400


@pytest.mark.parametrize("where", ["reference", "meta", "prompt", "response"])
def test_number_that_no_double_holds_is_refused_rather_than_infinite(where: str) -> None:
    value = b'{"k": 1e999}' if where in ("meta", "reference") else b'[{"role": "user", "content": "x", "n": 1e999}]'
    body = b'{"scorer": "s", "items": [{"prompt": "p", "response": "r", "%s": %s}]}' % (where.encode(), value)
    error = refused(body)
    assert (error.status, error.problems[0].field) == (422, f"items[0].{where}")


def test_integer_beyond_64_bits_arrives_exactly() -> None:
    assert read(item(reference=10**30 + 1)).samples[0].reference == 10**30 + 1


def test_deadline_of_thousands_of_digits_is_a_day() -> None:
    assert read(b'{"scorer": "s", "items": [], "deadline_ms": ' + b"9" * 4000 + b"}").seconds == 86_400


def test_too_many_items_are_a_413_before_they_are_read() -> None:
    error = refused({"scorer": "s", "items": [None] * 11}, max_items=10)
    assert error.status == 413
    assert "11 items" in str(error)
    assert "at most 10" in str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def status_of(body: Any) -> int:
    try:
        read(body)
    except BodyError as error:
        return error.status
    return 200


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(["scorer", "items", "deadline_ms", "x"]), JSON))
def test_any_json_is_read_or_refused(body: Any) -> None:
    assert status_of(body) in (200, 400, 413, 422)


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.sampled_from([*Item.model_fields, "x"]), JSON), max_size=3))
def test_any_items_are_read_or_refused(items: Any) -> None:
    assert status_of({"scorer": "s", "items": items}) in (200, 400, 422)


@settings(deadline=None)
@given(st.dictionaries(st.text(), JSON | st.floats() | st.binary() | st.sets(st.integers()), max_size=4))
def test_any_details_become_strict_json(details: Any) -> None:
    body = answered("real", ["a"], [Score(1.0, "why", details)])
    json.loads(body, parse_constant=pytest.fail)


def test_answer_has_its_documented_form_and_null_for_unscored() -> None:
    scores = [Score(0.5, "half", {"n": 1}), Score.unscored("no answer found")]
    body = answered("probability", ["a", None], scores)
    answer = ScoreResponse.model_validate_json(body)
    assert [entry.value for entry in answer.items] == [0.5, None]
    assert json.loads(body)["items"][1] == {
        "id": None, "value": None, "status": "abstained", "truncated": False, "reason": "no answer found",
        "details": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "null"),
        (10**30, '"' + hex(10**30) + '"'),
        ("\ud800", '"\\\\ud800"'),
        ({1: 2}, '{"1":2}'),
        (1 + 2j, '"(1+2j)"'),
        (frozenset({2, 1}), "[1,2]"),
    ],
)
def test_what_json_cannot_hold_is_written_as_null_or_text(value: Any, text: str) -> None:
    assert to_json(value).decode() == text


def test_nesting_deeper_than_json_writers_go_is_cut_with_a_mark() -> None:
    deep: Any = "end"
    for _ in range(400):
        deep = [deep]
    assert "…" in to_json(deep).decode()


def test_numpy_numbers_become_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    assert to_json({"a": numpy.float32(0.5), "b": numpy.arange(2)}) == b'{"a":0.5,"b":[0,1]}'
