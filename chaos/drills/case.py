"""One drill run as its steps see it: the pinned documents, the ports, and what earlier steps found.

What a step finds out for later ones is its outputs, each a small model here, so that a report can
be made from the rows by anybody, also when the run was cut short.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import Field, ValidationError

from chaos.drills.children import find_child
from chaos.drills.ports import DrillPorts
from chaos.drills.truth import Aim, Truth
from chaos.faults.life import FaultLife
from controlplane.kernel.errors import NotFound
from controlplane.model.action import ActionContext
from controlplane.model.base import Model
from controlplane.model.drill import Drill
from controlplane.model.policy import Policy
from controlplane.model.records import FaultRecord, Run
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.store.database import Database
from controlplane.store.transaction import Transaction

M = TypeVar("M", bound=Model)

LEAD = 5.0
"""Seconds of truth read before the steady stretch, so that its first window is whole."""


class Ready(Model):
    """Outputs of ``drill.preconditions``. Times are unix seconds."""

    met: bool
    verdict: str = Field(default="", description="aborted or inconclusive, when not met")
    reasons: tuple[str, ...] = ()
    steady_from: float = 0.0
    at: float = 0.0
    weights: dict[str, int] = Field(default_factory=dict)
    zone_shares: dict[str, float] = Field(default_factory=dict)
    values: dict[str, list[float | None]] = Field(default_factory=dict)


class Exercised(Model):
    """Outputs of ``drill.exercise``."""

    run: str | None = None
    reason: str = Field(default="", description="why it was not started")


class Observed(Model):
    """Outputs of ``drill.observe``. ``values``: what the continuous queries gave, by probe."""

    aborted: str | None = None
    reason: str = ""
    values: dict[str, list[float | None]] = Field(default_factory=dict)


class Judged(Model):
    """Outputs of ``drill.judge``: the state of things just before the fault is taken back."""

    judged_at: float
    mitigated_at: float | None = None
    in_time: bool = False


class Reverted(Model):
    """Outputs of ``drill.revert``."""

    cleared_at: float | None = None
    standing: tuple[str, ...] = ()


class Restored(Model):
    """Outputs of ``drill.restored``."""

    restored_from: float | None = None
    recovered_at: float | None = None
    ended_at: float = 0.0
    values: dict[str, list[float | None]] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Case:
    """A drill run, its documents, its ports, its faults in the ledger, and its steps' outputs so far."""

    run: Run
    drill: Drill
    service: Service
    policy: Policy | None
    database: Database
    ports: DrillPorts
    faults: Sequence[FaultRecord] = ()
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    exercise: Run | None = None
    """The run of the playbook that the drill runs instead of a fault, once it was started."""

    @property
    def life(self) -> FaultLife:
        return FaultLife(self.database, self.ports.faults, self.ports.driver)

    def found(self, step: str, model: type[M]) -> M | None:
        """Return what a step found; None when it did not get that far."""
        body = self.outputs.get(step)
        try:
            return model.model_validate(body) if body else None
        except ValidationError:
            return None

    @property
    def ready(self) -> Ready | None:
        return self.found("preconditions", Ready)

    @property
    def injected_at(self) -> float | None:
        """When the last fault was put in force, unix seconds; None unless all were seen in effect.

        The effect is seen some seconds after it begins, and the clients and the control plane
        meet it before that: times from here are never shorter than what they lived through. Of an
        exercise, when its run was started.
        """
        if self.exercise is not None:
            return self.exercise.created_at.timestamp()
        seen = [one.injected_at for one in self.faults if one.verified_at is not None and one.injected_at]
        return max(at.timestamp() for at in seen) if seen and len(seen) == len(self.faults) else None

    @property
    def armed_at(self) -> float | None:
        """When the first fault was about to be put in force, or the exercise was begun, unix seconds."""
        if self.exercise is not None:
            return self.exercise.created_at.timestamp()
        return min((one.created_at.timestamp() for one in self.faults), default=None)

    @property
    def ends_at(self) -> float | None:
        """When the first fault's duration is over, or the exercise is, unix seconds; all end then."""
        if self.exercise is not None:
            return _exercise_ends_at(self.exercise, self.drill)
        durations = {fault_id(self.run.id, spec.name): spec.duration for spec in self.drill.spec.faults}
        ends = [(one.injected_at or one.created_at).timestamp() + durations[one.id] for one in self.faults]
        return min(ends, default=None)

    @property
    def aim(self) -> Aim:
        names = {
            what: tuple(sorted({name for one in self.faults for name in one.undo.get(what, ())}))
            for what in Aim.model_fields
        }
        return Aim(**names)

    @property
    def targets(self) -> list[Target]:
        """Everything that was hit, each once."""
        return [Target.parse(text) for text in sorted({text for one in self.faults for text in one.targets})]

    def truth(self, since: float | None = None) -> Truth:
        """Return the clients' record, by default from a little before the steady stretch on."""
        ready = self.ready
        start = since if since is not None else (ready.steady_from if ready else 0.0) - LEAD
        return self.ports.evidence.truth(start, self.service.spec.effective)


def starter(drill: str) -> str:
    """Return who the exercise of a drill's run is started by: how it is found again."""
    return f"drill/{drill}"


def exercise_of(tx: Transaction, drill: str) -> Run | None:
    """Return the run of the playbook that a drill's run has started; None without one."""
    return find_child(tx, drill, "playbook", starter(drill))


def _exercise_ends_at(run: Run, drill: Drill) -> float:
    """Return when it ended, or by when it must have."""
    if run.ended_at is not None:
        return run.ended_at.timestamp()
    assert drill.spec.exercise is not None, "a run is started for an exercise only"  # noqa: S101
    return run.created_at.timestamp() + drill.spec.exercise.within


def fault_id(run: str, fault: str) -> str:
    """Return the id of a drill's fault: the same after a crash, and fit for a path."""
    return f"fault-{run.removeprefix('run-')}-{fault}"


def case_of(context: ActionContext) -> Case:
    """Return the case of the run that a step belongs to."""
    steps = context.scope.get("steps", {})
    outputs = {step: found["outputs"] for step, found in steps.items() if found["state"] == "succeeded"}
    return load_case(context.port(Database), context.port(DrillPorts), context.run_id, outputs)


def load_case(
    database: Database, ports: DrillPorts, run_id: str, outputs: Mapping[str, Any] | None = None
) -> Case:
    """Return the case of a run, with its steps' outputs from the rows unless they are given.

    Raises `NotFound` for a run that does not exist or is no drill.
    """
    with database.reading() as tx:
        run = tx.runs.get(run_id)
        if run.kind != "drill" or "Drill" not in run.pins:
            raise NotFound(f"{run_id} is not a drill")
        if outputs is None:
            outputs = {step.id: step.outputs for step in tx.steps.list(run_id)}
        drill = tx.documents.load(run.pins["Drill"])
        service = tx.documents.load(run.pins["Service"])
        policy = tx.documents.load(run.pins["Policy"]) if "Policy" in run.pins else None
        faults = tx.faults.list(run=run_id)
        exercise = exercise_of(tx, run_id) if isinstance(drill, Drill) and drill.spec.exercise else None
    if not isinstance(drill, Drill) or not isinstance(service, Service):
        raise NotFound(f"{run_id} does not pin a drill and a service")
    policy = policy if isinstance(policy, Policy) else None
    return Case(run, drill, service, policy, database, ports, faults, outputs, exercise)
