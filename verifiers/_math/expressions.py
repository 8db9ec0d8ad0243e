r"""Values: sums of products of powers, by precedence, with the products that nobody writes a sign for.

What is ambiguous is read as mathematicians write it:

    -2^2            -(2^2): a power binds before the sign
    2^3^2           2^(3^2); e^-x is e^(-x); 2^10 is a power of two digits, since nobody means 2^1·0
    2^n!            2^(n!), but 2^{n}! is (2^n)!
    2\frac14        2 + 1/4, and so is 2 1/4, if all three are literals and the fraction is proper; -2\frac14 is -(2 + 1/4)
    2\frac{a}{2b}   a product
    a/bc  x/2y      a/(bc), x/(2y): an unwritten product binds before the slash …
    1/2x  \pi/6 x   … but a number over a literal is a coefficient: (1/2)x
    n/2(a+b)        (n/2)(a+b): a bracket behind a literal denominator multiplies the quotient
    3 x 10^4        the letter x between two numbers is a times sign
    2 3, x2         nothing: a number behind a number or a letter is a product in no notation; 2^a 3^b is one
    a-5             a plus the literal -5
    20% of 50       a product
"""

from __future__ import annotations

from fractions import Fraction

from guerdon.verifiers._math.literals import literal, scaled
from guerdon.verifiers._math.numerals import are_digits, base_named
from guerdon.verifiers._math.reader import HEADS, Reader
from guerdon.verifiers._math.tree import (
    Based,
    Binder,
    Braces,
    Brackets,
    Call,
    Constant,
    NamedSet,
    Node,
    Number,
    PlusMinus,
    Power,
    Product,
    Quantity,
    Relation,
    SetBuilder,
    SetOperation,
    Sum,
    Symbol,
    Unit,
    walk,
)
from guerdon.verifiers._math.units import PERCENT, read_unit

ONE, MINUS_ONE, HALF = Number(Fraction(1)), Number(Fraction(-1)), Number(Fraction(1, 2))

ADDS = frozenset(("+", "-", "\\pm", "\\mp"))
TIMES = frozenset(("*", "\\times", "\\cdot", "\\ast", "\\cdotp"))
_DIVIDES = frozenset(("/", "\\div"))
_MODULO = frozenset(("\\bmod", "\\mod"))
_DEGREES = frozenset(("\\circ", "\\degree", '"o', '"deg'))
_PERCENTS = frozenset(("%", "\\%"))
_AFTER_POWER = frozenset(("^", "!", "'", "**", "\\prime"))
# What ends a product, the usual ones first looked up here so that short formulas stay short work.
_ENDS = frozenset(("", "}", ")", "]", ",", ";", "=", "+", "-", "\\}", "<", ">", "\\le", "\\ge", "\\pm", "&", "\\\\"))
_FRACTIONS = frozenset(("\\frac", "\\dfrac", "\\tfrac", "\\cfrac"))
# Heads that are no unwritten factor, since they may also close or stand between two values.
_NO_FACTORS = frozenset(("<", "]", "|", "^", "_"))
_BARS = frozenset(("|", "\\|", "\\vert", "\\Vert"))
_MOST_SIGNS = 2  # a - -b; more in a row is no notation, and each one nests the tree
_MOST_POSTFIXES = 8  # (x^2)!^2 has three
DEGREE = Unit((("°", 1),))


def read_sum(r: Reader) -> Node:
    """Terms with plus, minus and ± between and before them."""
    tokens = r.tokens
    token = tokens[r.at]
    first = _signed_term(r) if token in ADDS else read_product(r)
    if tokens[r.at] not in ADDS:
        return first
    terms = [first]
    while (token := tokens[r.at]) in ADDS and not ends_integral(r):
        if token == "-" and _is_set_here(r, terms):
            r.at += 1
            terms = [difference(_sum(terms), read_product(r))]
        else:
            terms.append(_signed_term(r))
    return _sum(terms)


def _sum(terms: list[Node]) -> Node:
    return terms[0] if len(terms) == 1 else Sum(tuple(terms))


def _is_set_here(r: Reader, terms: list[Node]) -> bool:
    """Whether what follows a minus is a set: R - {3}, Q - Z."""
    following = r.tokens[r.at + 1]
    return (
        following == "\\{" or (following[:7] == "\\mathbb") or (following == "{" and as_set(terms[-1]) is not terms[-1])
    )


def difference(left: Node, right: Node) -> Node:
    """left without right; A - B - C is one operation of three parts."""
    if not isinstance(right, (Braces, Brackets, NamedSet, SetOperation, SetBuilder, Symbol)):
        right = Braces((right,))  # R \ {3}
    if type(left) is SetOperation and left.kind == "difference":
        return SetOperation("difference", (*left.parts, as_set(right)))
    return SetOperation("difference", (as_set(left), as_set(right)))


def as_set(node: Node) -> Node:
    """The letter R where a set must stand is the set of the reals; so are Q, Z, N and C."""
    if type(node) is Symbol and node.name in ("R", "Q", "Z", "N", "C"):
        return NamedSet(node.name)
    return node


def _signed_term(r: Reader) -> Node:
    signs = [r.tokens[r.at]]
    r.at += 1
    while (token := r.tokens[r.at]) in ADDS:
        if len(signs) == _MOST_SIGNS:
            r.fail("too many signs side by side")
        signs.append(token)
        r.at += 1
    term = read_product(r)
    for sign in reversed(signs):
        term = signed(sign, term)
    return term


def signed(sign: str, node: Node) -> Node:
    """The node behind one of the signs in ``ADDS``."""
    return node if sign == "+" else negated(node) if sign == "-" else PlusMinus(node, sign == "\\mp")


def negated(node: Node) -> Node:
    """Minus the node: a literal takes the sign into itself, a quantity into its value."""
    if type(node) is Number:
        return Number(-node.value, node.digits)
    if type(node) is Quantity:
        return Quantity(negated(node.value), node.unit)
    if type(node) is Product:
        first = node.factors[0]
        if type(first) is Number and first.value != -1:
            return Product((Number(-first.value, first.digits), *node.factors[1:]))
        return Product((MINUS_ONE, *node.factors))
    return Product((MINUS_ONE, node))


def read_product(r: Reader) -> Node:
    """Factors with or without signs between them, and the unit behind them."""
    if r.integral >= 0 and take_differential(r):
        return ONE
    factor = read_power(r)
    if r.tokens[r.at] in _ENDS:
        return factor
    return _Factors(r, factor).read()


def closes_interval(r: Reader) -> bool:
    """Whether the bracket here closes, as in [1,2[: where no factor could follow it."""
    return r.opens in ("[", "]", "(") and r.tokens[r.at + 1] in _NOT_INSIDE


_NOT_INSIDE = frozenset(
    ("", ",", ";", ")", "}", "\\}", "\\cup", "\\cap", "\\setminus", "]", "&", "\\\\", '"and', '"or')
)


def ends_integral(r: Reader) -> bool:
    """Whether the ``dx`` of the integral whose body is being read has been passed."""
    return r.integral == r.depth and r.differential is not None


def take_differential(r: Reader) -> bool:
    """Passes ``dx`` if it stands here, inside an integral."""
    if r.differential is not None or r.tokens[r.at] not in ("d", '"d'):
        return False
    name = r.tokens[r.at + 1].removeprefix("\\")
    if not name.isalpha() or (len(name) > 1 and r.tokens[r.at + 1] == name):
        return False
    r.at += 2
    r.differential = name
    return True


def starts_factor(token: str) -> bool:
    """Whether a token may begin an operand, so that it multiplies what stands before it."""
    return (token in HEADS and token not in _NO_FACTORS) or token[:1] == '"'


class _Factors:
    """The product being read. start: the index of the first factor behind the last unit, which the next unit measures."""

    __slots__ = ("factors", "literal_at", "r", "start")

    def __init__(self, r: Reader, first: Node) -> None:
        self.r = r
        self.factors = [first]
        self.start = 0

    def read(self) -> Node:
        r = self.r
        while not ends_integral(r) and self._step():
            pass
        factors = self.factors
        return factors[0] if len(factors) == 1 else Product(tuple(factors))

    def _step(self) -> bool:
        """Reads one factor, divisor or unit; False at the end of the product."""
        r, factors = self.r, self.factors
        token = r.tokens[r.at]
        if token in _ENDS or (r.integral >= 0 and take_differential(r)):
            return False
        if token in TIMES:
            r.at += 1
            self._times()
        elif token in _DIVIDES:
            r.at += 1
            self._divide()
        elif token in _MODULO:
            r.at += 1
            r.deeper()  # for good: each one nests the tree
            factors[:] = [Call("mod", (self._product(), read_power(r)))]
        elif token in _PERCENTS:
            r.at += 1
            self._measure(PERCENT)
        elif token == "^":
            if not takes_degree(r):
                return False
            self._measure(_degree_unit(r))
        elif token[:1] == '"':
            return self._word()
        elif token[:1].isdigit() or token[:1] == ".":
            self._number()
        elif token in ("'", '"'):
            return self._prime(token)
        elif token in _BARS:
            if r.opens == token or r.opens == "\\{":
                return False
            factors.append(read_power(r))
        elif token == "[" and closes_interval(r):
            return False
        elif token == "(" and r.tokens[r.at + 1] in (
            '"mod',
            "\\mod",
            "\\bmod",
            '"if',
            '"for',
            '"when',
            '"where',
            '"with',
        ):
            return False
        elif starts_factor(token):
            self._implicit()
        else:
            return False
        return True

    def _product(self) -> Node:
        return self.factors[0] if len(self.factors) == 1 else Product(tuple(self.factors))

    def _times(self) -> None:
        r, factors = self.r, self.factors
        last = factors[-1]
        exponent = self._power_of_ten() if type(last) is Number and literal_before(r, last, 2) else None
        if exponent is not None and type(last) is Number:
            factors[-1:] = [scaled(last, exponent)]
            return
        if r.tokens[r.at] in ADDS:
            factors.append(_signed_power(r))
            return
        factor = read_power(r)
        if {type(last), type(factor)} & {NamedSet, Braces} or (
            type(last) is Brackets and type(factor) is Brackets and last.opens + last.closes != "()"
        ):
            factors[-1:] = [SetOperation("product", (as_set(last), as_set(factor)))]
        else:
            factors.append(factor)

    def _power_of_ten(self) -> int | None:
        """The exponent of 10^{-4} if that stands here, which is then passed."""
        r, tokens, at = self.r, self.r.tokens, self.r.at
        if tokens[at] != "10" or tokens[at + 1] not in ("^", "**"):
            return None
        braced = tokens[at + 2] in ("{", "(")
        at += 3 if braced else 2
        negative = tokens[at] == "-"
        at += tokens[at] in ("-", "+")
        if not (tokens[at].isdigit() and len(tokens[at]) < 9):
            return None
        exponent = int(tokens[at])
        if braced:
            at += 1
            if tokens[at] not in ("}", ")"):
                return None
        if tokens[at + 1] in _AFTER_POWER or (tokens[at + 1] == "_"):
            return None
        r.at = at + 1
        return -exponent if negative else exponent

    def _divide(self) -> None:
        r, factors = self.r, self.factors
        below = _signed_power(r) if r.tokens[r.at] in ADDS else read_power(r)
        last = factors[-1]
        if type(below) is Number and type(last) is Number and below.value and not (below.digits or last.digits):
            factors[-1] = Number(last.value / below.value)
            return
        token = r.tokens[r.at]
        plain = type(below) is Number
        if not (plain and (token == "(" or is_numeric(factors))):
            divisor = [below]
            while starts_factor(token := r.tokens[r.at]) and not self._word_here(token):
                if token == "(" and plain and len(divisor) == 1:
                    break
                divisor.append(read_power(r))
            below = divisor[0] if len(divisor) == 1 else Product(tuple(divisor))
        factors.append(inverse(below))

    def _word_here(self, token: str) -> bool:
        return token[:1] == '"' or token[:1].isdigit()

    def _number(self) -> None:
        """A number right behind something: the fraction of a mixed number, a smaller unit, or nothing readable."""
        r, factors = self.r, self.factors
        tokens, at, last = r.tokens, r.at, factors[-1]
        if type(last) is Symbol and last.name == "x" and len(factors) > 1 and type(factors[-2]) is Number:
            factors.pop()  # 3 x 10^4
            self._times()
            return
        if type(last) is Quantity:
            factors[:] = [self._compound()]
            return
        is_fraction = tokens[at].isdigit() and tokens[at + 1] == "/" and tokens[at + 2].isdigit()
        if type(last) is Number and is_fraction and literal_before(r, last, 1) and tokens[at - 1].isdigit():
            top, bottom = literal(tokens[at]), literal(tokens[at + 2])
            if isinstance(top, Number) and isinstance(bottom, Number) and top.value < bottom.value:
                r.at = at + 3
                factors[-1] = Number(last.value + top.value / bottom.value)
                return
        if type(last) in (Number, Symbol, Constant):
            r.fail("two numbers stand side by side" if type(last) is Number else "a number stands behind a letter")
        factors.append(read_power(r))  # 2^a 3^b

    def _compound(self) -> Node:
        """5 ft 6 in, 2 hours 30 minutes, 30° 15′: quantities side by side are added."""
        r = self.r
        r.deeper()
        rest = read_product(r)
        r.depth -= 1
        parts = rest.terms if type(rest) is Sum else (rest,)
        if not all(type(part) is Quantity for part in parts):
            r.fail("a number without a unit stands behind one with a unit")
        return Sum((self._product(), *parts))

    def _word(self) -> bool:
        r, factors = self.r, self.factors
        token = r.tokens[r.at]
        if token == '"base' or (token == '"in' and r.tokens[r.at + 1] == '"base'):
            return self._base()
        if token == '"of':
            if not (type(factors[-1]) is Quantity or is_numeric(factors)):
                return False
            r.at += 1
            factors.append(read_power(r))
            return True
        if token in ('"d', '"e', '"i') or (
            len(token) == 2 and type(factors[-1]) is not Number and not is_numeric(factors)
        ):
            self._implicit()
            return True
        unit = read_unit(r.tokens, r.at)
        if unit is None:
            if len(token) == 2 and token[1].isalpha():
                self._implicit()
                return True
            return False
        r.at = unit[1]
        self._measure(unit[0])
        return True

    def _base(self) -> bool:
        """101 base 2."""
        r = self.r
        digits = r.tokens[r.at - 1]
        name = r.tokens[r.at + (2 if r.tokens[r.at] == '"in' else 1)].lstrip('"')
        base = base_named(name)
        if base is None or type(self.factors[-1]) is not Number or not are_digits(digits, base):
            return False
        self.factors[-1] = Based(digits, base)
        r.at += 3 if r.tokens[r.at] == '"in' else 2
        return True

    def _prime(self, token: str) -> bool:
        """5'10" are feet and inches; behind degrees they are minutes and seconds."""
        r = self.r
        double = token == '"' or r.tokens[r.at + 1] == "'"
        r.at += 2 if double and token == "'" else 1
        angle = "\\circ" in r.tokens or "\\degree" in r.tokens
        self._measure(Unit(((("″" if double else "′") if angle else ("in" if double else "ft"), 1),)))
        return True

    def _measure(self, unit: Unit) -> None:
        """The factors since the last unit, measured in this one."""
        measured = self.factors[self.start :]
        if not measured:
            self.r.fail("two units stand side by side")
        value = measured[0] if len(measured) == 1 else Product(tuple(measured))
        self.factors[self.start :] = [Quantity(value, unit)]
        self.start = len(self.factors)

    def _implicit(self) -> None:
        r, factors = self.r, self.factors
        last = factors[-1]
        token = r.tokens[r.at]
        is_literal = type(last) is Number and not last.digits and literal_before(r, last, 1)
        factor = read_power(r)
        if type(factor) is Relation and token == "(":
            r.condition = factor  # a + 1 (a > 2)
            return
        if is_literal and token in _FRACTIONS and type(factor) is Number and 0 < factor.value < 1:
            factors[-1] = Number(last.value + factor.value)  # type: ignore[attr-defined]
        else:
            factors.append(factor)


def literal_before(r: Reader, node: Number, back: int) -> bool:
    """Whether the token that stands so far back is the whole of a number."""
    token = r.tokens[r.at - back]
    return token[:1].isdigit() or token[:1] == "." if token and literal(token) == node else False


def _signed_power(r: Reader) -> Node:
    """A factor with a sign of its own, as in 2 × -3."""
    sign = r.tokens[r.at]
    r.at += 1
    if r.tokens[r.at] in ADDS:
        r.fail("two signs stand side by side")
    return signed(sign, read_power(r))


def inverse(node: Node) -> Node:
    """One over the node."""
    return Power(node, MINUS_ONE)


def quotient(top: Node, bottom: Node) -> Node:
    """A fraction: of two whole literals the rational number itself."""
    if type(top) is Number and type(bottom) is Number and bottom.value and not (top.digits or bottom.digits):
        return Number(top.value / bottom.value)
    return Product((top, inverse(bottom)))


def is_numeric(nodes: list[Node]) -> bool:
    """Whether nothing inside stands for an unknown."""
    return not any(isinstance(part, (Symbol, Binder, Brackets)) for node in nodes for part in walk(node))


def takes_degree(r: Reader) -> bool:
    """Whether ``^\\circ`` or ``^{\\circ}`` stands here."""
    token = r.tokens[r.at + 1]
    return token in _DEGREES or (token == "{" and r.tokens[r.at + 2] in _DEGREES and r.tokens[r.at + 3] == "}")


def _degree_unit(r: Reader) -> Unit:
    """The degree sign, which is passed, with the scale of a temperature behind it."""
    r.at += 2 if r.tokens[r.at + 1] in _DEGREES else 4
    scale = r.tokens[r.at].removeprefix('"')
    if scale in ("C", "F", "Celsius", "celsius", "Fahrenheit", "fahrenheit"):
        r.at += 1
        return Unit((("°" + scale[0].upper(), 1),))
    return DEGREE


def read_power(r: Reader) -> Node:
    """An operand with its exponents and factorials."""
    base = read_operand(r)
    token = r.tokens[r.at]
    return _with_postfix(r, base) if token in _AFTER_POWER else base


def _with_postfix(r: Reader, base: Node) -> Node:
    for _ in range(_MOST_POSTFIXES):
        token = r.tokens[r.at]
        if token not in _AFTER_POWER or token == "'" or (token == "^" and takes_degree(r)):
            return base
        r.at += 1
        if token == "!":
            base = Call("factorial2" if r.take("!") else "factorial", (base,))
        elif token == "\\prime":
            r.fail("a prime stands behind no letter")
        else:
            base = raised(r, base)
    r.fail("too many exponents and factorials behind one operand")


def raised(r: Reader, base: Node) -> Node:
    """The base to the exponent that stands here; ``^T`` transposes, and ``^{th}`` makes an ordinal, which is its number."""
    token = r.tokens[r.at]
    inside = r.tokens[r.at + 1] if token == "{" else token
    if inside in ('"th', '"st', '"nd', '"rd') and type(base) is Number:
        r.at += 1
        if token == "{":
            r.at += 1
            r.expect("}", "an exponent")
        return base
    if inside in ("\\top", "\\intercal", "T", '"T') and is_matrix(base) and (token != "{" or r.tokens[r.at + 2] == "}"):
        r.at += 1 if token != "{" else 3
        return Call("transpose", (base,))
    return Power(base, read_exponent(r))


def is_matrix(node: Node) -> bool:
    """Whether a T above it means the transpose."""
    if type(node) is Symbol:
        return len(node.name) == 1 and node.name.isupper()
    return type(node).__name__ in ("Matrix", "Brackets")


def read_exponent(r: Reader) -> Node:
    """What stands behind ``^``: braces, or one operand with its sign, whose own exponents and factorials go with it."""
    token = r.tokens[r.at]
    r.deeper()
    if token in ADDS:
        r.at += 1
        exponent = signed(token, read_exponent(r))
    elif token == "{":
        exponent = read_operand(r)
        if r.tokens[r.at] in ("^", "**") and not takes_degree(r):
            r.at += 1
            exponent = Power(exponent, read_exponent(r))
    else:
        exponent = read_power(r)
    r.depth -= 1
    return exponent


def read_operand(r: Reader) -> Node:
    """One number, letter, command with its arguments, or bracket."""
    token = r.tokens[r.at]
    known = HEADS.get(token)
    if known is not None:
        r.at += 1
        return known(r, token)
    first = token[:1]
    if first.isdigit() or (first == "." and len(token) > 1 and token[1].isdigit()):
        r.at += 1
        return HEADS["number"](r, token)
    if first == '"':
        r.at += 1
        return HEADS["word"](r, token)
    if first.isupper() and r.tokens[r.at + 1] == "_":
        r.at += 1
        return HEADS["based"](r, token)
    r.unexpected()


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


def constant(name: str) -> Node:
    """A named constant."""
    return Constant(name)
