r"""Commands and functions: fractions, roots, binomials, trigonometry, logarithms, absolute values, floors.

Where a function's argument ends when it has no brackets:

    \sin 2x         sin(2x): the factors written without a sign; so is \sin x^2 = sin(x^2)
    \sin x \cos y   a product: another function ends the argument
    \sin x (x+1)    a product: so does a bracket, unless a number stands before it (\cos 2(x+1))
    \ln 8/\ln 2     a quotient: so does a slash …
    sin pi/6        … except in an angle, whose π is nearly always written over its denominator
    \sin(x)^2       (sin x)^2, as in every computer algebra system; \sin^2 x too, and \sin^{-1} x is the inverse
    \sqrt3/2        (√3)/2; \sqrt12 is √12, since nobody means √1·2; \frac12 is one over two
    \log x          of one argument: base 10 or e is left open. \lg is to base 10, \log_2 8 and log2(8) to base 2.
"""

# ruff: noqa: S105  a token is a piece of text here, no password

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math.building import HALF, PI, TEN, TWO, E, inverse, is_numeric, negated, product, quotient
from guerdon.verifiers._math.expressions import read_sum
from guerdon.verifiers._math.literals import literal
from guerdon.verifiers._math.naming import read_arguments, symbol
from guerdon.verifiers._math.powers import read_argument, read_exponent, read_operand, read_power, takes_degree
from guerdon.verifiers._math.products import read_product, starts_factor
from guerdon.verifiers._math.reader import Reader, head
from guerdon.verifiers._math.statements import read_item
from guerdon.verifiers._math.suffixes import DEGREE, take_degree
from guerdon.verifiers._math.tree import (
    FUNCTIONS,
    Apply,
    Braces,
    Brackets,
    Call,
    Node,
    Number,
    Power,
    Product,
    Quantity,
    Text,
    Unit,
)
from guerdon.verifiers._math.units import SIGNS, times

_TRIGONOMETRIC = ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "sech", "csch")
_OTHER_NAMES = {
    "tg": "tan", "ctg": "cot", "cotg": "cot", "cosec": "csc", "arctg": "arctan", "arcctg": "arccot",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "acot": "arccot", "asec": "arcsec", "acsc": "arccsc",
    "sh": "sinh", "ch": "cosh", "th": "tanh", "arsinh": "arcsinh", "arcosh": "arccosh", "artanh": "arctanh",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "tr": "trace", "Tr": "trace", "Re": "re", "Im": "im",
    "sgn": "sign",
}  # fmt: skip
_OF_ONE = (
    *_TRIGONOMETRIC, *(name for name in FUNCTIONS if name.startswith("arc")), "ln", "log", "lg", "lb", "exp", "det",
    "trace", "re", "im", "arg", "sign", *_OTHER_NAMES, "abs", "floor", "ceil", "sqrt", "cbrt",
)  # fmt: skip
ONE_ARGUMENT = frozenset(_OF_ONE) - {"sqrt", "cbrt"}
MANY_ARGUMENTS = frozenset(("gcd", "lcm", "min", "max"))
_HEADS_OF_FUNCTIONS = frozenset(f"\\{name}" for name in (*ONE_ARGUMENT, *MANY_ARGUMENTS))


@head("\\frac", "\\dfrac", "\\tfrac", "\\cfrac")
def read_fraction(r: Reader, token: str) -> Node:
    """Numerator and denominator; of two whole literals the rational number."""
    if r.tokens[r.at + 1] in ("d", "\\partial") and r.integral < 0 and (derivative := _derivative(r)) is not None:
        return derivative
    top = read_argument(r)
    bottom = read_argument(r)
    return quotient(top, bottom)


def _derivative(r: Reader) -> Node | None:
    r"""``\frac{dy}{dx}``, which is no y/x, and those of higher order; None, with nothing passed, if it is none."""
    tokens, sign = r.tokens, r.tokens[r.at + 1]
    of, order = _order(tokens, r.at + 2)
    if tokens[of + 1 : of + 4] == ["}", "{", sign]:
        end, again = _order(tokens, of + 5)
        names = [tokens[at].removeprefix("\\") for at in (of, of + 4)]
        if order == again and tokens[end] == "}" and all(name.isalpha() for name in names):
            r.at = end + 1
            mark = sign.removeprefix("\\")
            return Apply(f"{mark}{order}/{mark}{names[1]}{order}", (symbol(names[0]),))
    if any(tokens[at : at + 3] == ["}", "{", sign] and tokens[at + 3].isalpha() for at in range(r.at, r.at + 12)):
        raise r.unread("cannot read this derivative")
    return None


def _order(tokens: list[str], at: int) -> tuple[int, str]:
    """Behind the ``^2`` or ``^{2}`` that may stand here, and what it is."""
    if tokens[at] != "^":
        return at, ""
    braced = tokens[at + 1] == "{"
    return at + 2 + 2 * braced, f"^{tokens[at + 1 + braced]}"


@head("\\d over d")
def read_derivative(r: Reader, token: str) -> Node:
    """dy/dx, of which ``dress`` has left the letters y and x."""
    r.at += 2
    return Apply(f"d/d{r.tokens[r.at - 1]}", (symbol(r.tokens[r.at - 2]),))


@head("\\sqrt", "\\surd")
def read_root(r: Reader, token: str) -> Node:
    """The square root, or the n-th with its index in square brackets."""
    index: Node | None = None
    r.deeper()
    if r.take("["):
        index = read_sum(r)
        r.expect("]", "the index of a root")
    inside = read_operand(r)
    r.depth -= 1
    return root(inside, index)


def root(inside: Node, index: Node | None) -> Node:
    """The root of an index, 2 if None."""
    if index is None or index == TWO:
        return Power(inside, HALF)
    return Call("root", (inside, index))


@head("\\cbrt")
def read_cube_root(r: Reader, token: str) -> Node:
    """cbrt(x)."""
    return Call("root", (read_argument(r), Number(Fraction(3))))


@head("\\binom", "\\dbinom", "\\tbinom")
def read_binomial(r: Reader, token: str) -> Node:
    """n over k."""
    return Call("binomial", (read_argument(r), read_argument(r)))


@head(*(f"\\{name}" for name in ONE_ARGUMENT))
def read_function(r: Reader, token: str) -> Node:
    """A function of one argument, with its exponent and base."""
    name = token[1:]
    name = _OTHER_NAMES.get(name, name)
    r.deeper()
    exponent: Node | None = None
    base: Node | None = {"lg": TEN, "lb": TWO}.get(name)
    while (mark := r.tokens[r.at]) in ("^", "**", "_") and not (mark != "_" and takes_degree(r)):
        r.at += 1
        if mark == "_":
            if name not in ("log", "ln") or base is not None:
                raise r.unread(f"{name} takes no base")
            base = _read_base(r)
        elif exponent is None:
            exponent = read_exponent(r)
        else:
            raise r.unread("two exponents on one function")
    if exponent == Number(Fraction(-1)) and f"arc{name}" in FUNCTIONS:
        name, exponent = f"arc{name}", None
    argument = _read_function_argument(r, name)
    if type(argument) is Text:
        raise r.unread(f"{name} of words")
    call = _call(name, argument, base)
    r.depth -= 1
    return call if exponent is None else Power(call, exponent)


def _read_base(r: Reader) -> Node:
    r"""The base of a logarithm: 10 in log_10 x, but 2 in ``\log_28``, where TeX leaves an argument of 8."""
    following = r.tokens[r.at + 1]
    whole = r.tokens[r.at] == "{" or starts_factor(following) or following[:1].isdigit() or following in ("|", "^")
    return read_operand(r) if whole else read_argument(r)


def _call(name: str, argument: Node, base: Node | None) -> Node:
    if name == "exp":
        return Power(E, argument)
    if base is not None:
        return Call("ln", (argument,)) if base == E else Call("log", (argument, base))
    return Call(name, (argument,))


def _read_function_argument(r: Reader, name: str) -> Node:
    token = r.tokens[r.at]
    if token in ("(", "[", "{", "\\lvert", "|"):
        argument = read_operand(r)
        if isinstance(argument, Brackets):
            if argument.opens == "[" and argument.closes == "]" and len(argument.items) == 1:
                return argument.items[0]
            if name not in ("abs", "re", "im"):
                raise r.unread(f"{name} takes one argument")
        if token == "{" and r.tokens[r.at] in _DEGREES_AFTER_BRACE and takes_degree(r):
            return _in_degrees(r, argument)
        return argument
    return _read_bare_argument(r)


_DEGREES_AFTER_BRACE = ("^",)


def _in_degrees(r: Reader, value: Node) -> Node:
    return Quantity(value, take_degree(r))


def _read_bare_argument(r: Reader) -> Node:
    """The factors up to the next function, sign, bracket or slash."""
    if r.tokens[r.at] == "-":
        r.at += 1
        return negated(_read_bare_argument_factors(r))
    r.take("+")
    return _read_bare_argument_factors(r)


def _read_bare_argument_factors(r: Reader) -> Node:
    tokens = r.tokens
    factors: list[Node] = [read_power(r)]
    while type(factors[-1]) is not Text:
        token = tokens[r.at]
        if token == "^" and takes_degree(r):
            factors = [_in_degrees(r, product(factors))]
        elif token in ('"degrees', '"degree'):
            r.at += 1
            factors = [Quantity(product(factors), DEGREE)]
        elif token == "/" and tokens[r.at + 1].isdigit() and _has_pi(factors):
            r.at += 1
            factors.append(inverse(read_power(r)))
        elif token in ("d", '"d') and r.integral >= 0:
            break
        elif token in ("(", "["):
            if not (len(factors) == 1 and type(factors[0]) is Number):
                break
            factors.append(read_power(r))
        elif token[:1].isdigit() or token[:1] == '"' or token in _HEADS_OF_FUNCTIONS or not starts_factor(token):
            break
        else:
            factor = read_power(r)
            first = factors[-1]
            if token in ("\\frac", "\\dfrac", "\\tfrac") and type(first) is Number and type(factor) is Number:
                factors[-1] = Number(first.value + factor.value) if 0 < factor.value < 1 else Product((first, factor))
            else:
                factors.append(factor)
    return product(factors)


def _has_pi(factors: list[Node]) -> bool:
    return PI in factors and is_numeric(factors)


_OTHER_FUNCTIONS = ("dim", "ker", "deg", "Pr", "sup", "hom")


@head("\\operator name", *(f"\\{name}" for name in _OTHER_FUNCTIONS))
def read_other_function(r: Reader, token: str) -> Node:
    r"""A function that nobody here knows: ``\operatorname{Var}(X)``, ``\dim V``."""
    name = token[1:]
    if token == "\\operator name":
        name = r.tokens[r.at]
        r.at += 1
    if r.tokens[r.at] == "(":
        return Apply(name, read_arguments(r))
    return Apply(name, (read_argument(r),))


@head(*(f"\\{name}" for name in MANY_ARGUMENTS))
def read_function_of_many(r: Reader, token: str) -> Node:
    r"""``\gcd(a, b)``, ``\max\{a, b\}``."""
    if r.tokens[r.at] not in ("(", "\\{", "[", "{"):
        raise r.unread(f"{token[1:]} needs brackets")
    inside = read_operand(r)
    items = inside.items if isinstance(inside, (Brackets, Braces)) else (inside,)
    if len(items) not in FUNCTIONS[token[1:]]:
        raise r.unread(f"{token[1:]} of {len(items)} arguments")
    return Call(token[1:], items)


@head("\\lvert", "|", "\\vert")
def read_absolute(r: Reader, token: str) -> Node:
    """An absolute value; of a matrix the determinant, which the comparison knows."""
    closes = "\\rvert" if token == "\\lvert" else token
    return Call("abs", (_read_until(r, token, closes),))


@head("\\|", "\\lVert", "\\Vert")
def read_norm(r: Reader, token: str) -> Node:
    """A norm."""
    return Call("norm", (_read_until(r, token, "\\rVert" if token == "\\lVert" else token),))


@head("\\lfloor", "\\lceil")
def read_rounded(r: Reader, token: str) -> Node:
    """Floor or ceiling."""
    return Call(token[2:], (_read_until(r, token, "\\r" + token[2:]),))


def _read_until(r: Reader, opens: str, closes: str) -> Node:
    before, r.opens = r.opens, opens
    r.deeper()
    inside = read_item(r) if opens in ("|", "\\lvert") else read_sum(r)
    r.expect(closes, "a bar or bracket")
    r.depth -= 1
    r.opens = before
    return inside


@head("\\$", "\\euro", "\\pounds", "\\yen", "\\rupee")
def read_money(r: Reader, token: str) -> Node:
    """An amount behind its currency sign."""
    unit = Unit(((SIGNS[token], 1),))
    if r.tokens[r.at] == "-":
        r.at += 1
        return Quantity(negated(read_power(r)), unit)
    r.deeper()
    amount = read_product(r)
    r.depth -= 1
    if type(amount) is Quantity:
        return Quantity(amount.value, times(unit, amount.unit))
    return Quantity(amount, unit)


@head("\\log2", "\\log10")
def read_log_of_program(r: Reader, token: str) -> Node:
    """log2(8) and log10(1000), as programs call them."""
    return Call("log", (read_argument(r), literal(token[4:])))
