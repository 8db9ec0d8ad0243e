"""What a look over the raw tokens tells: whether they are a plain formula, where money and sets stand."""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

import re

from guerdon.verifiers._math.reader import HEADS
from guerdon.verifiers._math.statements import RELATIONS
from guerdon.verifiers._math.vocabulary import BREAKS, GROUPS, HIDDEN, SAME, TEXTS

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_OPERATORS = r"\cup \cap \pm \mp \cdot \times \div \{ \} \circ \% \rfloor \rceil \rangle \setminus \rvert \mid \over"
_PLAIN = (
    frozenset(_LETTERS) - {"U"}  # which may be a union
    | frozenset("+-*/^_(){}[]=<>,;:!|'%")
    | frozenset(token for token in HEADS if token[:1] == "\\" and "{" not in token and token not in SAME)
    | frozenset(RELATIONS) - {"!="}
    | frozenset(_OPERATORS.split())
)
_PER_UNIT = re.compile(r"[mgLNJCVWK] ?/ ?[shLmgkK]")
_COMMANDS = (
    TEXTS
    | GROUPS
    | HIDDEN
    | BREAKS
    | frozenset(SAME)
    | _PLAIN
    | frozenset(("\\begin", "\\end", "\\left", "\\right", "\\displaystyle", "\\mathbb", "\\big", "\\Big"))
)
_BEFORE_MONEY = frozenset(
    ("+", "-", ",", ";", "(", "=", "", "and", "or", "<", ">", "\\le", "\\ge", ":", "\n", "is", "US")
)
_BEFORE_SETS = frozenset(("\\cup", "\\cap", "\\setminus", "\\in", "\\ ", "\\backslash", "\\to", "\\(", "\\[", "\\left"))


def is_plain(tokens: list[str], text: str) -> bool:
    """Whether every token means what it is, so that they can be read as they are."""
    for token in set(tokens) - _PLAIN:
        if not (token.isdigit() or (token[0].isdigit() and "," not in token)):
            return False
    return not (("|" in text and "{" in text) or ("/" in text and _PER_UNIT.search(text)))


def is_command(name: str) -> bool:
    """Whether a backslash in front of the name makes something that is read or dropped."""
    token = f"\\{name}"
    return token in _COMMANDS or token in HEADS or token in RELATIONS


def is_money(tokens: list[str]) -> bool:
    """Whether every dollar sign stands in front of a number and none behind one, as in "$5 and $6"."""
    places = [at for at, token in enumerate(tokens) if token == "$"]
    if not places or places[-1] == len(tokens) - 1:
        return False
    return all(_is_amount(tokens, at + 1) and (tokens[at - 1] if at else "") in _BEFORE_MONEY for at in places)


def _is_amount(tokens: list[str], at: int) -> bool:
    return tokens[at + (tokens[at] == "-" and at + 1 < len(tokens))][0] in "0123456789."


def braces_of_sets(tokens: list[str]) -> frozenset[int]:
    """The indices of the opening braces that hold a list or a condition and are no command's argument."""
    found: list[int] = []
    open_at: list[tuple[int, bool]] = []
    bars: list[int] = []
    for at, token in enumerate(tokens):
        if token == "{":
            before = tokens[at - 1] if at else ""
            open_at.append((at, (before[:1] == "\\" and before not in _BEFORE_SETS) or before in ("}", "^", "_", "]")))
            bars.append(0)
        elif token == "}" and open_at:
            start, is_argument = open_at.pop()
            if bars.pop() % 2 and not is_argument:
                found.append(start)
        elif bars:
            if token == "|":
                bars[-1] += 1
            elif token in (",", ":", "\\mid", ";") or ("," in token and token[0].isdigit() and "{" not in token):
                bars[-1] |= 1
    return frozenset(found)
