"""Holding the alerts that were sent here against Alertmanager's list, every half minute.

What is gone from the list has ended; what is silenced or inhibited there counts as ended
here, since its end will never be sent. Without an answer everything stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import structlog

from controlplane.model.records import Alert
from controlplane.observe.alertmanager import Standing
from controlplane.store.transaction import Transaction

log = structlog.get_logger(__name__)

EVERY = 30.0
"""Seconds between two looks."""
SETTLED = timedelta(seconds=30)
"""A message younger than this may be ahead of the list: instances of Alertmanager gossip."""


def ended(alerts: Iterable[Alert], standing: Sequence[Standing], now: datetime) -> list[tuple[Alert, str]]:
    """List the alerts that stand here and not there, each with the reason."""
    listed = {each.fingerprint: each for each in standing}
    found = []
    for alert in alerts:
        there = listed.get(alert.fingerprint)
        if now - alert.seen_at < SETTLED:
            continue
        if there is None or there.starts_at > alert.starts_at:
            found.append((alert, "Alertmanager lists it no more"))
        elif there.suppressed:
            found.append((alert, "silenced or inhibited in Alertmanager"))
    return found


def reconcile(tx: Transaction, standing: Sequence[Standing]) -> int:
    """End what has ended; returns how many that were."""
    over = ended(tx.alerts.list(status="firing"), standing, tx.now)
    for alert, why in over:
        tx.alerts.suppress(alert, why)
        log.info("alert ended", fingerprint=alert.fingerprint, labels=alert.labels, reason=why)
    return len(over)
