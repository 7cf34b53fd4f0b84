"""Columns, and types of columns that mean the same on SQLite and PostgreSQL: an instant, a JSON value.

SQLite has no instants: they are stored as UTC text with microseconds, which sorts by time.
A naive datetime is refused, since nobody could tell what it means.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any

from pydantic_core import from_json, to_json
from sqlalchemy import JSON, Column, DateTime, Table, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine


class Instant(TypeDecorator[datetime]):
    """An aware UTC datetime."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any]:
        return _to_text if dialect.name == "sqlite" else _to_utc

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any]:
        return _from_text if dialect.name == "sqlite" else _to_utc


_ZONE = len("2026-01-01 00:00:00.000000")
"""Where the zone begins in a time's text."""


def _to_utc(value: datetime | None) -> datetime | None:
    return None if value is None else _as_utc(value)


def _as_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        msg = f"a time without a zone cannot be stored: {value}"
        raise ValueError(msg)
    return value if value.tzinfo is UTC else value.astimezone(UTC)


def _to_text(value: datetime | None) -> str | None:
    """Write a time as SQLAlchemy does for SQLite, several times as fast: there are dozens in a step."""
    return None if value is None else _text_of(value)


@lru_cache(maxsize=8)
def _text_of(value: datetime) -> str:
    """Return the text of a time; most of a transaction's are its own one time."""
    return _as_utc(value).isoformat(" ", "microseconds")[:_ZONE]


def _from_text(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=UTC)


class Json(TypeDecorator[Any]):
    """A JSON value. On SQLite it is written and read without SQLAlchemy's own steps between: most are."""

    impl = JSON
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name != "postgresql":
            return dialect.type_descriptor(JSON())
        from sqlalchemy.dialects.postgresql import JSONB  # noqa: PLC0415 - all of its drivers load with it

        return dialect.type_descriptor(JSONB())

    def bind_processor(self, dialect: Dialect) -> Callable[[Any], Any] | None:
        return dump_json if dialect.name == "sqlite" else super().bind_processor(dialect)

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        return _from_json if dialect.name == "sqlite" else super().result_processor(dialect, coltype)


JsonValue = Json()


def dump_json(value: Any) -> str:
    """Write a value as JSON: times as RFC 3339, models by their fields, what is not a number as null."""
    return to_json(value, inf_nan_mode="null").decode()


def load_json(text: str | bytes) -> Any:
    """Read it back."""
    return from_json(text)


def _from_json(stored: Any) -> Any:
    """Read what SQLite gives back: a number that is all of a value, it keeps as a number."""
    return from_json(stored) if isinstance(stored, str) else stored


def text_column(name: str, default: str | None = "", **options: Any) -> Column[Any]:
    """A text; with a default it is never null."""
    if default is None:
        return Column(name, Text, nullable=True, **options)
    return Column(name, Text, nullable=False, default=default, **options)


def name_column(name: str, **options: Any) -> Column[Any]:
    """A text that is never null, and has no default."""
    return Column(name, Text, nullable=False, **options)


def time_column(name: str, *, required: bool = False, **options: Any) -> Column[Any]:
    """An instant; null unless it is required."""
    return Column(name, Instant, nullable=not required, **options)


def json_column(name: str) -> Column[Any]:
    """A JSON object, empty when nothing is given."""
    return Column(name, JsonValue, nullable=False, default=dict)


def as_stored(table: Table, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of a row as they would be read back: what is JSON there is plain JSON here."""
    json = _json_names(table)
    return {name: load_json(dump_json(value)) if name in json else value for name, value in values.items()}


@cache
def _json_names(table: Table) -> frozenset[str]:
    return frozenset(column.name for column in table.c if isinstance(column.type, Json))
