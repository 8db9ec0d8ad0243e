r"""``parse`` and ``verify`` with the names and call forms of math-verify 0.9, decided by our verifier.

    from guerdon.verifiers.drop_ins.math_verify import parse, verify
    verify(parse(r"$\frac{1}{2}$"), parse("The answer is 0.5"))

Works in any thread; no signals, and nothing to switch off. ``parse`` gives ``[]`` for what cannot be read, as
math-verify does, and ``verify`` gives None, which is no bool, where it cannot tell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from guerdon.rewards.errors import UnscoredError, UsageError
from guerdon.verifiers._answer import MARKED, STYLES, Style, find_answer
from guerdon.verifiers._math.compiled import read
from guerdon.verifiers._math.decide import Asked, decide
from guerdon.verifiers._math.policies import Policy
from guerdon.verifiers._text import plain, trim

_MOST_WORDS = 4
"""Words that are an answer by themselves ("the graph is connected"); more are prose that holds none."""
_FORMULA = re.compile(
    r"\\(?:begin|end|text[a-z]*|mathrm|operatorname)\{[^{}]*\}|\\[A-Za-z]+|(?:sqrt|sin|cos|tan|log|exp|arc|inf)"
)
_PROSE = re.compile(
    r"(?<![A-Za-z])(?:(?!and\b)[A-Za-z]{3}|(?:it|is|so|we|to|of|as|at|by|if|in|on|be|an|my|he)\b)", re.IGNORECASE
)
"""Words outside formulas: a text with one of them is no formula as a whole."""
_EXACT_ROUNDING = 6
"""math-verify's default of float_rounding, which here means exact."""


@dataclass(frozen=True)
class LatexNormalizationConfig:
    """Accepted and not needed: the parser reads all of this."""

    basic_latex: bool = True
    units: bool = True
    malformed_operators: bool = True
    nits: bool = True
    boxed: str | bool = "all"
    equations: bool = False


@dataclass(frozen=True)
class LatexExtractionConfig:
    """try_extract_without_anchor: whether a formula without a mark or a phrase before it may be the answer.

    boxed_match_priority: -1 leaves boxes out; otherwise the mark that stands last counts, whatever the number.
    """

    try_extract_without_anchor: bool = True
    boxed_match_priority: int = 50
    normalization_config: LatexNormalizationConfig = field(default_factory=LatexNormalizationConfig)


@dataclass(frozen=True)
class ExprExtractionConfig:
    """try_extract_without_anchor: whether a number without a mark or a phrase before it may be the answer."""

    try_extract_without_anchor: bool = True


@dataclass(frozen=True)
class StringExtractionConfig:
    """strings: the only answers there are, such as letters. lowercase: whether they are given in lower case."""

    strings: tuple[str, ...] = ("A", "B", "C", "D")
    try_extract_without_anchor: bool = True
    lowercase: bool = True


ExtractionTarget: TypeAlias = LatexExtractionConfig | ExprExtractionConfig | StringExtractionConfig


@dataclass(frozen=True, slots=True)
class Parsed:
    """An answer that was found and can be read. Its ``str`` is the answer's text."""

    text: str

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def parse(
    pred: str,
    extraction_config: Sequence[ExtractionTarget] = (LatexExtractionConfig(), ExprExtractionConfig()),
    fallback_mode: Literal["no_fallback", "first_match"] = "first_match",
    extraction_mode: Literal["first_match", "any_match"] = "any_match",
    parsing_timeout: int | None = 5,
    raise_on_error: bool = False,
) -> list[Parsed | str]:
    r"""The final answer of a text as ``[Parsed, its text]``, only the text if it is not readable, ``[]`` without one.

    fallback_mode: "no_fallback" gives ``[]`` for an answer that cannot be read. extraction_mode, parsing_timeout: not
    needed, since one answer is final and reading takes linear time. raise_on_error: raises UsageError where nothing
    can be read.

    >>> parse(r"Thus \boxed{\frac{1}{2}}."), parse("The answer is A", [StringExtractionConfig()])
    ([\frac{1}{2}, '\\frac{1}{2}'], ['a', 'A'])
    """
    text = _answer_text(pred, extraction_config) if isinstance(pred, str) else None
    choices = [config for config in extraction_config if isinstance(config, StringExtractionConfig)]
    for config in choices:
        if text is not None and (found := _one_of(text, config)):
            return [found.lower() if config.lowercase else found, found]
    if text is None or len(choices) == len(extraction_config):
        if raise_on_error:
            raise UsageError(f"no answer found in {pred!r:.80}")
        return []
    known = read(text, keep=True)
    if known.node is not None:
        return [Parsed(text), text]
    if raise_on_error:
        raise UsageError(f"cannot read the answer {text!r:.80}: {known.reason}")
    return [text] if fallback_mode == "first_match" else []


def verify(
    gold: Any,
    target: Any,
    float_rounding: int = _EXACT_ROUNDING,
    numeric_precision: int = 15,
    strict: bool = True,
    allow_set_relation_comp: bool = False,
    timeout_seconds: float | None = 5,
    raise_on_error: bool = False,
) -> bool | None:
    r"""Whether any target is any gold: True, False, or None if nobody can tell (the gold is unread, or time is up).

    gold, target: what ``parse`` gave, or texts, numbers, sympy expressions (by their text), or lists of them.
    float_rounding: other than 6, the decimals that must agree. numeric_precision, allow_set_relation_comp: not needed;
    values are exact, and sets equal relations in both directions. strict: False ignores the kind of brackets and the
    name of a single variable. timeout_seconds: of one comparison; None or 0 is the default. raise_on_error: raises
    UnscoredError instead of giving None.

    >>> verify(parse("$(1, 2)$"), parse("$1 < x < 2$")), verify(parse("1/3"), parse("0.333333")), verify([], parse("1"))
    (True, False, None)
    """
    golds, targets = _texts(gold), _texts(target)
    asked = _asked(float_rounding, strict, timeout_seconds)
    reason = "the gold holds no answer that can be read" if not golds else ""
    for one in golds:
        for other in targets:
            found = decide(other, one, asked)
            if found.equal:
                return True
            reason = found.reason if found.equal is None else reason
    if not reason:
        return False
    if raise_on_error:
        raise UnscoredError(reason)
    return None


def math_metric(
    gold_extraction_target: Sequence[ExtractionTarget] = (ExprExtractionConfig(),),
    pred_extraction_target: Sequence[ExtractionTarget] = (ExprExtractionConfig(),),
    aggregation_function: Callable[[list[float]], float] = max,
    precision: int = _EXACT_ROUNDING,
) -> Callable[[list[str], list[str]], tuple[float, tuple[list[str], list[str]]]]:
    """A function of golds and predictions that gives the aggregate of their verdicts and what was extracted.

    Raises UnscoredError where a gold cannot be read or a prediction cannot be judged.
    """

    def metric(golds: list[str], predictions: list[str]) -> tuple[float, tuple[list[str], list[str]]]:
        read_golds = [parse(gold, gold_extraction_target) for gold in golds]
        if not all(read_golds):
            raise UnscoredError(f"no gold targets found for at least one gold: {golds!r:.200}")
        read_predictions = [parse(said, pred_extraction_target) for said in predictions]
        everything = [item for gold in read_golds for item in gold]
        verdicts = [bool(verify(everything, said, precision, raise_on_error=True)) for said in read_predictions]
        shown = ([str(gold[0]) for gold in read_golds], [str(said[0]) for said in read_predictions if said])
        return aggregation_function([float(verdict) for verdict in verdicts]), shown

    return metric


def _answer_text(pred: str, configs: Sequence[ExtractionTarget]) -> str | None:
    """The marked answer; else the whole text, if it is a formula; else what is said last; else a few words."""
    styles: set[Style] = set(MARKED)
    latex = [config for config in configs if isinstance(config, LatexExtractionConfig)]
    if latex and all(config.boxed_match_priority < 0 for config in latex):
        styles.discard("boxed")
    marked = find_answer(pred, styles=tuple(styles))
    if marked.text is not None or marked.flags:
        return marked.text
    whole = pred[slice(*trim(pred))]
    unboxed = "boxed" in styles or "\\boxed" not in pred
    readable = bool(whole) and unboxed and read(whole, keep=False).node is not None
    if readable and not _PROSE.search(_FORMULA.sub(" ", whole)):
        return whole
    free = any(config.try_extract_without_anchor for config in configs)
    styles |= set(STYLES) - set(MARKED) if free else {"phrase"}
    said = find_answer(pred, styles=tuple(styles))
    few_words = readable and len(whole.split()) <= _MOST_WORDS
    return whole if said.text is None and few_words else said.text


def _one_of(text: str, config: StringExtractionConfig) -> str | None:
    """The string that a text is, or begins with as in "B: the rate doubles"."""
    said = plain(text).strip("()[]. ")
    for string in config.strings:
        if said.casefold() == string.casefold() or said.startswith((f"{string}. ", f"{string}: ", f"{string}) ")):
            return string
    return None


def _texts(side: Any) -> list[str]:
    items = side if isinstance(side, list | tuple) else [side]
    texts = dict.fromkeys(str(item) for item in items if item is not None)
    return [text for text in texts if text.strip()]


def _asked(float_rounding: int, strict: bool, timeout_seconds: float | None) -> Asked:
    policy = Policy(
        tolerance=Fraction(0) if float_rounding == _EXACT_ROUNDING else Fraction(1, 2 * 10**float_rounding),
        brackets="match" if strict else "ignore",
        parameters="match" if strict else "rename",
    )
    limited = timeout_seconds is not None and 0 < timeout_seconds < math.inf
    return Asked(policy, timeout_seconds) if limited and timeout_seconds else Asked(policy)
