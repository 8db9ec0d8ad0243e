r"""Products, with and without a sign between the factors, quotients and mixed numbers.

What is ambiguous is read as mathematicians write it:

    2\frac14        2 + 1/4, and so is 2 1/4, if all three are literals and the fraction is proper
    2\frac{a}{2b}   a product
    a/bc  x/2y      a/(bc), x/(2y): a product without a sign binds before the slash …
    1/2x  \pi/6 x   … but a number over a literal is a coefficient: (1/2)x
    n/2(a+b)        (n/2)(a+b): a bracket behind a literal denominator multiplies the quotient
    3 x 10^4        the letter x between two numbers is a times sign
    3.2 × 10^-4     one number, if its mantissa is a literal
    2 3, x2         nothing: a number behind a number or a letter is a product in no notation; 2^a 3^b and n2^n are
    a + 1 (a > 2)   a statement in brackets is the condition of the whole item
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from guerdon.verifiers._math import suffixes
from guerdon.verifiers._math.building import ONE, as_set, inverse, product, quotient, signed
from guerdon.verifiers._math.literals import literal, scaled
from guerdon.verifiers._math.powers import ADDS, AFTER_POWER, read_power
from guerdon.verifiers._math.reader import HEADS, Reader
from guerdon.verifiers._math.suffixes import Factors
from guerdon.verifiers._math.tree import (
    Braces,
    Brackets,
    Call,
    Constant,
    NamedSet,
    Node,
    Number,
    Quantity,
    Relation,
    SetOperation,
    Sum,
    Symbol,
    Text,
)
from guerdon.verifiers._math.units import SIGNS

TIMES = frozenset(("*", "\\times", "\\cdot", "\\ast", "\\cdotp"))
_DIVIDES = frozenset(("/", "\\div"))
_MODULO = frozenset(("\\bmod", "\\mod"))
_FRACTIONS = frozenset(("\\frac", "\\dfrac", "\\tfrac", "\\cfrac"))
_BARS = frozenset(("|", "\\|", "\\vert", "\\Vert"))
_ENDS = frozenset(("", "}", ")", "]", ",", ";", "=", "+", "-", "\\}", "<", ">", "\\le", "\\ge", "\\pm", "&", "\\\\"))
"""What ends a product; the usual ones, looked up first so that short formulas stay short work."""
_NO_FACTORS = frozenset(("<", "]", "|", "^", "_"))
"""Heads that are no factor without a sign, since they may also close or stand between two values."""
_SETS = (NamedSet, Braces, SetOperation)
_CLAUSES = frozenset(("\\bmod", "\\mod", "\\pmod", '"if', '"for', '"when', '"where', '"with'))
_AFTER_INTERVAL = frozenset(
    ("", ",", ";", ")", "}", "\\}", "\\cup", "\\cap", "\\setminus", "]", "&", "\\\\", '"and', '"or')
)


def read_product(r: Reader) -> Node:
    """Factors with or without signs between them, and the unit behind them."""
    if r.integral >= 0 and take_differential(r):
        return ONE
    factor = read_power(r)
    if r.tokens[r.at] in _ENDS or type(factor) is Text:
        return factor
    f = Factors(r, factor)
    while not ends_integral(r) and _step(f):
        pass
    return product(f.factors)


def starts_factor(token: str) -> bool:
    """Whether a token may begin an operand, so that it multiplies what stands before it."""
    return (token in HEADS and token not in _NO_FACTORS) or (token[:1] == '"' and len(token) > 1)


def closes_interval(r: Reader) -> bool:
    """Whether the square bracket here closes, as in [1,2[: where no factor could follow it."""
    return r.opens in ("[", "]", "(") and r.tokens[r.at + 1] in _AFTER_INTERVAL


def ends_integral(r: Reader) -> bool:
    """Whether the ``dx`` of the integral whose body is being read has been passed."""
    return r.integral == r.depth and r.differential is not None


def is_differential(r: Reader) -> bool:
    """Whether ``dx`` stands here, inside an integral."""
    if r.integral < 0 or r.differential is not None or r.tokens[r.at] not in ("d", '"d'):
        return False
    token = r.tokens[r.at + 1]
    return token.removeprefix("\\").isalpha() and (len(token) == 1 or token[0] == "\\")


def take_differential(r: Reader) -> bool:
    """Passes ``dx`` if it stands here, inside an integral."""
    if not is_differential(r):
        return False
    r.differential = r.tokens[r.at + 1].removeprefix("\\")
    r.at += 2
    return True


def _step(f: Factors) -> bool:
    """Reads one factor, divisor or unit; False at the end of the product."""
    r, factors = f.r, f.factors
    token = r.tokens[r.at]
    if token in _ENDS or (r.integral >= 0 and take_differential(r)):
        return False
    if token in TIMES:
        r.at += 1
        _multiply(f)
    elif token in _DIVIDES:
        if not suffixes.take_unit_below(f):
            r.at += 1
            _divide(f)
    elif token in _MODULO:
        r.at += 1
        r.deeper()  # for good: each one nests the tree
        factors[:] = [Call("mod", (product(factors), read_power(r)))]
    elif token in suffixes.MARKS or (token in SIGNS and not r.tokens[r.at + 1][:1].isdigit()):
        return suffixes.take_mark(f)
    elif token[:1] == '"':
        return suffixes.take_word(f) or _take_letter(f)
    elif token[:1].isdigit() or token[:1] == ".":
        _number(f)
    elif token in _BARS:
        if r.opens == token or r.opens == "\\{":
            return False
        factors.append(read_power(r))
    elif token == "(" and r.tokens[r.at + 1].lower() == '"base' and suffixes.take_base_in_brackets(f):
        pass
    elif (token == "[" and closes_interval(r)) or (token == "(" and r.tokens[r.at + 1] in _CLAUSES):
        return False
    elif starts_factor(token):
        _implicit(f)
    else:
        return False
    return True


def _multiply(f: Factors) -> None:
    """The factor behind a times sign."""
    r, factors = f.r, f.factors
    last = factors[-1]
    exponent = _power_of_ten(r) if type(last) is Number and literal_before(r, last, 2) else None
    if exponent is not None and type(last) is Number:
        factors[-1] = scaled(last, exponent)
    elif r.tokens[r.at] in ADDS:
        factors.append(signed_power(r))
    else:
        factor = read_power(r)
        if _are_sets(last, factor):
            factors[-1] = SetOperation("product", (as_set(last), as_set(factor)))
        else:
            factors.append(factor)


def _are_sets(left: Node, right: Node) -> bool:
    """Whether a times sign makes pairs: between two sets, one of which is surely none of numbers, points or letters."""
    both = all(isinstance(as_set(side), (NamedSet, Braces, SetOperation, Brackets)) for side in (left, right))
    return both and any(
        isinstance(side, _SETS) or (type(side) is Brackets and (side.opens, side.closes) != ("(", ")"))
        for side in (left, right)
    )


def _power_of_ten(r: Reader) -> int | None:
    """The exponent of 10^{-4} if that stands here, which is then passed."""
    tokens, at = r.tokens, r.at
    if tokens[at] != "10" or tokens[at + 1] != "^":
        return None
    closes = {"{": "}", "(": ")"}.get(tokens[at + 2])
    at += 3 if closes else 2
    negative = tokens[at] == "-"
    at += tokens[at] in ("-", "+")
    digits = tokens[at]
    at += 1
    if not (digits.isdigit() and len(digits) < 9) or (closes and tokens[at] != closes):
        return None
    at += closes is not None
    if tokens[at] in AFTER_POWER or tokens[at] == "_":
        return None
    r.at = at
    return -int(digits) if negative else int(digits)


def _divide(f: Factors) -> None:
    """The divisor behind a slash, with the factors that belong to it."""
    r, factors = f.r, f.factors
    below = signed_power(r) if r.tokens[r.at] in ADDS else read_power(r)
    last = factors[-1]
    if type(below) is Number:
        if type(last) is Number and below.value and not (below.digits or last.digits):
            factors[-1] = Number(last.value / below.value)
            return
        if r.tokens[r.at] == "(" or f.is_numeric():
            factors.append(inverse(below))
            return
    divisor = [below]
    while starts_factor(token := r.tokens[r.at]) and token[:1] != '"' and not is_differential(r):
        if token == "(" and (r.tokens[r.at + 1] in _CLAUSES or (type(below) is Number and len(divisor) == 1)):
            break
        divisor.append(read_power(r))
    factors.append(inverse(product(divisor)))


def _number(f: Factors) -> None:
    """A number right behind something: the fraction of a mixed number, a smaller unit, a factor behind a power."""
    r, factors = f.r, f.factors
    last = factors[-1]
    if type(last) is Symbol and last.name == "x" and len(factors) > 1 and type(factors[-2]) is Number:
        factors.pop()
        _multiply(f)
    elif type(last) is Quantity:
        factors[:] = [_compound(f)]
    elif type(last) is Number:
        factors[-1] = _mixed(r, last)
    elif isinstance(last, (Symbol, Constant)) and r.tokens[r.at + 1] != "^":  # n2^n is a product, n2 is nothing
        raise r.unread("a number stands behind a letter")
    else:
        factors.append(read_power(r))


def _mixed(r: Reader, whole: Number) -> Number:
    """2 3/5 behind its 2."""
    tokens, at = r.tokens, r.at
    digits = tokens[at - 1].isdigit() and tokens[at].isdigit() and tokens[at + 1] == "/" and tokens[at + 2].isdigit()
    if digits and literal_before(r, whole, 1):
        part = quotient(literal(tokens[at]), literal(tokens[at + 2]))
        if type(part) is Number and part.value < 1:
            r.at = at + 3
            return Number(whole.value + part.value)
    raise r.unread("two numbers stand side by side")


def _compound(f: Factors) -> Node:
    """5 ft 6 in, 2 hours 30 minutes, 30° 15′: quantities side by side are added."""
    r = f.r
    r.deeper()
    rest = read_product(r)
    r.depth -= 1
    parts = rest.terms if type(rest) is Sum else (rest,)
    if not all(type(part) is Quantity for part in parts):
        raise r.unread("a number without a unit stands behind one with a unit")
    return Sum((product(f.factors), *parts))


def _take_letter(f: Factors) -> bool:
    r"""A single letter in a text command, which is a variable: 2\mathrm{x}."""
    if len(f.r.tokens[f.r.at]) != 2:
        return False
    _implicit(f)
    return True


def _implicit(f: Factors) -> None:
    """A factor without a sign in front, or the fraction of a mixed number."""
    r, factors = f.r, f.factors
    last, token = factors[-1], r.tokens[r.at]
    is_literal = type(last) is Number and not last.digits and literal_before(r, last, 1)
    factor = read_power(r)
    if type(factor) is Relation and token == "(":
        r.condition = factor
    elif isinstance(factor, _SETS) and isinstance(last, _SETS):
        raise r.unread("two sets stand side by side")
    elif type(factor) is Text:
        raise r.unread("words and a formula are mixed")
    elif is_literal and token in _FRACTIONS and type(factor) is Number and 0 < factor.value < 1:
        assert type(last) is Number
        factors[-1] = Number(last.value + factor.value)
    else:
        factors.append(factor)


def literal_before(r: Reader, node: Number, back: int) -> bool:
    """Whether the token that stands so far back is the whole of a number."""
    token = r.tokens[r.at - back]
    return token[:1].isdigit() and literal(token) == node


def signed_power(r: Reader) -> Node:
    """A factor with a sign of its own, as in 2 × -3."""
    sign = r.tokens[r.at]
    r.at += 1
    if r.tokens[r.at] in ADDS:
        raise r.unread("two signs stand side by side")
    return signed(sign, read_power(r))
