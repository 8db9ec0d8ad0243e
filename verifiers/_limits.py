"""The limits that every verifier shares, each with its reason. Over a limit nothing is cut and nothing is guessed.

A limit on the whole response, or on the reference, leaves the sample unscored (status ``refused``). A limit that only
the response's *answer* crosses makes the answer wrong: a policy must not be able to leave the batch by writing
``1e999999999``.
"""

from fractions import Fraction

MAX_CHARACTERS = 4_000_000
"""Of one response: about a million tokens, more than models write. The slowest text we found takes 0.7 µs a character,
so this is three seconds at the most."""

MAX_DIGITS = 1_000
"""Of one number, without zeros that say nothing. Longer ones cost quadratic time, and Python itself stops at 4,300."""

MAX_EXPONENT = 1_000
"""Of one power of ten, so that an exact fraction stays near 1,000 digits; a float ends at 308."""

AGREEING_DIGITS = 12
AGREEING_SHARE = Fraction(1, 2 * 10**AGREEING_DIGITS)
"""A decimal of at least 12 significant digits stands for every number that it differs from by no more than this share
of the larger one, since that is how a program prints 1/12. It is the only tolerance that nobody has to ask for."""
