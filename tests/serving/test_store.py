"""What was served is found again: every score, in any database, by any filter; and no store ever stands in the way."""

from __future__ import annotations

import asyncio
import json
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from guerdon.rewards import Prepared, Sample, Scale, Score, pointwise
from guerdon.rewards.errors import MissingExtraError, OutageError, UnknownNameError, UsageError
from guerdon.serving.app import create_app
from guerdon.serving.config import ServeConfig
from guerdon.serving.store import Filter, Row, Store
from guerdon.serving.storing import writer
from guerdon.serving.storing.database import connect
from guerdon.serving.storing.tables import TABLES, columns

SECONDS = 60.0  # never waited for in a passing run
SECRET = "xyzzy-plugh"


def length(sample: Sample) -> Score:
    if "refuse" in sample.response_text:
        return Score.unscored("no", status="refused")
    return Score(float(len(sample.response_text)), "length", {"kind": "text", "said": sample.response_text})


class Model:
    """A reward model of three tokens at most, a character each."""

    name, version = "model", "m-1"
    scale: Scale = "logit"

    def prepare(self, sample: Sample) -> Prepared | Score:
        ids = tuple(map(ord, sample.response_text))
        return Prepared(sample, ids[:3], (("cut", len(ids) - len(ids[:3])),))

    def run(self, batch: Sequence[Prepared]) -> list[Score]:
        return [Score(float(sum(each.ids)), "sum", dict(each.details)) for each in batch]

    def score(self, samples: Sequence[Sample]) -> list[Score]:
        return self.run([each for each in map(self.prepare, samples) if isinstance(each, Prepared)])


SCORERS: dict[str, Any] = {"len": pointwise(length, scale="real", version="7"), "model": Model()}


def make(where: str, **options: Any) -> FastAPI:
    return create_app(ServeConfig(store=where, **options), SCORERS)


def post(app: FastAPI, *bodies: Any, path: str = "/v1/score") -> list[httpx.Response]:
    async def main() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
            return [await http.post(path, json=body) for body in bodies]

    return asyncio.run(main())


def body(*responses: str, scorer: str = "len", **fields: Any) -> dict[str, Any]:
    return {"scorer": scorer, "items": [{"prompt": "p", "response": r, **fields} for r in responses]}


def stored(where: str, app: FastAPI, filter_: Filter | None = None) -> list[Row]:
    """Everything the app has answered, oldest first."""
    app.state.store.close()
    with Store.open(where) as store:
        return list(store.each(filter_))


def metric(app: FastAPI, name: str) -> float:
    text = app.state.engine._metrics.text().decode()
    return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if re.match(rf"{name}[ {{]", line))


def wait_until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


# --- what was served is there ---


def test_a_served_score_is_found_with_all_that_is_known_of_it(where: str) -> None:
    app = make(where)
    item = {"id": "r17", "prompt": "p", "response": "abcd", "group": "g", "meta": {"step": 12, "source": "gsm8k"}}
    answer, other = post(app, {"scorer": "model", "provenance": True, "items": [item]}, body("refuse"))
    row, refused = stored(where, app)
    (shown,) = answer.json()["items"]
    told = shown["provenance"]
    assert (row.request, row.item, row.name) == (answer.headers["X-Request-Id"], 0, "r17")
    assert (row.scorer, row.version, row.status, row.value) == ("model", "m-1", "ok", 97.0 + 98 + 99)
    assert (row.tokens, row.cut, row.batch_size) == (3, 1, 1)
    assert (row.input, row.batch, row.how) == (told["input"], told["batch"], "computed")
    assert (row.group, row.step, row.meta, row.details) == ("g", 12, {"step": 12, "source": "gsm8k"}, {"cut": 1})
    assert abs(row.time - time.time()) < SECONDS
    assert (refused.status, refused.value, refused.reason) == ("refused", None, "no")
    with Store.open(where) as store:
        request = store.request(other.headers["X-Request-Id"])
        assert request is not None
        assert (request["route"], request["scorer"], request["items"]) == ("/v1/score", "len", 1)
        assert request["total_ms"] >= request["score_ms"] >= 0
        versions = {version.scorer: version for version in store.versions()}
        assert (versions["model"].kind, versions["model"].scale) == ("model", "logit")
        assert versions["model"].provenance["scores"] == "fast"
        assert store.request("unknown") is None


def test_scores_of_a_restarted_server_are_added_to_those_before(where: str) -> None:
    for number in range(3):
        app = make(where)
        post(app, body("x" * number))
        assert [row.value for row in stored(where, app)] == [float(n) for n in range(number + 1)]
    with Store.open(where) as store:
        assert len(store.versions()) == 1  # the same circumstances, whichever process


def test_requests_without_items_leave_no_rows(where: str) -> None:
    app = make(where)
    post(app, body())
    assert stored(where, app) == []


def test_a_repeated_score_is_stored_as_such(where: str) -> None:
    app = make(where)
    post(app, body("a"), body("a"))
    assert [row.how for row in stored(where, app)] == ["computed", "remembered"]


# --- texts only if asked for ---


def test_texts_are_not_in_the_store_unless_asked_for(tmp_path: Path) -> None:
    where = str(tmp_path / "scores.db")
    app = make(where)
    long = SECRET + "x" * 300
    item = {"prompt": SECRET, "response": SECRET, "reference": SECRET, "meta": {"case": "x" * 300 + SECRET}}
    post(
        app,
        {"scorer": "model", "items": [item]},
        {"scorer": "len", "items": [{**item, "response": "y" * 300 + SECRET}]},
    )
    rows = stored(where, app)
    files = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert SECRET.encode() not in files
    assert long.encode() not in files
    assert rows[0].prompt_hash == rows[1].prompt_hash
    assert rows[0].prompt is rows[0].response is None
    assert not rows[0].has_texts
    assert rows[0].meta == {"case": "x" * 200 + "…"}
    with pytest.raises(UsageError, match="were not kept"):
        rows[0].sample()


def test_texts_come_back_as_they_were(where: str) -> None:
    app = make(where, store_text=True)
    items = [
        {"prompt": "", "response": ""},
        {"prompt": "a\u0000b", "response": "'; DROP TABLE scores; --", "group": "g\u0000"},
        {
            "prompt": [{"role": "user", "content": "é🏴‍☠️\u202e"}],
            "response": [{"role": "assistant", "content": None, "tool_calls": [{"n": 1.0}]}],
            "reference": {"a": [1, None, "x" * 500]},
            "meta": {"deep": {"er": ["y" * 500]}, "step": 2**70},
        },
    ]
    post(app, {"scorer": "len", "items": items})
    rows = stored(where, app)
    for item, row in zip(items, rows, strict=True):
        expected = Sample(item["prompt"], item["response"], item.get("reference"), None, item.get("meta", {}))
        got = row.sample()
        assert (got.prompt, got.response, got.reference) == (expected.prompt, expected.response, expected.reference)
    assert rows[1].group == "g\\x00"  # PostgreSQL has no NUL
    assert rows[2].meta["deep"] == {"er": ["y" * 500]}
    assert rows[2].step is None


def test_a_prompt_is_kept_once_however_often_it_is_asked(tmp_path: Path) -> None:
    where = str(tmp_path / "scores.db")
    app = make(where, store_text=True)
    post(app, body("a", "b", "c"), body("d"))
    stored(where, app)
    assert sqlite3.connect(where).execute("SELECT count(*) FROM texts").fetchone() == (5,)  # p, a, b, c, d


def test_an_unpaired_surrogate_is_stored_in_a_form_that_the_database_takes(where: str) -> None:
    app = make(where, store_text=True)

    async def main() -> None:  # no HTTP body may hold one, but a program's sample may
        await app.state.engine.score("len", [Sample("\ud800", "\udfff!")], seconds=SECONDS)

    asyncio.run(main())
    (row,) = stored(where, app)
    assert (row.prompt, row.response) == ("\ud800", "\udfff!")
    assert len(row.request) == 32


def test_exported_scores_are_read_by_the_audit(tmp_path: Path) -> None:
    from guerdon.rewards.preferences import read_samples

    where = str(tmp_path / "scores.db")
    app = make(where, store_text=True)
    post(app, body("a", "bb", meta={"source": "s"}, reference="bb", group="g"), body("c", scorer="model"))
    stored(where, app)
    with Store.open(where) as store:
        assert store.export(tmp_path / "out.jsonl", Filter(scorer="len")) == 2
    samples = read_samples(str(tmp_path / "out.jsonl"))
    assert [sample.response for sample in samples] == ["a", "bb"]
    assert samples[0].reference == "bb"
    assert samples[0].group == samples[1].group
    assert samples[1].meta["source"] == "s"
    assert samples[1].meta["scores"]["len"]["value"] == 2.0


# --- reading ---


def filled(where: str, number: int, seed: int = 0) -> list[dict[str, Any]]:
    """A store of invented scores, and what is in it."""
    drawn = random.Random(seed)
    versions = [(f"id{n}", "math" if n < 2 else "rm", f"v{n}", "real", "plain", "{}", None, float(n)) for n in range(4)]
    rows = []
    for index in range(number):
        sample = drawn.randrange(max(1, number // 3))
        scorer = drawn.choice(["math", "rm"])
        status = drawn.choice(["ok", "ok", "ok", "error"])
        version = drawn.choice([version for version in versions if version[1] == scorer])
        rows.append(
            {
                "request": f"r{index // 2}",
                "item": index % 2,
                "name": f"n{sample}",
                "time": float(index),
                "scorer": scorer,
                "version_id": version[0],
                "status": status,
                "value": round(drawn.uniform(-1, 2), 3) if status == "ok" else None,
                "reason": "",
                "cut": drawn.choice([None, 0, 0, 0, 5]),
                "group_name": drawn.choice([None, f"g{sample % 7}"]),
                "step": drawn.choice([None, *range(10)]),
                "prompt": f"p{sample % 5}",
                "response": f"s{sample}",
            }
        )
    database = connect(where, create=True)
    database.write({"versions": versions, "scores": [tuple(row.get(c) for c in columns("scores")) for row in rows]})
    database.close()
    for number_, row in enumerate(rows, 1):
        row["id"], row["version"] = number_, row["version_id"].replace("id", "v")
    return rows


def disagree(rows: list[dict[str, Any]], row: dict[str, Any], other: str, mine: float, others: float) -> bool:
    return row["value"] is not None and any(
        (their["value"] >= others) != (row["value"] >= mine)
        for their in rows
        if their["scorer"] == other
        and their["value"] is not None
        and (their["prompt"], their["response"]) == (row["prompt"], row["response"])
    )


FILTERS: list[tuple[Filter, Callable[[list[dict[str, Any]], dict[str, Any]], bool]]] = [
    (Filter(), lambda rows, r: True),
    (Filter(scorer="rm"), lambda rows, r: r["scorer"] == "rm"),
    (Filter(scorer="rm", status="error"), lambda rows, r: (r["scorer"], r["status"]) == ("rm", "error")),
    (Filter(version="v3"), lambda rows, r: r["version"] == "v3"),
    (Filter(group="g3"), lambda rows, r: r["group_name"] == "g3"),
    (Filter(request="r7"), lambda rows, r: r["request"] == "r7"),
    (Filter(steps=(3, 4)), lambda rows, r: r["step"] in (3, 4)),
    (
        Filter(scorer="math", values=(0.25, 0.75)),
        lambda rows, r: r["scorer"] == "math" and r["value"] is not None and 0.25 <= r["value"] <= 0.75,
    ),
    (Filter(values=(None, 0.0)), lambda rows, r: r["value"] is not None and r["value"] <= 0.0),
    (Filter(times=(100.0, None)), lambda rows, r: r["time"] >= 100.0),
    (Filter(truncated=True), lambda rows, r: bool(r["cut"])),
    (Filter(truncated=False), lambda rows, r: not r["cut"]),
    (Filter(prompt="p2"), lambda rows, r: r["prompt"] == "p2"),
    (Filter(name="n3"), lambda rows, r: r["name"] == "n3"),
    (
        Filter(scorer="math", disagrees_with="rm", thresholds=(0.5, 0.0)),
        lambda rows, r: r["scorer"] == "math" and disagree(rows, r, "rm", 0.5, 0.0),
    ),
]


def test_every_filter_and_order_finds_what_a_plain_loop_finds(where: str) -> None:
    rows = filled(where, 240)
    keys: dict[str, Any] = {
        "newest": lambda r: -r["id"],
        "oldest": lambda r: r["id"],
        "lowest": lambda r: (r["value"], r["id"]),
        "highest": lambda r: (-r["value"], -r["id"]),
    }
    with Store.open(where) as store:
        for filter_, holds in FILTERS:
            matching = [row for row in rows if holds(rows, row)]
            assert matching, filter_
            assert store.count(filter_) == len(matching)
            for order, key in keys.items():
                kept = matching if order in ("newest", "oldest") else [r for r in matching if r["value"] is not None]
                expected = [row["id"] for row in sorted(kept, key=key)]
                found = [row.id for row in store.rows(filter_, limit=7, offset=3, order=order)]  # type: ignore[arg-type]
                assert found == expected[3:10], (filter_, order)
            assert [row.id for row in store.each(filter_)] == [row["id"] for row in matching]


def test_pages_of_a_hundred_thousand_scores_are_found_by_an_index(tmp_path: Path) -> None:
    """No timing: the plan of every page and order reads an index and sorts nothing."""
    where = str(tmp_path / "scores.db")
    rows = filled(where, 100_000)
    with Store.open(where) as store:
        assert [row.id for row in store.rows(limit=3, offset=99_990)] == [10, 9, 8]
        best = store.rows(Filter(scorer="rm"), limit=1, order="highest")[0].value
        assert best == max(row["value"] for row in rows if row["scorer"] == "rm" and row["value"] is not None)
        asked: list[str] = []
        query = store._database.query
        store._database.query = lambda sql, values=None: asked.append(sql) or query(sql, values)  # type: ignore[method-assign,func-returns-value]
        for filter_ in (
            Filter(),
            Filter(scorer="rm"),
            Filter(scorer="rm", status="error"),
            Filter(version="v3"),
            Filter(group="g3"),
            Filter(request="r7"),
            Filter(steps=(3, 3)),
            Filter(truncated=True),
            Filter(scorer="math", disagrees_with="rm"),
        ):
            store.rows(filter_)
            pages = [*map(str, store._database.query("EXPLAIN QUERY PLAN " + asked[-1], _given(filter_)))]
            page = [step for step in pages if re.search(r"\b[so]\b", step)]
            assert any("INDEX" in step or "PRIMARY KEY" in step for step in page), pages
            wide = [step for step in page if "SCAN s" in step and "INDEX" not in step]
            assert filter_ == Filter() or not wide or filter_.version, pages
        for order in ("lowest", "highest"):
            store.rows(Filter(scorer="rm"), order=order)  # type: ignore[arg-type]
            plan = str(store._database.query("EXPLAIN QUERY PLAN " + asked[-1], _given(Filter(scorer="rm"))))
            assert "scores_value" in plan


def _given(filter_: Filter) -> dict[str, Any]:
    return {**filter_.condition()[1], "limit": 50, "offset": 0}


def test_a_wrong_filter_or_page_is_told(tmp_path: Path) -> None:
    filled(str(tmp_path / "scores.db"), 2)
    with pytest.raises(UnknownNameError, match=r"no status named 'okay'\. Did you mean 'ok'"):
        Filter(status="okay")
    with pytest.raises(UsageError, match="must name another scorer than 'a'"):
        Filter(scorer="a", disagrees_with="a")
    with Store.open(tmp_path / "scores.db") as store:
        with pytest.raises(UnknownNameError, match="no order named 'latest'"):
            store.rows(order="latest")  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="must be at least 0"):
            store.rows(offset=-1)


def test_threads_may_read_one_store(tmp_path: Path) -> None:
    filled(str(tmp_path / "scores.db"), 100)
    with Store.open(tmp_path / "scores.db") as store:
        counts: list[int] = []
        threads = [threading.Thread(target=lambda: counts.append(len(store.rows(limit=100)))) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
        assert counts == [100] * 8


# --- a store that fails costs no score ---


def test_a_full_disk_costs_no_answer_and_what_fits_the_queue_is_written_later(tmp_path: Path) -> None:
    where = str(tmp_path / "scores.db")
    app = make(where, store_text=True)
    post(app, body("first"))
    wait_until(lambda: not app.state.store.waiting)
    database = app.state.store._database
    pages = database.query("PRAGMA page_count")[0][0]
    database.query(f"PRAGMA max_page_count = {pages}")  # SQLite's own "database or disk is full"
    texts = [f"{n}-" + "x" * 20_000 for n in range(5)]
    answers = post(app, *(body(text) for text in texts))
    assert [answer.json()["items"][0]["value"] for answer in answers] == [float(len(text)) for text in texts]
    wait_until(lambda: app.state.store._failing)
    assert post(app, body("after"))[0].status_code == 200
    assert asyncio.run(_ready(app)) == 200
    with Store.open(where) as store:
        assert store.count() == 1
    database.query("PRAGMA max_page_count = 1000000")
    wait_until(lambda: not app.state.store.waiting)
    assert [row.response for row in stored(where, app)] == ["first", *texts, "after"]
    assert metric(app, "guerdon_store_dropped_total") == 0
    assert metric(app, "guerdon_store_written_total") == 7


async def _ready(app: FastAPI) -> int:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
        return (await http.get("/ready")).status_code


def test_what_the_queue_cannot_hold_is_dropped_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    where = str(tmp_path / "scores.db")
    app = make(where)
    other = sqlite3.connect(where, isolation_level=None)
    monkeypatch.setattr(writer, "QUEUE_SAMPLES", 10)
    other.execute("BEGIN IMMEDIATE")  # another process writes and does not end
    assert [answer.status_code for answer in post(app, *(body(str(n)) for n in range(15)))] == [200] * 15
    assert metric(app, "guerdon_store_dropped_total") == 5
    assert app.state.store.waiting == 10
    other.execute("COMMIT")
    other.close()
    wait_until(lambda: not app.state.store.waiting)
    assert metric(app, "guerdon_store_written_total") == 10
    post(app, body("later"))
    assert len(stored(where, app)) == 11
    said = [record for record in caplog.records if "store" in record.getMessage()]
    assert len(said) == 1  # once a minute, however much is dropped


def test_what_is_unwritten_when_the_server_ends_is_counted(tmp_path: Path) -> None:
    where = str(tmp_path / "scores.db")
    app = make(where)
    app.state.store._database.write = _fails  # the disk is full to the last byte
    post(app, body("a", "b"))
    app.state.store.close()
    assert metric(app, "guerdon_store_dropped_total") == 2
    assert metric(app, "guerdon_store_written_total") == 0


def _fails(rows: Any) -> None:
    raise OutageError("the store: database or disk is full")


def test_details_that_cannot_be_written_cost_only_their_own_row(tmp_path: Path) -> None:
    class Odd:
        def __str__(self) -> str:
            raise ValueError("no text of me")

    def odd(sample: Sample) -> Score:
        return Score(1.0, "", {"odd": Odd()} if sample.response_text == "odd" else {})

    where = str(tmp_path / "scores.db")
    app = create_app(ServeConfig(store=where, cache_entries=0), {"odd": pointwise(odd, scale="real")})

    async def main() -> None:
        for text in ("a", "odd", "b"):
            await app.state.engine.score("odd", [Sample("p", text)], seconds=SECONDS)

    asyncio.run(main())
    assert len(stored(where, app)) == 2
    assert metric(app, "guerdon_store_dropped_total") == 1


PROGRAM = (
    "import json, sys; from guerdon.serving.config import read_config; "
    "from guerdon.serving.server import serve; serve(read_config(None, json.loads(sys.argv[1])))"
)


@pytest.mark.parametrize("which", [signal.SIGKILL, signal.SIGTERM])
def test_what_was_committed_survives_the_death_of_the_server(tmp_path: Path, which: signal.Signals) -> None:
    where = tmp_path / "scores.db"
    flags = {"port": 0, "scorers": {"exact": "exact"}, "store": str(where)}
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, json.dumps(flags)], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = re.search(r"listening on (\S+)", process.stderr.readline())
        assert found
        item = {"prompt": "p", "response": "r", "reference": "r"}
        for _ in range(20):
            httpx.post(f"{found[1]}/v1/score", json={"scorer": "exact", "items": [item]}, timeout=SECONDS)
        if which is signal.SIGKILL:  # a server that is asked to end writes everything itself

            def all_there() -> bool:
                with Store.open(where) as store:
                    return store.count() == 20

            wait_until(all_there)
        process.send_signal(which)
        process.wait(SECONDS)
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()
    with Store.open(where) as store:
        assert store.count() == 20
        assert store._database.query("PRAGMA integrity_check") == [("ok",)]
    app = create_app(ServeConfig(store=str(where)), SCORERS)  # and the next server goes on
    post(app, body("a"))
    assert len(stored(str(where), app)) == 21


# --- what is no store ---


@pytest.mark.parametrize(("schema", "words"), [("2", "upgrade guerdon to read it"), ("0", "read it with that version")])
def test_a_store_of_another_schema_is_refused_unchanged(where: str, schema: str, words: str) -> None:
    filled(where, 1)
    database = connect(where, create=True)
    if hasattr(database, "_engine"):
        with database._engine.begin() as connection:
            connection.execute(database._alchemy.text(f"UPDATE store SET value = '{schema}' WHERE name = 'schema'"))
    else:
        database.query(f"UPDATE store SET value = '{schema}' WHERE name = 'schema'")
    database.close()
    for use in (lambda: Store.open(where), lambda: make(where)):
        with pytest.raises(UsageError, match=rf"has schema {schema}, written by guerdon \S+; .*{words}"):
            use()


def test_a_database_that_is_no_store_is_refused_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    other = sqlite3.connect(file)
    other.execute("CREATE TABLE cats (name TEXT)")
    other.commit()
    other.close()
    before = file.read_bytes()
    for use in (Store.open, make):
        with pytest.raises(UsageError, match="is no store of guerdon's: it holds the tables cats"):
            use(str(file))
    assert file.read_bytes() == before


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database " * 100)
    for use in (Store.open, make):
        with pytest.raises(UsageError, match="file is not a database"):
            use(str(tmp_path / "text"))
        with pytest.raises(UsageError, match=r"no folder .* make it first"):
            use(str(tmp_path / "absent" / "scores.db"))
    with pytest.raises(UsageError, match=r"no store at .*guerdon serve --store"):
        Store.open(tmp_path / "absent.db")
    assert not (tmp_path / "absent.db").exists()


def test_urls_of_other_databases_and_broken_ones_are_refused_without_their_password() -> None:
    pytest.importorskip("sqlalchemy")
    with pytest.raises(UsageError, match="a store is a file, or in PostgreSQL") as caught:
        Store.open("mysql://user:hunter2@localhost/x")
    assert "hunter2" not in str(caught.value)
    with pytest.raises(UsageError, match="cannot be read"):
        Store.open("postgresql://user:hunter2/x")
    assert "hunter2" not in repr(ServeConfig(store="postgresql://user:hunter2@localhost/x"))


def test_a_database_that_is_away_is_an_outage_without_its_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(OutageError) as caught:
        Store.open("postgresql+psycopg://user:hunter2@127.0.0.1:9/x?connect_timeout=2")
    assert "hunter2" not in str(caught.value)


def test_a_url_without_sqlalchemy_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingExtraError, match=r"guerdon\[store\]"):
        Store.open("postgresql://localhost/x")


def test_reading_a_store_needs_neither_server_nor_sqlalchemy(tmp_path: Path) -> None:
    filled(str(tmp_path / "scores.db"), 3)
    blocked = ("fastapi", "prometheus_client", "orjson", "pydantic", "sqlalchemy", "torch", "numpy")
    program = (
        f"import sys; [sys.modules.__setitem__(name, None) for name in {blocked!r}]; "
        f"from guerdon.serving.store import Store; print(Store.open({str(tmp_path / 'scores.db')!r}).count())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("3\n", "")


def test_every_table_has_an_insertion_for_every_column() -> None:
    for table in TABLES:
        assert columns(table) == tuple(name for name, kind in TABLES[table].items() if kind != "serial")
