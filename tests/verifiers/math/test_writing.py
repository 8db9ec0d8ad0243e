"""What a tree looks like to a person."""

from __future__ import annotations

import pytest

from guerdon.verifiers._math.parser import parse
from guerdon.verifiers._math.tree import Node
from guerdon.verifiers._math.writing import _FORMS, write


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (r"\frac{1}{2}", "1/2"),
        ("x + 2y", "(x + (2·y))"),
        (r"\sqrt{x}", "x^1/2"),
        (r"\sin x", "sin(x)"),
        (r"-1 < x \le 4", "-1 < x ≤ 4"),
        ("(1, 2]", "(1, 2]"),
        (r"\{1, 2\}", "{1, 2}"),
        ("1, 2 and 3", "1, 2 and 3"),
        ("1 or 2", "1 or 2"),
        (r"(0,1) \cup [2,3]", "(0, 1) ∪ [2, 3]"),
        (r"5\text{ cm}^2", "5 cm^2"),
        ("204_5", "204_5"),
        ("3:4", "3:4"),
        (r"x \equiv 1 \pmod 3", "x ≡ 1 (mod 3)"),
        (r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}", "matrix(1, 2; 3, 4)"),
        (r"\sum_{k=1}^{n} k", "sum(k for k from 1 to n)"),
        (r"\text{odd}", "'odd'"),
        (r"1 \pm x", "(1 + ±x)"),
    ],
)
def test_a_tree_is_written_in_plain_signs(text: str, written: str) -> None:
    assert write(parse(text)) == written


def test_every_kind_of_node_can_be_written() -> None:
    assert {kind.__name__ for kind in _FORMS} == {kind.__name__ for kind in Node.__subclasses__()} - {"Unit"}


def test_a_long_tree_is_cut_off() -> None:
    assert len(write(parse("+".join("x" * 500)))) == 401
