r"""Whether the response picks the right option of a multiple-choice question.

``B``, ``(B)``, ``B.``, ``\text{(B)}``, ``**B**``, ``option B``, ``B: the rate doubles`` and, where the options are
known, ``the rate doubles`` are one answer. Two letters, or a letter with another option's text, are a hedge: wrong,
unless the reference itself holds several letters and they are the same ones.

Options are known from the option ``choices``, from ``meta["choices"]`` of the sample, or from a prompt that lists them
as "(A) … (B) …", "A. …" or "A) …".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.rewards.errors import UsageError
from guerdon.rewards.types import Score
from guerdon.verifiers._answer import MARKED, Answer, Style, backwards, final_part, find_answer
from guerdon.verifiers._text import normal, plain, trim

_PROMPT = "Which is a metal? (A) helium (B) iron (C) sulfur"

EXAMPLES = (
    (r"\boxed{\text{(B)}}", "B", 1),
    ("The answer is B. Note that A is a common distractor.", "B", 1),
    ("Helium is a gas, so option (B) is correct.", "B", 1),
    ("**B**", 1, 1),
    ("Answer: B) iron", "(B)", 1),
    ("Answer: iron", "B", 1, {"prompt": _PROMPT}),
    ("Answer: B", "iron", 1, {"prompt": _PROMPT}),
    ("Answer: iron", "B", 1, {"meta": {"choices": ["helium", "iron", "sulfur"]}}),
    ("Answer: (B) helium", "B", 0, {"prompt": _PROMPT}),
    ("The answer is A.", "B", 0),
    (r"\boxed{A \text{ or } B}", "B", 0),
    (r"\boxed{A, B}", "B", 0),
    (r"\boxed{B, A}", ["A", "B"], 1),
    ("A cat is a mammal.", "A", 0),
    ("", "B", 0),
    ("Answer: B", "iron", None),
    ("Answer: B", 42, None),
)

LETTERS = "ABCDEFGHIJ"

_STYLES: tuple[Style, ...] = (*MARKED, "phrase")
_LONGEST = 1_000
"""Characters of an answer that is still read as a letter or an option's text."""

_NAMED = re.compile(
    r"(?:the )?(?:correct |final |best )?(?:option|choice|answer|letter)s?(?: is| are)?:? ", re.IGNORECASE
)
_ONE = re.compile(r"[(\[]?([A-J])[)\]]?[.:]?")
_BETWEEN = re.compile(r"\s*(?:[,;/&]|\band\b|\bor\b|\s)\s*", re.IGNORECASE)
_WITH_TEXT = re.compile(r"(?:[(\[]([A-Ja-j])[)\]][.:]?|([A-J])(?:[).:]| [-–—]))\s*(.+)", re.DOTALL)
_MENTION = re.compile(
    r"\b(?:option|choice|choose|select|pick) [(*\[]{0,3}([A-J])\b|\(([A-J])\)"
    r"|^[*(]{0,3}([A-J])(?:[).:] |[*)]{0,3}[.:]?$)|\b([A-J])[*)]{0,3} is (?:the )?(?:correct|right|best)",
    re.MULTILINE,
)
_REJECTED = re.compile(r"[)*.:]{0,4} (?:is|are|was|would be|can be) (?:not|wrong|incorrect|false|ruled|excluded)")
_LISTED = re.compile(r"(?:^|(?<=\s))\(?([A-J])[).:][ \t]", re.MULTILINE)


def verify(
    response: str,
    reference: Any,
    *,
    choices: Sequence[str] | None = None,
    styles: Sequence[Style] = _STYLES,
    prompt: str = "",
    meta: Mapping[str, Any] | None = None,
) -> Score:
    """1 if the response picks the reference.

    reference: a letter A to J, an index from 0, an option's text, or a list of these when several must be picked.
    choices: the options of every sample, in order, if they are always the same ("yes", "no"). styles: how an answer
    may be given; where none is found, the option that the response names last counts.
    """
    options = _options(choices, meta or {}, prompt)
    wanted = reference if isinstance(reference, list | tuple) else (reference,)
    expected = [_reference_letters(one, options) for one in wanted]
    if not expected or not all(expected):
        reason = f"the reference names no option: {reference!r:.80}"
        return Score.unscored(reason, status="not_applicable")
    right = frozenset[str]().union(*(letters for letters in expected if letters))
    answer = find_answer(response, styles=styles)
    picked = _letters(answer.text, options) if answer.text is not None else None
    if picked is None and answer.style not in MARKED and not answer.flags:
        answer, picked = _named_last(response, options)
    details = answer.details(picked="".join(sorted(picked or ())), options=len(options))
    if picked is None:
        return Score(0.0, answer.reason or "the answer names no option", details)
    if len(picked) > 1 and ("hedged" in answer.flags or picked != right):
        return Score(0.0, "the answer names several options", details)
    return Score(float(picked == right), "the right option" if picked == right else "another option", details)


def check_options(*, choices: Sequence[str] | None = None, **_: Any) -> None:
    if choices is not None and not 2 <= len(choices) <= len(LETTERS):
        raise UsageError(f"choices must hold 2 to {len(LETTERS)} texts, got {len(choices)}")


def _options(choices: Sequence[str] | None, meta: Mapping[str, Any], prompt: str) -> dict[str, str]:
    """The normal text of each option by its letter; empty if the options are not known."""
    return {letter: normal(text) for letter, text in option_texts(choices, meta, prompt).items()}


def option_texts(choices: Sequence[str] | None, meta: Mapping[str, Any], prompt: str) -> dict[str, str]:
    """The text of each option, as it is written, by its letter; empty if the options are not known."""
    given = choices if choices is not None else meta.get("choices")
    if isinstance(given, list | tuple) and len(given) <= len(LETTERS):
        return {letter: str(text) for letter, text in zip(LETTERS, given, strict=False)}
    listed: list[re.Match[str]] = []
    for match in _LISTED.finditer(prompt):
        if match[1] == "A":
            listed = [match]  # a later list is the question's own; earlier ones are examples
        elif listed and match[1] == LETTERS[len(listed) :][:1]:
            listed.append(match)
    if len(listed) < 2:
        return {}
    ends = [match.start() for match in listed[1:]] + [len(prompt)]
    texts = [prompt[match.end() : end].strip().partition("\n")[0] for match, end in zip(listed, ends, strict=True)]
    return {match[1]: text for match, text in zip(listed, texts, strict=True)}


def _reference_letters(reference: Any, options: Mapping[str, str]) -> frozenset[str] | None:
    if isinstance(reference, int) and not isinstance(reference, bool):
        return frozenset(LETTERS[reference]) if 0 <= reference < len(LETTERS) else None
    return _letters(reference, options) if isinstance(reference, str) else None


def _letters(text: str, options: Mapping[str, str], *, free_text: bool = True) -> frozenset[str] | None:
    """The options that a text names, if it says nothing else; several when it contradicts itself.

    free_text: whether a letter may be followed by words that are no option's text, as in "B: since it is heavier".
    """
    if len(text) > _LONGEST:
        return None
    text = plain(text)
    by_text = {letter for letter, option in options.items() if option == normal(text)}
    if len(by_text) == 1:
        return frozenset(by_text)
    text = _NAMED.sub("", text, count=1)
    parts = [part for part in _BETWEEN.split(text.upper() if len(text.strip("()[].:")) == 1 else text) if part]
    single = [_ONE.fullmatch(part) for part in parts]
    if single and all(single):
        return frozenset(match[1] for match in single if match)
    match = _WITH_TEXT.fullmatch(text)
    letter, said = ((match[1] or match[2]).upper(), normal(match[3])) if match else (text[:1], normal(text[1:]))
    named = {other for other, option in options.items() if option == said}
    if letter in named or (match and (free_text or named)):
        return frozenset({letter, *(named if letter not in named else ())})
    return None


def _named_last(response: str, options: Mapping[str, str]) -> tuple[Answer, frozenset[str] | None]:
    """The option that a response without a marked answer names: all it says, its last line, or its last mention."""
    start, end = trim(response, *final_part(response))
    last_line = max(start, response.rfind("\n", start, end) + 1)
    for begin in (start, last_line):
        if picked := _letters(response[begin:end], options, free_text=False):
            return Answer(response[begin:end], begin, end), picked
    for match in backwards(_MENTION, response, start, end):
        if not _REJECTED.match(response, match.end(), end):
            span = match.span(match.lastindex or 0)
            return Answer(response[slice(*span)], *span), frozenset(response[slice(*span)])
    return Answer(None, reason="the response names no option" if start < end else "nothing is said"), None
