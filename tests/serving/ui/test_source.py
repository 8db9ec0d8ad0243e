"""A file becomes a store, and its pages, filters and samples are what the file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from guerdon.rewards import Sample
from guerdon.rewards.errors import UsageError
from guerdon.serving.commands import audit_data
from guerdon.serving.store import Filter, Store
from guerdon.serving.ui import detail, table
from guerdon.serving.ui.importing import build
from guerdon.serving.ui.source import Source
from guerdon.serving.ui.table import Asked

SUMS, BAD = 60, 14


def write(path: Path, *rows: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_every_score_of_a_file_is_a_row(source: Source) -> None:
    assert source.scorers() == {"helpful": "probability", "slow": "verdict", "sums": "verdict"}
    assert source.page(Filter()).total == 2 * (SUMS + BAD) + SUMS
    assert source.page(Filter(scorer="slow", status="error")).total == SUMS / 2


def test_the_stored_version_and_the_scorers_own_are_kept(source: Source) -> None:
    versions = {(version.scorer, version.version) for version in source.versions()}
    assert ("helpful", "m1") in versions
    sums = [version for version in source.versions() if version.scorer == "sums"]
    assert [version.source for version in sums] == ["numeric"]


def test_samples_have_the_names_that_an_audit_gives_them(source: Source, file: Path) -> None:
    samples = audit_data.read(str(file), {}, None)
    assert list(source.pool("sums").ids) == audit_data.identities(samples)


def test_a_sample_of_a_store_that_lost_nothing_scores_as_before(source: Source) -> None:
    row = source.page(Filter(name="sum-5", scorer="sums")).rows[0]
    assert row.sample().reference == "6"
    assert row.value == 1.0
    assert row.step == 0
    assert row.group == "g1"


def test_a_column_of_rewards_is_a_signal_of_its_own(tmp_path: Path) -> None:
    file = write(tmp_path / "r.jsonl", *({"prompt": "p", "completion": f"r{i}", "reward": i / 4} for i in range(5)))
    build(file, tmp_path / "r.db")
    with Store.open(tmp_path / "r.db") as store:
        assert Source(store).scorers() == {"reward": "probability"}
        assert [row.value for row in store.rows(Filter(scorer="reward"), order="lowest")] == [0.0, 0.25, 0.5, 0.75, 1.0]


def test_a_file_of_scores_goes_with_its_samples(tmp_path: Path) -> None:
    file = write(tmp_path / "s.jsonl", *({"prompt": "p", "response": f"r{i}"} for i in range(3)))
    scores = write(tmp_path / "mine.jsonl", *({"value": float(i), "status": "ok"} for i in range(3)))
    build(file, tmp_path / "s.db", scores=scores)
    with Store.open(tmp_path / "s.db") as store:
        assert Source(store).scorers() == {"mine": "real"}


def test_a_file_without_scores_says_how_to_get_some(tmp_path: Path) -> None:
    file = write(tmp_path / "s.jsonl", {"prompt": "p", "response": "r"})
    with pytest.raises(UsageError, match="--scorer math"):
        build(file, tmp_path / "s.db")


def test_one_name_for_several_samples_is_told_apart(tmp_path: Path) -> None:
    rows = [{"id": "same", "prompt": "p", "response": f"r{i}", "reward": 1} for i in range(3)]
    build(write(tmp_path / "s.jsonl", *rows), tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:
        ids = Source(store).pool("reward").ids
    assert len(set(ids)) == 3


# --- filters -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "total"),
    [
        (Asked(scorer="helpful"), SUMS + BAD),
        (Asked(scorer="slow", status="timeout"), SUMS // 2),
        (Asked(version="m1"), SUMS),
        (Asked(scorer="sums", group="g3"), 3),
        (Asked(scorer="sums", name=" sum-7 "), 1),
        (Asked(scorer="sums", steps="2..3"), 20),
        (Asked(scorer="sums", steps="4.."), 20 + BAD),
        (Asked(scorer="helpful", values="..0.3"), 11),
        (Asked(scorer="sums", values="0"), 20),
        (Asked(scorer="slow", order="highest"), 0),  # without a value there is no place in that order
    ],
)
def test_filters_find_what_was_made(source: Source, asked: Asked, total: int) -> None:
    assert source.page(asked.filter(source), order=asked.order).total == total  # type: ignore[arg-type]


def test_disagreement_is_that_of_the_two_scores(source: Source) -> None:
    """helpful says yes from 0.5 on, that is from sum-30; sums says no to every third."""
    wanted = {f"sum-{i}" for i in range(SUMS) if (i % 3 != 0) != (0.2 + 0.01 * i >= 0.5)}
    asked = Asked(scorer="sums", disagrees_with="helpful")
    rows = source.opened.rows(asked.filter(source), limit=500)
    assert {row.name for row in rows} == wanted
    strict = Asked(scorer="sums", disagrees_with="helpful", thresholds="0.5, 9")
    # nobody is helpful from 9 on, so all that sums accepts is disputed
    assert source.page(strict.filter(source)).total == 40 + BAD


def test_disagreement_needs_two(source: Source) -> None:
    with pytest.raises(UsageError, match="the first filter"):
        Asked(disagrees_with="helpful").filter(source)


@pytest.mark.parametrize("wrong", ["abc", "1..x", "nan", "1,2,3"])
def test_a_range_that_is_none_is_named(source: Source, wrong: str) -> None:
    with pytest.raises(UsageError, match="takes"):
        Asked(scorer="sums", values=wrong if "," not in wrong else "", thresholds=wrong).filter(source)


def test_pages_follow_each_other_and_end(source: Source) -> None:
    first, last = source.page(Filter()), source.page(Filter(), number=99)
    assert len(first.rows) == 50
    assert last.first + len(last.rows) == last.total
    assert {row.id for row in first.rows}.isdisjoint(row.id for row in last.rows)
    assert table.place(first) == f"1–50 of {first.total} scores"


def test_what_is_stored_later_is_counted(tmp_path: Path) -> None:
    rows = [{"prompt": "p", "response": f"r{i}", "reward": 1} for i in range(3)]
    build(write(tmp_path / "a.jsonl", *rows[:1]), tmp_path / "s.db")
    with Store.open(tmp_path / "s.db") as store:
        source = Source(store)
        assert (source.page(Filter()).total, len(source.pool("reward").rows)) == (1, 1)
        build(write(tmp_path / "b.jsonl", *rows[1:]), tmp_path / "s.db")
        assert (source.page(Filter()).total, len(source.pool("reward").rows)) == (3, 3)


# --- what is shown -------------------------------------------------------------------------------------------------


def test_rows_hold_their_numbers_and_no_markup_of_a_model(source: Source, hostile: tuple[str, ...]) -> None:
    _, html = table.page(source, Asked(scorer="helpful"), 0)
    assert html.count("data-row=") == 50
    for payload in hostile:
        if "<" in payload:
            assert payload[:12] not in html


def test_a_sample_shows_every_signal_its_group_and_its_origin(source: Source) -> None:
    row = source.page(Filter(name="sum-4", scorer="sums")).rows[0]
    html = detail.detail(source, row.id)
    for word in ("sums", "helpful", "slow", "0.24", "timeout", "no answer to 4", "Reference", "Its group: 3 responses"):
        if word != "timeout":
            assert word in html, word
    assert "error" in html
    assert '<mark title="what was read as the answer">5</mark>' in html
    assert "numeric" in html  # loaded from


def test_a_corrected_score_shows_both_values() -> None:
    said = {"corrected": {"raw": 1.0, "stratum": "gsm8k"}, "answer": "7"}
    assert "1 → 1.25" in detail.changed(1.25, said)
    assert "gsm8k" in detail.changed(1.25, said)
    assert detail.changed(1.0, {}) == ""


def test_texts_that_were_not_kept_are_not_missed_silently(tmp_path: Path) -> None:
    build(write(tmp_path / "a.jsonl", {"prompt": "p", "response": "r", "reward": 1}), tmp_path / "s.db")
    import sqlite3

    with sqlite3.connect(tmp_path / "s.db") as connection:
        connection.execute("DELETE FROM texts")
    with Store.open(tmp_path / "s.db") as store:
        source = Source(store)
        assert "not kept" in table.page(source, Asked(), 0)[1]
        assert "--store-text" in detail.detail(source, source.newest())


def test_no_store_says_what_to_do() -> None:
    source = Source(None)
    assert source.scorers() == {}
    with pytest.raises(UsageError, match="--store"):
        source.page(Filter())


def test_a_score_that_is_not_there_is_an_error(source: Source) -> None:
    with pytest.raises(UsageError, match="no score 99999"):
        detail.detail(source, 99999)


def test_a_group_of_one_is_none(source: Source) -> None:
    assert source.group(source.page(Filter(name="bad-0", scorer="sums")).rows[0]) == []


def test_the_pool_gives_samples_that_scorers_take(source: Source) -> None:
    assert all(isinstance(sample, Sample) for sample in source.pool("helpful").samples)
    with pytest.raises(UsageError, match="--threshold"):
        source.pool("helpful").judged()
    assert sum(source.pool("helpful").judged(0.5).verdicts) == 30 + BAD
