"""A tree as text is read back as the same tree."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.verifiers._math.building import negated, quotient, signed
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import (
    Apply,
    Based,
    Binder,
    Braces,
    Brackets,
    Call,
    Clock,
    Congruence,
    Constant,
    Date,
    Listing,
    Matrix,
    NamedSet,
    Node,
    Number,
    Power,
    Product,
    Quantity,
    Ratio,
    Relation,
    SetBuilder,
    SetOperation,
    Sum,
    Symbol,
    Text,
    Unit,
)
from guerdon.verifiers._math.writer import write

WRITTEN = [
    (r"\frac{1}{2}", "1/2"), ("x-1", "x - 1"), ("2x", "2*x"), ("-x", "-x"), (r"\sqrt{x}", r"\sqrt{x}"),
    ("0.50", "0.50"), ("x/y", "x/y"), ("x/(yz)", "x/(y*z)"),
    (r"\sin 2x", r"\sin(2*x)"), ("(1,2]", "(1, 2]"), ("{1,2}", r"\{1, 2\}"), ("x<1 or x>2", r"x < 1 \text{ or } x > 2"),
    (r"\$5", r"5 \$"), ("60°", r"60^\circ"), ("March 5", "5 March"), ("3:30 pm", "3:30 pm"),
]  # fmt: skip

letters = st.sampled_from("abcknxyz").map(Symbol)
digits = st.integers(1, 99).map(lambda value: Number(Fraction(value)))
decimals = st.tuples(st.integers(1, 9999), st.integers(1, 3)).map(
    lambda pair: Number(Fraction(pair[0], 10 ** pair[1]), max(len(str(pair[0])), 1))
)
atoms = st.one_of(letters, digits, decimals, st.sampled_from([Constant("pi"), Constant("e"), Constant("i")]))


def not_number(node: Node) -> bool:
    return not isinstance(node, Number)


def sums(values: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    terms = st.tuples(st.sampled_from(["+", "-", "\\pm"]), values)
    return st.lists(terms, min_size=2, max_size=3).map(
        lambda pairs: Sum(
            tuple(signed("+" if sign == "\\pm" and not at else sign, term) for at, (sign, term) in enumerate(pairs))
        )
    )


def products(values: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.tuples(values, st.lists(values.filter(not_number), min_size=1, max_size=2)).map(
        lambda parts: Product((parts[0], *parts[1]))
    )


def larger(values: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.one_of(
        sums(values),
        products(values),
        st.tuples(values, values.filter(not_number)).map(lambda pair: quotient(*pair)),
        st.tuples(values, values).map(lambda pair: Power(*pair)),
        values.map(lambda value: Power(value, Number(Fraction(1, 2)))),
        values.map(negated),
        st.tuples(st.sampled_from(["sin", "cos", "ln", "abs", "floor", "ceil", "arctan", "norm"]), values).map(
            lambda pair: Call(pair[0], (pair[1],))
        ),
        st.tuples(values, values).map(lambda pair: Call("binomial", pair)),
        st.tuples(values, digits).map(lambda pair: Call("log", pair)),
        st.tuples(values, values).map(lambda pair: Call("mod", pair)),
        st.tuples(values, values).map(lambda pair: Call("gcd", pair)),
        values.map(lambda value: Call("root", (value, Number(Fraction(3))))),
        values.map(lambda value: Apply("f", (value,))),
        st.tuples(values, values, values).map(lambda parts: Binder("sum", parts[0], "k", parts[1], parts[2])),
        st.tuples(values, values, values).map(lambda parts: Binder("integral", parts[0], "x", parts[1], parts[2])),
        st.tuples(values, values).map(lambda parts: Binder("limit", parts[0], "x", parts[1], None)),
    )


values = st.recursive(atoms, larger, max_leaves=8)
units = st.sampled_from([(("cm", 1),), (("km", 1), ("h", -1)), (("$", 1),), (("%", 1),), (("°", 1),), (("apples", 1),)])
signs = st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "approx"])
sets = st.one_of(
    st.sampled_from([NamedSet("R"), NamedSet("Z+"), NamedSet("empty")]),
    st.lists(values, min_size=1, max_size=3).map(lambda items: Braces(tuple(items))),
    st.tuples(st.sampled_from("(["), values, values, st.sampled_from(")]")).map(
        lambda parts: Brackets(parts[0], (parts[1], parts[2]), parts[3])
    ),
    values.map(lambda value: SetBuilder(Symbol("x"), (Relation((Symbol("x"), value), (">",)),))),
)
items = st.one_of(
    values,
    sets,
    st.tuples(values, signs, values).map(lambda parts: Relation((parts[0], parts[2]), (parts[1],))),
    st.lists(sets, min_size=2, max_size=3).map(lambda parts: SetOperation("union", tuple(parts))),
    st.tuples(letters, sets).map(lambda parts: Relation(parts, ("in",))),
    st.tuples(letters, values, digits).map(lambda parts: Congruence(*parts)),
    st.tuples(values, values).map(lambda pair: Ratio(pair)),
    st.lists(values, min_size=2, max_size=3).map(lambda parts: Brackets("<", tuple(parts), ">")),
    st.tuples(values, values, values, values).map(lambda parts: Matrix((parts[:2], parts[2:]))),
    st.tuples(st.one_of(digits, decimals), units).map(lambda pair: Quantity(pair[0], Unit(tuple(sorted(pair[1]))))),
    st.sampled_from(
        [Based("2E", 16), Text("odd"), Text("the empty card"), Constant("infinity"), Symbol("a_n+1"), Symbol("alpha")]
    ),
    st.sampled_from(
        [Clock(15, 30, 0, "pm"), Clock(0, 5, 0, "am"), Date(2020, 3, 5), Date(month=6, day=20), Date(weekday=4)]
    ),
)
trees = st.one_of(
    items,
    st.tuples(st.lists(values, min_size=2, max_size=4), st.sampled_from([",", "and", "or"])).map(
        lambda parts: Listing(tuple(parts[0]), parts[1])
    ),
)


@pytest.mark.parametrize(("text", "written"), WRITTEN)
def test_what_is_written_is_plain(text: str, written: str) -> None:
    assert write(parse(text)) == written


@settings(max_examples=200)
@given(trees)
def test_a_written_tree_is_read_back(tree: Node) -> None:
    assert parse(write(tree)) == tree
