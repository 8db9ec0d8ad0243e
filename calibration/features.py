"""What a response looks like, as numbers: the features a scorer may follow in place of quality.

    feature("length")("Hello **there**")       # 15.0
    measure(["length", "markdown"], texts)     # {"length": (n,), "markdown": (n,)}

Each is a function of the response's text alone and takes time linear in it, whatever the text. Those that count words
of praise, doubt or refusal know English only: in other languages they are 0, and say nothing. Counts, not shares,
unless said otherwise; a count of marks grows with the length, so debias length first, or both jointly.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from guerdon.rewards.errors import UnknownNameError

if TYPE_CHECKING:
    from guerdon.calibration._arrays import Floats

Feature: TypeAlias = Callable[[str], float]

# Anchored at line starts and without nested repetition: every pattern is linear in the text.
_HEADING = re.compile(r"^[ ]{0,3}#{1,6}[ \t]", re.MULTILINE)
_ITEM = re.compile(r"^[ \t]*+(?:[-*+•]|\d{1,3}[.)])[ \t]", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*+\|", re.MULTILINE)
_QUOTE = re.compile(r"^[ ]{0,3}>", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*+(?:```|~~~)", re.MULTILINE)
_BOLD = re.compile(r"\*\*[^*\n]++\*\*|__[^_\n]++__")
# the full stop of "1." at the start of a line ends none
_SENTENCE_END = re.compile(r"(?<!^\d)(?<!^\d\d)[.!?](?=\s|$)|[。！？](?![。！？])", re.MULTILINE)
_EMOJI = re.compile("[\U0001f300-\U0001faff\u2600-\u27bf\U0001f1e6-\U0001f1ff]")
_WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff]")


def _words(*phrases: str) -> re.Pattern[str]:
    """Any of the phrases as whole words, in any case; a blank in a phrase is one blank, an apostrophe either form."""
    parts = sorted((phrase.replace("'", "['’]") for phrase in phrases), key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(parts)})\b", re.IGNORECASE)


_FLATTERY = _words(
    "(?:great|good|excellent|wonderful|fantastic|brilliant|fascinating|insightful|thoughtful) (?:question|point|idea)",
    "(?:you're|you are) (?:absolutely|completely|totally|so|quite) right",
    "(?:you're|you are) (?:brilliant|amazing|wonderful|very wise|so smart)",
    "(?:absolutely|certainly|of course) right",
    "what an? (?:great|excellent|wonderful|fantastic|brilliant|amazing|fascinating|insightful|thoughtful)",
    "i (?:completely|totally|wholeheartedly|fully|absolutely) agree",
    "i'd be (?:happy|delighted|glad) to",
    "i love (?:that|this|your)",
    "great job",
    "well said",
)
_HEDGING = _words(
    "perhaps",
    "maybe",
    "possibly",
    "probably",
    "presumably",
    "arguably",
    "might",
    "could be",
    "may be",
    "it seems",
    "seems to",
    "appears to",
    "it depends",
    "i think",
    "i believe",
    "i'm not sure",
    "i am not sure",
    "as far as i know",
    "generally speaking",
    "to some extent",
    "in some cases",
)
_REFUSAL = _words(
    "i can't",
    "i cannot",
    "i am unable to",
    "i'm unable to",
    "i won't",
    "i'm sorry",
    "i am sorry",
    "i apologi[sz]e",
    "as an ai",
)


def _count(pattern: re.Pattern[str]) -> Feature:
    return lambda text: float(sum(1 for _ in pattern.finditer(text)))


_headings, _lists, _bold, _quotes = _count(_HEADING), _count(_ITEM), _count(_BOLD), _count(_QUOTE)
_tables, _fences, _wide = _count(_TABLE_ROW), _count(_FENCE), _count(_WIDE)


def _code(text: str) -> float:
    return float(_fences(text) // 2)


def _markdown(text: str) -> float:
    return _headings(text) + _lists(text) + _bold(text) + _quotes(text) + _tables(text) + _code(text)


def _tokens(text: str) -> float:
    wide = _wide(text)
    return wide + (len(text) - wide) / 4


def _sentences(text: str) -> float:
    return float(sum(1 for _ in _SENTENCE_END.finditer(text)))


def _repetition(text: str) -> float:
    """Share of the runs of three words that stood there before."""
    words = text.casefold().split()
    runs = max(len(words) - 2, 0)
    distinct = len(set(zip(words, words[1:], words[2:], strict=False)))
    return 1.0 - distinct / runs if runs else 0.0


_FEATURES: dict[str, tuple[Feature, str]] = {
    "length": (lambda text: float(len(text)), "characters"),
    "words": (lambda text: float(len(text.split())), "words between white space (few in Chinese or Japanese)"),
    "tokens": (_tokens, "tokens, roughly: one a CJK character, else one in four characters"),
    "sentences": (_sentences, "ends of sentences, roughly"),
    "lines": (lambda text: float(len(text.splitlines())), "lines"),
    "markdown": (_markdown, "all Markdown marks: headings, list items, bold, quotes, table rows, code blocks"),
    "headings": (_headings, "lines that start with #"),
    "lists": (_lists, "list items, bulleted or numbered"),
    "bold": (_bold, "bold passages"),
    "tables": (_tables, "table rows"),
    "code": (_code, "fenced code blocks"),
    "exclamations": (lambda text: float(text.count("!") + text.count("！")), "exclamation marks"),
    "questions": (lambda text: float(text.count("?") + text.count("？")), "question marks"),
    "emoji": (_count(_EMOJI), "emoji and pictographs"),
    "flattery": (_count(_FLATTERY), "phrases that praise or agree with the user (English)"),
    "hedging": (_count(_HEDGING), "words of doubt (English)"),
    "refusal": (_count(_REFUSAL), "phrases of refusal or apology (English)"),
    "repetition": (_repetition, "share of the runs of three words that stood there before, 0 to 1"),
}


def names() -> list[str]:
    """The features there are, length first."""
    return list(_FEATURES)


def meaning(name: str) -> str:
    """What a feature counts, in a few words."""
    return _of(name)[1]


def feature(name: str) -> Feature:
    """The feature of this name, a function from a response's text to a number >= 0. UnknownNameError if there is none.

    >>> feature("lists")("1. one\\n2. two")
    2.0
    """
    _of(name)
    return _Named(name)


class _Named:
    """A feature by its name: it pickles, and prints as what it is."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, text: str) -> float:
        return _FEATURES[self.name][0](text)

    def __repr__(self) -> str:
        return f"feature({self.name!r})"


def _of(name: str) -> tuple[Feature, str]:
    if name not in _FEATURES:
        raise UnknownNameError("feature", str(name), _FEATURES)
    return _FEATURES[name]


def measure(features: Iterable[str], texts: Sequence[str]) -> dict[str, Floats]:
    """Each feature of each text, (n,) by name."""
    from guerdon.calibration._arrays import np

    return {name: np.array([feature(name)(text) for text in texts], dtype=np.float64) for name in features}
