"""From two texts to a verdict: text, number, choice, trees. The first that can tell decides, and the verdict is kept.

A side that cannot be read is the answer's fault, and wrong, or the reference's, and then there is no verdict.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from guerdon.rewards.types import Status
from guerdon.verifiers._answer.sentences import mathematics_in
from guerdon.verifiers._math import fast
from guerdon.verifiers._math.choices import Choice, read_choice, read_letters, same_choice
from guerdon.verifiers._math.compare import compare
from guerdon.verifiers._math.compiled import DECIDED, Compiled, keep_decision, read
from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.judging import equal, unequal
from guerdon.verifiers._math.kinds import kind_of
from guerdon.verifiers._math.policies import Policy
from guerdon.verifiers._math.tree import Number, Text
from guerdon.verifiers._math.units import CHANGES
from guerdon.verifiers._math.writer import write
from guerdon.verifiers._text import normal
from guerdon.verifiers.choice import option_texts

_LONGEST_SHOWN = 400
_LIMITS = re.compile(
    r"\b(?:not?|never|neither|nor|or|least|most|less|more|fewer|greater|than|between|above|below|over|under|except"
    r"|about|around|almost|nearly|roughly|approximately|if|unless|maybe|perhaps|possibly|anything|everything|whatever"
    r"|wrong|incorrect|grader|accept)\b|n't\b",
    re.IGNORECASE,
)
"""Words that make another statement of the number beside them."""
_LETTERS = re.compile("[a-z]+")
_SAYS = re.compile(r"\b(?:is|are|was|were|be|equals|gives|get)\b|[=:]", re.IGNORECASE)
_MANTISSA = re.compile(r"\A\s*([-+−]?\d{1,30})(?=e[-+]\d\s*\Z)")
_ZERO = Number(Fraction(0))
_LONGEST_INTEGER = 30
_INTEGER = re.compile(rf"[-+]\d{{1,{_LONGEST_INTEGER}}}", re.ASCII)


class Asked(NamedTuple):
    """Everything that a verdict depends on besides the two texts. time_limit: seconds."""

    policy: Policy
    time_limit: float = 0.5
    prompt: str = ""
    meta: Mapping[str, Any] = MappingProxyType({})


class Found(NamedTuple):
    """equal: None if it could not be told, and then status says why. kind: of the reference. stage: what decided."""

    equal: bool | None
    kind: str
    stage: str
    reason: str
    status: Status = "ok"


def decide(answer: str, reference: str, asked: Asked) -> Found:
    """Whether an answer is the reference."""
    quick = fast.decide(answer, reference, exact=not asked.policy.tolerance)
    if quick is not None:
        return _found(quick, _kind(reference, asked.policy))
    options = _options(answer, reference, asked)
    key = (reference, answer, asked.policy, tuple(options.items()))
    decision = DECIDED.get(key)
    if decision is None:
        decision = _by_choice(answer, reference, options, asked)
    if decision is None:
        read_answer, known = read(answer, keep=False), read(reference, keep=True)
        if (read_answer.node is None or known.node is None) and _same_text(answer, reference):
            decision = fast.SAME_TEXT
        elif known.node is None:
            return Found(None, "unread", "unread", f"the reference cannot be read: {known.reason}", known.status)
        else:
            decision = _compared(_of_sentence(read_answer, answer, known), known, asked)
            if decision.equal is False:
                decision = _by_powers_of_ten(answer, reference, asked) or decision
    keep_decision(key, decision, answer, reference, *options.values())
    return _found(decision, _kind(reference, asked.policy))


def _by_powers_of_ten(answer: str, reference: str, asked: Asked) -> Decision | None:
    """2e-3 in its other reading, in which it is 0.002 and not 2e - 3; None if that tells nothing."""
    if "e" not in answer and "e" not in reference:
        return None
    a, b = _MANTISSA.sub(r"\1.0", answer), _MANTISSA.sub(r"\1.0", reference)
    if (a, b) == (answer, reference):
        return None
    decision = _compared(read(a, keep=False), read(b, keep=False), asked)
    return decision if decision.equal else None


def _same_text(answer: str, reference: str) -> bool:
    """What cannot be read is still equal to itself."""
    return normal(answer, ignore_case=False) == normal(reference, ignore_case=False)


def _of_sentence(answer: Compiled, text: str, reference: Compiled) -> Compiled:
    """What a sentence gives as its result, where the reference is mathematics: "the largest n is 34"."""
    if isinstance(reference.node, Text) or not (answer.node is None or isinstance(answer.node, Text)):
        return answer
    said = mathematics_in(text)
    if said is None:
        return answer
    before, _, after = text.rpartition(said)
    if not CHANGES.isdisjoint(_LETTERS.findall(after.lower())):
        return answer  # "7 and a half" does not say 7
    closest = _SAYS.split(before)[-1]  # "below 50 is 34" says 34, and "is below 34" does not
    return answer if _LIMITS.search(f"{closest} {after}") else read(said, keep=False)


def _compared(answer: Compiled, reference: Compiled, asked: Asked) -> Decision:
    if answer.node is None:
        return unequal("unread", f"the answer cannot be read: {answer.reason}")
    if reference.node is None:
        return Decision(None, "unread", reference.reason)
    deadline = time.monotonic() + asked.time_limit
    decision = compare(answer.node, reference.node, asked.policy, deadline)
    if decision.status == "refused" and compare(_ZERO, reference.node, asked.policy, deadline).status == "ok":
        return unequal("limit", f"the answer is over a limit: {decision.reason}")
    return decision


def _found(decision: Decision, kind: str) -> Found:
    if decision.equal is None:
        status: Status = "abstained" if decision.status == "ok" else decision.status
        return Found(None, kind, decision.stage, decision.reason or "it could not be told", status)
    said = decision.reason or ("the reference" if decision.equal else "another answer than the reference")
    return Found(decision.equal, kind, decision.stage, said)


def _kind(reference: str, policy: Policy) -> str:
    if reference.isdigit() and reference.isascii() and len(reference) <= _LONGEST_INTEGER:
        return "integer"  # without a pattern in a third of the time
    if _INTEGER.fullmatch(reference):
        return "integer"
    if policy.letters != "off" and read_choice(reference):
        return "choice"
    return read(reference, keep=True).kind


# --- choices ----------------------------------------------------------------------------------------------------------


def _options(answer: str, reference: str, asked: Asked) -> dict[str, str]:
    """The options' texts by letter, looked for only where one side is a letter."""
    if asked.policy.letters == "off" or not (asked.prompt or asked.meta):
        return {}
    if not (read_choice(answer) or read_choice(reference)):
        return {}
    return option_texts(None, asked.meta, asked.prompt)


def _by_choice(answer: str, reference: str, options: Mapping[str, str], asked: Asked) -> Decision | None:
    """Decides where both sides are letters, or one is and the options are known."""
    if asked.policy.letters == "off":
        return None
    picked, right = read_choice(answer), read_choice(reference)
    if picked and right:
        same, reason = same_choice(picked, right, options)
        return equal("choice", reason) if same else unequal("choice", reason)
    several, others = read_letters(answer), read_letters(reference)
    if several and others:
        return equal("choice") if several == others else unequal("choice", "other options")
    letter = picked or right
    if letter is None or asked.policy.letters == "only":
        return None
    if letter.said:
        return _by_text_beside(letter, answer if right else reference, options, asked)
    if letter.letter not in options:
        return None
    text = options[letter.letter]
    sides = (text, reference) if picked else (answer, text)
    if normal(sides[0]) == normal(sides[1]):
        return equal("choice", "the right option's text")
    return _compared(read(sides[0], keep=False), read(sides[1], keep=False), asked)


def _by_text_beside(letter: Choice, other: str, options: Mapping[str, str], asked: Asked) -> Decision | None:
    """ "(C) 24" beside 24: equal if the text is; None if it is not, or is not that option's."""
    option = options.get(letter.letter)
    if option is not None and normal(option) != normal(letter.said):
        return None
    if normal(letter.said) == normal(other):
        return equal("choice", "the option's text")
    decision = _compared(read(letter.said, keep=False), read(other, keep=False), asked)
    return decision if decision.equal else None


def unread_reason(reference: str) -> tuple[str, Status] | None:
    """Why a reference cannot be read, and the status of a sample that has it; None if it can."""
    known = read(reference, keep=True)
    return None if known.node is not None else (f"the reference cannot be read: {known.reason}", known.status)


def shown(text: str) -> str:
    """How a text is read, for a person."""
    known = read(text, keep=False)
    if known.node is None:
        return f"unread: {known.reason}"
    written = write(known.node)
    return f"{kind_of(known.node)}: {written if len(written) <= _LONGEST_SHOWN else written[:_LONGEST_SHOWN] + '…'}"
