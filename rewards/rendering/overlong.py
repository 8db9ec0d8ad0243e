"""Cutting a conversation that is longer than the model reads, without breaking its form.

Cuts are made in the messages, never in the rendered ids: whole turns go first, then text of the turns that stay. So
what is left is a conversation that the template can print, and its closing tokens are always there.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeAlias

from guerdon.rewards.rendering.chat import Chat, Message

Encode: TypeAlias = Callable[[list[Message]], list[int]]
Spans: TypeAlias = Callable[[str], list[tuple[int, int]]]


def shorten(
    chat: Chat, ids: list[int], limit: int, *, floor: int, cut_response: bool, encode: Encode, spans: Spans
) -> list[int]:
    """The ids of the conversation cut to at most ``limit`` tokens, or to as few as these cuts can reach.

    First the prompt's oldest turns go, then the text of the oldest turn that is left, from its left; the prompt keeps
    about ``floor`` tokens, the template's included (0: one turn, perhaps empty). Then, with ``cut_response``, the
    response is cut from its right end. ids: those of the whole conversation. encode: messages to ids. spans: where the
    tokens of a text begin and end. A cut lies at a token's edge and may take a token more than needed, since what is
    left is tokenised anew.
    """
    spans = functools.cache(spans)  # each cut looks at the same texts again
    around = max(0, len(ids) - _size(chat.messages, spans)) // len(chat.messages)  # the template's tokens a message
    sizes = [_size(turn, spans) + around * len(turn) for turn in chat.turns]
    system = _size(chat.system, spans) + around * len(chat.system)
    left = [system + sum(sizes) - gone for gone in accumulate(sizes, initial=0)]  # of the prompt, after k turns went

    droppable = max((k for k in range(len(sizes)) if left[k] >= floor), default=0)
    without = {0: ids}

    def fits(k: int) -> bool:
        if k not in without:
            without[k] = encode(chat.without(k).messages)
        return len(without[k]) <= limit

    dropped = bisect.bisect_left(range(droppable), True, key=fits)
    if fits(dropped):
        return without[dropped]

    rest = chat.without(dropped)
    text = sum(_size(turn, spans) for turn in rest.turns)
    budget = min(text, max(0, left[dropped] - floor))
    kept = _cut_until_fit(
        lambda n: replace(rest, turns=_cut_left(rest.turns, n, spans)), budget, without[dropped], limit, encode
    )
    if len(kept) > limit and cut_response:
        last = replace(rest, turns=_cut_left(rest.turns, budget, spans))
        text = _size(last.response, spans)
        kept = _cut_until_fit(
            lambda n: replace(last, response=_cut_right(last.response, n, spans)), text, kept, limit, encode
        )
    if len(kept) > limit and floor:  # turn marks alone are too many: then the floor has to give
        return shorten(chat, ids, limit, floor=0, cut_response=cut_response, encode=encode, spans=spans)
    return kept


def _cut_until_fit(cut: Callable[[int], Chat], budget: int, ids: list[int], limit: int, encode: Encode) -> list[int]:
    """Ids with the fewest tokens of text removed that fit, give or take one, or with ``budget`` tokens removed."""
    removed, step = 0, 1
    while len(ids) > limit and removed < budget:
        # the excess is nearly always right; the growing step ends the search for tokenizers where it is not
        removed = min(budget, removed + max(len(ids) - limit, step))
        step *= 2
        ids = encode(cut(removed).messages)
    return ids


def _cut_left(turns: list[list[Message]], n: int, spans: Spans) -> list[list[Message]]:
    """The turns without the first n tokens of their text."""
    kept = []
    for turn in turns:
        messages = []
        for message in turn:
            if n > 0 and isinstance(text := message.get("content"), str):
                tokens = spans(text)
                message = {**message, "content": text[tokens[n][0] :] if n < len(tokens) else ""}
                n -= len(tokens)
            messages.append(message)
        kept.append(messages)
    return kept


def _cut_right(messages: list[Message], n: int, spans: Spans) -> list[Message]:
    """The messages without the last n tokens of their text."""
    kept = []
    for message in reversed(messages):
        if n > 0 and isinstance(text := message.get("content"), str):
            tokens = spans(text)
            message = {**message, "content": text[: tokens[-n - 1][1]] if n < len(tokens) else ""}
            n -= len(tokens)
        kept.append(message)
    return kept[::-1]


def _size(messages: Sequence[Message], spans: Spans) -> int:
    """Tokens of the messages' text, without what the template puts around it."""
    return sum(len(spans(text)) for text in _texts(messages))


def _texts(messages: Sequence[Message]) -> list[str]:
    return [message["content"] for message in messages if isinstance(message.get("content"), str)]


def trim(chat: Chat, width: int, n_turns: int, *, cut_response: bool) -> Chat:
    """An absurdly long conversation made merely too long, so that cutting it well need not look at megabytes.

    Of what may be cut there stay the newest ``n_turns`` turns, about the last ``width`` characters of the prompt and,
    with ``cut_response``, the first ``width`` characters of the response.
    """
    turns = chat.turns[-n_turns:]
    while len(turns) > 1 and sum(len(text) for turn in turns[1:] for text in _texts(turn)) >= width:
        turns = turns[1:]
    room = width
    kept: list[list[Message]] = []
    for turn in reversed(turns):
        kept.append([])
        for message in reversed(turn):
            if isinstance(text := message.get("content"), str):
                message = {**message, "content": text[max(0, len(text) - room) :]}
                room -= len(message["content"])
            kept[-1].insert(0, message)
    response, room = [], width
    for message in chat.response:
        if cut_response and isinstance(text := message.get("content"), str):
            message = {**message, "content": text[:room]}
            room -= len(message["content"])
        response.append(message)
    return Chat(chat.system, kept[::-1], response)
