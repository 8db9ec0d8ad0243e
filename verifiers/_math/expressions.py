r"""Values: sums of products of powers, by precedence.

-2^2            -(2^2): a power binds before the sign; -2\frac14 is -(2 + 1/4)
a-5             a plus the literal -5; a-b is a plus (-1)·b
R - {3}         a set without another
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from guerdon.verifiers._math.building import as_set, difference, signed
from guerdon.verifiers._math.powers import ADDS
from guerdon.verifiers._math.products import ends_integral, read_product
from guerdon.verifiers._math.reader import Reader
from guerdon.verifiers._math.tree import Node, Sum, Text

_MOST_SIGNS = 2  # a - -b; more in a row is no notation, and each one nests the tree


def read_sum(r: Reader) -> Node:
    """Terms with plus, minus and ± between and before them."""
    tokens = r.tokens
    first = _signed_term(r) if tokens[r.at] in ADDS else read_product(r)
    if tokens[r.at] not in ADDS or type(first) is Text:
        return first
    terms = [first]
    while (token := tokens[r.at]) in ADDS and not ends_integral(r):
        if token == "-" and _is_set_here(r, terms):
            r.at += 1
            terms = [difference(_sum(terms), read_product(r))]
        else:
            terms.append(_signed_term(r))
    return _sum(terms)


def _sum(terms: list[Node]) -> Node:
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def _is_set_here(r: Reader, terms: list[Node]) -> bool:
    """Whether what follows a minus is a set: R - {3}, Q - Z."""
    following = r.tokens[r.at + 1]
    if following == "\\{" or following.startswith("\\mathbb"):
        return True
    return following == "{" and len(terms) == 1 and as_set(terms[0]) is not terms[0]


def _signed_term(r: Reader) -> Node:
    signs = [r.tokens[r.at]]
    r.at += 1
    while (token := r.tokens[r.at]) in ADDS:
        if len(signs) == _MOST_SIGNS:
            raise r.unread("too many signs side by side")
        signs.append(token)
        r.at += 1
    term = read_product(r)
    if type(term) is Text:
        raise r.unread("words and a formula are mixed")
    for sign in reversed(signs):
        term = signed(sign, term)
    return term
