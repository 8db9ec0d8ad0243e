"""What a comparison found, and the ways in which a tree may fail to have a value.

    UndefinedError      there is no such value: 1/0, the logarithm of 0, the square root of -1 over the reals
    VagueError          a ball is too wide to go on: it may hold the pole of a function. More bits may help
    InexactError        no rational number, so exact arithmetic stops here; balls go on
    UnboundError        a symbol or an unknown function, so no number at all
    OversizeError       too large to be worked out; logarithms and cancelling may still tell
    CannotTellError     given up, with a reason and a status

None of them leaves the math verifier: each ends as a ``Decision``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["ok", "timeout", "refused", "error"]
"""Whether the comparison came to its end (``ok``) or what stopped it: time, a limit, or a fault of a worker."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether two values are equal, and how that was found.

    equal: None means that it could not be told, with the reason. stage: the step that decided, such as ``exact`` or
    ``numeric-512``. status: ``ok`` unless something stopped the comparison.
    """

    equal: bool | None
    stage: str
    reason: str = ""
    status: Outcome = "ok"


class ValueFailureError(Exception):
    """The root of those below; never raised itself."""


class UndefinedError(ValueFailureError):
    """There is no such value."""


class VagueError(ValueFailureError):
    """The enclosure of a number is too wide for the next step."""


class InexactError(ValueFailureError):
    """The value is no (Gaussian) rational number."""


class UnboundError(InexactError):
    """The value depends on a symbol or an unknown function."""


class OversizeError(ValueFailureError):
    """The value is too large, or too close to zero, to be held."""


class CannotTellError(Exception):
    """The comparison is given up."""

    def __init__(self, reason: str, status: Outcome = "ok") -> None:
        super().__init__(reason)
        self.reason, self.status = reason, status

    def decision(self, stage: str) -> Decision:
        return Decision(None, stage, self.reason, self.status)
