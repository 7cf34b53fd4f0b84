"""Runs: finding them, and holding one by a lease with a fence so that one worker alone advances it.

Every write of a worker happens in a transaction that begins with `RunRepository.hold`: it
is conditional on the fence, renews the lease, and raises `Fenced` when a later worker has
taken the run. A run's state moves in `controlplane.store.transitions` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from pydantic import Field
from sqlalchemy import (
    ColumnElement,
    Executable,
    Select,
    Text,
    Update,
    and_,
    bindparam,
    cast,
    delete,
    func,
    not_,
    or_,
    select,
    update,
)

from controlplane.kernel.errors import Fenced, NotFound
from controlplane.model.records import Run, RunKind, StopRequest
from controlplane.model.states import RunState, is_final
from controlplane.store.columns import Instant
from controlplane.store.tables import plans, runs
from controlplane.store.unit import Repository, Row, Unit, given, matching

LEASE_SECONDS = 15.0

ACTIVE_STATES = tuple(state.value for state in RunState if not is_final(state))
_ACTIVE = or_(*(runs.c.state == state for state in ACTIVE_STATES))
_UNBEGUN = and_(runs.c.state == RunState.SUPERSEDED.value, runs.c.started_at.is_(None))
_BESIDE: Mapping[str, ColumnElement[bool]] = {
    "active=True": _ACTIVE,
    "active=False": not_(_ACTIVE),
    "gave_way=True": _UNBEGUN,
    "gave_way=False": not_(_UNBEGUN),
    "not_trigger": runs.c.trigger != bindparam("w_not_trigger"),
    "created_after": runs.c.created_at > bindparam("w_created_after", type_=Instant()),
    "ended_after": or_(
        runs.c.ended_at.is_(None), runs.c.ended_at > bindparam("w_ended_after", type_=Instant())
    ),
}
"""What a `RunQuery` gives beside values that columns are to equal."""
_PLAN = select(cast(plans.c.body, Text).label("body")).where(plans.c.run == bindparam("b_run"))
_SHOWN = [column for column in runs.c if column.name != "progress"]
_FIND = select(*_SHOWN).where(runs.c.id == bindparam("b_id"))
_TOLD = (
    *("state", "stop", "stop_reason", "stop_undo", "paused"),
    *("result", "effect_at", "lease_until", "wanted"),
)
"""What a worker that holds a run is told at each turn: others may have written the rest of them meanwhile."""

_NOW = bindparam("b_now", type_=Instant())
_FREE = or_(runs.c.lease_until.is_(None), runs.c.lease_until <= _NOW)
_TAKE = (
    update(runs)
    .where(runs.c.id == bindparam("b_id"), runs.c.due_at <= _NOW, _FREE)
    .values(lease_owner=bindparam("b_owner"), lease_until=bindparam("b_until"), fence=runs.c.fence + 1)
    .returning(runs.c.fence, *(runs.c[name] for name in _TOLD))
)
_WHOLE = select(runs).where(runs.c.id == bindparam("b_id"))
_DUE_AT = select(runs.c.due_at).where(runs.c.id == bindparam("b_id"))
_WANT = (
    update(runs)
    .where(runs.c.id == bindparam("b_id"))
    .values(due_at=_NOW, sent_at=None, wanted=runs.c.wanted + 1)
)
_SENT = update(runs).where(runs.c.id == bindparam("b_id")).values(sent_at=_NOW)
_QUEUED = (
    runs.c.group == bindparam("b_group"),
    runs.c.state == RunState.QUEUED.value,
    runs.c.id != bindparam("b_ended"),
)
_OLDEST = select(runs.c.id).where(*_QUEUED).order_by(runs.c.created_at, runs.c.id).limit(1)
_WAKE = update(runs).where(runs.c.id == _OLDEST.scalar_subquery()).values(due_at=_NOW, sent_at=None)
_EARLIER = or_(
    runs.c.created_at < bindparam("b_created", type_=Instant()),
    (runs.c.created_at == bindparam("b_created", type_=Instant())) & (runs.c.id < bindparam("b_id")),
)
_AHEAD = (
    select(*_SHOWN)
    .where(
        runs.c.group == bindparam("b_group"),
        runs.c.id != bindparam("b_id"),
        _ACTIVE,
        or_(runs.c.state != RunState.QUEUED.value, _EARLIER),
    )
    .order_by(runs.c.created_at, runs.c.id)
    .limit(1)
)
_MINE = (runs.c.id == bindparam("b_id"), runs.c.fence == bindparam("b_fence"))
_STATE = select(runs.c.state).where(runs.c.id == bindparam("b_id"))
_UNSENT = or_(
    runs.c.sent_at.is_(None),
    runs.c.sent_at < runs.c.due_at,
    runs.c.sent_at < runs.c.lease_until,  # its message arrived, and who had it is gone
    runs.c.sent_at <= bindparam("b_lost"),
)
_DUE = (
    select(runs.c.id)
    .where(runs.c.due_at <= _NOW, _FREE, _UNSENT)
    .order_by(runs.c.due_at)
    .limit(bindparam("b_limit"))
)


class HeldRun(Run):
    """A run as the worker that holds it sees it, with what only the engine remembers."""

    progress: dict[str, Any] = Field(default_factory=dict)
    stop_undo: bool = True
    ending: RunState | None = None
    wanted: int = 0
    """How often others have made one of its steps due."""


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

    def given(self) -> tuple[frozenset[str], Row]:
        """Return which of these are given, a yes or no as ``active=True``, and the parameters of the rest."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}
        flags = {name: value for name, value in named.items() if isinstance(value, bool)}
        names, params = given({name: value for name, value in named.items() if name not in flags})
        return names.union(f"{name}={value}" for name, value in flags.items()), params


class RunRepository(Repository):
    """``tx.runs``. Steps, attempts, journal and undo records: ``tx.steps``, ``tx.journal``, ``tx.undo``."""

    def __init__(self, unit: Unit) -> None:
        super().__init__(unit)
        self._states: dict[str, RunState] = {}

    def add(self, run: Run, plan: dict[str, Any]) -> Run:
        """Write a new run and what it executes (`controlplane.act.plan.RunPlan`, as JSON)."""
        self.unit.add(runs, **run.model_dump(by_alias=False), progress={})
        self.unit.add(plans, run=run.id, body=plan)
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
        names, params = (which or RunQuery()).given()
        rows = self.unit.rows(_list(names), {**params, "b_limit": limit})
        return [Run.model_validate(row) for row in rows]

    def targets(self, which: RunQuery) -> dict[str, str | None]:
        """Return the targets of all the runs there are of these, by id, newest first."""
        names, params = which.given()
        rows = self.unit.rows(_targets(names), params)
        return {row["id"]: row["target"] for row in rows}

    def count(self, which: RunQuery | None = None) -> int:
        """Count what `list` would list without a limit."""
        names, params = (which or RunQuery()).given()
        return int(self.unit.scalar(_count(names), params))

    def plan(self, run_id: str) -> str:
        """Return what the run executes, as the text of its JSON."""
        return str(self.unit.scalar(_PLAN, {"b_run": run_id}))

    def ahead_in_group(self, run: Run) -> Run | None:
        """Return the run of the same group that must end before ``run`` may start, if there is one."""
        if run.group is None:
            return None
        mine = {"b_group": run.group, "b_id": run.id, "b_created": run.created_at}
        row = self.unit.row(_AHEAD, mine)
        return None if row is None else Run.model_validate(row)

    def take(
        self, run_id: str, owner: str, seconds: float = LEASE_SECONDS, known: HeldRun | None = None
    ) -> HeldRun | None:
        """Take a run that is due and that nobody holds, under a higher fence; None otherwise.

        ``known``: the run as the caller gave it back. The fence tells whether nobody has held it since;
        then it is as the caller knows it, but for what others may write.
        """
        until = self.now + timedelta(seconds=seconds)
        told = self.unit.row(_TAKE, {"b_id": run_id, "b_owner": owner, "b_now": self.now, "b_until": until})
        if told is None:
            return None
        self._states[run_id] = RunState(told["state"])
        if known is not None and told["fence"] == known.fence + 1:
            return _as_told(known, told)
        return HeldRun.model_validate(self.unit.row(_WHOLE, {"b_id": run_id}))

    def hold(self, held: HeldRun, seconds: float = LEASE_SECONDS, **values: Any) -> HeldRun:
        """Renew the lease, set ``values``, and return the run with what others may have written meanwhile.

        What only its holder writes is as the holder knows it. Raises `Fenced` if a later worker has it.
        """
        return _as_told(held, self.renew(held.id, held.fence, seconds, **values))

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
        mine = select(runs).where(runs.c.id == run_id, runs.c.lease_owner == owner)
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

    def want(self, run_id: str) -> None:
        """Make a run due, one of whose steps has been made due; also whoever holds it is told."""
        self.unit.write(_WANT, {"b_id": run_id, "b_now": self.now})

    def due_at(self, run_id: str) -> datetime | None:
        """Return when somebody must look at the run next; None when it has ended."""
        found: datetime | None = self.unit.scalar(_DUE_AT, {"b_id": run_id})
        return found

    def _told(self, run_id: str, change: Update) -> bool:
        changed = self.unit.write(change) > 0
        if changed:
            self.unit.emit("run", run_id)
        return changed

    def wake_next(self, group: str, ended: str) -> None:
        """Make the oldest queued run of the group due: it is its turn, now that ``ended`` has."""
        self.unit.write(_WAKE, {"b_group": group, "b_ended": ended, "b_now": self.now})

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
        for run_id in run_ids:
            self.unit.write(_SENT, {"b_id": run_id, "b_now": self.now})

    def prune(self, before: datetime) -> int:
        """Delete runs that ended before that time, with their steps, journal and undo records."""
        return self.unit.write(delete(runs).where(runs.c.ended_at < before))

    def merge_result(self, run_id: str, **values: Any) -> None:
        """Add to a run's result: a drill's verdict, for example."""
        result = self.get(run_id).result
        self.update(run_id, result={**result, **values})
        self.unit.emit("run", run_id)


@cache
def _list(names: frozenset[str]) -> Select[Any]:
    found = select(*_SHOWN).where(*_conditions(names))
    return found.order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(bindparam("b_limit"))


@cache
def _targets(names: frozenset[str]) -> Select[Any]:
    found = select(runs.c.id, runs.c.target).where(*_conditions(names))
    return found.order_by(runs.c.created_at.desc(), runs.c.id.desc())


@cache
def _count(names: frozenset[str]) -> Select[Any]:
    return select(func.count()).select_from(runs).where(*_conditions(names))


def _conditions(names: frozenset[str]) -> list[ColumnElement[bool]]:
    """Return the conditions of what a `RunQuery` gives."""
    beside = [condition for name, condition in _BESIDE.items() if name in names]
    return [*matching(runs, names - _BESIDE.keys()), *beside]


def _as_told(held: HeldRun, told: Row) -> HeldRun:
    return held.model_copy(update={**told, "state": RunState(told["state"])})


@cache
def _renewal(names: frozenset[str]) -> Executable:
    """Build the update that only the holder's fence lets through, and that sets these columns."""
    values = {name: bindparam(f"v_{name}", type_=runs.c[name].type) for name in names}
    return update(runs).where(*_MINE).values(**values).returning(*(runs.c[name] for name in _TOLD))
