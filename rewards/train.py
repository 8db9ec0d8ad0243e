"""Train a Bradley–Terry reward model: preferences in, a checkpoint folder out, evaluated the way it will be served.

One path: preferences → ``Renderer`` → ``batches`` → ``RewardNet`` → ``bradley_terry_loss`` → step; the held-out pairs
are scored through ``RewardModel.score``, the very method the server calls.

The order of the data and the learning rate are functions of the step alone, so a run that was killed and resumed does
what the unbroken run would have done. Under ``torchrun`` or ``accelerate launch`` each process takes a slice of every
step, and the gradient is that of the whole step.
"""

from __future__ import annotations

import logging
import math
import random
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from guerdon.rewards.backbone import is_head, load_backbone
from guerdon.rewards.batches import Encoded, Pair, chunks, encode, rows_of, schedule
from guerdon.rewards.errors import DataError, MissingExtraError, UsageError
from guerdon.rewards.export import export
from guerdon.rewards.losses import bradley_terry_loss
from guerdon.rewards.model import RewardModel, pick_device
from guerdon.rewards.network import RewardNet, shares_prompts
from guerdon.rewards.packing import plan
from guerdon.rewards.precision import use_bf16
from guerdon.rewards.preferences import read_preferences, split_by_prompt
from guerdon.rewards.probabilities import fit_inverse_temperature
from guerdon.rewards.render import Renderer
from guerdon.rewards.train_config import TrainConfig
from guerdon.rewards.train_state import RunState, StateFolder
from guerdon.rewards.types import Preference, Sample

__all__ = ["Progress", "TrainConfig", "TrainResult", "train"]

logger = logging.getLogger(__name__)

Progress = Callable[[int, int, Mapping[str, float]], None]
"""Called after every step with the step, the number of steps and the step's figures."""

MAX_HELD_OUT = 1_000
"""Held-out pairs beyond this many change no decision and cost time at every measurement."""


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


def train(config: TrainConfig, progress: Progress | None = None) -> TrainResult:
    """Train as told and write the checkpoint folder. Wrong input raises before the first step."""
    accelerator = _accelerator()
    if accelerator.is_main_process:
        StateFolder.of(config).claim(config)
    accelerator.wait_for_everyone()
    training, held_out = _read(config)
    run = _Run(config, training, held_out, accelerator)
    with _stop_on_signal() as stop:
        run.learn(progress, stop)
    return run.finish()


# -- data -------------------------------------------------------------------------------------------------------------


def _read(config: TrainConfig) -> tuple[list[Preference], list[Preference]]:
    training = _read_all(config.data, config.probability_column)
    held_out: list[Preference] = []
    if config.eval_data:
        held_out = _read_all(config.eval_data, config.probability_column)
    elif config.held_out:
        training, held_out = split_by_prompt(training, config.held_out, seed=config.seed)
    generator = random.Random(config.seed)  # noqa: S311 - a draw, not a secret
    if config.limit is not None and config.limit < len(training):
        training = generator.sample(training, config.limit)
    if len(held_out) > MAX_HELD_OUT:
        held_out = generator.sample(held_out, MAX_HELD_OUT)
    if not training:
        raise UsageError(f"holding out {config.held_out:.0%} by prompt leaves nothing to train on; lower held_out")
    return training, held_out


def _read_all(sources: Sequence[str], probability_column: str | None) -> list[Preference]:
    """Every source's preferences; the problems of all files in one error, not those of the first bad file."""
    records: list[Preference] = []
    problems: list[str] = []
    for source in sources:
        try:
            records += read_preferences(source, probability_column=probability_column)
        except DataError as error:
            problems += error.problems
    if problems:
        raise DataError(", ".join(sources), problems)
    return records


def _accelerator() -> Any:
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


# -- the run ----------------------------------------------------------------------------------------------------------


class _Run:
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
            max_length=_readable(config.max_length, backbone.model, backbone.tokenizer),
            overlong=config.overlong,  # type: ignore[arg-type]  # checked there, with the names there are
        )
        self.encoded: Encoded = encode(training, self.renderer)
        if not self.encoded.pairs:
            raise UsageError(f"all {len(training)} pairs are longer than {self.renderer.max_length} tokens")
        _fit_tokenizer(backbone.model, self.renderer)
        model = _with_lora(backbone.model, config) if config.lora_rank else backbone.model
        if config.gradient_checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            model.enable_input_require_grads()
        self.net = RewardNet(model)
        self.share_prompts = shares_prompts(self.net.to(device))[0]
        self.bf16 = use_bf16(config.precision, device)
        optimiser = torch.optim.AdamW(parameter_groups(self.net, config), fused=device.type != "mps")
        self.rates = [group["lr"] for group in optimiser.param_groups]
        self.wrapped, self.optimiser = self.accelerator.prepare(self.net, optimiser)

        self.steps_per_epoch = math.ceil(len(self.encoded.pairs) / config.batch_pairs)
        self.total = max(1, math.ceil(config.epochs * self.steps_per_epoch))
        self.forward_tokens = config.forward_tokens or (2_048 if device.type == "cpu" else config.step_tokens)
        self.state = RunState()
        if config.resume:
            self.state = self.states.load(self.net, self.optimiser)
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
        # sums over this process's pairs: loss, correct, margin, chosen, rejected, count
        sums = torch.zeros(6, dtype=torch.float64, device=self.accelerator.device)
        for number, part in enumerate(parts, start=1):
            last = number == len(parts)
            with nullcontext() if last else self.accelerator.no_sync(self.wrapped):
                chosen, rejected = self._scores(part)
                self._check_finite(chosen, rejected)
                losses = pair_losses(chosen, rejected, part, self.config)
                # DDP averages over processes: times their number, over all pairs of the step, gives the step's mean
                loss = losses.sum() * (self.accelerator.num_processes * counts / len(pairs))
                self.accelerator.backward(loss)
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
        }

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
        for members in plan([tree.length for tree in rows.trees], self.forward_tokens):
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
        """Held-out figures through the scorer's own path; remembers the best weights and whether to go on."""
        figures = held_out_figures(self._scorer(), self.held_out)
        if figures:
            rank = (figures["held_out_accuracy"], -figures["held_out_loss"])
            if self.state.best is None or rank > self.state.best:
                self.state.best, self.state.best_step, self.state.waited = rank, self.state.step, 0
                if self.accelerator.is_main_process:
                    self.states.save_best(self.net)
            else:
                self.state.waited += 1
            self.state.stopped = self._agreed(0 < self.config.patience <= self.state.waited)
        return figures

    def _scorer(self) -> RewardModel:
        return RewardModel(
            self.net, self.renderer, name="in training", version=str(self.state.step), share_prompts=self.share_prompts
        )

    def _save(self) -> None:
        if self.accelerator.is_main_process:
            self.states.save(self.state, self.net, self.optimiser)
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
        margins = _margins(self._scorer(), self.held_out)
        temperature = fitted_temperature(margins)
        held_out = held_out_figures(self._scorer(), self.held_out)
        rate = self.pairs_seen / self.seconds if self.seconds else 0.0
        result = TrainResult(
            folder=self.config.output_folder,
            steps=self.state.step,
            steps_planned=self.total,
            seconds=self.seconds,
            pairs_per_second=rate,
            counts=self.encoded.counts(),
            held_out=held_out,
            temperature=temperature,
            history=tuple(self.state.history),
            interrupted=self.interrupted,
        )
        if self.accelerator.is_main_process:
            export(self.net, self.renderer, self.config, summary(result, self.config, self.state), temperature)
            if not self.interrupted:
                self.states.discard()
        self.accelerator.wait_for_everyone()
        return replace(result, folder=self.config.output_folder)


# -- parts that stand alone -------------------------------------------------------------------------------------------


def learning_rate(step: int, total: int, warmup: float) -> float:
    """The factor of step 0 … total - 1: up linearly over the warm-up share, then down linearly to almost zero."""
    rising = max(1, math.ceil(warmup * total))
    if step < rising:
        return (step + 1) / rising
    return (total - step) / max(1, total - rising)


_LAYER = re.compile(r"\.(?:layers?|h|blocks?)\.(\d+)\.")


def parameter_groups(net: RewardNet, config: TrainConfig) -> list[dict[str, Any]]:
    """Trainable parameters by learning rate and weight decay: head, layers from top to bottom, embeddings.

    A layer's rate is ``layer_decay`` times that of the layer above; embeddings count as the layer below the first.
    """
    named = [(name, p) for name, p in net.named_parameters() if p.requires_grad]
    depth = 1 + max((int(m[1]) for name, _ in named if (m := _LAYER.search(name))), default=-1)
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in named:
        if is_head(name):
            rate = config.head_learning_rate
        else:
            found = _LAYER.search(name)
            below_top = depth - 1 - int(found[1]) if found else (depth if "embed" in name else 0)
            rate = config.learning_rate * config.layer_decay**below_top
        decay = config.weight_decay if parameter.ndim > 1 else 0.0
        groups.setdefault((rate, decay), []).append(parameter)
    return [{"params": members, "lr": rate, "weight_decay": decay} for (rate, decay), members in groups.items()]


def pair_losses(chosen: Tensor, rejected: Tensor, pairs: Sequence[Pair], config: TrainConfig) -> Tensor:
    """Bradley–Terry loss of each pair, (n,), with the margins, soft labels and weights that the data gives."""

    def column(values: list[float]) -> Tensor:
        return torch.tensor(values, dtype=chosen.dtype, device=chosen.device)

    margin = probability = weight = None
    smoothing = config.smoothing
    if any(pair.margin is not None for pair in pairs):
        margin = column([pair.margin or 0.0 for pair in pairs])
    if any(pair.probability is not None for pair in pairs):
        hard = 1.0 - smoothing
        probability = column([hard if pair.probability is None else pair.probability for pair in pairs])
        smoothing = 0.0
    if any(pair.weight != 1.0 for pair in pairs):
        weight = column([pair.weight for pair in pairs])
    return bradley_terry_loss(
        chosen,
        rejected,
        margin=margin,
        probability=probability,
        smoothing=smoothing,
        weight=weight,
        centring=config.centring,
        reduction="none",
    )


def held_out_figures(scorer: RewardModel, preferences: Sequence[Preference]) -> dict[str, float]:
    """Accuracy (ties half) and log-loss of the pairs that could be scored; empty if there are none."""
    margins = _margins(scorer, preferences)
    if not margins:
        return {}
    right = sum(1.0 if m > 0 else 0.5 if m == 0 else 0.0 for m in margins)
    loss = sum(math.log1p(math.exp(-abs(m))) + max(0.0, -m) for m in margins)
    return {
        "held_out_accuracy": right / len(margins),
        "held_out_loss": loss / len(margins),
        "held_out_pairs": float(len(margins)),
    }


def fitted_temperature(margins: Sequence[float]) -> float | None:
    """T of P(chosen wins) = sigmoid(margin / T) with the smallest log-loss; None where no finite T > 0 has it.

    That is so without margins, when all are 0, and when the scores are no better than a coin.
    """
    inverse = fit_inverse_temperature(np.asarray(margins, dtype=np.float64)) if margins else None
    return 1.0 / inverse if inverse else None


def _margins(scorer: RewardModel, preferences: Sequence[Preference]) -> list[float]:
    """r(chosen) - r(rejected) of the pairs with a side each; ties and unscored pairs are left out."""
    decided = [p for p in preferences if p.probability is None or p.probability != 0.5]
    scores = scorer.score([Sample(p.prompt, r) for p in decided for r in (p.chosen, p.rejected)])
    return [
        a.value - b.value
        for a, b in zip(scores[::2], scores[1::2], strict=True)
        if a.value is not None and b.value is not None
    ]


def _sums(losses: Tensor, chosen: Tensor, rejected: Tensor) -> Tensor:
    margin = chosen - rejected
    correct = (margin > 0).double() + 0.5 * (margin == 0).double()
    count = torch.ones_like(margin)
    parts = (losses, correct, margin, chosen, rejected, count)
    return torch.stack([part.double().sum() for part in parts])


def _readable(asked: int | None, model: Any, tokenizer: Any) -> int | None:
    """The most tokens a text may have: what was asked, within what the model has positions for."""
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if getattr(model.config, "model_type", "") in ("roberta", "xlm-roberta", "camembert") and positions:
        positions -= 2  # these count positions from pad_token_id + 1
    if asked is None:
        return min(positions, tokenizer.model_max_length) if positions else None
    if positions and asked > positions:
        raise UsageError(f"max_length is {asked}, but the base has {positions} positions")
    return asked


def _fit_tokenizer(model: Any, renderer: Renderer) -> None:
    """Rows for every token, and the pad id that ends no text, so that every engine pools the token we pool."""
    if model.get_input_embeddings().num_embeddings < renderer.vocab_size:
        # the new rows are never trained on nor read: only padding has these ids
        model.resize_token_embeddings(renderer.vocab_size, mean_resizing=False)
    model.config.get_text_config().pad_token_id = renderer.pad_id
    model.config.pad_token_id = renderer.pad_id


def _with_lora(model: Any, config: TrainConfig) -> Any:
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


@contextmanager
def _stop_on_signal() -> Iterator[threading.Event]:
    """An event set by the first Ctrl-C or SIGTERM; a second Ctrl-C interrupts at once."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(signum: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()
        logger.warning("stopping after this step; the model so far is saved (interrupt again to stop at once)")

    before = {signum: signal.signal(signum, ask) for signum in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
