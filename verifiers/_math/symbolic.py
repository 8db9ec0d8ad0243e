"""What a symbolic system can still do: work out sums, integrals and limits, and show that a difference is zero.

Runs in worker processes only (``workers``). sympy objects are built from the tree by constructors, never from text.
What sympy works out is turned back into a tree, so that the verdict comes from our own exact and ball arithmetic; only
"this simplifies to zero" is taken on its word. It never finds two values unequal by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import sympy

from guerdon.verifiers._math.decision import CannotTellError, Decision
from guerdon.verifiers._math.identity import same_without_worker
from guerdon.verifiers._math.survey import Survey
from guerdon.verifiers._math.tree import Apply, Binder, Call, Constant, Node, Number, Power, Product, Sum, Symbol


def settle(a: Node, b: Node) -> Decision:
    """Whether two values are equal, by way of sympy. May take for ever: only a worker calls this."""
    both = Survey()
    both.take(a)
    both.take(b)
    builder = _Builder(both.whole)
    x, y = builder.build(a), builder.build(b)
    x, y = x.doit(), y.doit()
    if x.has(sympy.nan, sympy.zoo) or y.has(sympy.nan, sympy.zoo):
        return Decision(None, "symbolic", "it works out to what is undefined")
    if x == y:
        return Decision(True, "symbolic", "the same after working out")
    try:
        worked = (_tree(x), _tree(y))
    except CannotTellError as reason:
        obstacle = reason.reason
    else:
        if worked != (a, b):
            found = same_without_worker(*worked)
            if found.equal is not None:
                return Decision(found.equal, "symbolic", f"worked out; then {found.stage}")
            obstacle = found.reason
        else:
            obstacle = "nothing to work out"
    if sympy.simplify(x - y) == 0:
        return Decision(True, "symbolic", "the difference simplifies to zero")
    return Decision(None, "symbolic", obstacle)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(sympy, name) for name in ("sin", "cos", "tan", "cot", "sec", "csc")},
    **{name: getattr(sympy, name) for name in ("sinh", "cosh", "tanh", "coth", "sech", "csch")},
    **{f"arc{name}": getattr(sympy, f"a{name}") for name in ("sin", "cos", "tan", "sec", "csc")},
    **{f"arc{name}": getattr(sympy, f"a{name}") for name in ("sinh", "cosh", "tanh")},
    "arccot": lambda x: sympy.pi / 2 - sympy.atan(x),
    "ln": sympy.log,
    "abs": sympy.Abs,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "frac": sympy.frac,
    "sign": sympy.sign,
    "factorial": sympy.factorial,
    "factorial2": sympy.factorial2,
    "gamma": sympy.gamma,
    "binomial": sympy.binomial,
    "re": sympy.re,
    "im": sympy.im,
    "conj": sympy.conjugate,
    "arg": sympy.arg,
    "mod": sympy.Mod,
    "gcd": sympy.gcd,
    "lcm": sympy.lcm,
    "min": sympy.Min,
    "max": sympy.Max,
}
_CONSTANTS: dict[str, Any] = {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "infinity": sympy.oo}


class _Builder:
    """From trees to sympy. whole: symbols that take integers; all others are real."""

    def __init__(self, whole: set[str]) -> None:
        self.symbols: dict[str, Any] = {}
        self.whole = whole

    def symbol(self, name: str) -> Any:
        known = self.symbols.get(name)
        if known is None:
            known = sympy.Symbol(name, integer=True) if name in self.whole else sympy.Symbol(name, real=True)
        return known

    def build(self, node: Node) -> Any:
        if isinstance(node, Number):
            return sympy.Rational(node.value.numerator, node.value.denominator)
        if isinstance(node, Symbol):
            return self.symbol(node.name)
        if isinstance(node, Sum):
            return sympy.Add(*map(self.build, node.terms))
        if isinstance(node, Product):
            return sympy.Mul(*map(self.build, node.factors))
        if isinstance(node, Power):
            return sympy.Pow(self.build(node.base), self.build(node.exponent))
        if isinstance(node, Constant) and node.name in _CONSTANTS:
            return _CONSTANTS[node.name]
        if isinstance(node, Call):
            return self._call(node)
        if isinstance(node, Apply):
            return sympy.Function(node.name)(*map(self.build, node.arguments))
        if isinstance(node, Binder):
            return self._binder(node)
        raise CannotTellError(f"a {type(node).__name__} is nothing for sympy")

    def _call(self, node: Call) -> Any:
        arguments = [self.build(argument) for argument in node.arguments]
        if node.name == "root":
            return sympy.real_root(*arguments)
        if node.name == "log" and len(arguments) == 2:
            return sympy.log(arguments[0]) / sympy.log(arguments[1])
        if node.name in _FUNCTIONS:
            return _FUNCTIONS[node.name](*arguments)
        raise CannotTellError(f"{node.name} is nothing for sympy")

    def _binder(self, node: Binder) -> Any:
        one_sided = node.low if node.kind == "limit" and isinstance(node.low, Apply) else None
        start = one_sided.arguments[0] if one_sided else node.low
        low = None if start is None else self.build(start)
        high = None if node.high is None else self.build(node.high)
        integer = node.kind in ("sum", "product")
        variable = sympy.Symbol(node.variable, integer=True) if integer else sympy.Symbol(node.variable, real=True)
        outer = self.symbols
        self.symbols = {**outer, node.variable: variable}
        try:
            body = self.build(node.body)
        finally:
            self.symbols = outer
        if node.kind == "limit":
            if low is None or high is not None:
                raise CannotTellError("a limit without a point")
            return sympy.Limit(
                body, variable, low, dir="-" if low is sympy.oo else one_sided.name if one_sided else "+-"
            )
        if low is None or high is None:
            raise CannotTellError(f"a {node.kind} without ends")
        kind = {"sum": sympy.Sum, "product": sympy.Product, "integral": sympy.Integral}[node.kind]
        return kind(body, (variable, low, high))


_NAMES: dict[str, str] = {
    **{name: name for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "coth", "sech")},
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sec", "csc", "sinh", "cosh", "tanh")},
    **{name: name for name in ("csch", "floor", "frac", "sign", "factorial", "gamma", "binomial", "re", "im", "arg")},
    "log": "ln",
    "Abs": "abs",
    "ceiling": "ceil",
    "conjugate": "conj",
    "Min": "min",
    "Max": "max",
}


def _tree(expression: Any) -> Node:
    """From sympy back to a tree; raises CannotTellError for what has no place in one."""
    if expression.is_Rational:
        return Number(Fraction(int(expression.p), int(expression.q)))
    if expression.is_Symbol:
        return Symbol(expression.name)
    for name, constant in _CONSTANTS.items():
        if expression is constant:
            return Constant(name)
    if expression is sympy.S.NegativeInfinity:
        return Product((Number(Fraction(-1)), Constant("infinity")))
    if expression is sympy.nan or expression is sympy.zoo:
        return Constant("undefined")
    arguments = tuple(map(_tree, expression.args))
    if expression.is_Add:
        return Sum(arguments)
    if expression.is_Mul:
        return Product(arguments)
    if expression.is_Pow:
        return Power(*arguments)
    if isinstance(expression, sympy.exp):
        return Power(Constant("e"), arguments[0])
    name = type(expression).__name__
    if name in _NAMES:
        return Call(_NAMES[name], arguments)
    if isinstance(expression, sympy.core.function.AppliedUndef):
        return Apply(name, arguments)
    raise CannotTellError(f"sympy leaves a {name}")
