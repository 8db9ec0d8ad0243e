"""The forward of a reward model: a transformers sequence classifier with one label, read at the right token.

Two families. A *causal* model (Llama, Qwen, SmolLM2 …) has a linear ``score`` head that we apply ourselves to the
hidden state of each sequence's true last token, found from our own layout and never from pad ids: transformers looks
for the right-most id that is not the pad id, which reads one token early whenever a text may end in that id. An
*encoder* (BERT, MiniLM, DeBERTa …) pools in its own way and is called whole.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from guerdon.rewards import packed_attention
from guerdon.rewards.errors import UsageError
from guerdon.rewards.packing import Batch, Ids, Tree, collate, pack, plain, share_prefix

# Trees need an attention of our own, or one that takes an explicit (b, 1, t, t) mask.
_MASKED_ATTENTION = (packed_attention.NAME, "sdpa", "eager")


class RewardNet(nn.Module):
    """Scores of a batch: ``forward(batch) -> (n,)`` in float32, scale logit.

    model: a transformers model with ``num_labels=1``, plain or wrapped by PEFT.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model
        self.causal = isinstance(getattr(self.classifier, "score", None), nn.Module)
        self._packs: bool | None = None

    @property
    def classifier(self) -> Any:
        """The transformers model itself, without PEFT's wrapper."""
        unwrap = getattr(self.model, "get_base_model", None)
        return unwrap() if unwrap is not None else self.model

    @property
    def pad_id(self) -> int:
        return int(self.classifier.config.get_text_config().pad_token_id)

    @property
    def device(self) -> torch.device:
        device: torch.device = next(self.model.parameters()).device
        return device

    @property
    def dtype(self) -> torch.dtype:
        dtype: torch.dtype = next(self.model.parameters()).dtype
        return dtype

    @property
    def packs(self) -> bool:
        """Whether this model reads sequences laid end to end in one row. Found out by a probe, once.

        On a CPU only: the many small attention calls that it takes there would wait for a GPU's launches.
        """
        if self._packs is None:
            self._packs = False  # while the probe runs
            self._packs = self.device.type == "cpu" and _can_pack(self)
        return self._packs

    def collate(self, trees: list[Tree], *, left: bool = False) -> Batch:
        """The trees as tensors on this model's device, packed where it can be.

        left: padded rows, on the left for a causal model; encoders are padded on the right whatever is asked.
        """
        if self.packs and not left:
            return pack(trees, both_ways=not self.causal).to(self.device)
        return collate(trees, pad_id=self.pad_id, left=left and self.causal, dtype=self.dtype).to(self.device)

    def forward(self, batch: Batch) -> Tensor:
        if not self.causal:
            logits: Tensor = self._encoded(batch).logits
            return logits[:, 0].float()
        last = self._last_hidden(batch)
        with torch.autocast(last.device.type, enabled=False):  # a head in half precision ties distinct responses
            return _in_float32(self.classifier.score, last)

    def _encoded(self, batch: Batch) -> Any:
        """An encoder's output, its head included."""
        if batch.attention_mask.dim() == 2:
            return self.model(input_ids=batch.input_ids, attention_mask=batch.attention_mask)
        return _packed_encoder(self, batch)

    @property
    def head(self) -> nn.Linear:
        """The last layer of the model's head, whose input ``features`` gives. Raises UsageError if it is not linear."""
        linear = [m for m in self.classifier.modules() if isinstance(m, nn.Linear) and m.out_features == 1]
        if not linear or (self.causal and linear[-1] is not self.classifier.score):
            raise UsageError(f"{type(self.classifier).__name__} has no head that ends in a linear layer of one output")
        return linear[-1]

    def features(self, batch: Batch) -> Tensor:
        """What the head's last layer reads, (n, d) in float32: a score is features . head.weight[0] + head.bias."""
        head = self.head
        if self.causal:
            return self._last_hidden(batch).float()
        seen: list[Tensor] = []
        hook = head.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
        try:
            self._encoded(batch)
        finally:
            hook.remove()
        return seen[0].float()

    def _last_hidden(self, batch: Batch) -> Tensor:
        """The hidden state (n, d) of each sequence's last token, of a causal model."""
        hidden: Tensor = self.classifier.base_model(
            input_ids=batch.input_ids,
            attention_mask=batch.attention_mask,
            position_ids=batch.position_ids,
            use_cache=False,
        ).last_hidden_state
        return hidden[batch.rows, batch.columns]


def _in_float32(head: nn.Module, hidden: Tensor) -> Tensor:
    """The head's scores in float32 whatever the dtype of its weights."""
    weight = getattr(head, "weight", None)
    if isinstance(head, nn.Linear) and isinstance(weight, Tensor) and weight.dtype != torch.float32:
        bias = head.bias.float() if head.bias is not None else None
        return nn.functional.linear(hidden.float(), weight.float(), bias)[:, 0]
    scores: Tensor = head(hidden.float())[:, 0]
    return scores.float()


def _packed_encoder(net: RewardNet, batch: Batch) -> Any:
    """An encoder over one packed row. Its head finds the first token of each sequence where it looks for it: behind
    the last layer the row is made into n sequences of that one token."""
    starts = torch.tensor([tree[0][1] for tree in packed_attention.spans_of(batch.attention_mask)])
    base = net.classifier.base_model

    def first_tokens(module: nn.Module, inputs: Any, output: Any) -> Any:
        hidden = output[0][0, starts][:, None]
        return type(output)(last_hidden_state=hidden) if hasattr(output, "last_hidden_state") else (hidden,)

    # RoBERTa counts positions from its pad id on
    position_embeddings = getattr(getattr(base, "embeddings", None), "position_embeddings", None)
    pad = getattr(position_embeddings, "padding_idx", None)
    inputs = {
        "input_ids": batch.input_ids,
        "attention_mask": batch.attention_mask,
        "position_ids": batch.position_ids + (0 if pad is None else pad + 1),
    }
    if getattr(net.classifier.config, "type_vocab_size", 0):
        inputs["token_type_ids"] = torch.zeros_like(batch.input_ids)
    hook = base.encoder.register_forward_hook(first_tokens)
    try:
        return net.model(**inputs)
    finally:
        hook.remove()


_PROBES = (3, 9, 5, 17)
"""Lengths of the sequences by which a model is tried."""


@torch.no_grad()
def _can_pack(net: RewardNet, *, tolerance: float = 1e-4) -> bool:
    """Whether a packed row scores as its sequences do in padded rows, on this very model."""
    config = net.classifier.config.get_text_config()
    if getattr(config, "sliding_window", None) or not packed_attention.install(net.classifier):
        return False  # a window is the attention's own matter, and ours has none
    generator = torch.Generator().manual_seed(0)
    vocabulary = int(config.vocab_size)
    trees = [plain(tuple(torch.randint(vocabulary, (n,), generator=generator).tolist())) for n in _PROBES]
    was_training = net.model.training
    net.model.eval()
    try:
        packed = net(pack(trees, both_ways=not net.causal).to(net.device))
        padded = net(net.collate(trees))
        # an untrained head's scores are tiny, and so would be the difference that another attention makes
        same = bool((packed - padded).abs().max() <= tolerance * float((padded - padded.mean()).abs().max()))
    except (AttributeError, IndexError, RuntimeError, ValueError, TypeError):  # built in another way than we know
        same = False
    finally:
        net.model.train(was_training)
    if not same:
        packed_attention.uninstall(net.classifier)
    return same


@torch.no_grad()
def shares_prompts(net: RewardNet, *, tolerance: float = 1e-4) -> tuple[bool, str]:
    """Whether a tree scores as its plain sequences do on this very model, and why not.

    Measured on a small probe instead of listed by architecture: sliding windows, ALiBi or an attention kernel that
    ignores explicit masks all show as a difference. tolerance is relative to the spread of the probe's scores.
    """
    if not net.causal:
        return False, "an encoder attends to the response from the prompt"
    implementation = getattr(net.classifier.config, "_attn_implementation", None)
    if implementation not in _MASKED_ATTENTION:
        return False, f"attention {implementation!r} takes no explicit mask"
    text_config = net.classifier.config.get_text_config()
    vocabulary = int(text_config.vocab_size)
    window = getattr(text_config, "sliding_window", None)
    limit = int(getattr(text_config, "max_position_embeddings", 512) or 512)
    # Longer than a sliding window, if there is one: only then can the probe see it.
    length = min(limit - 16, (window or 24) + 8)
    if length > 4096:
        return False, f"a sliding window of {window} tokens"
    generator = torch.Generator().manual_seed(0)

    def draw(n: int) -> Ids:
        return tuple(torch.randint(vocabulary, (n,), generator=generator).tolist())

    prompt = draw(length)
    sequences: list[Ids] = [prompt + draw(n) for n in (3, 9, 5)]
    was_training = net.model.training
    net.model.eval()
    try:
        tree = net(net.collate([share_prefix(sequences)]))
        alone = torch.cat([net(net.collate([plain(sequence)])) for sequence in sequences])
    except (RuntimeError, ValueError, TypeError) as error:
        return False, f"the model refused an explicit mask ({type(error).__name__})"
    finally:
        net.model.train(was_training)
    gap = float((tree - alone).abs().max())
    scale = max(1.0, float(alone.abs().max()))
    if gap > tolerance * scale:
        return False, f"a shared prompt moved the probe's scores by {gap:.2g}"
    return True, ""
