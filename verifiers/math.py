r"""Whether the response's final answer is the reference, as mathematics.

Numbers, expressions, equations, inequalities, intervals, sets, lists, tuples, vectors, matrices, functions, quantities,
money, angles, ratios, times, dates, digits in a base, choices and words, in LaTeX, plain text or both. An answer is
read whole or not at all, equal means exactly equal, and nothing is executed.

An answer that is wrong, missing or unreadable is 0. A reference that cannot be read, a comparison that runs out of time
and one that cannot be decided are unscored, each with its status.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import Score
from guerdon.verifiers._answer import STYLES, Style, find_answer
from guerdon.verifiers._math import policies as words
from guerdon.verifiers._math.decide import Asked, Found, decide, shown, unread_reason
from guerdon.verifiers._math.policies import allowed_tolerance, policy_of
from guerdon.verifiers._math.references import reference_texts

EXAMPLES = (
    (r"So the answer is $\boxed{\frac{\sqrt{2}}{2}}$.", r"\frac{1}{\sqrt{2}}", 1),
    ("The answer is x^2 + 2x + 1.", "(x+1)^2", 1),
    (r"\boxed{x \in (-\infty, 2) \cup (2, \infty)}", r"x \neq 2", 1),
    (r"\boxed{1 - \sqrt{19}, 1 + \sqrt{19}}", r"1 \pm \sqrt{19}", 1),
    (r"\boxed{\begin{bmatrix} 0.5 & 0 \\ 0 & 1 \end{bmatrix}}", r"\begin{pmatrix} 1/2 & 0 \\ 0 & 1 \end{pmatrix}", 1),
    ("Answer: y = (3 - 2x)/4", "2x + 4y - 3 = 0", 1),
    (r"\boxed{(D)\ 24}", "D", 1),
    ("#### 1,250", "She pays 5 * 250 = 1250. #### 1250", 1),
    (r"\boxed{6.28}", r"2\pi", 0),
    (r"\boxed{(1, 2)}", r"\{1, 2\}", 0),
    (r"\boxed{3}", "n = 3k", 0),
    (r"\boxed{3 \text{ or } 4}", "3", 0),
    (r"\boxed{5 \text{ cm}}", r"50 \text{ mm}", 1),
    (r"\boxed{5 \text{ cm}}", r"50 \text{ mm}", 0, {"units": "match"}),
    (r"\boxed{\frac{20}{3}}", "6.67", 1),
    (r"\boxed{\frac{20}{3}}", "6.67", 0, {"rounding": "exact"}),
    (r"\boxed{9^{9^{9^9}}}", "7", 0),
    ("", "7", 0),
    (r"\boxed{7}", "", None),
    (r"\boxed{7}", r"\frac{1}{", None),
)


def verify(
    response: str,
    reference: Any,
    *,
    percent: words.Percent = "either",
    units: words.Units = "convert",
    rounding: words.Rounding = "reference",
    tolerance: float | str = 0,
    order: words.Order = "free",
    several: words.Several = "all",
    brackets: words.Brackets = "match",
    pairs: words.Pairs = "either",
    ends: words.Ends = "match",
    vectors: words.Vectors = "any",
    ratios: words.Ratios = "value",
    bases: words.Bases = "digits",
    log: words.Log = "either",
    parameters: words.Parameters = "match",
    letters: words.Letters = "text",
    styles: Sequence[Style] = STYLES,
    time_limit: float = 0.5,
    prompt: str = "",
    meta: Mapping[str, Any] | None = None,
) -> Score:
    r"""1 if the response's final answer is the reference.

    reference: text or a number; text may end with its answer ("… #### 42", "\boxed{42}"). A list holds several
    references, any of which is right.
    percent: with a percent sign on one side only, p% is p/100 or p ("either"), only p/100 ("value"), only p ("ignore");
    "either" reads a number below one as p/100 only. units: 5 cm is 50 mm ("convert"), only the same units are equal
    ("match"), or they are dropped ("ignore"). rounding: a reference of three digits or more, two of them decimals,
    accepts the exact value that rounds to it ("reference") or not ("exact"). tolerance: the most by which real values
    may differ.
    order: a list without brackets is unordered ("free") or in order ("kept"). several: all values of a list must be
    given ("all"), or some of them suffice ("any"). brackets: "1, 2" is not "(1, 2)" ("match") or is ("ignore"). pairs:
    "(1, 2)" equals "1 < x < 2" ("either") or is a point only ("point"). ends: "[1, 2]" is not "(1, 2)" ("match") or is
    ("ignore"). vectors: a column, angle brackets, round brackets and i + 2j are one vector ("any") or not ("match").
    ratios: 3:1 is 3 ("value") or not ("match"). bases: 204_5 may be given as 204 ("digits"), only with its base
    ("match"), or as any number of that value ("value"). log: a log without base is of base 10 or e, whichever fits
    ("either"), or of that base. parameters: a single free parameter keeps its name ("match") or not ("rename").
    letters: an option may be given by its letter or, where the prompt or ``meta["choices"]`` lists the options, by its
    text ("text"); by its letter only ("only"); letters are variables ("off").
    styles: how an answer may be given. time_limit: seconds for one comparison, after which it is unscored.
    """
    started = time.perf_counter()
    policy = policy_of(
        *(percent, units, rounding, tolerance, order, several, brackets, pairs, ends, vectors, ratios, bases, log),
        *(parameters, letters),
    )
    asked = Asked(policy, time_limit, prompt, meta if meta is not None else {})
    references = reference_texts(reference)
    if not references:
        return Score.unscored(f"the reference is no answer: {reference!r:.80}", status="not_applicable")
    answer = find_answer(response, styles=styles)
    if answer.text is None:
        unread = [unread_reason(text) for text in references]
        if all(unread) and unread[0]:
            return Score.unscored(unread[0][0], answer.details(stage="unread"), status=unread[0][1])
        return Score(0.0, answer.reason, answer.details(stage="no answer", ms=_since(started)))
    found = _first_right(answer.text, references, asked)
    details = answer.details(kind=found.kind, stage=found.stage, ms=_since(started))
    if found.equal is None:
        return Score.unscored(found.reason, details, status=found.status)
    return Score(float(found.equal), found.reason, details)


def _first_right(answer: str, references: Sequence[str], asked: Asked) -> Found:
    """The reference that the answer is; else the first that could not be judged; else the last."""
    unknown: Found | None = None
    for reference in references:
        found = decide(answer, reference, asked)
        if found.equal:
            return found
        if found.equal is None:
            unknown = unknown or found
    return unknown or found


def _since(started: float) -> float:
    return int((time.perf_counter() - started) * 1e6) / 1000  # in milliseconds; rounding takes three times as long


def check_options(*, tolerance: float | str = 0, time_limit: float = 0.5, **_: Any) -> None:
    if allowed_tolerance(tolerance) is None:
        raise UsageError(
            f"tolerance must be a finite number >= 0, as a number or as text such as '1e-6'; got {tolerance!r}"
        )
    if not 0 < time_limit < math.inf:
        raise UsageError(f"time_limit must be a finite number of seconds > 0, got {time_limit!r}")


def explain(response: str, reference: Any, *, styles: Sequence[Style] = STYLES, **_: Any) -> dict[str, str]:
    """How both sides were read: their trees in a plain form, or why there is none. For ``guerdon verify --explain``."""
    answer = find_answer(response, styles=styles)
    expected = " | ".join(map(shown, reference_texts(reference)))
    lines = {"expected": expected or "unread: the reference is no answer"}
    return lines if answer.text is None else {"read as": shown(answer.text), **lines}
