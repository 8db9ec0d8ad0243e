"""The limits of reading, each with its reason. Over a limit nothing is cut: the text is not read at all."""

from __future__ import annotations

from guerdon.verifiers._limits import MAX_DIGITS, MAX_EXPONENT

__all__ = ["MAX_CHARACTERS", "MAX_DEPTH", "MAX_DIGITS", "MAX_EXPONENT", "MAX_TOKENS"]

MAX_CHARACTERS = 20_000
"""Of one answer. The longest reference in the data sets that we know has 700; a matrix of 30 × 30 fractions, 15,000."""

MAX_TOKENS = 10_000
"""Of one answer, which also bounds the nodes of its tree: no token makes more than three."""

MAX_DEPTH = 60
"""Nested brackets, braces, fractions, roots, exponents. People stop at ten. One level takes at most eight frames of
Python's stack, so that 60 of them leave half of its 1,000 to the caller."""
