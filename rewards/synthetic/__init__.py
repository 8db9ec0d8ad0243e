"""Preference pairs made by rule, for demonstrations and tests: right against wrong, with length as a planted nuisance.

    from guerdon.rewards.synthetic import make_preferences
    pairs = make_preferences(2_000, seed=0)      # the same pairs on every machine, every prompt once

Half of what a reward model must see is here in small: sums and instructions whose wrong answers are wrong in several
known ways (``meta["error"]``), so that an evaluation shows which mistakes a model sees and which it does not; and a
length that agrees with the label more often than not, so that the bias it learns can be measured. It is no substitute
for real preferences: the wording is narrow, and a good score here says little about any other data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from guerdon.rewards.errors import UsageError
from guerdon.rewards.synthetic import arithmetic, instructions
from guerdon.rewards.synthetic.task import Padding, Task
from guerdon.rewards.synthetic.words import FILLERS, HEDGES, REFUSALS
from guerdon.rewards.types import Preference

MAKERS: tuple[Callable[[Random], Task], ...] = (
    arithmetic.word_problem,
    arithmetic.carry,
    arithmetic.units,
    instructions.count_items,
    instructions.start_letter,
    instructions.one_word,
    instructions.include_word,
    instructions.avoid_word,
    instructions.format_items,
    instructions.refusal,
)

LARGEST = 20_000
"""The most pairs one call makes: well inside the number of distinct prompts, so that the search for one stays short."""

_GAP = 8
"""Characters by which the response that should be longer is longer, at least: less is no length to speak of."""

_MOST_FILLERS = 2
"""Sentences of padding spent on making one response the longer: more would make texts too long for a quick run."""

_TRIES_A_KIND = 20
"""Tries before another kind is drawn: enough that every kind holds both sides, few enough to leave one that cannot
(an answer of one word takes no padding) or that has no new prompt."""

_SHARE_ANYWHERE = 0.25
"""Pairs whose mistake fits any task. They are easy to see, so they are the smaller part."""

_SHARE_BOTH_PADDED = 0.2
"""Pairs padded on both sides, so that padding by itself gives nothing away."""


def make_preferences(n: int, seed: int, *, length_bias: float = 0.7) -> list[Preference]:
    """n pairs, every prompt once, in random order; the same n, seed and bias give the same pairs.

    length_bias: the share of pairs whose chosen response is the longer one (in characters), by padding whichever should
    be longer with sentences that say nothing; 0.5 plants no bias. meta: ``category`` (arithmetic or instruction),
    ``kind`` (of task), ``error`` (of the rejected response), ``reference``, and ``id``.
    Raises UsageError for a share outside [0, 1] or an n outside 1..LARGEST.
    """
    if not 1 <= n <= LARGEST:
        raise UsageError(f"n must be between 1 and {LARGEST}, got {n}")
    if not 0.0 <= length_bias <= 1.0:
        raise UsageError(f"length_bias is a share of pairs, in [0, 1]; got {length_bias}")
    # not cryptography: a seeded generator is what makes the pairs the same everywhere
    random = Random(seed)  # noqa: S311
    longer = [index < round(n * length_bias) for index in range(n)]
    random.shuffle(longer)  # the side is drawn before the task, so that no kind of task or error gives it away
    seen: set[str] = set()
    return [_pair(random, index, chosen_longer, seen) for index, chosen_longer in enumerate(longer)]


def _pair(random: Random, index: int, chosen_longer: bool, seen: set[str]) -> Preference:
    """Draw tasks until one is new and can be padded to the wanted side."""
    for task in _draws(random):
        wrong = _wrong_anywhere(random, task) if random.random() < _SHARE_ANYWHERE else task.wrong
        error = random.choice(list(wrong))
        pair = _padded(random, task, wrong[error], chosen_longer)
        if pair is not None and task.prompt not in seen:
            seen.add(task.prompt)
            told = {"category": task.category, "kind": task.kind, "error": error, "reference": task.reference}
            return Preference(task.prompt, pair[0], pair[1], meta={"id": f"made-{index}", **told})
    raise AssertionError("the draws never end")


def _draws(random: Random) -> Iterator[Task]:
    while True:
        make = random.choice(MAKERS)
        for _ in range(_TRIES_A_KIND):
            yield make(random)


def _wrong_anywhere(random: Random, task: Task) -> dict[str, str]:
    """Mistakes that fit any task: to say the question again, to say nothing, to decline what is harmless."""
    wrong = {
        "repeats_question": random.choice(("You asked: {}", "The question is: {}", "{} That is the question.")),
        "hedges": random.choice(HEDGES),
    }
    if task.kind != "refusal":
        wrong["refuses"] = random.choice(REFUSALS)
    return {error: text.replace("{}", task.prompt) for error, text in wrong.items()}


def _padded(random: Random, task: Task, rejected: str, chosen_longer: bool) -> tuple[str, str] | None:
    """Both responses, the one that should be longer padded until it is; None if that takes too much padding."""
    chosen = task.right
    if task.padding != "never" and random.random() < _SHARE_BOTH_PADDED:
        chosen, rejected = _pad(random, chosen, task.padding), _pad(random, rejected, "anywhere")
    for _ in range(_MOST_FILLERS + 1):
        short, long = (rejected, chosen) if chosen_longer else (chosen, rejected)
        if len(long) >= len(short) + _GAP:
            return chosen, rejected
        if not chosen_longer:
            rejected = _pad(random, rejected, "anywhere")
        elif task.padding != "never":
            chosen = _pad(random, chosen, task.padding)
    return None


def _pad(random: Random, text: str, where: Padding) -> str:
    filler = random.choice([filler for filler in FILLERS if filler not in text])
    if where == "anywhere" and random.random() < 0.5:
        return f"{filler} {text}"
    gap = " " if text.endswith((".", "!", "?")) else "\n"  # a list stays a list, the filler is no item of it
    return f"{text}{gap}{filler}"
