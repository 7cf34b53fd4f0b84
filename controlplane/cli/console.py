"""What the API process is made of, and the tokens that open it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

from fastapi import FastAPI

import controlplane
from controlplane.api.app import create_app
from controlplane.api.auth import issue_admin_token, issue_alert_token, issue_login_token
from controlplane.api.services import ApiSettings, Services
from controlplane.bootstrap.database import open_database
from controlplane.bootstrap.documents import check_texts, json_schemas
from controlplane.cli.workshop import LateHand, Workshop
from controlplane.settings import Settings
from controlplane.store.database import Database


def api_application(settings: Settings) -> FastAPI:
    """Build the API with the console, if the console was built."""
    database = open_database(settings)

    api_settings = ApiSettings(
        environment=_environment(database),
        version=version("fleetward"),
        console=console_folder(),
        hosts=settings.api_hosts,
    )
    return create_app(
        Services(
            database=database,
            clock=database.clock,
            check=lambda files: check_texts(files).findings,
            settings=api_settings,
            schemas=json_schemas(),
            hand=LateHand(settings, database),
            author=Workshop(),
        )
    )


def console_folder() -> Path | None:
    """Return where the built console lies: in the wheel, or beside the code; None if it was not built."""
    root = Path(controlplane.__file__).parent
    for folder in (root / "shipped" / "console", root.parent / "web" / "dist"):
        if (folder / "index.html").is_file():
            return folder
    return None


def first_admin_token(settings: Settings) -> str | None:
    """Return a fresh admin token if there is none yet, else None: it is told once."""
    database = open_database(settings)
    try:
        with database.transaction() as tx:
            return None if tx.tokens.of_kind("admin") else issue_admin_token(tx)
    finally:
        database.close()


def login_token(database: Database) -> str:
    """Return a token that signs in once, within ten minutes."""
    with database.transaction() as tx:
        return issue_login_token(tx)


def alert_token(database: Database, name: str) -> str:
    """Return a new token that may send alerts and nothing else."""
    with database.transaction() as tx:
        return issue_alert_token(tx, name)


def _environment(database: Database) -> str:
    with database.reading() as tx:
        policies = tx.documents.active("Policy")
    return str(policies[0].body["spec"]["environment"]) if policies else "unknown"
