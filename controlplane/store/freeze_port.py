"""Freezes for those who act: each call is a transaction of its own."""

from __future__ import annotations

from controlplane.kernel.errors import NotFound
from controlplane.model.records import Freeze
from controlplane.store.database import Database


class StoreFreezes:
    """Implements `controlplane.model.ports.Freezes`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, freeze: Freeze) -> Freeze:
        with self._database.transaction() as tx:
            try:
                return tx.freezes.get(freeze.id)
            except NotFound:
                return tx.freezes.add(freeze)

    def get(self, freeze_id: str) -> Freeze | None:
        with self._database.reading() as tx:
            try:
                return tx.freezes.get(freeze_id)
            except NotFound:
                return None

    def lift(self, freeze_id: str) -> Freeze:
        with self._database.transaction() as tx:
            return tx.freezes.lift(freeze_id)
