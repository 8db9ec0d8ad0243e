r"""Verifiers: scorers that check a response against a known answer.

Each is one file in this folder, named as the verifier is; there is no list to keep. Other packages add theirs through
the entry-point group ``guerdon.verifiers``.

    >>> from guerdon import verifiers
    >>> from guerdon.rewards import Sample
    >>> numeric = verifiers.load("numeric")
    >>> numeric.score([Sample("What is 6 times 7?", r"So it is \boxed{42}.", reference="42")])[0].value
    1.0

Importing this package imports none of them. How to add one: CONTRIBUTING.md.
"""

from __future__ import annotations

from typing import Any

from guerdon.verifiers._check import check_verifier
from guerdon.verifiers._scorer import Verifier, names

__all__ = ["Verifier", "check_verifier", "load", "names"]


def load(name: str, /, **options: Any) -> Verifier:
    """The verifier of that name with its options fixed: a Scorer.

    Raises UnknownNameError (with the nearest name) for a verifier or an option that is not there, UsageError for an
    option that cannot be right, MissingExtraError if the verifier needs a package that is not installed.
    """
    return Verifier(name, options)
