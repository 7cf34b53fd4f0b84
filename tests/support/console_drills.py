"""The told drills: one that runs, and one of each verdict."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from controlplane.model.records import FaultRecord, Run
from controlplane.model.report import (
    DrillReport,
    DrillVerdict,
    ExerciseReport,
    FaultReport,
    ProbeReport,
    StoredReport,
    TokensKept,
    YieldPoint,
    report_name,
)
from controlplane.model.states import FaultState, RunState, StepState
from controlplane.store.transaction import Transaction
from tests.support.console_fleet import INJECTED_AGO, ago
from tests.support.console_story import write_run

DRILL, PASSED, FAILED = "run-drill-now", "run-drill-passed", "run-drill-failed"
EXERCISE = "run-drill-exercise"
ZONE_B = "chat/local/zone-b"

REASONS = {
    DrillVerdict.PASSED: ("mitigated 21.4 s after the injection, 60 s allowed",),
    DrillVerdict.FAILED: ("not mitigated while the fault stood", "replica-c1-0 is still out of service"),
    DrillVerdict.INCONCLUSIVE: ("arrivals were late by 340 ms at p99, 100 ms allowed",),
    DrillVerdict.ABORTED: ("the effective share was below 0.50 for 10 s",),
}


def tell(tx: Transaction) -> None:
    """Write the drills."""
    _running_drill(tx, tx.now)
    _past_drills(tx, tx.now)
    _past_exercise(tx, tx.now)


def _running_drill(tx: Transaction, now: datetime) -> None:
    run = Run(
        id=DRILL,
        kind="drill",
        name="gray-zone",
        service="chat",
        trigger="manual",
        started_by="admin",
        state=RunState.RUNNING,
        created_at=ago(now, 130),
        started_at=ago(now, 128),
        fence=2,
        lease_owner="worker-1",
        waiting="the fault stands for another 25 s",
    )
    write_run(
        tx,
        run,
        [
            ("preconditions", "drill.preconditions", StepState.SUCCEEDED, 128, 112, {"steadyFor": 15}, ""),
            ("inject", "drill.inject", StepState.SUCCEEDED, 112, INJECTED_AGO, {"fault": "slow"}, ""),
            ("watch", "drill.watch", StepState.WAITING, 94, None, {}, ""),
            ("recover", "drill.recover", StepState.PENDING, 0, None, {}, ""),
        ],
    )
    tx.faults.add(_fault(DRILL, "gray-zone", ZONE_B, FaultState.VERIFIED, now, INJECTED_AGO, None))


def _fault(
    run: str, drill: str, target: str, state: FaultState, now: datetime, began: float, ended: float | None
) -> FaultRecord:
    return FaultRecord(
        id=f"fault-{run}",
        kind="zone.gray",
        drill=drill,
        run=run,
        service="chat",
        targets=(target,),
        state=state,
        parameters={"factor": 3.0},
        expires_at=ago(now, began - 120),
        created_at=ago(now, began + 2),
        injected_at=ago(now, began),
        verified_at=ago(now, began - 3),
        cleared_at=ago(now, ended) if ended is not None else None,
    )


def _past_drills(tx: Transaction, now: datetime) -> None:
    stories = (
        (PASSED, "zone-outage", DrillVerdict.PASSED, RunState.SUCCEEDED, 700.0),
        (FAILED, "hanging-engine", DrillVerdict.FAILED, RunState.FAILED, 90_000.0),
        ("run-drill-unclear", "gray-zone", DrillVerdict.INCONCLUSIVE, RunState.INCONCLUSIVE, 180_000.0),
        ("run-drill-aborted", "gray-zone", DrillVerdict.ABORTED, RunState.CANCELLED, 260_000.0),
    )
    for run_id, name, verdict, state, began in stories:
        fault = _fault(
            run_id, name, "chat/local/zone-c", FaultState.VERIFIED_CLEAR, now, began - 40, began - 100
        )
        tx.faults.add(fault)
        _ended(tx, _report(run_id, name, verdict, now, began), state)


def _past_exercise(tx: Transaction, now: datetime) -> None:
    """Write a drill that broke nothing: it ran a playbook, and nobody noticed."""
    began = 400_000.0
    exercise = ExerciseReport(
        run="run-past-00",
        playbook="scheduled-restart",
        target="chat/local",
        state=RunState.SUCCEEDED,
        started_at=ago(now, began - 40),
        ended_at=ago(now, began - 160),
    )
    report = _report(EXERCISE, "rolling-restart", DrillVerdict.PASSED, now, began)
    told = {
        "purpose": "Prove that restarting every replica costs no client an answer",
        "reasons": ("scheduled-restart succeeded after 120 s, and no client noticed",),
        "hypothesis": "A rolling restart costs no request.",
        "playbook_expected": "scheduled-restart",
        "playbook": "scheduled-restart",
        "faults": (),
        "exercise": exercise,
    }
    _ended(tx, report.model_copy(update=told), RunState.SUCCEEDED)


def _ended(tx: Transaction, report: DrillReport, state: RunState) -> None:
    tx.runs.add(
        Run(
            id=report.run,
            kind="drill",
            name=report.drill,
            service="chat",
            trigger="schedule",
            started_by="controller",
            state=state,
            created_at=report.started_at,
            started_at=report.started_at,
            ended_at=report.ended_at,
            result={"verdict": report.verdict.value},
        ),
        {},
    )
    page = f"<!doctype html><title>{report.drill}</title><h1>{report.drill}</h1>"
    stored = StoredReport(report=report, html=page, junit="<testsuites/>")
    tx.snapshots.put(report_name(report.run), stored.model_dump(mode="json", by_alias=True))


def _report(run: str, name: str, verdict: DrillVerdict, now: datetime, began: float) -> DrillReport:
    good = verdict == DrillVerdict.PASSED
    injected = began - 40
    return DrillReport(
        run=run,
        drill=name,
        purpose="Users keep their tokens when a zone goes",
        service="chat",
        environment="lab",
        verdict=verdict,
        reasons=REASONS[verdict],
        hypothesis="Losing one zone costs less than a tenth of the effective tokens of two minutes.",
        started_at=ago(now, began),
        ended_at=ago(now, began - 190),
        injected_at=ago(now, injected),
        detected_at=ago(now, injected - 8.2) if good else None,
        mitigated_at=ago(now, injected - 21.4) if good else None,
        recovered_at=ago(now, injected - 96) if good else None,
        recovery_within=60.0,
        playbook_expected="zone-failover",
        playbook="zone-failover" if good else None,
        playbook_run="run-past-00" if good else None,
        tokens=TokensKept(kept=0.942 if good else 0.671, effective=113_040, expected=120_000),
        probes=tuple(_probes(good)),
        faults=(
            FaultReport(
                id=f"fault-{run}",
                name="outage",
                kind="zone.outage",
                targets=("chat/local/zone-c",),
                parameters={"mode": "one"},
                injected_at=ago(now, injected),
                cleared_at=ago(now, injected - 60),
            ),
        ),
        deviations=() if good else ("the injection took 6.1 s instead of 2 s",),
        leftovers=()
        if verdict != DrillVerdict.FAILED
        else ("chat/local/zone-c/node-c1/replica-c1-0 out of service",),
        yield_=tuple(_yield(now, began)),
    )


def _yield(now: datetime, began: float) -> Iterator[YieldPoint]:
    for second in range(0, 190, 2):
        share = 0.62 if 41 < second < 62 else 0.985
        yield YieldPoint(at=ago(now, began - second), effective_share=share + 0.002 * (second % 5))


def _probes(good: bool) -> list[ProbeReport]:
    share = {"name": "effective share", "tolerance": "at least 95 %"}
    first = {"name": "first token", "tolerance": "within 10 s"}
    return [
        ProbeReport(**share, phase="before", good=True, value=0.991, samples=148),
        ProbeReport(
            **share, phase="during", good=None, value=None, detail="not asked: it is expected to dip"
        ),
        ProbeReport(**share, phase="after", good=good, value=0.988 if good else 0.873, samples=151),
        ProbeReport(**first, phase="during", good=True, value=3.2, samples=602, worst=3.2),
    ]
