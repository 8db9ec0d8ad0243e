"""What a verdict of the math verifier depends on besides the two answers: the options of its ``verify``, in one place.

The defaults are those under which the answers of public data sets were labelled; docs/verifiers/math.md has an example
of every setting. A policy is frozen and hashable, so that a cached verdict can be told from one under another policy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, TypeAlias

from guerdon.verifiers._numbers import read_number

Percent: TypeAlias = Literal["either", "value", "ignore"]
Units: TypeAlias = Literal["convert", "match", "ignore"]
Rounding: TypeAlias = Literal["reference", "exact"]
Order: TypeAlias = Literal["free", "kept"]
Several: TypeAlias = Literal["all", "any"]
Brackets: TypeAlias = Literal["match", "ignore"]
Pairs: TypeAlias = Literal["either", "point"]
Ends: TypeAlias = Literal["match", "ignore"]
Vectors: TypeAlias = Literal["any", "match"]
Ratios: TypeAlias = Literal["value", "match"]
Bases: TypeAlias = Literal["digits", "match", "value"]
Log: TypeAlias = Literal["either", "10", "e"]
Parameters: TypeAlias = Literal["match", "rename"]
Letters: TypeAlias = Literal["text", "only", "off"]


@dataclass(frozen=True, slots=True)
class Policy:
    """How two answers are compared. The words are explained where a caller meets them: ``guerdon.verifiers.math``."""

    percent: Percent = "either"
    units: Units = "convert"
    rounding: Rounding = "reference"
    tolerance: Fraction = field(default=Fraction(0), hash=False)  # a Fraction takes as long to hash as all the others
    order: Order = "free"
    several: Several = "all"
    brackets: Brackets = "match"
    pairs: Pairs = "either"
    ends: Ends = "match"
    vectors: Vectors = "any"
    ratios: Ratios = "value"
    bases: Bases = "digits"
    log: Log = "either"
    parameters: Parameters = "match"
    letters: Letters = "text"


@lru_cache(maxsize=256)
def allowed_tolerance(tolerance: float | str) -> Fraction | None:
    """A tolerance as an exact number, or None if it is not a finite number >= 0. 0.01 is 1/100."""
    number = read_number(str(tolerance))
    if number is None or number.value is None or number.value < 0 or number.percent or not number.bare:
        return None
    return number.value


@lru_cache(maxsize=256)
def policy_of(*options: Any, **named: Any) -> Policy:
    """The policy of a verifier's options, which have been checked: in the order of its fields, or by name.

    A verdict asks for it in order, which is found in half the time.
    """
    policy = Policy(*options, **named)
    return replace(policy, tolerance=allowed_tolerance(policy.tolerance) or Fraction(0))
