"""`replica.restart`: replace the incarnation in a replica's slot, and wait until it serves.

It restarts the incarnation that it looked at and no other, so that a replica which somebody has
restarted meanwhile is not hit twice. It drains nothing: take traffic away first if that matters.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.errors import InvalidInput, NotFound, Unavailable, VersionConflict
from controlplane.kernel.registry import did_you_mean
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.target import Target
from controlplane.model.topology import ReplicaView
from controlplane.platforms.port import Platform

LOOK_EVERY = 1.0
"""Seconds between looks at a replica that is loading."""

FIELD = "incarnation"


class RestartParameters(Model):
    """Parameters of `replica.restart`."""

    target: str | None = Field(None, description="the replica, as service/cluster/zone/node/replica")
    replica: str | None = Field(None, description="or its name alone, for example replica-a1-0")
    reason: str = Field("", max_length=500, description="why; goes into the platform's records")

    @model_validator(mode="after")
    def _names_one_replica(self) -> Self:
        if (self.target is None) == (self.replica is None):
            msg = "write either `target` or `replica`"
            raise ValueError(msg)
        return self


class ReplicaRestart(Action[RestartParameters]):
    """Restart one replica and wait until it is ready; the step's timeout bounds the wait.

    Requests under way on it are lost: evacuate or drain it first if that matters. The restart names
    the incarnation that was seen when the step began. If that is gone already, through somebody else
    or an earlier attempt of this step, nothing is restarted and the step waits for the new one.
    A restart cannot be undone.

    ```yaml
    uses: replica.restart
    with: {replica: replica-a1-0, reason: its memory leaks}
    ```
    """

    name = "replica.restart"
    parameters = RestartParameters
    idempotent = False
    permissions = ("list core/pods", "delete core/pods")
    outputs: ClassVar = {
        "replica": "the replica, as service/cluster/zone/node/replica",
        "before": "the uid of the incarnation that was replaced",
        "uid": "the uid of the new incarnation",
        "seconds": "from the step's begin until it was ready",
    }

    def touches(self, parameters: RestartParameters, context: ActionContext) -> list[Touch]:
        return [Touch(_find(parameters, context)[0], Dimension.CAPACITY)]

    def plan(self, parameters: RestartParameters, context: ActionContext) -> list[Change]:
        target, view = _find(parameters, context)
        return [Change(target, FIELD, view.uid, "a new one")]

    def run(self, parameters: RestartParameters, context: ActionContext) -> Outcome:
        state = context.state
        if "before" not in state:
            # What is to be replaced is kept before anything is done: after a crash it must not be
            # the new incarnation that is looked at, and restarted again.
            target, view = _find(parameters, context)
            began = to_rfc3339(context.clock.now())
            return Again(
                0.0, {"target": str(target), "before": view.uid, "began": began}, f"it is {view.uid}"
            )
        target = Target.parse(state["target"])
        if "uid" not in state:
            return self._restart(parameters, target, context)
        return self._wait(target, context)

    def observe(self, parameters: RestartParameters, context: ActionContext) -> Outcome | None:
        """Look for a new incarnation. Without one go on: the platform bars a second effect by uid and key."""
        if "before" not in context.state:
            return None
        view = _view(Target.parse(context.state["target"]), context)
        if view.uid != context.state["before"]:
            return Again(0.0, {**context.state, "uid": view.uid}, f"it has happened: it is {view.uid} now")
        return Again(LOOK_EVERY, dict(context.state), f"not seen to have happened: it is still {view.uid}")

    def _restart(self, parameters: RestartParameters, target: Target, context: ActionContext) -> Outcome:
        before = str(context.state["before"])
        try:
            with context.effect(Change(target, FIELD, before, "a new one")) as tag:
                uid = context.port(Platform).restart_replica(
                    target, expected_uid=before, reason=parameters.reason, by=tag
                )
        except VersionConflict:
            uid = _view(target, context).uid
            if uid == before:
                raise
            context.note(
                f"{target.name} is {uid} already: it was restarted by somebody else, or before a crash"
            )
        return Again(LOOK_EVERY, {**context.state, "uid": uid}, f"{uid} is loading")

    def _wait(self, target: Target, context: ActionContext) -> Outcome:
        state: dict[str, Any] = dict(context.state)
        try:
            view = _view(target, context)
        except Unavailable as error:
            return Again(LOOK_EVERY, state, f"waiting: {error}")
        new = view.uid != state["before"] or view.uid == state["uid"]
        if not (new and view.ready):
            return Again(LOOK_EVERY, state, f"{view.uid} is {view.state}")
        elapsed = context.clock.now() - datetime.fromisoformat(state["began"])
        return Done(
            {
                "replica": str(target),
                "before": state["before"],
                "uid": view.uid,
                "seconds": round(elapsed.total_seconds(), 3),
            }
        )


def _find(parameters: RestartParameters, context: ActionContext) -> tuple[Target, ReplicaView]:
    """Return the replica that the parameters name, or raise `NotFound` with the nearest one."""
    replicas = context.port(Platform).topology(context.service.name).replicas()
    wanted = str(Target.parse(parameters.target)) if parameters.target else str(parameters.replica)
    found = [
        (target, view)
        for target, view in replicas
        if wanted == (str(target) if parameters.target else view.name)
    ]
    if not found:
        names = [str(target) if parameters.target else view.name for target, view in replicas]
        msg = f"{context.service.name} has no replica `{wanted}`"
        raise NotFound(msg, hint=did_you_mean(wanted, names))
    if len(found) > 1:
        msg = f"{len(found)} replicas are called `{wanted}`"
        raise InvalidInput(msg, hint="write `target` instead of `replica`")
    return found[0]


def _view(target: Target, context: ActionContext) -> ReplicaView:
    for place, view in context.port(Platform).topology(target.service).replicas():
        if place == target:
            return view
    msg = f"{target} is gone"
    raise NotFound(msg)
