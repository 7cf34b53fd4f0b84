"""The sweeper: sends again what is due and unsent, so that a lost message only delays a run.

The controller sweeps every 500 ms, workers every 2 s as a backup. It never waits for the
carrier: at the first message that cannot be sent it stops, and what is left is due still. While
messages wait there, old ones are taken to wait among them: doubles would only lengthen the queue
that all workers are behind with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import structlog

from controlplane.act.cancel import cancel_halted_drills
from controlplane.kernel.errors import Unavailable
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

log = structlog.get_logger(__name__)

RESEND_SECONDS = 10.0
"""How long a message may be on its way before it counts as lost. A double is harmless, and not free."""

QUEUED_SECONDS = 120.0
"""The same while messages wait at the carrier."""

LIMIT = 500
"""Messages sent by one sweep; the next comes soon."""


def none_wait() -> int:
    """Say of a carrier that cannot tell how many messages wait that none do."""
    return 0


def sweep(database: Database, wake: Callable[[str], None], waiting: Callable[[], int] = none_wait) -> int:
    """Send every run that is due and unsent, and return how many were; cancel drills that are halted.

    ``waiting`` counts the messages that no worker has taken yet.
    """
    with database.reading() as tx:
        due = _due(tx, waiting)
        drills = tx.runs.list(RunQuery(kind="drill", active=True)) if tx.halts.in_force() else []
    if any(drill.stop is None for drill in drills):
        with database.transaction() as tx:
            for run_id in cancel_halted_drills(tx, wake):
                log.info("drill cancelled by a halt", run=run_id)
    sent: list[str] = []
    for run_id in due:
        try:
            wake(run_id)
        except Unavailable as error:
            log.warning("the carrier is down", unsent=len(due) - len(sent), error=str(error))
            break
        sent.append(run_id)
    if sent:
        with database.transaction() as tx:
            tx.runs.mark_sent(sent)
    return len(sent)


def _due(tx: Transaction, waiting: Callable[[], int]) -> Sequence[str]:
    due = tx.runs.due(resend_after=RESEND_SECONDS, limit=LIMIT)
    try:
        return tx.runs.due(resend_after=QUEUED_SECONDS, limit=LIMIT) if due and waiting() else due
    except Unavailable:
        return due  # sending says what is wrong
