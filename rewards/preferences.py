"""Preference data: read it, expand rankings into pairs, split it so that no prompt is on both sides.

    pairs = read_preferences("pairs.jsonl.gz")                     # also .json, .parquet, a datasets folder, a hub id
    train, held_out = split_by_prompt(pairs, 0.1, seed=0)

Every format that is accepted is on one page, ``docs/data.md``. A row that is wrong is never passed over in silence: all
wrong rows of a source are collected into one DataError, each with its line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from guerdon.rewards.errors import UsageError
from guerdon.rewards.reading.formats import Fields, Layout, preference_of, ranking_of, sample_of, tie_of
from guerdon.rewards.reading.records import BadRows, Record, kind_of, read, single
from guerdon.rewards.reading.sources import Source
from guerdon.rewards.types import Preference, Ranking, Sample, Text, text_of

__all__ = [
    "kind_of",
    "pairs_of",
    "prompt_key",
    "read_preferences",
    "read_rankings",
    "read_samples",
    "read_ties",
    "split_by_prompt",
]


def read_preferences(
    source: Source,
    *,
    split: str = "train",
    limit: int | None = None,
    probability_column: str | None = None,
    columns: Mapping[str, str] | None = None,
    bad_rows: BadRows = "error",
) -> list[Preference]:
    """The labelled pairs of a source; rankings are expanded by ``pairs_of``.

    source: a path or several, a hub id, or rows in memory. split: of a datasets folder or hub id that has several.
    limit: only the first rows. columns: the source's own names, as {"prompt": "question"}. probability_column: short
    for columns={"probability": …}. bad_rows: "skip" leaves wrong rows out and logs them as a warning; a source that
    cannot be read to its end, or has no good row, still raises.
    Every other column, and ``where`` (``file:line``), is in ``meta``.
    Raises DataError listing every wrong row; UsageError for a source of another kind or none at all.
    """
    names = dict(columns or {})
    if probability_column is not None and names.setdefault("probability", probability_column) != probability_column:
        raise UsageError(f"probability_column={probability_column!r} and columns={columns!r} contradict each other")

    def convert(fields: Fields, where: str, layout: Layout) -> list[Preference]:
        if layout == "rankings":
            return pairs_of(ranking_of(fields, where, layout))
        return [preference_of(fields, where, layout)]

    return read(source, ("preferences", "rankings"), convert, split, limit, names, bad_rows)


def read_rankings(
    source: Source,
    *,
    split: str = "train",
    limit: int | None = None,
    columns: Mapping[str, str] | None = None,
    bad_rows: BadRows = "error",
) -> list[Ranking]:
    """The K-wise records of a source; arguments and errors as in ``read_preferences``."""
    return read(source, ("rankings",), single(ranking_of), split, limit, columns, bad_rows)


def read_ties(
    source: Source,
    *,
    split: str = "train",
    limit: int | None = None,
    columns: Mapping[str, str] | None = None,
    bad_rows: BadRows = "error",
) -> list[Preference]:
    """The compared pairs of a source with ties, the better response as chosen; a tie has the probability 0.5.

    ``meta["label"]`` is ``a``, ``b`` or ``tie``. Arguments and errors as in ``read_preferences``.
    """
    return read(source, ("ties",), single(tie_of), split, limit, columns, bad_rows)


def read_samples(
    source: Source,
    *,
    split: str = "train",
    limit: int | None = None,
    columns: Mapping[str, str] | None = None,
    bad_rows: BadRows = "error",
) -> list[Sample]:
    """The single responses of a source, with reference and group where there are any.

    Arguments and errors as in ``read_preferences``.
    """
    return read(source, ("samples",), single(sample_of), split, limit, columns, bad_rows)


def pairs_of(ranking: Ranking) -> list[Preference]:
    """Every pair of responses of different rank, the better as chosen.

    Equal ranks and responses with the same text make no pair. meta: the ranking's, with ``chosen_rank`` and
    ``rejected_rank``, and what is known of each completion as ``chosen_model``, ``rejected_model`` and so on.
    """
    meta = {key: value for key, value in ranking.meta.items() if key != "completions"}
    others = ranking.meta.get("completions") or [{}] * len(ranking.ranks)
    order = range(len(ranking.ranks))
    return [
        Preference(
            ranking.prompt,
            ranking.responses[i],
            ranking.responses[j],
            meta={
                **meta,
                "chosen_rank": ranking.ranks[i],
                "rejected_rank": ranking.ranks[j],
                **{f"chosen_{key}": value for key, value in others[i].items()},
                **{f"rejected_{key}": value for key, value in others[j].items()},
            },
        )
        for i in order
        for j in order
        if ranking.ranks[i] < ranking.ranks[j] and ranking.responses[i] != ranking.responses[j]
    ]


def prompt_key(prompt: Text) -> str:
    """What makes two prompts the same: the first user message (all of a plain text), white space and case folded."""
    if not isinstance(prompt, str):
        prompt = [next((message for message in prompt if message["role"] == "user"), prompt[0])]
    return " ".join(text_of(prompt).split()).casefold()


def split_by_prompt(records: Sequence[Record], fraction: float, seed: int = 0) -> tuple[list[Record], list[Record]]:
    """The records as (train, held_out), about ``fraction`` of the prompts held out and none on both sides.

    A prompt's side follows from ``prompt_key`` and the seed alone, so it stays on it when the data grow or are
    reordered; only when all prompts would fall on one side is the nearest one moved to the other.
    Raises UsageError if fraction is not in (0, 1), or if all records have one prompt.
    """
    if not 0.0 < fraction < 1.0:
        raise UsageError(f"fraction must be in (0, 1), got {fraction!r}")
    keys = [prompt_key(record.prompt) for record in records]
    places = {key: _place(key, seed) for key in keys}
    if len(places) < 2:
        raise UsageError(f"{len(records)} record(s) with {len(places)} prompt(s) cannot be split by prompt")
    first, *_, last = sorted(places.values())
    held = [places[key] < fraction or places[key] == first for key in keys]
    held = [yes and places[key] != last for yes, key in zip(held, keys, strict=True)]
    train = [record for record, yes in zip(records, held, strict=True) if not yes]
    return train, [record for record, yes in zip(records, held, strict=True) if yes]


def _place(key: str, seed: int) -> float:
    """Where a prompt falls in [0, 1), the same in every process and on every machine."""
    digest = hashlib.sha256(f"{seed}\0{key}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
