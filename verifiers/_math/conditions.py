"""Conditions of a value, and what separates answers: "if x > 0", "for all k ∈ Z", "x can be any integer"."""

from __future__ import annotations

from guerdon.verifiers._math.expressions import read_sum
from guerdon.verifiers._math.reader import HEADS, Reader
from guerdon.verifiers._math.tree import Brackets, Cases, Listing, NamedSet, Node, Relation, SetOperation, Text

JOINTS = {'"and': "and", '"or': "or", "\\land": "and", "\\lor": "or", "\\wedge": "and", "\\vee": "or"}
SEPARATORS = frozenset((",", ";", *JOINTS))
ENDS = frozenset(("", ")", "]", "}", "\\}", *SEPARATORS))
CONDITIONAL = frozenset(('"if', '"for', '"when', '"where', '"with', '"whenever', '"provided', '"given', "\\forall"))
OTHERWISE = frozenset(('"otherwise', '"else'))


def read_condition(r: Reader) -> Node:
    """The condition behind "if", "for", "where": a statement, or the words up to the end of the item."""
    bracket = r.take("(")
    r.at += 1
    while r.tokens[r.at] in ('"all', '"every', '"any', '"some', '"each'):
        r.at += 1
    start = r.at
    if r.tokens[start][:1] != '"':
        r.deeper()
        parts = [HEADS["item"](r, "")]
        while not bracket and r.tokens[r.at] in ('"and', '"or') and _more_follows(r):
            r.at += 1
            parts.append(HEADS["item"](r, ""))
        r.depth -= 1
        if r.tokens[r.at][:1] != '"' or r.tokens[r.at] in SEPARATORS:
            if bracket:
                r.expect(")", "the bracket of a condition")
            return parts[0] if len(parts) == 1 else Listing(tuple(parts), "and")
        r.at = start
    words: list[str] = []
    while (token := r.tokens[r.at]) not in (",", ";", "", ")", "\\\\", "}") and not token.startswith("\\end"):
        words.append(token.lstrip('"'))
        r.at += 1
    if bracket:
        r.expect(")", "the bracket of a condition")
    if not words:
        raise r.unexpected()
    return HEADS["text"](r, " ".join(words))


def _more_follows(r: Reader) -> bool:
    """Whether a condition goes on behind "and": not with words, nor with a value that has a condition of its own."""
    at = r.at + 1
    if r.tokens[at][:1] == '"':
        return False
    while (token := r.tokens[at]) != "" and token not in SEPARATORS:
        if token in CONDITIONAL:
            return False
        at += 1
    return True


def read_otherwise(r: Reader) -> Node:
    """ "otherwise 2", or "otherwise" alone in the second column of cases."""
    r.at += 1
    if r.tokens[r.at] in ENDS or r.tokens[r.at] == "\\\\" or r.tokens[r.at].startswith("\\end"):
        return Text("otherwise")
    r.take(",")
    return Cases(((read_sum(r), None),))


def in_set(r: Reader, symbol: Node) -> Node | None:
    """x "can be any real number", "is an integer": the variable in a set; None, with nothing passed, if it is none."""
    start = r.at
    while r.tokens[r.at] in _MAY_BE:
        r.at += 1
    if r.at > start and r.tokens[r.at][:1] == '"':
        word = r.tokens[r.at]
        r.at += 1
        found = HEADS["word"](r, word)
        if isinstance(found, (NamedSet, SetOperation, Brackets)):
            return Relation((symbol, found), ("in",))
    r.at = start
    return None


_MAY_BE = frozenset(('"can', '"may', '"must', '"could', '"be', '"is', '"an', '"a', "a", '"take', '"on', '"are'))
