"""How a body depends on its index, told from its form: as a polynomial, or as a geometric sequence."""

from __future__ import annotations

from guerdon.verifiers._math.tree import Node, Number, Power, Product, Sum, Symbol, walk


def _is_free_of(node: Node, name: str) -> bool:
    """Whether a symbol is nowhere in a tree, bound or free."""
    return not any(isinstance(part, Symbol) and part.name == name for part in walk(node))


def degree_in(node: Node, name: str) -> int | None:
    """The degree of a polynomial in one symbol, by its form; None if the tree is none. All else counts as constant."""
    kind = type(node)
    if kind is Symbol:
        return 1 if node.name == name else 0  # type: ignore[attr-defined]
    if isinstance(node, Sum | Product):
        degrees = [degree_in(part, name) for part in (node.terms if isinstance(node, Sum) else node.factors)]
        if any(found is None for found in degrees):
            return None
        return max(degrees) if isinstance(node, Sum) else sum(degrees)  # type: ignore[type-var, arg-type]
    if isinstance(node, Power):
        base, exponent = degree_in(node.base, name), _whole(node.exponent)
        if base is None or degree_in(node.exponent, name) != 0:
            return None
        if base == 0:
            return 0
        return base * exponent if exponent is not None and exponent >= 0 else None
    return 0 if _is_free_of(node, name) else None


def _whole(node: Node) -> int | None:
    return node.value.numerator if isinstance(node, Number) and node.value.denominator == 1 else None


def geometric_in(node: Node, name: str) -> bool:
    """Whether a body is c r^k for constants c and r: a product of constants and of constants to powers linear in k."""
    if _is_free_of(node, name):
        return True
    if isinstance(node, Product):
        return all(geometric_in(factor, name) for factor in node.factors)
    if isinstance(node, Power):
        if _is_free_of(node.base, name):
            return degree_in(node.exponent, name) == 1
        return _is_free_of(node.exponent, name) and geometric_in(node.base, name)
    return False
