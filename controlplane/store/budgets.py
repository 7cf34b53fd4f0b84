"""How much of a playbook's budget of runs is used: counted from the runs, nothing is kept beside them."""

from __future__ import annotations

from datetime import timedelta

from controlplane.model.playbook import Playbook
from controlplane.store.runs import RunQuery
from controlplane.store.transaction import Transaction

NOTICE = "budget"
"""The trigger of a run that only tells people that the budget is used up: it is no use of it."""


def spent(tx: Transaction, playbook: Playbook, service: str) -> int:
    """Count the runs within the playbook's window; 0 when it has no budget.

    One that gave way before it could begin has used nothing, as with the throttle.
    """
    budget = playbook.spec.budget
    if budget is None:
        return 0
    since = tx.now - timedelta(seconds=budget.window)
    which = RunQuery(
        name=playbook.name, service=service, created_after=since, not_trigger=NOTICE, gave_way=False
    )
    return tx.runs.count(which)
