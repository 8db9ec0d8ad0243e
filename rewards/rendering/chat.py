"""A prompt and a response as one conversation, in the parts that rendering tells apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from guerdon.rewards.errors import RenderError
from guerdon.rewards.types import Text, thaw

Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation in the parts that cutting tells apart.

    system: the messages before the first turn, never cut. turns: the prompt's turns, oldest first; each begins with a
    user message and holds what was answered to it. response: what is scored.
    """

    system: list[Message]
    turns: list[list[Message]]
    response: list[Message]

    @classmethod
    def of(cls, prompt: Sequence[Message], response: Sequence[Message]) -> Chat:
        n_system = next(
            (i for i, message in enumerate(prompt) if message["role"] not in ("system", "developer")), len(prompt)
        )
        turns: list[list[Message]] = []
        for message in prompt[n_system:]:
            if message["role"] == "user" or not turns:
                turns.append([])
            turns[-1].append(message)
        return cls(list(prompt[:n_system]), turns, list(response))

    @property
    def messages(self) -> list[Message]:
        return [*self.system, *(message for turn in self.turns for message in turn), *self.response]

    def without(self, n_turns: int) -> Chat:
        """Without the n oldest turns."""
        return Chat(self.system, self.turns[n_turns:], self.response)


def conversation(prompt: Text, response: Text) -> Chat:
    """Prompt and response as one conversation."""
    before = _messages(prompt, "prompt", "user")
    after = _messages(response, "response", "assistant")
    if not after:
        raise RenderError("response is an empty list of messages; give at least one message or a string")
    if before and _continues(before[-1], after[0]):
        beginning = before.pop()
        after[0] = {**beginning, **after[0], "content": beginning["content"] + after[0]["content"]}
    return Chat.of(before, after)


def _continues(beginning: Message, message: Message) -> bool:
    """Whether a message goes on where the prompt stopped; an assistant message with tool calls is complete."""
    return (
        beginning["role"] == message["role"] == "assistant"
        and not beginning.get("tool_calls")
        and isinstance(beginning.get("content"), str)
        and isinstance(message.get("content"), str)
    )


def _messages(text: Text, name: str, role: str) -> list[Message]:
    if isinstance(text, str):
        return [{"role": role, "content": text}]
    if not isinstance(text, (list, tuple)):
        raise RenderError(f"{name} must be a string or a list of messages, got {type(text).__name__}: {text!r:.80}")
    return [_message(message, f"{name}[{index}]") for index, message in enumerate(text)]


def _message(message: Mapping[str, Any], where: str) -> Message:
    """A message as templates expect it: plain containers, no null fields, and content of text parts as one string."""
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise RenderError(f"{where} must be a mapping with 'role' (a string) and 'content', got {message!r:.80}")
    plain: Message = {key: value for key, value in thaw(message).items() if value is not None}
    content = plain.get("content", "")
    if isinstance(content, list):
        texts = [part["text"] for part in content if _is_text(part)]
        if len(texts) < len(content):
            raise RenderError(f"{where} holds a part that is not text, which would be lost: {content!r:.120}")
        plain["content"] = "".join(texts)
    elif not isinstance(content, str):
        raise RenderError(f"{where}['content'] must be text, got {type(content).__name__}: {content!r:.80}")
    return plain


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
