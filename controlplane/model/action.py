"""The contract of a step: what an action declares, what it is given, what it may do.

An action declares its parameters, what it touches (for guards and previews) and how it
is taken back, so that the engine, the guards, the dry run and the documentation all read
the same declaration. Actions that change something do so inside ``context.effect``:
the undo record and the idempotency key are durable before the change is made.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from controlplane.kernel.clock import Clock
from controlplane.kernel.registry import Registry
from controlplane.model.base import Model
from controlplane.model.outcome import Outcome
from controlplane.model.service import Service
from controlplane.model.signals import SignalsSnapshot
from controlplane.model.target import Target
from controlplane.model.topology import WriteTag

T = TypeVar("T")
P = TypeVar("P", bound=Model)


class Dimension(StrEnum):
    """What a touched target loses: the ledger of what is out of service counts the first two."""

    TRAFFIC = "traffic"
    """No new requests reach it."""
    CAPACITY = "capacity"
    """It does not serve: restarting, drained, cordoned, broken on purpose."""
    NOTHING = "nothing"
    """It is looked at or written to, and goes on serving."""


class Reach(StrEnum):
    """The most that an action may do to the fleet, whatever its parameters: the engine holds it to that.

    Guards that must judge before anything is looked at judge by this.
    """

    NONE = "none"
    """It looks, tells people, asks them or stops automation: nothing of the fleet is another afterwards."""
    SERVING = "serving"
    """It changes the fleet, and everything that serves goes on serving."""
    OUT = "out"
    """It may take something out of service, or anything else."""


@dataclass(frozen=True, slots=True)
class Touch:
    """One target that an action will change, and what the target loses by it.

    ``returns``: the action gives the target back to service (traffic.restore) instead of
    taking it away.
    """

    target: Target
    dimension: Dimension
    returns: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one target, before and after: what an undo record is made of."""

    target: Target
    field: str
    before: Any
    intended: Any


class UndoStatus(StrEnum):
    PENDING = "pending"
    UNDONE = "undone"
    FOREIGN = "foreign"
    """Somebody else has changed it since: left alone, and reported."""
    WITHHELD = "withheld"
    """Taking it back would send users into harm; the run escalates."""
    FAILED = "failed"
    KEPT = "kept"
    """The run succeeded: what it did stays."""


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """What a step did to one field.

    ``before`` is written once, ``intended`` before each write, ``applied`` after it.
    """

    run: str
    step: str
    target: Target
    field: str
    before: Any
    intended: Any
    applied: Any = None
    status: UndoStatus = UndoStatus.PENDING
    detail: str = ""

    def is_ours(self, present: Any) -> bool:
        """Tell whether what stands there now is what this step wrote, or was about to write."""
        return present in (self.applied, self.intended)


@dataclass(frozen=True, slots=True)
class UndoResult:
    status: UndoStatus
    detail: str = ""


class ActionContext(Protocol):
    """What the engine gives an action. One per call; not to be kept."""

    run_id: str
    step_id: str
    attempt: int
    service: Service
    scope: Mapping[str, Any]
    """The names of the expression language: incident, service, inputs, steps, limits, run, now."""
    state: Mapping[str, Any]
    """What the last `Again` gave back; empty at the first call."""
    started_at: datetime
    """When the step's first attempt began."""
    clock: Clock

    def port(self, port: type[T]) -> T:
        """Return the implementation of a port (`Platform`, `SignalReader`, ...); a missing one is a bug."""
        ...

    def effect(self, change: Change, part: str = "") -> AbstractContextManager[WriteTag]:
        """Wrap one write to the outside.

        On entry the undo record and the attempt are committed and the lease is looked at
        (`Fenced` is raised if it is lost); on a normal exit ``applied`` is recorded; on an
        exception it is not, and the record stays at ``intended``. ``part`` tells several
        writes of one step apart; the key of the tag is the same when a step is done again
        after a crash, so that the platform can refuse a second effect.
        """
        ...

    def take_out(self, target: Target, dimension: Dimension) -> str | None:
        """Claim what goes out of service as the step goes on, beyond what `Action.touches` said before.

        None: it is claimed, and stays so until it is given back, or is seen back when the run is over.
        Otherwise why it may not go out now: the action waits, and asks again. Asking again for what is
        claimed changes nothing.
        """
        ...

    def give_back(self, target: Target) -> None:
        """Give the run's claim on a target up, with what comes of this call: it is back in service."""
        ...

    def note(self, message: str, **data: Any) -> None:
        """Write a line of the run's journal (kept with the outcome)."""
        ...


class Action(ABC, Generic[P]):
    """One thing a step can do. Stateless; one instance serves all runs.

    Subclasses set the class attributes and write `run`. The class docstring is the
    documentation page's text.
    """

    name: ClassVar[str]
    parameters: ClassVar[type[Model]]
    reversible: ClassVar[bool] = False
    """Whether `restore` can take it back."""
    idempotent: ClassVar[bool] = True
    """Whether doing it twice equals doing it once; others are observed before a retry."""
    reach: ClassVar[Reach] = Reach.OUT
    """What it may do at most; its `touches` stay within."""
    looks_first: ClassVar[bool] = False
    """Whether all that `run` does before its first ``context.effect`` is to look, whatever it is called for.

    Then it may be called before its start is written down; that is done with the intent of that effect.
    """
    permissions: ClassVar[tuple[str, ...]] = ()
    """Kubernetes permissions, ``verb group/resource``; the chart's RBAC is made of these."""
    outputs: ClassVar[Mapping[str, str]] = {}
    """Names of outputs and what they mean."""
    references: ClassVar[Mapping[str, str]] = {}
    """Parameters that name a document, and of which kind: looked up before anything runs."""

    @abstractmethod
    def run(self, parameters: P, context: ActionContext) -> Outcome:
        """Do it, or a part of it. May raise errors of the kernel's tree; the engine maps them:
        `Unavailable` transient, `Ambiguous` ambiguous, `VersionConflict` transient, others permanent.
        """

    def shipped(self, kind: str) -> Collection[str]:
        """Return the names of that kind which can be referred to without a document."""
        del kind
        return ()

    def touches(self, parameters: P, context: ActionContext) -> list[Touch]:
        """List what `run` would change. Reads only. The guards judge this before the step starts."""
        del parameters, context
        return []

    def reach_with(self, with_: Mapping[str, Any]) -> Reach:
        """Return what it may do at most with parameters as they are written, templates and all."""
        del with_
        return self.reach

    def plan(self, parameters: P, context: ActionContext) -> list[Change]:
        """List the changes with present and future values, for a dry run. Reads only."""
        del parameters, context
        return []

    def observe(self, parameters: P, context: ActionContext) -> Outcome | None:
        """After an ambiguous failure: look whether it happened. None means that nobody can tell."""
        del parameters, context
        return None

    def undo_touches(self, record: UndoRecord, parameters: P, context: ActionContext) -> list[Touch]:
        """List what taking ``record`` back would change: without more, the opposite of doing it."""
        del record
        return [
            replace(touch, returns=not touch.returns and touch.dimension is not Dimension.NOTHING)
            for touch in self.touches(parameters, context)
        ]

    def restore(self, record: UndoRecord, context: ActionContext) -> UndoResult:
        """Take one recorded change back, if what stands there is still ours (`UndoRecord.is_ours`)."""
        del context
        return UndoResult(UndoStatus.FAILED, f"{self.name} cannot be undone ({record.field})")


ActionRegistry = Registry[Action[Any]]


def stays_within(reach: Reach, touches: Sequence[Touch]) -> bool:
    """Tell whether touches are no more than an action of this reach may have."""
    return reach is Reach.OUT or all(touch.dimension is Dimension.NOTHING for touch in touches)


class SignalReader(Protocol):
    """Port: what the loop last measured. The controller writes it each tick; the database holds it."""

    def latest(self, service: str) -> SignalsSnapshot | None:
        """Return the last tick's snapshot, or None before the first; the caller judges its age."""
        ...
