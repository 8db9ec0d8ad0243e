"""A trained reward model as a scorer: from a folder or hub id to raw logits, the same number in any batch.

``score`` is ``prepare`` each sample, then ``run`` the batch; a server calls the two itself to merge many callers.
Within a batch the responses to one prompt share its computation where the model allows (network.shares_prompts); the
scores stay those of the plain sequences to 1e-5 in float32.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoModelForSequenceClassification

from guerdon.rewards.backbone import quiet_loading
from guerdon.rewards.checkpoint import Card, foreign_version
from guerdon.rewards.errors import CheckpointError, FingerprintError, RenderError, TooLongError, UsageError
from guerdon.rewards.network import RewardNet, shares_prompts
from guerdon.rewards.packing import Ids, Tree, plain, plan, share_prefix
from guerdon.rewards.prefixes import groups
from guerdon.rewards.render import Keep, Overlong, Renderer
from guerdon.rewards.scorer import Prepared
from guerdon.rewards.types import Sample, Scale, Score

if TYPE_CHECKING:
    from collections.abc import Hashable

    from guerdon.rewards.render import Rendered

logger = logging.getLogger(__name__)

GOLDEN_TOLERANCE = 1e-2
"""Largest difference, relative to max(1, |score|), between a golden score and the loaded model's: devices and kernels
differ by about 1e-5 in float32 and a few 1e-3 in bfloat16; another pooled token differs by tenths."""


def pick_device(device: str | torch.device | None = None) -> torch.device:
    """The device asked for, else CUDA, else Apple's MPS, else the CPU."""
    if device is not None:
        try:
            return torch.device(device)
        except RuntimeError as error:
            raise UsageError(f"no device {device!r}; use 'cuda', 'cuda:1', 'mps' or 'cpu'") from error
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")


HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "*.model", "*.txt"]
"""What is fetched of a hub repository: never pickled weights, never code."""


class RewardModel:
    """A BatchScorer over a transformers reward model; scale logit, raw scores, thread-safe.

    ``temperature``: T of P(a beats b) = sigmoid((r_a - r_b) / T), or None. A sample longer than the model reads is
    unscored with status ``refused``, unless the renderer may cut; then ``details["cut"]`` counts the tokens removed.
    """

    scale: Scale = "logit"

    def __init__(
        self,
        net: RewardNet,
        renderer: Renderer,
        *,
        name: str,
        version: str,
        temperature: float | None = None,
        max_batch_tokens: int | None = None,
        share_prompts: bool | None = None,
        padding_side: str = "right",
        source: tuple[str, dict[str, Any]] | None = None,
        origin: Mapping[str, Any] | None = None,
        made_of: Mapping[str, Any] | None = None,
    ) -> None:
        """max_batch_tokens: padded tokens a forward; default 2,048 on a CPU (more buys nothing there), else 32,768.
        share_prompts: None finds out whether the model allows it. source: how to load it again (for pickling).
        origin: {"backbone", "data"} of the training, None if unknown; an ensemble asks if its members share both.
        made_of: what ``provenance`` says of the checkpoint."""
        if max_batch_tokens is not None and max_batch_tokens < 1:
            raise UsageError(f"max_batch_tokens must be at least 1, got {max_batch_tokens}")
        if padding_side not in ("left", "right"):
            raise UsageError(f"padding_side must be 'left' or 'right', got {padding_side!r}")
        self.net = net.eval()
        self.renderer = renderer
        self.name, self.version, self.temperature = name, version, temperature
        self.max_batch_tokens = max_batch_tokens or (2_048 if net.device.type == "cpu" else 32_768)
        self.padding_side = padding_side
        self._source, self.origin, self._made_of = source, origin, dict(made_of or {})
        self._lock = threading.Lock()
        if share_prompts is None:
            share_prompts, why = shares_prompts(net)
            logger.debug("prompts are %sshared%s", "" if share_prompts else "not ", f": {why}" if why else "")
        self.share_prompts = share_prompts

    @classmethod
    def load(
        cls,
        source: str | Path,
        *,
        device: str | torch.device | None = None,
        dtype: torch.dtype | None = None,
        overlong: Overlong | None = None,
        max_batch_tokens: int | None = None,
        share_prompts: bool | None = None,
        name: str | None = None,
    ) -> RewardModel:
        """A reward model from a folder or hub id.

        dtype: float32 by default on every device: a head in half precision ties distinct responses. overlong: what to
        do with samples longer than the model reads; None keeps the checkpoint's own rule. Raises CheckpointError when
        the folder holds no one-label classifier, when a weight is missing (a random head scores noise), or when the
        golden scores are not reproduced; FingerprintError when tokenizer or template are not those of the training.
        """
        folder = _folder(source)
        card = Card.load(folder)
        model = _load_classifier(folder, dtype or torch.float32)
        renderer = Renderer.load(folder, overlong=overlong)
        options = {
            "device": None if device is None else str(device),
            "dtype": dtype,
            "overlong": overlong,
            "max_batch_tokens": max_batch_tokens,
            "share_prompts": share_prompts,
            "name": name,
        }
        weights = card.weights if card else foreign_version(folder)
        loaded = cls(
            RewardNet(model.to(pick_device(device))),
            renderer,
            name=name or folder.name,
            version=f"{weights[:12]}-{renderer.fingerprint[:8]}",
            temperature=card.temperature if card else None,
            max_batch_tokens=max_batch_tokens,
            share_prompts=share_prompts,
            source=(str(source), options),
            origin={"backbone": card.training.get("base"), "data": card.training.get("data")} if card else None,
            made_of={
                "weights": weights,
                "weights_hash": "sha256" if card else "sha256 of config, sizes and ends",
                "golden": len(card.golden) if card else 0,
            },
        )
        if card is not None:
            loaded._shake_hands(card, folder)
        return loaded

    def prepare(self, sample: Sample) -> Prepared | Score:
        """The sample's token ids, or an unscored score when it is too long and may not be cut, or is no text."""
        return self.prepare_many([sample])[0]

    def prepare_many(self, samples: Sequence[Sample]) -> list[Prepared | Score]:
        """``prepare`` of many, faster."""
        rendered = self.renderer.render_many([(sample.prompt, sample.response) for sample in samples])
        return [_prepared(sample, result) for sample, result in zip(samples, rendered, strict=True)]

    def prepare_text(self, sample: Sample, text: str, *, special_tokens: bool, keep: Keep = None) -> Prepared | Score:
        """A conversation that is already templated, as ids, without the renderer's own template.

        sample: what the text says, for whoever reads the score; its prompt may be empty where it is not known.
        special_tokens, keep: see ``Renderer.encode_text``.
        """
        try:
            return _prepared(sample, self.renderer.encode_text(text, special_tokens=special_tokens, keep=keep))
        except RenderError as error:
            return _prepared(sample, error)

    def prepare_ids(self, sample: Sample, ids: Sequence[int], *, keep: Keep = None) -> Prepared | Score:
        """Ids that the caller has made, taken as they are; each must be below ``vocab_size``."""
        try:
            return _prepared(sample, self.renderer.take_ids(ids, keep=keep))
        except RenderError as error:
            return _prepared(sample, error)

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        """One score a prepared sample, in order, in as few forwards as ``max_batch_tokens`` allows."""
        # An empty prompt is one that nobody named, as with a text that came ready-made.
        values = self.score_ids([item.ids for item in batch], [item.sample.prompt or None for item in batch])
        return [
            Score(value, f"{self.name} read {len(item.ids)} tokens", {"tokens": len(item.ids), **dict(item.details)})
            if value == value
            else Score.unscored(f"{self.name} gave NaN", {"tokens": len(item.ids)}, status="error")
            for value, item in zip(values, batch, strict=True)
        ]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        prepared = self.prepare_many(samples)
        ready = [item for item in prepared if isinstance(item, Prepared)]
        scores = iter(self.run(ready))
        return [item if isinstance(item, Score) else next(scores) for item in prepared]

    @property
    def packs(self) -> bool:
        """Whether a forward is one row without padding, so that any sequences make a good batch."""
        return self.net.packs and self.padding_side == "right"

    @torch.no_grad()
    def score_ids(self, sequences: Sequence[Ids], prompts: Sequence[Hashable | None] | None = None) -> list[float]:
        """Raw logits of token id sequences.

        prompts: equal entries mark responses to one prompt, whose common beginning is computed once where the model
        allows; None in it leaves that to the ids themselves, and None altogether shares nothing.
        """
        if prompts is None or not self.share_prompts:
            members = [[index] for index in range(len(sequences))]
        else:
            members = groups(sequences, prompts, self.max_batch_tokens)
        trees = [_tree([sequences[i] for i in group]) for group in members]
        values = [0.0] * len(sequences)
        with self._lock:
            for chosen in plan([tree.length for tree in trees], self.max_batch_tokens, padded=not self.packs):
                batch = self.net.collate([trees[i] for i in chosen], left=self.padding_side == "left")
                scores = self.net(batch).tolist()
                for index, value in zip((m for i in chosen for m in members[i]), scores, strict=True):
                    values[index] = value
        return values

    @torch.no_grad()
    def features(self, samples: Sequence[Sample]) -> torch.Tensor:
        """What the head reads of each sample, (n, d) in float32 on the CPU; a row of NaN where it cannot be scored.

        A score is features . w + b, with (w, b) = ``head()``. Raises UsageError for a head that is not linear.
        """
        found = torch.full((len(samples), self.net.head.in_features), torch.nan)
        prepared = self.prepare_many(samples)
        ready = [(i, item.ids) for i, item in enumerate(prepared) if isinstance(item, Prepared)]
        with self._lock:
            for chosen in plan([len(ids) for _, ids in ready], self.max_batch_tokens, padded=not self.packs):
                trees = [plain(ready[k][1]) for k in chosen]
                batch = self.net.collate(trees, left=self.padding_side == "left")
                found[[ready[k][0] for k in chosen]] = self.net.features(batch).cpu()
        return found

    def head(self) -> tuple[torch.Tensor, float]:
        """Weight (d,) in float32 on the CPU and bias of the last linear layer, whose input ``features`` gives."""
        layer = self.net.head
        weight: torch.Tensor = layer.weight.detach()[0].float().cpu()
        return weight, 0.0 if layer.bias is None else float(layer.bias.detach()[0])

    def provenance(self) -> dict[str, Any]:
        """What decides about a score besides the sample, as plain JSON values.

        weights: their hash as the card has it, or (``weights_hash`` says so) one of their sizes and ends, where there
        is no card. renderer: its fingerprint, of tokenizer and template. golden: how many golden scores the loaded
        model reproduced.
        """
        return {
            **self._made_of,
            "renderer": self.renderer.fingerprint,
            "max_length": self.renderer.max_length,
            "overlong": self.renderer.overlong,
            "temperature": self.temperature,
            "dtype": str(self.net.dtype).removeprefix("torch."),
            "device": str(self.net.device),
            "share_prompts": self.share_prompts,
        }

    def variants(self) -> dict[str, RewardModel]:
        """This model scoring in other ways that must give the same numbers: evaluation measures whether they do."""
        others: dict[str, dict[str, Any]] = {
            "batch of one": {"max_batch_tokens": 1},
            "no shared prompts": {"share_prompts": False},
        }
        if self.net.causal:
            others["left padding"] = {"padding_side": "left", "share_prompts": False}
        return {name: self._variant(**changes) for name, changes in others.items()}

    def _variant(self, **changes: Any) -> RewardModel:
        options: dict[str, Any] = {
            "max_batch_tokens": self.max_batch_tokens,
            "share_prompts": self.share_prompts,
            "padding_side": self.padding_side,
        }
        return RewardModel(
            self.net,
            self.renderer,
            name=self.name,
            version=self.version,
            temperature=self.temperature,
            **{**options, **changes},
        )

    def _shake_hands(self, card: Card, folder: Path) -> None:
        """The renderer of the training, the golden ids and the golden scores, or refuse the folder."""
        if self.renderer.fingerprint != card.renderer:
            raise FingerprintError(
                f"{folder}: the weights were trained with renderer {card.renderer}, and the renderer.json beside "
                f"them is {self.renderer.fingerprint}: files of two checkpoints are mixed"
            )
        for golden in card.golden:
            ids = self.renderer.render(golden.prompt, golden.response).ids
            if ids != golden.ids:
                raise CheckpointError(f"{folder}: a golden sample renders to other ids than when it was saved")
        for golden, score in zip(card.golden, self.score_ids([g.ids for g in card.golden]), strict=True):
            if not abs(score - golden.score) <= GOLDEN_TOLERANCE * max(1.0, abs(golden.score)):
                raise CheckpointError(
                    f"{folder}: a golden sample scores {score:.6g}, but scored {golden.score:.6g} when it was saved; "
                    "the weights are damaged or this version of transformers computes something else"
                )

    def __reduce__(self) -> tuple[Any, ...]:
        if self._source is None:
            raise TypeError("a RewardModel pickles only when it was loaded from a folder; save it and load it first")
        return _load, self._source

    def __repr__(self) -> str:
        return f"RewardModel({self.name!r}, version={self.version!r}, device={str(self.net.device)!r})"


def _load(source: str, options: dict[str, Any]) -> RewardModel:
    return RewardModel.load(source, **options)


def _tree(sequences: Sequence[Ids]) -> Tree:
    return plain(sequences[0]) if len(sequences) == 1 else share_prefix(sequences)


def _prepared(sample: Sample, rendered: Rendered | RenderError) -> Prepared | Score:
    if isinstance(rendered, RenderError):
        return Score.unscored(str(rendered), {"over_long": isinstance(rendered, TooLongError)}, status="refused")
    return Prepared(sample, rendered.ids, (("cut", rendered.cut),))


def _folder(source: str | Path) -> Path:
    path = Path(source)
    if path.is_dir():
        return path
    if path.exists() or path.is_absolute() or str(source).count("/") != 1 or str(source).startswith("."):
        raise CheckpointError(f"no such model folder: {source} (a hub id has the form 'organisation/name')")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(str(source), allow_patterns=HUB_FILES))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        raise CheckpointError(f"{str(source)!r} is no folder here, and the hub gave: {error}") from error


def _load_classifier(folder: Path, dtype: torch.dtype) -> Any:
    if not (folder / "config.json").exists():
        raise CheckpointError(f"{folder} holds no config.json; give the folder that training wrote")
    try:
        with quiet_loading():
            model, info = AutoModelForSequenceClassification.from_pretrained(
                folder, dtype=dtype, output_loading_info=True, use_safetensors=True
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise CheckpointError(f"cannot load {folder} as a reward model: {error}") from error
    if missing := sorted(info["missing_keys"]):
        raise CheckpointError(
            f"{folder} is no trained reward model: {', '.join(missing)} is not in its weights, so its head would be "
            "random and its scores noise; train it first with: guerdon train"
        )
    if model.config.num_labels != 1:
        raise CheckpointError(f"{folder} has {model.config.num_labels} labels; a reward model has one")
    return model.eval()
