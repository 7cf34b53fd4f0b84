"""What commands share: the state directory, the settings it leads to, and the opened database."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from controlplane.kernel.errors import InvalidInput

if TYPE_CHECKING:
    from controlplane.settings import Settings
    from controlplane.store.database import Database

StateDir = Annotated[
    Path | None,
    typer.Option(
        "--state-dir", help="Where the state is kept [env FLEETWARD_STATE_DIR, default .fleetward]."
    ),
]


def load_settings(state_dir: Path | None) -> Settings:
    """Read the settings; the option wins over the environment."""
    from controlplane.settings import Settings

    try:
        return Settings() if state_dir is None else Settings(state_dir=state_dir)
    except ValidationError as error:
        first = error.errors()[0]
        msg = f"FLEETWARD_{str(first['loc'][0]).upper()} is set to what it cannot be: {first['msg']}"
        raise InvalidInput(msg, hint="docs/operate.md lists the settings") from error


@contextmanager
def database(state_dir: Path | None) -> Iterator[Database]:
    """Open the database of a state directory, with the present schema."""
    from controlplane.bootstrap.database import open_database

    opened = open_database(load_settings(state_dir))
    try:
        yield opened
    finally:
        opened.close()


As = Annotated[
    str | None, typer.Option("--as", help="Who does it, for the record; without it, this terminal's user.")
]


def who(as_: str | None = None) -> str:
    """Name the person at this terminal, for the record: as told, or as the system knows them."""
    if as_ is not None:
        if not as_.strip():
            message = "--as needs a name"
            raise InvalidInput(message)
        return f"cli:{as_.strip()}"
    try:
        return f"cli:{getpass.getuser()}"
    except (KeyError, OSError):
        return "cli"
