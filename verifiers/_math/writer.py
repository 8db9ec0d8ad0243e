r"""A tree as plain text, which ``parse`` reads back into the same tree.

The text is unambiguous rather than pretty: every product has its sign, and brackets stand wherever one could doubt.
"""

from __future__ import annotations

from guerdon.verifiers._math import written_statements, written_values  # noqa: F401  the writers of each kind
from guerdon.verifiers._math.tree import Node
from guerdon.verifiers._math.written import plain


def write(node: Node) -> str:
    """The text of a tree.

    >>> from guerdon.verifiers._math.parser import parse
    >>> write(parse(r"\\frac{-1 \\pm \\sqrt{13}}{4}"))
    '(-1 \\\\pm \\\\sqrt{13})/4'
    """
    return plain(node)
