"""``drill.start``: a drill as a step of a playbook, so that drills can be scheduled, chained and gated.

It starts the drill as `fleetward drill run` does, once, and waits for its verdict without holding a
worker. What the drill breaks it answers for itself: preconditions, halts, freezes, blast radius and
the expiry of its faults hold it as ever. It does not say when a drill is due; triggers do.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

from pydantic import Field

from chaos.drills.children import find_child, stop_and_wait, told
from chaos.drills.compile import check_drill, start_drill
from chaos.drills.conclude import conclude_cut_short
from chaos.drills.library import find_named, shipped_drills
from chaos.drills.ports import DrillPorts
from controlplane.kernel.errors import InvalidInput, Refused
from controlplane.model.action import (
    Action,
    ActionContext,
    Change,
    Dimension,
    Touch,
    UndoRecord,
    UndoResult,
    UndoStatus,
)
from controlplane.model.base import Model, Name
from controlplane.model.drill import Drill
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.records import Run
from controlplane.model.report import DrillVerdict
from controlplane.model.states import is_final
from controlplane.store.database import Database
from controlplane.store.transaction import Transaction

FIELD = "drill"
EVERY = 2.0
"""Seconds between two looks at a drill under way."""
TOLD = ("verdict", "reasons", "timeToMitigate", "effectiveTokensKept")
"""What of a drill's result later steps can use."""


class DrillParameters(Model):
    """Parameters of `drill.start`."""

    drill: Name = Field(description="the name of a drill that is shipped, or applied as a document")


class StartDrill(Action[DrillParameters]):
    """Run a drill, and wait for its verdict: any but `passed` fails the step.

    The drill is a run of its own, with its own report. It must be about the playbook's service. While
    another drill of the service is under way the step fails for the moment, and `retry` may help. Give
    the step a `timeout` longer than the drill: a step that ends before it, or is cancelled, cancels the
    drill, which takes its faults back.

    ```yaml
    uses: drill.start
    with: {drill: zone-outage}
    timeout: 20m
    ```
    """

    name: ClassVar[str] = "drill.start"
    parameters: ClassVar[type[Model]] = DrillParameters
    reversible: ClassVar[bool] = True
    references: ClassVar[dict[str, str]] = {"drill": "Drill"}
    outputs: ClassVar[dict[str, str]] = {
        "run": "the drill's run",
        "verdict": "passed; failed, inconclusive and aborted fail this step",
        "reasons": "why",
        "timeToMitigate": "seconds from the injection until clients were well again; null when they were not",
        "effectiveTokensKept": "the share of the planned tokens that came right and in time; null: not known",
    }

    def shipped(self, kind: str) -> Collection[str]:
        return shipped_drills() if kind == "Drill" else ()

    def touches(self, parameters: DrillParameters, context: ActionContext) -> list[Touch]:
        """Nothing yet: the drill's own steps claim what they break."""
        _wanted(parameters, context)
        return [Touch(context.service.target, Dimension.NOTHING)]

    def plan(self, parameters: DrillParameters, context: ActionContext) -> list[Change]:
        return [Change(context.service.target, FIELD, None, _wanted(parameters, context).name)]

    def run(self, parameters: DrillParameters, context: ActionContext) -> Outcome:
        database, ports = context.port(Database), context.port(DrillPorts)
        with database.reading() as tx:
            run = _child(tx, context)
        if run is None:
            drill = _wanted(parameters, context)
            check_drill(drill, ports)
            try:
                with (
                    context.effect(Change(context.service.target, FIELD, None, drill.name)),
                    database.transaction() as tx,
                ):
                    run = start_drill(tx, drill, ports, started_by=_starter(context))
            except Refused as error:
                return Failed(FailureKind.TRANSIENT, str(error))
            context.note(f"drill {drill.name} was started as {run.id}", drill=run.id)
        if not is_final(run.state):
            return Again(EVERY, reason=f"drill {told(run)}")
        return _concluded(database, ports, run)

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        run = stop_and_wait(context, lambda tx: _child(tx, context), _starter(context))
        ended = run is None or is_final(run.state)
        return UndoResult(UndoStatus.UNDONE if ended else UndoStatus.FAILED, told(run))


def _starter(context: ActionContext) -> str:
    return f"run/{context.run_id}/{context.step_id}"


def _child(tx: Transaction, context: ActionContext) -> Run | None:
    return find_child(tx, context.run_id, "drill", _starter(context))


def _wanted(parameters: DrillParameters, context: ActionContext) -> Drill:
    with context.port(Database).reading() as tx:
        drill = find_named(tx, parameters.drill)
    if drill.spec.service != context.service.name:
        about = (
            f"drill {drill.name} is about service {drill.spec.service}, this run about {context.service.name}"
        )
        raise InvalidInput(about, hint="start it from a playbook of that service")
    return drill


def _concluded(database: Database, ports: DrillPorts, run: Run) -> Outcome:
    """Return what an ended drill came to; of one that was cut short the report is written now."""
    if not run.result.get("verdict"):
        conclude_cut_short(database, ports, run.id)
        with database.reading() as tx:
            run = tx.runs.get(run.id)
    found = {"run": run.id, **{name: run.result.get(name) for name in TOLD}}
    if found["verdict"] == DrillVerdict.PASSED:
        return Done(found)
    why = "; ".join(found["reasons"] or ()) or run.reason or "it has no report"
    return Failed(FailureKind.PERMANENT, f"drill {run.name} ({run.id}): {found['verdict']}: {why}", found)
