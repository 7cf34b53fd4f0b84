"""The API over a real database with the told story, and a client that speaks for loopback."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from controlplane.api.app import create_app
from controlplane.api.auth import issue_admin_token
from controlplane.api.services import ApiSettings, Services
from controlplane.bootstrap.documents import check_texts
from controlplane.kernel.clock import VirtualClock
from controlplane.store.database import Database
from tests.support import console_drills, console_story
from tests.support.rig import fresh_database


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database, made once and copied for each test."""
    file = tmp_path_factory.mktemp("empty") / "api.db"
    fresh_database(file.parent, VirtualClock(), file.name).close()
    return file


@pytest.fixture(scope="session")
def told_file(tmp_path_factory: pytest.TempPathFactory, empty_file: Path) -> Path:
    """The same with the story in it."""
    file = tmp_path_factory.mktemp("told") / "api.db"
    shutil.copy(empty_file, file)
    made = Database(f"sqlite:///{file}", VirtualClock())
    with made.transaction() as tx:
        console_story.tell(tx)
        console_drills.tell(tx)
    made.close()
    return file


@pytest.fixture
def told() -> bool:
    """Whether the database has the story in it; a module that needs it overrides this."""
    return False


@pytest.fixture
def database(
    tmp_path: Path, clock: VirtualClock, told: bool, request: pytest.FixtureRequest
) -> Iterator[Database]:
    file: Path = request.getfixturevalue("told_file" if told else "empty_file")
    shutil.copy(file, tmp_path / "api.db")
    made = Database(f"sqlite:///{tmp_path / 'api.db'}", clock)
    yield made
    made.close()


@pytest.fixture
def console(tmp_path: Path) -> Path:
    """A built console, as small as can be."""
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>Fleetward</title>")
    (folder / "assets" / "index-abc.js").write_text("export {};")
    (tmp_path / "secret.txt").write_text("not served")
    return folder


@pytest.fixture
def services(database: Database, clock: VirtualClock, console: Path) -> Services:
    return Services(
        database=database,
        clock=clock,
        check=lambda files: check_texts(files).findings,
        settings=ApiSettings(
            environment="lab", version="1.2.3", console=console, hosts=("fleet.example:8443",)
        ),
    )


@pytest.fixture
def client(services: Services) -> Iterator[TestClient]:
    """A client without a session."""
    with TestClient(create_app(services), base_url="http://127.0.0.1:8700") as made:
        yield made


@pytest.fixture
def admin(database: Database) -> str:
    """The admin token's secret."""
    with database.transaction() as tx:
        return issue_admin_token(tx)


@pytest.fixture
def bearer(admin: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {admin}"}
