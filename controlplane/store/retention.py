"""How long things are kept: events a day, decisions and ended alerts 14 days, ended runs 90 days.

Documents stay: runs pin them. Incidents, faults and halts stay: they are few, and what
people look back at.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

from controlplane.store.transaction import Transaction

EVENTS = timedelta(days=1)
DECISIONS = timedelta(days=14)
RUNS = timedelta(days=90)
TOKENS = timedelta(days=1)


def prune(begin: Callable[[], AbstractContextManager[Transaction]]) -> dict[str, int]:
    """Delete what is older, and return how much that was; short transactions, so that nobody waits long."""
    removed = {}
    with begin() as tx:
        removed["events"] = tx.events.prune(tx.now - EVENTS)
    with begin() as tx:
        removed["decisions"] = tx.decisions.prune(tx.now - DECISIONS)
    with begin() as tx:
        removed["alerts"] = tx.alerts.prune(tx.now - DECISIONS)
    with begin() as tx:
        removed["runs"] = tx.runs.prune(tx.now - RUNS)
    with begin() as tx:
        removed["tokens"] = tx.tokens.prune(tx.now - TOKENS)
    return removed
