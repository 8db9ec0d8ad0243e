"""The limits that every verifier shares, each with its reason. Over a limit nothing is cut and nothing is guessed.

A limit on the whole response, or on the reference, leaves the sample unscored (status ``refused``). A limit that only
the response's *answer* crosses makes the answer wrong: a policy must not be able to leave the batch by writing
``1e999999999``.
"""

import math
from fractions import Fraction

MAX_CHARACTERS = 4_000_000
"""Of one response: about a million tokens, more than models write. The slowest text we found takes 0.7 µs a character,
so this is three seconds at the most."""

MAX_DIGITS = 1_000
"""Of one number, without zeros that say nothing. Longer ones cost quadratic time, and Python itself stops at 4,300."""

MAX_EXPONENT = 1_000
"""Of one power of ten, so that an exact fraction stays near 1,000 digits; a float ends at 308."""

AGREEING_DIGITS = 12
"""A decimal of at least so many significant digits stands for every number that has the same ones, since that is how a
program prints 1/12. It is the only tolerance that nobody has to ask for."""


def agreeing_share(value: Fraction) -> Fraction:
    """By what share of itself a number may differ from one with the same AGREEING_DIGITS digits.

    Less than one unit of the last of them, so that a number may be cut there or rounded: 10^-11 of 1, 10^-12 of 9.99.

    >>> abs(Fraction("0.666666666666") - Fraction(2, 3)) < Fraction(2, 3) * agreeing_share(Fraction(2, 3))
    True
    """
    size = abs(value)
    # one too small where the logarithm rounds down at a power of ten, and then the share is the stricter one
    exponent = math.floor(math.log10(size.numerator) - math.log10(size.denominator)) if size else 0
    return Fraction(10) ** (exponent + 1 - AGREEING_DIGITS) / size if size else Fraction(0)
