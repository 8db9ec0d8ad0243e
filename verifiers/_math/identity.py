"""Whether two values are equal: the one question that every typed comparison comes down to.

    1. written the same                               identical
    2. both numbers                                   exact, numeric-512 or undefined (``closed``)
    3. both rational functions                        identity (``polynomials``)
    4. with symbols                                   numeric-512, or identity-numeric where proved unequal (``points``)
    5. what has no value that can be told             its form (``forms``), its logarithm (``giants``),
                                                      and then a symbolic system (``symbolic``)

What notation leaves open: ``log`` is the natural or the decimal logarithm, whichever makes the sides equal. A rational
power of odd denominator has the real root of a negative number, (-8)^(1/3) = -2, unless the imaginary unit stands
on either side. Two values that both are undefined are equal only if they are written the same.
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

from guerdon.verifiers._math.closed import PRECISION, UNDEFINED, Reading, order_of, same_number
from guerdon.verifiers._math.decision import (
    CannotTellError,
    Decision,
    OversizeError,
    UnboundError,
    ValueFailureError,
)
from guerdon.verifiers._math.forms import canonical, minus, over
from guerdon.verifiers._math.giants import differ
from guerdon.verifiers._math.points import same_at_points
from guerdon.verifiers._math.polynomials import polynomial, same_rational_function
from guerdon.verifiers._math.structure import exact, free_symbols, is_closed, substitute, ungrouped
from guerdon.verifiers._math.survey import Survey, Traits
from guerdon.verifiers._math.tree import (
    Apply,
    Binder,
    Brackets,
    Call,
    Constant,
    Node,
    Number,
    Power,
    Product,
    Sum,
    Symbol,
    walk,
)

__all__ = ["exact", "free_symbols", "is_closed", "order", "polynomial", "same_value", "sign", "substitute"]

ZERO, ONE = Number(Fraction(0)), Number(Fraction(1))
GIANT = "giant"
TIME_LIMIT = 0.5
"""Seconds of wall time that the symbolic stage may take."""

_FOR_SYMPY = (Number, Symbol, Sum, Product, Power, Constant, Call, Apply, Binder)
_LEAST_TIME = 0.02  # in which a worker can do anything at all


def same_value(a: Node, b: Node, *, deadline: float | None = None) -> Decision:
    """Whether two values are equal; symmetric. Never raises for trees of values, and ends soon after the deadline.

    deadline: of ``time.monotonic()``; past it nothing can be told, with status ``timeout``. Waiting for a symbolic
    worker to start does not count.
    """
    found = same_without_worker(a, b, deadline=deadline)
    if found.equal is not None or found.status == "timeout" or found.stage == GIANT or not (_is_for_sympy(a, b)):
        return found
    if _asks_unknown(a) != _asks_unknown(b):
        return Decision(False, "kinds", "unknown functions on one side only")
    left = TIME_LIMIT if deadline is None else min(TIME_LIMIT, deadline - time.monotonic())
    if left < _LEAST_TIME:
        return Decision(None, found.stage, found.reason, "timeout")
    from guerdon.verifiers._math.workers import settle

    settled = settle(a, b, left)
    return settled if settled.equal is not None or settled.status != "ok" else replace(settled, reason=found.reason)


def _is_for_sympy(*sides: Node) -> bool:
    """Whether the symbolic stage knows all kinds of nodes here, so that it is worth a process."""
    return all(isinstance(part, _FOR_SYMPY) for side in sides for part in walk(side))


def _asks_unknown(node: Node) -> bool:
    """Whether a tree holds an unknown function; the side of a limit is written as one and is none."""
    return any(isinstance(part, Apply) and part.name not in ("+", "-") for part in walk(node))


def same_without_worker(a: Node, b: Node, *, deadline: float | None = None) -> Decision:
    """The same, as far as it can be told in this process. stage ``GIANT``: no other process should try."""
    try:
        if a == b:
            return Decision(True, "identical")
        if isinstance(a, Brackets) or isinstance(b, Brackets):
            raise CannotTellError("a list is no value")
        try:
            return _by_value(a, b, deadline)
        except OversizeError as reason:
            return _by_form(a, b, deadline, giant=str(reason))
        except ValueFailureError as reason:
            found = _by_form(a, b, deadline)
            return found if found.equal is not None else replace(found, reason=str(reason) or "no value")
        except CannotTellError as reason:
            if reason.status == "timeout":
                raise
            found = _by_form(a, b, deadline)
            return found if found.equal is not None else reason.decision("undecided")
    except CannotTellError as reason:
        return reason.decision("undecided")
    except RecursionError:
        return Decision(None, GIANT, "nested too deeply", "refused")


def _by_value(a: Node, b: Node, deadline: float | None) -> Decision:
    reading = Reading(deadline=deadline)
    try:
        return same_number(a, b, reading)
    except UnboundError:
        both = Survey()
    degree = both.take(a)
    key, both.key = both.key, 0
    other = both.take(b)
    if both.traits & Traits.GROUPED:
        return _by_value(ungrouped(a), ungrouped(b), deadline)
    both.key = (both.key + key) % 2**64  # the same for (b, a)
    if degree >= 0 and other >= 0:
        equal = same_rational_function(a, b, degree + other, both.symbols, both.key, deadline)
        if equal or (equal is False and not both.traits & Traits.DIGITS):
            return Decision(equal, "identity", "" if equal else "different functions")
    return same_at_points(a, b, both, reading)


def _by_form(a: Node, b: Node, deadline: float | None, giant: str = "") -> Decision:
    """What the forms tell, and what is left when equal terms or equal factors have cancelled; giants by logarithms."""
    form_a, form_b = canonical(a), canonical(b)
    if form_a == form_b:
        return Decision(True, "form", "the same but for order, grouping and names of bound variables")
    difference = canonical(minus(form_a, form_b))
    if difference == ZERO:
        return Decision(True, "form", "the same terms")
    rests = [(difference, ZERO)]
    if giant:
        rests.append((canonical(over(form_a, form_b)), ONE))
    for left, right in rests:
        try:
            found = _by_value(left, right, deadline)
        except (ValueFailureError, CannotTellError):
            continue
        if found.stage != UNDEFINED:  # x / 0 tells nothing of x
            return replace(found, reason="what is left when equal parts have cancelled")
    if giant:
        if differ(form_a, form_b, Reading(deadline=deadline).scope(PRECISION)):
            return Decision(False, GIANT, "numbers of different size")
        return Decision(None, GIANT, giant, "refused")
    return Decision(None, "form")


def sign(node: Node, *, deadline: float | None = None) -> int | None:
    """-1, 0 or 1 as a closed real value is; None if that cannot be told. 0 only if exact or zero to 512 bits."""
    return order(node, ZERO, deadline=deadline)


def order(a: Node, b: Node, *, deadline: float | None = None) -> int | None:
    """-1, 0 or 1 as a closed real value is below, equal to or above another; None if that cannot be told.

    Infinity is above every number. -1 and 1 are proved; 0 is exact, or agreement to 512 bits.
    """
    try:
        return order_of(a, b, Reading(deadline=deadline))
    except (CannotTellError, ValueFailureError, RecursionError):
        return None
