"""What the engine gives an action, and the write-ahead around each of its effects.

``with context.effect(change)`` commits the undo record and what the action has kept so far,
renews the lease on condition of the fence, and only then lets the caller write. ``applied``
is committed with the step's next write (the next effect or the outcome): until then
``intended`` speaks for it, which undo takes for ours too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, TypeVar

import structlog

from controlplane.act.claims import Budget, claim
from controlplane.act.engine import Parts, Turn
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Unavailable
from controlplane.model.action import Change, Dimension, Touch
from controlplane.model.records import StepRecord, Verdict
from controlplane.model.service import Service
from controlplane.model.target import Target
from controlplane.model.topology import Topology, WriteTag
from controlplane.platforms.port import CALL_TIMEOUT, Platform
from controlplane.store.transaction import Transaction

log = structlog.get_logger(__name__)
T = TypeVar("T")

Begin = Callable[..., datetime]
"""In a transaction: writes down that a step begins, sets values of its run, returns the lease's end."""

_LOOKS = 3


@dataclass(slots=True)
class StepContext:
    """Implements `controlplane.model.action.ActionContext`: one per call."""

    parts: Parts
    run_id: str
    step_id: str
    attempt: int
    fence: int
    service: Service
    scope: Mapping[str, Any]
    state: Mapping[str, Any]
    started_at: datetime
    clock: Clock
    budget: Budget
    undoing: bool = False
    fresh: bool = False
    """Whether this is the first call of the step: nothing has been written down of its effects."""
    notes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    effects: list[Change] = field(default_factory=list)
    """Done, and not yet written down as ``applied``."""
    effect_at: datetime | None = None
    returned: list[Target] = field(default_factory=list)
    """Back in service, and not yet written down."""
    began_effects: bool = False
    """Whether this call has changed something outside, or was about to."""
    begin: Begin | None = None
    """Writes down the start of the step with the first thing that is; None once it is written down."""
    _kept: bool = True
    _intended: set[tuple[Target, str]] = field(default_factory=set)

    def of_call(self) -> StepContext:
        """Return the context of the step's first call, where this one was for a look before it."""
        return replace(self, fresh=True, notes=[])

    @property
    def has_begun(self) -> bool:
        """Whether the start of the step is written down."""
        return self.begin is None

    def keep(self, state: Mapping[str, Any]) -> None:
        """Go on from this state. It is written down with the next effect, before that is done."""
        self._kept = False
        self.state = state  # house: state - where the action goes on from, not a state of ours

    def port(self, port: type[T]) -> T:
        return self.parts.port(port)

    def note(self, message: str, **data: Any) -> None:
        self.notes.append((message, data))

    @contextmanager
    def effect(self, change: Change, part: str = "") -> Iterator[WriteTag]:
        self.began_effects = True
        self._write_ahead(change)
        names = (self.run_id, self.step_id, "undo" if self.undoing else "", part)
        key = "/".join(name for name in names if name)
        yield WriteTag(run=self.run_id, step=self.step_id, attempt=self.attempt, fence=self.fence, key=key)
        self.effect_at = self.clock.now()
        if not self.undoing:
            self.effects.append(change)

    def take_out(self, target: Target, dimension: Dimension) -> str | None:
        topology = self.port(Platform).topology(self.service.name)
        with self.parts.database.transaction() as tx:
            self._hold(tx)
            refused = self._claim(tx, Touch(target, dimension), topology)
        self.begin = None
        return refused

    def give_back(self, target: Target) -> None:
        self.returned.append(target)

    def settle(self, turn: Turn) -> None:
        """Write down what was done and noted since the last commit, with what came of the call."""
        self._write_down(turn.tx)
        known = turn.run.effect_at
        if self.effect_at is not None and (known is None or known < self.effect_at):
            turn.update(effect_at=self.effect_at)

    def _claim(self, tx: Transaction, touch: Touch, topology: Topology) -> str | None:
        """Claim a target if the blast radius allows; otherwise say what stands in the way."""
        if any(row.target == str(touch.target) for row in tx.ledger.list(holder=self.run_id)):
            return None
        judged = self.budget.judge(tx, self.run_id, [touch], topology)
        if judged.verdict is not Verdict.ALLOW:
            return f"waits for blast radius: {judged.message}"
        claim(tx, self.run_id, [touch], f"step {self.step_id}")
        said = (f"guard.{judged.verdict}", judged.message)
        tx.journal.write(self.run_id, *said, step=self.step_id, **judged.values)
        return None

    def _write_down(self, tx: Transaction) -> None:
        for change in self.effects:
            tx.undo.applied(self.run_id, self.step_id, change)
        for target in self.returned:
            tx.ledger.release(holder=self.run_id, target=target)
        for message, data in self.notes:
            tx.journal.write(self.run_id, "note", message, step=self.step_id, **data)

    def _written_down(self) -> None:
        """Forget it, once that is committed."""
        self.effects.clear()
        self.notes.clear()
        self.returned.clear()
        self._kept = True
        self.begin = None

    @property
    def _margin(self) -> float:
        """Return what must be left of the lease for one call; short leases are for tests."""
        return min(CALL_TIMEOUT, self.parts.lease_seconds / 2)

    def _hold(self, tx: Transaction, **values: Any) -> datetime:
        """Prove that the run is still ours, its step begun; returns the end of the lease. Raises `Fenced`."""
        if self.begin is not None:
            return self.begin(tx, **values)
        until: datetime = tx.runs.renew(self.run_id, self.fence, self.parts.lease_seconds, **values)[
            "lease_until"
        ]
        return until

    def _count(self, tx: Transaction) -> None:
        """Write down that an effect comes, and where to go on from; a start says both by itself."""
        if not self.undoing:
            tx.steps.count_effect(self.run_id, self.step_id, self.attempt)
        if not self._kept:
            tx.steps.update(self.run_id, self.step_id, resume_state=dict(self.state))

    def _write_ahead(self, change: Change) -> None:
        """Commit the intent, and return with enough of the lease left for one call."""
        what = (change.target, change.field)
        for _ in range(_LOOKS):
            with self.parts.database.transaction() as tx:
                begins = not self.has_begun
                lease_until = self._hold(tx, effect_at=tx.now)
                self._write_down(tx)
                if not self.undoing:
                    first = self.fresh and what not in self._intended
                    tx.undo.intend(self.run_id, self.step_id, change, first=first)
                if not begins:
                    self._count(tx)
                tx.journal.write(self.run_id, "effect", describe(change), step=self.step_id, **_data(change))
            self._written_down()
            self._intended.add(what)
            if self.parts.database.now() + timedelta(seconds=self._margin) < lease_until:
                return
            log.warning("the lease is nearly over after a slow commit", run=self.run_id, step=self.step_id)
        msg = "the database is too slow to hold a lease"
        raise Unavailable(msg)


def describe(change: Change) -> str:
    """Say a change in one line."""
    return f"{change.field} of {change.target}: {change.before!r} → {change.intended!r}"


def _data(change: Change) -> dict[str, Any]:
    return {
        "target": str(change.target),
        "field": change.field,
        "before": change.before,
        "intended": change.intended,
    }


def context_for(turn: Turn, step: StepRecord, attempt: int, **more: Any) -> StepContext:
    """Make the context of a call that this turn hands out."""
    return StepContext(
        parts=turn.parts,
        run_id=turn.run.id,
        step_id=step.id,
        attempt=attempt,
        fence=turn.fence,
        service=turn.pinned.service,
        scope=turn.scope_of(step),
        state=more.pop("state", {}),
        clock=turn.parts.clock,
        budget=Budget.of(turn.pinned),
        started_at=more.pop("started_at", None) or turn.now,
        **more,
    )
