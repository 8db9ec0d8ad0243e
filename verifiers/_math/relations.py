"""Equations, inequalities between expressions, chains and congruences: the same relation, however it is arranged.

Equations are equal when they describe the same curve: everything is moved to one side, denominators are cleared, and
the two sides may differ by a non-zero factor; a positive one for an inequality. Only a relation is compared this way
with another relation: ``2x = 4`` is ``x = 2``, and neither is "2" by solving it.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.identity import same_value, sign
from guerdon.verifiers._math.judging import Ask, all_of, any_of, equal, in_any_order, in_order, unequal
from guerdon.verifiers._math.labels import named, same_named, same_names
from guerdon.verifiers._math.polynomials import polynomial
from guerdon.verifiers._math.rewriting import free_names, minus, over, rewritten
from guerdon.verifiers._math.structure import exact, substitute
from guerdon.verifiers._math.tree import (
    Apply,
    Congruence,
    Node,
    Number,
    Power,
    Product,
    Relation,
    Sign,
    Sum,
    Symbol,
)

_Polynomial: TypeAlias = Mapping[tuple[int, ...], Fraction]

_FLIPPED: dict[Sign, Sign] = {">": "<", ">=": "<=", "=": "="}
_ONE = Number(Fraction(1))

# Where two expressions that differ by a constant factor are compared to find that factor: rationals without a pattern.
_POINTS = tuple(map(Fraction, ("7/3", "11/5", "5/4", "13/6", "17/7", "9/8", "19/9", "23/10")))


def relation_rule(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    """Relations, each as a value with a name or as a curve."""
    if not (isinstance(answer, Relation) or isinstance(reference, Relation)):
        return None
    a, b = named(answer), named(reference)
    decisions = []
    if a.values != (answer,) or b.values != (reference,):
        decisions.append(same_named(a, b, ask))
    if isinstance(answer, Relation) and isinstance(reference, Relation):
        of_one_name = a.names and b.names and same_names(a.names, b.names)
        if not of_one_name or len(answer.signs) > 1:
            decisions.append(same_relation(answer, reference, ask))
    return any_of(decisions, decisions[0] if decisions else unequal("kinds", "a relation against something else"))


def same_relation(answer: Relation, reference: Relation, ask: Ask) -> Decision:
    """Two relations as they stand, not as values."""
    a, b = _forward(answer), _forward(reference)
    if a.signs != b.signs:
        return unequal("relation", "other signs of relation")
    if set(a.signs) == {"="}:
        as_written = in_any_order(a.sides, b.sides, ask, "relation")
    else:
        as_written = in_order(a.sides, b.sides, ask, "relation")
    if as_written.equal or len(a.signs) > 1 or a.signs[0] not in ("=", "!=", "<", "<="):
        return as_written
    return any_of([_same_curve(a, b, ask)], as_written)


def _forward(relation: Relation) -> Relation:
    """A chain that only falls, turned round so that it rises."""
    if (">" not in relation.signs and ">=" not in relation.signs) or not set(relation.signs) <= set(_FLIPPED):
        return relation
    return Relation(relation.sides[::-1], tuple(_FLIPPED[sign] for sign in reversed(relation.signs)))


# --- curves and regions -----------------------------------------------------------------------------------------------


def _same_curve(a: Relation, b: Relation, ask: Ask) -> Decision:
    """Whether ``left - right`` of both is the same up to a non-zero factor, positive for an inequality."""
    atoms: dict[Node, Symbol] = {}

    def atom(part: Node) -> Node:
        return atoms.setdefault(part, Symbol(f"_{len(atoms)}")) if isinstance(part, Apply) else part

    p, q = (rewritten(minus(*relation.sides), atom) for relation in (a, b))
    names = sorted(free_names(p))
    if not names or names != sorted(free_names(q)):
        return unequal("relation", "other variables")
    positive = a.signs[0] not in ("=", "!=")
    if not positive:
        p, q = _fraction(p)[0], _fraction(q)[0]
    left, right = polynomial(p, names), polynomial(q, names)
    if left is not None and right is not None:
        factor = _factor(left, right)
        same = factor is not None and (factor > 0 or not positive)
        return equal("polynomial") if same else unequal("polynomial", "another curve or region")
    return _proportional(p, q, names, ask, positive=positive)


def _factor(p: _Polynomial, q: _Polynomial) -> Fraction | None:
    """The number by which one polynomial is a multiple of the other, or None."""
    if p.keys() != q.keys() or not p:
        return None
    factors = {p[powers] / q[powers] for powers in p}
    return factors.pop() if len(factors) == 1 else None


def _proportional(p: Node, q: Node, names: list[str], ask: Ask, *, positive: bool) -> Decision:
    """The factor is found at one point, and then the two must be identical: p(x) q(point) = q(x) p(point)."""
    for shift in range(len(_POINTS)):
        point: dict[str, Node] = {
            name: Number(_POINTS[(shift + index) % len(_POINTS)] + index // len(_POINTS))
            for index, name in enumerate(names)
        }
        at_p, at_q = substitute(p, point), substitute(q, point)
        sign_p, sign_q = sign(at_p, deadline=ask.deadline), sign(at_q, deadline=ask.deadline)
        if not sign_p or not sign_q:
            continue
        if positive and sign_p != sign_q:
            return unequal("relation", "the region on the other side")
        return same_value(Product((p, at_q)), Product((q, at_p)), deadline=ask.deadline)
    return unequal("relation", "no real curves that could be compared")


def _fraction(node: Node) -> tuple[Node, Node]:
    """A numerator and a denominator without negative powers that stand in sums and products."""
    if isinstance(node, Sum):
        parts = [_fraction(term) for term in node.terms]
        below = list(dict.fromkeys(bottom for _, bottom in parts if bottom != _ONE))
        terms = [_product([top, *(other for other in below if other != bottom)]) for top, bottom in parts]
        return Sum(tuple(terms)), _product(below)
    if isinstance(node, Product):
        tops, bottoms = zip(*map(_fraction, node.factors), strict=True)
        return _product(tops), _product(bottoms)
    if isinstance(node, Power) and isinstance(node.exponent, Number) and node.exponent.value.denominator == 1:
        top, bottom = _fraction(node.base)
        power = Number(abs(node.exponent.value))
        raised = (_power(top, power), _power(bottom, power))
        return raised if node.exponent.value >= 0 else raised[::-1]
    return node, _ONE


def _product(factors: tuple[Node, ...] | list[Node]) -> Node:
    kept = tuple(factor for factor in factors if factor != _ONE)
    return Product(kept) if len(kept) > 1 else (kept[0] if kept else _ONE)


def _power(base: Node, exponent: Number) -> Node:
    return base if base == _ONE or exponent == _ONE else Power(base, exponent)


# --- congruences ------------------------------------------------------------------------------------------------------


def congruence_rule(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    """The same modulus, the same left side, and right sides that differ by a multiple of the modulus."""
    if not (isinstance(answer, Congruence) and isinstance(reference, Congruence)):
        return None
    times = exact(over(minus(answer.right, reference.right), reference.modulus))
    pairs = [(answer.modulus, reference.modulus), (answer.left, reference.left)]
    if times is None or times.denominator != 1:
        pairs.append((answer.right, reference.right))
    return all_of((ask.same(a, b) for a, b in pairs), "congruence")
