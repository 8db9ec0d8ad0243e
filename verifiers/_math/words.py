"""Answers in words: equal up to dress, case and articles, and where two ways of saying it are the same answer.

Words are no mathematics: nothing in them is computed, and a sentence equals only itself.
"""

from __future__ import annotations

import re
from fractions import Fraction

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.judging import Ask, equal, unequal
from guerdon.verifiers._math.tree import Constant, NamedSet, Node, Number, Text

_ARTICLE = re.compile(r"\b(?:a|an|the)\b ?")
_PUNCTUATION = re.compile(r"[\"'`.,;:!?()\[\]]+(?=\s|$)|(?<!\S)[\"'`(\[]+")

_SAME: tuple[frozenset[str], ...] = (
    frozenset({"yes", "true", "correct"}),
    frozenset({"no", "false", "incorrect"}),
    frozenset({"infinitely many", "infinitely many solutions", "infinite", "infinite solutions", "infinite number"}),
    frozenset({"diverges", "divergent", "series diverges", "does not converge"}),
    frozenset({"converges", "convergent", "series converges"}),
)
_EMPTY = frozenset({
    *("no solution", "no solutions", "no real solution", "no real solutions", "no solution exists", "none", "empty"),
    *("no solutions exist", "there is no solution", "there are no solutions", "there are no real solutions"),
    *("empty set", "null set", "no such numbers", "no such number", "no such values", "no values"),
    *("no integer solutions", "no integer solution", "no positive integers", "no such integers"),
})  # fmt: skip
_UNDEFINED = frozenset({"undefined", "not defined", "does not exist", "dne", "doesn't exist", "limit does not exist"})
_INFINITE = frozenset({"infinity", "positive infinity", "infinitely many", "infinite"})
_NUMBERS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)


def word_rule(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    """At least one side is words."""
    if not (isinstance(answer, Text) or isinstance(reference, Text)):
        return None
    a, b = _meant(answer), _meant(reference)
    if isinstance(a, Text) and isinstance(b, Text):
        same = _same_words(a.text, b.text)
        return equal("words") if same else unequal("words", "other words")
    if isinstance(a, Text) or isinstance(b, Text):
        return unequal("kinds", "words against mathematics")
    return equal("words") if a == b else ask.same(a, b)


def _same_words(a: str, b: str) -> bool:
    return a == b or any(a in group and b in group for group in _SAME)


def _meant(node: Node) -> Node:
    """Words in their plainest form; those with a mathematical meaning as that."""
    if not isinstance(node, Text):
        return node
    words = plainest(node.text)
    if words in _EMPTY:
        return NamedSet("empty")
    if words in _UNDEFINED:
        return Constant("undefined")
    if words in _NUMBERS:
        return Number(Fraction(_NUMBERS.index(words)))
    return Text(words)


def plainest(text: str) -> str:
    """Lower case, without articles and the punctuation around words."""
    words = _PUNCTUATION.sub("", text.casefold())
    return " ".join(_ARTICLE.sub("", " ".join(words.split())).split())
