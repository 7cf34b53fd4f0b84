"""Opening the database that the settings lead to."""

from __future__ import annotations

from controlplane.kernel.clock import Clock, SystemClock
from controlplane.settings import Settings
from controlplane.store.database import Database


def open_database(settings: Settings, clock: Clock | None = None) -> Database:
    """Open the database and bring its schema up to date."""
    if settings.database_url is None:
        settings.state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    database = Database(settings.database, clock or SystemClock())
    database.migrate()
    return database
