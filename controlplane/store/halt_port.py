"""Halts for those who act: each call is a transaction of its own."""

from __future__ import annotations

from controlplane.kernel.errors import NotFound
from controlplane.model.records import Halt
from controlplane.store.database import Database


class StoreHalts:
    """Implements `controlplane.model.ports.Halts`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, halt: Halt) -> Halt:
        with self._database.transaction() as tx:
            try:
                return tx.halts.get(halt.id)
            except NotFound:
                return tx.halts.add(halt)

    def get(self, halt_id: str) -> Halt | None:
        with self._database.reading() as tx:
            try:
                return tx.halts.get(halt_id)
            except NotFound:
                return None

    def lift(self, halt_id: str) -> Halt:
        with self._database.transaction() as tx:
            return tx.halts.lift(halt_id)
