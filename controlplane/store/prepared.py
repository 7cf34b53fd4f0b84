"""Statements as the driver takes them, compiled once: their text, and how values go in and come out.

What SQLAlchemy does at each execution of a statement costs ten times what SQLite does; for
the statements of the engine, which are built once and run all day, it is done once here:
SQLAlchemy still writes the SQL, for whatever database it is, and its types still convert
every value. It refuses statements whose text depends on their values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Dialect, Executable, Select, Table, UpdateBase, insert
from sqlalchemy.exc import DBAPIError
from sqlalchemy.types import TypeEngine

Row = dict[str, Any]
Convert = Callable[[Any], Any] | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """One statement for one kind of database. ``fixed`` are the values that it carries itself."""

    dialect: Dialect
    text: str
    binds: tuple[tuple[str, Convert], ...]
    fixed: Mapping[str, Any]
    names: tuple[str, ...]
    readers: tuple[tuple[str, Callable[[Any], Any]], ...]

    def execute(self, cursor: Any, params: Mapping[str, Any]) -> None:
        """Execute it once, on a cursor of the driver."""
        written = self._written(params)
        try:
            cursor.execute(self.text, written)
        except self.dialect.loaded_dbapi.Error as error:
            raise self._as_ours(error) from error

    def execute_many(self, cursor: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute it for each of the rows."""
        written = [self._written(row) for row in rows]
        try:
            cursor.executemany(self.text, written)
        except self.dialect.loaded_dbapi.Error as error:
            raise self._as_ours(error) from error

    def read(self, values: Sequence[Any]) -> Row:
        """Return a row that came, each value as its column's type has it."""
        row = dict(zip(self.names, values, strict=True))
        for name, convert in self.readers:
            row[name] = convert(row[name])
        return row

    def _as_ours(self, error: Any) -> Any:
        """Return an error of the driver as SQLAlchemy has it, so that it is handled as any other is."""
        base = self.dialect.loaded_dbapi.Error
        return DBAPIError.instance(self.text, None, error, base, dialect=self.dialect)

    def _written(self, params: Mapping[str, Any]) -> Any:
        given = {**self.fixed, **params} if self.fixed else params
        if self.dialect.positional:
            return [given[name] if convert is None else convert(given[name]) for name, convert in self.binds]
        return {
            name: given[name] if convert is None else convert(given[name]) for name, convert in self.binds
        }


_KEPT: dict[tuple[Any, ...], Prepared] = {}
"""What was compiled, for each kind of database: as many of a kind as there are share it."""


def prepare(statement: Executable, dialect: Dialect) -> Prepared:
    """Compile a statement that lives as long as the process: each is kept."""
    key = (statement, type(dialect))
    return _KEPT.get(key) or _KEPT.setdefault(key, _prepared(statement, dialect))


def prepare_insert(table: Table, names: frozenset[str], dialect: Dialect) -> Prepared:
    """Compile the insertion of rows that give these columns; the rest get their columns' defaults."""
    key = (table, names, type(dialect))
    if key not in _KEPT:
        given = sorted(names | _defaults(table).keys())
        _KEPT[key] = _prepared(insert(table).inline(), dialect, given)
    return _KEPT[key]


def filled(table: Table, values: Row) -> Row:
    """Return a new row with the defaults of the columns that it does not give."""
    missing = _defaults(table).keys() - values.keys()
    return {**values, **{name: _defaults(table)[name]() for name in missing}} if missing else values


@cache
def _defaults(table: Table) -> Mapping[str, Callable[[], Any]]:
    return {column.name: _default(column.default) for column in table.c if column.default is not None}


def _default(default: Any) -> Callable[[], Any]:
    return (lambda: default.arg(None)) if default.is_callable else (lambda: default.arg)


def _prepared(statement: Any, dialect: Dialect, names: list[str] | None = None) -> Prepared:
    compiled = statement.compile(dialect=dialect, column_keys=names)
    order = list(compiled.positiontup) if compiled.positional else list(compiled.binds)
    columns = _columns(statement)
    readers = {column.name: _reader(column.type, dialect) for column in columns}
    return Prepared(
        dialect=dialect,
        text=str(compiled),
        binds=tuple((name, _writer(compiled.binds[name].type, dialect)) for name in order),
        fixed={name: compiled.params[name] for name in order if not compiled.binds[name].required},
        names=tuple(column.name for column in columns),
        readers=tuple((name, convert) for name, convert in readers.items() if convert is not None),
    )


def _columns(statement: Any) -> list[Any]:
    if isinstance(statement, Select | UpdateBase):
        return list(statement.exported_columns)
    return []


def _writer(kind: TypeEngine[Any], dialect: Dialect) -> Convert:
    return kind.dialect_impl(dialect).bind_processor(dialect)


def _reader(kind: TypeEngine[Any], dialect: Dialect) -> Convert:
    return kind.dialect_impl(dialect).result_processor(dialect, None)
