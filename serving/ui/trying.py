"""What the Try it tab shows: everybody's verdict on a text, two responses side by side, a group and its advantages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from guerdon.rewards.errors import GuerdonError, UsageError
from guerdon.rewards.types import Sample, Score
from guerdon.serving.ui import detail, text
from guerdon.serving.ui.bench import Bench, Voice

BETWEEN = "---"
"""A line that parts the responses of a group."""

MOST_RESPONSES = 64
MOST_CHARACTERS = 400_000
"""Of all texts of one try: what a person pastes, not what a job sends."""


def verdicts(bench: Bench, prompt: str, first: str, second: str, reference: str) -> str:
    """What everybody says of one response, or of two."""
    _check(prompt, first, second, reference)
    responses = [first, second] if second.strip() else [first]
    if not first.strip():
        return text.notice("No response yet.", "Type or paste one; with a reference, verifiers can judge it.")
    samples = [Sample(prompt, response, reference or None, "try") for response in responses]
    voices = bench.voices()
    asked = {voice.name: _ask(bench, voice, samples) for voice in voices}
    parts = [_compared(voices, asked)] if len(samples) == 2 else []
    for place, sample in enumerate(samples):
        title = f"<h4>Response {'AB'[place]}</h4>" if len(samples) == 2 else ""
        parts += [title, _one(bench, voices, [asked[voice.name][place] for voice in voices], sample)]
    return "".join(parts)


def _ask(bench: Bench, voice: Voice, samples: Sequence[Sample]) -> list[Score]:
    try:
        return bench.score(voice.name, samples)
    except GuerdonError as error:
        return [Score.unscored(str(error), status="error") for _ in samples]


def _one(bench: Bench, voices: Sequence[Voice], scores: Sequence[Score], sample: Sample) -> str:
    """Those that could judge it first; the text with the answer marked; how it was read, where a verifier tells."""
    order = sorted(range(len(voices)), key=lambda i: (scores[i].value is None, not voices[i].loaded))
    rows = [detail.cells_of_score(voices[i].name, scores[i], voices[i].scale, voices[i].version) for i in order]
    span = next((s for i in order if (s := detail.span_of(scores[i].details)) is not None), None)
    read = []
    for i in order:
        if lines := bench.explain(voices[i].name, sample):
            title = f"How {text.word(voices[i].name, 40)} read both sides"
            read.append(f"<details open><summary>{title}</summary>{text.facts(lines)}</details>")
    shown = f'<div class="box long">{text.messages(sample.response, span)}</div>'
    return f"{detail.signals(rows)}{''.join(read)}<h4>As it was read</h4>{shown}"


def _compared(voices: Sequence[Voice], asked: dict[str, list[Score]]) -> str:
    rows = []
    for voice in voices:
        a, b = asked[voice.name]
        if a.value is None and b.value is None:
            continue
        if a.value is None or b.value is None:
            words = "only one could be scored"
        elif a.value == b.value:
            words = "no difference"
        else:
            words = f"<b>{'A' if a.value > b.value else 'B'}</b> by {text.number(abs(a.value - b.value))}"
        rows.append([text.word(voice.name, 40), *(text.verdict(s.value, voice.scale) for s in (a, b)), words])
    if not rows:
        return text.notice("Nobody could score either response.")
    return text.table(("scorer", "A", "B", "prefers"), rows)


def split(responses: str) -> list[str]:
    """The responses of a group, between lines of three dashes."""
    parts: list[list[str]] = [[]]
    for line in responses.split("\n"):
        if line.strip() == BETWEEN:
            parts.append([])
        else:
            parts[-1].append(line)
    return [response for part in parts if (response := "\n".join(part).strip())]


def group(
    bench: Bench,
    name: str,
    prompt: str,
    responses: str,
    reference: str,
    false_positive: float | None,
    false_negative: float | None,
    rates: Any,
    trainer: Any,
) -> str:
    """A group's ranking, and its advantages before and after a correction.

    rates: the audit's ``NoiseRates``, or None for the two numbers. trainer: a name of calibration/normalisations.py.
    Raises UsageError for what cannot be right.
    """
    from guerdon.calibration.effect import effect
    from guerdon.calibration.normalisations import normalise

    _check(prompt, responses, reference)
    parts = split(responses)
    if len(parts) < 2:
        return text.notice("A group has at least two responses.", f"Part them by a line of {BETWEEN}")
    if len(parts) > MOST_RESPONSES:
        raise UsageError(f"{len(parts)} responses; a group here has at most {MOST_RESPONSES}")
    samples = [Sample(prompt, part, reference or None, "group") for part in parts]
    voice = next((voice for voice in bench.voices() if voice.name == name), None)
    if voice is None:
        raise UsageError("choose a scorer")
    scores = bench.score(name, samples)
    raw = [math.nan if score.value is None else score.value for score in scores]
    after, note, keys = _corrected(bench, voice, samples, scores, false_positive, false_negative, rates)
    ids = [0] * len(raw)
    before_advantages = normalise(raw, ids, trainer)
    after_advantages = None if after is None else normalise(after, ids, trainer)
    sentence = note
    if after is not None and not all(math.isnan(a) or math.isnan(b) for a, b in zip(raw, after, strict=True)):
        strata = keys if len(set(keys)) > 1 else None
        sentence = effect(raw, after, ids, trainer, strata=strata, warn=False).sentence()
    order = sorted(range(len(raw)), key=lambda i: -math.inf if math.isnan(raw[i]) else raw[i], reverse=True)
    rows = [
        [
            f"{place}" if not math.isnan(raw[i]) else "–",
            text.verdict(scores[i].value, voice.scale) if scores[i].value is not None else text.badge(scores[i].status),
            _signed(float(before_advantages[i])),
            "–" if after is None else text.number(None if math.isnan(after[i]) else after[i]),
            "–" if after_advantages is None else _signed(float(after_advantages[i])),
            text.word(keys[i], 40) if keys else "",
            f'<bdi dir="auto">{text.tail(parts[i], 90)}</bdi>',
        ]
        for place, i in enumerate(order, 1)
    ]
    head = ("place", "raw", "advantage", "corrected", "advantage after", "stratum", "response")
    words = f'<p class="sentence">{text.plain(sentence)}</p>' if sentence else ""
    return f"{words}{text.table(head, rows)}"


def _corrected(
    bench: Bench,
    voice: Voice,
    samples: Sequence[Sample],
    scores: Sequence[Score],
    false_positive: float | None,
    false_negative: float | None,
    rates: Any,
) -> tuple[list[float] | None, str, list[str]]:
    """The corrected rewards, why there are none, and the strata."""
    from guerdon.calibration.correct import correct
    from guerdon.calibration.rates import Channel, NoiseRates
    from guerdon.calibration.strata import stratum

    if voice.scale != "verdict":
        return None, f"{voice.name} gives no verdicts, so there is no error rate to correct for.", []
    if rates is None:
        if false_positive is None or false_negative is None:
            return None, "Give both error rates, or audit the verifier, to see what a correction would change.", []
        rates = NoiseRates("", "", "", {"": Channel(false_positive, false_negative)})
    of = stratum(rates.stratum)
    keys = [of(sample, score) for sample, score in zip(samples, scores, strict=True)]
    values = [math.nan if score.value is None else score.value for score in scores]
    unknown = [key for key in keys if not _knows(rates, key)]
    if unknown:
        return None, f"The audit knows nothing of the stratum {unknown[0]!r:.100}.", keys
    found = correct(values, rates, keys, uninformative="mask")
    return [float(value) for value in found], "", keys if rates.stratum else ["all samples"] * len(keys)


def _knows(rates: Any, key: str) -> bool:
    try:
        rates.channel(key)
    except UsageError:
        return False
    return True


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.3f}"


def _check(*texts: str) -> None:
    if (size := sum(map(len, texts))) > MOST_CHARACTERS:
        raise UsageError(
            f"{size:,} characters; at most {MOST_CHARACTERS:,} can be tried here, guerdon score takes files"
        )
