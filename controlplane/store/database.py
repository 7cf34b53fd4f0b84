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
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

import structlog
from sqlalchemy import Connection, RootTransaction, create_engine, event, make_url, text
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

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Open one unit of work. Errors of the database come as `Unavailable` or `Conflict`."""
        return Opened(self, self._idle, "BEGIN IMMEDIATE", self._commit)

    def reading(self) -> AbstractContextManager[Transaction]:
        """Open one consistent view; nothing written in it is kept."""
        return Opened(self, self._idle, "BEGIN", None)

    def migrate(self) -> None:
        """Bring the schema to this code's; safe when several processes do it at once."""
        with self.transaction() as tx:
            migrations.upgrade(tx.connection)

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
        "wal_autocheckpoint = 4000",  # pages, 16 MB: those that every commit writes are copied once for many
        "foreign_keys = ON",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


class Opened:
    """One unit of work on a connection that is lent for it. What is not committed is rolled back.

    A connection whose unit came to its end waits for the next one as it is: taking it from the
    engine's pool and giving it back costs as much as three statements. One whose unit broke is
    given back, and cleaned there. A class, since a generator for each part would cost as much again.
    """

    def __init__(
        self,
        database: Database,
        idle: deque[Connection],
        begin: str,
        commit: Callable[[RootTransaction], None] | None,
    ) -> None:
        """``commit`` None: what was written is not kept."""
        self._database, self._idle, self._begin, self._commit = database, idle, begin, commit
        self._connection: Connection | None = None
        self._cursor: Any = None

    def __enter__(self) -> Transaction:
        try:
            connection = self._connection = self._waiting() or self._database.engine.connect()
            self._unit = connection.begin()
            self._cursor = connection.connection.cursor()
            self._cursor.execute(self._begin)  # said by us: see `prepare`
            self._tx = Transaction(connection, self._database.now(), self._cursor)
        except BaseException as error:
            self._broke(error)
            raise
        return self._tx

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            self._broke(error)
            return
        try:
            if self._commit is None:
                self._unit.rollback()
            else:
                self._tx.flush()
                self._commit(self._unit)
        except BaseException as broken:
            self._broke(broken)
            raise
        # One that lives on holds its statement, and SQLite closes no file until garbage is looked for.
        self._cursor.close()
        if self._connection is not None:
            self._idle.append(self._connection)
        if self._commit is not None:
            _call(self._tx.calls)

    def _waiting(self) -> Connection | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _broke(self, error: BaseException) -> None:
        if self._cursor is not None:
            self._cursor.close()
        if self._connection is not None:
            self._connection.close()
        if isinstance(error, IntegrityError):
            msg = f"the database refuses: {error.orig}"
            raise Conflict(msg) from error
        if isinstance(error, SQLAlchemyError | sqlite3.Error):
            cause = error.orig if isinstance(error, DBAPIError) else error
            msg = f"the database does not answer: {cause}"
            raise Unavailable(msg) from error


def _call(calls: Sequence[Callable[[], None]]) -> None:
    """Do what was to be done after a commit; what fails there does not undo it."""
    for call in calls:
        try:
            call()
        except FleetwardError as error:
            log.warning("after a commit", error=str(error))
