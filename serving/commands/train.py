"""``guerdon train``: a reward model from preferences. The flags are the fields of ``TrainConfig``, by the same names.

Names, types and defaults come from the dataclass, the help from the table here: a field without a line in the table is
an error at import, so flags, file and code cannot drift apart.
"""

from __future__ import annotations

import inspect
import tomllib
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guerdon.rewards.errors import UsageError
from guerdon.rewards.training.config import TrainConfig
from guerdon.serving.commands import console

if TYPE_CHECKING:
    from guerdon.rewards.train import TrainResult

EXAMPLES = console.examples(
    "$ guerdon train --base sentence-transformers/all-MiniLM-L6-v2 --data pairs.jsonl --output runs/helpful",
    "$ guerdon train -b Qwen/Qwen3-0.6B -d train.jsonl --eval-data test.jsonl -o runs/q --lora-rank 16",
    "$ guerdon train --config train.toml --seed 1 --output runs/seed1   # flags win over the file",
    "$ guerdon train --config train.toml --resume                       # after a kill: the same result",
    "$ torchrun --nproc-per-node 2 --no-python guerdon train --config train.toml",
    'The file has the same names with underscores:  base = "runs/base",  data = ["pairs.jsonl"],  batch_pairs = 32.',
    "Ctrl-C writes a state to resume from, then ends with 130.",
)

_FILES, _RECIPE, _MODEL, _RUN = "Data and folders", "Recipe", "Model and memory", "Run"

HELP: dict[str, tuple[str, str]] = {
    "base": (_FILES, "Where to start: a folder, a hub id, or a .gguf file."),
    "data": (_FILES, "Preferences: JSONL(.gz), Parquet, a datasets folder or a hub id; repeat for several."),
    "output": (_FILES, "The folder to write the model to."),
    "eval_data": (_FILES, "Held-out preferences; without them --held-out is split off by prompt."),
    "held_out": (_FILES, "Share of the prompts held out of --data; 0 trains on all and fits no temperature."),
    "limit": (_FILES, "Train on at most so many pairs, drawn with the seed."),
    "probability_column": (_FILES, "A column with P(chosen is better), for soft labels."),
    "epochs": (_RECIPE, "Passes over the data."),
    "batch_pairs": (_RECIPE, "Pairs in one step, over all processes."),
    "learning_rate": (_RECIPE, "Rate of the backbone's last layer."),
    "head_learning_rate": (_RECIPE, "Rate of the new head."),
    "layer_decay": (_RECIPE, "A layer's rate as a share of the rate of the layer above it."),
    "warmup": (_RECIPE, "Share of the steps over which the rate rises; then it falls to zero."),
    "weight_decay": (_RECIPE, "Weight decay, on matrices."),
    "max_grad_norm": (_RECIPE, "Gradients are clipped to this norm."),
    "smoothing": (_RECIPE, "Label smoothing: the share of labels taken to be wrong."),
    "centring": (_RECIPE, "Weight of the term that keeps rewards around zero."),
    "debias": (_RECIPE, "Take length out of the scores while training: fimi, fimi-alternating or odin."),
    "debias_strength": (_RECIPE, "Weight of the debiasing penalty."),
    "dropout": (_RECIPE, "Dropout of the backbone."),
    "max_length": (_MODEL, "Tokens of one text; by default what the model reads."),
    "overlong": (_MODEL, "What is done with longer texts: error, drop (counted) or truncate_prompt."),
    "lora_rank": (_MODEL, "Train adapters of this rank and the head, instead of all weights."),
    "lora_alpha": (_MODEL, "Scale of the adapters."),
    "gradient_checkpointing": (_MODEL, "Less memory, a third more time."),
    "precision": (_MODEL, "auto, fp32 or bf16; auto takes bf16 where it is measured to be faster."),
    "attention": (_MODEL, "transformers' attention implementation: sdpa, eager, flash_attention_2, ..."),
    "forward_tokens": (_MODEL, "Padded tokens of one forward; by default 4096 on a CPU, else a whole step."),
    "step_tokens": (_MODEL, "Tokens held for one backward; larger steps are accumulated."),
    "evals_per_epoch": (_RUN, "How often the held-out accuracy is measured; the best weights are kept."),
    "patience": (_RUN, "Stop after so many measurements without a better one; 0 never stops early."),
    "save_minutes": (_RUN, "A state to resume from is written at least so often."),
    "resume": (_RUN, "Go on with the run in the output folder, to the result it would have had."),
    "overwrite": (_RUN, "Replace a finished model in the output folder."),
    "report_to": (_RUN, "tensorboard, or nothing."),
    "seed": (_RUN, "Decides the order of the data, the split and the new head."),
}

_SHORT = {"base": "-b", "data": "-d", "output": "-o"}


def command(config: Path | None = None, json_: bool = False, **flags: Any) -> None:
    """Train a reward model on preferences, and evaluate it on what was held out."""
    values = _read_toml(config) if config is not None else {}
    values |= {name: value for name, value in flags.items() if value is not None}
    run(TrainConfig.from_mapping(values), json_)


def run(config: TrainConfig, json_: bool) -> None:
    """Train, and say how it went. Exits with 130 if a signal ended it; what was learned is saved then."""
    with console.needs_extra("training", "train"):
        from guerdon.rewards.train import train
    with watch() as progress:
        result = train(config, progress)
    if console.speaks():
        console.print_json(to_dict(result)) if json_ else _show(result)
        if result.interrupted:
            terminal = console.err()
            terminal.print(f"Interrupted at step {result.steps} of {result.steps_planned}; the model so far is saved.")
            terminal.print("To go on, give the same command with --resume.")
    if result.interrupted:
        raise typer.Exit(130)


@contextmanager
def watch() -> Iterator[Callable[[int, int, Mapping[str, float]], None]]:
    """A bar with the loss, and a line on stderr for every measurement on held-out pairs."""
    terminal = console.err()
    with console.progress("Training") as moved:

        def progress(step: int, total: int, figures: Mapping[str, float]) -> None:
            moved(step, total, f"loss {figures['loss']:.3f}, accuracy {figures['accuracy']:.2f}")
            if "held_out_accuracy" in figures:
                terminal.print(
                    f"step {step} of {total}: loss {figures['loss']:.3f}, "
                    f"held-out accuracy {figures['held_out_accuracy']:.3f}, loss {figures['held_out_loss']:.3f}; "
                    f"{figures['pairs_per_second']:.1f} pairs a second"
                )

        yield progress


def to_dict(result: TrainResult) -> dict[str, Any]:
    """The result without its history of every step, which the folder's card summarises."""
    return {
        "folder": str(result.folder),
        "steps": result.steps,
        "steps_planned": result.steps_planned,
        "interrupted": result.interrupted,
        "seconds": round(result.seconds, 3),
        "pairs_per_second": round(result.pairs_per_second, 3),
        "counts": dict(result.counts),
        "held_out": dict(result.held_out),
        "temperature": result.temperature,
    }


def _show(result: TrainResult) -> None:
    terminal = console.out()
    counts = ", ".join(f"{n:,} {what}" for what, n in result.counts.items())
    terminal.print(f"{result.steps} steps in {result.seconds:.0f} s ({result.pairs_per_second:.1f} pairs a second)")
    terminal.print(f"pairs: {counts}")
    if result.held_out:
        held_out = result.held_out
        terminal.print(
            f"held-out accuracy {held_out['held_out_accuracy']:.3f} on {held_out['held_out_pairs']:.0f} pairs, "
            f"log-loss {held_out['held_out_loss']:.3f}"
            + ("" if result.temperature is None else f", temperature {result.temperature:.3f}")
        )
    terminal.print(f"saved to {result.folder}; next:")
    terminal.print(f"  guerdon evaluate {result.folder} --data FILE --out {result.folder}/report")
    terminal.print(f"  guerdon serve --scorer NAME={result.folder}")


def _read_toml(path: Path) -> dict[str, Any]:
    """The file's table, each value of its field's type (a string where a number is due is found here, not mid-run)."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read the configuration {str(path)!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from error
    for name, value in values.items():
        if name in _KINDS and not _fits(value, _KINDS[name]):
            raise UsageError(f"{path}: {name} must be {_WORDS[_KINDS[name]]}, got {value!r:.80}")
    return values


def _fits(value: Any, kind: Any) -> bool:
    if kind == list[str]:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return type(value) is kind


# --- flags from fields ---


def _kind(hint: Any) -> Any:
    """The type of a flag: of ``int | None`` int, of a tuple of words a list of words, of a Literal str."""
    if typing.get_origin(hint) in (UnionType, typing.Union):
        (hint,) = (part for part in typing.get_args(hint) if part is not NoneType)
    if typing.get_origin(hint) is tuple:
        return list[str]
    return str if typing.get_origin(hint) is typing.Literal else hint


_KINDS: dict[str, Any] = {name: _kind(hint) for name, hint in typing.get_type_hints(TrainConfig).items()}
_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list[str]: "a list of texts"}


def _flag(field: Field[Any]) -> inspect.Parameter:
    panel, text = HELP[field.name]
    if field.default is MISSING:
        text = f"{text} Needed, here or in the file."
    elif field.default not in (None, ()) and field.default is not False:
        text = f"{text} ({field.default:g})" if isinstance(field.default, float) else f"{text} ({field.default})"
    name = field.name.replace("_", "-")
    kind: Any = _KINDS[field.name]
    names = [f"--{name}/--no-{name}"] if kind is bool else [f"--{name}"]
    names += [_SHORT[field.name]] if field.name in _SHORT else []
    option = typer.Option(*names, help=text, rich_help_panel=panel, show_default=False)
    annotation: Any = Annotated[kind | None, option]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _signature() -> inspect.Signature:
    config = typer.Option("--config", "-c", help="A TOML file with any of the names below; flags win over it.")
    json_ = typer.Option("--json", help="The result as JSON on stdout.")
    own = [
        inspect.Parameter(
            "config", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[Path | None, config]
        ),
        inspect.Parameter("json_", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, json_]),
    ]
    return inspect.Signature([*own, *(_flag(field) for field in fields(TrainConfig))])


_parameters: Mapping[str, inspect.Parameter] = _signature().parameters
command.__signature__ = _signature()  # type: ignore[attr-defined]
command.__annotations__ = {name: parameter.annotation for name, parameter in _parameters.items()} | {"return": None}
