"""One unit of work with all its repositories: ``tx.runs``, ``tx.incidents``, ..."""

from __future__ import annotations

from functools import cached_property

from controlplane.store.alerts import AlertRepository
from controlplane.store.approvals import ApprovalRepository
from controlplane.store.decisions import DecisionRepository
from controlplane.store.documents import DocumentRepository
from controlplane.store.events import EventRepository
from controlplane.store.faults import FaultRepository
from controlplane.store.freezes import FreezeRepository
from controlplane.store.halts import HaltRepository
from controlplane.store.incidents import IncidentRepository
from controlplane.store.journal import JournalRepository
from controlplane.store.leases import LeaseRepository
from controlplane.store.ledger import LedgerRepository
from controlplane.store.runs import RunRepository
from controlplane.store.schedules import ScheduleRepository
from controlplane.store.snapshots import SnapshotRepository
from controlplane.store.steps import StepRepository
from controlplane.store.tokens import TokenRepository
from controlplane.store.undo import UndoRepository
from controlplane.store.unit import Unit


class Transaction(Unit):
    """What ``database.transaction()`` and ``database.reading()`` hand out."""

    @cached_property
    def documents(self) -> DocumentRepository:
        return DocumentRepository(self)

    @cached_property
    def approvals(self) -> ApprovalRepository:
        return ApprovalRepository(self)

    @cached_property
    def runs(self) -> RunRepository:
        return RunRepository(self)

    @cached_property
    def steps(self) -> StepRepository:
        return StepRepository(self)

    @cached_property
    def journal(self) -> JournalRepository:
        return JournalRepository(self)

    @cached_property
    def undo(self) -> UndoRepository:
        return UndoRepository(self)

    @cached_property
    def incidents(self) -> IncidentRepository:
        return IncidentRepository(self)

    @cached_property
    def decisions(self) -> DecisionRepository:
        return DecisionRepository(self)

    @cached_property
    def ledger(self) -> LedgerRepository:
        return LedgerRepository(self)

    @cached_property
    def faults(self) -> FaultRepository:
        return FaultRepository(self)

    @cached_property
    def halts(self) -> HaltRepository:
        return HaltRepository(self)

    @cached_property
    def freezes(self) -> FreezeRepository:
        return FreezeRepository(self)

    @cached_property
    def alerts(self) -> AlertRepository:
        return AlertRepository(self)

    @cached_property
    def schedules(self) -> ScheduleRepository:
        return ScheduleRepository(self)

    @cached_property
    def events(self) -> EventRepository:
        return EventRepository(self)

    @cached_property
    def leases(self) -> LeaseRepository:
        return LeaseRepository(self)

    @cached_property
    def tokens(self) -> TokenRepository:
        return TokenRepository(self)

    @cached_property
    def snapshots(self) -> SnapshotRepository:
        return SnapshotRepository(self)
