"""What clients say and expect, one small file a dialect: our own (``native``) and those of trainers and engines.

A dialect reads a request's JSON into a Call and writes the scores as its clients can bear them. Everything between,
from batching to refusing, is the same for all of them. A number in an answer is always a real score: where a form knows
no "no score", a request with an unscored sample is answered with an HTTP status that its clients try again or give up
on.

Several engines use one path for different bodies. At the root a request goes to the first dialect that claims its body;
under ``/compat/NAME`` only dialect NAME is asked. ``/s/SCORER`` in front of either names the scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from guerdon.rewards.types import Scale
from guerdon.serving.engine import Scored
from guerdon.serving.jobs import Item
from guerdon.serving.schemas import Problem


@dataclass(frozen=True, slots=True)
class Context:
    """What a dialect may need to know besides the body. path: below ``/s/...`` and ``/compat/...``.

    scorer: named by the URL; None if it was not. scorers: name to scale of those there are. default: the scorer of a
    request that names none. request_id: hexadecimal, prefixes groups.
    """

    path: str
    scorer: str | None
    scorers: Mapping[str, Scale]
    default: str
    request_id: str
    max_items: int

    def pick(self, model: Any = None) -> str:
        """The scorer of a request whose own field for it holds ``model``, which clients often fill with a path."""
        if self.scorer is not None:
            return self.scorer
        return model if isinstance(model, str) and model in self.scorers else self.default

    def scale_of(self, scorer: str) -> Scale:
        """A scorer's scale; ``real`` for one that is not there, which is found out when it is asked."""
        return self.scorers.get(scorer, "real")


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has been read. write: its answer's body. seconds: the caller's deadline, None for the server's.

    names: the caller's own names of the items, if it has any, for the store.
    """

    scorer: str
    items: Sequence[Item]
    write: Callable[[Scored], Any]
    seconds: float | None = None
    names: Sequence[str | None] = ()


class Dialect(Protocol):
    """A module of this package."""

    NAME: str
    PATHS: Mapping[str, Mapping[str, Any]]
    """Its paths, and for each what the OpenAPI document says of the operation."""

    def claims(self, path: str, data: Any) -> bool:
        """Whether a body on a path that several dialects have is this one's."""
        ...

    def read(self, data: Any, context: Context) -> Call:
        """Raises BodyError for a body of another form."""
        ...

    def error(self, status: int, kind: str, message: str, problems: Sequence[Problem]) -> Any:
        """The body of an answer that is not 2xx."""
        ...
