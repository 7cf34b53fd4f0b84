"""What a worker that holds a run is told and writes, who is woken, and what is written together."""

from datetime import timedelta
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import text

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Fenced
from controlplane.model.states import RunState
from controlplane.store import migrations
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery
from tests.unit.controlplane.store.test_repositories import ZONE_A, new_run


def test_a_holder_is_told_what_others_wrote_and_knows_the_rest_itself(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {"steps": []})
        held = tx.runs.take("run-1", "one")
        assert held is not None
        assert tx.runs.plan("run-1") == '{"steps":[]}'
    with database.transaction() as tx:
        tx.runs.request_stop("run-1", "cancel", "by ada", undo=False)
        tx.runs.merge_result("run-1", verdict="passed")
        tx.runs.pause("run-1", "paused by ada")
    mine = held.model_copy(update={"progress": {"tries": 2}})
    with database.transaction() as tx:
        told = tx.runs.hold(mine)
        assert (told.stop, told.stop_reason, told.stop_undo) == ("cancel", "by ada", False)
        assert (told.paused, told.result) == ("paused by ada", {"verdict": "passed"})
        assert (told.progress, told.state) == ({"tries": 2}, RunState.QUEUED)


def test_what_a_lease_is_renewed_with_is_written_only_under_its_fence(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
        assert tx.runs.take("run-1", "one") is not None
        tx.runs.renew("run-1", 1, effect_at=clock.now())
        with pytest.raises(Fenced):
            tx.runs.renew("run-1", 0, effect_at=clock.now() + timedelta(seconds=9))
        assert tx.runs.get("run-1").effect_at == clock.now()


def test_the_end_of_a_run_wakes_one_of_its_group_the_oldest(database: Database, clock: VirtualClock) -> None:
    later = clock.now() + timedelta(seconds=60)
    with database.transaction() as tx:
        for name in ("run-1", "run-2", "run-3"):
            tx.runs.add(new_run(clock, name, group="g", due_at=later), {})
        tx.runs.wake_next("g", ended="run-1")
        due = [tx.runs.get(name).due_at for name in ("run-1", "run-2", "run-3")]
    assert due == [later, clock.now(), later]


def test_the_targets_of_all_runs_are_told_however_many_they_are(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        for number in range(120):
            tx.runs.add(new_run(clock, f"run-{number}", target=str(ZONE_A)), {})
        tx.runs.add(new_run(clock, "run-of-another", service="other"), {})
        found = tx.runs.targets(RunQuery(service="chat", active=True))
    assert len(found) == 120
    assert set(found.values()) == {str(ZONE_A)}


def test_lines_and_events_are_seen_in_order_in_the_transaction_that_writes_them(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
        for event in ("a", "b"):
            tx.journal.write("run-1", event, event)
        assert [line.event for line in tx.journal.list("run-1")] == ["a", "b"]
        tx.journal.write("run-1", "c", "c")
        tx.emit("run", "run-1")
        assert [(event.type, event.ref) for event in tx.events.after(0)] == [("run", "run-1")]
    with database.reading() as tx:
        assert [line.event for line in tx.journal.list("run-1")] == ["a", "b", "c"]


def test_runs_keep_their_plans_when_these_get_a_table_of_their_own_and_when_it_is_taken_back(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        for name, plan in (("run-1", {"steps": [1]}), ("run-2", {"steps": [2]})):
            tx.runs.add(new_run(clock, name), plan)
    with database.engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(Path(migrations.__file__).parent))
        config.attributes["connection"] = connection
        command.downgrade(config, "0010")
        rows = connection.execute(text("SELECT id, plan FROM runs ORDER BY id")).all()
        assert rows == [("run-1", '{"steps":[1]}'), ("run-2", '{"steps":[2]}')]
        command.upgrade(config, "head")
    with database.reading() as tx:
        assert [tx.runs.plan(name) for name in ("run-1", "run-2")] == ['{"steps":[1]}', '{"steps":[2]}']
