"""The schema's history, by Alembic: `upgrade` runs what a database has not seen.

Revisions are inside the package, so that an installed wheel can migrate; `alembic` on the
command line works too, from this folder. Their numbers rise, and each file's name begins with
its number: a database that is current is told without Alembic, which loads as long as much else.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from controlplane.store.tables import metadata

_FOLDER = Path(__file__).parent


def upgrade(connection: Connection) -> None:
    """Bring the schema to the newest revision, within the caller's transaction."""
    present, wanted = versions(connection)
    if present == wanted:
        return
    from alembic import command  # noqa: PLC0415 - most starts find the schema current
    from alembic.config import Config  # noqa: PLC0415 - as above

    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def create(connection: Connection) -> None:
    """Make an empty database current at once, by the tables: a test holds them equal to what `upgrade` makes.

    For databases that live as long as a process; Alembic loads as long as all else that these need.
    """
    metadata.create_all(connection, checkfirst=False)
    connection.execute(text("create table alembic_version (version_num varchar(32) primary key not null)"))
    connection.execute(text("insert into alembic_version values (:newest)"), {"newest": _newest()})


def versions(connection: Connection) -> tuple[str | None, str]:
    """Return the revision that the database has, and the one this code needs."""
    present = None
    if inspect(connection).has_table("alembic_version"):
        present = connection.execute(text("select version_num from alembic_version")).scalar()
    return present, _newest()


@cache
def _newest() -> str:
    return max(file.name.partition("_")[0] for file in (_FOLDER / "versions").glob("[0-9]*.py"))
