"""Preferences as token ids, and the order in which they are learned.

A pair is two indices into a table of distinct sequences: one response that appears in several pairs of a step is
computed once. Pairs of one prompt are kept in one step, so that such sharing happens and, on causal models, the prompt
is computed once for all of them.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from guerdon.rewards.errors import DataError, TooLongError
from guerdon.rewards.packing import Ids, Tree, plain, share_prefix
from guerdon.rewards.render import Renderer
from guerdon.rewards.types import Preference, text_of


@dataclass(frozen=True, slots=True)
class Pair:
    """One preference as ids. prompt: a key equal for pairs of one prompt; lengths: characters, before any cut."""

    chosen: Ids
    rejected: Ids
    prompt: Hashable
    margin: float | None
    probability: float | None
    weight: float
    chosen_length: int = 0
    rejected_length: int = 0


@dataclass(frozen=True, slots=True)
class Encoded:
    """Pairs that can be trained on, and the counts of what happened to the others."""

    pairs: tuple[Pair, ...]
    dropped: int
    cut_responses: int
    cut_tokens: int

    @property
    def tokens(self) -> int:
        return sum(len(pair.chosen) + len(pair.rejected) for pair in self.pairs)

    def counts(self) -> dict[str, int]:
        return {
            "pairs": len(self.pairs),
            "dropped as too long": self.dropped,
            "texts cut": self.cut_responses,
            "tokens cut": self.cut_tokens,
        }


def encode(preferences: Sequence[Preference], renderer: Renderer) -> Encoded:
    """Render every preference. Raises DataError listing every row that is too long or cannot be rendered.

    Under the renderer's rule ``drop``, pairs that are too long are left out and counted instead.
    """
    texts = [(p.prompt, response) for p in preferences for response in (p.chosen, p.rejected)]
    rendered = renderer.render_many(texts)
    pairs: list[Pair] = []
    problems: list[str] = []
    dropped = cut_responses = cut_tokens = 0
    for index, preference in enumerate(preferences):
        sides = rendered[2 * index : 2 * index + 2]
        failures = [side for side in sides if isinstance(side, Exception)]
        if failures:
            if renderer.overlong == "drop" and all(isinstance(failure, TooLongError) for failure in failures):
                dropped += 1
            else:
                problems.append(f"{preference.meta.get('where', f'pair {index}')}: {failures[0]}")
            continue
        chosen, rejected = (side for side in sides if not isinstance(side, Exception))
        cut_responses += (chosen.cut > 0) + (rejected.cut > 0)
        cut_tokens += chosen.cut + rejected.cut
        pairs.append(
            Pair(
                chosen.ids,
                rejected.ids,
                preference.prompt,  # frozen, hence hashable
                preference.margin,
                preference.probability,
                preference.weight,
                len(text_of(preference.chosen)),
                len(text_of(preference.rejected)),
            )
        )
    if problems:
        raise DataError("rendering the preferences", problems)
    return Encoded(tuple(pairs), dropped, cut_responses, cut_tokens)


def schedule(pairs: Sequence[Pair], batch_pairs: int, *, seed: int, epoch: int) -> list[list[int]]:
    """The steps of one epoch: lists of pair indices, each of ``batch_pairs`` but the last.

    Prompts are shuffled, not pairs; a prompt with more pairs than half a step is spread over several steps, so that no
    step is about one prompt alone. Depends on nothing but its arguments, so that a resumed run continues the same way.
    """
    by_prompt: dict[Hashable, list[int]] = {}
    for index, pair in enumerate(pairs):
        by_prompt.setdefault(pair.prompt, []).append(index)
    generator = random.Random(f"{seed}:{epoch}")  # noqa: S311 - a shuffle, not a secret
    largest = max(1, batch_pairs // 2)
    blocks = []
    for members in by_prompt.values():
        generator.shuffle(members)
        blocks += [members[start : start + largest] for start in range(0, len(members), largest)]
    generator.shuffle(blocks)
    order = [index for block in blocks for index in block]
    return [order[start : start + batch_pairs] for start in range(0, len(order), batch_pairs)]


@dataclass(frozen=True, slots=True)
class Rows:
    """The distinct sequences of some pairs as trees, and where each pair's two scores will be.

    Scores come in the order of the trees and their branches; chosen and rejected are positions in that order.
    """

    trees: tuple[Tree, ...]
    chosen: tuple[int, ...]
    rejected: tuple[int, ...]


def rows_of(pairs: Sequence[Pair], *, share_prompts: bool) -> Rows:
    """Each distinct sequence once; under share_prompts, those of one prompt as one tree."""
    groups: dict[Hashable, dict[Ids, None]] = {}
    for pair in pairs:
        for ids in (pair.chosen, pair.rejected):
            groups.setdefault(_group(pair, ids, share_prompts), {})[ids] = None
    trees: list[Tree] = []
    place: dict[tuple[Hashable, Ids], int] = {}
    for group, members in groups.items():
        sequences = list(members)
        trees.append(share_prefix(sequences) if len(sequences) > 1 else plain(sequences[0]))
        for ids in sequences:
            place[group, ids] = len(place)
    return Rows(
        tuple(trees),
        tuple(place[_group(pair, pair.chosen, share_prompts), pair.chosen] for pair in pairs),
        tuple(place[_group(pair, pair.rejected, share_prompts), pair.rejected] for pair in pairs),
    )


def _group(pair: Pair, ids: Ids, share_prompts: bool) -> Hashable:
    return pair.prompt if share_prompts else ids


def chunks(pairs: Sequence[Pair], tokens: int) -> list[list[Pair]]:
    """Pairs in runs of at most ``tokens`` tokens (or one pair): what one backward holds in memory."""
    runs: list[list[Pair]] = []
    room = 0
    for pair in pairs:
        cost = len(pair.chosen) + len(pair.rejected)
        if not runs or cost > room:
            runs.append([])
            room = tokens
        runs[-1].append(pair)
        room -= cost
    return runs
