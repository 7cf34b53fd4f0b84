"""What every part of the engine is given, and what it hands on: the parts, the pins, the turn, the work.

A turn is one transaction of the worker that holds the run. It ends with a piece of `Work`
to do outside of any transaction, or with None: the run was released. From turn to turn the
worker remembers what it alone may write; each turn begins with one conditional update that
proves that it still holds the run, and tells what others have asked for meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar

from controlplane.act.plan import RunPlan
from controlplane.act.scope import run_scope
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Unavailable
from controlplane.model.action import ActionRegistry
from controlplane.model.policy import Policy
from controlplane.model.records import Halt, StepRecord
from controlplane.model.service import Service
from controlplane.model.states import RunState, StepState, is_final
from controlplane.store import transitions
from controlplane.store.database import Database
from controlplane.store.runs import LEASE_SECONDS, HeldRun
from controlplane.store.transaction import Transaction

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Parts:
    """The engine's own parts, the same for all runs of a process."""

    database: Database
    actions: ActionRegistry
    ports: Mapping[type, object]
    wake: Callable[[str], None]
    clock: Clock
    owner: str
    lease_seconds: float = LEASE_SECONDS

    def port(self, port: type[T]) -> T:
        """Return the implementation of a port; a missing one is a mistake of the process's set-up."""
        try:
            return self.ports[port]  # type: ignore[return-value]
        except KeyError:
            msg = f"this worker has no {port.__name__}"
            raise Unavailable(msg, hint="see controlplane.bootstrap") from None


@dataclass(frozen=True, slots=True)
class Pinned:
    """What one run executes: its plan, and the revisions it pins."""

    plan: RunPlan
    service: Service
    policy: Policy | None


@dataclass(frozen=True, slots=True)
class Memory:
    """A run as its worker left it: good for as long as nobody else has held the run."""

    pinned: Pinned
    run: HeldRun
    steps: list[StepRecord] | None

    def since(self, run: HeldRun) -> dict[str, Any]:
        """Return what a turn goes on with: the steps as they were, if nobody has made one of them due."""
        wanted = run.wanted != self.run.wanted
        return {"wanted": wanted, "_steps": None if wanted else self.steps}


@dataclass(slots=True)
class Turn:
    """One transaction in which this worker holds the run. ``run`` and ``steps`` are kept as they are now."""

    parts: Parts
    pinned: Pinned
    tx: Transaction
    run: HeldRun
    ahead: Ahead | None = None
    """A look at what the next step would touch, made before this turn (`controlplane.act.ahead`)."""
    wanted: bool = False
    """Whether somebody has made a step due since the turn before."""
    _steps: list[StepRecord] | None = None
    _halts: list[Halt] | None = None
    _changed: dict[str, Any] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    """Why steps that were called in this turn wait, in their own words."""

    def after(self, tx: Transaction, ahead: Ahead | None, **values: Any) -> Turn:
        """Return the next turn of the same worker, if it still holds the run; set these columns of it.

        The steps are as this turn left them: only who holds the run changes them. The one thing
        that others write is when a step is due, and they count that on the run.
        """
        held = tx.runs.hold(self.run, self.parts.lease_seconds, **values)
        return Turn(self.parts, self.pinned, tx, held, ahead, **self.memory.since(held))

    @property
    def memory(self) -> Memory:
        """What is to be remembered of the run when this turn is committed."""
        return Memory(self.pinned, self.run, self._steps)

    @property
    def now(self) -> datetime:
        return self.tx.now

    @property
    def fence(self) -> int:
        return self.run.fence

    def journal(self, event: str, message: str, *, step: str | None = None, **data: Any) -> None:
        self.tx.journal.write(self.run.id, event, message, step=step, **data)

    def move(self, state: RunState, reason: str, **values: Any) -> None:
        """Move the run to another state."""
        self.end()
        self.run = transitions.move(self.tx, self.run, state, reason, **values)
        if is_final(state) or state is RunState.UNDOING:
            self._steps = None  # what was open has been cancelled

    @property
    def steps(self) -> list[StepRecord]:
        """The run's steps as they are now, in their order; read when this worker takes the run."""
        if self._steps is None:
            self._steps = self.tx.steps.list(self.run.id)
        return self._steps

    @property
    def scope(self) -> dict[str, Any]:
        """What the expressions of the run's steps may name now."""
        return run_scope(self.run, self.pinned.service, self.steps, self.now)

    def scope_of(self, record: StepRecord) -> dict[str, Any]:
        """What the expressions of one step may name now: of an item also the item."""
        for_each = self.pinned.plan.step(record.id).for_each
        if for_each is None or record.item_index is None:
            return self.scope
        return {**self.scope, for_each.as_: record.item}

    @property
    def halts(self) -> list[Halt]:
        """The halts in force; read once in a turn."""
        if self._halts is None:
            self._halts = self.tx.halts.in_force()
        return self._halts

    def step(self, step_id: str) -> StepRecord:
        return next(step for step in self.steps if step.id == step_id)

    def move_step(
        self, record: StepRecord, state: StepState, reason: str = "", *, quiet: bool = False, **values: Any
    ) -> StepRecord:
        """Move a step to another state, and return it as it is then."""
        return self._keep(transitions.move(self.tx, record, state, reason, quiet=quiet, **values))

    def change_step(self, record: StepRecord, **values: Any) -> StepRecord:
        """Change what is remembered of a step beside its state."""
        self.tx.steps.update(record.run, record.id, **values)
        return self._keep(record.model_copy(update=values))

    def add_items(self, record: StepRecord, items: Sequence[Any]) -> None:
        """Write down the items of a step."""
        self.tx.steps.add_items(record, items)
        self._steps = None

    def _keep(self, record: StepRecord) -> StepRecord:
        self._steps = [record if step.id == record.id else step for step in self.steps]
        return record

    def remember(self, **values: Any) -> None:
        """Merge into the run's progress: what the engine must know at a later turn."""
        progress = {**self.run.progress, **values}
        self.update(progress=progress)

    def update(self, **values: Any) -> None:
        """Change columns of the run beside its state: written together, by `end`."""
        self._changed |= values
        self.run = self.run.model_copy(update=values)

    def release(self, until: datetime) -> None:
        """Give the run back until something is due."""
        changed, self._changed = self._changed, {}
        self.tx.runs.release(self.run.id, self.fence, until, **changed)
        if until <= self.now:
            self.tx.after_commit(partial(self.parts.wake, self.run.id))

    def end(self) -> None:
        """Write what was changed of the run beside its state: before it moves, and when the turn ends."""
        changed, self._changed = self._changed, {}
        if changed:
            self.tx.runs.update(self.run.id, **changed)


@dataclass(frozen=True, slots=True)
class Ahead:
    """What was found by looking ahead at the start of a step, and the values that the look was made on."""

    step: str
    scope: Mapping[str, Any]
    found: Any
    call: Any = None
    """The step's first call, if all that it does before an effect is to look (`controlplane.act.chain`)."""
    begins: bool = False
    """Whether that call has come to its first effect, and this transaction writes its intent."""

    def of(self, step: str, scope: Mapping[str, Any]) -> Any | None:
        """Return what was found for the step, if it was on these values; only time may have passed."""
        same = self.step == step and {**self.scope, "now": None} == {**scope, "now": None}
        return self.found if same else None

    def begun(self, step: str) -> Mapping[str, Any] | None:
        """Return what the step goes on from, if it starts with the intent of its first effect."""
        return dict(self.call.context.state) if self.begins and self.step == step else None


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing is due before ``until``; ``reason`` says what for, in the run's ``waiting``."""

    until: datetime
    reason: str = ""


class Work(Protocol):
    """One thing to do outside of any transaction."""

    def perform(self) -> Any:
        """Do it. May take long; errors of the outside come back as values."""
        ...

    def record(self, turn: Turn, result: Any) -> Work | None:
        """Write down what came of it; may return what must follow at once."""
        ...


class Continue:
    """A handler changed something: look at the run again."""


CONTINUE = Continue()
Next = Work | Wait | Continue
