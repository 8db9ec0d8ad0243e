"""What can be told of a tree by its form alone: its symbols, what it is made of, and substitution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from itertools import count
from typing import Any

from guerdon.verifiers._math.decision import CannotTellError, ValueFailureError
from guerdon.verifiers._math.evaluate import evaluate
from guerdon.verifiers._math.exact import Gaussian
from guerdon.verifiers._math.scope import Scope
from guerdon.verifiers._math.survey import Survey, Traits
from guerdon.verifiers._math.tree import Binder, Brackets, Node, Symbol


def free_symbols(node: Node) -> frozenset[str]:
    """The names of the symbols that are not bound by a sum, product, integral or limit.

    >>> from guerdon.verifiers._math.tree import Number
    >>> k, n = Symbol("k"), Symbol("n")
    >>> free_symbols(Binder("sum", k, "k", Number(Fraction(1)), n))
    frozenset({'n'})
    """
    survey = Survey()
    survey.take(node)
    return frozenset(survey.symbols)


def is_closed(node: Node) -> bool:
    """Whether a tree has neither free symbols nor unknown functions, so that it stands for one number."""
    survey = Survey()
    survey.take(node)
    return not survey.symbols and not survey.traits & Traits.UNKNOWN


def exact(node: Node) -> Fraction | None:
    """The rational number that a tree is, if exact arithmetic within the limits of ``size`` finds one.

    >>> from guerdon.verifiers._math.tree import Number, Power
    >>> exact(Power(Number(Fraction(4)), Number(Fraction(-1, 2))))
    Fraction(1, 2)
    """
    try:
        value = evaluate(node, Scope(None))
    except (ValueFailureError, CannotTellError, RecursionError):
        return None
    return None if isinstance(value, float | Gaussian) else Fraction(value)


def substitute(node: Node, values: Mapping[str, Node]) -> Node:
    """The tree with trees in the place of free symbols; a bound variable that would catch one is renamed.

    >>> from guerdon.verifiers._math.tree import Number
    >>> substitute(Symbol("x"), {"x": Number(Fraction(2))})
    Number(value=Fraction(2, 1), digits=0)
    """
    if isinstance(node, Symbol):
        return values.get(node.name, node)
    if isinstance(node, Binder):
        return _substitute_in_binder(node, values)
    changed = {part.name: _mapped(getattr(node, part.name), values) for part in fields(node)}
    if all(changed[name] is getattr(node, name) for name in changed):
        return node
    return replace(node, **changed)


def ungrouped(node: Node) -> Node:
    """The tree without square brackets around one value, which only group it where they stand inside of another."""
    if isinstance(node, Brackets) and len(node.items) == 1:
        return ungrouped(node.items[0])
    changed = {part.name: _ungrouped_part(getattr(node, part.name)) for part in fields(node)}
    return replace(node, **changed)


def _ungrouped_part(part: Any) -> Any:
    if isinstance(part, Node):
        return ungrouped(part)
    return tuple(map(_ungrouped_part, part)) if isinstance(part, tuple) else part


def _mapped(part: Any, values: Mapping[str, Node]) -> Any:
    if isinstance(part, Node):
        return substitute(part, values)
    if isinstance(part, tuple):
        mapped = tuple(_mapped(item, values) for item in part)
        return part if all(old is new for old, new in zip(part, mapped, strict=True)) else mapped
    return part


def _substitute_in_binder(node: Binder, values: Mapping[str, Node]) -> Binder:
    low, high = _mapped(node.low, values), _mapped(node.high, values)
    inner = {name: value for name, value in values.items() if name != node.variable}
    body_symbols = free_symbols(node.body)
    inner = {name: value for name, value in inner.items() if name in body_symbols}
    variable, body = node.variable, node.body
    caught = frozenset[str]().union(*(free_symbols(value) for value in inner.values()))
    if variable in caught:
        taken = caught | body_symbols
        fresh = next(name for name in (f"{variable}'{number}" for number in count(1)) if name not in taken)
        body, variable = substitute(body, {variable: Symbol(fresh)}), fresh
    return Binder(node.kind, substitute(body, inner), variable, low, high)
