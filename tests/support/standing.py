"""Objectives as a controller leaves them: one is well, one burns, one has too few events to be known."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from controlplane.model.objectives import (
    OBJECTIVES,
    ObjectivesSnapshot,
    ObjectiveStatus,
    PlaceStatus,
    TierStatus,
)
from controlplane.model.service import Service
from controlplane.store.database import Database
from controlplane.store.transaction import Transaction

SLOW = "the long and the short window is under its factor"
FEW = "fewer than 10 events"
AT = datetime(2026, 5, 9, 12, 0, tzinfo=UTC)
SERVICE = Service.model_validate(
    {"kind": "Service", "metadata": {"name": "chat"}, "spec": {"model": "m", "zones": [{"name": "zone-a"}]}}
)


def burning() -> ObjectiveStatus:
    tier: dict[str, Any] = {"long": 3600.0, "short": 300.0, "least_long": 20.0, "least_short": 21.0}
    return ObjectiveStatus(
        name="chat-success",
        service="chat",
        indicator="success",
        target=0.999,
        window="30d",
        window_start=AT,
        state="bad",
        value=0.99925,
        good=99925,
        total=100000,
        observed=1.0,
        min_events=10,
        budget_left=0.25,
        burn_rate=7.2,
        time_to_exhaustion=90000.0,
        tiers=(
            TierStatus(
                name="page", severity="page", factor=14.4, events=900, fires=True, says="fires", **tier
            ),
            TierStatus(name="slow", severity="page", factor=50.0, events=900, fires=False, says=SLOW, **tier),
            TierStatus(name="few", severity="page", factor=6.0, events=3, fires=False, says=FEW, **tier),
        ),
        places=(PlaceStatus(target="chat/local", state="bad", value=0.9, samples=50, firing=("page",)),),
    )


def few() -> ObjectiveStatus:
    return ObjectiveStatus(
        name="chat-few",
        service="chat",
        indicator="success",
        target=0.99,
        window="month, UTC",
        window_start=AT,
        state="unknown",
        good=3,
        total=3,
        min_events=10,
    )


def well() -> ObjectiveStatus:
    """An objective that nothing is wrong with, told for each of its zones."""
    tier: dict[str, Any] = {"long": 3600.0, "short": 300.0, "least_long": 0.0, "least_short": 0.0}
    return ObjectiveStatus(
        name="chat-ttft",
        service="chat",
        indicator="ttft",
        target=0.99,
        window="28d",
        window_start=AT,
        state="good",
        value=0.9984,
        good=998_400,
        total=1_000_000,
        observed=0.82,
        budget_left=0.84,
        burn_rate=0.16,
        tiers=(
            TierStatus(
                name="page", severity="page", factor=13.44, events=36_000, fires=False, says=SLOW, **tier
            ),
        ),
        places=tuple(
            PlaceStatus(target=f"chat/local/zone-{zone}", state="good", value=0.999, samples=200)
            for zone in "abc"
        ),
    )


def told(tx: Transaction, at: datetime) -> None:
    """Write all of them down as the controller of their service does."""
    snapshot = ObjectivesSnapshot(at=at, evaluated_at=at, objectives=(burning(), few(), well()))
    tx.documents.put(SERVICE, source="service.yaml")
    tx.snapshots.put(OBJECTIVES, snapshot.model_dump(mode="json", by_alias=True), service="chat", at=at)


def leave(database: Database) -> None:
    """Write them down in a transaction of their own."""
    with database.transaction() as tx:
        told(tx, AT)
