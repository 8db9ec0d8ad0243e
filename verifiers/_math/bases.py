"""Digits in a base: ``204_5`` is a way of writing, and the question asks for it.

So the base must agree, or be left out on one side: the value in base ten is what a question such as "write 54 in base
5" begins with, and repeating it answers nothing.
"""

from __future__ import annotations

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.judging import Ask, equal, unequal
from guerdon.verifiers._math.scalars import is_scalar, same_scalar
from guerdon.verifiers._math.tree import Based, Node, Number, Product, Symbol


def same_digits(a: Node, b: Node, ask: Ask) -> Decision:
    """At least one of the two has a base."""
    if not (is_scalar(a) and is_scalar(b)):
        return unequal("kinds", "digits in a base against something else")
    bases = {node.base for node in (a, b) if isinstance(node, Based)}
    if bases == {10} or ask.policy.bases == "value" or (isinstance(a, Based) and isinstance(b, Based)):
        if len(bases) > 1 and ask.policy.bases != "value":
            return unequal("base", "another base")
        return same_scalar(a, b, ask)
    base = max(bases)
    if ask.policy.bases == "digits" and _digits(a, base) == _digits(b, base):
        return equal("digits of a base")
    return unequal("base", "a number in base ten")


def _digits(node: Node, base: int) -> str | None:
    """What was written before the base, or may have been: 204, 2E, which reads as a product, and 2e_{16}."""
    if isinstance(node, Based):
        return node.digits
    if isinstance(node, Number):
        return str(node.value) if node.value >= 0 and node.value.denominator == 1 else None
    if isinstance(node, Symbol):
        name = node.name.removesuffix(f"_{base}")
        is_digit = len(name) == 1 and ("A" <= name <= "Z" or (name != node.name and "a" <= name <= "z"))
        return name.upper() if is_digit else None
    if isinstance(node, Product):
        parts = [_digits(factor, base) for factor in node.factors]
        return None if None in parts else "".join(part for part in parts if part)
    return None
