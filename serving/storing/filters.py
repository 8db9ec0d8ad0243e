"""Which scores of a store: a ``Filter`` as a condition of SQL, and the orders in which they may come.

Every order and nearly every condition has an index (``tables.INDEXES``), so a page of 100,000 scores is a matter of
milliseconds. What has none reads the scores one by one until the page is full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.types import STATUSES

Order: TypeAlias = Literal["newest", "oldest", "lowest", "highest"]

_ORDERS: dict[str, str] = {
    "newest": "s.id DESC",
    "oldest": "s.id",
    "lowest": "s.value, s.id",
    "highest": "s.value DESC, s.id DESC",
}


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold; None asks nothing.

    scorer, status, version: as they stand in an answer. group: as the caller named it. request: an ``X-Request-Id``.
    name: the caller's id of an item. steps: first and last of the trainer's. values: lowest and highest, either of
    which may be None. times: from and until, seconds since 1970. truncated: whether the sample was cut. prompt,
    response: the hash of either, to find a prompt's other responses and a sample's other scores. id: of the score.
    disagrees_with: another scorer; only samples for which the two lie on different sides of ``threshold`` (this
    scorer's and the other's), each having a value.
    """

    scorer: str | None = None
    status: str | None = None
    version: str | None = None
    group: str | None = None
    request: str | None = None
    name: str | None = None
    steps: tuple[int, int] | None = None
    values: tuple[float | None, float | None] | None = None
    times: tuple[float | None, float | None] | None = None
    truncated: bool | None = None
    prompt: str | None = None
    response: str | None = None
    id: int | None = None
    disagrees_with: str | None = None
    thresholds: tuple[float, float] = (0.5, 0.5)

    def __post_init__(self) -> None:
        if self.status is not None and self.status not in STATUSES:
            raise UnknownNameError("status", self.status, STATUSES)
        if self.disagrees_with is not None and self.disagrees_with == self.scorer:
            raise UsageError(f"disagrees_with must name another scorer than {self.scorer!r}")

    def condition(self) -> tuple[str, dict[str, Any]]:
        """A condition on ``scores s``, with the values of its parameters."""
        parts: list[str] = []
        given: dict[str, Any] = {}

        def ask(condition: str, **values: Any) -> None:
            parts.append(condition)
            given.update(values)

        for column, value in (
            ("scorer", self.scorer),
            ("status", self.status),
            ("group_name", self.group),
            ("request", self.request),
            ("name", self.name),
            ("prompt", self.prompt),
            ("response", self.response),
            ("id", self.id),
        ):
            if value is not None:
                ask(f"s.{column} = :{column}", **{column: value})
        if self.version is not None:
            ask("s.version_id IN (SELECT id FROM versions WHERE version = :version)", version=self.version)
        if self.steps is not None:
            ask("s.step BETWEEN :first_step AND :last_step", first_step=self.steps[0], last_step=self.steps[1])
        for column, bounds in (("value", self.values), ("time", self.times)):
            least, most = bounds or (None, None)
            if least is not None:
                ask(f"s.{column} >= :least_{column}", **{f"least_{column}": least})
            if most is not None:
                ask(f"s.{column} <= :most_{column}", **{f"most_{column}": most})
        if self.truncated is not None:
            ask("s.cut > 0" if self.truncated else "(s.cut IS NULL OR s.cut = 0)")
        if self.disagrees_with is not None:
            mine, others = self.thresholds
            ask(
                "s.value IS NOT NULL AND EXISTS (SELECT 1 FROM scores o WHERE o.prompt = s.prompt AND "
                "o.response = s.response AND o.scorer = :other AND o.value IS NOT NULL AND "
                "(o.value >= :others) <> (s.value >= :mine))",
                other=self.disagrees_with,
                mine=mine,
                others=others,
            )
        return " AND ".join(parts) or "1 = 1", given


def ordering(order: str) -> str:
    """The order as SQL has it."""
    if order not in _ORDERS:
        raise UnknownNameError("order", order, get_args(Order))
    return _ORDERS[order]
