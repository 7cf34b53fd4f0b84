"""What each repository promises beyond keeping rows."""

from datetime import timedelta
from typing import Any

import pytest

from controlplane.kernel.clock import VirtualClock
from controlplane.kernel.errors import Conflict, Fenced, NotFound, Problem
from controlplane.model.action import Change, Dimension, UndoStatus
from controlplane.model.records import (
    Decision,
    FaultRecord,
    GuardVerdict,
    Halt,
    Incident,
    Run,
    Verdict,
)
from controlplane.model.signals import SIGNALS, SignalsSnapshot
from controlplane.model.states import FaultState, IncidentState, RunState
from controlplane.model.target import Target
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery
from controlplane.store.signals import StoreSignals
from controlplane.store.transitions import move
from tests.support.steps import SERVICE

ZONE_A, ZONE_B = Target("chat", "local", "zone-a"), Target("chat", "local", "zone-b")


def new_run(clock: VirtualClock, id_: str = "run-1", **more: Any) -> Run:
    values: dict[str, Any] = {
        "id": id_,
        "kind": "playbook",
        "name": "failover",
        "service": "chat",
        "state": RunState.QUEUED,
        "created_at": clock.now(),
        "due_at": clock.now(),
        **more,
    }
    return Run(**values)


def new_incident(clock: VirtualClock, id_: str = "inc-1", **more: Any) -> Incident:
    values: dict[str, Any] = {
        "id": id_,
        "signal": "slo:tpot@chat/local/zone-a",
        "service": "chat",
        "target": "chat/local/zone-a",
        "state": IncidentState.PENDING,
        "title": "slow",
        "opened_at": clock.now(),
        "changed_at": clock.now(),
        **more,
    }
    return Incident(**values)


# ── Documents ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_revision_is_stored_once_and_the_active_one_follows_the_last_load(database: Database) -> None:
    other = SERVICE.model_copy(update={"spec": SERVICE.spec.model_copy(update={"model": "other"})})
    with database.transaction() as tx:
        first = tx.documents.put(SERVICE, "a.yaml")
        assert tx.documents.put(SERVICE, "b.yaml") == first
        second = tx.documents.put(other)
        active = tx.documents.find("Service", "chat")
        assert active is not None
        assert active.sha256 == second
        assert tx.documents.load(first) == SERVICE
        assert [event.ref for event in tx.events.after(0)] == ["Service/chat"]


def test_a_retired_document_stays_for_those_that_pin_it(database: Database) -> None:
    with database.transaction() as tx:
        sha256 = tx.documents.put(SERVICE)
        assert tx.documents.retire("Service", "chat")
        assert tx.documents.active() == []
        assert tx.documents.get(sha256).name == "chat"
        with pytest.raises(NotFound):
            tx.documents.get("0" * 64)


def test_the_problems_of_the_last_load_are_kept(database: Database) -> None:
    problems = [Problem("a.yaml", 3, 5, "spec.steps", "unknown key", "did you mean `steps`?")]
    with database.transaction() as tx:
        tx.documents.replace_problems(problems)
        assert tx.documents.problems() == problems
        tx.documents.replace_problems([])
        assert tx.documents.problems() == []


# ── Runs: leases ───────────────────────────────────────────────────────────────────────────────────────────


def test_a_run_is_taken_once_under_a_rising_fence(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
        first = tx.runs.take("run-1", "one")
        assert first is not None
        assert tx.runs.take("run-1", "two") is None
    clock.advance(15.1)
    with database.transaction() as tx:
        second = tx.runs.take("run-1", "two")
        assert second is not None
        assert second.fence == first.fence + 1
        with pytest.raises(Fenced):
            tx.runs.renew("run-1", first.fence)


def test_holding_renews_the_lease(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
        assert tx.runs.take("run-1", "one") is not None
    for _ in range(4):
        clock.advance(10.0)
        with database.transaction() as tx:
            assert tx.runs.renew("run-1", 1)["lease_until"] == clock.now() + timedelta(seconds=15)
            assert tx.runs.take("run-1", "two") is None


def test_what_is_not_due_is_not_taken(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock, due_at=clock.now() + timedelta(seconds=1)), {})
        assert tx.runs.take("run-1", "one") is None
    clock.advance(1.0)
    with database.transaction() as tx:
        assert tx.runs.take("run-1", "one") is not None


def test_due_lists_what_is_unsent_or_overdue_and_free(database: Database, clock: VirtualClock) -> None:
    def due() -> list[str]:
        with database.reading() as tx:
            return list(tx.runs.due(resend_after=10.0, limit=10))

    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
        tx.runs.add(new_run(clock, "run-later", due_at=clock.now() + timedelta(seconds=60)), {})
    assert due() == ["run-1"]
    with database.transaction() as tx:
        tx.runs.mark_sent(["run-1"])
    assert due() == []
    clock.advance(10.0)
    assert due() == ["run-1"]
    with database.transaction() as tx:
        tx.runs.take("run-1", "one")
    assert due() == []
    clock.advance(15.0)
    assert due() == ["run-1"]


def test_a_cancel_outranks_a_supersede_and_the_first_cancel_stands(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
        assert tx.runs.request_stop("run-1", "supersede", "folded", undo=False)
        assert tx.runs.request_stop("run-1", "cancel", "by ada", undo=True)
        assert not tx.runs.request_stop("run-1", "supersede", "folded", undo=False)
        assert not tx.runs.request_stop("run-1", "cancel", "by bob", undo=True)
        assert tx.runs.get("run-1").stop_reason == "by ada"


def test_runs_are_found_by_what_is_asked(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock, "run-1", incident="inc-1"), {})
        clock.advance(1.0)
        tx.runs.add(new_run(clock, "run-2", kind="drill", name="gray"), {})
        ended = move(tx, tx.runs.get("run-1"), RunState.CANCELLED, "no longer wanted")
        assert ended.ended_at is not None

        def ids(**which: Any) -> list[str]:
            return [run.id for run in tx.runs.list(RunQuery(**which))]

        assert ids() == ["run-2", "run-1"]
        assert ids(active=True) == ["run-2"]
        assert ids(active=False) == ["run-1"]
        assert ids(kind="drill") == ["run-2"]
        assert ids(incident="inc-1") == ["run-1"]
        assert ids(name="gray") == ["run-2"]
        assert ids(ended_after=clock.now()) == ["run-2"]
        assert tx.runs.count(RunQuery(state="cancelled")) == 1
        tx.runs.merge_result("run-1", verdict="passed")
        assert tx.runs.get("run-1").result == {"verdict": "passed"}


# ── Incidents, decisions ───────────────────────────────────────────────────────────────────────────────────


def test_one_signal_has_one_open_incident(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        tx.incidents.add(new_incident(clock), "3 of 5 ticks were bad")
    with pytest.raises(Conflict), database.transaction() as tx:
        tx.incidents.add(new_incident(clock, "inc-2"))
    with database.transaction() as tx:
        move(tx, tx.incidents.get("inc-1"), IncidentState.RESOLVED, "never mind")
        tx.incidents.add(new_incident(clock, "inc-2"))
        found = tx.incidents.open_for("slo:tpot@chat/local/zone-a")
        assert found is not None
        assert found.id == "inc-2"
        assert [each.id for each in tx.incidents.list(open=True)] == ["inc-2"]
        assert tx.incidents.count(open=False, state="resolved") == 1
        timeline = [(line.state, line.message) for line in tx.incidents.timeline("inc-1")]
    assert timeline == [
        (IncidentState.PENDING, "3 of 5 ticks were bad"),
        (IncidentState.RESOLVED, "never mind"),
    ]


def test_an_incident_that_fires_again_forgets_that_it_was_mitigated(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        incident = tx.incidents.add(new_incident(clock))
        incident = move(tx, incident, IncidentState.FIRING)
        fired = incident.fired_at
        incident = move(tx, incident, IncidentState.MITIGATED, at=clock.advance(5.0))
        assert incident.mitigated_at == clock.now()
        incident = move(tx, incident, IncidentState.FIRING, at=clock.advance(5.0))
        assert (incident.mitigated_at, incident.fired_at) == (None, fired)
        tx.incidents.update("inc-1", value=0.5, parent="inc-0")
        assert tx.incidents.get("inc-1").parent == "inc-0"
        with pytest.raises(ValueError, match="these can be changed"):
            tx.incidents.update("inc-1", signal="x")


def decision(clock: VirtualClock, number: int, verdict: Verdict = Verdict.REFUSE) -> Decision:
    return Decision(
        id=f"dec-{number}",
        at=clock.now(),
        last_at=clock.now(),
        playbook="failover",
        trigger="slo",
        target="chat/local/zone-a",
        outcome="refused",
        guards=(GuardVerdict(guard="halt", verdict=verdict, message=f"at {number}"),),
        values={"number": number},
    )


def test_the_same_decision_again_is_counted_for_five_minutes(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        for number in range(4):
            tx.decisions.record(decision(clock, number))
            clock.advance(100.0)
        rows = tx.decisions.list()
        assert [(row.id, row.count) for row in rows] == [("dec-3", 1), ("dec-0", 3)]
        assert rows[1].values == {"number": 0}
        tx.decisions.record(decision(clock, 5, Verdict.WAIT))
        assert tx.decisions.count(playbook="failover", target="chat/local/zone-a") == 3
        assert tx.decisions.list(run="run-1") == []
        assert tx.decisions.get("dec-0").guards[0].message == "at 0"


# ── Ledger, faults, halts ──────────────────────────────────────────────────────────────────────────────────


def test_claims_are_released_when_the_target_is_seen_in_service(database: Database) -> None:
    with database.transaction() as tx:
        tx.ledger.claim(ZONE_A, Dimension.TRAFFIC, "run-1", "failover")
        tx.ledger.claim(ZONE_A, Dimension.TRAFFIC, "run-1")
        tx.ledger.claim(ZONE_B, Dimension.CAPACITY, "fault-1")
        assert len(tx.ledger.list()) == 2
        assert list(tx.ledger.reconcile({ZONE_A}, keep={"run-1"})) == []
        assert [row.target for row in tx.ledger.reconcile({ZONE_A})] == [str(ZONE_A)]
        assert tx.ledger.release(holder="fault-1", dimension=Dimension.TRAFFIC) == 0
        assert tx.ledger.release(target=ZONE_B) == 1
        with pytest.raises(ValueError, match="nobody's wish"):
            tx.ledger.release()


def test_faults_are_reaped_when_they_outlive_their_drill(database: Database, clock: VirtualClock) -> None:
    fault = FaultRecord(
        id="fault-1",
        kind="zone.gray",
        drill="gray",
        service="chat",
        targets=("chat/local/zone-a",),
        state=FaultState.PLANNED,
        undo={"remove": True},
        expires_at=clock.now() + timedelta(seconds=60),
        created_at=clock.now(),
    )
    with database.transaction() as tx:
        tx.faults.add(fault)
        assert list(tx.faults.expired()) == []
    clock.advance(60.0)
    with database.transaction() as tx:
        assert [each.id for each in tx.faults.expired()] == ["fault-1"]
        tx.faults.update("fault-1", undo={"remove": "all"})
        assert tx.faults.get("fault-1").undo == {"remove": "all"}
        for state in (FaultState.ARMED, FaultState.INJECTING, FaultState.INJECTED, FaultState.VERIFIED):
            move(tx, tx.faults.get("fault-1"), state)
        standing = tx.faults.get("fault-1")
        assert (standing.injected_at, standing.verified_at) == (clock.now(), clock.now())
        assert [each.id for each in tx.faults.list(open=True, service="chat")] == ["fault-1"]
        assert tx.faults.list(open=False) == []


def test_a_halt_holds_until_it_expires_or_is_lifted(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        for id_, expires in (("halt-1", None), ("halt-2", clock.now() + timedelta(seconds=60))):
            halt = Halt(id=id_, reason="stop", by="ada", created_at=clock.now(), expires_at=expires)
            tx.halts.add(halt)
        assert len(tx.halts.in_force()) == 2
    clock.advance(60.0)
    with database.transaction() as tx:
        assert [halt.id for halt in tx.halts.in_force()] == ["halt-1"]
        lifted = tx.halts.lift("halt-1")
        clock.advance(1.0)
        assert tx.halts.lift("halt-1") == lifted
        assert tx.halts.in_force() == []
        assert len(tx.halts.list()) == 2


# ── Undo, journal, events, snapshots, tokens, leases ───────────────────────────────────────────────────────


def test_before_is_written_once_and_records_are_listed_by_their_first_effects(
    database: Database, clock: VirtualClock
) -> None:
    with database.transaction() as tx:
        tx.runs.add(new_run(clock), {})
        tx.undo.intend("run-1", "shift", Change(ZONE_A, "weight", 100, 50))
        tx.undo.applied("run-1", "shift", Change(ZONE_A, "weight", 100, 50))
        tx.undo.intend("run-1", "shift", Change(ZONE_A, "weight", 50, 0))
        tx.undo.intend("run-1", "later", Change(ZONE_B, "weight", None, 1))
        assert [(each.step, each.before) for each in tx.undo.pending("run-1")] == [
            ("shift", 100),
            ("later", None),
        ]
        tx.undo.settle("run-1", "later", str(ZONE_B), "weight", UndoStatus.UNDONE, "back")
        (ramp,) = tx.undo.pending("run-1")
        assert (ramp.before, ramp.applied, ramp.intended) == (100, 50, 0)
        assert [ramp.is_ours(weight) for weight in (50, 0, 100)] == [True, True, False]
        tx.undo.keep("run-1", "it succeeded")
        assert tx.undo.pending("run-1") == []
        assert tx.undo.count("run-1", UndoStatus.KEPT, UndoStatus.UNDONE) == 2


def test_events_go_on_after_the_old_ones_are_gone(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        assert tx.events.bounds() == (0, 0)
        tx.emit("run", "run-1")
    clock.advance(60.0)
    with database.transaction() as tx:
        assert tx.events.prune(clock.now()) == 1
        tx.emit("run", "run-2")
        assert tx.events.bounds() == (2, 2)
        assert [event.ref for event in tx.events.after(1)] == ["run-2"]


def test_the_signals_are_the_controllers_last(database: Database, clock: VirtualClock) -> None:
    reader = StoreSignals(database)
    assert reader.latest("chat") is None
    snapshot = SignalsSnapshot(at=clock.now(), evaluated_at=clock.now(), sources={"prometheus": "fresh"})
    with database.transaction() as tx:
        tx.snapshots.put(SIGNALS, snapshot.model_dump(mode="json", by_alias=True), service="chat")
        assert tx.snapshots.at(SIGNALS) == clock.now()
    assert reader.latest("chat") == snapshot
    assert reader.latest("other") is None


def test_a_login_token_is_taken_once(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        tx.tokens.add("d1", "login", "ada", clock.now() + timedelta(seconds=60))
        tx.tokens.add("d2", "session", "ada", clock.now() + timedelta(seconds=60))
        assert tx.tokens.take("d2") is None
        assert tx.tokens.take("d1") is not None
        assert tx.tokens.take("d1") is None
        assert tx.tokens.find("d1") is None
        assert [token.digest for token in tx.tokens.of_kind("session")] == ["d2"]
    clock.advance(60.0)
    with database.transaction() as tx:
        assert tx.tokens.find("d2") is None
        assert tx.tokens.drop("d2")
        assert not tx.tokens.drop("d2")


def test_one_leads_and_a_new_leader_has_a_higher_fence(database: Database, clock: VirtualClock) -> None:
    with database.transaction() as tx:
        first = tx.leases.acquire("controller", "one")
        assert first is not None
        assert tx.leases.acquire("controller", "two") is None
        assert tx.leases.acquire("controller", "one") == first
        tx.leases.check("controller", first.fence)
    clock.advance(16.0)
    with database.transaction() as tx:
        with pytest.raises(Fenced):
            tx.leases.check("controller", first.fence)
        second = tx.leases.acquire("controller", "two")
        assert second is not None
        assert second.fence == first.fence + 1
        tx.leases.release("controller", "two")
        third = tx.leases.acquire("controller", "one")
        assert third is not None
        assert third.fence == second.fence + 1
