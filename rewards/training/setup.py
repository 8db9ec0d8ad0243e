"""Everything that is decided before the first step: the processes, the model as it is trained, the lengths it reads."""

from __future__ import annotations

from typing import Any

from guerdon.rewards.backbone import is_head
from guerdon.rewards.errors import MissingExtraError, UsageError
from guerdon.rewards.model import pick_device
from guerdon.rewards.render import Renderer
from guerdon.rewards.training.config import TrainConfig


def accelerator() -> Any:
    """Accelerate's view of this process: its device, its place among the others, its collectives."""
    try:
        from accelerate import Accelerator
    except ImportError as error:
        raise MissingExtraError("training", "train") from error
    # Without cpu=True, Accelerate on a machine without accelerators takes every process of torchrun for the only one.
    accelerator = Accelerator(cpu=pick_device().type == "cpu")
    kind = str(accelerator.distributed_type)
    if not kind.endswith(("NO", "MULTI_CPU", "MULTI_GPU")):
        raise UsageError(f"training runs on one process or with DDP; Accelerate is set to {kind}")
    return accelerator


def readable(asked: int | None, model: Any, tokenizer: Any) -> int | None:
    """The most tokens a text may have: what was asked, within what the model has positions for."""
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if getattr(model.config, "model_type", "") in ("roberta", "xlm-roberta", "camembert") and positions:
        positions -= 2  # these count positions from pad_token_id + 1
    if asked is None:
        return min(positions, tokenizer.model_max_length) if positions else None
    if positions and asked > positions:
        raise UsageError(f"max_length is {asked}, but the base has {positions} positions")
    return asked


def fit_tokenizer(model: Any, renderer: Renderer) -> None:
    """Rows for every token, and the pad id that ends no text, so that every engine pools the token we pool."""
    if model.get_input_embeddings().num_embeddings < renderer.vocab_size:
        # the new rows are never trained on nor read: only padding has these ids
        model.resize_token_embeddings(renderer.vocab_size, mean_resizing=False)
    model.config.get_text_config().pad_token_id = renderer.pad_id
    model.config.pad_token_id = renderer.pad_id


def with_lora(model: Any, config: TrainConfig) -> Any:
    """Adapters on every linear layer of the backbone; the head is trained whole and always saved."""
    try:
        from peft import LoraConfig, TaskType, get_peft_model
    except ImportError as error:
        raise MissingExtraError("LoRA", "train") from error
    heads = sorted({name.split(".")[0] for name, _ in model.named_parameters() if is_head(name.split(".")[0])})
    lora = LoraConfig(
        task_type=TaskType.SEQ_CLS,
        r=config.lora_rank or 0,
        lora_alpha=config.lora_alpha,
        lora_dropout=0.0,
        target_modules="all-linear",
        modules_to_save=heads,
    )
    return get_peft_model(model, lora)
