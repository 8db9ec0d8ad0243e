"""Attention over many sequences laid end to end in one row: no padding, and nothing computed that nobody sees.

Written as a batch of rows, short sequences are padded to the longest. Written as a dense mask, a tree of one prompt and
eight responses scores every token against every other and throws most of it away: at 300 and eight times 130 tokens,
three quarters. Here each sequence attends to itself, a prefix to itself, and each branch to its prefix and itself, by
one call of torch's attention each. Everything else in a layer works token by token and does not notice.

The layout travels as the attention mask, an integer tensor (1, 1, 1, t) that transformers hands on as it is (packing.py
writes it). So a layer that is computed again in a backward pass (gradient checkpointing) finds it too. Any other mask
goes to transformers' own sdpa.
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

NAME = "guerdon_packed"

STRIDE = 1 << 20
"""A token's number in the layout is STRIDE times its tree's, and its branch's: 0 for the prefix, 1, 2 ... behind it."""

BOTH_WAYS = STRIDE - 1
"""In place of a branch: a sequence whose tokens see each other, as in an encoder."""

Span = tuple[int, int, int]
"""A branch (or 0, or BOTH_WAYS), and where it begins and ends."""


def install(model: Any) -> bool:
    """Switch a model that uses sdpa to packed attention. False where that is not possible."""
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


def uninstall(model: Any) -> None:
    """Back to transformers' own sdpa."""
    model.set_attn_implementation("sdpa")


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
    """query: (1, h, t, d); key, value: (1, h / g, t, d). Returns (1, t, h, d), as transformers wants it."""
    if attention_mask is None or attention_mask.dtype == torch.bool or attention_mask.is_floating_point():
        # named so in transformers: the module, then what its layers pass on
        return sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scaling, **kwargs
        )
    shared = query.shape[1] // key.shape[1]
    if shared > 1:
        key, value = key.repeat_interleave(shared, dim=1), value.repeat_interleave(shared, dim=1)
    parts: list[Tensor] = []
    for tree in spans_of(attention_mask):
        parts += _tree(query, key, value, tree, dropout, scaling)
    return torch.cat(parts, dim=2).transpose(1, 2).contiguous(), None


def _tree(
    query: Tensor, key: Tensor, value: Tensor, spans: list[Span], dropout: float, scaling: float | None
) -> list[Tensor]:
    """What each span of one tree attends to, (1, h, tokens, d) each."""
    prefix = next((span for span in spans if span[0] == 0), None)
    parts = []
    for branch, begin, end in spans:
        q, k, v = query[:, :, begin:end], key[:, :, begin:end], value[:, :, begin:end]
        sees: Tensor | None = None
        if prefix is not None and branch != 0:
            before = slice(prefix[1], prefix[2])
            k, v = torch.cat([key[:, :, before], k], dim=2), torch.cat([value[:, :, before], v], dim=2)
            sees = _sees(end - begin, prefix[2] - prefix[1], q.device)
        causal = sees is None and branch != BOTH_WAYS
        parts.append(
            scaled_dot_product_attention(q, k, v, attn_mask=sees, dropout_p=dropout, is_causal=causal, scale=scaling)
        )
    return parts


def _sees(tokens: int, before: int, device: torch.device) -> Tensor:
    """(tokens, before + tokens): all of what stands before, and itself up to each token."""
    return torch.ones(tokens, before + tokens, dtype=torch.bool, device=device).tril(before)


def spans_of(layout: Tensor) -> list[list[Span]]:
    """For each tree of a layout its spans, in order.

    Kept on the tensor, since all layers are handed the same one and reading it back from a GPU waits for the GPU.
    """
    trees: list[list[Span]] | None = getattr(layout, "_spans", None)
    if trees is None:
        trees, begin, last = [], 0, -1
        for number, tokens in groupby(layout.flatten().tolist()):
            end = begin + len(list(tokens))
            tree, branch = divmod(number, STRIDE)
            if tree != last:
                trees.append([])
                last = tree
            trees[-1].append((branch, begin, end))
            begin = end
        layout._spans = trees  # type: ignore[attr-defined]
    return trees
