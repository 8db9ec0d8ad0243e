"""Train a Bradley–Terry reward model: preferences in, a checkpoint folder out, evaluated the way it will be served.

One path: preferences → ``Renderer`` → batches → ``RewardNet`` → ``bradley_terry_loss`` → step; the held-out pairs are
scored through ``RewardModel.score``, the very method the server calls. The steps themselves are in training/run.py.
"""

from __future__ import annotations

import logging
import random
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from guerdon.rewards.errors import DataError, UsageError
from guerdon.rewards.preferences import read_preferences, split_by_prompt
from guerdon.rewards.training.config import TrainConfig
from guerdon.rewards.training.run import Progress, Run, TrainResult
from guerdon.rewards.training.setup import accelerator
from guerdon.rewards.training.state import StateFolder
from guerdon.rewards.types import Preference

__all__ = ["Progress", "TrainConfig", "TrainResult", "train"]

logger = logging.getLogger(__name__)

MAX_HELD_OUT = 1_000
"""Held-out pairs beyond this many change no decision and cost time at every measurement."""


def train(config: TrainConfig, progress: Progress | None = None) -> TrainResult:
    """Train as told and write the checkpoint folder. Wrong input raises before the first step."""
    processes = accelerator()
    if processes.is_main_process:
        StateFolder.of(config).claim(config)
    processes.wait_for_everyone()
    training, held_out = _read(config)
    run = Run(config, training, held_out, processes)
    with _stop_on_signal() as stop:
        run.learn(progress, stop)
    return run.finish()


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
