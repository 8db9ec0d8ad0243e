"""What is on disk while a run is going on: enough to continue it to the very same result.

    <output>/.training/run.json           what the run was told, to refuse a resume under other settings
    <output>/.training/state.pt           weights, optimiser, step, history (tensors and numbers; read without pickle)
    <output>/.training/best.safetensors   the best weights so far on the held-out pairs

Every file is written beside its name and then renamed, so that a kill at any moment leaves the old one or the new one.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from guerdon.rewards.checkpoint import CARD
from guerdon.rewards.errors import CheckpointError, UsageError
from guerdon.rewards.network import RewardNet
from guerdon.rewards.training.config import TrainConfig


@dataclass(slots=True)
class RunState:
    """How far a run is.

    best: for each held-out pair, whether the best weights so far got it right (1, 0, or 0.5 for a tie); best_step: its
    step. waited: measurements since the accuracy last rose.
    """

    step: int = 0
    best: list[float] | None = None
    best_step: int = 0
    waited: int = 0
    stopped: bool = False
    history: list[dict[str, float]] = field(default_factory=list)


class StateFolder:
    """The ``.training`` folder of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def of(cls, config: TrainConfig) -> StateFolder:
        return cls(config.output_folder / ".training")

    def claim(self, config: TrainConfig) -> None:
        """Make the folder for a new run or check it for a resumed one; raises UsageError rather than destroy work."""
        output = config.output_folder
        unfinished = self.file("state.pt").exists()
        if config.resume:
            if not unfinished:
                raise UsageError(f"nothing to resume in {output}: it holds no unfinished run")
            self._check_same(config)
            return
        if config.overwrite:
            self.discard()
        elif unfinished:
            raise UsageError(f"{output} holds an unfinished run; set resume to continue it, or overwrite to start anew")
        elif (output / CARD).exists() or (output / "config.json").exists():
            raise UsageError(f"{output} already holds a model; choose another output, or set overwrite")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(self.file("run.json"), json.dumps(_jsonable(config), indent=1).encode())
        except OSError as error:
            raise UsageError(f"cannot write into {output}: {error.strerror or error}") from error

    def file(self, name: str) -> Path:
        return self.folder / name

    def save(self, state: RunState, net: RewardNet, optimiser: Any, debias: Mapping[str, Any]) -> None:
        """debias: what a debiasing method remembers, empty without one."""
        content = {
            "step": state.step,
            "best": state.best,
            "best_step": state.best_step,
            "waited": state.waited,
            "stopped": state.stopped,
            "history": state.history,
            "weights": trained_weights(net),
            "optimiser": optimiser.state_dict(),
            "debias": dict(debias),
            "random": torch.get_rng_state(),
        }
        target = self.file("state.pt")
        work = target.with_suffix(".new")
        torch.save(content, work)
        os.replace(work, target)

    def load(self, net: RewardNet, optimiser: Any) -> tuple[RunState, Mapping[str, Any]]:
        """Weights and optimiser are set; the state of the run and that of its debiasing are given."""
        try:
            content = torch.load(self.file("state.pt"), map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, EOFError) as error:
            raise CheckpointError(
                f"{self.file('state.pt')} cannot be read ({error}); start anew with overwrite"
            ) from error
        set_weights(net, content["weights"])
        optimiser.load_state_dict(content["optimiser"])
        torch.set_rng_state(content["random"])
        state = RunState(
            content["step"],
            content["best"],
            content["best_step"],
            content["waited"],
            content["stopped"],
            content["history"],
        )
        return state, content["debias"]

    def save_best(self, net: RewardNet) -> None:
        target = self.file("best.safetensors")
        work = target.with_suffix(".new")
        save_file({name: value.contiguous() for name, value in trained_weights(net).items()}, work)
        os.replace(work, target)

    def load_best(self, net: RewardNet) -> None:
        set_weights(net, load_file(self.file("best.safetensors")))

    def discard(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _check_same(self, config: TrainConfig) -> None:
        saved = json.loads(self.file("run.json").read_text(encoding="utf-8"))
        now = _jsonable(config)
        changed = sorted(key for key in now if saved.get(key) != now[key])
        if changed:
            shown = ", ".join(f"{key} was {saved.get(key)!r} and is {now[key]!r}" for key in changed)
            raise UsageError(f"a run resumes only under the settings it was started with: {shown}")


def trained_weights(net: RewardNet) -> dict[str, Tensor]:
    """The parameters that training changes (under LoRA a small part), on the CPU."""
    return {name: p.detach().to("cpu", copy=True) for name, p in net.named_parameters() if p.requires_grad}


@torch.no_grad()
def set_weights(net: RewardNet, weights: dict[str, Tensor]) -> None:
    parameters = dict(net.named_parameters())
    for name, value in weights.items():
        parameters[name].copy_(value)


def _jsonable(config: TrainConfig) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(json.dumps(config.identity()))
    return decoded


def _write(file: Path, content: bytes) -> None:
    work = file.with_suffix(".new")
    work.write_bytes(content)
    os.replace(work, file)
