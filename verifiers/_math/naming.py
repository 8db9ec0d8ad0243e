"""Names: letters with their subscripts, and the arguments behind them."""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from functools import lru_cache

from guerdon.verifiers._math.reader import HEADS, Reader
from guerdon.verifiers._math.tree import Brackets, Node, Symbol

_GREEK = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar aleph
"""
GREEK = tuple(_GREEK.split())
VARIANTS = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varrho": "rho", "varsigma": "sigma"}
LONGEST_NAME = 40


@lru_cache(maxsize=1024)
def symbol(name: str) -> Symbol:
    """The variable of this name."""
    return Symbol(name)


def read_index(r: Reader) -> str:
    """A subscript, as text without braces and spaces."""
    tokens = r.tokens
    token = tokens[r.at]
    r.at += 1
    if token != "{":
        if not (token.isalnum() or token in _INDICES or token[:1] == '"'):
            r.at -= 1
            raise r.unread("a subscript is missing")
        return token.lstrip('"\\')
    parts: list[str] = []
    level = 1
    while True:
        token = tokens[r.at]
        if token == "" or len(parts) > LONGEST_NAME:
            raise r.unread("a subscript is not closed" if token == "" else "a subscript is too long")
        r.at += 1
        level += (token == "{") - (token == "}")
        if level == 0:
            return "".join(parts)
        if token not in ("{", "}"):
            parts.append(token.lstrip('"\\'))


_INDICES = frozenset(("+", "-", "*", "\\max", "\\min", "\\infty", *(f"\\{name}" for name in (*GREEK, *VARIANTS))))


def read_arguments(r: Reader) -> tuple[Node, ...]:
    """The arguments of a function in the round brackets that stand here."""
    r.at += 1
    inside = HEADS["("](r, "()")
    if isinstance(inside, Brackets):
        if inside.closes != ")":
            raise r.unread("brackets of two kinds around the arguments of a function")
        return inside.items
    return (inside,)
