"""Two objectives as a controller leaves them: one that burns, one that has too few events to be known."""

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
            TierStatus(name="page", severity="page", factor=14.4, events=900, fires=True, **tier),
            TierStatus(name="slow", severity="page", factor=50.0, events=900, fires=False, **tier),
            TierStatus(name="few", severity="page", factor=6.0, events=3, fires=False, **tier),
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


def leave(database: Database) -> None:
    """Write both down as the controller of their service does."""
    snapshot = ObjectivesSnapshot(at=AT, evaluated_at=AT, objectives=(burning(), few()))
    with database.transaction() as tx:
        tx.documents.put(SERVICE, source="service.yaml")
        tx.snapshots.put(OBJECTIVES, snapshot.model_dump(mode="json", by_alias=True), service="chat", at=AT)
