"""What is old goes, with everything that belongs to it; what is young or unfinished stays."""

from datetime import timedelta

from controlplane.kernel.clock import VirtualClock
from controlplane.model.records import Alert
from controlplane.model.states import RunState
from controlplane.store.database import Database
from controlplane.store.retention import prune
from controlplane.store.transitions import move
from tests.unit.controlplane.store.test_repositories import decision, new_run


def test_old_things_go_and_unfinished_runs_stay(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        for id_ in ("run-ended", "run-open"):
            tx.runs.add(new_run(clock, id_), {})
            tx.steps.add(id_, [("one", "first")])
        move(tx, tx.runs.get("run-ended"), RunState.CANCELLED, "enough")
        tx.decisions.record(decision(clock, 1))
        for name, status in (("a", "firing"), ("b", "resolved")):
            times = {"starts_at": tx.now, "received_at": tx.now, "seen_at": tx.now, "ends_at": tx.now}
            tx.alerts.take(Alert.model_validate({"fingerprint": name, "status": status, **times}))
        tx.tokens.add("d", "login", "ada", clock.now() + timedelta(hours=1))
    clock.advance(13 * 86400.0)
    assert prune(database.transaction) == {
        "events": 5,
        "decisions": 0,
        "alerts": 0,
        "runs": 0,
        "tokens": 1,
    }
    clock.advance(78 * 86400.0)
    assert prune(database.transaction) == {
        "events": 0,
        "decisions": 1,
        "alerts": 1,
        "runs": 1,
        "tokens": 0,
    }
    with database.reading() as tx:
        assert [run.id for run in tx.runs.list()] == ["run-open"]
        assert [alert.fingerprint for alert in tx.alerts.list()] == ["a"]
        assert tx.steps.list("run-ended") == []
        assert tx.journal.list("run-ended") == []
