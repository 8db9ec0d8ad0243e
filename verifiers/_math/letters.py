r"""Letters and what is attached to them: constants, variables with subscripts and primes, unknown functions, sets.

e, i            constants; E, I are letters. \mathbf{i}, \hat{i}, \vec{i} are unit vectors (``unit vector i``)
C               a letter like others, also as the constant of integration
f(x+1)          an application: f, g and h are functions, and so is every letter with a prime before a bracket, or one
a(x+1)          that the text defines ("P(x) = …"). Other letters are multiplied by the bracket.
A(1,2)          the point A, if the letter is a capital and the brackets hold more than one value
C(n,k), C_n^k   binomials; P(n,k) with the letters n, k or r, and P_5^2, are permutations; 5C2 and {}_5C_2 too
f^{-1}(x)       the inverse function, f^{-1} alone a power
\bar{z}, \overline{z}   the conjugate of z or w; over other letters part of the name
P(A|B)          the function ``P given`` of both
x_{n+1}         one variable whose name is ``x_n+1``; where a sum binds n, the function ``x_`` of n + 1
"""

from __future__ import annotations

from guerdon.verifiers._math.counting import called, counted
from guerdon.verifiers._math.naming import GREEK, LONGEST_NAME, VARIANTS, read_arguments, read_index, symbol
from guerdon.verifiers._math.reader import HEADS, Reader, head
from guerdon.verifiers._math.tree import Apply, Constant, Node

_FUNCTION_LETTERS = frozenset("fgh")
_CONSTANTS = {"e": Constant("e"), "i": Constant("i")}


@head(*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
def read_letter(r: Reader, letter: str) -> Node:
    """A variable or constant, or the value of a function at a point."""
    token = r.tokens[r.at]
    if token not in ("_", "'", "(", "^", "\\prime"):
        return symbol(letter) if letter in r.bound else _CONSTANTS.get(letter) or symbol(letter)
    return _with_name(r, letter)


@head(*(f"\\{name}" for name in (*GREEK, *VARIANTS)))
def read_greek(r: Reader, token: str) -> Node:
    """A Greek letter, as others; φ of a whole number is Euler's totient."""
    name = token[1:]
    name = VARIANTS.get(name, name)
    if r.tokens[r.at] in ("_", "'", "(", "^", "\\prime"):
        return _with_name(r, name)
    return symbol(name)


def _with_name(r: Reader, name: str) -> Node:
    tokens = r.tokens
    base = name
    if tokens[r.at] == "_":
        r.at += 1
        if r.bound and (indexed := _indexed(r, base)) is not None:
            return indexed
        index = read_index(r)
        if (number := counted(r, base, index)) is not None:
            return number
        name = f"{name}_{index}"
    while tokens[r.at] in ("'", "\\prime") or (tokens[r.at] == "^" and _prime_above(r)):
        name += "'"
        r.at += 1
    if len(name) > LONGEST_NAME:
        raise r.unread("a name is too long")
    if tokens[r.at] == "^" and base in _FUNCTION_LETTERS and _inverse_before_bracket(r):
        return Apply(f"{name}^-1", read_arguments(r))
    if tokens[r.at] == "(":
        if base in _FUNCTION_LETTERS or name[-1] == "'" or name in r.functions or _is_defined(r, name):
            return Apply(name, read_arguments(r))
        if (value := called(r, name)) is not None:
            return value
    return (_CONSTANTS.get(name) if name == base and name not in r.bound else None) or symbol(name)


def _indexed(r: Reader, base: str) -> Node | None:
    """``a_k`` where a sum binds k: the function ``a_`` of its index; None, with nothing passed, for any other index."""
    tokens, start = r.tokens, r.at
    end = start
    if tokens[start] == "{":
        end = next((at for at in range(start, start + LONGEST_NAME) if tokens[at] in ("}", "")), start)
    inside = tokens[start + 1 : end] if end > start else tokens[start : start + 1]
    if r.bound.isdisjoint(inside):
        return None
    if not all(token in _IN_INDEX or (token.isalnum() and token.isascii()) for token in inside):
        return Apply(f"{base}_{read_index(r)}", tuple(symbol(name) for name in sorted(r.bound.intersection(inside))))
    if sum(token.isalpha() for token in inside) == len(inside):  # a_{ij} has two indices
        r.at = max(end, start) + 1
        return Apply(f"{base}_", tuple(symbol(token) for token in inside))
    r.at += 1
    items = [HEADS["item"](r, "")]
    while r.take(","):
        items.append(HEADS["item"](r, ""))
    r.expect("}", "an index")
    return Apply(f"{base}_", tuple(items))


_IN_INDEX = frozenset("+-*/,")


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
