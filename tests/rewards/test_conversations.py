"""Prompts taken out of whole conversations: what is shared, where it is cut, and that nothing is lost."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.rewards.errors import UsageError
from guerdon.rewards.reading.conversations import ANSWER_MARKS, conversation, explicit, implicit


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


turns = st.lists(
    st.builds(lambda role, text: {"role": role, "content": text}, st.sampled_from(["user", "assistant"]), st.text()),
    max_size=4,
)


@given(before=turns, chosen=st.text(), rejected=st.text())
def test_shared_messages_become_the_prompt_and_nothing_is_lost(
    before: list[dict[str, Any]], chosen: str, rejected: str
) -> None:
    question = [*before, user("why?")]
    one, other = [*question, assistant(chosen)], [*question, assistant(rejected)]
    prompt, first, second = implicit(one, other)
    assert (prompt, first, second) == (question, [assistant(chosen)], [assistant(rejected)])


def test_a_shared_first_answer_belongs_to_the_responses_not_to_the_prompt() -> None:
    shared = [user("q"), assistant("let me see")]
    prompt, chosen, rejected = implicit([*shared, assistant("4")], [*shared, assistant("5")])
    assert prompt == [user("q")]
    assert chosen == [assistant("let me see"), assistant("4")]
    assert rejected == [assistant("let me see"), assistant("5")]


def test_a_shared_tool_call_and_its_result_stay_in_the_prompt() -> None:
    shared = [user("q"), assistant("calling"), {"role": "tool", "content": "42"}]
    prompt, chosen, _ = implicit([*shared, assistant("a")], [*shared, assistant("b")])
    assert prompt == shared
    assert chosen == [assistant("a")]


@pytest.mark.parametrize(
    ("chosen", "rejected", "message"),
    [
        (
            [user("a"), assistant("x")],
            [user("b"), assistant("y")],
            "differ in a 'user' message .0.: they answer different",
        ),
        ([user("a"), assistant("x"), user("b")], [user("a"), assistant("x"), user("c")], "'user' message .2."),
        ([assistant("x")], [assistant("y")], "do not begin with the same prompt"),
        ([user("a")], [user("a"), assistant("y")], "holds no response"),
        ([user("a")], "a text", "both be text or both be messages"),
        ("abc", "abd", "do not begin with the same prompt"),
        ("What? Yes", "What? ", "holds no response"),
        ("", "", "do not begin with the same prompt"),
    ],
)
def test_conversations_without_a_shared_prompt_are_refused(chosen: Any, rejected: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        implicit(chosen, rejected)


@pytest.mark.parametrize("mark", ANSWER_MARKS)
def test_text_is_cut_after_the_last_answer_mark_even_if_the_answers_begin_alike(mark: str) -> None:
    start = f"ask one{mark} said one\nask two{mark}"
    prompt, chosen, rejected = implicit(f"{start}\nI think so", f"{start}\nI think not")
    assert (prompt, chosen, rejected) == (start, "\nI think so", "\nI think not")


def test_text_without_a_mark_is_cut_at_a_line_break_else_at_a_space() -> None:
    assert implicit("Two?\nThe answer is 2", "Two?\nThe answer is 3") == (
        "Two?\n",
        "The answer is 2",
        "The answer is 3",
    )
    assert implicit("Two? It is 22", "Two? It is 23") == ("Two? It is ", "22", "23")


@given(prompt=st.text(), chosen=st.text(), rejected=st.text())
def test_prompt_and_response_are_the_text_that_was_given(prompt: str, chosen: str, rejected: str) -> None:
    one, other = prompt + "\n" + chosen, prompt + "\n" + rejected
    try:
        shared, first, second = implicit(one, other)
    except UsageError:
        return
    assert isinstance(shared, str)
    assert (shared + first, shared + second) == (one, other)  # type: ignore[operator]
    assert shared.endswith(("\n", " ", *ANSWER_MARKS))
    assert first
    assert second


def test_a_prompt_repeated_in_the_responses_is_taken_off_them() -> None:
    """UltraFeedback binarized: the prompt as text, chosen and rejected as whole conversations."""
    chosen, rejected = [user("q"), assistant("a")], [user("q"), assistant("b")]
    expected = ([user("q")], [assistant("a")], [assistant("b")])
    assert explicit("q", chosen, rejected) == expected
    assert explicit([user("q")], chosen, rejected) == expected
    system = {"role": "system", "content": "be kind"}
    assert explicit("q", [system, *chosen], [system, *rejected])[0] == [system, user("q")]


@pytest.mark.parametrize(
    ("prompt", "chosen", "rejected", "message"),
    [
        ("other", [user("q"), assistant("a")], [user("q"), assistant("b")], "prompt is not among the messages"),
        (
            [user("other")],
            [user("q"), assistant("a")],
            [user("q"), assistant("b")],
            "chosen begins with a 'user' message",
        ),
        ("q", [assistant("a")], [user("q"), assistant("b")], "rejected begins with a 'user' message"),
    ],
)
def test_a_response_that_begins_with_the_other_side_is_refused(
    prompt: Any, chosen: Any, rejected: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        explicit(prompt, chosen, rejected)


def test_text_beside_messages_becomes_a_message() -> None:
    assert explicit("q", [assistant("a")], "b") == ([user("q")], [assistant("a")], [assistant("b")])
    assert explicit([user("q")], "a", "b") == ([user("q")], [assistant("a")], [assistant("b")])
    assert explicit("q", "a", "b") == ("q", "a", "b")


def test_messages_of_llama_factory_get_roles_and_nulls_of_tables_vanish() -> None:
    value = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "ho"}, {"from": "observation", "value": "42"}]
    assert conversation(value, "c") == [user("hi"), assistant("ho"), {"role": "tool", "content": "42"}]
    assert conversation({"from": "gpt", "value": "ho"}, "c") == [assistant("ho")]
    call = {"role": "assistant", "content": None, "tool_calls": [{"name": "f"}], "name": None}
    assert conversation([call], "c") == [{"role": "assistant", "content": None, "tool_calls": [{"name": "f"}]}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "c is null"),
        (5, "c must be text or a list of messages, got int: 5"),
        (["hi"], r"c\[0\] must be a message with 'role' and 'content', got str: 'hi'"),
        ([{"from": "function_call", "value": "x"}], r"c\[0\] is from 'function_call'; there are: human, user, gpt"),
        ("half \ud83d", r"c holds half a character \('\\ud83d' at 5\)"),
        ([user("\udc00")], r"c\[0\] holds half a character"),
        ([{"role": "user", "content": [{"type": "text", "text": "\udc00"}]}], r"c\[0\] holds half a character"),
    ],
)
def test_texts_that_cannot_be_read_name_their_place(value: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        conversation(value, "c")
