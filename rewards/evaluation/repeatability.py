"""Whether a score depends on anything but its sample: the batch, the order, the padding side, the precision.

It is the most frequent fault of reward models in public issue threads, and it hides: accuracies stay plausible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.rewards.errors import UsageError
from guerdon.rewards.evaluation._numeric import Floats, np
from guerdon.rewards.evaluation.scoring import ask
from guerdon.rewards.report import Repeat
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import Sample, Score


def variants_of(scorer: Scorer) -> Mapping[str, Scorer]:
    """What the scorer's optional method ``variants()`` gives. Raises UsageError where that is no mapping."""
    method: Any = getattr(scorer, "variants", None)
    if method is None:
        return {}
    variants = method()
    if not isinstance(variants, Mapping):
        raise UsageError(f"{scorer.name!r}.variants() must give a mapping of names to scorers, got {variants!r:.80}")
    return variants


def repeats(
    scorer: Scorer,
    variants: Mapping[str, Scorer],
    samples: Sequence[Sample],
    links: Sequence[tuple[int, int]],
    first: Floats,
    rows: int,
) -> tuple[Repeat, ...]:
    """Score some samples together, then in other ways, and compare.

    variants: of the scorer, which must give the same. links: pairs of samples whose order matters. first: values of
    all samples in the evaluation's own run. rows: pairs to take (samples, when there are no pairs); they are spread
    evenly over the lengths, so that padding is exercised.
    """
    if rows == 0:
        return ()
    chosen = _spread(samples, links or [(i, i) for i in range(len(samples))], rows)
    indices = list(dict.fromkeys(i for link in chosen for i in link))
    place = {index: i for i, index in enumerate(indices)}
    pairs = [(place[i], place[j]) for i, j in chosen if i != j]
    subset = [samples[i] for i in indices]
    together = _values(ask(scorer, subset))
    ways: dict[str, Floats] = {
        f"one at a time, against {len(subset)} together": _values([ask(scorer, [sample])[0] for sample in subset]),
        "in reversed order": _values(ask(scorer, subset[::-1]))[::-1],
        "in the evaluation's own batches": first[indices],
    }
    for name, variant in variants.items():
        ways[name] = _values(ask(variant, subset))
    return tuple(_compare(way, together, values, pairs) for way, values in ways.items())


def _spread(samples: Sequence[Sample], links: Sequence[tuple[int, int]], rows: int) -> list[tuple[int, int]]:
    """``rows`` links, evenly spaced when sorted by length."""
    length = {i: len(samples[i].prompt_text) + len(samples[i].response_text) for link in links for i in link}
    order = sorted(links, key=lambda link: length[link[0]] + length[link[1]])
    if len(order) <= rows:
        return order
    return [order[i] for i in np.linspace(0, len(order) - 1, rows).astype(int)]


def _values(scores: Sequence[Score]) -> Floats:
    return np.array([np.nan if score.value is None else score.value for score in scores])


def _compare(way: str, base: Floats, other: Floats, pairs: Sequence[tuple[int, int]]) -> Repeat:
    both = np.isfinite(base) & np.isfinite(other)
    change = np.abs(base - other)[both]
    known = [(i, j) for i, j in pairs if both[i] and both[j]]
    return Repeat(
        way=way,
        samples=int(both.sum()),
        pairs=len(known),
        max_change=float(change.max()) if len(change) else None,
        mean_change=float(change.mean()) if len(change) else None,
        flipped=sum(int(np.sign(base[i] - base[j]) != np.sign(other[i] - other[j])) for i, j in known),
        unscored=int((np.isfinite(base) != np.isfinite(other)).sum()),
    )
