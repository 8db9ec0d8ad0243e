"""Points, intervals, sets, matrices, lists: what stands between brackets and side by side."""

from __future__ import annotations

from fractions import Fraction

import pytest

from guerdon.verifiers._math.errors import UnreadError
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import (
    Braces,
    Brackets,
    Call,
    Constant,
    Listing,
    Matrix,
    NamedSet,
    Node,
    Number,
    PlusMinus,
    Power,
    Product,
    Relation,
    SetBuilder,
    SetOperation,
    Sum,
    Symbol,
)


def n(value: str | int) -> Number:
    return Number(Fraction(value))


def between(opens: str, *items: Node, closes: str) -> Brackets:
    return Brackets(opens, items, closes)


def point(*items: Node) -> Brackets:
    return Brackets("(", items, ")")


def vector(*items: Node) -> Brackets:
    return Brackets("<", items, ">")


def rows(*lines: tuple[Node, ...]) -> Matrix:
    return Matrix(lines)


def union(*parts: Node) -> SetOperation:
    return SetOperation("union", parts)


def without(*parts: Node) -> SetOperation:
    return SetOperation("difference", parts)


x, k, infinity, reals, integers = Symbol("x"), Symbol("k"), Constant("infinity"), NamedSet("R"), NamedSet("Z")
minus_infinity = Product((n(-1), infinity))
one, two, three, four = n(1), n(2), n(3), n(4)
positive_x = Relation((x, n(0)), (">",))
square = rows((one, two), (three, four))

TREES: list[tuple[str, Node]] = [
    ("(1,2)", point(one, two)), (r"\left( 1, 2 \right)", point(one, two)), ("(1;2)", point(one, two)),
    ("(1,234)", point(one, n(234))),
    ("(1, 2, 3)", point(one, two, three)), ("(x)", x), ("((2))", two), ("[5]", between("[", n(5), closes="]")),
    ("[1,2]", between("[", one, two, closes="]")), ("[1,2)", between("[", one, two, closes=")")),
    ("(1,2]", between("(", one, two, closes="]")),
    ("]1,2[", point(one, two)), ("[1,2[", between("[", one, two, closes=")")),
    ("]1,2]", between("(", one, two, closes="]")),
    (r"(-\infty, 3)", point(minus_infinity, three)), ("(-∞, 3)", point(minus_infinity, three)),
    ("(-inf, 3)", point(minus_infinity, three)),
    (r"(1,+\infty)", point(one, infinity)), ("2[x+1]", Product((two, between("[", Sum((x, one)), closes="]")))),
    (r"(\pm 1, 2)", point(PlusMinus(one), two)),
    # vectors and matrices
    (r"\langle 1,-2\rangle", vector(one, n(-2))), ("<1, 2>", vector(one, two)), ("⟨1,2⟩", vector(one, two)),
    (r"3\mathbf{i}-4\mathbf{j}", vector(three, n(-4))), (r"\hat{i}+2\hat{j}-\hat{k}", vector(one, two, n(-1))),
    (r"-\vec{j}", vector(n(0), n(-1))),
    (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", square), (r"\begin{bmatrix}1&2\\3&4\\\end{bmatrix}", square),
    ("[[1,2],[3,4]]", square),
    (r"\left[\begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array}\right]", square),
    (r"\left(\begin{array}{c|c} 1 & 2 \\ \hline 3 & 4 \end{array}\right)", square),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", rows((one,), (two,))), (r"\begin{pmatrix}1&2\end{pmatrix}", rows((one, two))),
    ("[[1],[2]]", rows((one,), (two,))),
    (r"\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}", Call("det", (square,))),
    (r"\begin{pmatrix}1\\2\end{pmatrix}^T", Call("transpose", (rows((one,), (two,)),))),
    ("(1,2)^T", Call("transpose", (point(one, two),))),
    (r"\begin{pmatrix}1 \\[2pt] 2\end{pmatrix}", rows((one,), (two,))),
    (r"\\begin{pmatrix}1\\\\2\\end{pmatrix}", rows((one,), (two,))),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}^{2}", Power(square, two)),
    # sets
    (r"\{1, 2\}", Braces((one, two))), (r"\left\{1, 2\right\}", Braces((one, two))), ("{1, 2}", Braces((one, two))),
    ("{1,234}", Braces((one, n(234)))), (r"\{1\}", Braces((one,))),
    (r"\{\}", NamedSet("empty")), (r"\emptyset", NamedSet("empty")), ("∅", NamedSet("empty")),
    (r"\varnothing", NamedSet("empty")), ("the empty set", NamedSet("empty")),
    (r"\{(1,2),(3,4)\}", Braces((point(one, two), point(three, four)))),
    (r"\{x \mid x > 0\}", SetBuilder(x, (positive_x,))), (r"\{x : x > 0\}", SetBuilder(x, (positive_x,))),
    ("{x | x > 0}", SetBuilder(x, (positive_x,))),
    (r"\{x \in \mathbb{R} : x > 0, x \ne 1\}",
     SetBuilder(Relation((x, reals), ("in",)), (positive_x, Relation((x, one), ("!=",))))),
    (r"\{2k : k \in \mathbb{Z}\}", SetBuilder(Product((two, k)), (Relation((k, integers), ("in",)),))),
    (r"\{x : |x| < 2\}", SetBuilder(x, (Relation((Call("abs", (x,)), two), ("<",)),))),
    (r"\mathbb{R}", reals), (r"\mathbb R", reals), ("ℝ", reals), (r"\mathbb{R}^+", NamedSet("R+")),
    (r"\mathbb{Q}_{>0}", NamedSet("Q+")), (r"\mathbb{R}^*", NamedSet("R*")), (r"\mathbb{Z}^{-}", NamedSet("Z-")),
    (r"\mathbb{R}_{\ge 0}", between("[", n(0), infinity, closes=")")),
    (r"\mathbb{R}^2", SetOperation("product", (reals, reals))),
    (r"(1,2)\cup(3,4)", union(point(one, two), point(three, four))),
    ("(1,2) U (3,4)", union(point(one, two), point(three, four))),
    (r"(1,2) ∪ {3}", union(point(one, two), Braces((three,)))),
    (r"\{1\} \cap [1,2]", SetOperation("intersection", (Braces((one,)), between("[", one, two, closes="]")))),
    (r"\mathbb{R}\setminus\{0\}", without(reals, Braces((n(0),)))),
    (r"\mathbb{R} - \{0\}", without(reals, Braces((n(0),)))), (r"R \ {3}", without(reals, Braces((three,)))),
    ("R - {3}", without(reals, Braces((three,)))),
    (r"\mathbb{R} \setminus \{1\} \setminus \{2\}", without(reals, Braces((one,)), Braces((two,)))),
    (r"[1,2]\times[3,4]",
     SetOperation("product", (between("[", one, two, closes="]"), between("[", three, four, closes="]")))),
    ("all real numbers", reals), ("all reals", reals), (r"\text{all real numbers}", reals), ("all integers", integers),
    ("all positive integers", NamedSet("Z+")),
    ("all nonnegative real numbers", between("[", n(0), infinity, closes=")")),
    ("all real numbers except 3", without(reals, Braces((three,)))),
    ("all reals except 1 and 2", without(reals, Braces((one, two)))),
    ("all real numbers x other than 3", without(reals, Braces((three,)))),
    (r"all real numbers except $x = 3$", without(reals, Braces((three,)))),
    ("x can be any real number except -4", Relation((x, without(reals, Braces((n(-4),)))), ("in",))),
    ("x is any integer", Relation((x, integers), ("in",))),
    (r"\{x \mid x > 0, k \in \mathbf{Z}\}", SetBuilder(x, (positive_x, Relation((k, integers), ("in",))))),
    # lists
    ("1, 2", Listing((one, two))), ("1;2;3", Listing((one, two, three))), ("1 and 2", Listing((one, two), "and")),
    (r"1 \text{ and } 2", Listing((one, two), "and")), ("1 or 2", Listing((one, two), "or")),
    (r"1, 2, \text{ and } 3", Listing((one, two, three), "and")), ("1\n2", Listing((one, two))),
    (r"1 \\ 2", Listing((one, two))),
    (r"x=1 \quad k=2", Listing((Relation((x, one), ("=",)), Relation((k, two), ("=",))))),
    ("$1$,$2$", Listing((one, two))), ("(1,2),(3,4)", Listing((point(one, two), point(three, four)))),
    (r"1,2,\ldots,4", Listing((one, two, Symbol("..."), four))), ("1, 2, …", Listing((one, two, Symbol("...")))),
    (r"\boxed{1, 2}", Listing((one, two))),
    (r"\begin{cases} x=1 \\ k=2 \end{cases}", Listing((Relation((x, one), ("=",)), Relation((k, two), ("=",))), "and")),
    (r"\left\{ \begin{array}{l} x=1 \\ k=2 \end{array} \right.",
     Listing((Relation((x, one), ("=",)), Relation((k, two), ("=",))), "and")),
    (r"x=1\\k=2", Listing((Relation((x, one), ("=",)), Relation((k, two), ("=",))))),
]  # fmt: skip

UNREAD = [
    "(1,2", "[1,2", "1,2)", "()", "(1,,2)", r"\{1,2", r"1,2\}", r"\begin{pmatrix}1&2\\3\end{pmatrix}",
    r"\begin{pmatrix}1&2", r"\begin{pmatrix}\end{pmatrix}", r"\langle 1,2", r"\{x | x > 0", "(1,2}",
    r"\mathbb{R}^{foo}",
    r"\mathbb{R}\mathbb{R}", "1 and and", "and", r"\end{pmatrix}",
]  # fmt: skip


@pytest.mark.parametrize(("text", "tree"), TREES, ids=[text for text, _ in TREES])
def test_collections_keep_their_brackets(text: str, tree: Node) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize("text", UNREAD)
def test_brackets_that_do_not_match_are_unread(text: str) -> None:
    with pytest.raises(UnreadError):
        parse(text)


def test_a_comma_groups_digits_only_outside_of_brackets() -> None:
    assert parse("1,234") == n(1234)
    assert parse(r"\frac{1,234}{2}") == n(617)
    assert parse("(1,234)") == point(one, n(234))
    assert parse("(1{,}234, 5)") == point(n(1234), n(5))


def test_a_break_inside_a_formula_is_a_space() -> None:
    assert parse("x +\n1") == parse("x + 1")
    assert parse("\\frac{1}\n{2}") == n("1/2")
