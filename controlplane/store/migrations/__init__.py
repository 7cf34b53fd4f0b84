"""The schema's history, by Alembic: `upgrade` runs what a database has not seen.

Revisions are inside the package, so that an installed wheel can migrate; `alembic` on the
command line works too, from this folder.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Bring the schema to the newest revision, within the caller's transaction."""
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def versions(connection: Connection) -> tuple[str | None, str | None]:
    """Return the revision that the database has, and the one this code needs."""
    present = MigrationContext.configure(connection).get_current_revision()
    return present, ScriptDirectory.from_config(_config()).get_current_head()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config
