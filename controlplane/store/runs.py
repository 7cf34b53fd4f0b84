"""Runs: finding them, and holding one by a lease with a fence so that one worker alone advances it.

Every write of a worker happens in a transaction that begins with `RunRepository.hold`: it
is conditional on the fence, renews the lease, and raises `Fenced` when a later worker has
taken the run. A run's state moves in `controlplane.store.transitions` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from pydantic import Field
from sqlalchemy import (
    ColumnElement,
    Executable,
    Text,
    Update,
    and_,
    bindparam,
    cast,
    delete,
    func,
    or_,
    select,
    update,
)

from controlplane.kernel.errors import Fenced, NotFound
from controlplane.model.records import Run, RunKind, StopRequest
from controlplane.model.states import RunState, is_final
from controlplane.store.columns import Instant
from controlplane.store.tables import runs
from controlplane.store.unit import Repository, Row, Unit, equal

LEASE_SECONDS = 15.0
ACTIVE_STATES = tuple(state.value for state in RunState if not is_final(state))
_HELD = [
    *(column for column in runs.c if column.name != "plan"),
    cast(runs.c.plan, Text).label("plan"),  # as it is written: it has often been read before
]
_SHOWN = [column for column in runs.c if column.name not in {"plan", "progress"}]
_FIND = select(*_SHOWN).where(runs.c.id == bindparam("b_id"))
_TOLD = ("state", "stop", "stop_reason", "stop_undo", "paused", "result", "effect_at", "lease_until")
"""What a worker that holds a run is told at each turn: others may have written the rest of them meanwhile."""

_NOW = bindparam("b_now", type_=Instant())
_FREE = or_(runs.c.lease_until.is_(None), runs.c.lease_until <= _NOW)
_TAKE = (
    update(runs)
    .where(runs.c.id == bindparam("b_id"), runs.c.due_at <= _NOW, _FREE)
    .values(lease_owner=bindparam("b_owner"), lease_until=bindparam("b_until"), fence=runs.c.fence + 1)
    .returning(*_HELD)
)
_MINE = (runs.c.id == bindparam("b_id"), runs.c.fence == bindparam("b_fence"))
_STATE = select(runs.c.state).where(runs.c.id == bindparam("b_id"))
_UNSENT = or_(runs.c.sent_at.is_(None), runs.c.sent_at < runs.c.due_at, runs.c.sent_at <= bindparam("b_lost"))
_DUE = (
    select(runs.c.id)
    .where(runs.c.due_at <= _NOW, _FREE, _UNSENT)
    .order_by(runs.c.due_at)
    .limit(bindparam("b_limit"))
)


class HeldRun(Run):
    """A run as the worker that holds it sees it, with what only the engine remembers."""

    plan: str = ""
    """What it executes, `controlplane.act.plan.RunPlan` as JSON: written once."""
    progress: dict[str, Any] = Field(default_factory=dict)
    stop_undo: bool = True
    ending: RunState | None = None


@dataclass(frozen=True, slots=True)
class RunQuery:
    """Which runs; None means any. ``active`` True: not final; False: final.

    ``ended_after``: those that are still active, or ended later than this. ``gave_way`` False: without
    those that gave way before they began (`Run.never_began`).
    """

    kind: RunKind | None = None
    active: bool | None = None
    state: str | None = None
    name: str | None = None
    service: str | None = None
    target: str | None = None
    signal: str | None = None
    incident: str | None = None
    group: str | None = None
    retry_of: str | None = None
    undo_of: str | None = None
    trigger: str | None = None
    created_after: datetime | None = None
    not_trigger: str | None = None
    gave_way: bool | None = None
    ended_after: datetime | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        names = ("kind", "state", "name", "service", "target", "signal", "incident", "group")
        links = ("retry_of", "undo_of", "trigger")
        found = equal(runs, **{name: getattr(self, name) for name in (*names, *links)})
        if self.active is not None:
            active = runs.c.state.in_(ACTIVE_STATES)
            found.append(active if self.active else ~active)
        if self.created_after is not None:
            found.append(runs.c.created_at > self.created_after)
        if self.not_trigger is not None:
            found.append(runs.c.trigger != self.not_trigger)
        if self.gave_way is not None:
            unbegun = and_(runs.c.state == RunState.SUPERSEDED.value, runs.c.started_at.is_(None))
            found.append(unbegun if self.gave_way else ~unbegun)
        if self.ended_after is not None:
            found.append(or_(runs.c.ended_at.is_(None), runs.c.ended_at > self.ended_after))
        return found


class RunRepository(Repository):
    """``tx.runs``. Steps, attempts, journal and undo records: ``tx.steps``, ``tx.journal``, ``tx.undo``."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self._states: dict[str, RunState] = {}

    def add(self, run: Run, plan: dict[str, Any]) -> Run:
        """Write a new run and what it executes (`controlplane.act.plan.RunPlan`, as JSON)."""
        self.unit.add(runs, **run.model_dump(by_alias=False), plan=plan, progress={})
        self.unit.emit("run", run.id)
        return run

    def find(self, run_id: str) -> Run | None:
        row = self.unit.row(_FIND, {"b_id": run_id})
        return None if row is None else Run.model_validate(row)

    def get(self, run_id: str) -> Run:
        found = self.find(run_id)
        if found is None:
            msg = f"no run `{run_id}`"
            raise NotFound(msg)
        return found

    def list(self, which: RunQuery | None = None, *, limit: int = 100) -> list[Run]:
        """List runs, newest first."""
        found = select(*_SHOWN).where(*(which or RunQuery()).conditions())
        rows = self.unit.rows(found.order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(limit))
        return [Run.model_validate(row) for row in rows]

    def targets(self, which: RunQuery) -> dict[str, str | None]:
        """Return the targets of all the runs there are of these, by id, newest first."""
        found = select(runs.c.id, runs.c.target).where(*which.conditions())
        rows = self.unit.rows(found.order_by(runs.c.created_at.desc(), runs.c.id.desc()))
        return {row["id"]: row["target"] for row in rows}

    def count(self, which: RunQuery | None = None) -> int:
        """Count what `list` would list without a limit."""
        found = select(func.count()).select_from(runs).where(*(which or RunQuery()).conditions())
        return int(self.unit.scalar(found))

    def plan(self, run_id: str) -> dict[str, Any]:
        """Return what the run executes, as JSON."""
        return dict(self.unit.scalar(select(runs.c.plan).where(runs.c.id == run_id)))

    def ahead_in_group(self, run: Run) -> Run | None:
        """Return the run of the same group that must end before ``run`` may start, if there is one."""
        if run.group is None:
            return None
        earlier = (runs.c.created_at < run.created_at) | (
            (runs.c.created_at == run.created_at) & (runs.c.id < run.id)
        )
        found = select(*_SHOWN).where(
            runs.c.group == run.group,
            runs.c.id != run.id,
            runs.c.state.in_(ACTIVE_STATES),
            or_(runs.c.state != RunState.QUEUED.value, earlier),
        )
        row = self.unit.row(found.order_by(runs.c.created_at, runs.c.id).limit(1))
        return None if row is None else Run.model_validate(row)

    def take(self, run_id: str, owner: str, seconds: float = LEASE_SECONDS) -> HeldRun | None:
        """Take a run that is due and that nobody holds, under a higher fence; None otherwise."""
        until = self.now + timedelta(seconds=seconds)
        row = self.unit.row(_TAKE, {"b_id": run_id, "b_owner": owner, "b_now": self.now, "b_until": until})
        if row is None:
            return None
        self._states[run_id] = RunState(row["state"])
        return HeldRun.model_validate(row)

    def hold(self, held: HeldRun, seconds: float = LEASE_SECONDS) -> HeldRun:
        """Renew the lease, and return the run with what others may have written since its last turn.

        What only its holder writes is as the holder knows it. Raises `Fenced` if a later worker has it.
        """
        told = self.renew(held.id, held.fence, seconds)
        return held.model_copy(update={**told, "state": RunState(told["state"])})

    def renew(self, run_id: str, fence: int, seconds: float = LEASE_SECONDS, **values: Any) -> Row:
        """Renew the lease, change what is remembered of the run, and return what its holder is told.

        Raises `Fenced` if a later worker has taken the run: then nothing is written.
        """
        changed = {"lease_until": self.now + timedelta(seconds=seconds), **values}
        params = {f"v_{name}": value for name, value in changed.items()}
        row = self.unit.row(_renewal(frozenset(changed)), {"b_id": run_id, "b_fence": fence, **params})
        if row is None:
            msg = f"{run_id} was taken over: fence {fence} no longer holds it"
            raise Fenced(msg)
        self._states[run_id] = RunState(row["state"])
        return row

    def state(self, run_id: str) -> RunState | None:
        """Return a run's state: what this transaction holds, or has moved, is known without asking."""
        if run_id not in self._states:
            found = self.unit.scalar(_STATE, {"b_id": run_id})
            return None if found is None else RunState(found)
        return self._states[run_id]

    def has_moved(self, run_id: str, state: RunState) -> None:
        """Remember where a run is now; it is called by `controlplane.store.transitions`."""
        self._states[run_id] = state

    def held_by(self, run_id: str, owner: str) -> HeldRun | None:
        """Return the run if this owner holds its lease."""
        mine = select(*_HELD).where(runs.c.id == run_id, runs.c.lease_owner == owner)
        row = self.unit.row(mine)
        return None if row is None else HeldRun.model_validate(row)

    def release(self, run_id: str, fence: int, due_at: datetime | None, **values: Any) -> None:
        """Give a held run back, with what is to be remembered; ``due_at``: when somebody must look at it."""
        sent = self.now if due_at is not None and due_at <= self.now else None
        free = {"lease_owner": None, "lease_until": None, "due_at": due_at, "sent_at": sent}
        self.unit.change(runs, {"id": run_id, "fence": fence}, {**free, **values})

    def update(self, run_id: str, **values: Any) -> None:
        """Change what is remembered of a run beside its state."""
        self.unit.change(runs, {"id": run_id}, values)

    def request_stop(self, run_id: str, stop: StopRequest, reason: str, *, undo: bool) -> bool:
        """Ask a run to end; False if it has ended or was asked to cancel before. It is due at once.

        A cancel outranks a supersede; the first cancel stands.
        """
        mine = update(runs).where(runs.c.id == run_id, runs.c.state.in_(ACTIVE_STATES))
        weaker = (
            runs.c.stop.is_(None) if stop == "supersede" else or_(runs.c.stop.is_(None), runs.c.stop != stop)
        )
        values = {"stop": stop, "stop_reason": reason, "stop_undo": undo}
        return self._told(run_id, mine.where(weaker).values(**values, due_at=self.now, sent_at=None))

    def pause(self, run_id: str, why: str) -> bool:
        """Keep an active run from starting its next step; False if it has ended or is paused already."""
        mine = update(runs).where(
            runs.c.id == run_id, runs.c.state.in_(ACTIVE_STATES), runs.c.paused.is_(None)
        )
        return self._told(run_id, mine.values(paused=why, due_at=self.now, sent_at=None))

    def unpause(self, run_id: str) -> bool:
        """Let a paused run go on, at once; False if nobody had paused it."""
        mine = update(runs).where(
            runs.c.id == run_id, runs.c.state.in_(ACTIVE_STATES), runs.c.paused.is_not(None)
        )
        return self._told(run_id, mine.values(paused=None, due_at=self.now, sent_at=None))

    def _told(self, run_id: str, change: Update) -> bool:
        changed = self.unit.write(change) > 0
        if changed:
            self.unit.emit("run", run_id)
        return changed

    def wake_next(self, group: str, ended: str) -> None:
        """Make the oldest queued run of the group due: it is its turn, now that ``ended`` has."""
        queued = (runs.c.group == group, runs.c.state == RunState.QUEUED.value, runs.c.id != ended)
        oldest = select(runs.c.id).where(*queued).order_by(runs.c.created_at, runs.c.id).limit(1)
        change = update(runs).where(runs.c.id == oldest.scalar_subquery())
        self.unit.write(change.values(due_at=self.now, sent_at=None))

    def due(self, *, resend_after: float, limit: int) -> Sequence[str]:
        """List runs that are due, that nobody holds, and whose message was not sent or is overdue."""
        lost = self.now - timedelta(seconds=resend_after)
        found = self.unit.rows(_DUE, {"b_now": self.now, "b_lost": lost, "b_limit": limit})
        return [row["id"] for row in found]

    def overdue(self, seconds: float) -> int:
        """Count the runs that nobody holds though they have been due for longer than this."""
        late = self.now - timedelta(seconds=seconds)
        found = select(func.count()).select_from(runs).where(runs.c.due_at <= late, _FREE)
        return int(self.unit.scalar(found.params(b_now=self.now)))

    def mark_sent(self, run_ids: Iterable[str]) -> None:
        """Remember that these were given to the carrier now."""
        self.unit.write(update(runs).where(runs.c.id.in_(list(run_ids))).values(sent_at=self.now))

    def prune(self, before: datetime) -> int:
        """Delete runs that ended before that time, with their steps, journal and undo records."""
        return self.unit.write(delete(runs).where(runs.c.ended_at < before))

    def merge_result(self, run_id: str, **values: Any) -> None:
        """Add to a run's result: a drill's verdict, for example."""
        result = self.get(run_id).result
        self.update(run_id, result={**result, **values})
        self.unit.emit("run", run_id)


@cache
def _renewal(names: frozenset[str]) -> Executable:
    """Build the update that only the holder's fence lets through, and that sets these columns."""
    values = {name: bindparam(f"v_{name}", type_=runs.c[name].type) for name in names}
    return update(runs).where(*_MINE).values(**values).returning(*(runs.c[name] for name in _TOLD))
