"""The tables of a store, the same in SQLite and in PostgreSQL.

    versions    one row for each set of circumstances under which a scorer gave scores (guerdon.serving.provenance)
    requests    one row a request: when, by which route, whose, and how long it took
    scores      one row a sample: the score, where it comes from, and what rows are looked up by
    texts       prompts and responses by their hash, only where the server was told to keep them
    store       what this database is: its schema, and who made it

Rows are only ever added. What is looked up by a page of a table has an index that ends in ``id``, so that a page in
order of time needs no sorting; columns that are mostly empty are indexed only where they are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

SCHEMA = 1
"""Raised whenever the tables change. A store of another schema is refused, never altered."""

# Kinds: serial (a number that the database gives), key (primary), word (text), whole (64 bits), number (a double).
TABLES: Mapping[str, Mapping[str, str]] = {
    "store": {"name": "key", "value": "word"},
    "versions": {
        "id": "key",
        "scorer": "word",
        "version": "word",
        "scale": "word",
        "kind": "word",
        "provenance": "word",
        "source": "word",
        "began": "number",
    },
    "requests": {
        "id": "key",
        "time": "number",
        "route": "word",
        "tenant": "word",
        "scorer": "word",
        "items": "whole",
        "prepare_ms": "number",
        "queue_ms": "number",
        "score_ms": "number",
        "total_ms": "number",
    },
    "scores": {
        "id": "serial",
        "request": "word",
        "item": "whole",
        "name": "word",
        "time": "number",
        "scorer": "word",
        "version_id": "word",
        "status": "word",
        "value": "number",
        "reason": "word",
        "tokens": "whole",
        "cut": "whole",
        "input": "word",
        "batch": "word",
        "batch_size": "whole",
        "how": "word",
        "group_name": "word",
        "step": "whole",
        "prompt": "word",
        "response": "word",
        "reference": "word",
        "ready_made": "word",
        "details": "word",
        "meta": "word",
    },
    "texts": {"hash": "key", "body": "word"},
}

INDEXES: Mapping[str, tuple[str, str, str]] = {  # name: table, columns, condition
    "scores_request": ("scores", "request, item", ""),
    "scores_status": ("scores", "scorer, status, id", ""),
    "scores_value": ("scores", "scorer, value, id", ""),
    "scores_version": ("scores", "version_id, id", ""),
    "scores_sample": ("scores", "prompt, response, scorer", ""),
    "scores_step": ("scores", "step, id", "step IS NOT NULL"),
    "scores_group": ("scores", "group_name, id", "group_name IS NOT NULL"),
    "scores_cut": ("scores", "id", "cut > 0"),
}

_TYPES: Mapping[str, Mapping[str, str]] = {
    "sqlite": {"serial": "INTEGER PRIMARY KEY"},
    "postgresql": {"serial": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"},
}
_COMMON = {"key": "TEXT PRIMARY KEY", "word": "TEXT", "whole": "BIGINT", "number": "DOUBLE PRECISION"}

DIALECTS = frozenset(_TYPES)
"""The databases whose SQL this is. Others would make the tables and then differ in what they hold."""


def creation(dialect: str) -> Iterator[str]:
    """The statements that make the tables where there are none."""
    types = {**_COMMON, **_TYPES[dialect]}
    for table, columns in TABLES.items():
        fields = ", ".join(f"{column} {types[kind]}" for column, kind in columns.items())
        yield f"CREATE TABLE IF NOT EXISTS {table} ({fields})"
    for name, (table, columns_, condition) in INDEXES.items():
        where = f" WHERE {condition}" if condition else ""
        yield f"CREATE INDEX IF NOT EXISTS {name} ON {table} ({columns_}){where}"


def columns(table: str) -> tuple[str, ...]:
    """What a row of the table is given, in order: all but a number that the database gives itself."""
    return tuple(column for column, kind in TABLES[table].items() if kind != "serial")
