"""Chat templates as text: a join rule compiled to one, the date frozen in one, the BOS put before one.

The single decision: whatever guerdon wants of a rendering is written *into* the chat template, which is saved beside
the weights. Every engine that calls ``apply_chat_template`` on the saved folder then makes the very ids we trained on.

The templates written here rely on the settings that transformers gives Jinja: ``trim_blocks`` (the newline after a
block or comment is dropped) and ``lstrip_blocks``.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from guerdon.rewards.errors import RenderError, UsageError

DATE = "2024-07-26"
"""The day that templates print: the one Llama 3's template falls back to when it has no clock."""

_MONTHS = "January,February,March,April,May,June,July,August,September,October,November,December"
_DAYS = "Monday,Tuesday,Wednesday,Thursday,Friday,Saturday,Sunday"
_FROZEN = "{# guerdon: frozen date #}\n"
_FROZEN_LINES = 3


@dataclass(frozen=True, slots=True)
class JoinRule:
    """How plain text is joined for a tokenizer without a chat template; it compiles to one.

    A conversation becomes ``start + turns + middle + response + end``. What follows the last message that is neither
    the assistant's nor a tool's is the response. turn: a message among several, in the prompt or in the response.
    only: the message of a prompt that is one user message. response: the message of a response that is one assistant
    message. All three are texts in which ``{role}`` and ``{text}`` stand for the message's. between: joins turns.
    start, middle, between and end may hold special tokens, written out.

    >>> JoinRule(start="[CLS]", only="{text}", middle="[SEP]", response="{text}", end="[SEP]").end
    '[SEP]'
    """

    start: str = ""
    turn: str = "{role}: {text}"
    only: str = "user: {text}"
    between: str = "\n\n"
    middle: str = "\n\n"
    response: str = "assistant: {text}"
    end: str = ""

    def __post_init__(self) -> None:
        for name in ("turn", "only", "response"):
            if getattr(self, name).count("{text}") != 1:
                raise UsageError(f"JoinRule.{name} must hold '{{text}}' exactly once, got {getattr(self, name)!r}")
        if "{role}" not in self.turn:
            raise UsageError(f"JoinRule.turn must hold '{{role}}', or nobody can tell who speaks; got {self.turn!r}")

    @classmethod
    def for_tokenizer(cls, tokenizer: Any) -> JoinRule:
        """The rule that fits the tokenizer's own special tokens; raises RenderError if it has none to end a text.

        With CLS and SEP (BERT): ``[CLS] prompt [SEP] response [SEP]``, the tokenizer's own form for a pair of texts;
        the turns of a longer prompt carry their role and are parted by SEP. Otherwise (GPT-2, a base Llama):
        ``bos``, ``user: …``, a blank line, ``assistant: …``, ``eos``.
        """
        if tokenizer.cls_token and tokenizer.sep_token:
            start, sep = tokenizer.cls_token, tokenizer.sep_token
            return cls(start=start, only="{text}", between=sep, middle=sep, response="{text}", end=sep)
        if not tokenizer.eos_token:
            raise RenderError(
                f"{type(tokenizer).__name__} has no chat template, no CLS and SEP, and no EOS token to end a text; "
                "pass join=JoinRule(...) that says how prompt and response are joined"
            )
        return cls(start=tokenizer.bos_token or "", end=tokenizer.eos_token)

    def template(self) -> str:
        """The Jinja chat template that joins messages by this rule."""
        return (
            "{% macro text(m) %}{{ m['content'] }}"
            "{% if m['tool_calls'] %}{{ m['tool_calls'] | tojson }}{% endif %}{% endmacro %}"
            "{% set split = namespace(at=0) %}"
            "{% for m in messages %}{% if m['role'] not in ('assistant', 'tool') %}"
            "{% set split.at = loop.index %}{% endif %}{% endfor %}"
            "{% set prompt = messages[:split.at] %}{% set response = messages[split.at:] %}"
            f"{_print(self.start)}{_side('prompt', 'user', self.only, self.turn, self.between)}"
            f"{_print(self.middle)}{_side('response', 'assistant', self.response, self.turn, self.between)}"
            f"{_print(self.end)}"
        )

    def as_dict(self) -> dict[str, str]:
        """The rule as plain data, for ``renderer.json``."""
        return asdict(self)


def _side(name: str, role: str, alone: str, turn: str, between: str) -> str:
    return (
        f"{{% if {name} | length == 1 and {name}[0]['role'] == '{role}' %}}{_print(alone, f'{name}[0]')}"
        f"{{% else %}}{{% for m in {name} %}}{{% if not loop.first %}}{_print(between)}{{% endif %}}"
        f"{_print(turn, 'm')}{{% endfor %}}{{% endif %}}"
    )


def _print(text: str, message: str = "") -> str:
    """Jinja that prints the text, with ``{role}`` and ``{text}`` replaced by the message's if one is named."""
    slots = {"{role}": f"{{{{ {message}['role'] }}}}", "{text}": f"{{{{ text({message}) }}}}"} if message else {}
    parts = re.split(r"(\{role\}|\{text\})", text) if message else [text]
    # a JSON string is a Jinja string as long as characters beyond ASCII stay as they are
    return "".join(slots.get(part) or f"{{{{ {json.dumps(part, ensure_ascii=False)} }}}}" for part in parts if part)


def freeze_date(template: str, date: str) -> tuple[str, bool]:
    """The template with its clock stopped at the date (ISO), and whether it has a clock at all.

    Templates print the day through ``strftime_now`` or ``date_string``; a reward must not change with the calendar.
    Names of months and days are English whatever the locale; the time of day is midnight UTC.
    """
    try:
        day = datetime.date.fromisoformat(date)
    except (TypeError, ValueError):
        raise UsageError(f"date must be a day like '2024-07-26', got {date!r}") from None
    if template.startswith(_FROZEN):  # frozen before, perhaps on another day
        template = template.split("\n", _FROZEN_LINES)[_FROZEN_LINES]
    if "strftime_now" not in template and "date_string" not in template:
        return template, False
    codes = _codes(day)
    chain = "".join(f" | replace({json.dumps(code)}, {json.dumps(value)})" for code, value in codes.items())
    date_string = json.dumps(f"{codes['%d']} {codes['%b']} {codes['%Y']}")
    frozen = (
        f"{_FROZEN}{{% macro strftime_now(format) %}}{{{{ format{chain} }}}}{{% endmacro %}}\n"
        f"{{% set date_string = {date_string} %}}\n"
    )
    return frozen + template, True


def _codes(day: datetime.date) -> dict[str, str]:
    """What each strftime code prints on that day. Names are spelled here, since strftime's depend on the locale."""
    month, weekday = _MONTHS.split(",")[day.month - 1], _DAYS.split(",")[day.weekday()]
    named = {"%B": month, "%b": month[:3], "%h": month[:3], "%A": weekday, "%a": weekday[:3], "%p": "AM"}
    numbers = {f"%{code}": day.strftime(f"%{code}") for code in "YymdjuwHIMSf"}
    bare = {f"%-{code}": numbers[f"%{code}"].lstrip("0") or "0" for code in "mdjHIMS"}
    return {"%F": day.isoformat(), "%D": day.strftime("%m/%d/%y"), "%T": "00:00:00", **bare, **numbers, **named}


def begin_with_bos(template: str) -> str:
    """The template with the BOS token printed before everything else.

    The comment and its newline print nothing; they keep the template's first line a first line for lstrip_blocks.
    """
    return "{{ bos_token }}{##}\n" + template


def apply(tokenizer: Any, template: str, messages: Sequence[dict[str, Any]]) -> str:
    """The conversation as the template prints it; raises RenderError when the template refuses it."""
    try:
        text = tokenizer.apply_chat_template(list(messages), chat_template=template, tokenize=False)
    except Exception as error:  # the template is code we do not own: it may raise anything
        roles = ", ".join(str(message.get("role")) for message in messages[:12])
        raise RenderError(
            f"the chat template refused a conversation with roles [{roles}]: {type(error).__name__}: {error}"
        ) from error
    return str(text)


_SYSTEM = {"role": "system", "content": "alpha"}
_USER = {"role": "user", "content": "bravo"}
_ASSISTANT = {"role": "assistant", "content": "charlie"}
_PROBES: tuple[list[dict[str, str]], ...] = (
    [_USER, _ASSISTANT],
    [_SYSTEM, _USER, _ASSISTANT],
    [_USER, _ASSISTANT, _USER, _ASSISTANT],
)


def probes(tokenizer: Any, template: str) -> list[str]:
    """What the template prints for a few plain conversations; the first is the simplest, and must be accepted.

    The others are left out where the template refuses them (some know no system message).
    """
    texts = [apply(tokenizer, template, _PROBES[0])]
    for messages in _PROBES[1:]:
        try:
            texts.append(apply(tokenizer, template, messages))
        except RenderError:
            continue
    return texts


def hides_reasoning(tokenizer: Any, template: str) -> bool:
    """Whether the template drops what a response says between ``<think>`` and ``</think>``."""
    response = {"role": "assistant", "content": "<think>delta</think>charlie"}
    try:
        return "delta" not in apply(tokenizer, template, [_USER, response])
    except RenderError:
        return False
