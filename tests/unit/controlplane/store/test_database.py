"""The unit of work, the schema's history, and what the database's errors become."""

import gc
import threading
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import insert, inspect, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from controlplane.kernel.clock import SystemClock, VirtualClock
from controlplane.kernel.errors import Conflict, InvalidInput, Unavailable
from controlplane.store import migrations
from controlplane.store.database import Database
from controlplane.store.tables import events, metadata, snapshots


def test_the_migrations_make_what_the_code_says(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'new.db'}", SystemClock())
    with pytest.raises(Unavailable):
        database.ping()
    database.migrate()
    database.migrate()
    database.ping()
    with database.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    database.close()


def test_a_closed_database_is_whole_in_its_file(tmp_path: Path) -> None:
    gc.disable()  # nobody may have to wait for that
    try:
        database = Database(f"sqlite:///{tmp_path / 'one.db'}", SystemClock())
        database.migrate()
        with database.transaction() as tx:
            tx.emit("run", "run-1")
        with database.reading() as reading:
            reading.runs.list()
        with pytest.raises(ZeroDivisionError):
            _break_off(database)
        database.close()
        assert [file.name for file in tmp_path.iterdir()] == ["one.db"]
    finally:
        gc.enable()


def _break_off(database: Database) -> None:
    with database.transaction() as tx:
        tx.runs.list()
        raise ZeroDivisionError


def test_migrations_are_named_by_their_revision_and_the_newest_is_known_without_alembic(
    tmp_path: Path,
) -> None:
    folder = Path(migrations.__file__).parent
    scripts = ScriptDirectory(str(folder))
    for script in scripts.walk_revisions():
        assert Path(script.path).name.partition("_")[0] == script.revision
    database = Database(f"sqlite:///{tmp_path / 'new.db'}", SystemClock())
    with database.engine.connect() as connection:
        assert migrations.versions(connection) == (None, scripts.get_current_head())
    database.migrate()
    with database.engine.connect() as connection:
        assert migrations.versions(connection) == (scripts.get_current_head(),) * 2
    database.close()


def test_a_schema_that_is_made_at_once_is_current(tmp_path: Path) -> None:
    made, migrated = (
        Database(f"sqlite:///{tmp_path / name}", SystemClock()) for name in ("made", "migrated")
    )
    with made.engine.begin() as connection:
        migrations.create(connection)
    migrated.migrate()
    made.ping()
    shapes = []
    for database in (made, migrated):
        with database.engine.connect() as connection:
            present = inspect(connection)
            shapes.append(
                {
                    name: (
                        {column["name"] for column in present.get_columns(name)},
                        {str(index["name"]) for index in present.get_indexes(name)},
                    )
                    for name in present.get_table_names()
                }
            )
        database.close()
    assert shapes[0] == shapes[1]


def test_postgresql_understands_the_schema() -> None:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    for table in metadata.sorted_tables:
        assert "CREATE TABLE" in str(CreateTable(table).compile(dialect=dialect))
        for index in table.indexes:
            assert "INDEX" in str(CreateIndex(index).compile(dialect=dialect))


@pytest.mark.parametrize("url", ["nonsense", "sqlite://", "sqlite:///:memory:", "mysql://host/db"])
def test_a_database_that_was_never_tried_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        Database(url, SystemClock())


def test_a_commit_is_durable_and_readers_do_not_wait(database: Database) -> None:
    with database.engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
    with database.transaction() as tx:
        tx.emit("run", "run-1")
        with database.reading() as other:
            assert other.events.after(0) == []


def test_ours_is_synchronous(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'plain.db'}", SystemClock())
    with database.engine.connect() as connection:
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 2
        assert connection.execute(text("PRAGMA busy_timeout")).scalar() == 5000
    database.close()


def test_an_error_inside_rolls_everything_back_and_calls_nobody(database: Database) -> None:
    called = []

    def fail() -> None:
        with database.transaction() as tx:
            tx.emit("run", "run-1")
            tx.after_commit(lambda: called.append("after"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.reading() as tx:
        assert tx.events.after(0) == []
    assert called == []


def test_after_the_commit_calls_are_made_and_their_failures_stay_outside(database: Database) -> None:
    called = []

    def fail() -> None:
        msg = "the broker is down"
        raise Unavailable(msg)

    with database.transaction() as tx:
        tx.emit("run", "run-1")
        tx.after_commit(fail)
        tx.after_commit(lambda: called.append("after"))
    assert called == ["after"]


def test_what_is_written_while_reading_is_not_kept(database: Database) -> None:
    with database.reading() as tx:
        tx.emit("run", "run-1")
    with database.reading() as tx:
        assert tx.events.after(0) == []


def test_the_databases_errors_are_mapped(database: Database) -> None:
    row = {"name": "a", "service": "", "at": database.now(), "body": {}}
    with pytest.raises(Conflict), database.transaction() as tx:
        tx.write(insert(snapshots).values([row, row]))
    with pytest.raises(Unavailable), database.transaction() as tx:
        tx.connection.execute(text("select nonsense"))


def test_writers_queue(database: Database) -> None:
    def write() -> None:
        for _ in range(10):
            with database.transaction() as tx:
                body = tx.snapshots.get("counter") or {"value": 0}
                tx.snapshots.put("counter", {"value": body["value"] + 1})

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with database.reading() as tx:
        assert tx.snapshots.get("counter") == {"value": 40}


def test_times_come_back_aware_and_in_order(database: Database, clock: VirtualClock) -> None:
    moments = [
        datetime(2026, 1, 1, 12, 0, tzinfo=timezone(timedelta(hours=2))),
        datetime(2026, 1, 1, 10, 0, 0, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 10, 0, 1, tzinfo=UTC),
    ]
    with database.transaction() as tx:
        for moment in reversed(moments):
            tx.write(insert(events).values(at=moment, type="t", ref="r"))
    with database.reading() as tx:
        found = [row["at"] for row in tx.rows(select(events.c.at).order_by(events.c.at))]
    assert found == moments
    assert {moment.tzinfo for moment in found} == {UTC}
    with pytest.raises(Unavailable), database.transaction() as tx:
        tx.write(insert(events).values(at=datetime(2026, 1, 1), type="t", ref="r"))  # noqa: DTZ001
