"""How a prompt and a response become one conversation."""

from __future__ import annotations

from typing import Any

import pytest

from guerdon.rewards.errors import RenderError
from guerdon.rewards.rendering.chat import conversation
from guerdon.rewards.types import Sample

Q = {"role": "user", "content": "q"}
A = {"role": "assistant", "content": "a"}


def test_strings_are_one_user_and_one_assistant_message() -> None:
    assert conversation("q", "a").messages == [Q, A]


def test_messages_of_a_sample_are_thawed_into_plain_containers() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}
    sample = Sample([{"role": "system", "content": "s"}, Q], [call, {"role": "tool", "content": "7"}, A])
    messages = conversation(sample.prompt, sample.response).messages
    assert messages == [
        {"role": "system", "content": "s"},
        Q,
        {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]},
        {"role": "tool", "content": "7"},
        A,
    ]
    assert type(messages[2]["tool_calls"][0]) is dict


def test_a_prompt_that_ends_in_an_assistant_message_is_continued() -> None:
    """As TRL scores a prefilled completion: the two are one message."""
    prompt = [Q, {"role": "assistant", "content": "<think>"}]
    whole = [Q, {"role": "assistant", "content": "<think>hm"}]
    assert conversation(prompt, "hm").messages == whole
    assert conversation(prompt, [{"role": "assistant", "content": "hm"}]).messages == whole
    assert conversation(prompt, "hm").response == whole[1:], "what was begun for the model is never cut as prompt"


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ({"role": "assistant", "content": "", "tool_calls": [{"name": "f"}]}, A),
        (A, {"role": "tool", "content": "7"}),
        (A, {"role": "assistant", "tool_calls": [{"name": "f"}]}),
    ],
)
def test_a_finished_assistant_message_is_not_continued(last: dict[str, Any], first: dict[str, Any]) -> None:
    assert conversation([Q, last], [first]).messages == [Q, last, first]


def test_text_parts_become_one_string() -> None:
    parts = [{"type": "text", "text": "What "}, {"type": "text", "text": "is it?"}]
    assert conversation([{"role": "user", "content": parts}], "a").messages[0]["content"] == "What is it?"


@pytest.mark.parametrize(
    ("prompt", "response", "message"),
    [
        (
            [{"role": "user", "content": [{"type": "image", "url": "x.png"}]}],
            "a",
            r"prompt\[0\] holds a part that is not",
        ),
        ([{"role": "user", "content": 3}], "a", r"prompt\[0\]\['content'\] must be text, got int: 3"),
        ([{"rôle": "user", "content": "q"}], "a", r"prompt\[0\] must be a mapping with 'role'"),
        (["q"], "a", r"prompt\[0\] must be a mapping"),
        (None, "a", "prompt must be a string or a list of messages, got NoneType"),
        ("q", [], "response is an empty list of messages"),
        ("q", 7.5, "response must be a string or a list of messages, got float: 7.5"),
    ],
)
def test_what_is_no_text_is_an_error_with_its_place(prompt: Any, response: Any, message: str) -> None:
    with pytest.raises(RenderError, match=message):
        conversation(prompt, response)


def test_empty_texts_are_texts() -> None:
    assert conversation("", "").messages == [{"role": "user", "content": ""}, {"role": "assistant", "content": ""}]
    assert conversation([], "a").messages == [A]
