r"""Chosen and arranged: C(n,k), C_n^k, {}_nC_k, P_5^2; and other capitals in front of a bracket.

Two numbers of which the first is smaller make a point: C(1,2). P(n,k) with the letters n, k or r are permutations, any
other P in front of two values is a point, and of a statement a probability.
"""

from __future__ import annotations

import re

from guerdon.verifiers._math.building import product, signed
from guerdon.verifiers._math.literals import literal
from guerdon.verifiers._math.naming import LONGEST_NAME, read_arguments, symbol
from guerdon.verifiers._math.powers import read_argument
from guerdon.verifiers._math.reader import HEADS, Reader, head
from guerdon.verifiers._math.tree import Apply, Call, Node, Sum


def counted(r: Reader, letter: str, below: str) -> Node | None:
    """``C_n^k`` and ``P_5^2``: chosen or arranged k of n."""
    if letter not in ("C", "P", "A") or r.tokens[r.at] != "^":
        return None
    width = 2
    above = r.tokens[r.at + 1]
    if above == "{":
        ends = r.tokens.index("}", r.at) if "}" in r.tokens[r.at : r.at + _LONGEST_COUNT] else r.at
        above, width = "".join(r.tokens[r.at + 2 : ends]), ends + 1 - r.at
    both_numbers = below.isdigit() and above.isdigit() and len(below + above) < 9 and int(below) >= int(above)
    named = letter == "C" and below in ("n", "m", "N") and (above.isdigit() or above in ("k", "r", "m"))
    compound = letter == "C" and len(below) > 1 and not below.isdigit()  # C_{2n}^n is no power of a variable
    total, chosen = _count(below), _count(above)
    if not (both_numbers or named or compound) or total is None or chosen is None:
        return None
    r.at += width
    return Call("binomial" if letter == "C" else "permutations", (total, chosen))


_LONGEST_COUNT = 8
_COUNT = re.compile(r"(\d{0,8})([a-zA-Z]?)(?:([-+])(\d{1,8}|[a-zA-Z]))?")


def _count(text: str) -> Node | None:
    """n, 7, 2n, n + 1, 2n - k; None for anything else."""
    found = _COUNT.fullmatch(text)
    if found is None or not (found[1] or found[2]):
        return None
    factors = [literal(found[1])] if found[1] else []
    first = product([*factors, symbol(found[2])] if found[2] else factors)
    if not found[3]:
        return first
    second = literal(found[4]) if found[4].isdigit() else symbol(found[4])
    return Sum((first, signed(found[3], second)))


def called(r: Reader, name: str) -> Node | None:
    """C(n,k), P(n,k), φ(10): None, with nothing passed, where the bracket is a factor or a point."""
    if name not in ("C", "P", "phi", "Gamma", "zeta"):
        return None
    start, tokens = r.at, r.tokens
    if name == "Gamma":
        return Call("gamma", read_arguments(r))
    if name == "P" and (given := _conditional(r)) is not None:
        return given
    if name == "zeta" or (name == "P" and _holds_relation(tokens, start)):
        return Apply(name, read_arguments(r))
    if name == "phi":
        if (tokens[start + 1].isdigit() or tokens[start + 1] == "n") and tokens[start + 2] == ")":
            return Call("phi", read_arguments(r))
        return Apply("phi", read_arguments(r))
    if not _two_short_arguments(tokens, start):
        return None
    first, second = tokens[start + 1], tokens[start + 3]
    if name == "P" and not (first in ("n", "m") or second in ("k", "r")):
        return None
    if first.isdigit() and second.isdigit() and len(first + second) < 12 and int(first) < int(second):
        return None  # C(1,2) is a point
    return Call("binomial" if name == "C" else "permutations", read_arguments(r))


def _conditional(r: Reader) -> Node | None:
    """P(A | B), the function "P given" of both; None, with nothing passed, if there is no bar."""
    ends = r.tokens.index(")", r.at) if ")" in r.tokens[r.at : r.at + LONGEST_NAME] else r.at
    if sum(token in ("|", "\\mid") for token in r.tokens[r.at : ends]) != 1:
        return None
    r.at += 1
    before, r.opens = r.opens, "\\{"  # where a bar closes what stands before it
    event = HEADS["item"](r, "")
    r.at += 1
    condition = HEADS["item"](r, "")
    r.expect(")", "a bracket")
    r.opens = before
    return Apply("P given", (event, condition))


def _holds_relation(tokens: list[str], at: int) -> bool:
    """Whether a bracket holds a statement: P(X = 2)."""
    for token in tokens[at + 1 : at + LONGEST_NAME]:
        if token in (")", ""):
            return False
        if token in ("=", "<", ">", "\\le", "\\leq", "\\ge", "\\geq", "\\in", "\\cap", "\\cup"):
            return True
    return False


def _two_short_arguments(tokens: list[str], at: int) -> bool:
    first, comma, second, closes = (tokens[at + 1 : at + 5] + [""] * 4)[:4]
    return (
        comma == ","
        and closes == ")"
        and all(arg.isdigit() or (len(arg) == 1 and arg.isalpha()) for arg in (first, second))
    )


@head("^", "_")
def read_script_first(r: Reader, mark: str) -> Node:
    r"""``{}_nC_k``, ``^nC_k``: the index stands before its letter."""
    total = read_argument(r)
    letter = r.tokens[r.at]
    if letter not in ("C", "P") or r.tokens[r.at + 1] != "_":
        raise r.unread("an index stands before no letter")
    r.at += 2
    return Call("binomial" if letter == "C" else "permutations", (total, read_argument(r)))
