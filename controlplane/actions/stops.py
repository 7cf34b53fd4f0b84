"""Stopping something for a time: raised once, and lifted when it is taken back. Halts and freezes do so.

A step raises the same stop however often it is done: the stop is called after the run and the step, and
its end counts from the step's begin, so that a second try after a crash neither raises another one nor
prolongs it. It refuses to raise one that does not end by itself.
"""

from __future__ import annotations

from abc import abstractmethod
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from pydantic import Field

from controlplane.kernel.clock import to_rfc3339
from controlplane.model.action import (
    Action,
    ActionContext,
    Change,
    Dimension,
    Reach,
    Touch,
    UndoRecord,
    UndoResult,
    UndoStatus,
)
from controlplane.model.base import Duration, Model
from controlplane.model.outcome import Done, Outcome
from controlplane.model.ports import Stops
from controlplane.model.records import Freeze, Halt
from controlplane.model.target import Target


class StopParameters(Model):
    """Why something is stopped, and for how long."""

    reason: str = Field(min_length=3, max_length=500, description="why; whatever has to wait says it")
    for_: Duration = Field(alias="for", gt=0, description="how long it holds at most")


P = TypeVar("P", bound=StopParameters)
S = TypeVar("S", bound=Halt | Freeze)


class Stop(Action[P], Generic[P, S]):
    """What all of them have in common; an action says which stop it raises, and where those are kept.

    The action's name is what the stop is called, in its id, its output and its undo record.
    """

    reach = Reach.NONE
    reversible = True

    @abstractmethod
    def stops(self, context: ActionContext) -> Stops[S]:
        """Return where they are kept."""

    @abstractmethod
    def wanted(self, parameters: P, id_: str, until: datetime, context: ActionContext) -> S:
        """Return the stop that is to be raised."""

    def where(self, parameters: P, context: ActionContext) -> Target:
        """Return what is stopped: the run's service."""
        del parameters
        return context.service.target

    def touches(self, parameters: P, context: ActionContext) -> list[Touch]:
        return [Touch(self.where(parameters, context), Dimension.NOTHING)]

    def plan(self, parameters: P, context: ActionContext) -> list[Change]:
        return [Change(self.where(parameters, context), self.name, None, self._id(context))]

    def run(self, parameters: P, context: ActionContext) -> Outcome:
        stops = self.stops(context)
        stands = stops.get(self._id(context))
        if stands is None:
            until = context.started_at + timedelta(seconds=parameters.for_)
            wanted = self.wanted(parameters, self._id(context), until, context)
            with context.effect(Change(self.where(parameters, context), self.name, None, wanted.id)):
                stands = stops.add(wanted)
        ends = to_rfc3339(stands.expires_at) if stands.expires_at is not None else None
        return Done({self.name: stands.id, "until": ends})

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        stops = self.stops(context)
        stands = stops.get(str(record.intended))
        if stands is None:
            return UndoResult(UndoStatus.UNDONE, "it was never raised")
        if stands.lifted_at is not None:
            return UndoResult(UndoStatus.UNDONE, f"{stands.id} is lifted already")
        with context.effect(Change(record.target, self.name, stands.id, None), "lift"):
            stops.lift(stands.id)
        return UndoResult(UndoStatus.UNDONE, f"{stands.id} is lifted")

    def _id(self, context: ActionContext) -> str:
        return f"{self.name}-{context.run_id}-{context.step_id}"
