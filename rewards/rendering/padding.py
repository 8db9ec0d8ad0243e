"""A pad token that can never be part of a text.

transformers pools a sequence classifier at the right-most id that is not the pad id, and never looks at the mask;
vLLM and SGLang pool the last token. Both are the same place exactly when no rendered text can end in the pad id. With
pad = eos, the habit for decoders, they are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.rewards.rendering.encoding import Control, control_tokens
from guerdon.rewards.rendering.templates import probes

_NEW = "<|pad|>"
_PAD = re.compile(r"\W*(finetune_?)?(right_?)?pad(ding)?(_?id|_?token)?\W*", re.IGNORECASE)
_RESERVED = re.compile(r"\W*(reserved|unused|dummy|placeholder|extra_?id)\w*\W*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Pad:
    """The pad token chosen. needs_resize: it is new, and the embeddings need a row for its id. why: why not the
    tokenizer's own; empty if it is."""

    token: str
    id: int
    needs_resize: bool
    why: str


def safe_pad(tokenizer: Any, template: str | None = None, *, controls: Sequence[Control] | None = None) -> Pad:
    """The pad token to use: the tokenizer's own if it is safe, else a reserved one, else UNK, else a new ``<|pad|>``.

    template: the chat template, the tokenizer's own by default. The tokenizer is not changed. A token is safe if no
    text can hold it: it is a control token, neither the template nor the model writes it, and it ends nothing.
    """
    template = template if template is not None else tokenizer.get_chat_template()
    printed = probes(tokenizer, template)
    controls = control_tokens(tokenizer, printed) if controls is None else controls
    written = [*printed, template]
    ends = {tokenizer.eos_token, tokenizer.bos_token, tokenizer.sep_token, tokenizer.cls_token, tokenizer.mask_token}
    safe = {c.text: c.id for c in controls if c.text not in ends and not any(c.text in text for text in written)}
    if tokenizer.unk_token and not _unreachable(tokenizer):
        safe.pop(tokenizer.unk_token, None)

    if tokenizer.pad_token in safe:
        return Pad(tokenizer.pad_token, safe[tokenizer.pad_token], False, "")
    why = f"its pad token {tokenizer.pad_token} may end a text" if tokenizer.pad_token else "it has no pad token"
    for kind, names in (
        ("pad", _matching(_PAD, safe)),
        ("reserved", _matching(_RESERVED, safe)),
        ("unk", [tokenizer.unk_token]),
    ):
        if names and names[0] in safe:
            return Pad(names[0], safe[names[0]], False, f"{why}; its {kind} token is never part of a text")
    return Pad(_NEW, len(tokenizer), True, f"{why}, and none to spare, so a new one is added")


def _matching(pattern: re.Pattern[str], names: Iterable[str]) -> list[str]:
    return [name for name in names if pattern.fullmatch(name)]


def _unreachable(tokenizer: Any) -> bool:
    """Whether the model never writes UNK: byte-level models know every text."""
    model = tokenizer.backend_tokenizer.model
    return getattr(model, "unk_token", None) is None and getattr(model, "unk_id", None) is None
