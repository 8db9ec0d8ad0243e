"""One connection to a store: SQLite through the standard library, anything with a URL through SQLAlchemy.

Both speak the same SQL with named parameters. What goes wrong in either is an OutageError where trying again may help
(a full disk, a lock, a server that is away), and a UsageError where it never will.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from guerdon import __version__
from guerdon.rewards.errors import MissingExtraError, OutageError, UsageError
from guerdon.serving.storing.tables import DIALECTS, SCHEMA, TABLES, columns, creation

Rows: TypeAlias = Sequence[Sequence[Any]]

# Seconds that a write waits for another process's to end.
_BUSY_SECONDS = 5.0


class Database(Protocol):
    """Thread-safe. name: the place, without a password."""

    name: str

    def query(self, sql: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]: ...

    def write(self, rows: Mapping[str, Rows]) -> None:
        """Add rows to tables, all or none. Rows of a table with a primary key that is there already are left out."""
        ...

    def close(self) -> None: ...


def connect(where: str, *, create: bool = False) -> Database:
    """A store's database. where: a file, or a URL of SQLAlchemy (postgresql+psycopg://...).

    create: make the tables where there are none; without it nothing is written. Raises UsageError for what is no
    store, or one of another schema; OutageError for a database that does not answer; MissingExtraError.
    """
    database: _Sqlite | _SqlAlchemy = (
        _SqlAlchemy(where, create=create) if "://" in where else _Sqlite(where, create=create)
    )
    try:
        _check(database, create=create)
        if create:
            database.begin_writing()
    except BaseException:
        database.close()
        raise
    return database


def _check(database: _Sqlite | _SqlAlchemy, *, create: bool) -> None:
    tables = database.tables()
    if not tables and create:
        database.script(creation(database.dialect))
        made = {"schema": str(SCHEMA), "guerdon": __version__, "created": str(int(time.time()))}
        database.write({"store": list(made.items())})
    elif "store" not in tables or not set(TABLES) <= tables:
        held = f"it holds the tables {', '.join(sorted(tables)[:5])}" if tables else "it is empty"
        raise UsageError(f"{database.name} is no store of guerdon's: {held}; name a new file, or another database")
    known = dict(database.query("SELECT name, value FROM store"))
    if known.get("schema") != str(SCHEMA):
        newer = str(known.get("schema")).isdigit() and int(known["schema"]) > SCHEMA
        todo = "upgrade guerdon to read it" if newer else "read it with that version, or begin a new store"
        raise UsageError(
            f"{database.name} has schema {known.get('schema')}, written by guerdon {known.get('guerdon')}; this is "
            f"guerdon {__version__}, which reads schema {SCHEMA} and alters no store: {todo}"
        )


class _Sqlite:
    """A file. One connection behind a lock: a page takes milliseconds, and a writer has a connection of its own."""

    dialect = "sqlite"

    def __init__(self, where: str, *, create: bool) -> None:
        self.name = where
        path = Path(where).expanduser()
        if not path.parent.is_dir():
            raise UsageError(f"no folder {str(path.parent)!r} for the store {where!r}; make it first")
        if not create and not path.is_file():
            raise UsageError(f"no store at {where!r}; a server makes one: guerdon serve --store {where}")
        self._lock = threading.Lock()
        mode = "rwc" if create else "ro"
        try:
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                uri=True,
                timeout=_BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
        except sqlite3.Error as error:
            raise UsageError(f"cannot open the store {where!r}: {error}") from error

    def begin_writing(self) -> None:
        """Readers go on while the server writes, and what is committed survives the death of the process."""
        self.query("PRAGMA journal_mode=WAL")
        self.query("PRAGMA synchronous=NORMAL")

    def tables(self) -> set[str]:
        return {name for (name,) in self.query("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def script(self, statements: Iterator[str]) -> None:
        with self._transaction() as connection:
            for statement in statements:
                connection.execute(statement)

    def query(self, sql: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        with self._lock, _sqlite_errors(self.name):
            return self._connection.execute(sql, values or {}).fetchall()

    def write(self, rows: Mapping[str, Rows]) -> None:
        with self._transaction() as connection:
            for table, values in rows.items():
                names = columns(table)
                marks = ", ".join("?" * len(names))
                connection.executemany(_insertion(table, marks), values)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, _sqlite_errors(self.name):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # SQLite ends it itself when the disk is full
                    self._connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        with self._lock:
            self._connection.close()


@contextmanager
def _sqlite_errors(name: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise OutageError(f"the store {name!r}: {error}") from error
    except (sqlite3.Error, OverflowError) as error:
        raise UsageError(f"the store {name!r}: {error}") from error


class _SqlAlchemy:
    """A database with a URL."""

    def __init__(self, where: str, *, create: bool) -> None:
        try:
            import sqlalchemy
        except ImportError as error:
            raise MissingExtraError("a store with a URL", "store") from error
        self._alchemy = sqlalchemy
        try:
            url = sqlalchemy.make_url(where)
        except (sqlalchemy.exc.ArgumentError, ValueError):
            # Without the cause, which may show a password that stands in the wrong place.
            raise UsageError(
                "the store's URL cannot be read; write a file, or postgresql+psycopg://USER@HOST/DATABASE"
            ) from None
        self.name, self.dialect = url.render_as_string(hide_password=True), url.get_backend_name()
        if self.dialect not in DIALECTS:
            raise UsageError(f"a store is a file, or in PostgreSQL; got {self.name!r}")
        try:
            # pre_ping: a connection that the server has closed meanwhile costs no rows.
            self._engine = sqlalchemy.create_engine(url, pool_pre_ping=True)
        except ImportError as error:
            message = f"the store {self.name!r} needs a driver: {error}; run: pip install 'guerdon[store]'"
            raise UsageError(message) from error

    def begin_writing(self) -> None:
        """Nothing to do: a server of databases is made for it."""

    def tables(self) -> set[str]:
        with self._errors():
            return set(self._alchemy.inspect(self._engine).get_table_names())

    def script(self, statements: Iterator[str]) -> None:
        with self._errors(), self._engine.begin() as connection:
            for statement in statements:
                connection.execute(self._alchemy.text(statement))

    def query(self, sql: str, values: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        with self._errors(), self._engine.connect() as connection:
            return [tuple(row) for row in connection.execute(self._alchemy.text(sql), dict(values or {}))]

    def write(self, rows: Mapping[str, Rows]) -> None:
        with self._errors(), self._engine.begin() as connection:
            for table, values in rows.items():
                names = columns(table)
                marks = ", ".join(f":{name}" for name in names)
                if values:
                    given = [dict(zip(names, row, strict=True)) for row in values]
                    connection.execute(self._alchemy.text(_insertion(table, marks)), given)

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        errors = self._alchemy.exc
        try:
            yield
        except (errors.OperationalError, errors.InterfaceError, errors.TimeoutError) as error:
            raise OutageError(f"the store {self.name!r}: {error.args[0] if error.args else error}") from error
        except errors.SQLAlchemyError as error:
            raise UsageError(f"the store {self.name!r}: {error.args[0] if error.args else error}") from error


def _insertion(table: str, marks: str) -> str:
    return f"INSERT INTO {table} ({', '.join(columns(table))}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608
