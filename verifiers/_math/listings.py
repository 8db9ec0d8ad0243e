"""Several answers: unbracketed lists and sets in any order, and values under their names.

A list counts how often an answer stands in it, a set does not; a list without brackets is as good as a set. Where every
item of one side has a name of its own (``p = 5, q = 2``), the other side must give them under these names in any order,
or without names in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from guerdon.verifiers._math.decision import Decision
from guerdon.verifiers._math.integer_sets import listed
from guerdon.verifiers._math.judging import (
    Ask,
    all_of,
    any_of,
    in_any_order,
    in_order,
    unequal,
    without_repeats,
)
from guerdon.verifiers._math.labels import Named, named, same_named, same_names
from guerdon.verifiers._math.measured import item_name
from guerdon.verifiers._math.tree import Braces, Brackets, Listing, Matrix, NamedSet, Node, Relation, Sign, Symbol, Text

_Entries: TypeAlias = "list[Named]"


def list_rule(answer: Node, reference: Node, ask: Ask) -> Decision | None:
    """At least one side is several answers, or a set."""
    names = [named(node).names for node in (answer, reference)]
    answer, reference = _collection(answer), _collection(reference)
    if not (_is_several(answer) or _is_several(reference)):
        return None
    if {_chooses(answer), _chooses(reference)} == {True, False}:
        return unequal("list", "one of several is not all of them")
    if not same_names(*names) and isinstance(answer, Braces) and isinstance(reference, Braces):
        return unequal("names", "sets of other names")
    if _is_set_of_a_set(answer) != _is_set_of_a_set(reference):
        return unequal("set", "a set against a set that holds it")
    a, b = _items(answer, ask), _items(reference, ask)
    if isinstance(answer, Braces) or isinstance(reference, Braces):
        a, b = without_repeats(a, ask), without_repeats(b, ask)
    else:
        a, b = _alternatives(answer, a, ask), _alternatives(reference, b, ask)
    if (by_name := _by_name(a, b, ask)) is not None:
        return by_name
    if ask.policy.several == "any" and len(a) < len(b):
        return all_of((any_of((ask.same(x, y) for y in b), unequal("list", "no item")) for x in a), "list")
    if ask.policy.order == "kept" and not (isinstance(answer, Braces) or isinstance(reference, Braces)):
        return in_order(a, b, ask, "list")
    return in_any_order(a, b, ask, "list")


def _chooses(node: Node) -> bool | None:
    """Of words and of letters of options, "A or B" is another answer than "A and B"; of values, "or" says no more."""
    if not isinstance(node, Listing):
        return None
    named = all(isinstance(item, Text) or (isinstance(item, Symbol) and item.name.isupper()) for item in node.items)
    return node.joint == "or" if named else None


def _is_several(node: Node) -> bool:
    """A list, a set, or values under several names: (x, y) = (1, 2). x = y = 2 may be one value or two."""
    return isinstance(node, Listing | Braces) or (isinstance(node, Relation) and len(_components(named(node))) > 1)


def _collection(node: Node) -> Node:
    """S = {1, 2} and x in {1, 2} as {1, 2}."""
    value = named(node).values[-1]
    return value if isinstance(value, Braces) else node


def _is_set_of_a_set(node: Node) -> bool:
    return isinstance(node, Braces) and any(isinstance(item, Braces | NamedSet) for item in node.items)


def _items(node: Node, ask: Ask) -> list[Node]:
    node = listed(node, ask.deadline) or node
    if isinstance(node, Listing | Braces):
        return _regrouped(list(node.items))
    if ask.policy.brackets == "ignore" and isinstance(node, Brackets):
        return list(node.items)
    return _items_of_relation(node) or [node]


def _alternatives(node: Node, items: list[Node], ask: Ask) -> list[Node]:
    """ "1/2 or 0.5" is one answer."""
    return without_repeats(items, ask) if isinstance(node, Listing) and node.joint == "or" else items


def _items_of_relation(node: Node) -> list[Node]:
    """(x, y) = (1, 2) as x = 1 and y = 2; x = y = 2 as x = 2 and y = 2."""
    entry = named(node)
    if len(entry.names) > 1 and all(isinstance(name, Symbol) for name in entry.names):
        signs: tuple[Sign, ...] = tuple("=" for _ in entry.values)
        return [Relation((name, *entry.values), signs) for name in entry.names]
    return [Relation((name, value), ("=",)) for name, value in _components(entry)]


def _components(entry: Named) -> list[tuple[Node, Node]]:
    """The names and values in (x, y) = (1, 2)."""
    if len(entry.names) != 1 or len(entry.values) != 1 or _shape(entry.names[0]) != _shape(entry.values[0]):
        return []
    names, values = _inside(entry.names[0]), _inside(entry.values[0])
    return list(zip(names, values, strict=True)) if len(names) == len(values) else []


def _shape(node: Node) -> str:
    return node.opens + node.closes if isinstance(node, Brackets) else "()"


def _inside(node: Node) -> list[Node]:
    if isinstance(node, Brackets | Listing):
        return list(node.items)
    if isinstance(node, Matrix) and len(node.rows[0]) == 1:
        return [row[0] for row in node.rows]
    return []


def _regrouped(items: list[Node]) -> list[Node]:
    """x = 1, y = 2, x = 3, y = 4 as two solutions."""
    names = [named(item).names for item in items]
    size = next((size for size in range(2, len(items)) if names[size] == names[0] != ()), 0)
    if not size or len(items) % size or any(names[index] != names[index % size] for index in range(len(items))):
        return items
    return [Listing(tuple(items[start : start + size])) for start in range(0, len(items), size)]


# --- values under their names -----------------------------------------------------------------------------------------


def _by_name(a: Sequence[Node], b: Sequence[Node], ask: Ask) -> Decision | None:
    """Decides where one side, or both, gives each value a name of its own."""
    ours, theirs = _names_apart(a), _names_apart(b)
    if ours and theirs:
        return _same_under_names(ours, theirs, ask)
    if not ours and not theirs:
        return None
    values = [entry.values[-1] for entry in ours or theirs or ()]
    others = list(b if ours else a)
    if len(others) == 1 and (inside := _inside(others[0])):
        others = inside
        if entries := _as_coordinates(ours or theirs):
            values = [entry.values[-1] for entry in entries]
    if any(named(other).names for other in others):
        return None  # they have names too, though not each its own
    return in_order(values, others, ask, "names") if ours else in_order(others, values, ask, "names")


def _as_coordinates(entries: _Entries) -> _Entries:
    """y = 1, x = 2 in the order in which a point gives them: x, y. Nothing if the names are not single letters."""
    names = [entry.names[0] for entry in entries]
    if not all(len(entry.names) == 1 for entry in entries) or not all(
        isinstance(name, Symbol) and len(name.name) == 1 for name in names
    ):
        return []
    return sorted(entries, key=lambda entry: str(entry.names[0]))


def _names_apart(items: Sequence[Node]) -> _Entries:
    """The items with their names if all have one and no two the same, else nothing."""
    entries = [item_name(item) or named(item) for item in items]
    if len(entries) < 2 or not all(entry.names for entry in entries):
        return []
    names = [entry.names for entry in entries]
    apart = all(not same_names(names[i], names[j]) for i in range(len(names)) for j in range(i))
    return entries if apart else []


def _same_under_names(a: _Entries, b: _Entries, ask: Ask) -> Decision:
    if len(a) != len(b):
        return unequal("names", f"{len(a)} values against {len(b)}")
    pairs = [(ours, theirs) for ours in a for theirs in b if same_names(ours.names, theirs.names)]
    if len(pairs) != len(a):
        return unequal("names", "other names")
    return all_of((same_named(ours, theirs, ask) for ours, theirs in pairs), "names")
