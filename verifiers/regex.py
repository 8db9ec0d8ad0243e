r"""Whether a pattern is found in the response.

The policy writes the text, so matching must be linear in it whatever the pattern: with a backtracking engine such as
``re``, the pattern ``(a+)+b`` takes years on forty letters. The engine here is RE2, which has no look-around and no
back-references; a pattern that needs them is refused when the verifier is loaded. Its syntax is
https://github.com/google/re2/wiki/Syntax, with ``(?i)``, ``(?s)`` and ``(?m)`` for case, dot and line anchors.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.rewards.patterns import compiled, encodable
from guerdon.rewards.types import Score
from guerdon.verifiers._answer import Answer, final_part, find_answer

EXAMPLES = (
    ("Order 2024-117 is ready.", None, 1, {"pattern": r"\b\d{4}-\d{3}\b"}),
    ("No order is ready.", None, 0, {"pattern": r"\b\d{4}-\d{3}\b"}),
    ("<think>2024-117?</think>No.", None, 0, {"pattern": r"\d{4}-\d{3}"}),
    ("<think>2024-117?</think>No.", None, 1, {"pattern": r"\d{4}-\d{3}", "within": "response"}),
    (r"I say no. \boxed{yes}", None, 0, {"pattern": "(?i)^NO$", "within": "answer"}),
    (r"I say yes. \boxed{no}", None, 1, {"pattern": "(?i)^NO$", "within": "answer"}),
    ("a" * 40, None, 0, {"pattern": "(a+)+b"}),
)

MAX_WORK = 10**9
"""Characters times instructions of the compiled pattern, which is RE2's worst case: 7 s at 7 ns each. A pattern of
twenty signs has some fifty instructions; only repetitions such as (a?){500} have thousands."""


def verify(
    response: str,
    reference: Any = None,
    *,
    pattern: str,
    within: Literal["said", "answer", "response"] = "said",
) -> Score:
    """1 if the pattern is found.

    reference: not read. pattern: in RE2's syntax, found anywhere unless it is anchored with ^ and $. within: where to
    look: in what is said after the thinking ("said"), in the final answer ("answer"), or everywhere ("response").
    """
    place = _place(response, within)
    if place.text is None:
        return Score(0.0, place.reason, place.details())
    engine = compiled(pattern, "the regex verifier")
    if len(place.text) * engine.programsize > MAX_WORK:
        reason = f"{len(place.text):,} characters are too many for a pattern of {engine.programsize:,} instructions"
        return Score.unscored(reason, status="refused")
    match = engine.search(encodable(place.text))
    if match is None:
        return Score(0.0, "the pattern is not found")
    start = place.start + match.start()
    return Score(
        1.0, "the pattern is found", {"answer": match.group()[:200], "span": (start, place.start + match.end())}
    )


def check_options(*, pattern: str, **_: Any) -> None:
    compiled(pattern, "the regex verifier")


def _place(response: str, within: str) -> Answer:
    if within == "answer":
        return find_answer(response)
    start, end = (0, len(response)) if within == "response" else final_part(response)
    return Answer(response[start:end], start, end)
