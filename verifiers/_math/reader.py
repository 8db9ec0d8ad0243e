"""Where reading stands: the tokens, a position in them, and what surrounds it.

The parser is a set of small functions that take a ``Reader`` and return a node, having moved it on. What a token opens
is looked up in ``HEADS``; the modules beside this one fill that table, each for its own notations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from guerdon.verifiers._math.errors import TooLargeError, UnreadError
from guerdon.verifiers._math.limits import MAX_DEPTH
from guerdon.verifiers._math.tree import Node

Head: TypeAlias = "Callable[[Reader, str], Node]"

HEADS: dict[str, Head] = {}
"""What reads an operand, by its first token, which has been passed. ``word`` and ``number`` are for all of those."""


def head(*tokens: str) -> Callable[[Head], Head]:
    """Enters a function into ``HEADS`` for these tokens."""

    def enter(function: Head) -> Head:
        HEADS.update(dict.fromkeys(tokens, function))
        return function

    return enter


_END = ("",) * 10
"""More than anything here looks ahead."""


class Reader:
    """The state of one parse; empty tokens follow the last one, so that looking at the next ones is always allowed.

    origins: for each token the raw one that it comes from. opens: the innermost open bracket, which decides what ``|``
    and ``:`` mean. integral: the depth of the innermost open integral, -1 if there is none; differential: its ``dx``,
    once read. bound: letters that an index binds, so that i is no constant in a sum over i. functions: names that the
    text defines ("A(x) = …"). vectors: whether a unit vector has been read. condition: a statement in brackets behind
    a value, "a + 1 (a > 2)", until the item that it belongs to takes it.
    """

    __slots__ = (
        "_degrees",
        "at",
        "bound",
        "condition",
        "depth",
        "differential",
        "functions",
        "integral",
        "opens",
        "origins",
        "tokens",
        "vectors",
    )

    def __init__(self, tokens: list[str], origins: list[int] | None = None) -> None:
        self.tokens = [*tokens, *_END]
        self.origins = origins
        self.at = 0
        self.depth = 0
        self.opens = ""
        self.integral = -1
        self.differential: str | None = None
        self.condition: Node | None = None
        self.vectors = False
        self.bound: frozenset[str] = frozenset()
        self._degrees: bool | None = None
        self.functions: frozenset[str] = frozenset()

    def deeper(self) -> None:
        """One level down; whoever calls it takes the level back with ``depth -= 1``."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooLargeError(f"more than {MAX_DEPTH} nested levels")

    def has_degrees(self) -> bool:
        """Whether the text has a degree sign anywhere."""
        if self._degrees is None:
            self._degrees = "\\circ" in self.tokens or "\\degree" in self.tokens
        return self._degrees

    def take(self, token: str) -> bool:
        """Passes the token if it is the next one."""
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def expect(self, token: str, what: str) -> None:
        """Passes the token or raises UnreadError."""
        if not self.take(token):
            raise self.unread(f"{what} is not closed" if self.tokens[self.at] == "" else f"{what}: no {token!r} here")

    def unread(self, reason: str) -> UnreadError:
        """The error at this position, which counts raw tokens until ``parse`` makes characters of it."""
        if self.origins is None:
            return UnreadError(reason, self.at)
        return UnreadError(reason, self.origins[self.at] if self.at < len(self.origins) else None)

    def unexpected(self) -> UnreadError:
        """The error about the token that stands here."""
        token = self.tokens[self.at]
        return self.unread(
            f"cannot read {token.removeprefix(chr(34)) or token!r} here" if token else "it ends too early"
        )
