"""What all repositories of one transaction share: its connection, its one time, its events.

``now`` is the transaction's time on the database's clock. SQLite has no clock of its own,
and the file lives on one machine, so it is the injected `Clock`. It refuses to commit:
that is `Database.transaction`'s alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Delete, Executable, Table, Update, bindparam
from sqlalchemy import delete as sql_delete
from sqlalchemy import update as sql_update

from controlplane.store import tables
from controlplane.store.prepared import Prepared, filled, prepare, prepare_insert

Row = dict[str, Any]
Params = Mapping[str, Any] | None


class Unit:
    """One open transaction, as repositories see it.

    Statements that run many times a second are built once, with bound parameters, and are
    prepared (`controlplane.store.prepared`); those are the ones that are given ``params``.
    """

    def __init__(self, connection: Connection, now: datetime, cursor: Any) -> None:
        self.connection = connection
        self.now = now
        self._dialect = connection.dialect
        self._cursor = cursor
        self.calls: list[Callable[[], None]] = []
        self._told: set[tuple[str, str]] = set()
        self._logged: dict[Table, list[Row]] = {}

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call this once the transaction is committed; never, if it is rolled back."""
        self.calls.append(call)

    def emit(self, type_: str, ref: str) -> None:
        """Write an event: something with this id has changed. Once in a transaction says it."""
        if (type_, ref) not in self._told:
            self._told.add((type_, ref))
            self.log(tables.events, at=self.now, type=type_, ref=ref)

    def log(self, table: Table, **values: Any) -> None:
        """Add a row to a table that only grows; those of one transaction are written together, by `flush`."""
        self._logged.setdefault(table, []).append(values)

    def flush(self) -> None:
        """Write what was logged. Called before the commit, and before anything reads such a table."""
        logged, self._logged = self._logged, {}
        for table, rows in logged.items():
            prepare_insert(table, frozenset(rows[0]), self._dialect).execute_many(self._cursor, rows)

    def rows(self, statement: Executable, params: Params = None) -> list[Row]:
        if params is None:
            result = self.connection.execute(statement)
            names = tuple(result.keys())
            return [dict(zip(names, row, strict=True)) for row in result.all()]
        prepared = self._execute(statement, params)
        return [prepared.read(values) for values in self._cursor.fetchall()]

    def row(self, statement: Executable, params: Params = None) -> Row | None:
        if params is None:
            found = self.connection.execute(statement).mappings().first()
            return None if found is None else dict(found)
        prepared = self._execute(statement, params)
        values = self._cursor.fetchall()  # to the end: a statement that is not over keeps from committing
        return prepared.read(values[0]) if values else None

    def scalar(self, statement: Executable, params: Params = None) -> Any:
        if params is None:
            return self.connection.execute(statement).scalar()
        found = self.row(statement, params)
        return None if found is None else next(iter(found.values()))

    def write(self, statement: Executable, params: Params = None) -> int:
        """Execute a statement that changes rows, and return how many."""
        if params is None:
            return self.connection.execute(statement).rowcount
        self._execute(statement, params)
        changed: int = self._cursor.rowcount
        return changed

    def add(self, table: Table, **values: Any) -> None:
        """Insert a row; what is not given is its column's default."""
        prepared = prepare_insert(table, frozenset(values), self._dialect)
        prepared.execute(self._cursor, filled(table, values))

    def add_all(self, table: Table, rows: Sequence[Row]) -> None:
        """Insert rows that all give the same columns."""
        if rows:
            prepared = prepare_insert(table, frozenset(rows[0]), self._dialect)
            prepared.execute_many(self._cursor, [filled(table, row) for row in rows])

    def change(self, table: Table, which: Row, values: Row) -> int:
        """Set ``values`` in the rows whose columns equal ``which``, and return how many they are."""
        statement = _update(table, frozenset(which), frozenset(values))
        return self.write(statement, _named("w_", which) | _named("v_", values))

    def drop(self, table: Table, which: Row) -> int:
        """Delete the rows whose columns equal ``which``, and return how many they were."""
        return self.write(_delete(table, frozenset(which)), _named("w_", which))

    def _execute(self, statement: Executable, params: Mapping[str, Any]) -> Prepared:
        prepared = prepare(statement, self._dialect)
        prepared.execute(self._cursor, params)
        return prepared


class Repository:
    """Base of repositories: one table family in one transaction."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit

    @property
    def now(self) -> datetime:
        return self.unit.now


def matching(table: Table, names: frozenset[str]) -> list[ColumnElement[bool]]:
    """Return the conditions that the columns of these names equal what `given` binds for them."""
    return [table.c[name] == bindparam(f"w_{name}", type_=table.c[name].type) for name in sorted(names)]


def given(which: Mapping[str, Any]) -> tuple[frozenset[str], Row]:
    """Return which of these values are there, and their parameters; None means any."""
    known = {name: value for name, value in which.items() if value is not None}
    return frozenset(known), _named("w_", known)


def _named(prefix: str, values: Row) -> Row:
    return {prefix + name: value for name, value in values.items()}


@cache
def _update(table: Table, which: frozenset[str], names: frozenset[str]) -> Update:
    values = {name: bindparam(f"v_{name}", type_=table.c[name].type) for name in names}
    return sql_update(table).where(*matching(table, which)).values(**values)


@cache
def _delete(table: Table, which: frozenset[str]) -> Delete:
    return sql_delete(table).where(*matching(table, which))
