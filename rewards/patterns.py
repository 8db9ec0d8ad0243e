"""Regular expressions over text that a policy wrote: by RE2, which is linear in the text whatever the pattern."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from guerdon.rewards.errors import MissingExtraError, UsageError


@lru_cache(maxsize=64)
def compiled(pattern: str, what: str) -> Any:
    """A pattern, compiled. what: for whom, in the message of MissingExtraError. Raises UsageError if it is none."""
    try:
        re2 = importlib.import_module("re2")
    except ImportError as error:
        raise MissingExtraError(what, "regex") from error
    options = re2.Options()
    options.log_errors = False  # the exception says it all
    try:
        return re2.compile(encodable(pattern), options)
    except re2.error as error:
        raise UsageError(
            f"pattern {pattern!r:.80} cannot be used: {error.args[0].decode():.120}. Its syntax is RE2's, which keeps "
            "matching linear: no look-around, no back-references, at most 1,000 repetitions"
        ) from error


def encodable(text: str) -> str:
    """The text with lone surrogates, which UTF-8 does not have, as "?". No position moves."""
    return text.encode("utf-8", "replace").decode("utf-8")
