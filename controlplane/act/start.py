"""Starting a run: the rows that make it exist, in the caller's transaction.

Whoever decides (the controller, an operator, a drill) calls `start_run` in the transaction
that records the decision; the wake-up is sent after the commit, and the sweeper covers its
loss. It judges no guards: those are the decider's. It executes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from controlplane.act.cancel import request_stop
from controlplane.act.plan import RunPlan
from controlplane.act.scope import incident_scope
from controlplane.kernel.durations import parse_duration
from controlplane.kernel.errors import InvalidInput, Refused
from controlplane.kernel.ids import new_id
from controlplane.kernel.registry import did_you_mean
from controlplane.kernel.templating import render
from controlplane.model.base import Quantity
from controlplane.model.playbook import Input, Playbook
from controlplane.model.records import Incident, Run, RunKind, StepRecord
from controlplane.model.service import Service
from controlplane.model.states import RunState
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

Wake = Callable[[str], None]
"""Sends a run's id to whoever works. May raise `Unavailable`; losing or doubling it is harmless."""


@dataclass(frozen=True, slots=True)
class StartRequest:
    """All that a run is made of. ``pins`` names the revisions it executes, ``Service`` at least."""

    kind: RunKind
    name: str
    service: str
    plan: RunPlan
    pins: Mapping[str, str]
    target: str | None = None
    signal: str | None = None
    incident: str | None = None
    trigger: str = "manual"
    started_by: str = "controller"
    reason: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    scope: Mapping[str, Any] = field(default_factory=dict)
    """``incident`` and ``limits`` as expressions see them, JSON values."""
    group: str | None = None
    on_conflict: Literal["queue", "skip", "replace"] = "queue"
    retry_of: str | None = None
    undo_of: str | None = None
    cause: str | None = None
    """The run that ends without success, in the same transaction, and is followed by this one."""
    carried: Mapping[str, StepRecord] = field(default_factory=dict)
    """Steps that an earlier run has done, by id: they are not done again."""
    effect_at: datetime | None = None
    """When they last changed something outside."""

    @classmethod
    def of_playbook(
        cls,
        playbook: Playbook,
        service: Service,
        pins: Mapping[str, str],
        *,
        target: str | None = None,
        incident: Incident | None = None,
        inputs: Mapping[str, Any] | None = None,
        limits: Mapping[str, Any] | None = None,
        alone: bool = True,
        **more: Any,
    ) -> StartRequest:
        """Make the request of a playbook: inputs checked and completed, the concurrency group rendered.

        ``more``: trigger, started_by, reason. Raises `InvalidInput` for inputs that it does not take.
        """
        where = incident.target if incident is not None else target
        scope = {"incident": incident_scope(where, incident, alone=alone), "limits": dict(limits or {})}
        resolved = resolve_inputs(playbook.spec.inputs, inputs or {})
        concurrency = playbook.spec.concurrency
        names = {**scope, "service": service, "inputs": resolved}
        return cls(
            kind="playbook",
            name=playbook.name,
            service=service.name,
            plan=RunPlan.of_playbook(playbook),
            pins=pins,
            target=where,
            signal=incident.signal if incident is not None else None,
            incident=incident.id if incident is not None else None,
            inputs=resolved,
            scope=scope,
            group=None if concurrency is None else str(render(concurrency.group, names)),
            on_conflict="queue" if concurrency is None else concurrency.on_conflict,
            **more,
        )


def start_run(tx: Transaction, request: StartRequest, wake: Wake | None = None) -> Run:
    """Write the run and its steps, due at once, and return it.

    ``onConflict: skip`` raises `Refused` while a run of the group is active; ``replace`` asks
    the active ones to cancel and queues behind them.
    """
    if "Service" not in request.pins:
        msg = f"a run of {request.name} must pin its Service"
        raise InvalidInput(msg)
    tx.documents.check(request.pins["Service"])
    _settle_conflict(tx, request, wake)
    run = Run(
        id=new_id("run"),
        kind=request.kind,
        name=request.name,
        service=request.service,
        target=request.target,
        signal=request.signal,
        incident=request.incident,
        trigger=request.trigger,
        started_by=request.started_by,
        state=RunState.QUEUED,
        inputs=dict(request.inputs),
        scope={"incident": incident_scope(request.target), **request.scope},
        pins=dict(request.pins),
        group=request.group,
        retry_of=request.retry_of,
        undo_of=request.undo_of,
        cause=request.cause,
        due_at=tx.now,
        effect_at=request.effect_at,
        created_at=tx.now,
    )
    tx.runs.add(run, request.plan.to_json())
    tx.steps.add(run.id, [(step.id, step.uses) for step in request.plan.steps], request.carried)
    message = request.reason or f"{request.trigger} started {request.name}"
    tx.journal.write(run.id, "run.queued", message, by=request.started_by, target=request.target)
    if wake is not None:
        tx.runs.mark_sent([run.id])
        tx.after_commit(lambda: wake(run.id))
    return run


def resolve_inputs(declared: Mapping[str, Input], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return every declared input's value; raise `InvalidInput` for unknown, missing or mistyped ones."""
    for name in given:
        if name not in declared:
            msg = f"unknown input `{name}`"
            raise InvalidInput(msg, hint=did_you_mean(name, list(declared)))
    resolved = {}
    for name, kind in declared.items():
        value = given.get(name, kind.default)
        if value is None:
            msg = f"input `{name}` is missing"
            raise InvalidInput(msg, hint=kind.description or None)
        resolved[name] = _typed(name, kind, value)
    return resolved


def _typed(name: str, kind: Input, value: Any) -> Any:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind.type:
        case "number" if number:
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "string" if isinstance(value, str):
            return value
        case "duration" if isinstance(value, str):
            parse_duration(value)
            return value
        case "quantity" if isinstance(value, str | int) and not isinstance(value, bool):
            try:
                return str(Quantity.parse(value))
            except ValueError as error:
                raise InvalidInput(f"input `{name}`: {error}") from error
    msg = f"input `{name}`: {value!r} is not a {kind.type}"
    raise InvalidInput(msg)


def _settle_conflict(tx: Transaction, request: StartRequest, wake: Wake | None) -> None:
    if request.group is None or request.on_conflict == "queue":
        return
    for other in tx.runs.list(RunQuery(group=request.group, active=True)):
        if other.id == request.cause:
            continue
        if request.on_conflict == "skip":
            msg = f"run {other.id} ({other.name}) of group {request.group} is {other.state}"
            raise Refused(msg, hint="the playbook says onConflict: skip")
        request_stop(
            tx, other.id, "cancel", f"replaced by a newer run of group {request.group}", undo=True, wake=wake
        )
