"""A fleet's last quarter of an hour, written into a database: what the console is looked at and tested with.

zone-b went gray in a drill that still runs; fail-over took its traffic off, and waits for the
canary before it gives it back. Before that: a drill that passed, one that failed, and incidents
in every state. Times are relative to ``now``, so that the picture is always fresh.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from controlplane.model.action import Change, Dimension, UndoStatus
from controlplane.model.overview import OVERVIEW
from controlplane.model.policy import Policy
from controlplane.model.records import Decision, GuardVerdict, Halt, Incident, Run, Verdict
from controlplane.model.states import IncidentState, RunState, StepState
from controlplane.model.target import Target
from controlplane.store import tables
from controlplane.store.transaction import Transaction
from tests.support import standing
from tests.support.console_fleet import FAILOVER, SHIFTED_AGO, ago, overview

ZONE_B = "chat/local/zone-b"
SIGNAL_B = f"slo:chat-tpot@{ZONE_B}"
FIRING, MITIGATED, RESOLVED, CHILD = "inc-firing", "inc-mitigated", "inc-resolved", "inc-child"


def tell(tx: Transaction) -> None:
    """Write the whole story but the drills (`tests.support.console_drills`)."""
    now = tx.now
    _policy(tx)
    _incidents(tx, now)
    _failover(tx, now)
    _past_runs(tx, now)
    tick(tx, now)
    standing.told(tx, now)


def tick(tx: Transaction, now: datetime) -> None:
    """Write the picture that the controller leaves at ``now``."""
    tx.snapshots.put(OVERVIEW, overview(now).model_dump(mode="json", by_alias=True), service="chat", at=now)


def halt(tx: Transaction, now: datetime) -> None:
    """Halt automation in one zone for an hour."""
    tx.halts.add(
        Halt(
            id="halt-1",
            service="chat",
            zone="zone-c",
            reason="Switch replacement in zone-c, change 4812",
            by="admin",
            created_at=now - timedelta(minutes=4),
            expires_at=now + timedelta(minutes=56),
        )
    )


def _policy(tx: Transaction) -> None:
    envelope = {"apiVersion": "fleetward.dev/v1", "kind": "Policy", "metadata": {"name": "policy"}}
    tx.documents.put(Policy.model_validate({**envelope, "spec": {"mode": "auto", "environment": "lab"}}))


# ── Incidents ───────────────────────────────────────────────────────────────────────────────────────────────


def _incident(tx: Transaction, incident: Incident, lines: list[tuple[float, IncidentState, str]]) -> None:
    """Write an incident as it is now, with the moves that led there (seconds ago, state, why)."""
    tx.add(tables.incidents, **incident.model_dump(by_alias=False))
    first = (tx.now - incident.opened_at).total_seconds()
    for seconds, state, why in [
        (first, IncidentState.PENDING, "out of its objective in 1 window of 2"),
        *lines,
    ]:
        line = {"at": ago(tx.now, seconds), "state": state.value, "message": why}
        tx.add(tables.incident_log, incident=incident.id, **line)


def _incidents(tx: Transaction, now: datetime) -> None:
    _zone_incidents(tx, now)
    _other_incidents(tx, now)


def _zone_incidents(tx: Transaction, now: datetime) -> None:
    _incident(
        tx,
        Incident(
            id=MITIGATED,
            signal=SIGNAL_B,
            service="chat",
            target=ZONE_B,
            state=IncidentState.MITIGATED,
            tier="fast",
            title="TPOT of zone-b over 50 ms",
            opened_at=ago(now, 91),
            fired_at=ago(now, 87),
            mitigated_at=ago(now, 66),
            changed_at=ago(now, 66),
            value=0.0694,
            objective=0.05,
            detail="clients are well while zone-b takes no traffic",
        ),
        [
            (87, IncidentState.FIRING, "TPOT p95 0.0694 s over 0.05 s in 2 windows of 2"),
            (66, IncidentState.MITIGATED, "clients are well while zone-b takes no traffic"),
        ],
    )
    _incident(
        tx,
        Incident(
            id=CHILD,
            signal="slo:chat-tpot@chat/local/zone-b/node-b1",
            service="chat",
            target="chat/local/zone-b/node-b1",
            state=IncidentState.FIRING,
            parent=MITIGATED,
            tier="fast",
            title="TPOT of node-b1 over 50 ms",
            opened_at=ago(now, 91),
            fired_at=ago(now, 89),
            changed_at=ago(now, 87),
            value=0.071,
            objective=0.05,
        ),
        [(89, IncidentState.FIRING, "TPOT p95 0.071 s over 0.05 s")],
    )


def _other_incidents(tx: Transaction, now: datetime) -> None:
    _incident(
        tx,
        Incident(
            id=FIRING,
            signal="slo:chat-availability@chat/local/zone-c/node-c2/replica-c2-1",
            service="chat",
            target="chat/local/zone-c/node-c2/replica-c2-1",
            state=IncidentState.FIRING,
            severity="ticket",
            tier="slow",
            title="replica-c2-1 does not answer",
            opened_at=ago(now, 40),
            fired_at=ago(now, 36),
            changed_at=ago(now, 36),
            value=0.0,
            objective=0.999,
        ),
        [(36, IncidentState.FIRING, "no request succeeded in 30 s")],
    )
    _incident(
        tx,
        Incident(
            id=RESOLVED,
            signal="slo:chat-ttft@chat/local/zone-a",
            service="chat",
            target="chat/local/zone-a",
            state=IncidentState.RESOLVED,
            tier="page",
            title="TTFT of zone-a over 1 s",
            opened_at=ago(now, 5400),
            fired_at=ago(now, 5388),
            mitigated_at=ago(now, 5330),
            resolved_at=ago(now, 5100),
            changed_at=ago(now, 5100),
            value=0.44,
            objective=1.0,
        ),
        [
            (5388, IncidentState.FIRING, "TTFT p95 1.84 s over 1 s"),
            (5330, IncidentState.MITIGATED, "clients are well while zone-a takes no traffic"),
            (5100, IncidentState.RESOLVED, "canary good for 30 s and weight restored"),
        ],
    )


# ── Runs ────────────────────────────────────────────────────────────────────────────────────────────────────

Step = tuple[str, str, StepState, float, float | None, dict[str, Any], str]


def write_run(tx: Transaction, run: Run, steps: list[Step]) -> None:
    tx.runs.add(run, {})
    tx.steps.add(run.id, [(id_, uses) for id_, uses, *_ in steps])
    for id_, _, state, began, ended, outputs, error in steps:
        started = None if state == StepState.PENDING else ago(tx.now, began)
        over = ago(tx.now, ended) if ended is not None else None
        due = tx.now + timedelta(seconds=4) if state == StepState.WAITING else None
        attempt = 0 if state == StepState.PENDING else 1
        values = {"attempt": attempt, "outputs": outputs, "error": error}
        tx.steps.update(
            run.id, id_, state=state.value, started_at=started, ended_at=over, due_at=due, **values
        )
        if started is not None:
            key = f"{run.id}/{id_}/1"
            tx.steps.begin_attempt(run.id, id_, 1, owner="worker-1", fence=run.fence, key=key)
            outcome = "failed" if error else "again" if state == StepState.WAITING else "done"
            tx.steps.end_attempt(run.id, id_, 1, outcome, error)
        line = {"run": run.id, "step": id_, "at": over or tx.now, "event": f"step.{state}", "data": outputs}
        if started is not None:
            tx.add(tables.journal, **line, message=error or f"the step is {state}")


def _failover(tx: Transaction, now: datetime) -> None:
    run = Run(
        id=FAILOVER,
        kind="playbook",
        name="zone-failover",
        service="chat",
        target=ZONE_B,
        signal=SIGNAL_B,
        incident=MITIGATED,
        trigger="slo",
        state=RunState.VERIFYING,
        fence=3,
        lease_owner="worker-1",
        waiting="chat-tpot of zone-b must be good for 30 s on samples after 12:04:31",
        inputs={"ramp": 5.0},
        group="service/chat",
        created_at=ago(now, 86),
        started_at=ago(now, 86),
        scope={"incident": {"zone": "zone-b", "value": 0.0694}, "service": {"name": "chat"}},
        pins={"Playbook": "9f2c6e1ab0d4" * 5, "Service": "41d0aa77c1e2" * 5, "Policy": "77b1f00d9a3c" * 5},
    )
    write_run(
        tx,
        run,
        [
            (
                "headroom",
                "capacity.check",
                StepState.SUCCEEDED,
                86,
                85.9,
                {"ratio": 1.21, "without": "zone-b"},
                "",
            ),
            ("shift", "traffic.shift", StepState.SUCCEEDED, 85.8, SHIFTED_AGO, {"from": 100, "to": 0}, ""),
            ("hold", "query.wait", StepState.WAITING, 79, None, {}, ""),
            ("tell", "notify.send", StepState.PENDING, 0, None, {}, ""),
        ],
    )
    change = Change(Target.parse(ZONE_B), "weight", before=100, intended=0)
    tx.undo.intend(run.id, "shift", change)
    tx.undo.applied(run.id, "shift", change)
    tx.ledger.claim(ZONE_B, Dimension.TRAFFIC, FAILOVER, "shifted away")
    tx.decisions.record(_decision(now, "dec-1", "run", FAILOVER, Verdict.ALLOW))
    tx.decisions.record(_decision(now, "dec-2", "refused", None, Verdict.REFUSE))


def _decision(now: datetime, id_: str, outcome: Any, run: str | None, last: Verdict) -> Decision:
    refused = last == Verdict.REFUSE
    said = (
        "zone-failover ran 6 s ago; once within 10 m" if refused else "no run for (chat, zone-b) within 10 m"
    )
    return Decision(
        id=id_,
        at=ago(now, 80 if refused else 86),
        last_at=ago(now, 62 if refused else 86),
        count=10 if refused else 1,
        playbook="zone-failover",
        trigger="slo chat-tpot fast by zone",
        signal=SIGNAL_B,
        incident=MITIGATED,
        target=ZONE_B,
        outcome=outcome,
        run=run,
        values={"tpotP95": 0.0694, "objective": 0.05, "samples": 214, "tier": "fast", "burn": 41.2},
        guards=(
            GuardVerdict(
                guard="halt", verdict=Verdict.ALLOW, message="nothing is halted", values={"halts": 0}
            ),
            GuardVerdict(guard="mode", verdict=Verdict.ALLOW, message="auto", values={"mode": "auto"}),
            GuardVerdict(guard="throttle", verdict=last, message=said, values={"onceWithin": "10m"}),
            GuardVerdict(
                guard="blastRadius",
                verdict=Verdict.ALLOW,
                message="1 of at most 1 zone would be out",
                values={"out": 1, "max": 1, "held": ["zone-b"]},
            ),
            GuardVerdict(
                guard="capacity",
                verdict=Verdict.ALLOW,
                message="the rest carries 1.21 times the load",
                values={"ratio": 1.21, "atLeast": 1.05},
            ),
        ),
    )


def _past_runs(tx: Transaction, now: datetime) -> None:
    states = [
        RunState.SUCCEEDED,
        RunState.FAILED,
        RunState.INCONCLUSIVE,
        RunState.CANCELLED,
        RunState.SUPERSEDED,
    ]
    reasons = {
        RunState.FAILED: "restart: the platform refused the write: version 7 was expected, 9 stands",
        RunState.INCONCLUSIVE: "verification: 12 of 30 samples; nobody can tell whether it helped",
        RunState.CANCELLED: "cancelled by admin: wrong replica",
        RunState.SUPERSEDED: "folded into the incident of zone-a",
    }
    for number, state in enumerate(states * 3):
        began = 4000 + number * 1700
        error = "version 7 was expected, 9 stands" if state == RunState.FAILED else ""
        run = Run(
            id=f"run-past-{number:02}",
            kind="playbook",
            name=("zone-failback", "replica-restart")[number % 2],
            service="chat",
            target=f"chat/local/zone-{'abc'[number % 3]}",
            trigger="incident",
            state=state,
            reason=reasons.get(state, ""),
            created_at=ago(now, began),
            started_at=ago(now, began),
            ended_at=ago(now, began - 48 - number),
            fence=1,
        )
        final = StepState.FAILED if error else StepState.SUCCEEDED
        write_run(tx, run, [("restart", "replica.restart", final, began, began - 40, {}, error)])
        if state in {RunState.FAILED, RunState.CANCELLED}:
            change = Change(Target.parse(f"{run.target}"), "weight", before=100, intended=25)
            tx.undo.intend(run.id, "restart", change)
            tx.undo.applied(run.id, "restart", change)
            status = UndoStatus.FOREIGN if number % 2 else UndoStatus.UNDONE
            said = "stands at 60: someone else has changed it" if number % 2 else ""
            tx.undo.settle(run.id, "restart", str(run.target), "weight", status, said)
