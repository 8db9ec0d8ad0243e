"""Values with letters and operations: precedence, unwritten products, functions. Expected trees are written by hand."""

from __future__ import annotations

from fractions import Fraction

import pytest

from guerdon.verifiers._math.errors import UnreadError
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import (
    Apply,
    Binder,
    Call,
    Constant,
    Node,
    Number,
    PlusMinus,
    Power,
    Product,
    Quantity,
    Sum,
    Symbol,
    Unit,
)


def n(value: str | int) -> Number:
    return Number(Fraction(value))


def times(*factors: Node) -> Product:
    return Product(factors)


def plus(*terms: Node) -> Sum:
    return Sum(terms)


def over(node: Node) -> Power:
    return Power(node, n(-1))


def root(node: Node) -> Power:
    return Power(node, n("1/2"))


def call(name: str, *arguments: Node) -> Call:
    return Call(name, arguments)


def degrees(value: int) -> Quantity:
    return Quantity(n(value), Unit((("°", 1),)))


a, b, c, k, r, x, y, z = (Symbol(name) for name in "abckrxyz")
m = Symbol("n")
pi, e, i, infinity = Constant("pi"), Constant("e"), Constant("i"), Constant("infinity")

TREES: list[tuple[str, Node]] = [
    # products without a sign, and what a slash takes
    ("2x", times(n(2), x)), ("ab", times(a, b)), ("2(x+1)", times(n(2), plus(x, n(1)))), ("(a)(b)", times(a, b)),
    ("a/bc", times(a, over(times(b, c)))), ("x/2y", times(x, over(times(n(2), y)))), ("1/2x", times(n("1/2"), x)),
    (r"\pi/6 x", times(pi, over(n(6)), x)), ("m/2(a+b)".replace("m", "n"), times(m, over(n(2)), plus(a, b))),
    (r"\frac{a}{b}c", times(times(a, over(b)), c)), ("a/b/c", times(a, over(b), over(c))),
    ("a/b*c", times(a, over(b), c)),
    ("xy/z", times(x, y, over(z))), (r"2\frac{a}{2b}", times(n(2), times(a, over(times(n(2), b))))),
    (r"1/2\pi", times(n("1/2"), pi)), (r"2\pi r", times(n(2), pi, r)), ("2*pi*r", times(n(2), pi, r)),
    ("πr²", times(pi, Power(r, n(2)))), ("2pir^2", times(n(2), pi, Power(r, n(2)))), ("60 x 60", times(n(60), n(60))),
    ("2 × -3", times(n(2), n(-3))), (r"2^a 3^b", times(Power(n(2), a), Power(n(3), b))),
    ("6/2(1+2)", times(n(3), plus(n(1), n(2)))),
    # signs and sums
    ("a-b", plus(a, times(n(-1), b))), ("a-5", plus(a, n(-5))), ("3-2x", plus(n(3), times(n(-2), x))),
    ("-x", times(n(-1), x)),
    ("-2x", times(n(-2), x)), ("2 - -3", plus(n(2), n(3))), ("x+y-1", plus(x, y, n(-1))),
    # powers
    ("-2^2", times(n(-1), Power(n(2), n(2)))), ("(-2)^2", Power(n(-2), n(2))),
    ("2^3^2", Power(n(2), Power(n(3), n(2)))),
    ("2^{3^2}", Power(n(2), Power(n(3), n(2)))), ("2^10", Power(n(2), n(10))), ("2**10", Power(n(2), n(10))),
    ("x^2y", times(Power(x, n(2)), y)), ("e^-x", Power(e, times(n(-1), x))), ("x^{1/2}", Power(x, n("1/2"))),
    ("x²", Power(x, n(2))), ("2^n!", Power(n(2), call("factorial", m))), ("2^{n}!", call("factorial", Power(n(2), m))),
    ("n!!", call("factorial2", m)), ("(n-2)!", call("factorial", plus(m, n(-2)))), ("x^{-1}", Power(x, n(-1))),
    ("A^T", call("transpose", Symbol("A"))), ("e^T", Power(e, Symbol("T"))),
    # roots
    (r"\sqrt3/2", times(root(n(3)), over(n(2)))), (r"\sqrt{3}/2", times(root(n(3)), over(n(2)))),
    (r"3\sqrt2", times(n(3), root(n(2)))),
    (r"\sqrt12", root(n(12))), ("√2", root(n(2))), ("2√5", times(n(2), root(n(5)))),
    ("sqrt(3)/3", times(root(n(3)), over(n(3)))),
    (r"\sqrt[3]{16}", call("root", n(16), n(3))), (r"\sqrt[2]{5}", root(n(5))), ("∛8", call("root", n(8), n(3))),
    (r"\frac{3\sqrt{5}}{2}", times(times(n(3), root(n(5))), over(n(2)))),
    # letters
    ("e", e), ("E", Symbol("E")), ("i", i), ("I", Symbol("I")), (r"\mathrm{e}", e),
    ("2+3i", plus(n(2), times(n(3), i))),
    ("minus infinity", times(n(-1), infinity)), ("x squared", Power(x, n(2))), ("x plus y", plus(x, y)),
    ("square root of 5", root(n(5))),
    ("x_1", Symbol("x_1")), ("x_{12}", Symbol("x_12")), ("a_{n+1}", Symbol("a_n+1")), ("x'", Symbol("x'")),
    ("x''", Symbol("x''")),
    (r"\alpha", Symbol("alpha")), ("α", Symbol("alpha")), (r"\varphi", Symbol("phi")), ("C", Symbol("C")),
    (r"\vec{v}", Symbol("v")), (r"\overline{AB}", Symbol("AB")), (r"\overline{z}", call("conj", z)),
    (r"\bar{y}", Symbol("y bar")),
    (r"\angle ABC", Symbol("angle ABC")), (r"\triangle{ABC}", Symbol("triangle ABC")),
    (r"12 \checkmark", n(12)), ("ħ", Symbol("hbar")), ("oo", infinity),
    (r"2\mathrm{i}", times(n(2), i)), (r"\infty", infinity),
    (r"-\infty", times(n(-1), infinity)),
    # applications and products with a bracket
    ("f(x)", Apply("f", (x,))), ("f(x+1)", Apply("f", (plus(x, n(1)),))), ("a(x+1)", times(a, plus(x, n(1)))),
    ("f(x,y)", Apply("f", (x, y))), ("f'(0)", Apply("f'", (n(0),))), ("f^{-1}(x)", Apply("f^-1", (x,))),
    ("f^{-1}", Power(Symbol("f"), n(-1))),
    ("n(n+1)/2", times(m, plus(m, n(1)), over(n(2)))), ("3 - 2f(x)", plus(n(3), times(n(-2), Apply("f", (x,))))),
    # functions and where their arguments end
    (r"\sin 2x", call("sin", times(n(2), x))), (r"\sin x^2", call("sin", Power(x, n(2)))),
    (r"\sin^2 x", Power(call("sin", x), n(2))),
    ("sin^2 x", Power(call("sin", x), n(2))), (r"\sin(x)^2", Power(call("sin", x), n(2))),
    (r"\sin^{-1} x", call("arcsin", x)),
    (r"\tan^{-1}(x)", call("arctan", x)), (r"\sin 2x \cos x", times(call("sin", times(n(2), x)), call("cos", x))),
    (r"\sin x (x+1)", times(call("sin", x), plus(x, n(1)))), (r"\cos 2(x+1)", call("cos", times(n(2), plus(x, n(1))))),
    (r"\ln 8/\ln 2", times(call("ln", n(8)), over(call("ln", n(2))))), ("sin pi/6", call("sin", times(pi, over(n(6))))),
    (r"\sin x/x", times(call("sin", x), over(x))), (r"\cos\frac{\pi}{3}", call("cos", times(pi, over(n(3))))),
    ("cosx", call("cos", x)),
    ("xsinx", times(x, call("sin", x))), (r"\cos 13^\circ", call("cos", degrees(13))),
    (r"2\cos 15^{\circ}", times(n(2), call("cos", degrees(15)))),
    (r"\log x", call("log", x)), (r"\log_2 10", call("log", n(10), n(2))),
    (r"\log_{10} 1000", call("log", n(1000), n(10))), (r"\log_28", call("log", n(8), n(2))),
    ("log_10(5)", call("log", n(5), n(10))), (r"\lg 5", call("log", n(5), n(10))),
    ("log2(8)", call("log", n(8), n(2))), (r"\log_{2}^2 x", Power(call("log", x, n(2)), n(2))),
    (r"\ln|x|", call("ln", call("abs", x))),
    ("exp(16)", Power(e, n(16))), ("arcsin(1/2)", call("arcsin", n("1/2"))),
    (r"\operatorname{lcm}(4,6)", call("lcm", n(4), n(6))),
    (r"\gcd(a,b)", call("gcd", a, b)), (r"\max\{1,2\}", call("max", n(1), n(2))),
    (r"17 \bmod 5", call("mod", n(17), n(5))), ("17 mod 5", call("mod", n(17), n(5))),
    (r"\Gamma(5)", call("gamma", n(5))), (r"\phi(10)", call("phi", n(10))), (r"\det A", call("det", Symbol("A"))),
    # bars
    ("|x|", call("abs", x)), ("2|x|", times(n(2), call("abs", x))), ("|x||y|", times(call("abs", x), call("abs", y))),
    ("||x|-1|", call("abs", plus(call("abs", x), n(-1)))),
    (r"\left|x\right|", call("abs", x)), (r"\lvert x \rvert", call("abs", x)), (r"\|x\|", call("norm", x)),
    (r"\lfloor n/2 \rfloor", call("floor", times(m, over(n(2))))),
    (r"\lceil x \rceil", call("ceil", x)), ("floor(x)", call("floor", x)),
    # chosen and arranged
    (r"\binom{n}{2}", call("binomial", m, n(2))), (r"\binom52", call("binomial", n(5), n(2))),
    (r"{n \choose k}", call("binomial", m, k)), ("n choose 2", call("binomial", m, n(2))),
    ("C(n,k)", call("binomial", m, k)), ("C_5^2", call("binomial", n(5), n(2))),
    ("C_{2n}^{n}", call("binomial", times(n(2), m), m)), ("C_{n+1}^2", call("binomial", plus(m, n(1)), n(2))),
    (r"\mathrm{C}_{m+n}^{n}", call("binomial", plus(Symbol("m"), m), m)), ("C_p^2", Power(Symbol("C_p"), n(2))),
    ("C_1^2", Power(Symbol("C_1"), n(2))), ("C_{max}^2", Power(Symbol("C_max"), n(2))),
    ("n2^n", times(m, Power(n(2), m))), (r"\frac{dy}{dx}", Apply("d/dx", (Symbol("y"),))),
    (r"\frac{\partial f}{\partial x}", Apply("partial/partialx", (Symbol("f"),))),
    (r"\frac{d^2 y}{d x^2}", Apply("d^2/dx^2", (Symbol("y"),))),
    (r"\frac{\partial^{2} u}{\partial t^{2}}", Apply("partial^2/partialt^2", (Symbol("u"),))),
    ("{}_5C_2", call("binomial", n(5), n(2))), ("5C2", call("binomial", n(5), n(2))),
    ("P(n,k)", call("permutations", m, k)), ("P_5^2", call("permutations", n(5), n(2))),
    # both signs
    (r"\pm 3", PlusMinus(n(3))), (r"1 \pm x", plus(n(1), PlusMinus(x))),
    (r"1 \mp x", plus(n(1), PlusMinus(x, opposite=True))),
    # binders
    (r"\sum_{k=1}^{n} k^2", Binder("sum", Power(k, n(2)), "k", n(1), m)),
    (r"\sum_{k=1}^n k + 1", plus(Binder("sum", k, "k", n(1), m), n(1))),
    (r"\sum_{i=1}^{\infty} i", Binder("sum", Symbol("i"), "i", n(1), infinity)),
    (r"\prod_{k=1}^{10} k", Binder("product", k, "k", n(1), n(10))),
    (r"\int_0^1 x^2 + 1 \, dx", Binder("integral", plus(Power(x, n(2)), n(1)), "x", n(0), n(1))),
    (r"\int \frac{dx}{x}", Binder("integral", times(n(1), over(x)), "x", None, None)),
    (r"\int 1/x dx", Binder("integral", times(n(1), over(x)), "x", None, None)),
    (r"\int x\,\mathrm{d}x + C", plus(Binder("integral", x, "x", None, None), Symbol("C"))),
    (r"\lim_{x\to 0} \frac{\sin x}{x}", Binder("limit", times(call("sin", x), over(x)), "x", n(0), None)),
    (r"\lim_{x \to 0^+} x", Binder("limit", x, "x", Apply("+", (n(0),)), None)),
    (r"\frac{dy}{dx}", Apply("d/dx", (y,))), ("dy/dx", Apply("d/dx", (y,))),
]  # fmt: skip

UNREAD = [
    r"\frac{d^2y}{dx^3}", r"\int x", r"\sum_{k=1} k", r"\forall x", r"\lim x", "x [ x + 1", "(3-9) (5-15", "|x",
    r"\sin", "x^", "^2",
    r"\sin(1,2)", r"\gcd 4", r"\lfloor x \rceil", r"\frac{\partial (fg)}{\partial x}", r"x \Rightarrow y", "f(", "f()",
    r"\unknown{x}", "x @ y",
]  # fmt: skip


@pytest.mark.parametrize(("text", "tree"), TREES, ids=[text for text, _ in TREES])
def test_expressions_are_read_as_mathematicians_write_them(text: str, tree: Node) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize("text", UNREAD)
def test_a_formula_with_one_unread_sign_is_unread(text: str) -> None:
    with pytest.raises(UnreadError):
        parse(text)


def test_a_letter_that_the_text_defines_is_a_function_in_all_of_it() -> None:
    assert parse("T(n) = 2T(n-1)") == parse("T(n) = 2 T(n-1)")
    assert parse("T(n-1)") == times(Symbol("T"), plus(m, n(-1)))
    first = parse("T(n) = 2T(n-1)")
    assert first.sides[0] == Apply("T", (m,))  # type: ignore[attr-defined]
    assert first.sides[1] == times(n(2), Apply("T", (plus(m, n(-1)),)))  # type: ignore[attr-defined]


def test_sin_squared_of_x_is_not_sin_of_x_squared() -> None:
    assert parse(r"\sin^2 x") != parse(r"\sin x^2")
