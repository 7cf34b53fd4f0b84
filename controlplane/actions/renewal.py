"""Replacing an incarnation by a new one, and waiting until it serves: restarts, resets, replacements.

It replaces the incarnation that it looked at and no other, so that what somebody has renewed
meanwhile is not hit twice. It drains nothing: take traffic away first if that matters.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from controlplane.actions import replicas
from controlplane.kernel.clock import to_rfc3339
from controlplane.kernel.errors import Unavailable, VersionConflict
from controlplane.model.action import Action, ActionContext, Change, Dimension, Touch
from controlplane.model.base import Model
from controlplane.model.outcome import Again, Done, Outcome
from controlplane.model.target import Target
from controlplane.model.topology import WriteTag

LOOK_EVERY = 1.0
"""Seconds between looks at what is loading."""

FIELD = "incarnation"

P = TypeVar("P", bound=Model)


@dataclass(frozen=True, slots=True)
class Seen:
    """What stands in a slot: its uid, whether it serves again, and in words how far it is."""

    uid: str
    ready: bool
    state: str


class Renewal(Action[P]):
    """What all renewals have in common; an action says what is renewed, and how."""

    idempotent = False
    looks_first = True
    past: ClassVar[str] = "restarted"

    @abstractmethod
    def subject(self, parameters: P, context: ActionContext) -> tuple[Target, Seen]:
        """Return what the parameters name, or raise `NotFound`."""

    @abstractmethod
    def look(self, target: Target, context: ActionContext) -> Seen:
        """Return how it stands now."""

    @abstractmethod
    def renew(
        self, parameters: P, target: Target, expected_uid: str, by: WriteTag, context: ActionContext
    ) -> str:
        """Write once, and return the new uid."""

    def touches(self, parameters: P, context: ActionContext) -> list[Touch]:
        return [Touch(self.subject(parameters, context)[0], Dimension.CAPACITY)]

    def plan(self, parameters: P, context: ActionContext) -> list[Change]:
        target, seen = self.subject(parameters, context)
        return [Change(target, FIELD, seen.uid, "a new one")]

    def run(self, parameters: P, context: ActionContext) -> Outcome:
        state = context.state
        if "before" not in state:
            # What is to be replaced is kept before anything is done: after a crash it must not be
            # the new incarnation that is looked at, and replaced again.
            target, seen = self.subject(parameters, context)
            began = to_rfc3339(context.clock.now())
            return Again(
                0.0, {"target": str(target), "before": seen.uid, "began": began}, f"it is {seen.uid}"
            )
        target = Target.parse(state["target"])
        if "uid" not in state:
            return self._renew(parameters, target, context)
        return self._wait(target, context)

    def observe(self, parameters: P, context: ActionContext) -> Outcome | None:
        """Look for a new incarnation. Without one go on: the platform bars a second effect by uid and key."""
        if "before" not in context.state:
            return None
        seen = self.look(Target.parse(context.state["target"]), context)
        if seen.uid != context.state["before"]:
            return Again(0.0, {**context.state, "uid": seen.uid}, f"it has happened: it is {seen.uid} now")
        return Again(LOOK_EVERY, dict(context.state), f"not seen to have happened: it is still {seen.uid}")

    def _renew(self, parameters: P, target: Target, context: ActionContext) -> Outcome:
        before = str(context.state["before"])
        try:
            with context.effect(Change(target, FIELD, before, "a new one")) as tag:
                uid = self.renew(parameters, target, before, tag, context)
        except VersionConflict:
            uid = self.look(target, context).uid
            if uid == before:
                raise
            context.note(
                f"{target.name} is {uid} already: it was {self.past} by somebody else, or before a crash"
            )
        return Again(LOOK_EVERY, {**context.state, "uid": uid}, f"{uid} is loading")

    def _wait(self, target: Target, context: ActionContext) -> Outcome:
        state: dict[str, Any] = dict(context.state)
        try:
            seen = self.look(target, context)
        except Unavailable as error:
            return Again(LOOK_EVERY, state, f"waiting: {error}")
        new = seen.uid != state["before"] or seen.uid == state["uid"]
        if not (new and seen.ready):
            return Again(LOOK_EVERY, state, f"{seen.uid} is {seen.state}")
        elapsed = context.clock.now() - datetime.fromisoformat(state["began"])
        return Done(
            {
                str(target.level): str(target),
                "before": state["before"],
                "uid": seen.uid,
                "seconds": round(elapsed.total_seconds(), 3),
            }
        )


class ReplicaRenewal(Renewal[P]):
    """A renewal of the one replica that `replicas.ReplicaParameters` name."""

    outputs: ClassVar = {
        "replica": "the replica, as service/cluster/zone/node/replica",
        "before": "the uid of the incarnation that was replaced",
        "uid": "the uid of the new incarnation",
        "seconds": "from the step's begin until it was ready",
    }

    def subject(self, parameters: Any, context: ActionContext) -> tuple[Target, Seen]:
        target, view = replicas.find(parameters, context)
        return target, Seen(view.uid, view.ready, view.state)

    def look(self, target: Target, context: ActionContext) -> Seen:
        view = replicas.view_of(target, context)
        return Seen(view.uid, view.ready, view.state)
