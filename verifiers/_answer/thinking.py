"""The part of a response that counts: what follows the model's thinking."""

from __future__ import annotations

from guerdon.verifiers._answer.answer import Span

_THINKING = (
    *((f"<{name}>", f"</{name}>") for name in ("think", "thinking", "thought", "reasoning", "seed:think")),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|channel|>analysis", "<|channel|>final<|message|>"),
)
"""How models mark their reasoning. The opening mark may be missing: templates often put it into the prompt."""


def final_part(response: str) -> Span:
    """The span after the last finished thinking and before thinking that was begun and not finished."""
    if not _may_hold_thinking(response):
        return 0, len(response)
    finished = [at + len(closes) for _, closes in _THINKING if (at := response.rfind(closes)) >= 0]
    start = max(finished, default=0)
    begun = [at for opens, _ in _THINKING if (at := response.find(opens, start)) >= 0]
    return start, min(begun, default=len(response))


def _may_hold_thinking(response: str) -> bool:
    """Whether any mark can be in the response: the common case is told by looking for single signs."""
    if "<" in response and (
        "hink" in response or "thought>" in response or "reasoning>" in response or "<|channel|>" in response
    ):
        return True
    return ("[" in response and "THINK]" in response) or "◁" in response
