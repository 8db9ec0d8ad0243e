r"""Letters and what is attached to them: constants, variables with subscripts and primes, unknown functions, sets.

e, i            constants; E, I are letters. \mathbf{i}, \hat{i}, \vec{i} are unit vectors (``unit vector i``)
C               a letter like others, also as the constant of integration
f(x+1)          an application: f, g and h are functions, and so is every letter with a prime before a bracket, or one
a(x+1)          that the text defines ("P(x) = …"). Other letters are multiplied by the bracket.
A(1,2)          the point A, if the letter is a capital and the brackets hold more than one value
C(n,k), C_n^k   binomials; P(n,k) with the letters n, k or r, and P_5^2, are permutations; 5C2 and {}_5C_2 too
f^{-1}(x)       the inverse function, f^{-1} alone a power
\bar{z}, \overline{z}   the conjugate of z or w; over other letters part of the name
x_{n+1}         one variable whose name is ``x_n+1``
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from guerdon.verifiers._math.literals import literal
from guerdon.verifiers._math.powers import read_argument
from guerdon.verifiers._math.reader import HEADS, Reader, head
from guerdon.verifiers._math.tree import (
    Apply,
    Braces,
    Brackets,
    Call,
    Constant,
    NamedSet,
    Node,
    Number,
    SetOperation,
    Symbol,
)

_GREEK = """
alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi rho sigma tau upsilon phi chi psi omega
Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar aleph
"""
GREEK = tuple(_GREEK.split())
_VARIANTS = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varrho": "rho", "varsigma": "sigma"}
_FUNCTION_LETTERS = frozenset("fgh")
_CONSTANTS = {"e": Constant("e"), "i": Constant("i")}
_DECORATIONS = frozenset(("\\overline", "\\bar", "\\hat", "\\widehat", "\\tilde", "\\widetilde", "\\dot", "\\ddot"))
_ARROWS = frozenset(("\\vec", "\\overrightarrow", "\\bold"))
_SETS = ("R", "Q", "Z", "N", "C")
_LONGEST_NAME = 40


@lru_cache(maxsize=1024)
def symbol(name: str) -> Symbol:
    """The variable of this name."""
    return Symbol(name)


@head(*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
def read_letter(r: Reader, letter: str) -> Node:
    """A variable or constant, or the value of a function at a point."""
    token = r.tokens[r.at]
    if token not in ("_", "'", "(", "^", "\\prime"):
        return symbol(letter) if letter in r.bound else _CONSTANTS.get(letter) or symbol(letter)
    return _with_name(r, letter)


@head(*(f"\\{name}" for name in (*GREEK, *_VARIANTS)))
def read_greek(r: Reader, token: str) -> Node:
    """A Greek letter, as others; φ of a whole number is Euler's totient."""
    name = token[1:]
    name = _VARIANTS.get(name, name)
    if r.tokens[r.at] in ("_", "'", "(", "^", "\\prime"):
        return _with_name(r, name)
    return symbol(name)


def _with_name(r: Reader, name: str) -> Node:
    tokens = r.tokens
    base = name
    if tokens[r.at] == "_":
        r.at += 1
        index = read_index(r)
        counted = _counted(r, base, index)
        if counted is not None:
            return counted
        name = f"{name}_{index}"
    while tokens[r.at] in ("'", "\\prime") or (tokens[r.at] == "^" and _prime_above(r)):
        name += "'"
        r.at += 1
    if len(name) > _LONGEST_NAME:
        raise r.unread("a name is too long")
    if tokens[r.at] == "^" and base in _FUNCTION_LETTERS and _inverse_before_bracket(r):
        return Apply(f"{name}^-1", read_arguments(r))
    if tokens[r.at] == "(":
        if base in _FUNCTION_LETTERS or name[-1] == "'" or name in r.functions or _is_defined(r, name):
            return Apply(name, read_arguments(r))
        called = _called(r, name)
        if called is not None:
            return called
    return (_CONSTANTS.get(name) if name == base and name not in r.bound else None) or symbol(name)


def _prime_above(r: Reader) -> bool:
    r"""Passes ``^`` and the brace of ``^{\prime}``; the prime itself is next to be passed."""
    tokens, at = r.tokens, r.at
    if tokens[at + 1] in ("\\prime", "'"):
        r.at += 1
        return True
    if tokens[at + 1] == "{" and tokens[at + 2] in ("\\prime", "'") and tokens[at + 3] == "}":
        r.at += 3
        return True
    return False


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
        if token == "" or len(parts) > _LONGEST_NAME:
            raise r.unread("a subscript is not closed" if token == "" else "a subscript is too long")
        r.at += 1
        level += (token == "{") - (token == "}")
        if level == 0:
            return "".join(parts)
        if token not in ("{", "}"):
            parts.append(token.lstrip('"\\'))


_INDICES = frozenset(("+", "-", "*", "\\max", "\\min", "\\infty", *(f"\\{name}" for name in (*GREEK, *_VARIANTS))))


def _counted(r: Reader, letter: str, below: str) -> Node | None:
    """``C_n^k`` and ``P_5^2``: chosen or arranged k of n."""
    if letter not in ("C", "P", "A") or r.tokens[r.at] != "^":
        return None
    above = r.tokens[r.at + 1]
    width = 2
    if above == "{":
        above, width = r.tokens[r.at + 2], 4
        if r.tokens[r.at + 3] != "}":
            return None
    both_numbers = below.isdigit() and above.isdigit() and len(below + above) < 9 and int(below) >= int(above)
    if not (
        both_numbers or (letter == "C" and below in ("n", "m", "N") and (above.isdigit() or above in ("k", "r", "m")))
    ):
        return None
    r.at += width
    return Call("binomial" if letter == "C" else "permutations", (_name_or_number(below), _name_or_number(above)))


def _name_or_number(text: str) -> Node:
    return literal(text) if text.isdigit() else symbol(text)


def _inverse_before_bracket(r: Reader) -> bool:
    """Passes ``^{-1}`` if an opening bracket follows."""
    tokens, at = r.tokens, r.at + 1
    if tokens[at : at + 5] == ["{", "-", "1", "}", "("]:
        r.at += 5
    elif tokens[at : at + 3] == ["-", "1", "("]:
        r.at += 3
    else:
        return False
    return True


def _is_defined(r: Reader, name: str) -> bool:
    """Whether "P(x) =" stands here, which makes the letter a function from here on."""
    tokens, at = r.tokens, r.at
    if not (tokens[at + 2] in (")", ",") and (len(tokens[at + 1]) == 1 or tokens[at + 1][:1] == "\\")):
        return False
    end = at + 2
    while tokens[end] == "," and len(tokens[end + 1]) == 1 and end < at + 8:
        end += 2
    if tokens[end] != ")" or tokens[end + 1] not in ("=", ":=", "\\equiv"):
        return False
    if tokens[at + 1].isdigit() and end == at + 2 and not name.isupper():
        return False
    r.functions |= {name}
    return True


def read_arguments(r: Reader) -> tuple[Node, ...]:
    """The arguments of a function in the round brackets that stand here."""
    r.at += 1
    inside = HEADS["("](r, "()")
    if isinstance(inside, Brackets):
        if inside.closes != ")":
            raise r.unread("brackets of two kinds around the arguments of a function")
        return inside.items
    return (inside,)


def _called(r: Reader, name: str) -> Node | None:
    """C(n,k), P(n,k), φ(10): None, with nothing passed, where the bracket is a factor or a point."""
    if name not in ("C", "P", "phi", "Gamma", "zeta"):
        return None
    start, tokens = r.at, r.tokens
    if name == "Gamma":
        return Call("gamma", read_arguments(r))
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


def _holds_relation(tokens: list[str], at: int) -> bool:
    """Whether a bracket holds a statement: P(X = 2)."""
    for token in tokens[at + 1 : at + _LONGEST_NAME]:
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
        if letters.isupper() and len(letters) < 4:
            return symbol(letters)
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
    return symbol("pi_" + read_index(r)) if r.take("_") else _PI


_PI = Constant("pi")
_INFINITY = Constant("infinity")
_ELLIPSIS = Symbol("...")


@head("\\infty", "\\infin")
def read_infinity(r: Reader, token: str) -> Node:
    """∞."""
    return _INFINITY


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
        zero = Number(Fraction(0))
        return (
            Brackets("[", (zero, _INFINITY), ")")
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
    while len(r.tokens[r.at]) == 1 and r.tokens[r.at].isalpha():
        letters += r.tokens[r.at]
        r.at += 1
    if not letters and r.tokens[r.at].isdigit():
        letters = r.tokens[r.at]
        r.at += 1
    if not letters or len(letters) > _LONGEST_NAME:
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


@head("^", "_")
def read_script_first(r: Reader, mark: str) -> Node:
    r"""``{}_nC_k``, ``^nC_k``: the index stands before its letter."""
    total = read_argument(r)
    letter = r.tokens[r.at]
    if letter not in ("C", "P") or r.tokens[r.at + 1] != "_":
        raise r.unread("an index stands before no letter")
    r.at += 2
    return Call("binomial" if letter == "C" else "permutations", (total, read_argument(r)))
