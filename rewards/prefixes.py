"""Which sequences are worth computing together because they begin alike: the responses to one prompt.

Sharing is decided by the token ids themselves, so that it also works for callers who send whole conversations and name
no prompt. Plain Python: a serving queue asks the same questions as the model and loads no torch.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

Ids = tuple[int, ...]

MIN_SHARED = 16
"""Tokens of a common beginning below which nothing is shared: a template's first tokens are the same for everybody."""

MIN_PART = 0.25
"""Without a named prompt, the part of the shorter sequence that must be common to call two sequences a group. A long
system prompt alone should not join strangers: their tree would be attention over each other's blocked positions."""

MIN_SAVED = 0.1
"""The part of a group's tokens that sharing must save; below it the tree's mask costs more than it spares."""


def common(a: Ids, b: Ids) -> int:
    """How many leading ids two sequences share. By bisection over slices: comparing them runs in C.

    >>> common((1, 2, 3), (1, 2, 4, 5))
    2
    """
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def shared(sequences: Sequence[Ids]) -> int:
    """The length of the beginning that all sequences share, leaving each at least its last id."""
    # Everything lies between the two extremes, so what they share all share.
    first, last = min(sequences), max(sequences)
    return min(common(first, last), min(map(len, sequences)) - 1)


def tree_length(sequences: Sequence[Ids]) -> int:
    """Tokens of the sequences with their common beginning counted once."""
    return sum(map(len, sequences)) - shared(sequences) * (len(sequences) - 1)


def groups(sequences: Sequence[Ids], prompts: Sequence[Hashable | None], budget: int) -> list[list[int]]:
    """Indices of the sequences that should share a computation; those that share nothing stand alone.

    prompts: equal entries mark responses to one prompt; None is unknown, and then the ids decide.
    budget: the most tokens of one tree; a larger group is cut into several. The order of indices is kept.
    """
    found: dict[Hashable, list[int]] = {}
    unknown: list[int] = []
    for index, prompt in enumerate(prompts):
        if prompt is None:
            unknown.append(index)
        else:
            found.setdefault(prompt, []).append(index)
    candidates = [*found.values(), *_neighbours(sequences, unknown)]
    return sorted((part for group in candidates for part in _parts(sequences, group, budget)), key=min)


def _neighbours(sequences: Sequence[Ids], indices: list[int]) -> list[list[int]]:
    """In the order of the ids, runs of sequences of which each shares enough with the one before."""
    runs: list[list[int]] = []
    for index in sorted(indices, key=lambda i: sequences[i]):
        if runs:
            before, here = sequences[runs[-1][-1]], sequences[index]
            length = common(before, here)
            if length >= max(MIN_SHARED, MIN_PART * min(len(before), len(here))):
                runs[-1].append(index)
                continue
        runs.append([index])
    return [sorted(run) for run in runs]


def _parts(sequences: Sequence[Ids], group: list[int], budget: int) -> list[list[int]]:
    """A group cut into trees within the budget, or into single sequences where sharing saves too little."""
    if len(group) == 1:
        return [group]
    beginning = shared([sequences[i] for i in group])
    total = sum(len(sequences[i]) for i in group)
    if beginning < MIN_SHARED or beginning * (len(group) - 1) < MIN_SAVED * total:
        return [[index] for index in group]
    parts: list[list[int]] = []
    size = budget + 1
    for index in group:
        branch = len(sequences[index]) - beginning
        if size + branch > budget:
            parts.append([])
            size = beginning
        parts[-1].append(index)
        size += branch
    return parts
