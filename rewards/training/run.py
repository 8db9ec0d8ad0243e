"""One training run, from the first step to the last.

The order of the data and the learning rate are functions of the step alone, so a run that was killed and resumed does
what the unbroken run would have done. Under several processes each takes a slice of every step, and the gradient is
that of the whole step.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from guerdon.rewards.backbone import load_backbone
from guerdon.rewards.errors import MissingExtraError, UsageError
from guerdon.rewards.model import RewardModel
from guerdon.rewards.network import RewardNet, shares_prompts
from guerdon.rewards.packing import plan
from guerdon.rewards.render import Renderer
from guerdon.rewards.training.batches import Encoded, Pair, chunks, encode, rows_of, schedule
from guerdon.rewards.training.config import TrainConfig
from guerdon.rewards.training.debias import Debias, prepare
from guerdon.rewards.training.export import export
from guerdon.rewards.training.held_out import keeps_up, measure
from guerdon.rewards.training.optimise import learning_rate, pair_losses, parameter_groups
from guerdon.rewards.training.precision import use_bf16
from guerdon.rewards.training.setup import fit_tokenizer, readable, with_lora
from guerdon.rewards.training.state import RunState, StateFolder
from guerdon.rewards.types import Preference

Progress = Callable[[int, int, Mapping[str, float]], None]
"""Called after every step with the step, the number of steps and the step's figures."""


FEWEST_FOR_TEMPERATURE = 30
"""Held-out pairs below which a fitted temperature is an accident of single pairs; none is stored then."""


@dataclass(frozen=True, slots=True)
class TrainResult:
    """What a run did. held_out: figures on the held-out pairs, empty if there were none.

    interrupted: stopped by a signal; the folder is usable, and ``resume`` continues the run.
    """

    folder: Path
    steps: int
    steps_planned: int
    seconds: float
    pairs_per_second: float
    counts: Mapping[str, int]
    held_out: Mapping[str, float]
    temperature: float | None
    history: Sequence[Mapping[str, float]]
    interrupted: bool = False


class Run:
    """One run: everything that lives from the first step to the last."""

    def __init__(
        self, config: TrainConfig, training: list[Preference], held_out: list[Preference], accelerator: Any
    ) -> None:
        self.config, self.held_out, self.accelerator = config, held_out, accelerator
        self.states = StateFolder.of(config)
        device = accelerator.device
        torch.manual_seed(config.seed)

        backbone = load_backbone(config.base, dropout=config.dropout, attention=config.attention)
        self.renderer = Renderer.for_training(
            backbone.tokenizer,
            max_length=readable(config.max_length, backbone.model, backbone.tokenizer),
            overlong=config.overlong,  # type: ignore[arg-type]  # checked there, with the names there are
        )
        self.encoded: Encoded = encode(training, self.renderer)
        if not self.encoded.pairs:
            raise UsageError(f"all {len(training)} pairs are longer than {self.renderer.max_length} tokens")
        fit_tokenizer(backbone.model, self.renderer)
        model = with_lora(backbone.model, config) if config.lora_rank else backbone.model
        if config.gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            model.enable_input_require_grads()
        self.net, self.debias = prepare(model, config)
        self.served = RewardNet(model)  # the same weights, without what is there for training only
        self.share_prompts = shares_prompts(self.served.to(device))[0]
        self.bf16 = use_bf16(config.precision, device)
        optimiser = torch.optim.AdamW(parameter_groups(self.net, config), fused=device.type != "mps")
        self.rates = [group["lr"] for group in optimiser.param_groups]
        self.wrapped, self.optimiser = self.accelerator.prepare(self.net, optimiser)

        self.steps_per_epoch = math.ceil(len(self.encoded.pairs) / config.batch_pairs)
        self.total = max(1, math.ceil(config.epochs * self.steps_per_epoch))
        self.forward_tokens = config.forward_tokens or (4_096 if device.type == "cpu" else config.step_tokens)
        self.state = RunState()
        if config.resume:
            self.state, debias = self.states.load(self.net, self.optimiser)
            if self.debias is not None:
                self.debias.load_state_dict(debias)
        self.seconds = 0.0
        self.interrupted = False
        self.pairs_seen = 0

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, progress: Progress | None, stop: threading.Event) -> None:
        report = self._reporter()
        every = max(1, round(self.steps_per_epoch / self.config.evals_per_epoch))
        start = last_saved = time.monotonic()
        epoch, steps = -1, []
        while self.state.step < self.total and not self.state.stopped:
            if self.state.step // self.steps_per_epoch != epoch:
                epoch = self.state.step // self.steps_per_epoch
                steps = schedule(self.encoded.pairs, self.config.batch_pairs, seed=self.config.seed, epoch=epoch)
            indices = steps[self.state.step % self.steps_per_epoch]
            figures = self._step([self.encoded.pairs[i] for i in indices])
            self.state.step += 1
            self.pairs_seen += len(indices)
            figures["pairs_per_second"] = self.pairs_seen / (time.monotonic() - start)
            if self.state.step % every == 0 or self.state.step == self.total:
                figures.update(self._measure())
            self.state.history.append({"step": float(self.state.step), **figures})
            report(self.state.step, figures)
            if progress is not None and self.accelerator.is_main_process:
                progress(self.state.step, self.total, figures)
            self.interrupted = self._agreed(stop.is_set())
            measured = "held_out_accuracy" in figures
            if (
                measured
                or self.interrupted
                or self._agreed(time.monotonic() - last_saved > 60 * self.config.save_minutes)
            ):
                self._save()
                last_saved = time.monotonic()
            if self.interrupted:
                break
        self.seconds = time.monotonic() - start

    def _step(self, pairs: Sequence[Pair]) -> dict[str, float]:
        """One optimiser step over the pairs of all processes; its figures are those of the whole step."""
        rate = learning_rate(self.state.step, self.total, self.config.warmup)
        for group, base in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = base * rate
        self.wrapped.train()
        self.optimiser.zero_grad()
        mine, counts = self._slice(pairs)
        parts = chunks(mine, self.config.step_tokens)
        pull = None
        if self.debias is not None and (len(parts) > 1 or self.accelerator.num_processes > 1):
            # what debiasing asks of a score depends on all scores of the step: one more forward finds them
            with torch.no_grad():
                found = [self._scores(part) for part in parts]
            pull = self._pull(self.debias, found, pairs, counts)
        # sums over this process's pairs: loss, correct, margin, chosen, rejected, count
        sums = torch.zeros(6, dtype=torch.float64, device=self.accelerator.device)
        done = 0
        for number, part in enumerate(parts, start=1):
            last = number == len(parts)
            with nullcontext() if last else self.accelerator.no_sync(self.wrapped):
                chosen, rejected = scores = self._scores(part)
                self._check_finite(chosen, rejected)
                # DDP averages over processes: times their number, over all pairs of the step, gives the step's mean
                share = self.accelerator.num_processes * counts / len(pairs)
                if self.debias is None:
                    losses = pair_losses(chosen, rejected, part, self.config)
                    loss = losses.sum() * share
                else:
                    if pull is None:
                        pull = self._pull(self.debias, [scores], pairs, counts)
                    losses = pair_losses(self.debias.total(chosen), self.debias.total(rejected), part, self.config)
                    pulled = (pull[:, done : done + len(part)] * torch.stack(scores).reshape(2, len(part), -1)).sum()
                    loss = losses.sum() * share + pulled * (self.accelerator.num_processes * counts)
                    if (of_weights := self.debias.of_weights()) is not None:
                        loss = loss + of_weights * (share * len(part))
                    chosen, rejected = self.debias.served(chosen), self.debias.served(rejected)
                self.accelerator.backward(loss)
            done += len(part)
            if counts:
                sums += _sums(losses.detach(), chosen.detach(), rejected.detach())
        norm = self.accelerator.clip_grad_norm_(self.wrapped.parameters(), self.config.max_grad_norm)
        self.optimiser.step()
        sums = self.accelerator.reduce(sums, "sum")
        loss_sum, correct, margin, chosen_sum, rejected_sum, n = sums.tolist()
        return {
            "loss": loss_sum / n,
            "accuracy": correct / n,
            "margin": margin / n,
            "reward_chosen": chosen_sum / n,
            "reward_rejected": rejected_sum / n,
            "grad_norm": float(norm) if norm is not None else 0.0,
            "learning_rate": self.config.learning_rate * rate,
            **({} if self.debias is None else self.debias.figures()),
        }

    def _pull(
        self, debias: Debias, found: Sequence[tuple[Tensor, Tensor]], pairs: Sequence[Pair], counts: int
    ) -> Tensor:
        """Which way debiasing pulls the scores of this process's share: (2, n, heads), the chosen ones first."""
        chosen, rejected = (torch.cat(side).detach() for side in zip(*found, strict=True))
        mine = torch.stack([chosen, rejected]).reshape(2, len(chosen), -1)
        start = math.ceil(len(pairs) / self.accelerator.num_processes) * self.accelerator.process_index
        everyone = torch.zeros(2, len(pairs), mine.shape[2], device=mine.device)
        if counts:
            everyone[:, start : start + mine.shape[1]] = mine
        everyone = self.accelerator.reduce(everyone, "sum")
        pull = debias.pull(everyone.reshape(2 * len(pairs), -1), pairs, self.state.step).reshape(everyone.shape)
        return pull[:, start : start + mine.shape[1]] if counts else torch.zeros_like(mine)

    def _check_finite(self, *scores: Tensor) -> None:
        if not all(torch.isfinite(values).all() for values in scores):
            raise UsageError(
                f"the rewards are no longer finite at step {self.state.step + 1}; lower learning_rate "
                f"({self.config.learning_rate:g}) or set precision to fp32"
            )

    def _slice(self, pairs: Sequence[Pair]) -> tuple[list[Pair], int]:
        """This process's share, and 1; or a stand-in that counts 0, since every process must take part in the step."""
        share = math.ceil(len(pairs) / self.accelerator.num_processes)
        start = share * self.accelerator.process_index
        mine = list(pairs[start : start + share])
        return (mine, 1) if mine else ([pairs[0]], 0)

    def _scores(self, pairs: Sequence[Pair]) -> tuple[Tensor, Tensor]:
        """Rewards of the chosen and the rejected responses, each (n,); every distinct sequence is computed once."""
        rows = rows_of(pairs, share_prompts=self.share_prompts)
        starts = [0]
        for tree in rows.trees:
            starts.append(starts[-1] + len(tree.branches))
        found: list[Tensor] = []
        places: list[int] = []
        for members in plan([tree.length for tree in rows.trees], self.forward_tokens, padded=not self.net.packs):
            batch = self.net.collate([rows.trees[i] for i in members])
            with torch.autocast(self.accelerator.device.type, dtype=torch.bfloat16, enabled=self.bf16):
                found.append(self.wrapped(batch))
            places += [place for i in members for place in range(starts[i], starts[i + 1])]
        order = torch.empty(len(places), dtype=torch.long, device=self.accelerator.device)
        order[torch.tensor(places, device=order.device)] = torch.arange(len(places), device=order.device)
        scores = torch.cat(found)[order]
        chosen_at, rejected_at = (torch.tensor(at, device=scores.device) for at in (rows.chosen, rows.rejected))
        return scores[chosen_at], scores[rejected_at]

    # -- measuring and keeping ----------------------------------------------------------------------------------------

    def _measure(self) -> dict[str, float]:
        """Held-out figures; remembers the best weights, and whether to go on."""
        measurement = measure(self._scorer(), self.held_out)
        if measurement.margins:
            if self.state.best is None or keeps_up(measurement.right, self.state.best):
                better = self.state.best is None or sum(measurement.right) > sum(self.state.best)
                self.state.waited = 0 if better else self.state.waited + 1
                self.state.best, self.state.best_step = list(measurement.right), self.state.step
                if self.accelerator.is_main_process:
                    self.states.save_best(self.net)
            else:
                self.state.waited += 1
            self.state.stopped = self._agreed(0 < self.config.patience <= self.state.waited)
        return measurement.figures()

    def _scorer(self) -> RewardModel:
        return RewardModel(
            self.served,
            self.renderer,
            name="in training",
            version=str(self.state.step),
            share_prompts=self.share_prompts,
        )

    def _save(self) -> None:
        if self.accelerator.is_main_process:
            debias = {} if self.debias is None else self.debias.state_dict()
            self.states.save(self.state, self.net, self.optimiser, debias)
        self.accelerator.wait_for_everyone()

    def _agreed(self, mine: bool) -> bool:
        """True on every process if it is true on any; otherwise one would wait for the others for ever."""
        if self.accelerator.num_processes == 1:
            return mine
        flag = torch.tensor(float(mine), device=self.accelerator.device)
        return bool(self.accelerator.reduce(flag, "sum").item() > 0)

    def _reporter(self) -> Callable[[int, Mapping[str, float]], None]:
        if self.config.report_to is None or not self.accelerator.is_main_process:
            return lambda step, figures: None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise MissingExtraError("report_to='tensorboard'", "tensorboard") from error
        writer = SummaryWriter(str(self.config.output_folder / "tensorboard"))

        def report(step: int, figures: Mapping[str, float]) -> None:
            for name, value in figures.items():
                writer.add_scalar(name, value, step)

        return report

    def finish(self) -> TrainResult:
        """Export the best weights (those of now after an interruption) and say what was done."""
        if not self.interrupted and self.state.best is not None:
            self.states.load_best(self.net)
        measurement = measure(self._scorer(), self.held_out)
        rate = self.pairs_seen / self.seconds if self.seconds else 0.0
        result = TrainResult(
            folder=self.config.output_folder,
            steps=self.state.step,
            steps_planned=self.total,
            seconds=self.seconds,
            pairs_per_second=rate,
            counts=self.encoded.counts(),
            held_out=measurement.figures(),
            temperature=measurement.temperature if len(measurement.margins) >= FEWEST_FOR_TEMPERATURE else None,
            history=tuple(self.state.history),
            interrupted=self.interrupted,
        )
        if self.accelerator.is_main_process:
            export(
                self.served, self.renderer, self.config, summary(result, self.config, self.state), result.temperature
            )
            if not self.interrupted:
                self.states.discard()
        self.accelerator.wait_for_everyone()
        return result


def _sums(losses: Tensor, chosen: Tensor, rejected: Tensor) -> Tensor:
    margin = chosen - rejected
    correct = (margin > 0).double() + 0.5 * (margin == 0).double()
    count = torch.ones_like(margin)
    parts = (losses, correct, margin, chosen, rejected, count)
    return torch.stack([part.double().sum() for part in parts])


def summary(result: TrainResult, config: TrainConfig, state: RunState) -> dict[str, Any]:
    """What the checkpoint remembers of its training."""
    return {
        "base": Path(config.base).name if Path(config.base).exists() else config.base,
        "data": [Path(source).name for source in config.data],
        **{key.replace(" ", "_"): value for key, value in result.counts.items()},
        "steps": result.steps,
        "steps_planned": result.steps_planned,
        "kept_step": result.steps if result.interrupted or not state.best_step else state.best_step,
        "seconds": round(result.seconds, 1),
        "pairs_per_second": round(result.pairs_per_second, 3),
        **result.held_out,
        "options": {k: v for k, v in config.identity().items() if k not in ("base", "data", "eval_data")},
    }
