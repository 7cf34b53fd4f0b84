"""`workload.restart`: restart replicas one after another, each drained, zone by zone.

Which incarnations are to go is written down before the first is touched, so that after a crash, or
when somebody has restarted one meanwhile, none is hit twice.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from pydantic import Field

from controlplane.actions import cache_prewarm, draining, renewal, replicas
from controlplane.actions.evidence import calm, canary_of
from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.errors import NotFound, VersionConflict
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
from controlplane.model.base import Duration, Model, Quantity
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.target import Target
from controlplane.model.topology import ReplicaView
from controlplane.platforms.port import Platform

State = dict[str, Any]


class WorkloadRestartParameters(Model):
    """Parameters of `workload.restart`."""

    zones: tuple[str, ...] | None = Field(
        None, min_length=1, description="the zones, in this order; all of the service's when left out"
    )
    drain_within: Duration = Field(
        30.0, gt=0, description="how long each replica's requests may take", validate_default=False
    )
    ready_within: Duration = Field(
        300.0, gt=0, description="how long each may take until it serves again", validate_default=False
    )
    min_healthy: Quantity = Field(
        Quantity.parse("50%"),
        validate_default=False,
        description="what must go on serving, of all replicas, while one is out; else it waits",
    )
    calm: bool = Field(
        default=False,
        description="for a restart that can wait: before each one it waits while an incident of the service "
        "is open, or one of its own SLOs is broken",
    )
    prewarm: cache_prewarm.Prompts = Field(
        (), description="prompts that each replica answers before it gets users, as in `cache.prewarm`"
    )
    reason: str = Field("", max_length=500, description="why; goes into the platform's records")


class WorkloadRestart(Action[WorkloadRestartParameters]):
    """Restart the service's replicas without losing an answer: one at a time, one zone after another.

    Each replica leaves the load balancing, is drained, restarted, and comes back when it is ready, its
    canary is good and it has answered the prompts of `prewarm`; then the next. Before each one the step
    waits as long as too few others would serve, or the blast radius has no room for one more, so a fleet
    that gets worse stops the restart instead of suffering from it. A replica that does not come back
    within `readyWithin` fails the step and stays out. One that somebody has restarted since the step
    began, or that is out of rotation already, is left alone.

    Undo gives a replica that is out back, only while its canary is good; restarts stay.

    ```yaml
    uses: workload.restart
    with: {zones: [zone-a, zone-b], drainWithin: 45s, minHealthy: 75%, reason: memory leak}
    ```
    """

    name = "workload.restart"
    parameters = WorkloadRestartParameters
    reversible = True
    looks_first = True
    idempotent = False
    permissions = tuple(dict.fromkeys((*replicas.PERMISSIONS, "delete core/pods")))
    outputs: ClassVar = {
        "restarted": "how many replicas were restarted",
        "skipped": "how many were left alone, since somebody had restarted or isolated them",
    }

    def touches(self, parameters: WorkloadRestartParameters, context: ActionContext) -> list[Touch]:
        """One replica is out at a time; the others are claimed when it is their turn."""
        places = [target for target, _ in _subjects(parameters, context)]
        dimensions = (Dimension.CAPACITY, *(Dimension.NOTHING for _ in places[1:]))
        return [Touch(*each) for each in zip(places, dimensions, strict=False)]

    def plan(self, parameters: WorkloadRestartParameters, context: ActionContext) -> list[Change]:
        return [
            change
            for target, view in _subjects(parameters, context)
            for change in (
                Change(target, replicas.IN_ROTATION, True, "out while it restarts, then back"),
                Change(target, renewal.FIELD, view.uid, "a new one"),
            )
        ]

    def run(self, parameters: WorkloadRestartParameters, context: ActionContext) -> Outcome:
        state: State = dict(context.state)
        if "left" not in state:
            left = [[str(target), view.uid] for target, view in _subjects(parameters, context)]
            state = {"left": left, "phase": "next", "since": _now(context), "restarted": 0, "skipped": 0}
            return Again(0.0, state, f"{len(left)} replicas are to be restarted")
        if not state["left"]:
            return Done({"restarted": state["restarted"], "skipped": state["skipped"]})
        target = Target.parse(state["left"][0][0])
        match state["phase"]:
            case "next":
                return _take_out(parameters, target, state, context)
            case "drain":
                return _drain(parameters, target, state, context)
            case "restart":
                return _restart(parameters, target, state, context)
            case _:
                return _bring_back(parameters, target, state, context)

    def observe(self, parameters: WorkloadRestartParameters, context: ActionContext) -> Outcome:
        """Go on: rotation and uid say by themselves what has happened, and the keys bar a second effect."""
        return Again(renewal.LOOK_EVERY, dict(context.state), "the answer was lost: looking at the replica")

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        if record.field == renewal.FIELD:
            return UndoResult(UndoStatus.KEPT, "a restart cannot be taken back")
        return replicas.restore_rotation(record, context)


def _subjects(
    parameters: WorkloadRestartParameters, context: ActionContext
) -> list[tuple[Target, ReplicaView]]:
    """Return the replicas to restart, zone by zone: those that are up and in rotation."""
    topology = replicas.topology(context)
    zones = parameters.zones or tuple(zone.name for zone in topology.zones)
    for zone in zones:
        if topology.zone(zone) is None:
            msg = f"no zone `{zone}`"
            raise NotFound(msg, hint=f"zones: {', '.join(each.name for each in topology.zones)}")
    return [
        (target, view)
        for zone in zones
        for target, view in topology.replicas()
        if target.zone == zone and view.in_rotation and view.state != "stopped"
    ]


def _take_out(
    parameters: WorkloadRestartParameters, target: Target, state: State, context: ActionContext
) -> Outcome:
    view = replicas.view_of(target, context)
    begun = state.get("out") == str(target)
    if view.uid != state["left"][0][1] or not (view.in_rotation or begun):
        context.note(f"{target.name} is left alone: somebody has restarted or isolated it")
        context.give_back(target)
        return _next(state, context, skipped=1)
    everyone = replicas.topology(context).replicas()
    others = sum(each.serves for place, each in everyone if place != target)
    least = parameters.min_healthy.of(len(everyone))
    if others < least:
        words = f"waits: {others} of {len(everyone)} replicas would serve, {parameters.min_healthy} must"
        return Again(renewal.LOOK_EVERY, state, words)
    if not begun:
        if parameters.calm and (rest := calm(context)).good is not True:
            return Again(renewal.LOOK_EVERY, state, f"waits: {rest.why}")
        if (why := replicas.zone_would_starve({target}, context)) is not None:
            return Again(renewal.LOOK_EVERY, state, f"waits: {why}")
        if (why := context.take_out(target, Dimension.CAPACITY)) is not None:
            return Again(renewal.LOOK_EVERY, state, why)
        # Kept before the write: after a crash our own isolation must not be taken for somebody else's.
        return Again(0.0, {**state, "out": str(target)}, f"{target.name} is next")
    replicas.set_rotation(context, target, False, part="out")
    after = {**state, "phase": "drain", "since": _now(context)}
    return Again(draining.LOOK_EVERY, after, f"{target.name} gets no new requests")


def _drain(
    parameters: WorkloadRestartParameters, target: Target, state: State, context: ActionContext
) -> Outcome:
    since = datetime.fromisoformat(state["since"])
    look = draining.look({target}, since, parameters.drain_within, context)
    if not look.over:
        return Again(draining.LOOK_EVERY, state, f"{target.name}: {look.words}")
    return Again(0.0, {**state, "phase": "restart"}, f"{target.name} is drained: {look.words}")


def _restart(
    parameters: WorkloadRestartParameters, target: Target, state: State, context: ActionContext
) -> Outcome:
    before = state["left"][0][1]
    if replicas.view_of(target, context).uid == before:
        try:
            with context.effect(
                Change(target, renewal.FIELD, before, "a new one"), f"restart.{target.name}"
            ) as tag:
                context.port(Platform).restart_replica(
                    target, expected_uid=before, reason=parameters.reason, by=tag
                )
        except VersionConflict:
            return Again(0.0, state, f"{target.name} was restarted by somebody else")
    after = {**state, "phase": "ready", "since": _now(context)}
    return Again(renewal.LOOK_EVERY, after, f"{target.name} is loading")


def _bring_back(
    parameters: WorkloadRestartParameters, target: Target, state: State, context: ActionContext
) -> Outcome:
    view = replicas.view_of(target, context)
    new = view.uid != state["left"][0][1]
    canary = canary_of(target, context)
    if new and view.ready and canary.good is True:
        warmed = state.get("warmed", 0)
        if warmed < len(parameters.prewarm):
            cache_prewarm.warm(view, parameters.prewarm[warmed], 1, context)
            return Again(0.0, {**state, "warmed": warmed + 1}, f"{target.name} is being prewarmed")
        replicas.set_rotation(context, target, True, part="back")
        context.give_back(target)
        return _next(state, context, restarted=1)
    words = f"{target.name} is {view.state}, and {canary.why}" if new else f"{target.name} is not seen anew"
    waited = context.clock.now() - datetime.fromisoformat(state["since"])
    if waited.total_seconds() >= parameters.ready_within:
        return Failed(FailureKind.PERMANENT, f"{words}, {waited.total_seconds():.0f} s after its restart")
    return Again(renewal.LOOK_EVERY, state, words)


def _next(state: State, context: ActionContext, *, restarted: int = 0, skipped: int = 0) -> Again:
    after = {
        "left": state["left"][1:],
        "phase": "next",
        "since": _now(context),
        "restarted": state["restarted"] + restarted,
        "skipped": state["skipped"] + skipped,
    }
    return Again(0.0, after, f"{len(after['left'])} replicas are left")


def _now(context: ActionContext) -> str:
    return to_rfc3339(context.clock.now())
