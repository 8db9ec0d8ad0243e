"""Whether two answers that have been read are the same answer: which rule decides which pair.

Rules are asked in order and the first one that has something to say decides. Each rule asks back for the parts of its
pair, so that a matrix of rounded percents needs no rule of its own. Symmetric, except where a policy says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from guerdon.verifiers._math.decision import CannotTellError, Decision
from guerdon.verifiers._math.judging import Ask, Rule, equal, in_any_order, unequal
from guerdon.verifiers._math.labels import named
from guerdon.verifiers._math.listings import list_rule
from guerdon.verifiers._math.measured import measured_rule
from guerdon.verifiers._math.ordered import ordered_rule
from guerdon.verifiers._math.plus_minus import spread
from guerdon.verifiers._math.policies import Policy
from guerdon.verifiers._math.relations import congruence_rule, relation_rule
from guerdon.verifiers._math.rewriting import kinds_in
from guerdon.verifiers._math.scalars import is_scalar, same_scalar, same_values
from guerdon.verifiers._math.sets import set_rule
from guerdon.verifiers._math.tree import (
    Apply,
    Binder,
    Brackets,
    Call,
    Cases,
    Constant,
    Node,
    Number,
    Power,
    Product,
    Relation,
    Sum,
    Symbol,
    Text,
)
from guerdon.verifiers._math.words import word_rule


def compare(answer: Node, reference: Node, policy: Policy, deadline: float | None = None) -> Decision:
    """Whether an answer is the reference under a policy. deadline: of ``time.monotonic()``; None sets no end."""
    a, b = spread(answer), spread(reference)
    if a is None or b is None:
        return Decision(None, "plus-minus", "too many signs ±", status="refused")
    try:
        return _Comparison(policy, deadline).same(a, b)
    except CannotTellError as reason:
        return reason.decision("undecided")


@dataclass(frozen=True, slots=True)
class _Comparison:
    policy: Policy
    deadline: float | None

    def same(self, answer: Node, reference: Node) -> Decision:
        if answer == reference:
            return equal("structure")
        # two values of nothing but values are told by one look at each; asking all rules takes 10 µs
        if kinds_in(answer) <= _VALUES and kinds_in(reference) <= _VALUES:
            return same_values(answer, reference, self)
        for rule in _RULES:
            if (decision := rule(answer, reference, self)) is not None:
                return decision
        if is_scalar(answer) and is_scalar(reference):
            return same_scalar(answer, reference, self)
        return unequal("kinds", "another kind of answer")


def case_rule(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    """Piecewise values branch by branch, in any order. A condition on the one value that there is may be left out."""
    if not (isinstance(answer, Cases) or isinstance(reference, Cases)):
        return None
    a, b = _branches(_piecewise(answer)), _branches(_piecewise(reference))
    if len(a) == len(b) == 1:
        (x, when_x), (y, when_y) = a[0], b[0]
        values = ask.same(x, y)
        if not values.equal or when_x is None or when_y is None or _is_domain(when_x) or _is_domain(when_y):
            return values
        return ask.same(when_x, when_y)
    return in_any_order([_branch(*branch) for branch in a], [_branch(*branch) for branch in b], ask, "cases")


def _piecewise(node: Node) -> Node:
    """The cases in "f(x) = {…", beside cases without a name."""
    value = named(node).values[-1] if isinstance(node, Relation) else node
    return value if isinstance(value, Cases) and len(value.branches) > 1 else node


def _branches(node: Node) -> tuple[tuple[Node, Node | None], ...]:
    return node.branches if isinstance(node, Cases) else ((node, None),)


def _is_domain(condition: Node) -> bool:
    """k in Z, "for all real x": what kind of values a variable has, which goes without saying."""
    return isinstance(condition, Text) or (isinstance(condition, Relation) and condition.signs == ("in",))


def _branch(value: Node, condition: Node | None) -> Node:
    return Brackets("(", (value, condition or Text("otherwise")), ")")


_VALUES = frozenset({Number, Constant, Symbol, Sum, Product, Power, Call, Apply, Binder})
"""Kinds of nodes that no rule has anything to say about, however they are put together."""

_RULES: tuple[Rule, ...] = (
    word_rule,
    case_rule,
    set_rule,
    list_rule,
    relation_rule,
    congruence_rule,
    ordered_rule,
    measured_rule,
)
