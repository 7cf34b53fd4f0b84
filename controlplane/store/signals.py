"""What the loop last measured, read from the snapshot that the controller leaves each tick."""

from __future__ import annotations

from controlplane.model.signals import SIGNALS, SignalsSnapshot
from controlplane.store.database import Database


class StoreSignals:
    """Implements `controlplane.model.action.SignalReader`. Each call is a transaction of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def latest(self, service: str) -> SignalsSnapshot | None:
        with self._database.reading() as tx:
            body = tx.snapshots.get(SIGNALS, service=service)
        return None if body is None else SignalsSnapshot.model_validate(body)
