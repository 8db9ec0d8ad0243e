"""Every exception guerdon raises, in one tree.

Each is ours *and* a standard exception, so ``except GuerdonError`` and ``except ValueError`` both work.
Four things are kept apart, and as a rule only the first and the last are exceptions:

    the caller's mistake          raised where it is made, with the value, what would be right, and what to do
    a sample nobody can judge     ``Score.unscored(reason)``, never a number, and no exception but in the call forms of
                                  other tools that have no word for it (``UnscoredError``)
    a response that is wrong      ``Score(0.0, reason)``
    an outage                     ``OutageError`` after retries, never a low reward

    GuerdonError
    ├── UsageError (ValueError)            an argument or option that cannot be right
    │   ├── UnknownNameError               a name that is not in the list, with the nearest one
    │   ├── RenderError                    text that cannot become token ids under the renderer's rules
    │   │   └── TooLongError               longer than the model reads, and nobody allowed cutting
    │   ├── FingerprintError               weights and renderer do not belong together
    │   ├── CheckpointError                a folder that is no trained reward model (a random head, a missing file)
    │   └── ScaleError                     scores of different scales were mixed
    ├── DataError (ValueError)             rows of a file that are wrong, all listed with their lines
    ├── MissingExtraError (ImportError)    an optional dependency is absent; prints the pip line
    ├── OutageError (ConnectionError)      a server or worker that did not answer
    ├── UnscoredError (ValueError)         no verdict, where the caller's form has no other way to say so
    └── ContractError (AssertionError)     a scorer that breaks a law of scorers
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


class GuerdonError(Exception):
    """The root of every exception of guerdon's own."""


class UsageError(GuerdonError, ValueError):
    """An argument, option or combination that cannot be right."""


class UnknownNameError(UsageError):
    """A name that is not among the names there are; the message offers the nearest one."""

    def __init__(self, kind: str, name: str, names: Iterable[str]) -> None:
        self.kind, self.name, self.names = kind, name, sorted(names)
        near = difflib.get_close_matches(name, self.names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"no {kind} named {name!r}.{hint} There are: {', '.join(self.names) or '(none)'}")

    def __reduce__(self) -> tuple[type[UnknownNameError], tuple[str, str, list[str]]]:
        return type(self), (self.kind, self.name, self.names)


class RenderError(UsageError):
    """Text that cannot become token ids under the renderer's rules."""


class TooLongError(RenderError):
    """A rendered sample is longer than the model reads and the renderer may not cut it."""


class FingerprintError(UsageError):
    """A renderer other than the one the weights were trained with; the message says what differs."""


class CheckpointError(UsageError):
    """A folder that does not hold a trained reward model."""


class ScaleError(UsageError):
    """Scores of different scales were mixed."""


class DataError(GuerdonError, ValueError):
    """Rows of a file that are wrong. All problems are listed at once, each with its file and line."""

    SHOWN = 20

    def __init__(self, source: str, problems: Sequence[str]) -> None:
        self.source, self.problems = source, list(problems)
        shown = "\n".join(f"  {problem}" for problem in self.problems[: self.SHOWN])
        more = len(self.problems) - self.SHOWN
        tail = f"\n  … and {more} more" if more > 0 else ""
        super().__init__(f"{source}: {len(self.problems)} problem(s)\n{shown}{tail}")

    def __reduce__(self) -> tuple[type[DataError], tuple[str, list[str]]]:
        return type(self), (self.source, self.problems)


class MissingExtraError(GuerdonError, ImportError):
    """An optional dependency is absent; the message holds the exact pip line."""

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        super().__init__(f"{what} needs packages that are not installed; run: pip install 'guerdon[{extra}]'")

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str]]:
        return type(self), (self.what, self.extra)


class OutageError(GuerdonError, ConnectionError):
    """A server or a worker did not answer, or answered with a failure, after all retries."""


class UnscoredError(GuerdonError, ValueError):
    """A sample that nobody can judge, in a call form of another tool that has no other way to say so."""


class ContractError(GuerdonError, AssertionError):
    """A scorer breaks one or more laws of scorers; the message lists them."""
