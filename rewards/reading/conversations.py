"""The texts of a row, brought into one shape: all plain text, or all chat messages, with the prompt apart.

Public data writes one conversation in many ways. Here messages of LLaMA-Factory's kind (``from``, ``value``) become
``role`` and ``content``, a plain text beside messages becomes a message, and a prompt that stands only inside
``chosen`` and ``rejected`` is taken out of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from guerdon.rewards.errors import UsageError

T = TypeVar("T")

Messages: TypeAlias = list[dict[str, Any]]
Parts: TypeAlias = tuple[str | Messages, str | Messages, str | Messages]

SPEAKERS = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "system": "system",
    "observation": "tool",
    "tool": "tool",
}
"""The roles behind ``from`` in LLaMA-Factory's sharegpt layout; ``function_call`` has no plain text and is refused."""

ANSWER_MARKS = (
    "\n\nAssistant:",  # hh-rlhf
    "### Response:\n",  # Alpaca
    "<|assistant|>\n",  # Zephyr, Tulu
    "<|im_start|>assistant\n",  # ChatML
    "<|start_header_id|>assistant<|end_header_id|>\n\n",  # Llama 3
    "[/INST]",  # Llama 2, Mistral
)
"""After which a response begins, in conversations that were written out as one text."""


def conversation(value: Any, name: str) -> str | Messages:
    """A row's text or messages, checked, as text or as messages with ``role`` and ``content``.

    A single message counts as a list of one. Keys of a message that are null are left out (tables fill them in), except
    ``content``. Raises UsageError with the place of the fault.
    """
    if value is None:
        raise UsageError(f"{name} is null")
    if isinstance(value, str):
        return _encodable(value, name)
    if isinstance(value, Mapping):
        return [_message(value, name)]
    if isinstance(value, (list, tuple)):
        return [_message(message, f"{name}[{index}]") for index, message in enumerate(value)]
    raise UsageError(f"{name} must be text or a list of messages, got {type(value).__name__}: {value!r:.60}")


def _message(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(
            f"{name} must be a message with 'role' and 'content', got {type(value).__name__}: {value!r:.60}"
        )
    message = {key: item for key, item in value.items() if item is not None or key == "content"}
    if "role" not in message and isinstance(message.get("from"), str) and "value" in message:
        speaker = message.pop("from")
        if speaker not in SPEAKERS:
            raise UsageError(f"{name} is from {speaker!r}; there are: {', '.join(SPEAKERS)}")
        message = {"role": SPEAKERS[speaker], "content": message.pop("value"), **message}
    content = message.get("content")
    for part in content if isinstance(content, (list, tuple)) else [content]:
        _encodable(part.get("text") if isinstance(part, Mapping) else part, name)
    return message


def _encodable(text: T, name: str) -> T:
    """The text itself; raises UsageError for half of a surrogate pair, on which every tokenizer fails later."""
    if isinstance(text, str) and not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise UsageError(f"{name} holds half a character ({text[error.start]!a} at {error.start})") from error
    return text


def alike(prompt: str | Messages, responses: Sequence[str | Messages]) -> tuple[str | Messages, list[str | Messages]]:
    """Unchanged if all are text; else all as messages, where text becomes one message of the user or the assistant."""
    if all(isinstance(text, str) for text in (prompt, *responses)):
        return prompt, list(responses)
    return _as_messages(prompt, "user"), [_as_messages(response, "assistant") for response in responses]


def _as_messages(text: str | Messages, role: str) -> Messages:
    return [{"role": role, "content": text}] if isinstance(text, str) else text


def explicit(prompt: str | Messages, chosen: str | Messages, rejected: str | Messages) -> Parts:
    """Prompt, chosen and rejected of a row that has a prompt.

    Where chosen and rejected are whole conversations that repeat the prompt (UltraFeedback binarized does that), it is
    taken off them. A response that still begins with a user or system message raises UsageError.
    """
    if isinstance(chosen, list) and isinstance(rejected, list):
        if isinstance(prompt, list):
            n = len(prompt)
            if chosen[:n] == rejected[:n] == prompt:
                chosen, rejected = chosen[n:], rejected[n:]
        elif _asks(chosen[:1]) and _asks(rejected[:1]):
            said = prompt
            prompt, chosen, rejected = implicit(chosen, rejected)
            if said.strip() not in (str(message.get("content")).strip() for message in _as_messages(prompt, "user")):
                raise UsageError(f"prompt is not among the messages that chosen and rejected share: {said!r:.60}")
    check_response(chosen, "chosen")
    check_response(rejected, "rejected")
    prompt, (chosen, rejected) = alike(prompt, [chosen, rejected])
    return prompt, chosen, rejected


def implicit(chosen: str | Messages, rejected: str | Messages) -> Parts:
    """Prompt, chosen and rejected of two whole conversations that begin alike; raises UsageError if they do not.

    Messages: the prompt is what they share, less assistant messages at its end. Text: the prompt is what they share,
    cut back to just after the last answer mark (``ANSWER_MARKS``), else the last line break, else the last space in
    it. No character is lost: prompt + response is the text that was given.
    """
    n = _shared_length(chosen, rejected)
    if isinstance(chosen, str) and isinstance(rejected, str):
        cut = _text_cut(chosen[:n])
    elif isinstance(chosen, list) and isinstance(rejected, list):
        if turn := _asks(chosen[n : n + 1]) or _asks(rejected[n : n + 1]):
            raise UsageError(f"chosen and rejected differ in a {turn!r} message ({n}): they answer different prompts")
        cut = n
        while cut and chosen[cut - 1].get("role") == "assistant":
            cut -= 1
    else:
        raise UsageError("without a prompt, chosen and rejected must both be text or both be messages")
    if not cut:
        raise UsageError("chosen and rejected do not begin with the same prompt, and there is no prompt column")
    if cut in (len(chosen), len(rejected)):
        raise UsageError("chosen or rejected ends with the shared prompt and holds no response")
    return chosen[:cut], chosen[cut:], rejected[cut:]


def check_response(response: str | Messages, name: str) -> None:
    """Raise UsageError for a response that begins with a user or system message."""
    if isinstance(response, list) and (role := _asks(response[:1])):
        raise UsageError(f"{name} begins with a {role!r} message; beside a prompt it must hold the response alone")


def _asks(messages: Messages) -> str | None:
    """The role of the first message if it is the other side's, which no response begins with."""
    role = messages[0].get("role") if messages else None
    return role if role in ("user", "system") else None


def _shared_length(a: Sequence[Any], b: Sequence[Any]) -> int:
    """How many leading items are equal; by bisection, because slices compare at C speed."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _text_cut(shared: str) -> int:
    marks = [shared.rfind(mark) + len(mark) for mark in ANSWER_MARKS if mark in shared]
    return max(marks) if marks else shared.rfind("\n") + 1 or shared.rfind(" ") + 1
