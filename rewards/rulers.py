"""Rulers: scorers that know nothing of quality. A reward model that cannot beat them on a set has not shown much there.

On many public sets "the longer response" wins two pairs of three or more (reward-bench issues 267 and 268: 100 % and
2.1 times chance), so an accuracy means little until the rulers' accuracies on the very same rows stand beside it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from guerdon.rewards.scorer import Scorer, pointwise
from guerdon.rewards.types import Sample, Scale, Score

# Marks at the start of a line: headings, list items, numbered items, quotes, table rows. Then fences and emphasis.
_LINE_MARK = re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]|[-*+•][ \t]|\d{1,3}[.)][ \t]|>|\|)", re.MULTILINE)
_FENCE = re.compile(r"```|\*\*|__")


def length(sample: Sample) -> Score:
    """The response's length in characters."""
    n = len(sample.response_text)
    return Score(float(n), f"{n} characters")


def markdown(sample: Sample) -> Score:
    """How many Markdown marks the response holds.

    Headings, list items, quotes and table rows count one each, and so does a pair of ``**``, ``__`` or fences.
    """
    text = sample.response_text
    marks = len(_LINE_MARK.findall(text)) + len(_FENCE.findall(text)) // 2
    return Score(float(marks), f"{marks} Markdown marks")


class RandomRuler:
    """A number in [0, 1) from a hash of the seed and the texts: the same sample, the same number, in any batch."""

    name = "random"
    scale: Scale = "real"

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.version = f"1-{seed}"

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return [Score(self._draw(sample), "random") for sample in samples]

    def _draw(self, sample: Sample) -> float:
        texts = f"{self.seed} {sample.prompt!r} {sample.response!r}"  # repr escapes what has no UTF-8 form
        digest = blake2b(texts.encode(), digest_size=8).digest()
        return (int.from_bytes(digest, "big") >> 11) / 2**53


def rulers(seed: int = 0) -> tuple[Scorer, ...]:
    """The three that every evaluation prints: longer wins, more Markdown wins, a coin.

    >>> [ruler.name for ruler in rulers()]
    ['length', 'markdown', 'random']
    """
    return (
        pointwise(length, scale="real", name="length"),
        pointwise(markdown, scale="real", name="markdown"),
        RandomRuler(seed),
    )
