"""A database that lives in this process and is emptied in a moment: for rehearsals.

Its schema is made once, as the tables say (`controlplane.store.migrations.create`), and stays:
what SQLite has prepared for it is good for as long. It has one connection: one unit of work at
a time, by one thread. It refuses to be anything that lasts.
"""

from __future__ import annotations

import sqlite3
from collections import deque

from sqlalchemy import StaticPool, create_engine, event

from controlplane.kernel.clock import Clock
from controlplane.store import migrations
from controlplane.store.columns import dump_json, load_json
from controlplane.store.database import Database, prepare
from controlplane.store.tables import metadata

_NAMES = [table.name for table in reversed(metadata.sorted_tables) if table.name != "documents"]


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
        self._idle = deque()
        with self.transaction() as tx:
            migrations.create(tx.connection)

    def clear(self, clock: Clock) -> None:
        """Forget everything but the schema and revisions, which never change; go on with another clock."""
        self.clock = clock
        with self._connection:
            for name in _NAMES:
                self._connection.execute(f'DELETE FROM "{name}"')  # noqa: S608 - our own names
            self._connection.execute("DELETE FROM sqlite_sequence")  # numbers begin with 1 again

    def close(self) -> None:
        super().close()
        self._connection.close()
