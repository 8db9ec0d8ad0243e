"""Relations, congruences, ratios, conditions, and answers in words."""

from __future__ import annotations

from fractions import Fraction

import pytest

from guerdon.verifiers._math.errors import UnreadError
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import (
    Apply,
    Brackets,
    Cases,
    Congruence,
    Constant,
    Listing,
    NamedSet,
    Node,
    Number,
    Power,
    Product,
    Ratio,
    Relation,
    SetOperation,
    Sign,
    Sum,
    Symbol,
    Text,
)


def n(value: str | int) -> Number:
    return Number(Fraction(value))


def chain(*parts: Node | Sign) -> Relation:
    return Relation(
        tuple(part for part in parts if isinstance(part, Node)),
        tuple(part for part in parts if not isinstance(part, Node)),
    )


x, y, k, m = Symbol("x"), Symbol("y"), Symbol("k"), Symbol("n")
one, two, three, five = n(1), n(2), n(3), n(5)
whole = chain(k, "in", NamedSet("Z"))

TREES: list[tuple[str, Node]] = [
    ("x = 5", chain(x, "=", five)), ("5 = x", chain(five, "=", x)), ("x=y=3", chain(x, "=", y, "=", three)),
    ("$x = 5$", chain(x, "=", five)),
    ("x > 3", chain(x, ">", three)), (r"x \ge 3", chain(x, ">=", three)), (r"x \geq 3", chain(x, ">=", three)),
    (r"x \geqslant 3", chain(x, ">=", three)), ("x >= 3", chain(x, ">=", three)), ("x ≥ 3", chain(x, ">=", three)),
    ("x ⩾ 3", chain(x, ">=", three)),
    (r"x \le 3", chain(x, "<=", three)), (r"x \leqslant 3", chain(x, "<=", three)), ("x <= 3", chain(x, "<=", three)),
    ("x =< 3", chain(x, "<=", three)), ("x &lt; 3", chain(x, "<", three)), (r"x \lt 3", chain(x, "<", three)),
    (r"x \ne 3", chain(x, "!=", three)), (r"x \neq 3", chain(x, "!=", three)), ("x != 3", chain(x, "!=", three)),
    ("x ≠ 3", chain(x, "!=", three)), (r"x \not= 3", chain(x, "!=", three)),
    (r"1 < x \le 3", chain(one, "<", x, "<=", three)), (r"x \in \mathbb{R}", chain(x, "in", NamedSet("R"))),
    (r"x \in R", chain(x, "in", NamedSet("R"))), (r"x \notin \mathbb{Z}", chain(x, "notin", NamedSet("Z"))),
    (r"x \in (1,2) \cup (3,5)",
     chain(x, "in", SetOperation("union", (Brackets("(", (one, two), ")"), Brackets("(", (three, five), ")"))))),
    (r"x \approx 3", chain(x, "approx", three)), (r"x \mapsto x^2", chain(x, "maps", Power(x, two))),
    (r"f: x \mapsto x^2", chain(Apply("f", (x,)), "=", Power(x, two))),
    ("f(x)=2x+1", chain(Apply("f", (x,)), "=", Sum((Product((two, x)), one)))), ("5!=120", parse("5! = 120")),
    (r"x<1 \text{ or } x>5", Listing((chain(x, "<", one), chain(x, ">", five)), "or")),
    ("x>1 and x<5", Listing((chain(x, ">", one), chain(x, "<", five)), "and")),
    ("x = 1, y = 2", Listing((chain(x, "=", one), chain(y, "=", two)))),
    ("n = 2, 3", Listing((chain(m, "=", two), three))),
    ("A(1,2)", chain(Symbol("A"), "=", Brackets("(", (one, two), ")"))),
    ("(x,y)=(1,2)", chain(Brackets("(", (x, y), ")"), "=", Brackets("(", (one, two), ")"))),
    ("AB=5", chain(Product((Symbol("A"), Symbol("B"))), "=", five)),
    ("Area = 5", chain(Symbol("Area"), "=", five)), (r"\text{Area} = 5", chain(Symbol("Area"), "=", five)),
    ("x is 5", chain(x, "=", five)),
    ("P(X=2) = 1/5", chain(Apply("P", (chain(Symbol("X"), "=", two),)), "=", n("1/5"))),
    ("girls: 5", chain(Symbol("girls"), "=", five)),
    (r"x \equiv 1 \pmod{3}", Congruence(x, one, three)), ("x ≡ 1 (mod 3)", Congruence(x, one, three)),
    (r"x \equiv 1 \mod 3", Congruence(x, one, three)), (r"x \equiv 1\ (\text{mod } 3)", Congruence(x, one, three)),
    (r"x \equiv 1, 2 \pmod 3", Listing((Congruence(x, one, three), Congruence(x, two, three)))),
    (r"f(x) \equiv 5", chain(Apply("f", (x,)), "=", five)),
    ("3:5", Ratio((three, five))), (r"3 \colon 5", Ratio((three, five))), ("3 to 5", Ratio((three, five))),
    ("1:2:3", Ratio((one, two, three))), ("x:y = 2:3", chain(Ratio((x, y)), "=", Ratio((two, three)))),
    ("1 : (3/5)", Ratio((one, n("3/5")))), ("12:00", Ratio((n(12), n(0)))),
    # conditions
    (r"\begin{cases} x & x>0 \\ 1 & \text{otherwise} \end{cases}", Cases(((x, chain(x, ">", n(0))), (one, None)))),
    (r"\begin{cases} x, & \text{if } x>0, \\ 1, & \text{else} \end{cases}",
     Cases(((x, chain(x, ">", n(0))), (one, None)))),
    (r"k \text{ for all } k \in \mathbb{Z}", Cases(((k, whole),))),
    (r"x = k, k \in \mathbb{Z}", Cases(((chain(x, "=", k), whole),))),
    (r"x = k \text{ where } k \in \mathbb{Z}", Cases(((chain(x, "=", k), whole),))),
    (r"x = k, where $k \in \mathbb{Z}$", Cases(((chain(x, "=", k), whole),))),
    ("1 if the triangle is right, otherwise 2", Cases(((one, Text("the triangle is right")), (two, None)))),
    ("x ($x > 1$)\n2 ($x = 1$)", Cases(((x, chain(x, ">", one)), (two, chain(x, "=", one))))),
    ("x + 1 (x > 1)", Cases(((Sum((x, one)), chain(x, ">", one)),))),
    ("1 for n=1, 2 for n=2", Cases(((one, chain(m, "=", one)), (two, chain(m, "=", two))))),
    ("x if x>1 and x<5", Cases(((x, Listing((chain(x, ">", one), chain(x, "<", five)), "and")),))),
    (r"a_n = 2 \quad (n \geq 1)", Cases(((chain(Symbol("a_n"), "=", two), chain(m, ">=", one)),))),
    (r"\begin{align*} x&=1\\ y&=2\end{align*}", Listing((chain(x, "=", one), chain(y, "=", two)))),
    ("= 5", five), ("≈ 5", five), (r"n \in \mathbf{N}^{*}", chain(m, "in", NamedSet("N*"))),
    ("P(A|B) = 1/2", chain(Apply("P given", (Symbol("A"), Symbol("B"))), "=", n("1/2"))),
    (r"\operatorname{Var}(X) = 2", chain(Apply("Var", (Symbol("X"),)), "=", two)),
    # words
    ("odd", Text("odd")), (r"\text{odd}", Text("odd")), ("Evelyn", Text("evelyn")), (r"\text{Evelyn}", Text("evelyn")),
    ('"Evelyn"', Text("evelyn")), ("**Evelyn**", Text("evelyn")), ("yes", Text("yes")),
    ("no solution", Text("no solution")), ("No solutions", Text("no solution")),
    ("taking the empty card", Text("taking the empty card")), ("All powers of 2", Text("all powers of 2")),
    ("odd $n$", Text("odd n")), ("x is odd", Text("x is odd")), ("does not exist", Text("does not exist")),
    ("DNE", Text("does not exist")),
    ("All prime numbers, 1, and 5.", Listing((Text("all prime numbers"), one, five), "and")),
    ("undefined", Constant("undefined")), (r"\text{undefined}", Constant("undefined")),
    ("infinity", Constant("infinity")), ("A", Symbol("A")), (r"\text{(B)}", Symbol("B")),
    (r"\text{C,E}", Listing((Symbol("C"), Symbol("E")))),
    ("The answer is x = 5", chain(x, "=", five)), (r"\text{The solution is } x=5", chain(x, "=", five)),
    ("abc", Product((Symbol("a"), Symbol("b"), Symbol("c")))), ("xyz", Product((x, y, Symbol("z")))),
    ("abcd", Product(tuple(Symbol(letter) for letter in "abcd"))),
]  # fmt: skip

UNREAD = [
    "x = 5 is the only solution", "5 is the only solution", "5 (since x > 0)", "5 because it is prime", "5 more",
    "5 more than x", "x =", "x < ", "x = 5 =", "E: the rate doubles", "x ≡ 1 (mod 3",
    "__import__('os').getpid()", "print(5)", "lambda x: x", "eval(5)", "os.system('ls')", "x = 5; import os", "x.y",
    r"\text{lambda: } 5", "x == 5 ? 1 : 2", r"x \not< 3", "5 (note that this is exact)",
]  # fmt: skip


@pytest.mark.parametrize(("text", "tree"), TREES, ids=[text for text, _ in TREES])
def test_statements_are_read_as_they_are_written(text: str, tree: Node) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize("text", UNREAD)
def test_prose_and_programs_around_a_formula_are_unread(text: str) -> None:
    with pytest.raises(UnreadError):
        parse(text)


def test_words_that_are_left_out_are_not_left_out_silently() -> None:
    assert parse("the answer is not 5") == Text("the answer is not 5")
    with pytest.raises(UnreadError, match="words and a formula"):
        parse("5 (since x > 0)")
