"""What the rules of comparison share: how to ask for the parts of two answers, and how to put the replies together.

A rule is a function of two answers that returns a Decision, or None where it has nothing to say about such a pair. The
answer always comes first and the reference second, down to the last part, since a policy may tell them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.policies import Policy
from guerdon.verifiers._math.tree import Node

MOST_PAIRS = 2_500
"""Pairs of items that one matching may compare: 50 against 50 that are all written differently."""


class Ask(Protocol):
    """One comparison under way: its policy, when it must end (``time.monotonic()`` or None), and itself, for parts."""

    @property
    def policy(self) -> Policy: ...

    @property
    def deadline(self) -> float | None: ...

    def same(self, answer: Node, reference: Node) -> Decision: ...


Rule: TypeAlias = Callable[[Node, Node, Ask], Decision | None]


def equal(stage: str, reason: str = "") -> Decision:
    return Decision(True, stage, reason)


def unequal(stage: str, reason: str = "") -> Decision:
    return Decision(False, stage, reason)


def all_of(decisions: Iterable[Decision], stage: str) -> Decision:
    """Equal if all are. Asks no further once one is unequal; what could not be told is told only if none is unequal."""
    unknown: Decision | None = None
    deepest = equal(stage)
    for decision in decisions:
        if decision.equal is False:
            return decision
        if decision.equal is None:
            unknown = unknown or decision
        elif decision.stage != "structure":
            deepest = decision
    return unknown or deepest


def any_of(decisions: Iterable[Decision], otherwise: Decision) -> Decision:
    """Equal if one is; else what could not be told, else ``otherwise``."""
    unknown: Decision | None = None
    for decision in decisions:
        if decision.equal:
            return decision
        if decision.equal is None:
            unknown = unknown or decision
    return unknown or otherwise


def in_order(answers: Sequence[Node], references: Sequence[Node], ask: Ask, stage: str) -> Decision:
    """Item by item."""
    if len(answers) != len(references):
        return unequal(stage, f"{len(answers)} items against {len(references)}")
    return all_of((ask.same(a, b) for a, b in zip(answers, references, strict=True)), stage)


def in_any_order(answers: Sequence[Node], references: Sequence[Node], ask: Ask, stage: str) -> Decision:
    """As often on one side as on the other, in any order.

    Sameness is an equivalence, so that the first partner found is as good as any: matched, not sorted, since values
    have no common order.
    """
    if len(answers) != len(references):
        return unequal(stage, f"{len(answers)} items against {len(references)}")
    counts = Counter(references)
    rest = []
    for answer in answers:  # what is written alike needs no arithmetic
        if counts[answer]:
            counts[answer] -= 1
        else:
            rest.append(answer)
    left = list(counts.elements())
    if len(rest) * len(left) > MOST_PAIRS:
        return Decision(None, stage, f"{len(rest)} items would have to be matched", status="refused")
    matched = equal(stage)
    unknown: Decision | None = None
    for answer in rest:
        for index, reference in enumerate(left):
            decision = ask.same(answer, reference)
            if decision.equal:
                del left[index]
                matched = decision
                break
            unknown = unknown or (decision if decision.equal is None else None)
        else:
            return unknown or unequal(stage, "an item that the reference does not have")
    return matched


def without_repeats(items: Sequence[Node], ask: Ask) -> list[Node]:
    """The items of a set, each once."""
    kept: list[Node] = []
    for item in dict.fromkeys(items):
        if len(kept) ** 2 > MOST_PAIRS or not any(ask.same(item, other).equal for other in kept):
            kept.append(item)
    return kept
