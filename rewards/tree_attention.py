"""Attention over trees that computes only what is seen: no t x t mask, no scores of one branch against another.

A tree is one row of tokens, a prefix and then its branches. Written as a dense mask, attention would score every token
against every other and throw most of it away: at a prompt of 300 and eight responses of 130 tokens, three quarters.
Here the prefix attends to itself, and each branch to the prefix and itself, by one call of torch's attention each.

The layout travels as the attention mask, an integer tensor (b, 1, 1, t) that transformers hands on as it is: -1 for
padding, 0 for the prefix, 1, 2 ... for the branches. So a layer that is computed again in a backward pass (gradient
checkpointing) finds it too. A batch of plain rows has an ordinary mask, and this is transformers' own sdpa.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

NAME = "guerdon_tree"

Span = tuple[int, int]


def install(model: Any) -> bool:
    """Switch a model that uses sdpa to attention over trees. False where that is not possible."""
    if getattr(model.config, "_attn_implementation", None) == NAME:
        return True
    if getattr(model.config, "_attn_implementation", None) != "sdpa":
        return False
    AttentionInterface.register(NAME, _attention)
    AttentionMaskInterface.register(NAME, sdpa_mask)
    try:
        model.set_attn_implementation(NAME)
    except (AttributeError, ValueError):  # a model with an attention of its own
        return False
    return bool(model.config._attn_implementation == NAME)


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """query: (b, h, t, d); key, value: (b, h / g, t, d). Returns (b, t, h, d), as transformers wants it."""
    if attention_mask is None or attention_mask.dtype == torch.bool or attention_mask.is_floating_point():
        # named so in transformers: the module, then what its layers pass on
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
    shared = query.shape[1] // key.shape[1]
    if shared > 1:
        key, value = key.repeat_interleave(shared, dim=1), value.repeat_interleave(shared, dim=1)
    rows = []
    for row, spans in enumerate(_spans(attention_mask)):
        q, k, v = query[row : row + 1], key[row : row + 1], value[row : row + 1]
        rows.append(_row(q, k, v, spans, dropout, scaling))
    return torch.cat(rows).transpose(1, 2).contiguous(), None


def _row(
    query: Tensor, key: Tensor, value: Tensor, spans: list[tuple[int, Span]], dropout: float, scaling: float | None
) -> Tensor:
    """One tree: (1, h, t, d)."""
    start, stop = next((span for branch, span in spans if branch == 0), (0, 0))
    before_k, before_v = key[:, :, start:stop], value[:, :, start:stop]
    parts = []
    for branch, (begin, end) in spans:
        q, k, v = query[:, :, begin:end], key[:, :, begin:end], value[:, :, begin:end]
        if branch < 0:
            parts.append(torch.zeros_like(q))
        elif branch == 0 or stop == start:
            parts.append(scaled_dot_product_attention(q, k, v, dropout_p=dropout, is_causal=True, scale=scaling))
        else:
            k, v = torch.cat([before_k, k], dim=2), torch.cat([before_v, v], dim=2)
            sees = _sees(end - begin, stop - start, q.device)
            parts.append(scaled_dot_product_attention(q, k, v, attn_mask=sees, dropout_p=dropout, scale=scaling))
    return torch.cat(parts, dim=2)


def _sees(tokens: int, before: int, device: torch.device) -> Tensor:
    """(tokens, before + tokens): all of what stands before, and itself up to each token."""
    return torch.ones(tokens, before + tokens, dtype=torch.bool, device=device).tril(before)


def _spans(layout: Tensor) -> list[list[tuple[int, Span]]]:
    """For each row, the branches in order and where each begins and ends.

    Kept on the tensor, since all layers are handed the same one and reading it back from a GPU waits for the GPU.
    """
    spans: list[list[tuple[int, Span]]] | None = getattr(layout, "_spans", None)
    if spans is None:
        spans = [_runs(row) for row in layout[:, 0, 0].tolist()]
        layout._spans = spans  # type: ignore[attr-defined]
    return spans


def _runs(row: list[int]) -> list[tuple[int, Span]]:
    runs, begin = [], 0
    for branch, tokens in groupby(row):
        end = begin + len(list(tokens))
        runs.append((branch, (begin, end)))
        begin = end
    return runs
