"""Advancing a run: take it, do what is due, write it down, give it back.

One worker holds a run at a time, by a lease with a fence. Messages may be lost, doubled or
late: `advance` looks at the rows and does nothing when nothing is due. After any crash the
lease runs out, the sweeper sends the run again, and the next worker goes on from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta
from functools import partial
from typing import TypeVar

import structlog

from controlplane.act.chain import perform
from controlplane.act.engine import Memory, Parts, Pinned, Turn, Wait, Work
from controlplane.act.keeper import LeaseKeeper
from controlplane.act.plan import RunPlan
from controlplane.act.sweep import none_wait, sweep
from controlplane.act.take_back import EngineActions, TakeBack
from controlplane.act.turn import next_due
from controlplane.kernel.clock import Clock
from controlplane.kernel.errors import Fenced, Unavailable
from controlplane.model.action import ActionRegistry
from controlplane.model.kind import Kind
from controlplane.model.policy import Policy
from controlplane.model.service import Service
from controlplane.model.states import RunState, is_final
from controlplane.store.database import Database
from controlplane.store.runs import LEASE_SECONDS, HeldRun
from controlplane.store.transaction import Transaction
from controlplane.store.transitions import move

log = structlog.get_logger(__name__)
K = TypeVar("K", bound=Kind)

TURN_SECONDS = 5.0
"""How long one run may keep a worker while always something is due; then others have their turn."""

MAX_ERRORS = 5
"""After so many turns in a row that broke, a run fails: people must look."""

ERROR_SECONDS = 5.0

REMEMBERED = 1000
"""So many runs are remembered from taking to taking: as many as a worker has in flight."""


class Executor:
    """Executes runs. Any number of them, in any number of processes, may share a database."""

    def __init__(  # noqa: PLR0913 - the parts of a worker, by name
        self,
        database: Database,
        actions: ActionRegistry,
        ports: Mapping[type, object],
        wake: Callable[[str], None],
        clock: Clock,
        owner: str,
        *,
        lease_seconds: float = LEASE_SECONDS,
        keep_leases: bool = True,
        waiting: Callable[[], int] = none_wait,
    ) -> None:
        """``ports`` maps protocols to implementations; ``owner`` names this process in leases.

        ``waiting`` counts the messages at the carrier that no worker has taken yet.
        ``keep_leases``: renew the lease from a thread while a call lasts, on the machine's time.
        """
        known = EngineActions(actions, TakeBack(database, actions))
        self._parts = Parts(database, known, ports, wake, clock, owner, lease_seconds)
        self._waiting = waiting
        self._keeper = LeaseKeeper(database, lease_seconds) if keep_leases else None
        self._revisions: dict[str, Kind] = {}
        self._memory: dict[str, Memory] = {}

    def advance(self, run_id: str) -> None:
        """Do what is due for the run; return at once when nothing is, or when somebody holds it.

        Raises nothing of the kernel's tree: what cannot go on now is sent again by the sweeper.
        """
        with structlog.contextvars.bound_contextvars(run=run_id):
            try:
                self._advance(run_id)
            except Fenced as error:
                log.warning("fenced off", error=str(error))
            except Unavailable as error:
                log.warning("cannot advance now", error=str(error))
            except Exception as error:
                log.exception("a turn broke")
                self._broke(run_id, error)

    def sweep(self) -> int:
        """Send again what is due and unsent; returns how many (`controlplane.act.sweep`)."""
        return sweep(self._parts.database, self._parts.wake, self._waiting)

    def _advance(self, run_id: str) -> None:
        started = self._parts.clock.monotonic()
        known = self._memory.pop(run_id, None)
        with self._parts.database.transaction() as tx:
            before = None if known is None else known.run
            run = tx.runs.take(run_id, self._parts.owner, self._parts.lease_seconds, before)
            if run is None:
                return
            turn = self._first(tx, run, known)
            work = self._settle(turn, since=started)
            turn.end()
        settle = partial(self._settle, since=started)
        while work is not None:
            done = perform(turn, work, settle, partial(self._keeping, run_id, run.fence))
            with self._parts.database.transaction() as tx:
                turn, work = done.write(tx)
                turn.end()
        self._remember(turn.memory)

    def _first(self, tx: Transaction, run: HeldRun, known: Memory | None) -> Turn:
        """Return the turn that a taking begins with: on what is remembered, if nobody has held it since."""
        if known is None:
            return Turn(self._parts, self._pinned(tx, run), tx, run)
        if run.fence != known.run.fence + 1:
            return Turn(self._parts, known.pinned, tx, run)
        return Turn(self._parts, known.pinned, tx, run, **known.since(run))

    def _remember(self, memory: Memory) -> None:
        """Remember a run that was given back, and forget the one that has waited longest if they are many."""
        if is_final(memory.run.state):
            return
        if len(self._memory) >= REMEMBERED:
            del self._memory[next(iter(self._memory))]
        self._memory[memory.run.id] = memory

    def _settle(self, turn: Turn, *, since: float) -> Work | None:
        """Return the work that is due; otherwise release the run until something is.

        ``since``: when this worker took it.
        """
        tired = self._parts.clock.monotonic() - since > TURN_SECONDS
        due = next_due(turn) if not tired else Wait(turn.now, turn.run.waiting)
        if not isinstance(due, Wait):
            return due
        if turn.run.progress.get("errors"):
            turn.remember(errors=0)
        if due.reason != turn.run.waiting:
            turn.update(waiting=due.reason)
        turn.release(due.until)
        return None

    def _keeping(self, run_id: str, fence: int) -> AbstractContextManager[None]:
        return nullcontext() if self._keeper is None else self._keeper.keeping(run_id, fence)

    def _pinned(self, tx: Transaction, run: HeldRun) -> Pinned:
        service = self._revision(tx, run.pins["Service"], Service)
        policy = self._revision(tx, run.pins["Policy"], Policy) if "Policy" in run.pins else None
        return Pinned(RunPlan.read(tx.runs.plan(run.id)), service, policy)

    def _revision(self, tx: Transaction, sha256: str, kind: type[K]) -> K:
        """Return a pinned revision; each is read once, since it never changes."""
        found = self._revisions.get(sha256) or self._revisions.setdefault(sha256, tx.documents.load(sha256))
        if not isinstance(found, kind):
            msg = f"revision {sha256[:12]} is a {found.kind}, not a {kind.KIND}"
            raise TypeError(msg)
        return found

    def _broke(self, run_id: str, error: Exception) -> None:
        """After a mistake of our own: try again later, and after a few times give up visibly."""
        with self._parts.database.transaction() as tx:
            run = tx.runs.held_by(run_id, self._parts.owner) or tx.runs.take(run_id, self._parts.owner)
            if run is None:
                return
            errors = run.progress.get("errors", 0) + 1
            words = f"the engine broke: {type(error).__name__}: {error}"
            if errors >= MAX_ERRORS:
                move(tx, run, RunState.FAILED, f"{words}, {errors} times in a row; look at what it did")
                return
            tx.journal.write(run_id, "engine.broke", words, times=errors)
            later = tx.now + timedelta(seconds=ERROR_SECONDS)
            progress = {**run.progress, "errors": errors}
            tx.runs.release(run_id, run.fence, later, progress=progress, waiting=words)
