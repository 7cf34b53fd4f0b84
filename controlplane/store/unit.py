"""What all repositories of one transaction share: its connection, its one time, its events.

``now`` is the transaction's time on the database's clock. SQLite has no clock of its own,
and the file lives on one machine, so it is the injected `Clock`. It refuses to commit:
that is `Database.transaction`'s alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Executable, Insert, Table, insert

from controlplane.store import tables

Row = dict[str, Any]
Params = Mapping[str, Any] | None

_EVENT = insert(tables.events)


@cache
def _insert(table: Table) -> Insert:
    return insert(table)


class Unit:
    """One open transaction, as repositories see it.

    Statements that run many times a second are built once, with bound parameters
    (``params``): building one costs several times its execution.
    """

    def __init__(self, connection: Connection, now: datetime) -> None:
        self.connection = connection
        self.now = now
        self.calls: list[Callable[[], None]] = []
        self._told: set[tuple[str, str]] = set()

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call this once the transaction is committed; never, if it is rolled back."""
        self.calls.append(call)

    def emit(self, type_: str, ref: str) -> None:
        """Write an event: something with this id has changed. Once in a transaction says it."""
        if (type_, ref) not in self._told:
            self._told.add((type_, ref))
            self.write(_EVENT, {"at": self.now, "type": type_, "ref": ref})

    def rows(self, statement: Executable, params: Params = None) -> list[Row]:
        return [dict(row) for row in self.connection.execute(statement, params).mappings()]

    def row(self, statement: Executable, params: Params = None) -> Row | None:
        found = self.connection.execute(statement, params).mappings().first()
        return None if found is None else dict(found)

    def scalar(self, statement: Executable, params: Params = None) -> Any:
        return self.connection.execute(statement, params).scalar()

    def write(self, statement: Executable, params: Params = None) -> int:
        """Execute a statement that changes rows, and return how many."""
        return self.connection.execute(statement, params).rowcount

    def add(self, table: Table, **values: Any) -> None:
        self.write(_insert(table), values)


class Repository:
    """Base of repositories: one table family in one transaction."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit

    @property
    def now(self) -> datetime:
        return self.unit.now


def equal(table: Table, **wanted: Any) -> list[ColumnElement[bool]]:
    """Return a condition for each column whose value is given; None means any."""
    return [table.c[name] == value for name, value in wanted.items() if value is not None]
