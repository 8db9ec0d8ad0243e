"""Where a reward model starts: any transformers backbone as a sequence classifier with one label, ready to train.

A base is a folder, a hub id, or a GGUF file. It may already be a reward model: then its head is kept, never redrawn.
Code from a model repository never runs (``trust_remote_code`` is off and cannot be turned on here).
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
import transformers
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer

from guerdon.rewards.errors import CheckpointError, MissingExtraError, UsageError

logger = logging.getLogger(__name__)
T = TypeVar("T")

HEADS = ("score", "classifier", "classification_head", "logits_proj", "pre_classifier", "summary")
"""Names under which transformers' sequence classifiers keep the layers that are new in a reward model."""


@dataclass(frozen=True, slots=True)
class Backbone:
    """A one-label classifier in float32, its tokenizer, and the parameters that were drawn at random."""

    model: Any
    tokenizer: Any
    fresh: tuple[str, ...]


def load_backbone(base: str | Path, *, dropout: float = 0.0, attention: str | None = None) -> Backbone:
    """The base as a sequence classifier with one label.

    base: a folder, a hub id, a ``.gguf`` file, or a folder whose only weights are one. dropout: the probability set for
    every dropout of the backbone; 0 is the default because a preference model sees each pair once or twice, and on a
    CPU dropout costs 40 % of the step. attention: transformers' ``attn_implementation``, None for its default.
    Raises CheckpointError when the base cannot be read or lacks backbone weights.
    """
    if not 0.0 <= dropout < 1.0:
        raise UsageError(f"dropout must be in [0, 1), got {dropout!r}")
    source = _resolved(base)
    config = _read(lambda: AutoConfig.from_pretrained(source), base)
    config.num_labels = 1
    for name in list(config.to_dict()):
        # `classifier_dropout` and its kin are None where they follow the backbone's.
        if ("dropout" in name or "pdrop" in name) and isinstance(getattr(config, name), (int, float, type(None))):
            setattr(config, name, dropout)
    kwargs: dict[str, Any] = {"config": config, "dtype": torch.float32, "output_loading_info": True}
    if attention is not None:
        kwargs["attn_implementation"] = attention
    model, info = _read(lambda: AutoModelForSequenceClassification.from_pretrained(source, **kwargs), base)
    fresh = tuple(sorted(info["missing_keys"]))
    if lost := [name for name in fresh if not is_head(name)]:
        raise CheckpointError(
            f"{base}: weights of the backbone are missing: {', '.join(lost[:5])}; it cannot be a base"
        )
    draw_head(model, fresh)
    tokenizer = _read(lambda: AutoTokenizer.from_pretrained(source), base)
    return Backbone(model, tokenizer, fresh)


def is_head(name: str) -> bool:
    """Whether a parameter belongs to the layers on top of the backbone (``pooler`` counts: encoders may ship none)."""
    return any(part in (*HEADS, "pooler") for part in name.split("."))


@contextmanager
def quiet_loading() -> Iterator[None]:
    """Without transformers' load report and bars: what is missing is checked and said here, in one place."""
    verbosity = transformers.logging.get_verbosity()
    bars = transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers.logging.set_verbosity(verbosity)
        if bars:
            transformers.logging.enable_progress_bar()


@torch.no_grad()
def draw_head(model: nn.Module, names: Collection[str]) -> None:
    """Draw the named head parameters: matrices normal with deviation 1/sqrt(inputs + 1), biases zero.

    The scores of a fresh head then have a spread of about one for normalised hidden states, so that neither the first
    steps nor the centring term are about their scale (Stiennon et al. 2020 start a reward head so).
    """
    for name, parameter in model.named_parameters():
        if name not in names:
            continue
        if parameter.ndim < 2:
            parameter.zero_()
        else:
            parameter.normal_(std=(parameter.shape[-1] + 1) ** -0.5)


def _read(load: Callable[[], T], base: str | Path) -> T:
    try:
        with quiet_loading():
            return load()
    except (OSError, ValueError, KeyError) as error:
        raise CheckpointError(
            f"cannot load {str(base)!r} as a transformers model: {_first_line(error)} "
            "Give a folder with config.json and safetensors, a .gguf file, or a hub id 'organisation/name'."
        ) from error


def _first_line(error: Exception) -> str:
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return line if line.endswith(".") else line + "."


def _resolved(base: str | Path) -> str:
    """A folder or hub id that transformers loads; a GGUF is converted once and its folder returned."""
    path = Path(base)
    if path.suffix == ".gguf":
        if not path.is_file():
            raise CheckpointError(f"no such file: {path}")
        return str(convert_gguf(path))
    if path.is_dir() and not (path / "config.json").exists():
        files = sorted(path.glob("*.gguf"))
        if len(files) == 1:
            return str(convert_gguf(files[0]))
        what = f"{len(files)} GGUF files; name one" if files else "neither config.json nor a .gguf file"
        raise CheckpointError(f"{path} holds {what}")
    if not path.exists() and (path.is_absolute() or str(base).count("/") != 1):
        raise CheckpointError(f"no such folder: {base} (a hub id has the form 'organisation/name')")
    return str(base)


def cache_folder() -> Path:
    """Where conversions are kept: ``$GUERDON_CACHE``, else ``$XDG_CACHE_HOME/guerdon``, else ``~/.cache/guerdon``."""
    if own := os.environ.get("GUERDON_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "guerdon"


def convert_gguf(file: Path) -> Path:
    """The GGUF as a safetensors folder with its tokenizer and template, made once and cached by content.

    transformers marks a model loaded from GGUF as quantised, although its tensors are float32, and then refuses to
    train or save it (seen with 5.23); so the classifier is rebuilt from config and state dict.
    """
    try:
        import gguf  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("reading a GGUF file", "gguf") from error
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 22), b""):
            digest.update(block)
    target = cache_folder() / "gguf" / f"{file.stem}-{digest.hexdigest()[:16]}"
    if (target / "config.json").exists():
        return target
    logger.info("converting %s to safetensors, once: %s", file.name, target)
    folder, name = str(file.parent), file.name
    with quiet_loading():
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
        loaded = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    config = loaded.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    clean = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    clean.load_state_dict(loaded.state_dict())
    clean.tie_weights()
    target.parent.mkdir(parents=True, exist_ok=True)
    work = target.with_name(f"{target.name}.{os.getpid()}")
    clean.save_pretrained(work)
    tokenizer.save_pretrained(work)
    try:
        work.rename(target)
    except OSError:  # another process finished first; its conversion is the same
        if not (target / "config.json").exists():
            raise
    return target
