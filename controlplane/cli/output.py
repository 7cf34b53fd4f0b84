"""How commands speak: a table for people, one JSON value for programs, errors on standard error.

JSON goes to standard output alone and whole, so that it can be piped; nothing else is
ever written there when JSON is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import IntEnum, StrEnum
from typing import Annotated, Any

import typer
from pydantic import BaseModel
from rich.console import Console
from rich.table import Table

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


class Exit(IntEnum):
    """What the exit code means; the same for every command."""

    OK = 0
    FAILED = 1
    MISUSE = 2
    INCONCLUSIVE = 3


class Format(StrEnum):
    """What a command writes."""

    TABLE = "table"
    JSON = "json"


FormatOption = Annotated[
    Format, typer.Option("--output", "-o", help="`table` for people, `json` for programs.", show_default=True)
]


def jsonable(value: Any) -> Any:
    """Turn models (and what holds them) into JSON values with the outside names."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [jsonable(item) for item in value]
    return value


def emit_json(value: Any) -> None:
    """Write one JSON value to standard output."""
    typer.echo(json.dumps(jsonable(value), indent=2, default=str))


def emit_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], empty: str) -> None:
    """Write a table, or the sentence ``empty`` when there is no row."""
    rows = list(rows)
    if not rows:
        out.print(empty)
        return
    table = Table(title=title, title_justify="left", box=None, header_style="bold", pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("" if cell is None else str(cell) for cell in row))
    out.print(table)
