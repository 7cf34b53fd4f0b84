"""Runs that a step has started: found again by who started them, looked at, and ended with it.

A worker may die between the start of such a run and the step's own end; whoever takes over must
find it, or it would be started twice. Who started it is written in the run itself, in the
transaction that makes it. It decides nothing: whether to start, and what its end means, is the step's.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from controlplane.act.cancel import cancel_run
from controlplane.model.action import ActionContext
from controlplane.model.records import Run, RunKind
from controlplane.model.states import is_final
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

Find = Callable[[Transaction], Run | None]

UNDO_PATIENCE = 5.0
"""Seconds that an undo may hold a worker, well under a lease."""
SAME_MOMENT = timedelta(seconds=1)
"""Parent and child may have been written at one reading of the clock."""


def find_child(tx: Transaction, parent: str, kind: RunKind, by: str) -> Run | None:
    """Return the run that ``by`` has started for the run ``parent``; None without one."""
    since = tx.runs.get(parent).created_at - SAME_MOMENT
    query = RunQuery(kind=kind, trigger="manual", created_after=since)
    return next((run for run in tx.runs.list(query, limit=1000) if run.started_by == by), None)


def stop(database: Database, find: Find, by: str, reason: str) -> Run | None:
    """Ask a child to end, if it has not, and return it as it is; None without one."""
    with database.transaction() as tx:
        run = find(tx)
        if run is None or is_final(run.state):
            return run
        return cancel_run(tx, run.id, by=by, reason=reason)


def stop_and_wait(context: ActionContext, find: Find, by: str) -> Run | None:
    """The same for an undo, which waits a little for the end: the child takes back what it did."""
    database, reason = context.port(Database), "the run that started it is undone"
    deadline = context.clock.monotonic() + UNDO_PATIENCE
    run = stop(database, find, by, reason)
    while run is not None and not is_final(run.state) and context.clock.monotonic() < deadline:
        context.clock.sleep(0.5)
        run = stop(database, find, by, reason)
    return run


def told(run: Run | None) -> str:
    """Say how it is with a child."""
    return "it was not started" if run is None else f"{run.name} ({run.id}) is {run.state}"
