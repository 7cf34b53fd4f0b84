"""How actions give replicas back to users: only what is known to be good, watched, and taken away again.

One mechanism for a single replica and for all of a node. It writes nothing before what it gives back is
known to be well; an end that nobody saw is no good end. It refuses to give back what somebody else has
taken out again meanwhile.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar

from pydantic import Field

from controlplane.actions import replicas
from controlplane.actions.evidence import Evidence, canary_of, measured_at
from controlplane.actions.standing import Declaration, Slots
from controlplane.kernel.clock import to_rfc3339
from controlplane.model.action import ActionContext
from controlplane.model.base import Duration, Model
from controlplane.model.outcome import Again, Done, Failed, FailureKind, Outcome
from controlplane.model.target import Target

LOOK_EVERY = 1.0
"""Seconds between looks: half a tick."""

State = dict[str, Any]


class HoldParameters(Model):
    """How long is watched what has its users back."""

    hold: Duration = Field(
        15.0, description="how long it is watched once it has its clients back", validate_default=False
    )


H = TypeVar("H", bound=HoldParameters)


class GiveBack(Declaration[H]):
    """What all of them have in common: give, watch for `hold`, and take away what does not hold."""

    wanted = True

    @abstractmethod
    def given(self, parameters: H, context: ActionContext) -> tuple[Target, Slots]:
        """Return the part that is meant, and its replicas that get users. Raises `NotFound`."""

    @abstractmethod
    def readiness(self, parameters: H, slots: Slots, began: datetime, context: ActionContext) -> Evidence:
        """Tell whether users may come: None waits, False fails the step. ``began``: since when it waits."""

    def finish(self, target: Target, places: Sequence[Target], context: ActionContext) -> Done:
        """Do what is left once it holds, and return what the step gives out."""
        del places, context
        return Done({str(target.level): str(target)})

    def run(self, parameters: H, context: ActionContext) -> Outcome:
        state: State = dict(context.state)
        match state.get("phase"):
            case None:
                return self._begin(parameters, context)
            case "give":
                return self._give(parameters, state, context)
            case "hold":
                return self._hold(parameters, state, context)
            case _:
                return self._take_away(state, context)

    def _begin(self, parameters: H, context: ActionContext) -> Outcome:
        """Keep what is out before anything is written, so that it is the same after a crash."""
        target, slots = self.given(parameters, context)
        state = {
            "phase": "give",
            "target": str(target),
            "places": [str(place) for place, _ in slots],
            "ours": [str(place) for place, view in slots if not view.in_rotation],
            "since": to_rfc3339(context.clock.now()),
        }
        return Again(0.0, state, f"{len(state['ours'])} of {len(slots)} replicas are out of rotation")

    def _give(self, parameters: H, state: State, context: ActionContext) -> Outcome:
        target, slots = self.given(parameters, context)
        ready = self.readiness(parameters, slots, datetime.fromisoformat(state["since"]), context)
        if ready.good is False:
            words = f"{target.name} stays out of rotation: {ready.why}"
            return Failed(FailureKind.PERMANENT, words, {str(target.level): str(target), "reason": ready.why})
        if ready.good is None:
            return Again(LOOK_EVERY, state, f"waiting: {ready.why}")
        if not state["ours"]:
            context.note(f"{target.name} is in rotation already")
            return self.finish(target, _places(state["places"]), context)
        for place in _places(state["ours"]):
            replicas.set_rotation(context, place, True, part="in")
        since = to_rfc3339(context.clock.now())
        return Again(LOOK_EVERY, {**state, "phase": "hold", "since": since}, f"watching {target.name}")

    def _hold(self, parameters: H, state: State, context: ActionContext) -> Outcome:
        target, places = Target.parse(state["target"]), _places(state["places"])
        for place in places:
            if not replicas.view_of(place, context).in_rotation:
                return Failed(FailureKind.PERMANENT, f"somebody else has taken {place.name} out again")
        since = datetime.fromisoformat(state["since"])
        found = list(_watched(places, since, context))
        for evidence in found:
            if evidence.good is False:
                # Durably: a later look that is better must not leave it in.
                return Again(0.0, {**state, "phase": "back", "reason": evidence.why}, evidence.why)
        if context.clock.now() < since + timedelta(seconds=parameters.hold):
            return Again(LOOK_EVERY, state, f"watching {target.name}")
        for evidence in found:
            if evidence.good is None:
                return Again(LOOK_EVERY, state, f"waiting: {evidence.why}")
        return self.finish(target, places, context)

    @staticmethod
    def _take_away(state: State, context: ActionContext) -> Outcome:
        target, reason = Target.parse(state["target"]), state["reason"]
        for place in _places(state["ours"]):
            replicas.set_rotation(context, place, False, part="back")
        message = f"{target.name} did not hold and is out of rotation again: {reason}"
        return Failed(FailureKind.PERMANENT, message, {str(target.level): str(target), "reason": reason})


def canaries_of(slots: Slots, context: ActionContext) -> Evidence:
    """Tell what the canaries of all these replicas say: the worst word of any."""
    found = [canary_of(place, context) for place, _ in slots]
    worst = [each for each in found if each.good is False] or [each for each in found if each.good is None]
    return next(iter([*worst, *found]), Evidence(None, "it holds no replica"))


def _watched(places: Sequence[Target], since: datetime, context: ActionContext) -> Iterable[Evidence]:
    """Yield what is known of the replicas by their canaries, and what is measured of exactly them."""
    for place in places:
        yield canary_of(place, context)
        yield measured_at(place, context, since=since)


def _places(texts: Sequence[str]) -> list[Target]:
    return [Target.parse(text) for text in texts]
