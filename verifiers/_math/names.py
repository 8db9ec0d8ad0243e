"""Named things: π, ∞, ∅, the number sets, angles and triangles, letters with a sign above, numbers."""

from __future__ import annotations

from guerdon.verifiers._math.building import INFINITY, PI, ZERO
from guerdon.verifiers._math.literals import literal
from guerdon.verifiers._math.naming import LONGEST_NAME, read_index, symbol
from guerdon.verifiers._math.powers import read_argument
from guerdon.verifiers._math.reader import HEADS, Reader, head
from guerdon.verifiers._math.tree import Braces, Brackets, Call, Constant, NamedSet, Node, SetOperation, Symbol

_SETS = ("R", "Q", "Z", "N", "C")
_LONGEST_BAR = 9
_ELLIPSIS = Symbol("...")


@head(
    "\\vec",
    "\\overrightarrow",
    "\\overline",
    "\\bar",
    "\\hat",
    "\\widehat",
    "\\tilde",
    "\\widetilde",
    "\\dot",
    "\\ddot",
)
def read_decorated(r: Reader, token: str) -> Node:
    """A letter with a sign above it; a line over two capitals is the segment between them, an arrow the vector."""
    if token in ("\\overline", "\\bar"):
        start = r.at
        inside = read_argument(r)
        if isinstance(inside, (Symbol, Constant)) and inside.name not in ("z", "w"):
            return symbol(f"{inside.name} bar")
        letters = _letters(r.tokens[start : r.at])
        if letters.isalpha() and letters not in ("z", "w") and len(letters) < _LONGEST_BAR:
            return symbol(letters if letters.isupper() else f"{letters} bar")
        return Call("conj", (inside,))
    letters = read_index(r)
    if not letters.replace("_", "").isalnum():
        raise r.unread("an arrow or a hat stands over more than letters")
    if letters in ("i", "j", "k") and token in ("\\hat", "\\vec", "\\widehat"):
        r.vectors = True
        return symbol(f"unit vector {letters}")
    if token in ("\\vec", "\\overrightarrow"):
        return symbol(letters)
    return symbol(f"{letters} {token[1:].removeprefix('wide')}")


def _letters(tokens: list[str]) -> str:
    return "".join(token for token in tokens if token not in ("{", "}"))


@head("\\pi")
def read_pi(r: Reader, token: str) -> Node:
    """π; with an index a variable, in front of a bracket a factor."""
    return symbol("pi_" + read_index(r)) if r.take("_") else PI


@head("\\infty", "\\infin")
def read_infinity(r: Reader, token: str) -> Node:
    """∞."""
    return INFINITY


@head("\\ldots", "\\cdots", "\\dots", "...", "\\dotsc", "\\dotsb", "\\vdots", "\\ddots")
def read_ellipsis(r: Reader, token: str) -> Node:
    """What is left out, ``Symbol("...")``: it is equal to itself only, so that 1, 2, …, n is no set of three."""
    return _ELLIPSIS


@head("\\unit vector")
def read_unit_vector(r: Reader, token: str) -> Node:
    """A bold i, j or k, which the dress leaves as ``\\unit vector`` and the letter."""
    r.at += 1
    r.vectors = True
    return symbol(f"unit vector {r.tokens[r.at - 1]}")


@head("\\emptyset", "\\varnothing", "\\O")
def read_empty_set(r: Reader, token: str) -> Node:
    """∅."""
    return NamedSet("empty")


@head(*(f"\\mathbb{{{name}}}" for name in _SETS), *(f"\\{name}" for name in "RQZN"))
def read_named_set(r: Reader, token: str) -> Node:
    r"""``\mathbb{R}`` with its marks: ``^+``, ``_{>0}``, ``^*``, ``^2``, ``_{\ge 0}``, ``\setminus\{0\}`` apart."""
    name = token[-2] if token[-1] == "}" else token[-1]
    mark = ""
    while r.tokens[r.at] in ("^", "_"):
        above = r.tokens[r.at] == "^"
        r.at += 1
        index = read_index(r)
        if above and index.isdigit() and not mark and 1 < int(index[:3]) < 10:
            return SetOperation("product", (NamedSet(name),) * int(index))
        mark += _MARKS.get(index, "?")
    if mark in ("+0", "0+"):
        zero = ZERO
        return (
            Brackets("[", (zero, INFINITY), ")")
            if name == "R"
            else SetOperation("union", (NamedSet(f"{name}+"), Braces((zero,))))
        )
    if mark not in ("", "+", "-", "*"):
        raise r.unread("cannot read the mark on this set")
    return NamedSet(name + mark)


_MARKS = {
    "+": "+",
    ">0": "+",
    "++": "+",
    "*": "*",
    "\\ast": "*",
    "ast": "*",
    "-": "-",
    "<0": "-",
    "×": "*",
    "times": "*",
}
_MARKS |= {"ge0": "+0", "geq0": "+0", ">=0": "+0", "geqslant0": "+0", "0": "0", "ne0": "*", "neq0": "*"}


@head("\\angle", "\\triangle", "\\measuredangle", "\\mangle")
def read_named_figure(r: Reader, token: str) -> Node:
    r"""``\angle ABC`` and ``\triangle ABC`` are the names of one thing."""
    letters = ""
    braced = r.take("{")
    while len(r.tokens[r.at]) == 1 and r.tokens[r.at].isalpha():
        letters += r.tokens[r.at]
        r.at += 1
    if not letters and r.tokens[r.at].isdigit():
        letters = r.tokens[r.at]
        r.at += 1
    if braced:
        r.expect("}", "the name of a figure")
    if not letters or len(letters) > LONGEST_NAME:
        raise r.unread("an angle or triangle without letters")
    return symbol(f"{token[1:].removeprefix('measured')} {letters}")


@head("number")
def read_number(r: Reader, token: str) -> Node:
    """A number, in another base if a subscript says so; 5C2 is a binomial."""
    tokens = r.tokens
    following = tokens[r.at]
    if following == "_":
        return HEADS["based"](r, token)
    if following in ("C", "P") and token.isdigit() and tokens[r.at + 1].isdigit() and len(tokens[r.at + 1]) < 10:
        r.at += 2
        name = "binomial" if following == "C" else "permutations"
        return Call(name, (literal(token), literal(tokens[r.at - 1])))
    if token.isdigit() or token[-1:] not in _CAPITALS:
        return literal(token)
    return HEADS["based"](r, token)


_CAPITALS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
