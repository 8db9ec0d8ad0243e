r"""Operands with their exponents and factorials.

2^3^2, e^-x     to the right: 2^(3^2), e^(-x); 2^10 has an exponent of two digits, since nobody means 2^1·0
2^n!            2^(n!), but 2^{n}! is (2^n)!: braces close an exponent
A^T             the transpose of a capital letter, vector or matrix
12^{th}         the ordinal, which is its number
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from guerdon.verifiers._math.building import signed
from guerdon.verifiers._math.literals import literal
from guerdon.verifiers._math.reader import HEADS, Reader
from guerdon.verifiers._math.tree import Brackets, Call, Matrix, Node, Number, Power, Symbol

ADDS = frozenset(("+", "-", "\\pm", "\\mp"))
AFTER_POWER = frozenset(("^", "!", "'", "\\prime"))
DEGREES = frozenset(("\\circ", "\\degree", '"o', '"deg'))
ORDINALS = frozenset(('"th', '"st', '"nd', '"rd'))
_TRANSPOSES = frozenset(("\\top", "\\intercal", "T", '"T'))
_MOST_POSTFIXES = 8  # (x^2)!^2 has three; each one nests the tree


def read_power(r: Reader) -> Node:
    """An operand with its exponents and factorials."""
    base = read_operand(r)
    return _with_postfixes(r, base) if r.tokens[r.at] in AFTER_POWER else base


def _with_postfixes(r: Reader, base: Node) -> Node:
    for _ in range(_MOST_POSTFIXES):
        token = r.tokens[r.at]
        if token not in AFTER_POWER or token == "'" or (token == "^" and takes_degree(r)):
            return base
        r.at += 1
        if token == "!":
            base = Call("factorial2" if r.take("!") else "factorial", (base,))
        elif token == "\\prime":
            raise r.unread("a prime stands behind no letter")
        else:
            base = _raised(r, base)
    raise r.unread("too many exponents and factorials behind one operand")


def takes_degree(r: Reader) -> bool:
    r"""Whether ``^\circ`` or ``^{\circ}`` stands here."""
    token = r.tokens[r.at + 1]
    return token in DEGREES or (token == "{" and r.tokens[r.at + 2] in DEGREES and r.tokens[r.at + 3] == "}")


def _raised(r: Reader, base: Node) -> Node:
    token = r.tokens[r.at]
    braced = token == "{"
    inside = r.tokens[r.at + 1] if braced else token
    if not braced or r.tokens[r.at + 2] == "}":
        width = 3 if braced else 1
        if inside in ORDINALS and type(base) is Number:
            r.at += width
            return base
        if inside in _TRANSPOSES and _may_be_transposed(base):
            r.at += width
            return Call("transpose", (base,))
    return Power(base, read_exponent(r))


def _may_be_transposed(base: Node) -> bool:
    if type(base) is Symbol:
        return len(base.name) == 1 and base.name.isupper()
    return isinstance(base, (Matrix, Brackets))


def read_exponent(r: Reader) -> Node:
    """What stands behind ``^``: braces, or one operand with its sign, whose own exponents and factorials go with it."""
    token = r.tokens[r.at]
    r.deeper()
    if token in ADDS:
        r.at += 1
        exponent = signed(token, read_exponent(r))
    elif token == "{":
        exponent = read_operand(r)
        if r.tokens[r.at] == "^" and not takes_degree(r):
            r.at += 1
            exponent = Power(exponent, read_exponent(r))
    else:
        exponent = read_power(r)
    r.depth -= 1
    return exponent


def read_operand(r: Reader) -> Node:
    """One number, letter, command with its arguments, bracket or phrase."""
    token = r.tokens[r.at]
    known = HEADS.get(token)
    if known is None:
        if token[:1].isdigit() or (token[:1] == "." and token[1:2].isdigit()):
            known = HEADS["number"]
        elif token[:1] == '"' and len(token) > 1:
            known = HEADS["word"]
        elif token[:1].isupper() and r.tokens[r.at + 1] == "_":
            known = HEADS["based"]  # FF_{16}
        else:
            raise r.unexpected()
    r.at += 1
    return known(r, token)


def read_argument(r: Reader) -> Node:
    r"""What a command takes as TeX does: braces, one digit, or one operand. ``\frac12`` is one over two."""
    token = r.tokens[r.at]
    if token[:1].isdigit() and len(token) > 1:
        r.tokens[r.at] = token[1:]
        return literal(token[0])
    r.deeper()
    node = read_operand(r)
    r.depth -= 1
    return node
