"""What a training run is told. The defaults are the recipe that won on real pairs (docs/decisions, "recipe")."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from guerdon.rewards.errors import UnknownNameError, UsageError

Precision: TypeAlias = Literal["auto", "fp32", "bf16"]
DebiasMethod: TypeAlias = Literal["fimi", "fimi-alternating", "odin"]


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """One training run of a Bradley–Terry reward model.

    base: folder, hub id or ``.gguf`` file; a base that is already a reward model keeps its head. data: one or more
    files, folders or hub ids of preferences (docs/data.md). output: the folder to write.
    eval_data: held-out preferences; None splits ``held_out`` off ``data`` by prompt (0 trains on everything, fits no
    temperature and keeps the last weights). limit: at most so many training pairs, drawn with the seed; None is all.

    epochs: passes over the data. batch_pairs: pairs a step, over all processes. learning_rate: of the backbone's last
    layer; each layer below gets ``layer_decay`` times the one above. head_learning_rate: of the layers that are new.
    warmup: share of the steps; then the rate falls linearly to zero. weight_decay: on matrices.
    smoothing, centring, probability_column: see ``losses.bradley_terry_loss``; the column names soft labels.
    debias: takes length out of the scores while they are learned (debias.py says how), or None. debias_strength: weight
    of its penalty; 0 leaves ``fimi`` exactly Bradley–Terry.
    dropout: of the backbone. max_length: tokens a text; None is what the model reads. overlong: see render.py.

    lora_rank: None trains all weights; a rank trains adapters on every linear layer, and the head whole.
    gradient_checkpointing: less memory, a third more time. precision: ``auto`` is bf16 autocast where it is at least
    half as fast again as fp32 (measured at start), else fp32; weights, loss and optimiser stay fp32.
    forward_tokens: padded tokens a forward; None is 4,096 on a CPU, else all that a step holds.
    step_tokens: tokens held for one backward; larger steps are accumulated.

    evals_per_epoch, patience: held-out accuracy is measured so often; the best weights are kept, and training stops
    after ``patience`` measurements without a better one (0 never stops early).
    save_minutes: a state to resume from is written at each evaluation and at least so often. resume: continue such a
    run to the very result it would have had. overwrite: replace a finished model in ``output``.
    report_to: ``tensorboard`` or None. seed: decides the order of the data, the split and the new head.
    """

    base: str
    data: tuple[str, ...]
    output: str
    eval_data: tuple[str, ...] = ()
    held_out: float = 0.05
    limit: int | None = None
    probability_column: str | None = None

    epochs: float = 1.0
    batch_pairs: int = 16
    learning_rate: float = 1e-4
    head_learning_rate: float = 1e-3
    layer_decay: float = 1.0
    warmup: float = 0.06
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    smoothing: float = 0.0
    centring: float = 0.01
    debias: DebiasMethod | None = None
    debias_strength: float = 1.0
    dropout: float = 0.0

    max_length: int | None = None
    overlong: str = "error"
    lora_rank: int | None = None
    lora_alpha: int = 32
    gradient_checkpointing: bool = False
    precision: Precision = "auto"
    attention: str | None = None
    forward_tokens: int | None = None
    step_tokens: int = 16_384

    evals_per_epoch: int = 2
    patience: int = 0
    save_minutes: float = 10.0
    resume: bool = False
    overwrite: bool = False
    report_to: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.data, str) or not self.data:
            raise UsageError(f"data must be a sequence of at least one file, folder or hub id; got {self.data!r}")
        object.__setattr__(self, "data", tuple(str(source) for source in self.data))
        object.__setattr__(self, "eval_data", tuple(str(source) for source in self.eval_data))
        object.__setattr__(self, "base", str(self.base))
        object.__setattr__(self, "output", str(self.output))
        for name in ("epochs", "learning_rate", "head_learning_rate", "layer_decay", "max_grad_norm", "save_minutes"):
            _require(getattr(self, name) > 0 and math.isfinite(getattr(self, name)), name, "above 0", self)
        for name in ("weight_decay", "centring", "debias_strength"):
            _require(0 <= getattr(self, name) < math.inf, name, "0 or more, and finite", self)
        for name in ("batch_pairs", "step_tokens", "evals_per_epoch"):
            _require(getattr(self, name) >= 1, name, "1 or more", self)
        for name in ("limit", "max_length", "lora_rank", "forward_tokens"):
            _require(getattr(self, name) is None or getattr(self, name) >= 1, name, "1 or more, or None", self)
        _require(self.patience >= 0, "patience", "0 or more", self)
        _require(0.0 <= self.held_out < 1.0, "held_out", "in [0, 1)", self)
        _require(0.0 <= self.warmup < 1.0, "warmup", "in [0, 1)", self)
        _require(0.0 <= self.dropout < 1.0, "dropout", "in [0, 1)", self)
        _require(0.0 <= self.smoothing < 0.5, "smoothing", "in [0, 0.5)", self)
        if self.precision not in get_args(Precision):
            raise UnknownNameError("precision", self.precision, get_args(Precision))
        if self.debias is not None and self.debias not in get_args(DebiasMethod):
            raise UnknownNameError("way of debiasing", str(self.debias), get_args(DebiasMethod))
        if self.report_to not in (None, "tensorboard"):
            raise UnknownNameError("place to report to", str(self.report_to), ["tensorboard"])
        if self.resume and self.overwrite:
            raise UsageError("resume continues what is in the output folder, overwrite throws it away; choose one")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> TrainConfig:
        """From a config file's table; an unknown key is an error, with the nearest one there is."""
        known = {field.name for field in fields(cls)}
        for key in values:
            if key not in known:
                raise UnknownNameError("training option", key, known)
        missing = [name for name in ("base", "data", "output") if name not in values]
        if missing:
            raise UsageError(f"training needs {', '.join(missing)}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def identity(self) -> dict[str, Any]:
        """What must be equal for a run to be resumed: all but where it is written and how it is watched."""
        free = {"output", "resume", "overwrite", "report_to", "save_minutes", "forward_tokens"}
        return {key: value for key, value in self.to_dict().items() if key not in free}

    @property
    def output_folder(self) -> Path:
        return Path(self.output)


def _require(right: bool, name: str, wanted: str, config: TrainConfig) -> None:
    if not right:
        raise UsageError(f"{name} must be {wanted}, got {getattr(config, name)!r}")
