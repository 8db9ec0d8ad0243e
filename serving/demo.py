"""The main job in one go, on this machine alone: pairs, training, evaluation, a server, a score over HTTP.

Nothing is downloaded: the pairs are made by rule (rewards/synthetic) or are the user's own, and the weights to start
from come as a package (extra ``demo``). Everything that is made lies in one folder:

    train.jsonl, held_out.jsonl    the pairs, to be looked at and used again
    model/                         the reward model (a plain transformers folder)
    report/                        report.html and its kin
    scores.db                      what the server answered, if it was left up: the inspection UI shows it
    demo.json                      that this folder is a demo's, so that the next one may replace it; then its result
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from guerdon import __version__
from guerdon.rewards.errors import MissingExtraError, UsageError
from guerdon.rewards.types import Preference, Sample, text_of, thaw

if TYPE_CHECKING:
    from guerdon.rewards.report import Report, Section
    from guerdon.rewards.train import Progress, TrainResult

SCORER = "demo"
"""The name under which the model is served."""

VERIFIERS = ("choice", "exact", "format", "numeric")
"""Verifiers served beside it: those that work without options."""

MADE, MADE_QUICK = 2_000, 320
"""Pairs made. On two cores the first trains in under two minutes, the second in seconds."""

HELD_OUT = 0.2
MOST_HELD_OUT = 400
LOOKED_AT = 60
"""Held-out pairs that are scored for the inspection UI: some seconds, and enough to see where the model errs."""

FEWEST = 50
"""Pairs of the user's own below which neither training nor evaluation would mean anything."""

CHARACTERS, CHARACTERS_QUICK = 1_200_000, 150_000
"""Text of the user's own that is used, prompts and both responses: what trains in a few minutes, or in seconds."""

LONGEST = 1_500
"""Characters of a prompt with a response: about what the small base reads. Longer ones would only be dropped."""

SUM = Sample("There are 4 bags of 6 apples. Mia uses 5. How many apples are left?", "", reference="19", group="sum")
ANSWERS = (
    "4 times 6 is 24, and 24 minus 5 is 19. The answer is 19 apples.",
    "4 times 6 is 24, and 24 minus 5 is 18. The answer is 18 apples. I hope this helps.",
)
"""Right, and longer but off by one: the mistake that a small model sees least."""

_MARK = "demo.json"
_FEW = 10
"""Pairs below which the accuracy on a kind of mistake is not worth printing."""

Say = Callable[[str, str], None]
"""Told the step's name (or an empty string) and a line about it."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a demo did. Figures are None where the data has none (a length ruler where all lengths are equal, say).

    by_error: held-out accuracy for each kind of mistake, made pairs only. scores: what the server answered, by scorer.
    """

    folder: str
    train_pairs: int
    held_out_pairs: int
    steps: int
    train_seconds: float
    accuracy: float | None
    balanced_accuracy: float | None
    longer_right: float | None
    shorter_right: float | None
    spearman: float | None
    rulers: Mapping[str, float | None]
    by_error: Mapping[str, float]
    report: str
    url: str
    scores: Mapping[str, Sequence[float | None]]
    seconds: float


def run(
    out: Path,
    *,
    pairs: str | None = None,
    quick: bool = False,
    port: int | None = None,
    serve: bool = True,
    say: Say,
    watch: Callable[[], AbstractContextManager[Progress]],
    while_serving: Callable[[str], None],
    ui: bool = False,
) -> Result:
    """The whole demo. while_serving is called with the server's URL and ends when the server may stop.

    ui: serve the inspection UI too, with the held-out pairs to look at; without Gradio it is left out.

    Raises MissingExtraError without torch, the server's packages or the small weights; UsageError for a folder that
    holds something else, a port that is taken, or too few pairs.
    """
    start = time.monotonic()
    weights = _weights()
    port = _free_port(port) if serve else 0
    train_pairs, held_out = _pairs(pairs, quick, say)
    _claim(out, say)  # only now: a file that is wrong must not cost the model of an earlier demo
    _write(out / "train.jsonl", train_pairs)
    _write(out / "held_out.jsonl", held_out)
    result = _train(out, weights, say, watch)
    report = _evaluate(out, held_out, say)

    def hold(url: str) -> None:
        nonlocal start
        paused = time.monotonic()
        while_serving(url)
        start += time.monotonic() - paused  # how long somebody looks at the server is no time of the demo's

    shown = held_out[:LOOKED_AT] if ui and _has_gradio() else []
    url, scores = _serve(out, held_out if pairs else None, port, say, hold, shown) if serve else ("", {})
    found = _result(out, len(train_pairs), len(held_out), result, report, url, scores, time.monotonic() - start)
    (out / _MARK).write_text(json.dumps({"guerdon": __version__, **asdict(found)}, indent=1), encoding="utf-8")
    return found


# --- before anything takes time ---


def _weights() -> Path:
    from guerdon.serving.doctor import demo_weights

    try:
        import accelerate  # noqa: F401
        import fastapi  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("the demo", "demo") from error
    folder = demo_weights()
    if folder is None:
        raise MissingExtraError("the demo starts from small weights and", "demo")
    return folder


def _free_port(asked: int | None) -> int:
    """The port asked for, checked now and not after training; else 8008 if it is free; else any."""
    from guerdon.serving.doctor import PORT, port_is_free

    if asked is None:
        return PORT if port_is_free(PORT) else 0
    if not port_is_free(asked):
        raise UsageError(f"port {asked} is taken; choose another with --port, or leave it out")
    return asked


def _claim(out: Path, say: Say) -> None:
    """An empty folder of ours. An earlier demo is replaced; anything else is left alone."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; name a folder with --out")
    if out.is_dir() and os.listdir(out):
        if not (out / _MARK).is_file():
            raise UsageError(f"{out} holds files that are no demo's; name another folder with --out")
        say("", f"{out} holds an earlier demo, which is replaced")
        for name in ("model", "report"):
            shutil.rmtree(out / name, ignore_errors=True)
        for file in out.glob("scores.db*"):  # and the labels beside it
            file.unlink()
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / _MARK).write_text(json.dumps({"guerdon": __version__}), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write into {out}: {error.strerror or error}; name a folder with --out") from error


# --- the steps ---


def _pairs(source: str | None, quick: bool, say: Say) -> tuple[list[Preference], list[Preference]]:
    from guerdon.rewards.preferences import read_preferences, split_by_prompt

    if source is None:
        from guerdon.rewards.synthetic import make_preferences

        made = make_preferences(MADE_QUICK if quick else MADE, seed=0)
        cut = len(made) - round(HELD_OUT * len(made))  # every prompt comes once, so any cut is clean
        longer = sum(len(str(p.chosen)) > len(str(p.rejected)) for p in made) / len(made)
        say(
            "Pairs",
            f"{len(made):,} made by rule: sums and small instructions, each right against wrong, {cut:,} to train on; "
            f"in {longer:.0%} the better response is also the longer one, which is a trap",
        )
        return made[:cut], made[cut:]
    found = read_preferences(source)
    short = [pair for pair in found if max(_lengths(pair)) <= LONGEST]
    kept = _within(short, CHARACTERS_QUICK if quick else CHARACTERS)
    if len(kept) < FEWEST:
        raise UsageError(
            f"{source} gives {len(kept)} pairs of at most {LONGEST} characters; a demo needs at least {FEWEST}. "
            "guerdon train takes what a larger base can read"
        )
    train_pairs, held_out = split_by_prompt(kept, HELD_OUT)
    say("Pairs", f"{len(found):,} in {source}, {len(short):,} of them short enough for the small base")
    say(
        "",
        f"{len(kept):,} drawn: {len(train_pairs):,} to train on, {len(held_out):,} held out (guerdon train takes all)",
    )
    return train_pairs, held_out[:MOST_HELD_OUT]


def _lengths(pair: Preference) -> tuple[int, int]:
    """Characters of the prompt with each response: what a model reads of a pair."""
    prompt = len(text_of(pair.prompt))
    return prompt + len(text_of(pair.chosen)), prompt + len(text_of(pair.rejected))


def _within(pairs: Sequence[Preference], characters: int) -> list[Preference]:
    """As many pairs, drawn with a fixed seed, as the characters allow."""
    # not a secret: the same pairs are drawn every time
    order = random.Random(0).sample(range(len(pairs)), len(pairs))  # noqa: S311
    kept: list[int] = []
    for index in order:
        characters -= sum(_lengths(pairs[index]))
        if characters < 0:
            break
        kept.append(index)
    return [pairs[index] for index in sorted(kept)]


def _write(path: Path, pairs: Sequence[Preference]) -> None:
    """Pairs as the JSON Lines that every command reads, their meta as further columns."""
    with path.open("w", encoding="utf-8") as stream:
        for pair in pairs:
            row: dict[str, Any] = {"prompt": pair.prompt, "chosen": pair.chosen, "rejected": pair.rejected}
            extra = {"margin": pair.margin, "probability": pair.probability, "weight": pair.weight}
            row |= {key: value for key, value in extra.items() if value is not None}
            row |= {key: value for key, value in pair.meta.items() if key not in row}
            print(json.dumps(thaw(row), default=str), file=stream)


def _train(out: Path, weights: Path, say: Say, watch: Callable[[], AbstractContextManager[Progress]]) -> TrainResult:
    from guerdon.rewards.train import TrainConfig, train

    say("Train", "a Bradley–Terry reward model from all-MiniLM-L6-v2 (22 million parameters)")
    config = TrainConfig(
        base=str(weights),
        # what chooses the weights is split off these; the held-out pairs stay unseen until the evaluation
        data=(str(out / "train.jsonl"),),
        output=str(out / "model"),
        overlong="drop",  # counted; the small base reads 512 tokens at most
        evals_per_epoch=1,
    )
    with watch() as progress:
        result = train(config, progress)
    if result.interrupted:
        raise KeyboardInterrupt
    lost = [f"{n:,} {what}" for what, n in result.counts.items() if n and what != "pairs"]
    speed = f"{result.steps} steps in {result.seconds:.0f} s, {result.pairs_per_second:.0f} pairs a second"
    say("", "; ".join([speed, *lost]))
    return result


def _evaluate(out: Path, held_out: Sequence[Preference], say: Say) -> Report:
    from guerdon.rewards.evaluate import evaluate
    from guerdon.rewards.model import RewardModel

    by = ("kind", "error") if "error" in held_out[0].meta else ("source", "category")
    report = evaluate(RewardModel.load(out / "model", name=SCORER), {"held-out": list(held_out)}, by=by)
    paths = report.save(out / "report")
    section = report.sections[0]
    say("Evaluate", section.sentence())
    if section.pairs is not None:
        length = section.pairs.length
        say(
            "",
            f"length: accuracy {length.longer_right} where the longer response is right, {length.shorter_right} where "
            f"the shorter is; the mean of both, which length cannot raise, {length.balanced}",
        )
        say("", f"rank correlation of margin and length difference {length.spearman}")
    mistakes = sorted((g.headline.value or 0.0, g.value, g.headline.n) for g in section.groups if g.column == "error")
    if mistakes:
        words = [f"{error.replace('_', ' ')} {value:.2f} (of {n})" for value, error, n in mistakes if n >= _FEW]
        say("", f"kinds of mistake, from the one it sees least: {', '.join(words)}")
    say("", f"report: {paths['html']}")
    return report


def _by_error(section: Section) -> dict[str, float]:
    return {
        group.value: group.headline.value
        for group in section.groups
        if group.column == "error" and group.headline.value is not None
    }


def _has_gradio() -> bool:
    from importlib.util import find_spec

    return find_spec("gradio") is not None


def _serve(
    out: Path,
    theirs: Sequence[Preference] | None,
    port: int,
    say: Say,
    while_serving: Callable[[str], None],
    shown: Sequence[Preference] = (),
) -> tuple[str, dict[str, list[float | None]]]:
    """Serve the model and the verifiers in this process, and ask them over HTTP as a training loop would.

    shown: pairs that are scored for the inspection UI; without any there is none.
    """
    from guerdon.serving.client import RemoteScorer
    from guerdon.serving.config import ServeConfig
    from guerdon.serving.server import serving
    from guerdon.serving.specs import load_scorer

    scorers = {SCORER: load_scorer(str(out / "model")), **{name: load_scorer(name) for name in VERIFIERS}}
    kept: dict[str, Any] = {"store": str(out / "scores.db"), "store_text": True, "ui": True} if shown else {}
    with serving(ServeConfig(scorers={}, port=port, **kept), scorers) as url:
        say("Serve", f"{', '.join(scorers)} at {url}")
        if theirs is None:
            samples = [Sample(SUM.prompt, answer, SUM.reference, SUM.group) for answer in ANSWERS]
            asked = [SCORER, "numeric"]
        else:
            samples = [Sample(theirs[0].prompt, response) for response in (theirs[0].chosen, theirs[0].rejected)]
            asked = [SCORER]
        scores = {}
        for name in asked:
            with closing(RemoteScorer(url, name)) as remote:
                scores[name] = [score.value for score in remote.score(samples)]
        for place, sample in enumerate(samples):
            given = ", ".join(f"{name} {_shown(values[place])}" for name, values in scores.items())
            say("", f"{given}  <- {sample.response_text!r:.100}")
        if shown:
            with closing(RemoteScorer(url, SCORER)) as remote:
                remote.score(_both_sides(shown))
            say("", f"{2 * len(shown)} held-out responses scored, to look at in a browser: {url}/ui/")
        if theirs is None and _prefers_second(scores[SCORER]):
            say("", "the model falls for the longer answer: it cannot add. The verifier can; use both")
        while_serving(url)
    return url, scores


def _both_sides(pairs: Sequence[Preference]) -> list[Sample]:
    """Both responses of each pair; the column ``label`` says which one is right."""
    return [
        Sample(pair.prompt, response, None, f"pair-{place}", {**pair.meta, "label": right})
        for place, pair in enumerate(pairs)
        for response, right in ((pair.chosen, True), (pair.rejected, False))
    ]


def _prefers_second(values: Sequence[float | None]) -> bool:
    first, second = values
    return first is not None and second is not None and second > first


def _shown(value: float | None) -> str:
    return "no score" if value is None else f"{value:+.2f}" if value not in (0.0, 1.0) else f"{value:g}"


def curl(url: str) -> str:
    """The line that asks a demo's server for a score."""
    item = {"prompt": SUM.prompt, "response": ANSWERS[0], "reference": SUM.reference}
    body = json.dumps({"scorer": SCORER, "items": [item]})
    return f"curl {url}/v1/score -H 'Content-Type: application/json' -d '{body}'"


def _result(
    out: Path,
    train_pairs: int,
    held_out: int,
    trained: TrainResult,
    report: Report,
    url: str,
    scores: Mapping[str, Sequence[float | None]],
    seconds: float,
) -> Result:
    section = report.sections[0]
    length = section.pairs.length if section.pairs is not None else None
    return Result(
        folder=str(out),
        train_pairs=train_pairs,
        held_out_pairs=held_out,
        steps=trained.steps,
        train_seconds=round(trained.seconds, 1),
        accuracy=section.headline.value,
        balanced_accuracy=None if length is None else length.balanced.value,
        longer_right=None if length is None else length.longer_right.value,
        shorter_right=None if length is None else length.shorter_right.value,
        spearman=None if length is None else length.spearman.value,
        rulers={ruler.name: ruler.headline.value for ruler in section.rulers},
        by_error=_by_error(section),
        report=str(out / "report" / "report.html"),
        url=url,
        scores=scores,
        seconds=round(seconds, 1),
    )
