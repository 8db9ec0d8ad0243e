"""Stored scores computed again: does what served then give the same now?

What was stored under ``exact``, and what a verifier said, must come back bit for bit. A model's score in ``fast`` was
made in a batch that nobody can bring together again, so it may differ in its last bits: the largest difference is told,
and what exceeds the tolerance is a mismatch. So is a sample that becomes other token ids than it was then, whatever its
score.

The work goes through the same engine as a server's, so that ready-made text, groups and failures are treated alike.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from guerdon.rewards import Scorer
from guerdon.rewards.errors import MissingExtraError, UsageError
from guerdon.serving.config import ServeConfig
from guerdon.serving.jobs import Item, ReadyMade
from guerdon.serving.store import Filter, Row, Store, Version

TOLERANCE = 1e-4
"""Of scores made in ``fast``, relative to max(1, |score|). In float32 batches differ by about 1e-6."""
WORST = 10
_COMPARED = frozenset({"ok", "abstained", "not_applicable", "refused"})  # others are of that hour, not of the sample
_AT_ONCE = 64  # requests given to the engine together
_DAY = 86_400.0
# Of a version's provenance, what explains another score of the same weights.
_CIRCUMSTANCES = (
    "version", "renderer", "max_length", "overlong", "dtype", "device", "scores", "guerdon", "torch", "transformers",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Difference:
    """A stored score that did not come back. size: |now - then|, None where one of them has no value."""

    row: Row
    value: float | None
    status: str
    why: str
    size: float | None


@dataclass(slots=True)
class Replayed:
    """What came of one version's scores. now: provenance of what computed them again; version: of what did then.

    equal: bit for bit. close: within the tolerance, of scores made in ``fast``. mismatches: all others, of which the
    worst are kept. skipped: rows that were not computed again, by reason. largest: difference of any two values.
    """

    version: Version
    now: Mapping[str, Any]
    exact: bool
    scores: int = 0
    equal: int = 0
    close: int = 0
    mismatches: int = 0
    largest: float = 0.0
    skipped: Counter[str] = field(default_factory=Counter)
    worst: list[Difference] = field(default_factory=list)

    @property
    def changed(self) -> dict[str, tuple[Any, Any]]:
        """Circumstances that are other than they were: (then, now)."""
        then = self.version.provenance
        return {key: (then.get(key), self.now.get(key)) for key in _CIRCUMSTANCES if then.get(key) != self.now.get(key)}


def replay(
    store: Store,
    scorers: Mapping[str, Scorer],
    *,
    limit: int | None = None,
    any_version: bool = False,
    tolerance: float = TOLERANCE,
    moved: Callable[[int], None] = lambda done: None,
) -> list[Replayed]:
    """Compute the stored scores of these scorers again, oldest first; one result for each version of each.

    limit: scores of each scorer, about: a request is never cut. any_version: compare with what other versions gave,
    too. moved: told how many scores are done. Raises UsageError for a scorer of which there is nothing to compare:
    no scores, no texts, or only scores of other versions. Not to be called on an event loop.
    """
    try:
        from guerdon.serving.engine import Engine
        from guerdon.serving.metrics import Metrics
    except ImportError as error:
        raise MissingExtraError("guerdon replay", "serve") from error

    found: list[Replayed] = []
    for name, scorer in scorers.items():
        known = {version.id: version for version in store.versions() if version.scorer == name}
        results: dict[str, Replayed] = {}
        engines: dict[str, Any] = {}
        for version in _comparable(name, scorer, known.values(), store, any_version=any_version):
            mode = version.provenance.get("scores", "fast")
            if mode not in engines:
                config = ServeConfig(
                    scores=mode,
                    cache_entries=0,
                    max_queue_tokens=2**62,
                    max_wait_seconds=_DAY,
                    timeout_seconds=_DAY,
                )
                engines[mode] = Engine({name: scorer}, config, Metrics([name]))
            exact = mode == "exact" or version.kind == "plain"
            results[version.id] = Replayed(version, engines[mode].lanes[name].current.provenance, exact)
        try:
            _run(store, name, results, engines, limit, tolerance, moved)
        finally:
            for engine in engines.values():
                engine.close()
        for result in results.values():
            _keep_worst(result)
        found += results.values()
        if not sum(result.scores for result in results.values()):
            raise UsageError(_nothing(name, results.values()))
    return found


def _comparable(name: str, scorer: Scorer, versions: Any, store: Store, *, any_version: bool) -> list[Version]:
    versions = list(versions)
    if not versions:
        names = sorted({version.scorer for version in store.versions()})
        raise UsageError(f"{store.name} holds no scores of {name!r}; it has those of {', '.join(names) or 'nobody'}")
    right = [version for version in versions if any_version or version.version == scorer.version]
    if not right:
        there = ", ".join(sorted({version.version for version in versions}))
        raise UsageError(
            f"the scores of {name!r} in {store.name} are of version {there}, and this is {scorer.version}; give the "
            f"scorer that made them (--scorer {name}=SPEC), or compare all the same with --any-version"
        )
    return right


def _nothing(name: str, results: Any) -> str:
    skipped: Counter[str] = sum((result.skipped for result in results), Counter())
    why = "; ".join(f"{reason}: {count}" for reason, count in skipped.most_common()) or "there are none"
    return f"no score of {name!r} could be computed again ({why})"


def _run(
    store: Store,
    name: str,
    results: Mapping[str, Replayed],
    engines: Mapping[str, Any],
    limit: int | None,
    tolerance: float,
    moved: Callable[[int], None],
) -> None:
    async def main() -> None:
        done = 0
        requests = _requests(store, name, results)
        while (limit is None or done < limit) and (portion := list(islice(requests, _AT_ONCE))):
            if limit is not None:  # requests until there are enough scores
                ends = [sum(map(len, portion[: n + 1])) for n in range(len(portion))]
                portion = [rows for rows, end in zip(portion, ends, strict=True) if end - len(rows) < limit - done]
            scored = await asyncio.gather(*(_again(store, name, rows, results, engines) for rows in portion))
            for rows, again in zip(portion, scored, strict=True):
                done += len(rows)
                for row, score, origin in zip(rows, again.scores, again.origins, strict=True):
                    _compare(results[row.version_id], row, score, origin, tolerance)
            moved(done)

    asyncio.run(main())


def _requests(store: Store, name: str, results: Mapping[str, Replayed]) -> Iterator[list[Row]]:
    """The rows of each request that can be computed again, in their order; others are counted."""
    for first in store.each(Filter(scorer=name)):
        if first.item or first.version_id not in results:  # every request has one item 0
            continue
        rows = sorted(store.each(Filter(request=first.request)), key=lambda row: row.item)
        skipped = results[first.version_id].skipped
        if not all(row.has_texts for row in rows):
            skipped["no texts kept (serve with --store-text)"] += len(rows)
        elif any("not stored" in row.meta for row in rows):
            skipped["meta too long to be kept"] += len(rows)
        else:
            yield rows


async def _again(
    store: Store, name: str, rows: Sequence[Row], results: Mapping[str, Replayed], engines: Mapping[str, Any]
) -> Any:
    mode = results[rows[0].version_id].version.provenance.get("scores", "fast")
    return await engines[mode].score(name, [_item(store, row) for row in rows], seconds=_DAY)


def _item(store: Store, row: Row) -> Item:
    sample, made = row.sample(), row.ready_made
    if made is None:
        return sample
    text = store.text(made["text"]) if made["text"] else made["text"]
    ids = None if made["ids"] is None else tuple(made["ids"])
    return ReadyMade(sample, text, ids, special_tokens=made["special_tokens"], keep=made["keep"])


def _compare(result: Replayed, row: Row, score: Any, origin: Any, tolerance: float) -> None:
    if row.status not in _COMPARED:
        result.skipped[f"status was {row.status}"] += 1
        return
    result.scores += 1
    size = abs(score.value - row.value) if score.value is not None and row.value is not None else None
    result.largest = max(result.largest, size or 0.0)
    now = None if origin is None or origin.input is None else origin.input.hex()
    why = ""
    if score.status != row.status:
        why = f"{row.status} then, {score.status} now: {score.reason}"
    elif row.input is not None and now is not None and row.input != now:
        read = "becomes other token ids" if origin.tokens is not None else "was not kept as it was scored"
        why = f"the sample {read}"
    elif row.value == score.value:
        result.equal += 1
    elif result.exact or size is None or size > tolerance * max(1.0, abs(row.value or 0.0)):
        why = "another value"
    else:
        result.close += 1
    if why:
        result.mismatches += 1
        result.worst.append(Difference(row, score.value, score.status, why, size))
        if len(result.worst) > 2 * WORST:
            _keep_worst(result)


def _keep_worst(result: Replayed) -> None:
    # What has no difference in numbers (a status, a failure) is worse than any that has one.
    result.worst.sort(key=lambda each: float("inf") if each.size is None else each.size, reverse=True)
    del result.worst[WORST:]
