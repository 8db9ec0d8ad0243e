"""Normal forms against sympy's, and the identity test against its own bounds."""

from __future__ import annotations

from fractions import Fraction as Q

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from guerdon.verifiers._math.identity import polynomial
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.polynomials import PRIMES, same_rational_function
from guerdon.verifiers._math.structure import Survey
from guerdon.verifiers._math.tree import Number, Power, Product, Sum, Symbol

sympy = pytest.importorskip("sympy")


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("(x+1)^2", ["x"], {(0,): 1, (1,): 2, (2,): 1}),
        ("(x+y)(x-y)", ["x", "y"], {(2, 0): 1, (0, 2): -1}),
        (r"\frac{x}{2}+\frac13", ["x"], {(0,): Q(1, 3), (1,): Q(1, 2)}),
        (r"\sqrt4 x", ["x"], {(1,): 2}),
        ("x-x", ["x"], {}),
        ("5", [], {(): 5}),
        ("x^{1000000}", ["x"], {(1000000,): 1}),
        ("1/x", ["x"], None),
        ("xy", ["x"], None),
        (r"\pi x", ["x"], None),
        ("(x+1)^{10000}", ["x"], None),
        ("(2x)^{1000000}", ["x"], None),
        ("(a+b+c+d+f+g)^{30}", list("abcdfg"), None),
        (r"\frac{x}{0}", ["x"], None),
    ],
)
def test_a_polynomial_is_expanded_or_none(text, names, expected):
    assert polynomial(parse(text), names) == expected


trees = st.recursive(
    st.one_of(st.integers(-9, 9).map(lambda n: Number(Q(n))), st.sampled_from([Symbol("x"), Symbol("y")])),
    lambda inside: st.one_of(
        st.lists(inside, min_size=2, max_size=3).map(lambda parts: Sum(tuple(parts))),
        st.lists(inside, min_size=2, max_size=3).map(lambda parts: Product(tuple(parts))),
        st.builds(lambda base, n: Power(base, Number(Q(n))), inside, st.integers(1, 3)),
    ),
    max_leaves=8,
)


def in_sympy(node):
    if isinstance(node, Number):
        return sympy.Integer(int(node.value))
    if isinstance(node, Symbol):
        return sympy.Symbol(node.name)
    if isinstance(node, Sum):
        return sympy.Add(*map(in_sympy, node.terms))
    if isinstance(node, Product):
        return sympy.Mul(*map(in_sympy, node.factors))
    return sympy.Pow(in_sympy(node.base), in_sympy(node.exponent))


@settings(max_examples=60)
@given(trees)
def test_normal_forms_are_those_of_sympy(tree):
    expected = sympy.Poly(in_sympy(tree), *sympy.symbols("x y")).as_dict()
    found = polynomial(tree, ["x", "y"])
    assert found == {powers: Q(int(value)) for powers, value in expected.items() if value}


@settings(max_examples=60)
@given(trees)
def test_the_degree_by_form_is_a_bound(tree):
    powers = polynomial(tree, ["x", "y"])
    assert powers is not None
    assert Survey().take(tree) >= max(map(sum, powers), default=0)


def test_the_primes_are_prime_and_large():
    assert all(sympy.isprime(prime) and prime.bit_length() == 61 for prime in PRIMES)
    assert len(set(PRIMES)) == 8


@pytest.mark.parametrize("degrees", [10, 10**6])
def test_no_seed_takes_a_multiple_of_some_primes_for_zero(degrees):
    """Three primes are drawn for each pair, so that two known ones mislead nobody; low degrees need no prime at all."""
    x = Symbol("x")
    multiple = Product((Number(Q(PRIMES[0] * PRIMES[1])), x))
    for seed in range(40):
        assert same_rational_function(multiple, Number(Q(0)), degrees, ["x"], seed, None) is False
        assert same_rational_function(multiple, multiple, degrees, ["x"], seed, None) is True


def test_a_function_that_is_nowhere_defined_is_not_told():
    nowhere = Power(Sum((Symbol("x"), Product((Number(Q(-1)), Symbol("x"))))), Number(Q(-1)))
    assert same_rational_function(nowhere, Number(Q(1)), 2, ["x"], 1, None) is None
