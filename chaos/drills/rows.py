"""What the control plane's own rows say of a drill: reported beside the verdict, never part of it.

Who noticed and when, which playbook fired, how long each fault stood, and what still stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from chaos.drills.case import Case
from chaos.faults.life import holder_of
from controlplane.kernel.clock import from_unix
from controlplane.kernel.errors import Unavailable
from controlplane.model.records import Incident, Run
from controlplane.model.report import ExerciseReport, FaultReport
from controlplane.model.states import FaultState, RunState
from controlplane.model.target import Target
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Detection:
    """Who noticed: the first incident on what was hit, and the playbook: the expected one, else the first."""

    detected_at: datetime | None = None
    playbook: str | None = None
    playbook_run: str | None = None


def detection(case: Case) -> Detection:
    """Return who noticed after the fault was armed, on a target that contains what was hit or lies in it."""
    if case.exercise is not None:
        return Detection(None, case.exercise.name, case.exercise.id)
    if case.armed_at is None:
        return Detection()
    since = from_unix(case.armed_at)
    with case.database.reading() as tx:
        incidents = [
            one
            for one in tx.incidents.list(service=case.service.name)
            if one.opened_at >= since and _concerns(case, one)
        ]
        runs = _playbook_runs(case, tx, since)
    noticed = min((one.fired_at or one.opened_at for one in incidents), default=None)
    expected = case.drill.spec.recovery.playbook
    first = min(runs, key=lambda one: (one.name != expected, one.created_at), default=None)
    return Detection(noticed, first.name if first else None, first.id if first else None)


def not_yet_run(case: Case) -> tuple[str, ...]:
    """List the playbooks that must bring back what was changed, and have not done so since the fault."""
    wanted = case.drill.spec.recovery.then
    if not wanted or case.armed_at is None:
        return ()
    with case.database.reading() as tx:
        runs = _playbook_runs(case, tx, from_unix(case.armed_at))
    done = {one.name for one in runs if one.state is RunState.SUCCEEDED}
    return tuple(name for name in wanted if name not in done)


def _playbook_runs(case: Case, tx: Transaction, since: datetime) -> list[Run]:
    """Return the runs of playbooks since then that are about what was hit."""
    query = RunQuery(kind="playbook", service=case.service.name, created_after=since)
    return [one for one in tx.runs.list(query) if _concerns(case, one)]


def _concerns(case: Case, record: Incident | Run) -> bool:
    if record.target is None:
        return False
    target = Target.parse(record.target)
    return any(target.overlaps(one) for one in case.targets)


def fault_reports(case: Case) -> tuple[FaultReport, ...]:
    """Return each fault as it went, in the order they were armed."""
    return tuple(
        FaultReport(
            id=one.id,
            name=one.id.rpartition("-")[2],
            kind=one.kind,
            targets=one.targets,
            parameters=one.parameters,
            injected_at=one.injected_at if one.verified_at is not None else None,
            cleared_at=one.cleared_at,
            detail=one.detail,
        )
        for one in sorted(case.faults, key=lambda one: one.created_at)
    )


def still_out(case: Case) -> tuple[str, ...]:
    """List what was hit and is out of service still, through whomever: a replica that was isolated for it."""
    with case.database.reading() as tx:
        claims = tx.ledger.list()
    return tuple(
        f"{one.target} is out of service ({one.dimension}), held by {one.holder}"
        for one in claims
        if any(Target.parse(one.target).overlaps(hit) for hit in case.targets)
    )


def leftovers(case: Case) -> tuple[str, ...]:
    """List what still stands of this drill: faults, claims on what was hit, other weights."""
    with case.database.reading() as tx:
        faults = tx.faults.list(run=case.run.id)
        claims = tx.ledger.list()
    found = [
        f"{one.kind} on {', '.join(one.targets)} is {one.state}"
        for one in faults
        if one.state is not FaultState.VERIFIED_CLEAR
    ]
    ours = {case.run.id, *(holder_of(one.id) for one in faults)}
    ours |= {case.exercise.id} if case.exercise is not None else set()
    found += [
        f"{one.target} is out of service ({one.dimension}), held by {one.holder}"
        for one in claims
        if one.holder in ours or any(Target.parse(one.target).overlaps(hit) for hit in case.targets)
    ]
    return (*found, *_weights_left(case))


def _weights_left(case: Case) -> list[str]:
    begun = case.faults or case.exercise is not None
    if case.ready is None or not case.ready.met or not begun:
        return []
    before = case.ready.weights
    try:
        now = case.ports.evidence.weights()
    except Unavailable as error:
        return [f"nobody can tell whether the weights are as before: {error}"]
    return [
        f"{zone} has weight {now.get(zone)}, it had {weight}"
        for zone, weight in sorted(before.items())
        if now.get(zone) != weight
    ]


def exercise_report(case: Case) -> ExerciseReport | None:
    """Return how the exercise went; None for a drill without one, or when it was not started."""
    run = case.exercise
    if run is None:
        return None
    return ExerciseReport(
        run=run.id,
        playbook=run.name,
        target=run.target or str(case.service.target),
        state=run.state,
        started_at=run.created_at,
        ended_at=run.ended_at,
        detail=run.reason,
    )
