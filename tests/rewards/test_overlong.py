"""Cutting, against a slow plain version on a tokenizer whose tokens are words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.rewards.rendering.chat import Chat
from guerdon.rewards.rendering.overlong import shorten, trim

Messages = list[dict[str, Any]]


def encode(messages: Messages) -> list[Any]:
    """BOS, and for each message its role, its words and an end."""
    ids: list[Any] = ["<bos>"]
    for message in messages:
        ids += [f"<{message['role']}>", *message.get("content", "").split(), "<end>"]
    return ids


def spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def cut(chat: Chat, limit: int, *, floor: int = 0, cut_response: bool = False) -> list[Any]:
    return shorten(
        chat, encode(chat.messages), limit, floor=floor, cut_response=cut_response, encode=encode, spans=spans
    )


def words(prefix: str, n: int) -> str:
    return " ".join(f"{prefix}{i}" for i in range(n))


@st.composite
def chats(draw: st.DrawFn) -> Chat:
    sizes = st.integers(0, 6)
    prompt: Messages = []
    if draw(st.booleans()):
        prompt.append({"role": "system", "content": words("s", draw(sizes))})
    for turn in range(draw(st.integers(1, 4))):
        prompt.append({"role": "user", "content": words(f"u{turn}.", draw(sizes))})
        prompt.append({"role": "assistant", "content": words(f"a{turn}.", draw(sizes))})
    if draw(st.booleans()):
        prompt.append({"role": "user", "content": words("last.", draw(sizes))})
    return Chat.of(prompt, [{"role": "assistant", "content": words("r", draw(sizes))}])


def without_words(messages: Messages, n: int) -> Messages:
    """The messages without their first n words."""
    kept = []
    for message in messages:
        own = message["content"].split()
        kept.append({**message, "content": " ".join(own[n:])})
        n = max(0, n - len(own))
    return kept


def all_cuts_of_the_prompt(chat: Chat, floor: int) -> list[Messages]:
    """Every form the prompt goes through, from whole to most cut, by trying them one by one."""

    def n_words(messages: Messages) -> int:
        return sum(len(message["content"].split()) for message in messages)

    def size(messages: Messages) -> int:
        return n_words(messages) + 2 * len(messages)  # role and end

    turns, forms = list(chat.turns), []
    while True:
        flat = [message for turn in turns for message in turn]
        forms.append([*chat.system, *flat])
        rest = [message for turn in turns[1:] for message in turn]
        if len(turns) <= 1 or size([*chat.system, *rest]) < floor:
            break
        turns = turns[1:]
    for n in range(1, n_words(flat) + 1):
        if size([*chat.system, *flat]) - n >= floor:
            forms.append([*chat.system, *without_words(flat, n)])
    return forms


@settings(max_examples=300, deadline=None)
@given(chats(), st.integers(1, 60))
def test_truncate_prompt_equals_trying_every_cut(chat: Chat, limit: int) -> None:
    forms = [encode([*prompt, *chat.response]) for prompt in all_cuts_of_the_prompt(chat, 0)]
    expected = next((ids for ids in forms if len(ids) <= limit), forms[-1])
    assert cut(chat, limit) == expected


@settings(max_examples=300, deadline=None)
@given(chats(), st.integers(1, 60))
def test_truncate_equals_trying_every_cut(chat: Chat, limit: int) -> None:
    floor = limit // 4
    prompts = all_cuts_of_the_prompt(chat, floor)
    own = chat.response[0]["content"].split()
    responses = [[{"role": "assistant", "content": " ".join(own[:n])}] for n in range(len(own), -1, -1)]
    forms = [encode([*prompt, *chat.response]) for prompt in prompts]
    forms += [encode([*prompts[-1], *response]) for response in responses]
    # the last resort: the floor gives way
    prompts = all_cuts_of_the_prompt(chat, 0)
    forms += [encode([*prompt, *chat.response]) for prompt in prompts]
    forms += [encode([*prompts[-1], *response]) for response in responses]
    expected = next((ids for ids in forms if len(ids) <= limit), forms[-1])
    assert cut(chat, limit, floor=floor, cut_response=True) == expected


def test_by_hand() -> None:
    chat = Chat.of(
        [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "one two"},
            {"role": "assistant", "content": "three"},
            {"role": "user", "content": "four five six"},
        ],
        [{"role": "assistant", "content": "seven"}],
    )
    assert len(encode(chat.messages)) == 20
    assert " ".join(cut(chat, 19)) == (
        "<bos> <system> be brief <end> <user> four five six <end> <assistant> seven <end>"
    )
    assert " ".join(cut(chat, 11)) == "<bos> <system> be brief <end> <user> six <end> <assistant> seven <end>"
    assert len(cut(chat, 9)) == 10, "system, roles and response are never cut"


def test_a_greeting_before_the_first_question_is_the_oldest_turn() -> None:
    chat = Chat.of(
        [{"role": "assistant", "content": "hello"}, {"role": "user", "content": "q"}],
        [{"role": "assistant", "content": "r"}],
    )
    assert " ".join(cut(chat, 7)) == "<bos> <user> q <end> <assistant> r <end>"


def test_tool_calls_stay_with_the_question_that_led_to_them() -> None:
    turn: Messages = [
        {"role": "user", "content": "a b"},
        {"role": "assistant", "tool_calls": [{"name": "f"}]},
        {"role": "tool", "content": "c d"},
    ]
    chat = Chat.of([{"role": "user", "content": "old"}, *turn], [{"role": "assistant", "content": "r"}])
    assert " ".join(cut(chat, 13)) == "<bos> <user> b <end> <assistant> <end> <tool> c d <end> <assistant> r <end>"
    assert " ".join(cut(chat, 11)) == "<bos> <user> <end> <assistant> <end> <tool> d <end> <assistant> r <end>"


def test_a_response_of_several_messages_is_cut_from_its_right() -> None:
    response: Messages = [
        {"role": "assistant", "content": "one two"},
        {"role": "tool", "content": "three"},
        {"role": "assistant", "content": "four five"},
    ]
    chat = Chat.of([{"role": "user", "content": "q"}], response)
    ids = cut(chat, 12, floor=3, cut_response=True)
    assert " ".join(ids) == "<bos> <user> q <end> <assistant> one two <end> <tool> <end> <assistant> <end>"


def test_the_floor_gives_way_to_turn_marks_that_cannot_be_cut() -> None:
    """The first turn is thirty empty tool messages; what is left without it is below the floor, and still must do."""
    first: Messages = [{"role": "user", "content": "a"}, *({"role": "tool", "content": ""} for _ in range(30))]
    chat = Chat.of([*first, {"role": "user", "content": "q"}], [{"role": "assistant", "content": "r"}])
    ids = cut(chat, 40, floor=10, cut_response=True)
    assert " ".join(ids) == "<bos> <user> q <end> <assistant> r <end>"


def test_the_work_is_a_few_passes_over_the_text() -> None:
    """A thousand turns of ten words: the turns are found by halving, and each try reads the conversation once."""
    seen = []

    def counting(messages: Messages) -> list[Any]:
        seen.append(len(messages))
        return encode(messages)

    prompt: Messages = []
    for turn in range(1000):
        prompt.append({"role": "user", "content": words(f"u{turn}.", 10)})
        prompt.append({"role": "assistant", "content": words(f"a{turn}.", 10)})
    chat = Chat.of([*prompt, {"role": "user", "content": "q"}], [{"role": "assistant", "content": "r"}])
    ids = shorten(chat, encode(chat.messages), 500, floor=0, cut_response=False, encode=counting, spans=spans)
    assert len(ids) <= 500
    assert len(seen) <= 12
    assert sum(seen) <= 2 * len(chat.messages)


@pytest.mark.parametrize("surprise", [1, 7, 50])
def test_a_tokenizer_whose_pieces_do_not_add_up_still_ends_and_fits(surprise: int) -> None:
    """Each word counts more in place than alone, so the first guess is always wrong."""
    calls = []

    def inflated(messages: Messages) -> list[Any]:
        calls.append(1)
        return [id_ for id_ in encode(messages) for _ in range(surprise + 1)]

    chat = Chat.of([{"role": "user", "content": words("u", 5000)}], [{"role": "assistant", "content": "r"}])
    ids = shorten(chat, inflated(chat.messages), 900, floor=0, cut_response=False, encode=inflated, spans=spans)
    assert len(ids) <= 900
    assert len(calls) <= 20


@settings(max_examples=100, deadline=None)
@given(chats(), st.integers(1, 40), st.booleans())
def test_trimming_keeps_a_window_and_the_form(chat: Chat, width: int, cut_response: bool) -> None:
    trimmed = trim(chat, width, 3, cut_response=cut_response)
    kept = "".join(message["content"] for turn in trimmed.turns for message in turn)
    whole = "".join(message["content"] for turn in chat.turns[-3:] for message in turn)
    assert len(trimmed.turns) <= 3
    assert kept == whole[-width:] or (len(whole) <= width and kept == whole)
    assert trimmed.system == chat.system
    roles = [[message["role"] for message in turn] for turn in chat.turns]
    assert [[message["role"] for message in turn] for turn in trimmed.turns] == roles[-len(trimmed.turns) :]
    response = chat.response[0]["content"]
    assert trimmed.response[0]["content"] == (response[:width] if cut_response else response)
