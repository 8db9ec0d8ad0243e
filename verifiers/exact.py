r"""Whether the response's final answer is the reference text, in a normal form.

Always one and the same: LaTeX and Markdown dress (``**Paris**``, ``\text{Paris}``), runs of spaces, Unicode forms and
the punctuation around the whole. Letter case too, unless told otherwise. ``3.5`` is never ``35``, nor ``-5`` ``5``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from guerdon.rewards.types import Score
from guerdon.verifiers._answer import MARKED, Answer, Style, final_part, find_answer
from guerdon.verifiers._text import normal, trim

EXAMPLES = (
    ("The capital of France is a question of taste.\nAnswer: **Paris**", "paris", 1),
    (r"\boxed{\text{No solution}}", "no solution", 1),
    ("Paris.", "Paris", 1),
    ("It might be Paris.", "Paris", 0),
    ("<think>Paris?</think>Lyon", "Paris", 0),
    ("Paris", "paris", 0, {"ignore_case": False}),
    ("The answer is U.S.A.", ["United States", "USA", "U.S.A."], 1),
    ("<answer>well-known</answer>", "well known", 1, {"ignore_punctuation": True}),
    ("<answer>3.5</answer>", "35", 0, {"ignore_punctuation": True}),
    ("So the answer is Paris.", "Paris", 0, {"extract": "whole"}),
    ("", "Paris", 0),
    ("Paris", "", None),
)

# Signs inside and before numbers are kept; those in the group are punctuation.
_PUNCTUATION = re.compile(r"(?<=\d)[.,:/](?=\d)|[-+.](?=\d)|([^\w\s$€£¥%°+=<>|^~])")
_SPOKEN: tuple[Style, ...] = (*MARKED, "phrase")


def verify(
    response: str,
    reference: Any,
    *,
    extract: Literal["answer", "whole"] = "answer",
    ignore_case: bool = True,
    ignore_spaces: bool = False,
    ignore_punctuation: bool = False,
    styles: Sequence[Style] = _SPOKEN,
) -> Score:
    """1 if the response's final answer is the reference text.

    reference: text, a number, or a list of them, any of which is right. extract: what is compared: the final answer,
    or all that was said if there is none ("answer"); all that was said ("whole"). Thinking is never compared.
    ignore_case: a is A. ignore_spaces: "New York" is "NewYork". ignore_punctuation: "well-known!" is "well known"; the
    signs inside a number stay. styles: how an answer may be given.
    """
    accepted = reference if isinstance(reference, tuple | list) else (reference,)
    if not all(isinstance(text, str | int | float) for text in accepted):
        return Score.unscored(f"the reference is no text: {reference!r:.80}", status="not_applicable")

    def form(text: str) -> str:
        return _form(text, ignore_case=ignore_case, spaces=not ignore_spaces, punctuation=not ignore_punctuation)

    expected = {form(str(text)) for text in accepted} - {""}
    if not expected:
        return Score.unscored("the reference is empty", status="not_applicable")
    answer = find_answer(response, styles=styles) if extract == "answer" else None
    if answer is None or (answer.style is None and not answer.flags):
        answer = _everything_said(response)
    if answer.text is None:
        return Score(0.0, answer.reason, answer.details())
    if form(answer.text) in expected:
        return Score(1.0, "the reference text", answer.details())
    return Score(0.0, "another text than the reference", answer.details())


def _everything_said(response: str) -> Answer:
    span = trim(response, *final_part(response))
    text = response[slice(*span)]
    return Answer(text or None, *span, reason="" if text else "nothing is said")


def _form(text: str, *, ignore_case: bool, spaces: bool, punctuation: bool) -> str:
    text = normal(text, ignore_case=ignore_case)
    if not punctuation:
        text = _PUNCTUATION.sub(lambda sign: " " if sign[1] else sign[0], text.replace("'", ""))
        text = " ".join(text.split())
    return text if spaces else "".join(text.split())
