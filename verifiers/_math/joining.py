"""Items side by side as one node: cases, a value with the domain of its letters, one quantity, congruences."""

from __future__ import annotations

from itertools import pairwise

from guerdon.verifiers._math.tree import (
    Apply,
    Call,
    Cases,
    Congruence,
    Listing,
    NamedSet,
    Node,
    Number,
    Power,
    Product,
    Quantity,
    Relation,
    Sum,
    Symbol,
    Text,
    walk,
)
from guerdon.verifiers._math.units import measure

PENDING = Symbol("modulus to come")


def listed(items: list[Node], joint: str) -> Node:
    """What stands side by side, as one node."""
    if len(items) == 1:
        return items[0]
    if all(type(item) is Cases and len(item.branches) == 1 for item in items) and any(
        type(item) is Cases and item.branches[0][1] != _domain(item) for item in items
    ):
        return Cases(tuple(item.branches[0] for item in items if type(item) is Cases))
    last = items[-1]
    if _is_domain(last) and not all(_is_domain(item) for item in items):
        return Cases(((listed(items[:-1], ","), last),))
    if joint != "or" and len(items) == 2 and _holds_for(items[0], last):
        return Cases(((items[0], last),))
    if joint != "or" and _is_compound(items):
        return Sum(tuple(items))
    return Listing(tuple(items), "and" if joint == "and" else "or" if joint == "or" else ",")


def _domain(item: Cases) -> Node | None:
    condition = item.branches[0][1]
    return condition if condition is not None and _is_domain(condition) else Text("")


def _is_domain(node: Node) -> bool:
    """k ∈ Z: what a letter of the answer stands for."""
    return (
        type(node) is Relation
        and node.signs == ("in",)
        and type(node.sides[0]) is Symbol
        and type(node.sides[1]) is NamedSet
    )


def _holds_for(value: Node, condition: Node) -> bool:
    """Whether a comparison says for which x a formula in x holds: "1/x, x ≠ 0"; "f(x) = 1/x, x > 0"."""
    if type(condition) is not Relation or not _COMPARISONS.issuperset(condition.signs):
        return False
    if type(value) is Relation and len(value.sides) == 2 and value.signs == ("=",) and type(value.sides[0]) is Apply:
        value = value.sides[1]
    if not isinstance(value, (Sum, Product, Power, Call)):
        return False
    names = {side.name for side in condition.sides if type(side) is Symbol}
    return any(type(part) is Symbol and part.name in names for part in walk(value))


_COMPARISONS = frozenset(("<", "<=", ">", ">=", "!="))


def _is_compound(items: list[Node]) -> bool:
    """Whether these are one quantity in units that become smaller."""
    if not all(type(item) is Quantity for item in items):
        return False
    measures = [measure(item.unit) for item in items if type(item) is Quantity]
    factors = [one.factor for one in measures]
    return (
        len({one.dimension for one in measures}) == 1
        and all(big > small for big, small in pairwise(factors))
        and all(type(item) is Quantity and type(item.value) is Number for item in items)
    )


def congruent(items: list[Node]) -> list[Node]:
    """The modulus that stands behind the last item, given to those before it; without any, ≡ is =."""
    if not any(type(item) is Congruence and item.modulus == PENDING for item in items):
        return items
    last = items[-1]
    known = last.arguments if type(last) is Call and last.name == "mod" else None
    done: list[Node] = []
    left: Node | None = None
    for item in items:
        if type(item) is Congruence and item.modulus == PENDING:
            left = item.left
            done.append(
                Relation((left, item.right), ("=",)) if known is None else Congruence(left, item.right, known[1])
            )
        elif known is not None and left is not None:
            done.append(Congruence(left, known[0] if item is last else item, known[1]))
        else:
            done.append(item)
    return done
