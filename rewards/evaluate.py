"""Evaluate any scorer on labelled data: how often it is right, against what, how sure that is, and what it leans on.

    from guerdon.rewards.evaluate import evaluate
    report = evaluate(scorer, ["pairs.jsonl.gz", "best_of_n.jsonl.gz"])
    print(report.sections[0].sentence())
    report.save("runs/eval")                   # report.json, report.md, report.html

An accuracy alone misleads: a trained reward model can stay below "the longer response wins" and still look fine. So a
report always holds the rulers on the same rows, length-balanced accuracy, intervals clustered by prompt, every group
and the worst one, calibration, the count of rows that left, and whether scores move with the batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import guerdon
from guerdon.rewards.errors import UnknownNameError, UsageError
from guerdon.rewards.evaluation._numeric import np
from guerdon.rewards.evaluation.common import Setup
from guerdon.rewards.evaluation.correctness import SampleRows, Truth, place_samples, samples_section
from guerdon.rewards.evaluation.preferences import PreferenceRows, place_preferences, preferences_section
from guerdon.rewards.evaluation.rankings import RankingRows, place_rankings, rankings_section
from guerdon.rewards.evaluation.repeatability import repeats, variants_of
from guerdon.rewards.evaluation.scoring import Progress, SampleTable, text_key
from guerdon.rewards.preferences import (
    kind_of,
    prompt_key,
    read_preferences,
    read_rankings,
    read_samples,
    read_ties,
)
from guerdon.rewards.report import Report, Section
from guerdon.rewards.rulers import rulers as standard_rulers
from guerdon.rewards.scorer import Scorer
from guerdon.rewards.types import SCALES, Preference, Ranking, Sample

Record: TypeAlias = "Preference | Ranking | Sample"
Source: TypeAlias = "str | Path | Sequence[Record]"
_Rows: TypeAlias = "PreferenceRows | RankingRows | SampleRows"


def _whole_prompt(record: Any) -> Hashable:
    return text_key(record.prompt)


def _first_message(record: Any) -> Hashable:
    """What the user said first: turns of one conversation, cut at several places, belong together."""
    return prompt_key(record.prompt)


def _each_row(record: Any) -> Hashable:
    return id(record)


CLUSTERS: dict[str, Callable[[Any], Hashable]] = {
    "prompt": _whole_prompt,
    "conversation": _first_message,
    "row": _each_row,
}


def evaluate(
    scorer: Scorer,
    records: Source | Sequence[str | Path] | Mapping[str, Source],
    *,
    name: str | None = None,
    rulers: bool | Sequence[Scorer] = True,
    clusters: str | Callable[[Any], Hashable] = "prompt",
    by: Sequence[str] = ("source", "category"),
    truth: Truth = None,
    minimum_rows: int = 20,
    repeat: int = 32,
    chunk_size: int = 512,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Judge a scorer of any scale on labelled records; one section of the report a file or list.

    records: a list of Preference (0.5 as probability is a tie), of Ranking or of Sample; a file or several; or a
    mapping from names to any of these. name: of the section, when there is one.
    rulers: True for length, Markdown and a coin; or scorers of your own (an earlier model, say); False for none.
    clusters: what makes rows dependent: "prompt" (the whole prompt), "conversation" (its first user message), "row"
    (nothing), or a function of a record. by: columns of ``meta`` to break results down by. minimum_rows: a group with
    fewer is never called the worst. truth: where a Sample's label (0/1, true/false or a grade) stands: a column of
    meta, which is hidden from the scorer, a function of the sample, or None for the usual columns.
    repeat: pairs that are scored again alone, reversed and in every way of ``scorer.variants()`` (an optional method
    giving name -> scorer: other padding side, other precision); 0 skips this. chunk_size: samples a call, about.
    progress: called with (samples done, samples in all) after each call of the scorer.

    Raises UsageError for arguments that cannot be right, DataError for rows without a truth, ContractError for a
    scorer that breaks its word, MissingExtraError without numpy and scipy; a scorer's outage passes through.
    """
    _check_scorer(scorer)
    cluster = _cluster_function(clusters)
    if isinstance(by, str):
        raise UsageError(f"by must be a list of columns, got the string {by!r}; write [{by!r}]")
    if chunk_size < 1 or repeat < 0 or minimum_rows < 1:
        raise UsageError(
            f"chunk_size and minimum_rows must be at least 1 and repeat at least 0, "
            f"got {chunk_size}, {minimum_rows} and {repeat}"
        )
    measures = _rulers(rulers, seed)
    temperature = _temperature(scorer)
    variants = variants_of(scorer) if repeat else {}
    table = SampleTable()
    placed: dict[str, _Rows] = {
        title: _place(title, items, table, cluster, truth) for title, items in _named(records, name).items()
    }
    start = time.perf_counter()
    scores = table.score(scorer, chunk_size=chunk_size, progress=progress)
    seconds = time.perf_counter() - start
    setup = Setup(
        scores=scores,
        rulers={ruler.name: table.score(ruler, chunk_size=chunk_size) for ruler in measures},
        lengths=table.lengths(),
        scale=scorer.scale,
        temperature=temperature,
        by=tuple(dict.fromkeys(by)),
        minimum_rows=minimum_rows,
        seed=seed,
    )
    links = [link for rows in placed.values() for link in rows.links]
    return Report(
        scorer=scorer.name,
        version=scorer.version,
        scale=scorer.scale,
        guerdon=guerdon.__version__,
        clusters=clusters if isinstance(clusters, str) else getattr(clusters, "__name__", "a function"),
        seed=seed,
        samples=len(table),
        seconds=round(seconds, 3),
        sections=tuple(_section(title, rows, setup) for title, rows in placed.items()),
        repeats=repeats(scorer, variants, table.samples, links, scores.values, repeat),
    )


def read_records(source: str | Path, *, limit: int | None = None) -> Sequence[Record]:
    """The records of a file or data set, read as the kind that it is (``kind_of``)."""
    kind = kind_of(source)
    if kind == "preferences":
        return read_preferences(source, limit=limit)
    if kind == "rankings":
        return read_rankings(source, limit=limit)
    if kind == "ties":
        return read_ties(source, limit=limit)
    return read_samples(source, limit=limit)


def _check_scorer(scorer: Any) -> None:
    if not isinstance(scorer, Scorer):
        raise UsageError(
            f"a scorer has name, version, scale and score(samples); got {type(scorer).__name__}: {scorer!r:.80}. "
            "Make one with pointwise(function, scale=...), RewardModel.load(folder) or verifiers.load(name)"
        )
    if scorer.scale not in SCALES:
        raise UsageError(f"scorer.scale must be one of {', '.join(SCALES)}; got {scorer.scale!r}")


def _cluster_function(clusters: str | Callable[[Any], Hashable]) -> Callable[[Any], Hashable]:
    if callable(clusters):
        return clusters
    if clusters not in CLUSTERS:
        raise UnknownNameError("kind of cluster", str(clusters), CLUSTERS)
    return CLUSTERS[clusters]


def _rulers(rulers: bool | Sequence[Scorer], seed: int) -> Sequence[Scorer]:
    chosen = standard_rulers(seed) if rulers is True else () if rulers is False else tuple(rulers)
    for ruler in chosen:
        _check_scorer(ruler)
    names = [ruler.name for ruler in chosen]
    if len(set(names)) < len(names):
        raise UsageError(f"rulers must have different names, got {names}")
    return chosen


def _temperature(scorer: Scorer) -> float | None:
    """The temperature that a scorer carries, if it carries one."""
    value = getattr(scorer, "temperature", None)
    if value is None:
        return None
    if not (isinstance(value, (int, float)) and np.isfinite(value) and value > 0):
        raise UsageError(f"scorer.temperature must be a finite number > 0 or None, got {value!r}")
    return float(value)


def _named(records: Any, name: str | None) -> dict[str, Sequence[Record]]:
    """Records by section name. Raises UsageError for what is neither records nor files, or is empty."""
    if isinstance(records, Mapping):
        if name is not None:
            raise UsageError("name is for one set of records; the mapping given has names already")
        found = {str(title): _read(source) for title, source in records.items()}
    elif isinstance(records, (str, Path)):
        found = {name or _title(records): _read(records)}
    elif not isinstance(records, Sequence):
        raise UsageError(f"records must be a list of records, a file, files or a mapping, got {type(records).__name__}")
    elif records and all(isinstance(item, (str, Path)) for item in records):
        if name is not None and len(records) > 1:
            raise UsageError(f"name is for one set of records, but {len(records)} files were given; use a mapping")
        found = {}
        for source in records:
            title = name or _title(source)
            found[title if title not in found else str(source)] = _read(source)
    else:
        found = {name or "records": records}
    if not found:
        raise UsageError("no records to evaluate: the mapping is empty")
    for title, items in found.items():
        if not len(items):
            raise UsageError(f"no records to evaluate in {title!r}")
    return found


def _title(source: str | Path) -> str:
    title = Path(source).name
    for ending in (".gz", ".jsonl", ".json", ".parquet"):
        title = title.removesuffix(ending)
    return title or str(source)


def _read(source: Any) -> Sequence[Record]:
    if isinstance(source, (str, Path)):
        return read_records(source)
    if not isinstance(source, Sequence):
        raise UsageError(f"a set of records is a list or a file, got {type(source).__name__}: {source!r:.80}")
    return source


def _place(
    title: str, records: Sequence[Any], table: SampleTable, cluster: Callable[[Any], Hashable], truth: Truth
) -> _Rows:
    kinds = {type(record) for record in records}
    if kinds == {Preference}:
        return place_preferences(records, table, cluster)
    if kinds == {Ranking}:
        return place_rankings(records, table, cluster)
    if kinds == {Sample}:
        return place_samples(records, table, cluster, truth, title)
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise UsageError(
        f"{title!r} holds {names}; one set holds records of one kind: Preference, Ranking or Sample. "
        "Rows of dicts become records with read_preferences, read_rankings, read_ties or read_samples"
    )


def _section(title: str, rows: _Rows, setup: Setup) -> Section:
    if isinstance(rows, PreferenceRows):
        return preferences_section(title, rows, setup)
    if isinstance(rows, RankingRows):
        return rankings_section(title, rows, setup)
    return samples_section(title, rows, setup)
