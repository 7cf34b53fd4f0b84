"""The database: one file of SQLite, its transactions, its schema.

``with database.transaction() as tx`` is one unit of work: it takes the write lock at once
(BEGIN IMMEDIATE, so that two writers queue instead of failing halfway), commits at the end
and then calls what was given to ``tx.after_commit``. ``reading()`` sees one consistent
state and never waits for writers (WAL). A commit is on the disk before it returns
(synchronous=FULL). It refuses URLs it was not tested with; the types and statements are
those of PostgreSQL too.

SQLite's write lock is the file's: a process that is stopped (not killed) within a write
transaction keeps every other writer waiting until it goes on or ends. Transactions here
last milliseconds and never span a call to the outside, but they are not nothing.
"""

from __future__ import annotations

import sqlite3
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Connection, Engine, RootTransaction, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, SQLAlchemyError

from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Conflict, FleetwardError, InvalidInput, Unavailable
from controlplane.store import migrations
from controlplane.store.columns import dump_json, load_json
from controlplane.store.transaction import Transaction

log = structlog.get_logger(__name__)

BUSY_SECONDS = 5.0


class Database:
    """One database. Safe between threads; a process that forks makes its own."""

    def __init__(self, url: str, clock: Clock) -> None:
        """``url`` as SQLAlchemy writes it: ``sqlite:////var/lib/fleetward/fleetward.db``."""
        try:
            parsed = make_url(url)
        except ArgumentError as error:
            msg = f"{url!r} is not the URL of a database"
            raise InvalidInput(msg, hint="write sqlite:////absolute/path.db") from error
        if parsed.get_backend_name() != "sqlite" or not parsed.database or parsed.database == ":memory:":
            msg = f"{parsed.render_as_string()} is not supported"
            raise InvalidInput(msg, hint="write sqlite:////absolute/path.db")
        self.clock = clock
        self.engine = create_engine(
            parsed,
            pool_size=10,
            max_overflow=30,
            pool_timeout=BUSY_SECONDS,
            pool_reset_on_return=None,  # every unit has its end, and says so itself
            json_serializer=dump_json,
            json_deserializer=load_json,
        )
        event.listen(self.engine, "connect", prepare)
        self._idle: deque[Connection] = deque()

    def now(self) -> datetime:
        """Return the time leases are measured by."""
        return self.clock.now()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open one unit of work. Errors of the database come as `Unavailable` or `Conflict`."""
        with self._unit("BEGIN IMMEDIATE") as unit:
            tx = Transaction(unit.connection, self.now())
            yield tx
            tx.flush()
            self._commit(unit)
        for call in tx.calls:
            try:
                call()
            except FleetwardError as error:
                log.warning("after a commit", error=str(error))

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open one consistent view; nothing written in it is kept."""
        with self._unit("BEGIN") as unit:
            yield Transaction(unit.connection, self.now())
            unit.rollback()

    def migrate(self) -> None:
        """Bring the schema to this code's; safe when several processes do it at once."""
        with self._unit("BEGIN IMMEDIATE") as unit:
            migrations.upgrade(unit.connection)
            unit.commit()

    def ping(self) -> None:
        """Return if the database answers and has this code's schema; raise `Unavailable` else."""
        with self.reading() as tx:
            tx.connection.execute(text("select 1"))
            present, wanted = migrations.versions(tx.connection)
        if present != wanted:
            msg = f"the database's schema is {present or 'empty'}, this code needs {wanted}"
            raise Unavailable(msg, hint="run `fleetward db upgrade`")

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()
        self.engine.dispose()

    def _unit(self, begin: str) -> Lent:
        return Lent(self.engine, self._idle, begin)

    def _commit(self, unit: Any) -> None:
        """Commit; a seam that tests of crashes stand in."""
        unit.commit()


def prepare(connection: Any, record: Any) -> None:
    """Make a fresh connection ours: we say BEGIN (and what for), not the driver."""
    del record
    connection.isolation_level = None
    cursor = connection.cursor()
    for pragma in (
        f"busy_timeout = {round(BUSY_SECONDS * 1000)}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


class Lent:
    """A connection with a transaction open, lent for one unit. What it was not told to keep is rolled back.

    A connection whose unit came to its end waits for the next one as it is: taking it from the
    engine's pool and giving it back costs as much as three statements. One whose unit broke is
    given back, and cleaned there.
    """

    def __init__(self, engine: Engine, idle: deque[Connection], begin: str) -> None:
        self._engine, self._idle, self._begin = engine, idle, begin
        self._connection: Connection | None = None

    def __enter__(self) -> RootTransaction:
        try:
            self._connection = self._waiting() or self._engine.connect()
            unit = self._connection.begin()
            self._connection.connection.cursor().execute(self._begin)  # said by us: see `prepare`
        except BaseException as error:
            self._broke(error)
            raise
        return unit

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._broke(error)
        elif self._connection is not None:
            self._idle.append(self._connection)

    def _waiting(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _broke(self, error: BaseException) -> None:
        if self._connection is not None:
            self._connection.close()
        if isinstance(error, IntegrityError):
            msg = f"the database refuses: {error.orig}"
            raise Conflict(msg) from error
        if isinstance(error, SQLAlchemyError | sqlite3.Error):
            cause = error.orig if isinstance(error, DBAPIError) else error
            msg = f"the database does not answer: {cause}"
            raise Unavailable(msg) from error
