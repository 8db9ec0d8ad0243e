"""Ratios: equal up to a common factor, and a ratio of two numbers is their quotient."""

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.judging import Ask, in_order, unequal
from guerdon.verifiers._math.rewriting import over
from guerdon.verifiers._math.scalars import is_scalar
from guerdon.verifiers._math.structure import exact
from guerdon.verifiers._math.tree import Node, Number, Ratio, Symbol

_ELLIPSIS = ("...", "…", "ldots")


def same_ratio(a: Node, b: Node, ask: Ask) -> Decision:
    """At least one of the two is a ratio."""
    if isinstance(a, Ratio) and isinstance(b, Ratio):
        if len(a.parts) != len(b.parts):
            return unequal("ratio", "another number of parts")
        if _is_as_written(a) or _is_as_written(b):
            return in_order(a.parts, b.parts, ask, "ratio")
        x, y = ([over(part, ratio.parts[-1]) for part in ratio.parts[:-1]] for ratio in (a, b))
        return in_order(x, y, ask, "ratio")
    ratio, plain = (a, b) if isinstance(a, Ratio) else (b, a)
    if not isinstance(ratio, Ratio) or len(ratio.parts) != 2 or not is_scalar(plain) or _is_as_written(ratio):
        return unequal("kinds", "a ratio against something else")
    if ask.policy.ratios == "match" and ratio.parts[1] == Number(Fraction(1)):
        return unequal("ratio", "a ratio against a number")
    value = over(*ratio.parts)
    return ask.same(value, plain) if ratio is a else ask.same(plain, value)


def _is_as_written(ratio: Ratio) -> bool:
    """12:00, which is a time, and 1:2:3:..., which is a sequence, have no quotients."""
    return any(exact(part) == 0 or (isinstance(part, Symbol) and part.name in _ELLIPSIS) for part in ratio.parts)
