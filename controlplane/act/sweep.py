"""The sweeper: sends again what is due and unsent, so that a lost message only delays a run.

The controller sweeps every 500 ms, workers every 2 s as a backup. It never waits for the
carrier: at the first message that cannot be sent it stops, and what is left is due still.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from controlplane.act.cancel import cancel_halted_drills
from controlplane.kernel.errors import Unavailable
from controlplane.store.database import Database
from controlplane.store.runs import RunQuery

log = structlog.get_logger(__name__)

RESEND_SECONDS = 10.0
"""How long a message may be on its way before it counts as lost. A double is harmless, and not free."""

LIMIT = 500
"""Messages sent by one sweep; the next comes soon."""


def sweep(database: Database, wake: Callable[[str], None]) -> int:
    """Send every run that is due and unsent, and return how many were; cancel drills that are halted."""
    with database.reading() as tx:
        due = tx.runs.due(resend_after=RESEND_SECONDS, limit=LIMIT)
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
