"""What a trained reward model is on disk: a plain transformers folder that says where it came from.

    config.json, model.safetensors     AutoModelForSequenceClassification with one label; TRL, vLLM and SGLang load it
    tokenizer files, chat template     with a pad token that can never end a text, so every engine pools the same token
    renderer.json                      the rules from text to ids and their fingerprint (render.py)
    guerdon.json                       this file's ``Card``: weights hash, temperature, golden scores, training summary
    README.md                          the model card

The golden scores are a handshake: whoever loads the folder must reproduce their ids exactly and their scores closely,
or the folder is refused. That catches another tokenizer, another pooling rule and damaged weights alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import guerdon
from guerdon.rewards.errors import CheckpointError
from guerdon.rewards.types import Text, thaw

FORMAT = 1
CARD = "guerdon.json"


@dataclass(frozen=True, slots=True)
class Golden:
    """One sample with the ids it renders to and the score (logit, float32) it had when the weights were saved."""

    prompt: Text
    response: Text
    ids: tuple[int, ...]
    score: float


@dataclass(frozen=True, slots=True)
class Card:
    """What guerdon knows of a checkpoint beyond its weights.

    weights: sha256 of the safetensors files. renderer: the fingerprint they were trained with. temperature: T of
    P(a beats b) = sigmoid((r_a - r_b) / T), fitted on held-out pairs; None if there were none. training: what was
    trained on what, and the held-out figures.
    """

    weights: str
    renderer: str
    temperature: float | None
    golden: tuple[Golden, ...]
    training: Mapping[str, Any] = field(default_factory=dict)
    guerdon: str = guerdon.__version__

    def save(self, folder: Path) -> None:
        content = thaw({"format": FORMAT, **asdict(self)})
        (folder / CARD).write_text(json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Card | None:
        """The card of a folder, or None where there is none (a reward model from elsewhere)."""
        file = folder / CARD
        if not file.exists():
            return None
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if content["format"] > FORMAT:
                raise CheckpointError(f"{file} has format {content['format']}, this guerdon reads {FORMAT}; upgrade")
            golden = tuple(
                Golden(item["prompt"], item["response"], tuple(item["ids"]), float(item["score"]))
                for item in content["golden"]
            )
            return cls(
                content["weights"],
                content["renderer"],
                content["temperature"],
                golden,
                content["training"],
                content["guerdon"],
            )
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
            raise CheckpointError(
                f"{file} is damaged ({type(error).__name__}: {error}); save the model again"
            ) from error


def weights_hash(folder: Path) -> str:
    """sha256 (hex) over the safetensors files of a folder, by name."""
    digest = hashlib.sha256()
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise CheckpointError(f"{folder} holds no safetensors file; pickled weights are not read, convert them first")
    for file in files:
        digest.update(file.name.encode())
        with file.open("rb") as stream:
            for block in iter(lambda: stream.read(1 << 22), b""):
                digest.update(block)
    return digest.hexdigest()


def foreign_version(folder: Path) -> str:
    """A version for a folder without a card: a hash of its config, and of sizes, heads and tails of its weights.

    Reading tens of gigabytes at every start to name a model would cost minutes.
    """
    digest = hashlib.sha256((folder / "config.json").read_bytes())
    for file in sorted(folder.glob("*.safetensors")):
        size = file.stat().st_size
        digest.update(f"{file.name}:{size}".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(1 << 20))
            stream.seek(max(0, size - (1 << 20)))
            digest.update(stream.read())
    return digest.hexdigest()


def write_model_card(folder: Path, *, base: str, training: Mapping[str, Any], temperature: float | None) -> None:
    """README.md with the metadata the hub reads and a usage example that runs."""
    rows = [f"| {key.replace('_', ' ')} | {_cell(value)} |" for key, value in training.items()]
    calibrated = (
        f"P(a is preferred to b) = sigmoid((r_a - r_b) / {temperature:.4g})."
        if temperature is not None
        else "No temperature was fitted (no held-out pairs)."
    )
    lines: Sequence[str] = [
        "---",
        "library_name: transformers",
        "pipeline_tag: text-classification",
        f"base_model: {base if base.count('/') == 1 and not base.startswith(('.', '/')) else Path(base).name}",
        "tags: [reward-model, guerdon]",
        "---",
        "",
        f"# {folder.name}",
        "",
        "A Bradley–Terry reward model trained with guerdon: one raw logit a response, higher is better.",
        calibrated,
        "",
        "```python",
        "from guerdon.rewards import Sample",
        "from guerdon.rewards.model import RewardModel",
        "",
        f'model = RewardModel.load("{folder.name}")',
        'print(model.score([Sample("What is 6 times 7?", "42")]))',
        "```",
        "",
        "It also loads with `AutoModelForSequenceClassification` and as a reward model in TRL, vLLM and SGLang.",
        "",
        "| training | |",
        "|---|---|",
        *rows,
        "",
    ]
    (folder / "README.md").write_text("\n".join(lines), encoding="utf-8")


def _cell(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")
