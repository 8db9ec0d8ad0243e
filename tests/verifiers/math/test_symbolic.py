"""What only the symbolic stage can tell; sympy is the means here, so the expected values are by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guerdon.verifiers._math import tree, wire
from guerdon.verifiers._math.identity import same_without_worker
from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import Call, Matrix, Number, Text

pytest.importorskip("sympy")
from guerdon.verifiers._math.symbolic import settle

CASES = [
    (r"\sum_{k=1}^{\infty} \frac{1}{k^2}", r"\frac{\pi^2}{6}", True),
    (r"\sum_{k=1}^{\infty} \frac{1}{k^2}", r"\frac{\pi^2}{7}", False),
    (r"\sum_{k=0}^{\infty} \frac{1}{k!}", "e", True),
    (r"\int_{-\infty}^{\infty} e^{-x^2}\,dx", r"\sqrt\pi", True),
    (r"\int_{-\infty}^{\infty} e^{-x^2}\,dx", r"\pi", False),
    (r"\lim_{x\to 0} \frac{\sin x}{x}", "1", True),
    (r"\lim_{x\to 0} \frac{\sin x}{x}", "0", False),
    (r"\lim_{x\to\infty} \left(1+\frac1x\right)^x", "e", True),
    (r"\lim_{x\to 0^+} x \ln x", "0", True),
    (r"\lim_{x\to 0^-} \frac{|x|}{x}", "-1", True),
    (r"\lim_{x\to 0^+} \frac{|x|}{x}", "-1", False),
]


@pytest.mark.parametrize(("a", "b", "equal"), CASES)
def test_binders_are_worked_out(a, b, equal):
    a, b = parse(a), parse(b)
    assert same_without_worker(a, b).equal is None
    assert settle(a, b).equal is equal


def test_what_sympy_does_not_know_is_refused_with_its_name():
    from guerdon.verifiers._math.decision import CannotTellError

    for part in (Text("yes"), Matrix(((Number(tree.Fraction(1)),),)), Call("phi", (Number(tree.Fraction(9)),))):
        with pytest.raises(CannotTellError, match="nothing for sympy"):
            settle(part, part)


texts = st.sampled_from(
    [
        *("x^2+1", r"\frac{3\sqrt5}{2}", "0.50", "(1,2]", r"\{1,2\}", "5 cm", "x=3", r"\text{yes}", "2E_{16}"),
        *(r"\sum_{k=1}^n k", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "3:4", r"\pm 2", "f(x)", "x<2", "March 5"),
    ]
)


@given(texts)
def test_trees_survive_the_wire(text):
    import json

    node = parse(text)
    assert wire.unpack(json.loads(json.dumps(wire.pack(node)))) == node


def test_the_wire_makes_nothing_but_nodes():
    with pytest.raises(ValueError, match=r"no kind of node: 'os\.system'"):
        wire.unpack(["os.system", "true"])
    assert set(wire.KINDS) >= {"Number", "Sum", "Call", "Binder"}
    huge = Number(tree.Fraction(7**50_000, 3))  # beyond the 4,300 digits that Python reads in decimal
    assert wire.unpack(wire.pack(huge)) == huge
