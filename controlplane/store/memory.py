"""A database that lives in this process and is emptied in a moment: for rehearsals.

Its schema is made once, by the migrations that every database gets, and copied into place by
SQLite's backup. It has one connection: one unit of work at a time, by one thread. It refuses
to be anything that lasts.
"""

from __future__ import annotations

import sqlite3

from sqlalchemy import StaticPool, create_engine, event

from controlplane.kernel.clock import Clock
from controlplane.store.columns import dump_json, load_json
from controlplane.store.database import Database, begin, prepare


class MemoryDatabase(Database):
    """An empty database with today's schema. The engine is kept, and with it what it has compiled."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._connection = sqlite3.connect(":memory:")
        self.engine = create_engine(
            "sqlite://",
            creator=lambda: self._connection,
            poolclass=StaticPool,
            json_serializer=dump_json,
            json_deserializer=load_json,
        )
        event.listen(self.engine, "connect", prepare)
        event.listen(self.engine, "begin", begin)
        self.migrate()
        self._empty = sqlite3.connect(":memory:")
        self._connection.backup(self._empty)

    def clear(self, clock: Clock) -> None:
        """Forget everything but the schema, and go on with another clock."""
        self.clock = clock
        self._empty.backup(self._connection)

    def close(self) -> None:
        super().close()
        self._empty.close()
        self._connection.close()
