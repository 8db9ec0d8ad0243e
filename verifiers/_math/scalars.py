r"""Two values, number or expression: equal, or equal by one of the allowances that a policy names.

The allowances are for closed real values: a reference that is itself rounded accepts the exact value that it is a
rounding of, and a tolerance accepts what is near. Nothing else here is approximate.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TypeGuard

from guerdon.verifiers._limits import AGREEING_DIGITS
from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.identity import order, same_value
from guerdon.verifiers._math.judging import Ask, any_of, equal, unequal
from guerdon.verifiers._math.rewriting import free_names, has, kinds_in, minus, renamed, rewritten
from guerdon.verifiers._math.tree import (
    Apply,
    Based,
    Binder,
    Braces,
    Brackets,
    Call,
    Clock,
    Constant,
    Date,
    Listing,
    Matrix,
    NamedSet,
    Node,
    Number,
    Power,
    Product,
    Quantity,
    SetBuilder,
    SetOperation,
    Sum,
    Symbol,
    Text,
)

_SCALARS = (Number, Based, Constant, Symbol, Sum, Product, Power, Call, Apply, Binder, Quantity)
_WITHOUT_VALUE = frozenset({Text, NamedSet, Braces, Listing, SetBuilder, SetOperation, Clock, Date})
_UNDEFINED = Constant("undefined")
_ROWS = frozenset({Matrix, Brackets})

_FEWEST_DIGITS, _FEWEST_DECIMALS = 3, 2
"""Of a reference that may be a rounded one: 6.67 and 0.333 may, 0.5 and 2.5 are what they are."""


def is_scalar(node: Node) -> bool:
    """Whether it is one value rather than several, a statement or words."""
    return isinstance(node, _SCALARS)


def same_scalar(answer: Node, reference: Node, ask: Ask) -> Decision:
    """Any two values, or what turns out to hold none."""
    if kinds_in(answer).isdisjoint(_WITHOUT_VALUE) != kinds_in(reference).isdisjoint(_WITHOUT_VALUE):
        return unequal("kinds", "another kind of answer")
    return same_values(answer, reference, ask)


def same_values(answer: Node, reference: Node, ask: Ask) -> Decision:
    """Any two values."""
    if (answer == _UNDEFINED and free_names(reference)) or (reference == _UNDEFINED and free_names(answer)):
        return unequal("kinds", "an expression is not undefined")
    decision = _same(_with_names(answer, reference, ask), reference, ask)
    if decision.equal is None and decision.status == "ok" and _differ_in_make(answer, reference):
        return unequal("kinds", "another kind of answer")
    if decision.equal:
        return decision
    allowed = (_within(answer, reference, *allowance, ask) for allowance in _allowances(answer, reference, ask))
    return any_of(allowed, decision)


def _differ_in_make(a: Node, b: Node) -> bool:
    """Whether only one of two values, of which nothing else could be told, has unknowns, units or rows in it."""
    ours, theirs = kinds_in(a), kinds_in(b)
    differ = any(ours.isdisjoint(kinds) != theirs.isdisjoint(kinds) for kinds in (_ROWS, {Quantity}))
    return differ or bool(free_names(a)) != bool(free_names(b))


def _same(answer: Node, reference: Node, ask: Ask) -> Decision:
    if ask.policy.log != "either":
        answer, reference = _with_base(answer, ask.policy.log), _with_base(reference, ask.policy.log)
    return same_value(answer, reference, deadline=ask.deadline)


def _with_names(answer: Node, reference: Node, ask: Ask) -> Node:
    """The answer with the reference's name for the one variable that differs, if the policy allows it."""
    if ask.policy.parameters == "match":
        return answer
    ours, theirs = free_names(answer), free_names(reference)
    only_ours, only_theirs = ours - theirs, theirs - ours
    if len(only_ours) != 1 or len(only_theirs) != 1:
        return answer
    return renamed(answer, {only_ours.pop(): only_theirs.pop()})


# --- allowances -------------------------------------------------------------------------------------------------------


def _allowances(answer: Node, reference: Node, ask: Ask) -> Iterator[tuple[Fraction, str]]:
    """By how much the two may differ, and what that is called."""
    if ask.policy.rounding == "reference" and _may_be_rounded(reference) and _is_exact(answer):
        decimals = decimals_of(reference)
        if decimals >= _FEWEST_DECIMALS:
            yield Fraction(1, 2 * 10**decimals), "rounded"
    if ask.policy.tolerance:
        yield ask.policy.tolerance, "tolerance"


def _may_be_rounded(reference: Node) -> TypeGuard[Number]:
    return isinstance(reference, Number) and reference.digits >= _FEWEST_DIGITS


def _within(answer: Node, reference: Node, most: Fraction, stage: str, ask: Ask) -> Decision:
    near = _differ_by_at_most(answer, reference, most, ask.deadline)
    return equal(stage) if near else unequal(stage, "another number, and not near")


def _differ_by_at_most(a: Node, b: Node, most: Fraction, deadline: float | None) -> bool:
    apart = order(Call("abs", (minus(a, b),)), Number(most), deadline=deadline)
    return apart is not None and apart <= 0


def _is_exact(node: Node) -> bool:
    """Whether no part is a decimal, except one long enough to be a printed exact value."""
    return not has(node, lambda part: isinstance(part, Number) and 0 < part.digits < AGREEING_DIGITS)


def rounds_to(value: Node, rounded: Node, deadline: float | None) -> bool:
    """Whether a decimal is another value, rounded or cut off at its last digit."""
    if not isinstance(rounded, Number) or not rounded.digits:
        return False
    return _differ_by_at_most(value, rounded, Fraction(1, 10 ** decimals_of(rounded)), deadline)


def decimals_of(number: Number) -> int:
    """How many digits stood behind the point of a decimal.

    >>> decimals_of(Number(Fraction(667, 100), digits=3)), decimals_of(Number(Fraction(1, 20), digits=2))
    (2, 3)
    """
    size, power = abs(number.value), 0
    if not size or not number.digits:
        return 0
    while size >= 10:
        size, power = size / 10, power + 1
    while size < 1:
        size, power = size * 10, power - 1
    return max(0, number.digits - 1 - power)


def _with_base(node: Node, base: str) -> Node:
    """Logarithms without a base as those of base 10 or e."""

    def closed(part: Node) -> Node:
        if not (isinstance(part, Call) and part.name == "log" and len(part.arguments) == 1):
            return part
        return Call("log", (*part.arguments, Number(Fraction(10)))) if base == "10" else Call("ln", part.arguments)

    return rewritten(node, closed)
