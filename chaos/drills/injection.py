"""``drill.inject`` and ``drill.revert``: the fault's life, driven by the drill's run.

The targets are drawn before the step starts, so that the blast-radius guard judges exactly what is
hit; they are frozen in the ledger. The undo of the run (failure, cancel, halt) is the same revert
that the last step makes, the reaper, and the command line.
"""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from pydantic import Field

from chaos.drills.case import Case, Reverted, case_of, fault_id
from chaos.drills.compile import GRACE, inject_step
from chaos.drills.conclude import conclude_cut_short
from chaos.drills.exercise import wait_ended
from chaos.drills.preconditions import EVERY, NoParameters
from chaos.drills.targets import choose
from controlplane.kernel.errors import NotFound
from controlplane.model.action import (
    Action,
    ActionContext,
    Change,
    Touch,
    UndoRecord,
    UndoResult,
    UndoStatus,
)
from controlplane.model.base import Model
from controlplane.model.drill import FaultSpec
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.records import FaultRecord
from controlplane.model.states import FaultState
from controlplane.model.target import Target

VERIFY_WITHIN = 12.0
"""Seconds within which a fault must be seen in effect; later it is taken back unseen."""
REVERT_WITHIN = 90.0
"""Seconds for which the run waits for its faults to be seen clear; the reaper goes on after it."""
UNDO_PATIENCE = 5.0
"""Seconds that an undo may hold a worker, well under a lease."""
FIELD = "fault"


class InjectParameters(Model):
    """Which of the drill's faults."""

    fault: str = Field(description="the fault's name in the drill")


class InjectFault(Action[InjectParameters]):
    """Puts one of the drill's faults in force and waits until its effect is seen from outside.

    The undo, the expiry and the claim on what is out of service are stored first. A fault whose
    effect is not seen in time is left to the revert, and the drill is inconclusive.
    """

    name: ClassVar[str] = "drill.inject"
    parameters: ClassVar[type[Model]] = InjectParameters
    reversible: ClassVar[bool] = True
    outputs: ClassVar[dict[str, str]] = {
        "fault": "the fault's id in the ledger; null when there was no target and none was needed",
        "targets": "what was hit",
        "verified": "whether the effect was seen at the target",
        "detail": "what was seen",
    }

    def touches(self, parameters: InjectParameters, context: ActionContext) -> list[Touch]:
        case = case_of(context)
        targets = _targets(case, _spec(case, parameters.fault))
        dimension = case.ports.faults.get(_spec(case, parameters.fault).kind).dimension
        return [Touch(target, dimension) for target in targets]

    def plan(self, parameters: InjectParameters, context: ActionContext) -> list[Change]:
        case = case_of(context)
        spec = _spec(case, parameters.fault)
        return [Change(target, FIELD, None, spec.kind) for target in _targets(case, spec)]

    def run(self, parameters: InjectParameters, context: ActionContext) -> Outcome:
        case = case_of(context)
        spec = _spec(case, parameters.fault)
        ready = case.ready
        wait = (ready.at if ready else 0.0) + spec.start_after - context.clock.now().timestamp()
        if wait > 0 and not context.state:
            return Again(wait, reason=f"{spec.name} starts {spec.start_after:g} s after the drill")
        targets = _targets(case, spec)
        if not targets and spec.empty_targets == "skip":
            return Done({"fault": None, "targets": [], "verified": False, "detail": "no target, skipped"})
        if not targets:
            return Failed(
                FailureKind.PERMANENT, f"no target for fault `{spec.name}`: its selector matches none"
            )
        fault = case.life.plan(_record(case, spec, targets, context))
        if not context.state.get("injected"):
            case.life.arm(fault.id)
            with context.effect(Change(targets[0], FIELD, None, fault.id)):
                case.life.inject(fault.id)
        seen = case.life.verify(fault.id)
        waited = (context.clock.now() - fault.created_at).total_seconds()
        if not seen.yes and waited < VERIFY_WITHIN:
            return Again(0.5, {"injected": True}, seen.detail)
        context.note(f"{spec.kind} on {', '.join(fault.targets)}: {seen.detail}", fault=fault.id)
        found = {"fault": fault.id, "targets": list(fault.targets)}
        return Done({**found, "verified": seen.yes, "detail": seen.detail})

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        case = case_of(context)
        ours = str(record.intended)
        deadline = context.clock.monotonic() + UNDO_PATIENCE
        fault = case.life.revert(ours, "the drill's run is undone")
        while fault.state is not FaultState.VERIFIED_CLEAR and context.clock.monotonic() < deadline:
            context.clock.sleep(0.5)
            fault = case.life.revert(ours, "the drill's run is undone")
        if fault.state is FaultState.VERIFIED_CLEAR:
            _give_back(case, fault)
        conclude_cut_short(case.database, case.ports, case.run.id)
        how = f"{ours} is {fault.state}: {fault.detail}"
        if fault.state in {FaultState.RECOVERED, FaultState.VERIFIED_CLEAR}:
            return UndoResult(UndoStatus.UNDONE, how)
        return UndoResult(UndoStatus.FAILED, f"{how}; the reaper goes on")


class RevertFaults(Action[NoParameters]):
    """Takes back every fault of the drill and waits until none is seen any more; ends its exercise."""

    name: ClassVar[str] = "drill.revert"
    parameters: ClassVar[type[Model]] = NoParameters
    outputs: ClassVar[dict[str, str]] = {
        "clearedAt": "when the last fault was seen clear or the exercise ended, unix seconds; or null",
        "standing": "what still stands",
    }

    def run(self, parameters: NoParameters, context: ActionContext) -> Outcome:
        case = case_of(context)
        if case.drill.spec.exercise is not None:
            return wait_ended(case, context)
        faults = [case.life.revert(fault.id, "the drill is over") for fault in case.faults]
        open_ones = [fault for fault in faults if fault.state is not FaultState.VERIFIED_CLEAR]
        waited = (context.clock.now() - context.started_at).total_seconds()
        if open_ones and waited < REVERT_WITHIN:
            return Again(
                EVERY, reason="; ".join(f"{one.id} is {one.state}: {one.detail}" for one in open_ones)
            )
        _settle_undo(case, faults)
        for fault in faults:
            if fault.state is FaultState.VERIFIED_CLEAR:
                _give_back(case, fault)
        cleared = [one.cleared_at.timestamp() for one in faults if one.cleared_at is not None]
        reverted = Reverted(
            cleared_at=max(cleared) if cleared and not open_ones else None,
            standing=tuple(f"{one.kind} on {', '.join(one.targets)} ({one.state})" for one in open_ones),
        )
        return Done(reverted.model_dump(mode="json", by_alias=True))


def _spec(case: Case, name: str) -> FaultSpec:
    found = next((one for one in case.drill.spec.faults if one.name == name), None)
    if found is None:
        raise NotFound(f"{case.drill.name} has no fault `{name}`")
    return found


def _targets(case: Case, spec: FaultSpec) -> list[Target]:
    """Return the frozen targets of a fault that is in the ledger, else draw them."""
    with case.database.reading() as tx:
        known = tx.faults.find(fault_id(case.run.id, spec.name))
    if known is not None:
        return [Target.parse(target) for target in known.targets]
    level = case.ports.faults.get(spec.kind).level
    fleet = [one for one in case.ports.driver.targets() if case.service.target.contains(one)]
    return choose(spec, level, fleet, case.run.id)


def _record(case: Case, spec: FaultSpec, targets: list[Target], context: ActionContext) -> FaultRecord:
    now = context.clock.now()
    return FaultRecord(
        id=fault_id(case.run.id, spec.name),
        kind=spec.kind,
        drill=case.drill.name,
        run=case.run.id,
        service=case.service.name,
        targets=tuple(str(target) for target in targets),
        state=FaultState.PLANNED,
        parameters=spec.parameters,
        expires_at=now + timedelta(seconds=spec.duration + GRACE),
        created_at=now,
    )


def _give_back(case: Case, fault: FaultRecord) -> None:
    """Release what the run claimed for a fault that is seen clear; the fault's own claim is gone already.

    What a playbook took out to answer it stays out, and claimed, until that is given back.
    """
    with case.database.transaction() as tx:
        for target in fault.targets:
            tx.ledger.release(holder=case.run.id, target=target)


def _settle_undo(case: Case, faults: list[FaultRecord]) -> None:
    """Note that the run has nothing left to take back for what is seen clear."""
    clear = {one.id for one in faults if one.state is FaultState.VERIFIED_CLEAR}
    steps = {fault_id(case.run.id, spec.name): inject_step(spec) for spec in case.drill.spec.faults}
    with case.database.transaction() as tx:
        for view in tx.undo.list(case.run.id):
            if view.field == FIELD and view.intended in clear and view.status is UndoStatus.PENDING:
                step = steps[str(view.intended)]
                detail = "taken back by the drill itself"
                tx.undo.settle(case.run.id, step, view.target, FIELD, UndoStatus.UNDONE, detail)
                tx.journal.write(case.run.id, "undo.undone", f"{FIELD} of {view.target}: {detail}", step=step)
