"""Alertmanager's webhook: alerts come in, once however often they are sent."""

from __future__ import annotations

import structlog
from fastapi import APIRouter

from controlplane.api.auth import AlertSender, Given
from controlplane.api.problems import SignedOut, responses
from controlplane.api.views.alerts import AlertMessage, AlertReceipt, fingerprint
from controlplane.kernel.errors import InvalidInput
from controlplane.model.records import Alert

router = APIRouter(prefix="/alerts", tags=["alerts"])

log = structlog.get_logger(__name__)


@router.get("")
def list_alerts(services: Given, limit: int = 200) -> list[Alert]:
    """List the alerts that were sent here, newest first."""
    with services.database.reading() as tx:
        return tx.alerts.list(limit=min(max(limit, 1), 1000))


@router.post("", responses=responses(SignedOut, InvalidInput))
def take_alerts(body: AlertMessage, services: Given, who: AlertSender) -> AlertReceipt:
    """Take a message of Alertmanager's webhook, version 4."""
    with services.database.transaction() as tx:
        changed = 0
        for each in body.alerts:
            status = each.status or body.status
            over = each.ends_at if status == "resolved" else None
            alert = Alert(
                fingerprint=each.fingerprint or fingerprint(each.labels),
                starts_at=each.starts_at,
                status=status,
                ends_at=min(over or tx.now, tx.now) if status == "resolved" else None,
                labels=each.labels,
                annotations=each.annotations,
                receiver=body.receiver,
                received_at=tx.now,
                seen_at=tx.now,
            )
            changed += tx.alerts.take(alert)
    if changed:
        log.info("alerts received", sender=who, receiver=body.receiver, alerts=len(body.alerts), new=changed)
    return AlertReceipt(received=len(body.alerts), changed=changed)
