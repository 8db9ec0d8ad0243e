"""What may go wrong while an answer is read. Both are about the text, never about the verifier."""

from __future__ import annotations


class UnreadError(ValueError):
    """The text is no mathematics that we can read, whole.

    reason: what stood in the way, for a person. at: where it stands, in characters of the text; None if nowhere.
    """

    def __init__(self, reason: str, at: int | None = None) -> None:
        super().__init__(reason if at is None else f"{reason} (at character {at})")
        self.reason = reason
        self.at = at


class TooLargeError(UnreadError):
    """The text is over a limit of ``_math.limits``: too long, too deep, or a number with too many digits."""
