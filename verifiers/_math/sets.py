r"""Intervals, inequalities, unions, set-builder forms and "all reals except": the same set, however it is written.

``(1, 2)`` is a point as well as an open interval; as written it equals itself, and it also equals ``1 < x < 2``. A set
whose boundary cannot be put in order (``(-\infty, a) \cup (b, \infty)``) is compared part by part.

An inequality equals an interval when it is solved: ``2x + 3 < 7`` equals ``x < 2``, but is no way to write
``(-\infty, 2)``, or a question could be answered by repeating it.
"""

from __future__ import annotations

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.judging import Ask, in_any_order, in_order, unequal
from guerdon.verifiers._math.reading_sets import read_set
from guerdon.verifiers._math.realsets import RealSet, with_ends
from guerdon.verifiers._math.rewriting import names_in, renamed
from guerdon.verifiers._math.tree import Listing, NamedSet, Node, Relation, SetBuilder, SetOperation

_ORDERING = frozenset({"<", "<=", ">", ">=", "!=", "notin"})


def set_rule(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    """Two sets of reals if both can be read as one, else two sets part by part."""
    if not (_is_set(answer) or _is_set(reference)):
        return None
    solve = _is_statement(answer) and _is_statement(reference)
    pairs = ask.policy.pairs == "either"
    a, b = (read_set(node, solve=solve, pairs=pairs, deadline=ask.deadline) for node in (answer, reference))
    if a and b:
        if a[0] and b[0] and a[0] != b[0]:
            return unequal("set", "a set of another variable")
        return _same_real_set(a[1], b[1], ask)
    return _same_parts(answer, reference, ask)


def _same_real_set(a: RealSet, b: RealSet, ask: Ask) -> Decision:
    if ask.policy.ends == "ignore":
        a, b = with_ends(a), with_ends(b)
    if a.inside != b.inside:
        return unequal("set", "another set of reals")
    return in_order(a.points, b.points, ask, "set")


def _same_within(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    r"""\{n \in Z : n \ne 0\} and Z without 0, both taken of one number set; None if that shows nothing."""
    a, b = (_within(node, ask) for node in (answer, reference))
    if a is None or b is None or a[0] != b[0]:
        return None
    found = _same_real_set(a[1], b[1], ask)
    return found if found.equal else None


def _within(node: Node, ask: Ask) -> tuple[str, RealSet] | None:
    """A number set by its name, and the set of reals of which it is taken."""
    if isinstance(node, Relation) and node.signs == ("in",):
        node = node.sides[1]
    conditions: list[Node] = []
    if isinstance(node, SetBuilder):
        element = node.element
        conditions += node.conditions
        domains = [one for one in (element, *conditions) if isinstance(one, Relation) and one.signs == ("in",)]
        if len(domains) != 1 or not isinstance(domains[0].sides[1], NamedSet):
            return None
        variable, name = domains[0].sides[0], domains[0].sides[1].name
        if element not in (variable, domains[0]):
            return None
        rest = [condition for condition in conditions if condition != domains[0]]
        real: Node = SetBuilder(variable, tuple(rest)) if rest else NamedSet("R")
    elif isinstance(node, SetOperation) and node.kind == "difference" and isinstance(node.parts[0], NamedSet):
        name, real = node.parts[0].name, SetOperation("difference", (NamedSet("R"), *node.parts[1:]))
    else:
        return None
    found = read_set(real, solve=True, pairs=True, deadline=ask.deadline)
    return None if found is None or name == "C" else (name, found[1])


def _same_parts(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    if (within := _same_within(answer, reference, ask)) is not None:
        return within
    a, b = _as_union(answer), _as_union(reference)
    if isinstance(a, SetBuilder) and isinstance(b, SetBuilder):
        return _same_builder(a, b, ask)
    if isinstance(a, NamedSet) and isinstance(b, NamedSet):
        return unequal("set", "another set")  # equal ones are equal as written
    if isinstance(a, SetOperation) and isinstance(b, SetOperation) and a.kind == b.kind:
        pair_up = in_any_order if a.kind in ("union", "intersection") else in_order
        return pair_up(a.parts, b.parts, ask, "set")
    return None


def _is_set(node: Node) -> bool:
    """Whether it is certainly a set: brackets and braces alone may be something else."""
    if isinstance(node, Listing):
        return any(map(_is_set, node.items))
    if isinstance(node, Relation):
        return bool(_ORDERING.intersection(node.signs)) or (node.signs == ("in",) and _is_set(node.sides[1]))
    return isinstance(node, NamedSet | SetBuilder | SetOperation)


def _is_statement(node: Node) -> bool:
    return isinstance(node, Relation) or (isinstance(node, Listing) and all(map(_is_statement, node.items)))


def _as_union(node: Node) -> Node:
    """x in A as A, and "A or B" as the union of A and B."""
    if isinstance(node, Relation) and node.signs == ("in",):
        return _as_union(node.sides[1])
    return SetOperation("union", node.items) if isinstance(node, Listing) and node.joint == "or" else node


def _same_builder(a: SetBuilder, b: SetBuilder, ask: Ask) -> Decision:
    """The same form and the same conditions, whatever the bound variable is called."""
    ours, theirs = sorted(names_in(a.element)), sorted(names_in(b.element))
    if len(ours) == len(theirs) == 1:
        a, b = renamed(a, {ours[0]: "_"}), renamed(b, {theirs[0]: "_"})  # type: ignore[assignment]
    element = ask.same(a.element, b.element)
    return element if not element.equal else in_any_order(a.conditions, b.conditions, ask, "set")
